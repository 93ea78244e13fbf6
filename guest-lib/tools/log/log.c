/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atlas350-log: prints the log of a card that some program uses.
 *
 * VFIO gives a card to one program, so this reads the log's ring through the
 * card's BAR 0 in sysfs. A card that nobody has open decodes no memory, and
 * its log was emptied when it was closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "hw/atlas350/admin.h"

#define PCI_COMMAND         4
#define PCI_COMMAND_MEMORY  2
#define POLL_US             50000

static volatile const a350_log_ring *ring;
static int config_fd = -1;

static unsigned long read_number(const char *dir, const char *name)
{
    char path[512];
    unsigned long v = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "r");
    if (f) {
        if (fscanf(f, "%lx", &v) != 1) {
            v = 0;
        }
        fclose(f);
    }
    return v;
}

/* The sysfs folder of a card, by number or by address; counts the cards. */
static bool find_card(const char *want, char *dir, size_t len, unsigned *count)
{
    const char *root = getenv("ATLAS350_SYSFS");
    bool found = false;
    char pattern[256];
    char number[16];
    glob_t g;
    size_t i;

    *count = 0;
    snprintf(pattern, sizeof(pattern), "%s/bus/pci/devices/*",
             root ? root : "/sys");
    if (glob(pattern, 0, NULL, &g)) {
        return false;
    }
    for (i = 0; i < g.gl_pathc; i++) {
        const char *bdf = strrchr(g.gl_pathv[i], '/') + 1;

        if (read_number(g.gl_pathv[i], "vendor") != A350_PCI_VENDOR_ID ||
            read_number(g.gl_pathv[i], "device") != A350_PCI_DEVICE_ID) {
            continue;
        }
        snprintf(number, sizeof(number), "%u", (*count)++);
        if (!found && (!strcmp(want, number) || !strcmp(want, bdf) ||
                       (!strncmp(bdf, "0000:", 5) && !strcmp(want, bdf + 5)))) {
            snprintf(dir, len, "%s", g.gl_pathv[i]);
            found = true;
        }
    }
    globfree(&g);
    return found;
}

static bool in_use(void)
{
    unsigned char cmd[2];

    return pread(config_fd, cmd, 2, PCI_COMMAND) == 2 &&
           (cmd[0] & PCI_COMMAND_MEMORY);
}

static bool map_ring(const char *dir)
{
    char path[512];
    int fd;
    void *p;

    snprintf(path, sizeof(path), "%s/config", dir);
    config_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (config_fd < 0) {
        fprintf(stderr, "atlas350-log: %s: %s\n", path, strerror(errno));
        return false;
    }
    snprintf(path, sizeof(path), "%s/resource0", dir);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    p = fd < 0 ? MAP_FAILED : mmap(NULL, A350_SHM_LOG_SIZE, PROT_READ,
                                   MAP_SHARED, fd, A350_SHM_LOG);
    if (p == MAP_FAILED) {
        fprintf(stderr, "atlas350-log: %s: %s%s\n", path, strerror(errno),
                errno == EINVAL || errno == EPERM ? " (the kernel lets nobody "
                "read a device in use unless it is booted with iomem=relaxed)"
                : "");
    }
    if (fd >= 0) {
        close(fd);
    }
    ring = p == MAP_FAILED ? NULL : p;
    return ring != NULL;
}

/* Prints what is new; false: the card was closed meanwhile. */
static bool print_new(uint64_t *pos)
{
    const uint64_t most = A350_SHM_LOG_SIZE - sizeof(a350_log_ring);
    uint64_t head, size;

    if (!in_use()) {
        return false;
    }
    head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    size = ring->size;
    if (size == 0 || size > most) {
        return false;            /* reset just now: all bits set */
    }
    if (head < *pos) {
        *pos = 0;                /* another program's log */
    }
    if (head - *pos > size) {
        printf("[%llu bytes lost]\n",
               (unsigned long long)(head - size - *pos));
        *pos = head - size;
    }
    while (*pos != head) {
        putchar(ring->data[(*pos)++ % size]);
    }
    fflush(stdout);
    return true;
}

static int usage(FILE *f)
{
    fputs("usage: atlas350-log [-f] [CARD]\n"
          "Prints the log of a card in use; CARD is a number (0) or a PCI "
          "address.\n"
          "  -f  go on printing, also when the card is closed and opened\n", f);
    return f == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
    bool follow = false;
    unsigned count;
    char dir[384];
    uint64_t pos = 0;
    int c;

    while ((c = getopt(argc, argv, "fh")) != -1) {
        if (c != 'f') {
            return usage(c == 'h' ? stdout : stderr);
        }
        follow = true;
    }
    if (argc - optind > 1) {
        return usage(stderr);
    }
    if (!find_card(argc > optind ? argv[optind] : "0", dir, sizeof(dir),
                   &count)) {
        fprintf(stderr, "atlas350-log: no card '%s': this machine has %u\n",
                argc > optind ? argv[optind] : "0", count);
        return 1;
    }
    if (!map_ring(dir)) {
        return 1;
    }
    if (!print_new(&pos) && !follow) {
        fprintf(stderr, "atlas350-log: no program uses card %s: its log is "
                "empty\n", strrchr(dir, '/') + 1);
        return 1;
    }
    while (follow) {
        usleep(POLL_US);
        if (!print_new(&pos)) {
            pos = 0;
        }
    }
    return ferror(stdout) ? 1 : 0;
}
