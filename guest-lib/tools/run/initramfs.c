/*
 * atlas350-run: builds the initramfs in memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A cpio archive ("newc") of init, the modules it loads and the order it does
 * so in. Modules are found by modules.dep; those that the kernel has built in
 * (modules.builtin) need none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

#define MAX_MODULES 64
#define MAX_DEPS    16384        /* longest line of modules.dep */

static const char *const wanted[] = {
    "virtio_pci", "virtio_console", "9p", "9pnet_virtio", "overlay",
    "vfio_iommu_type1", "vfio-pci",
};

struct modules {
    const char *dir;
    char *path[MAX_MODULES];     /* relative to dir, dependencies first */
    int count;
};

/* ---- cpio ---- */

static void cpio_entry(FILE *f, const char *name, unsigned mode,
                       const void *data, size_t size)
{
    static unsigned ino = 1;
    static const char zero[4];
    size_t head = 110 + strlen(name) + 1;

    fprintf(f, "070701%08x%08x%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x",
            ino++, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, strlen(name) + 1, 0);
    fwrite(name, strlen(name) + 1, 1, f);
    fwrite(zero, (4 - head % 4) % 4, 1, f);
    if (size) {
        fwrite(data, size, 1, f);
        fwrite(zero, (4 - size % 4) % 4, 1, f);
    }
}

/* All that comes out of @fd; NULL on error. */
static char *slurp(int fd, size_t *size)
{
    size_t room = 1 << 16, used = 0;
    char *buf = run_alloc(room);
    ssize_t n;

    while ((n = read(fd, buf + used, room - used)) > 0) {
        used += (size_t)n;
        if (used == room) {
            room *= 2;
            buf = realloc(buf, room);
            if (!buf) {
                run_die("out of memory (%zu bytes)", room);
            }
        }
    }
    *size = used;
    if (n < 0) {
        free(buf);
        return NULL;
    }
    return buf;
}

static char *decompressed(const char *path, const char *tool, size_t *size)
{
    char *data;
    int p[2], status;
    pid_t pid;

    if (pipe2(p, O_CLOEXEC) || (pid = fork()) < 0) {
        run_die("cannot start %s: %s", tool, strerror(errno));
    }
    if (pid == 0) {
        dup2(p[1], 1);
        execlp(tool, tool, "-dc", path, (char *)NULL);
        _exit(127);
    }
    close(p[1]);
    data = slurp(p[0], size);
    close(p[0]);
    waitpid(pid, &status, 0);
    if (status || !data) {
        run_die("cannot unpack %s by %s (is the program installed?)", path,
                tool);
    }
    return data;
}

static char *file_content(const char *path, size_t *size)
{
    const char *dot = strrchr(path, '.');
    char *data = NULL;
    int fd;

    if (dot && !strcmp(dot, ".xz")) {
        return decompressed(path, "xz", size);
    }
    if (dot && !strcmp(dot, ".zst")) {
        return decompressed(path, "zstd", size);
    }
    if (dot && !strcmp(dot, ".gz")) {
        return decompressed(path, "gzip", size);
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        data = slurp(fd, size);
        close(fd);
    }
    if (!data) {
        run_die("cannot read %s: %s", path, strerror(errno));
    }
    return data;
}

/* ---- modules ---- */

/* Does @path name the module? '-' and '_' are the same in module names. */
static bool is_module(const char *path, size_t len, const char *name)
{
    const char *base = path, *p;
    size_t i;

    for (p = path; p < path + len; p++) {
        if (*p == '/') {
            base = p + 1;
        }
    }
    for (i = 0; name[i]; i++) {
        char a = name[i] == '-' ? '_' : name[i];
        char b = base + i < path + len ? base[i] : 0;

        if (a != (b == '-' ? '_' : b)) {
            return false;
        }
    }
    return base + i < path + len && base[i] == '.';
}

static FILE *open_list(const struct modules *m, const char *name)
{
    char *path = run_format("%s/%s", m->dir, name);
    FILE *f = fopen(path, "re");

    if (!f) {
        run_die("%s: %s; --modules wants a kernel's module directory with the "
                "files that depmod makes", path, strerror(errno));
    }
    free(path);
    return f;
}

static bool built_in(const struct modules *m, const char *name)
{
    FILE *f = open_list(m, "modules.builtin");
    char line[512];
    bool found = false;

    while (!found && fgets(line, sizeof(line), f)) {
        found = is_module(line, strcspn(line, "\n"), name);
    }
    fclose(f);
    return found;
}

static void add_path(struct modules *m, const char *path)
{
    int i;

    for (i = 0; i < m->count; i++) {
        if (!strcmp(m->path[i], path)) {
            return;
        }
    }
    if (m->count == MAX_MODULES) {
        run_die("more than %d modules are needed", MAX_MODULES);
    }
    m->path[m->count++] = strdup(path);
}

/* "module: dep dep ...": the dependencies are loaded from the last on. */
static void add_line(struct modules *m, char *line)
{
    char *deps = strchr(line, ':'), *space;

    *deps++ = 0;
    while ((space = strrchr(deps, ' '))) {
        if (space[1]) {
            add_path(m, space + 1);
        }
        *space = 0;
    }
    if (*deps) {
        add_path(m, deps);
    }
    add_path(m, line);
}

static void add_module(struct modules *m, const char *name)
{
    FILE *f = open_list(m, "modules.dep");
    char *line = run_alloc(MAX_DEPS);
    bool found = false;

    while (!found && fgets(line, MAX_DEPS, f)) {
        char *colon = strchr(line, ':');

        line[strcspn(line, "\n")] = 0;
        if (colon && is_module(line, (size_t)(colon - line), name)) {
            add_line(m, line);
            found = true;
        }
    }
    fclose(f);
    free(line);
    if (!found && !built_in(m, name)) {
        run_die("the kernel in %s has no module %s", m->dir, name);
    }
}

/* Puts the modules in; their file names are numbered, in loading order. */
static void pack_modules(FILE *out, struct modules *m)
{
    char *list = run_alloc(MAX_MODULES * 8 + 1);
    int i;

    for (i = 0; i < m->count; i++) {
        char *path = run_format("%s/%s", m->dir, m->path[i]);
        const char *base = strrchr(m->path[i], '/');
        char *name = run_format("modules/%s", base ? base + 1 : m->path[i]);
        char *more;
        size_t size;
        char *data = file_content(path, &size);
        char *dot = strstr(name, ".ko");

        if (dot) {
            dot[3] = 0;          /* .ko.xz has been unpacked */
        }
        cpio_entry(out, name, S_IFREG | 0644, data, size);
        more = run_format("%s%s\n", list, name + strlen("modules/"));
        free(list);
        list = more;
        free(data);
        free(name);
        free(path);
    }
    cpio_entry(out, "modules/list", S_IFREG | 0644, list, strlen(list));
    free(list);
}

int run_initramfs(const struct run_paths *p)
{
    static const char *const dirs[] = { "dev", "proc", "sys", "modules", "rw",
                                        "host", "newroot" };
    struct modules m = { .dir = p->modules };
    int fd = memfd_create("atlas350-initramfs", 0);
    FILE *out = fd < 0 ? NULL : fdopen(dup(fd), "w");
    size_t i, size;
    char *init;

    if (!out) {
        run_die("cannot make a memory file: %s", strerror(errno));
    }
    for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        add_module(&m, wanted[i]);
    }
    for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        cpio_entry(out, dirs[i], S_IFDIR | 0755, NULL, 0);
    }
    init = file_content(p->init, &size);
    cpio_entry(out, "init", S_IFREG | 0755, init, size);
    free(init);
    pack_modules(out, &m);
    cpio_entry(out, "TRAILER!!!", 0, NULL, 0);
    if (fclose(out)) {
        run_die("cannot write the initramfs: %s", strerror(errno));
    }
    return fd;
}
