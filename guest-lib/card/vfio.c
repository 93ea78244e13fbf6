/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding cards in sysfs and taking them through VFIO (type 1 IOMMU).
 *
 * One container holds the groups of all open cards: a mapping of host memory
 * is then made once and seen by every card, also by those opened later.
 */
#include "card_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/vfio.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define SYS_PCI         "/sys/bus/pci/devices"
#define MSIX_NEEDED     (A350_MSIX_CQ_FIRST + A350_CQINT_GROUPS)

static __thread char err_text[512];

const char *a350_card_text(void)
{
    return err_text;
}

int a350_fail(int rc, const char *fmt, ...)
{
    char buf[sizeof(err_text)];
    va_list ap;

    /* Through a copy: the old text may be among the arguments. */
    va_start(ap, fmt);
    vsnprintf(buf, sizeof(buf), fmt, ap);
    va_end(ap);
    memcpy(err_text, buf, sizeof(buf));
    return rc;
}

/* ---- sysfs ---- */

static unsigned read_hex(const char *bdf, const char *file)
{
    char path[PATH_MAX], buf[32];
    unsigned v = 0;
    FILE *f;

    snprintf(path, sizeof(path), SYS_PCI "/%s/%s", bdf, file);
    f = fopen(path, "re");
    if (!f) {
        return 0;
    }
    if (fgets(buf, sizeof(buf), f)) {
        v = (unsigned)strtoul(buf, NULL, 16);
    }
    fclose(f);
    return v;
}

static const char *link_name(const char *bdf, const char *file, char *buf,
                             size_t len)
{
    char path[PATH_MAX];
    const char *base;
    ssize_t n;

    snprintf(path, sizeof(path), SYS_PCI "/%s/%s", bdf, file);
    n = readlink(path, buf, len - 1);
    if (n <= 0) {
        return "";
    }
    buf[n] = '\0';
    base = strrchr(buf, '/');
    return base ? base + 1 : buf;
}

static int bdf_cmp(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Addresses of all cards in order; at most A350_CARDS_MAX. */
static unsigned scan(char bdf[A350_CARDS_MAX][16])
{
    struct dirent *e;
    unsigned n = 0;
    DIR *d = opendir(SYS_PCI);

    if (!d) {
        return 0;
    }
    while ((e = readdir(d)) && n < A350_CARDS_MAX) {
        if (e->d_name[0] == '.' || strlen(e->d_name) >= 16 ||
            read_hex(e->d_name, "vendor") != A350_PCI_VENDOR_ID ||
            read_hex(e->d_name, "device") != A350_PCI_DEVICE_ID) {
            continue;
        }
        strcpy(bdf[n++], e->d_name);
    }
    closedir(d);
    qsort(bdf, n, 16, bdf_cmp);
    return n;
}

unsigned a350_card_count(void)
{
    char bdf[A350_CARDS_MAX][16];

    return scan(bdf);
}

int a350_card_find(unsigned number, a350_card_slot *slot)
{
    char bdf[A350_CARDS_MAX][16], buf[PATH_MAX];
    unsigned n = scan(bdf);
    const char *grp;

    if (n == 0) {
        return a350_fail(-ENODEV, "there is no Atlas 350 card (PCI 19e5:d806) "
                         "in this machine: start it with -device atlas350, or "
                         "the program through atlas350-run");
    }
    if (number >= n) {
        return a350_fail(-ENODEV, "card %u does not exist: this machine has "
                         "%u (0..%u)", number, n, n - 1);
    }
    memset(slot, 0, sizeof(*slot));
    strcpy(slot->bdf, bdf[number]);
    snprintf(slot->driver, sizeof(slot->driver), "%s",
             link_name(slot->bdf, "driver", buf, sizeof(buf)));
    grp = link_name(slot->bdf, "iommu_group", buf, sizeof(buf));
    slot->iommu_group = *grp ? atoi(grp) : -1;
    return 0;
}

/* ---- container ---- */

/* Under lock; fd -1 while no card is open. */
static struct {
    pthread_mutex_t lock;
    int fd;
    unsigned groups;
} container = { PTHREAD_MUTEX_INITIALIZER, -1, 0 };

/*
 * What the parts of this process want mapped (the list outlives the
 * container), and what is. Wishes may overlap: two buffers in one page, one
 * buffer for two communicators. The kernel's mappings do not, and go as a
 * whole only: one stays until nobody wants any of it.
 */
typedef struct dma_range {
    struct dma_range *next;
    uintptr_t start, end;
} dma_range;
static dma_range *ranges, *maps;

static int container_map(void *va, size_t len)
{
    struct vfio_iommu_type1_dma_map m = {
        .argsz = sizeof(m),
        .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
        .vaddr = (uintptr_t)va, .iova = (uintptr_t)va, .size = len,
    };

    if (ioctl(container.fd, VFIO_IOMMU_MAP_DMA, &m) == 0) {
        return 0;
    }
    if (errno == EFAULT || errno == EPERM) {
        /* Memory that may not be written: map it for reading. */
        m.flags = VFIO_DMA_MAP_FLAG_READ;
        if (ioctl(container.fd, VFIO_IOMMU_MAP_DMA, &m) == 0) {
            return 0;
        }
    }
    if (errno == ENOMEM) {
        return a350_fail(-ENOMEM, "host memory %p+%zu cannot be pinned: the "
                         "limit of locked memory is reached (ulimit -l) or "
                         "the machine has too little memory", va, len);
    }
    return a350_fail(-errno, "host memory %p+%zu cannot be mapped for the "
                     "card: %s", va, len, strerror(errno));
}

static void container_unmap(void *va, size_t len)
{
    struct vfio_iommu_type1_dma_unmap u = {
        .argsz = sizeof(u), .iova = (uintptr_t)va, .size = len,
    };

    ioctl(container.fd, VFIO_IOMMU_UNMAP_DMA, &u);
}

static bool overlap(const dma_range *r, uintptr_t start, uintptr_t end)
{
    return r->start < end && r->end > start;
}

/* Start of what lies at or behind @at, up to @end; @to: where it ends. */
static uintptr_t next_of(const dma_range *list, uintptr_t at, uintptr_t end,
                         uintptr_t *to)
{
    uintptr_t first = end;

    *to = end;
    for (; list; list = list->next) {
        if (list->start <= at && list->end > at) {
            *to = list->end < end ? list->end : end;
            return at;
        }
        if (list->start > at && list->start < first) {
            first = list->start;
        }
    }
    return first;
}

/* Ends the mappings for which nobody is left. */
static void maps_sweep(void)
{
    dma_range **p = &maps, *m, *r;

    while ((m = *p)) {
        for (r = ranges; r && !overlap(r, m->start, m->end); r = r->next) {
        }
        if (r) {
            p = &m->next;
            continue;
        }
        container_unmap((void *)m->start, m->end - m->start);
        *p = m->next;
        free(m);
    }
}

/* Maps what is not mapped of [start, end). */
static int map_gaps(uintptr_t start, uintptr_t end)
{
    uintptr_t at = start, to, gap;
    dma_range *m;
    int rc;

    while (at < end) {
        gap = next_of(maps, at, end, &to);
        if (gap == at) {
            at = to;
            continue;
        }
        m = malloc(sizeof(*m));
        rc = m ? container_map((void *)at, gap - at)
               : a350_fail(-ENOMEM, "out of host memory");
        if (rc) {
            free(m);
            return rc;
        }
        *m = (dma_range){ maps, at, gap };
        maps = m;
        at = gap;
    }
    return 0;
}

/*
 * A mapping of which a part is wanted by nobody may have other memory there by
 * now: it is made anew before that part is used again.
 */
static int maps_renew(uintptr_t start, uintptr_t end)
{
    dma_range **p = &maps, *m, *r;
    uintptr_t at, to, stop;
    bool stale;

    while ((m = *p)) {
        stop = m->end < end ? m->end : end;
        at = m->start > start ? m->start : start;
        for (stale = false; at < stop && !stale; at = to) {
            stale = next_of(ranges, at, stop, &to) != at;
        }
        if (!overlap(m, start, end) || !stale) {
            p = &m->next;
            continue;
        }
        *p = m->next;
        container_unmap((void *)m->start, m->end - m->start);
        for (r = ranges; r; r = r->next) {
            if (overlap(r, m->start, m->end)) {
                int rc = map_gaps(r->start > m->start ? r->start : m->start,
                                  r->end < m->end ? r->end : m->end);

                if (rc) {
                    free(m);
                    return rc;
                }
            }
        }
        free(m);
        p = &maps;
    }
    return 0;
}

int a350_dma_map(void *va, size_t len)
{
    dma_range *r;
    int rc = 0;

    if (((uintptr_t)va | len) & 4095 || len == 0) {
        return a350_fail(-EINVAL, "host memory %p+%zu is not made of whole "
                         "4096-byte pages", va, len);
    }
    r = malloc(sizeof(*r));
    if (!r) {
        return a350_fail(-ENOMEM, "out of host memory");
    }
    pthread_mutex_lock(&container.lock);
    *r = (dma_range){ ranges, (uintptr_t)va, (uintptr_t)va + len };
    if (container.fd >= 0) {
        rc = maps_renew(r->start, r->end);
        rc = rc ? rc : map_gaps(r->start, r->end);
    }
    if (rc == 0) {
        ranges = r;
        r = NULL;
    } else if (container.fd >= 0) {
        maps_sweep();
    }
    pthread_mutex_unlock(&container.lock);
    free(r);
    return rc;
}

int a350_dma_unmap(void *va, size_t len)
{
    dma_range **p, *r = NULL;

    pthread_mutex_lock(&container.lock);
    for (p = &ranges; *p; p = &(*p)->next) {
        if ((*p)->start == (uintptr_t)va &&
            (*p)->end - (*p)->start == len) {
            r = *p;
            *p = r->next;
            break;
        }
    }
    if (r && container.fd >= 0) {
        maps_sweep();
    }
    pthread_mutex_unlock(&container.lock);
    if (!r) {
        return a350_fail(-EINVAL, "host memory %p+%zu is not mapped", va, len);
    }
    free(r);
    return 0;
}

void *a350_dma_alloc(size_t len)
{
    size_t asked = len;
    void *p;

    if (len == 0) {
        a350_fail(-EINVAL, "size 0");
        return NULL;
    }
    len = (len + 4095) & ~(size_t)4095;
    p = len < asked ? MAP_FAILED : mmap(NULL, len, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        a350_fail(-ENOMEM, "out of host memory: %zu bytes", asked);
        return NULL;
    }
    /* A forked child must not share pages that the card writes. */
    madvise(p, len, MADV_DONTFORK);
    if (a350_dma_map(p, len)) {
        munmap(p, len);
        return NULL;
    }
    return p;
}

void a350_dma_free(void *va, size_t len)
{
    len = (len + 4095) & ~(size_t)4095;
    if (va) {
        a350_dma_unmap(va, len);
        munmap(va, len);
    }
}

static int container_open(void)
{
    int fd = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        return a350_fail(-errno, "/dev/vfio/vfio: %s: load the kernel modules "
                         "vfio and vfio_iommu_type1, or start the program "
                         "through atlas350-run", strerror(errno));
    }
    if (ioctl(fd, VFIO_GET_API_VERSION) != VFIO_API_VERSION ||
        ioctl(fd, VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) != 1) {
        close(fd);
        return a350_fail(-ENOTSUP, "the kernel's VFIO has no type 1 v2 IOMMU: "
                         "load the kernel module vfio_iommu_type1");
    }
    container.fd = fd;
    return 0;
}

/* Adds a group; the first one decides the IOMMU model. Lock held. */
static int container_add(int group_fd, const char *bdf)
{
    dma_range *r;
    int rc;

    if (container.fd < 0 && (rc = container_open())) {
        return rc;
    }
    if (ioctl(group_fd, VFIO_GROUP_SET_CONTAINER, &container.fd)) {
        rc = a350_fail(-errno, "card %s: its IOMMU group cannot join the "
                       "container: %s", bdf, strerror(errno));
        goto out;
    }
    if (container.groups++ == 0) {
        if (ioctl(container.fd, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU)) {
            rc = a350_fail(-errno, "card %s: the kernel does not give its "
                           "IOMMU to VFIO: %s", bdf, strerror(errno));
            ioctl(group_fd, VFIO_GROUP_UNSET_CONTAINER);
            container.groups--;
            goto out;
        }
        for (r = ranges; r; r = r->next) {
            map_gaps(r->start, r->end);
        }
    }
    return 0;
out:
    if (container.groups == 0) {
        close(container.fd);
        container.fd = -1;
    }
    return rc;
}

static void container_remove(int group_fd)
{
    dma_range *m;

    pthread_mutex_lock(&container.lock);
    if (--container.groups == 0) {
        close(container.fd);     /* and with it all mappings */
        container.fd = -1;
        while ((m = maps)) {
            maps = m->next;
            free(m);
        }
    }
    close(group_fd);
    pthread_mutex_unlock(&container.lock);
}

/* ---- one device ---- */

static bool process_holds(long pid, const char *path)
{
    char dir[64], link[512], dest[PATH_MAX];
    struct dirent *f;
    bool found = false;
    ssize_t n;
    DIR *fds;

    snprintf(dir, sizeof(dir), "/proc/%ld/fd", pid);
    fds = opendir(dir);
    while (fds && !found && (f = readdir(fds))) {
        snprintf(link, sizeof(link), "%s/%.255s", dir, f->d_name);
        n = readlink(link, dest, sizeof(dest) - 1);
        if (n > 0) {
            dest[n] = '\0';
            found = strcmp(dest, path) == 0;
        }
    }
    if (fds) {
        closedir(fds);
    }
    return found;
}

/* Who has the file open, as " by process 123 (name)"; "" if not to be seen. */
static void holder_of(const char *path, char *buf, size_t len)
{
    DIR *proc = opendir("/proc");
    struct dirent *p;
    char file[64], comm[32] = "";
    FILE *f;

    buf[0] = '\0';
    while (proc && !buf[0] && (p = readdir(proc))) {
        long pid = strtol(p->d_name, NULL, 10);

        if (pid <= 0 || pid == getpid() || !process_holds(pid, path)) {
            continue;
        }
        snprintf(file, sizeof(file), "/proc/%ld/comm", pid);
        f = fopen(file, "re");
        if (f) {
            if (fgets(comm, sizeof(comm), f)) {
                comm[strcspn(comm, "\n")] = '\0';
            }
            fclose(f);
        }
        snprintf(buf, len, " by process %ld (%s)", pid, comm);
    }
    if (proc) {
        closedir(proc);
    }
}

static int group_open(unsigned number, const a350_card_slot *slot)
{
    struct vfio_group_status st = { .argsz = sizeof(st) };
    char path[64], who[96];
    int fd, e;

    if (strcmp(slot->driver, "vfio-pci")) {
        return a350_fail(-ENODEV, "card %u (%s) is bound to %s%s%s, not to "
                         "vfio-pci: echo vfio-pci > " SYS_PCI "/%s/"
                         "driver_override; echo %s > /sys/bus/pci/"
                         "drivers_probe, or use atlas350-run", number,
                         slot->bdf, *slot->driver ? "driver '" : "no driver",
                         slot->driver, *slot->driver ? "'" : "", slot->bdf,
                         slot->bdf);
    }
    if (slot->iommu_group < 0) {
        return a350_fail(-ENODEV, "card %u (%s) has no IOMMU group: start the "
                         "virtual machine with an IOMMU (-device intel-iommu,"
                         "intremap=on,aw-bits=48 and intel_iommu=on), or use "
                         "atlas350-run", number, slot->bdf);
    }
    snprintf(path, sizeof(path), "/dev/vfio/%d", slot->iommu_group);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        e = errno;
        if (e == EBUSY) {
            holder_of(path, who, sizeof(who));
            return a350_fail(-EBUSY, "card %u (%s) is in use%s: a card serves "
                             "one process at a time; end that process or "
                             "choose another card", number, slot->bdf,
                             *who ? who : " by another process");
        }
        return a350_fail(-e, "card %u (%s): %s: %s%s", number, slot->bdf, path,
                         strerror(e), e == EACCES || e == EPERM ?
                         ": give the user access to that file" : "");
    }
    if (ioctl(fd, VFIO_GROUP_GET_STATUS, &st) ||
        !(st.flags & VFIO_GROUP_FLAGS_VIABLE)) {
        close(fd);
        return a350_fail(-ENODEV, "card %u (%s): another device of its IOMMU "
                         "group %d is not bound to vfio-pci: put each card "
                         "behind its own pcie-root-port", number, slot->bdf,
                         slot->iommu_group);
    }
    return fd;
}

/*
 * Maps @size bytes of a BAR at one stretch of addresses, but as many small
 * mappings: the kernel fills the page table of a whole mapping at its first
 * fault, which takes seconds for a large BAR.
 */
static int bar_map(vfio_dev *dev, unsigned index, uint64_t size, uint64_t seg,
                   vfio_bar *bar)
{
    struct vfio_region_info ri = { .argsz = sizeof(ri), .index = index };
    const size_t align = 2 << 20;
    uint64_t off;
    uint8_t *raw, *p;

    if (ioctl(dev->fd, VFIO_DEVICE_GET_REGION_INFO, &ri)) {
        return a350_fail(-errno, "BAR%u: %s", index, strerror(errno));
    }
    if (size == 0 || size > ri.size) {
        size = ri.size;
    }
    while (size / seg > 2048) {
        seg *= 2;
    }
    raw = mmap(NULL, size + align, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) {
        return a350_fail(-ENOMEM, "no address space for BAR%u", index);
    }
    p = (uint8_t *)(((uintptr_t)raw + align - 1) & ~(uintptr_t)(align - 1));
    if (p > raw) {
        munmap(raw, (size_t)(p - raw));
    }
    munmap(p + size, (size_t)(raw + align - p));
    bar->ptr = p;
    bar->size = size;
    for (off = 0; off < size; off += seg) {
        uint64_t n = size - off < seg ? size - off : seg;

        if (mmap(p + off, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 dev->fd, (off_t)(ri.offset + off)) == MAP_FAILED) {
            return a350_fail(-errno, "BAR%u+0x%llx cannot be mapped: %s",
                             index, (unsigned long long)off, strerror(errno));
        }
    }
    madvise(p, size, MADV_DONTFORK);
    return 0;
}

static int irq_set(vfio_dev *dev, unsigned start, unsigned count,
                   const int32_t *fds)
{
    char buf[sizeof(struct vfio_irq_set) + MSIX_NEEDED * sizeof(int32_t)];
    struct vfio_irq_set *s = (struct vfio_irq_set *)buf;

    s->argsz = sizeof(*s) + count * sizeof(int32_t);
    s->flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
    s->index = VFIO_PCI_MSIX_IRQ_INDEX;
    s->start = start;
    s->count = count;
    memcpy(s->data, fds, count * sizeof(int32_t));
    if (ioctl(dev->fd, VFIO_DEVICE_SET_IRQS, s)) {
        return a350_fail(-errno, "interrupts of the card: %s",
                         strerror(errno));
    }
    return 0;
}

static int irq_open(vfio_dev *dev)
{
    int32_t fds[MSIX_NEEDED];
    unsigned i;

    dev->admin_efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    dev->cq_efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (dev->admin_efd < 0 || dev->cq_efd < 0) {
        return a350_fail(-errno, "eventfd: %s", strerror(errno));
    }
    for (i = 0; i < MSIX_NEEDED; i++) {
        fds[i] = -1;
    }
    dev->cq_vector = A350_MSIX_CQ_FIRST;
    fds[A350_MSIX_ADMIN] = dev->admin_efd;
    fds[dev->cq_vector] = dev->cq_efd;
    return irq_set(dev, 0, MSIX_NEEDED, fds);
}

int a350_vfio_set_cq_vector(vfio_dev *dev, unsigned vector)
{
    int32_t none = -1, fd = dev->cq_efd;
    int rc;

    if (vector == dev->cq_vector) {
        return 0;
    }
    if (vector >= MSIX_NEEDED) {
        return a350_fail(-EIO, "the card names interrupt %u for its "
                         "completions; legal: %u..%u", vector,
                         A350_MSIX_CQ_FIRST, MSIX_NEEDED - 1);
    }
    irq_set(dev, dev->cq_vector, 1, &none);
    rc = irq_set(dev, vector, 1, &fd);
    if (rc == 0) {
        dev->cq_vector = vector;
    }
    return rc;
}

static int bus_master_on(vfio_dev *dev)
{
    struct vfio_region_info ri = {
        .argsz = sizeof(ri), .index = VFIO_PCI_CONFIG_REGION_INDEX,
    };
    uint16_t cmd;

    if (ioctl(dev->fd, VFIO_DEVICE_GET_REGION_INFO, &ri) ||
        pread(dev->fd, &cmd, 2, (off_t)ri.offset + 4) != 2) {
        return a350_fail(-EIO, "the card's PCI configuration cannot be read");
    }
    cmd |= 0x6;                  /* memory, bus master */
    if (pwrite(dev->fd, &cmd, 2, (off_t)ri.offset + 4) != 2) {
        return a350_fail(-EIO, "bus mastering cannot be switched on");
    }
    return 0;
}

static int device_open(const a350_card_slot *slot, vfio_dev *dev)
{
    int rc;

    dev->fd = ioctl(dev->group_fd, VFIO_GROUP_GET_DEVICE_FD, slot->bdf);
    if (dev->fd < 0) {
        return a350_fail(-errno, "card %s: VFIO does not hand it out: %s",
                         slot->bdf, strerror(errno));
    }
    if ((rc = bus_master_on(dev)) ||
        (rc = bar_map(dev, VFIO_PCI_BAR0_REGION_INDEX, A350_BAR0_RAM_SIZE,
                      1 << 20, &dev->bar0)) ||
        (rc = bar_map(dev, VFIO_PCI_BAR2_REGION_INDEX, 0, 1 << 20,
                      &dev->bar2)) ||
        (rc = bar_map(dev, VFIO_PCI_BAR4_REGION_INDEX, 0, 2 << 20,
                      &dev->bar4))) {
        return rc;
    }
    if (dev->bar0.size < A350_BAR0_RAM_SIZE ||
        dev->bar2.size < A350_REG_CTRL + A350_REG_CTRL_SIZE) {
        return a350_fail(-EIO, "card %s: BAR0 or BAR2 is too small",
                         slot->bdf);
    }
    return irq_open(dev);
}

int a350_vfio_open(unsigned number, const a350_card_slot *slot, vfio_dev *dev)
{
    int rc;

    memset(dev, 0, sizeof(*dev));
    dev->fd = dev->admin_efd = dev->cq_efd = -1;
    dev->group_fd = group_open(number, slot);
    if (dev->group_fd < 0) {
        return dev->group_fd;
    }
    pthread_mutex_lock(&container.lock);
    rc = container_add(dev->group_fd, slot->bdf);
    pthread_mutex_unlock(&container.lock);
    if (rc) {
        close(dev->group_fd);
        return rc;
    }
    rc = device_open(slot, dev);
    if (rc) {
        a350_vfio_close(dev);
    }
    return rc;
}

void a350_vfio_close(vfio_dev *dev)
{
    vfio_bar *bars[3] = { &dev->bar0, &dev->bar2, &dev->bar4 };
    int i;

    for (i = 0; i < 3; i++) {
        if (bars[i]->ptr) {
            munmap(bars[i]->ptr, bars[i]->size);
        }
    }
    if (dev->fd >= 0) {
        close(dev->fd);
    }
    if (dev->admin_efd >= 0) {
        close(dev->admin_efd);
    }
    if (dev->cq_efd >= 0) {
        close(dev->cq_efd);
    }
    container_remove(dev->group_fd);
}
