/*
 * aicpu-run --linux: a static Linux program in user mode, for comparison with
 * other emulators on the same binary. It has a console, memory and a clock,
 * no files, threads or signals.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "core.h"
#include "aicpu-run.h"

#define MEM_SIZE        (512ull << 20)
#define STACK_TOP       MEM_SIZE
#define MMAP_TOP        (MEM_SIZE - (16ull << 20))

/* Numbers of the RISC-V Linux system calls that are answered. */
enum {
    NR_ioctl = 29, NR_write = 64, NR_writev = 66, NR_readlinkat = 78,
    NR_newfstatat = 79, NR_fstat = 80, NR_exit = 93, NR_exit_group = 94,
    NR_set_tid_address = 96, NR_set_robust_list = 99, NR_clock_gettime = 113,
    NR_sigprocmask = 135, NR_getpid = 172, NR_gettid = 178, NR_brk = 214,
    NR_munmap = 215, NR_mmap = 222, NR_mprotect = 226, NR_madvise = 233,
    NR_riscv_flush_icache = 259, NR_prlimit64 = 261, NR_getrandom = 278,
};

typedef struct LinuxRun {
    A350Core *core;
    uint8_t *mem;
    uint64_t brk, mmap_next;
    bool exited;
    int code;
} LinuxRun;

static bool no_read(void *opaque, unsigned region, uint64_t off, unsigned size,
                    uint64_t *val)
{
    return false;
}

static bool no_write(void *opaque, unsigned region, uint64_t off,
                     unsigned size, uint64_t val)
{
    return false;
}

static int64_t sys_write(LinuxRun *r, int fd, uint64_t addr, uint64_t len)
{
    const void *p = a350_core_mem(r->core, addr, MAX(len, 1));

    if (!p) {
        return -EFAULT;
    }
    return fd == 1 || fd == 2 ? write(fd, p, len) : -EBADF;
}

static int64_t sys_writev(LinuxRun *r, int fd, uint64_t iov, int n)
{
    int64_t sum = 0;
    int i;

    for (i = 0; i < n; i++) {
        const uint8_t *p = a350_core_mem(r->core, iov + 16 * i, 16);
        int64_t ret = p ? sys_write(r, fd, ldq_le_p(p), ldq_le_p(p + 8))
                        : -EFAULT;

        if (ret < 0) {
            return ret;
        }
        sum += ret;
    }
    return sum;
}

static int64_t sys_brk(LinuxRun *r, uint64_t addr)
{
    if (addr > r->brk && addr < r->mmap_next) {
        r->brk = addr;
    }
    return r->brk;
}

static int64_t sys_mmap(LinuxRun *r, uint64_t addr, uint64_t len, int flags)
{
    len = ROUND_UP(len, 4096);
    if (flags & 0x10) {          /* MAP_FIXED */
        return a350_core_mem(r->core, addr, len) ? addr : -ENOMEM;
    }
    if (!len || len > r->mmap_next - r->brk) {
        return -ENOMEM;
    }
    r->mmap_next -= len;
    return r->mmap_next;
}

static int64_t sys_clock(LinuxRun *r, uint64_t addr)
{
    void *p = a350_core_mem(r->core, addr, 16);
    int64_t now = g_get_monotonic_time();

    if (!p) {
        return -EFAULT;
    }
    stq_le_p(p, now / 1000000);
    stq_le_p((uint8_t *)p + 8, now % 1000000 * 1000);
    return 0;
}

static int64_t syscall_nr(LinuxRun *r, uint64_t nr, const uint64_t *a)
{
    void *p;

    switch (nr) {
    case NR_write:
        return sys_write(r, a[0], a[1], a[2]);
    case NR_writev:
        return sys_writev(r, a[0], a[1], a[2]);
    case NR_exit:
    case NR_exit_group:
        r->exited = true;
        r->code = a[0] & 0xff;
        a350_core_halt(r->core);
        return 0;
    case NR_brk:
        return sys_brk(r, a[0]);
    case NR_mmap:
        return sys_mmap(r, a[0], a[1], a[3]);
    case NR_clock_gettime:
        return sys_clock(r, a[1]);
    case NR_getrandom:
        p = a350_core_mem(r->core, a[0], MAX(a[1], 1));
        if (!p) {
            return -EFAULT;
        }
        memset(p, 4, a[1]);
        return a[1];
    case NR_riscv_flush_icache:
        a350_core_invalidate(r->core);
        return 0;
    case NR_set_tid_address:
    case NR_getpid:
    case NR_gettid:
        return 1;
    case NR_munmap:
    case NR_mprotect:
    case NR_madvise:
    case NR_set_robust_list:
    case NR_sigprocmask:
        return 0;
    case NR_ioctl:
    case NR_fstat:
    case NR_newfstatat:
        return -ENOTTY;
    }
    return -ENOSYS;
}

static bool linux_ecall(void *opaque)
{
    LinuxRun *r = opaque;
    uint64_t a[6];
    int i;

    for (i = 0; i < 6; i++) {
        a[i] = a350_core_get_x(r->core, 10 + i);
    }
    a350_core_set_x(r->core, 10,
                    syscall_nr(r, a350_core_get_x(r->core, 17), a));
    return true;
}

static bool linux_trap(void *opaque, uint64_t cause, uint64_t pc,
                       uint64_t tval)
{
    LinuxRun *r = opaque;

    fprintf(stderr, "aicpu-run: exception %" PRIu64 " at 0x%" PRIx64
            ", value 0x%" PRIx64 "\n", cause, pc, tval);
    r->exited = true;
    r->code = 128;
    return true;
}

static const A350CoreOps linux_ops = {
    .mmio_read = no_read,
    .mmio_write = no_write,
    .ecall = linux_ecall,
    .trap = linux_trap,
};

/* The initial stack of the RISC-V Linux ABI; returns sp. */
static uint64_t make_stack(LinuxRun *r, const RunOptions *o,
                           const RunImage *im)
{
    uint64_t pos = STACK_TOP - 64, sp, v;
    const char *name = o->linux_elf;
    uint64_t arg[64];
    uint64_t aux[] = {
        3, im->phdr, 4, 56, 5, im->phnum, 6, 4096, 9, im->entry,
        11, 0, 12, 0, 13, 0, 14, 0, 23, 0, 25, STACK_TOP - 32, 0, 0,
    };
    int n = MIN(o->num_args + 1, 64), i;

    for (i = 0; i < n; i++) {
        const char *s = i ? o->args[i - 1] : name;

        pos -= strlen(s) + 1;
        memcpy(r->mem + pos, s, strlen(s) + 1);
        arg[i] = pos;
    }
    sp = (pos - 8 * (n + 3) - sizeof(aux)) & ~15ull;
    v = sp;
    stq_le_p(r->mem + v, n);
    for (i = 0; i < n; i++) {
        stq_le_p(r->mem + v + 8 * (i + 1), arg[i]);
    }
    v += 8 * (n + 1);
    stq_le_p(r->mem + v, 0);     /* end of argv; empty environment behind it */
    stq_le_p(r->mem + v + 8, 0);
    for (i = 0; i < ARRAY_SIZE(aux); i++) {
        stq_le_p(r->mem + v + 16 + 8 * i, aux[i]);
    }
    return sp;
}

int run_linux(const RunOptions *o)
{
    LinuxRun r = { 0 };
    A350CoreState s;
    A350CoreExit why;
    RunImage im;
    int64_t t0;

    if (!run_image_open(&im, o->linux_elf)) {
        return RUN_USAGE;
    }
    r.mem = run_alloc(MEM_SIZE);
    r.core = a350_core_new(0, &linux_ops, &r);
    a350_core_add_region(r.core, 0, MEM_SIZE, r.mem, A350_M_RWX | A350_U_RWX);
    if (!run_image_load(&im, r.mem, 0, MMAP_TOP)) {
        return RUN_USAGE;
    }
    r.brk = ROUND_UP(im.high, 4096);
    r.mmap_next = MMAP_TOP;
    a350_core_reset(r.core, im.entry);
    a350_core_get_state(r.core, &s);
    s.priv = 0;
    s.mstatus = 1 << 13;         /* floating point on */
    s.mcounteren = 7;
    s.x[10] = 0;
    s.x[2] = make_stack(&r, o, &im);
    s.pmpaddr[0] = (1ull << 54) - 1;
    s.pmpcfg[0] = 0x1f;          /* all of memory, everything */
    a350_core_set_state(r.core, &s);
    t0 = g_get_monotonic_time();
    do {
        why = a350_core_run(r.core, INT64_C(1) << 40);
    } while (why != A350_EXIT_HALT && !r.exited);
    t0 = g_get_monotonic_time() - t0;
    if (o->stats) {
        fprintf(stderr, "%" PRIu64 " instructions, %.1f million/s\n",
                a350_core_instret(r.core),
                (double)a350_core_instret(r.core) / MAX(t0, 1));
    }
    a350_core_free(r.core);
    return r.code;
}
