/*
 * Atlas 350 firmware monitor: user memory and the pages of the reserve.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * There is no paging: a user address is an address in HBM, and all of HBM
 * exists. So a range check is all a system call needs to be safe from a bad
 * pointer. Protection is kept per page for what reads it (stack guards, text
 * of kernels), but only guards are enforced, by PMP.
 */
#include "mon.h"

bool user_range(uint64_t addr, uint64_t len)
{
    uint64_t off = addr - mon.dev_base;

    return off < mon.hbm_size && len <= mon.hbm_size - off;
}

bool user_get(void *dst, uint64_t addr, uint64_t len)
{
    if (!user_range(addr, len)) {
        return false;
    }
    memcpy(dst, (const void *)addr, len);
    return true;
}

bool user_put(uint64_t addr, const void *src, uint64_t len)
{
    if (!user_range(addr, len)) {
        return false;
    }
    memcpy((void *)addr, src, len);
    return true;
}

/* Length of the string, or -errno. */
int user_str(char *dst, size_t size, uint64_t addr)
{
    uint64_t off = addr - mon.dev_base, room;
    const volatile char *src = (const volatile char *)addr;

    if (off >= mon.hbm_size) {
        return -EFAULT;
    }
    room = mon.hbm_size - off;
    for (size_t i = 0; i < size; i++) {
        if (i == room) {
            return -EFAULT;
        }
        dst[i] = src[i];
        if (!dst[i]) {
            return (int)i;
        }
    }
    return -ENAMETOOLONG;
}

static uint32_t page_of(uint64_t addr)
{
    return (uint32_t)((addr - mon.fw_base) / PAGE);
}

static bool in_reserve(uint64_t addr, uint64_t len)
{
    uint64_t off = addr - mon.fw_base, size = mon.pages * PAGE;

    return off < size && len <= size - off;
}

static uint64_t round_up(uint64_t v)
{
    return (v + PAGE - 1) & ~(PAGE - 1);
}

/* Frees all but the images of kernel libraries, which survive a restart. */
void mem_init(void)
{
    for (uint32_t i = 0; i < mon.pages; i++) {
        if (!(mon.page[i] & PG_IMAGE)) {
            mon.page[i] = 0;
        }
    }
    mon.page_hint = 0;
    mon.brk_lo = mon.brk_hi = mon.brk = 0;
}

static uint32_t run_find(uint32_t from, uint32_t to, uint32_t n)
{
    uint32_t run = 0;

    for (uint32_t i = from; i < to; i++) {
        run = (mon.page[i] & PG_USED) ? 0 : run + 1;
        if (run == n) {
            return i - n + 1;
        }
    }
    return UINT32_MAX;
}

/* Address, 0 if there is no such run of pages. */
uint64_t page_alloc(uint64_t bytes, uint8_t flags)
{
    uint64_t n = (bytes + PAGE - 1) / PAGE;
    uint32_t at;

    if (n == 0 || n > mon.pages) {
        return 0;
    }
    at = run_find(mon.page_hint, mon.pages, (uint32_t)n);
    if (at == UINT32_MAX) {
        at = run_find(0, mon.pages, (uint32_t)n);
    }
    if (at == UINT32_MAX) {
        return 0;
    }
    memset(&mon.page[at], PG_USED | flags, n);
    mon.page_hint = at + (uint32_t)n;
    return mon.fw_base + at * PAGE;
}

void page_free(uint64_t addr, uint64_t bytes)
{
    uint32_t at = page_of(addr);

    memset(&mon.page[at], 0, (bytes + PAGE - 1) / PAGE);
    if (at < mon.page_hint) {
        mon.page_hint = at;
    }
}

uint8_t page_flags(uint64_t addr)
{
    return in_reserve(addr, 1) ? mon.page[page_of(addr)] : 0;
}

uint32_t page_count_used(void)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < mon.pages; i++) {
        n += (mon.page[i] & PG_USED) != 0;
    }
    return n;
}

/* The inaccessible pages below the mapping that @sp lies in, if any. */
void find_guard(uint64_t sp, uint64_t *lo, uint64_t *hi)
{
    uint32_t i, end;

    *lo = *hi = 0;
    if (!in_reserve(sp - 1, 1)) {
        return;
    }
    i = page_of(sp - 1);
    while (i > 0 && (mon.page[i] & PG_PROT)) {
        i--;
    }
    if ((mon.page[i] & PG_PROT) || !(mon.page[i] & PG_USED)) {
        return;
    }
    end = i + 1;
    while (i > 0 && (mon.page[i - 1] & (PG_USED | PG_PROT)) == PG_USED) {
        i--;
    }
    *lo = mon.fw_base + i * PAGE;
    *hi = mon.fw_base + end * PAGE;
}

#define MAP_FIXED      0x10
#define MAP_ANONYMOUS  0x20
#define MAP_STACK      0x20000
#define MAP_FIXED_NOREPLACE 0x100000
#define STACK_ZERO     (64 * 1024)

/* Are all pages reserved, and none of them an image? */
static bool can_replace(uint64_t addr, uint64_t len)
{
    uint32_t first = page_of(addr);

    for (uint32_t i = 0; i < len / PAGE; i++) {
        if ((mon.page[first + i] & (PG_USED | PG_IMAGE)) != PG_USED) {
            return false;
        }
    }
    return true;
}

/* New mappings are zero; of a stack, what the C library relies on. */
static void map_zero(uint64_t addr, uint64_t len, uint64_t flags)
{
    if (flags & A350_FW_MAP_DIRTY) {
        return;
    }
    if ((flags & MAP_STACK) && len > STACK_ZERO) {
        addr += len - STACK_ZERO;
        len = STACK_ZERO;
    }
    memset((void *)addr, 0, len);
}

static void map_file(uint64_t addr, uint64_t len, const struct file *f,
                     uint64_t off)
{
    uint64_t n = off < f->size ? f->size - off : 0;

    if (n > len) {
        n = len;
    }
    memcpy((void *)addr, f->data + off, n);
    memset((void *)(addr + n), 0, len - n);
}

int64_t sys_mmap(struct thread *t, const uint64_t *a)
{
    uint64_t addr = a[0], len = round_up(a[1]), prot = a[2] & PG_PROT;
    uint64_t flags = a[3], off = a[5];
    uint8_t page = PG_USED | (uint8_t)prot;
    struct fd *fd = NULL;

    if (a[1] == 0 || len < a[1] || (off & (PAGE - 1))) {
        return -EINVAL;
    }
    if (len > mon.pages * PAGE) {
        return -ENOMEM;
    }
    if (!(flags & MAP_ANONYMOUS)) {
        fd = fd_get(a[4]);
        if (!fd || fd->kind != FD_FILE) {
            return fd ? -EACCES : -EBADF;
        }
        page |= fd->file->ram ? PG_KERNEL : 0;
    }
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
        if ((addr & (PAGE - 1)) || !in_reserve(addr, len) ||
            (flags & MAP_FIXED_NOREPLACE) || !can_replace(addr, len)) {
            return -ENOMEM;
        }
        memset(&mon.page[page_of(addr)], page, len / PAGE);
    } else {
        addr = page_alloc(len, page);
        if (!addr) {
            return -ENOMEM;
        }
    }
    if (fd) {
        map_file(addr, len, fd->file, off);
        if (prot & PG_EXEC) {
            code_changed();
        }
    } else {
        map_zero(addr, len, flags);
    }
    (void)t;
    return (int64_t)addr;
}

int64_t sys_munmap(uint64_t addr, uint64_t len)
{
    uint32_t first;

    len = round_up(len);
    if (!len || (addr & (PAGE - 1)) || !in_reserve(addr, len)) {
        return -EINVAL;
    }
    first = page_of(addr);
    for (uint32_t i = 0; i < len / PAGE; i++) {
        if (!(mon.page[first + i] & PG_IMAGE)) {
            mon.page[first + i] = 0;
        }
    }
    if (first < mon.page_hint) {
        mon.page_hint = first;
    }
    return 0;
}

int64_t sys_mprotect(uint64_t addr, uint64_t len, uint64_t prot)
{
    len = round_up(len);
    if ((addr & (PAGE - 1)) || (len && !in_reserve(addr, len))) {
        return -EINVAL;
    }
    for (uint64_t i = 0; i < len / PAGE; i++) {
        uint8_t *p = &mon.page[page_of(addr) + i];

        if (!(*p & PG_USED)) {
            return -ENOMEM;
        }
        *p = (uint8_t)((*p & ~PG_PROT) | (prot & PG_PROT));
    }
    if (prot & PG_EXEC) {
        code_changed();
    }
    return 0;
}

int64_t sys_mremap(uint64_t addr, uint64_t old, uint64_t len, uint64_t flags)
{
    uint64_t to;
    uint8_t page;

    old = round_up(old);
    len = round_up(len);
    if (!old || !len || (addr & (PAGE - 1)) || !in_reserve(addr, old) ||
        !can_replace(addr, old)) {
        return -EINVAL;
    }
    if (len <= old) {
        if (len < old) {
            sys_munmap(addr + len, old - len);
        }
        return (int64_t)addr;
    }
    page = mon.page[page_of(addr)];
    to = (flags & 1) ? page_alloc(len, page) : 0;
    if (!to) {
        return -ENOMEM;
    }
    memcpy((void *)to, (void *)addr, old);
    memset((void *)(to + old), 0, len - old);
    sys_munmap(addr, old);
    return (int64_t)to;
}

/* MADV_DONTNEED gives zeros afterwards; other advice is taken as read. */
int64_t sys_madvise(uint64_t addr, uint64_t len, uint64_t advice)
{
    len = round_up(len);
    if ((addr & (PAGE - 1)) || (len && !in_reserve(addr, len))) {
        return -EINVAL;
    }
    if (advice == 4 && len && can_replace(addr, len)) {
        memset((void *)addr, 0, len);
    }
    return 0;
}

#define BRK_SIZE (256 * 1024)

/* A small break for those who insist; the heap is the runtime's. */
int64_t sys_brk(uint64_t addr)
{
    if (!mon.brk_lo) {
        mon.brk_lo = page_alloc(BRK_SIZE, PG_READ | PG_WRITE);
        mon.brk_hi = mon.brk_lo + (mon.brk_lo ? BRK_SIZE : 0);
        mon.brk = mon.brk_lo;
    }
    if (addr >= mon.brk_lo && addr <= mon.brk_hi) {
        if (addr > mon.brk) {
            memset((void *)mon.brk, 0, addr - mon.brk);
        }
        mon.brk = addr;
    }
    return (int64_t)mon.brk;
}
