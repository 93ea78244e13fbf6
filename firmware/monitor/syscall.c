/*
 * Atlas 350 firmware monitor: Linux system calls, as far as a C library
 * running C and C++ kernels makes them. docs/firmware.rst has the list.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mon.h"

static int64_t sys_uname(uint64_t out)
{
    static const char *const field[6] = {
        "Linux", "atlas350", "6.1.0", "A350 monitor", "riscv64", "",
    };
    char buf[6 * 65];

    memset(buf, 0, sizeof(buf));
    for (int i = 0; i < 6; i++) {
        str_copy(buf + i * 65, 65, field[i]);
    }
    return user_put(out, buf, sizeof(buf)) ? 0 : -EFAULT;
}

static int64_t put_time(uint64_t clock, uint64_t out, uint64_t div)
{
    bool wall = clock == 0 || clock == 5 || clock == 11;
    uint64_t ns = am_read(wall ? A350_AM_WALL_TIME : A350_AM_TIME);
    uint64_t ts[2] = { ns / 1000000000, ns % 1000000000 / div };

    if (clock > 11) {
        return -EINVAL;
    }
    return user_put(out, ts, sizeof(ts)) ? 0 : -EFAULT;
}

static int64_t put_resolution(uint64_t out)
{
    uint64_t ts[2] = { 0, 1 };

    return !out || user_put(out, ts, sizeof(ts)) ? 0 : -EFAULT;
}

/* Limits: a thread's default stack, open files; all else unlimited. */
static int64_t sys_prlimit(uint64_t which, uint64_t out)
{
    uint64_t lim[2] = { UINT64_MAX, UINT64_MAX };

    if (which == 3) {
        lim[0] = 1 << 20;
    } else if (which == 7) {
        lim[0] = lim[1] = MAX_FDS;
    }
    return !out || user_put(out, lim, sizeof(lim)) ? 0 : -EFAULT;
}

static int64_t sys_getrandom(uint64_t buf, uint64_t len)
{
    if (!user_range(buf, len)) {
        return -EFAULT;
    }
    len = len > 4096 ? 4096 : len;
    for (uint64_t i = 0; i < len; i += 8) {
        uint64_t v = am_read(A350_AM_RANDOM);

        memcpy((void *)(buf + i), &v, len - i < 8 ? len - i : 8);
    }
    return (int64_t)len;
}

static int64_t sys_sigmask(struct thread *t, const uint64_t *a)
{
    uint64_t set, old = t->sigmask;

    if (a[3] != 8) {
        return -EINVAL;
    }
    if (a[1]) {
        if (!user_get(&set, a[1], 8)) {
            return -EFAULT;
        }
        switch (a[0]) {
        case 0:
            t->sigmask |= set;
            break;
        case 1:
            t->sigmask &= ~set;
            break;
        case 2:
            t->sigmask = set;
            break;
        default:
            return -EINVAL;
        }
    }
    return !a[2] || user_put(a[2], &old, 8) ? 0 : -EFAULT;
}

/* Handlers are not run: the old action is always the default one. */
static int64_t sys_sigaction(uint64_t sig, uint64_t old)
{
    static const uint64_t none[3];

    if (sig == 0 || sig > 64) {
        return -EINVAL;
    }
    return !old || user_put(old, none, sizeof(none)) ? 0 : -EFAULT;
}

static int64_t sys_sigaltstack(uint64_t old)
{
    uint64_t ss[3] = { 0, 2, 0 };

    return !old || user_put(old, ss, sizeof(ss)) ? 0 : -EFAULT;
}

/* A signal to oneself ends the launch; others are nobody's business. */
static int64_t sys_kill(struct core *c, struct thread *t, uint64_t tid,
                        uint64_t sig)
{
    static const char *const name[] = {
        [4] = "SIGILL", [5] = "SIGTRAP", [6] = "SIGABRT", [7] = "SIGBUS",
        [8] = "SIGFPE", [9] = "SIGKILL", [11] = "SIGSEGV", [15] = "SIGTERM",
    };
    char text[64];

    if (sig == 0 || sig > 64) {
        return sig ? -EINVAL : 0;
    }
    if (tid != t->tid && tid != 1) {
        return -ESRCH;
    }
    if (sig < sizeof(name) / sizeof(name[0]) && name[sig]) {
        fmt(text, sizeof(text), sig == 6 ? "abort (%s)" : "killed by %s",
            name[sig]);
    } else {
        fmt(text, sizeof(text), "killed by signal %lu", sig);
    }
    launch_fault(c, t, A350_EXC_ABORT, 0, (uint32_t)sig, text);
    return (int64_t)t->x[10];
}

static int64_t sys_exit(struct core *c, struct thread *t, uint64_t code,
                        bool group)
{
    if (t->in_launch) {
        char text[64];

        fmt(text, sizeof(text), "exit(%d) inside a kernel", (int)code);
        if (group) {
            /* The C library's own exit: destructors of all have run. */
            restart_ask(RESTART_HARD, "a kernel left the process");
        }
        launch_fault(c, t, A350_EXC_EXIT, 0, (uint32_t)code, text);
        return (int64_t)t->x[10];
    }
    if (group && !mon.ready) {
        mon_fail(3, "runtime ended with code %d before it was ready",
                 (int)code);
    }
    if (c->worker == t) {
        thread_end(t);
        worker_follow(c);
    } else {
        thread_end(t);
    }
    return 0;
}

static int64_t sys_affinity(uint64_t len, uint64_t out)
{
    uint64_t mask = (1ull << mon.num_cores) - 1;

    if (len < 8) {
        return -EINVAL;
    }
    return user_put(out, &mask, 8) ? 8 : -EFAULT;
}

static int64_t sys_sysinfo(uint64_t out)
{
    struct {
        int64_t uptime;
        uint64_t loads[3], total, free, shared, buffer, swap[2];
        uint16_t procs, pad;
        uint64_t high[2];
        uint32_t unit;
    } s;

    memset(&s, 0, sizeof(s));
    s.uptime = (int64_t)(am_read(A350_AM_TIME) / 1000000000);
    s.total = mon.pages * PAGE;
    s.free = (mon.pages - page_count_used()) * PAGE;
    s.procs = 1;
    s.unit = 1;
    return user_put(out, &s, sizeof(s)) ? 0 : -EFAULT;
}

static int64_t sys_getcwd(uint64_t buf, uint64_t len)
{
    return len < 2 ? -EINVAL : user_put(buf, "/", 2) ? 2 : -EFAULT;
}

static int64_t sys_getcpu(struct core *c, uint64_t cpu, uint64_t node)
{
    uint32_t id = (uint32_t)c->id, zero = 0;

    if ((cpu && !user_put(cpu, &id, 4)) ||
        (node && !user_put(node, &zero, 4))) {
        return -EFAULT;
    }
    return 0;
}

static int64_t sys_unknown(struct thread *t, uint64_t nr)
{
    if (nr < 1024 && !(mon.unknown_seen[nr / 64] & 1ull << (nr % 64))) {
        mon.unknown_seen[nr / 64] |= 1ull << (nr % 64);
        mon_log(LOG_WARN, "system call %lu is not there (pc 0x%lx)", nr,
                t->x[0] - 4);
    }
    return -ENOSYS;
}

/* Threads, time, identity. */
static int64_t sys_process(struct core *c, struct thread *t, uint64_t nr,
                           const uint64_t *a)
{
    switch (nr) {
    case 93:
        return sys_exit(c, t, a[0], false);
    case 94:
        return sys_exit(c, t, a[0], true);
    case 96:                                /* set_tid_address */
        t->clear_tid = a[0];
        return t->tid;
    case 99:                                /* set_robust_list */
        return 0;
    case 98:
        return sys_futex(t, a);
    case 101:
        return sys_sleep(t, 1, false, a[0]);
    case 113:
        return put_time(a[0], a[1], 1);
    case 114:
        return put_resolution(a[1]);
    case 115:
        return sys_sleep(t, (unsigned)a[0], a[1] & 1, a[2]);
    case 122:                               /* sched_setaffinity */
        return 0;
    case 123:
        return sys_affinity(a[1], a[2]);
    case 124:                               /* sched_yield */
        return 0;
    case 129:                               /* kill */
        return sys_kill(c, t, a[0], a[1]);
    case 130:                               /* tkill */
        return sys_kill(c, t, a[0], a[1]);
    case 131:                               /* tgkill */
        return sys_kill(c, t, a[1], a[2]);
    case 132:
        return sys_sigaltstack(a[1]);
    case 134:
        return sys_sigaction(a[0], a[2]);
    case 135:
        return sys_sigmask(t, a);
    case 160:
        return sys_uname(a[0]);
    case 168:
        return sys_getcpu(c, a[0], a[1]);
    case 169:                               /* gettimeofday */
        return put_time(0, a[0], 1000);
    case 172:                               /* getpid */
    case 173:                               /* getppid */
        return 1;
    case 174:
    case 175:
    case 176:
    case 177:                               /* get{,e}{u,g}id */
        return 0;
    case 178:
        return t->tid;
    case 179:
        return sys_sysinfo(a[0]);
    case 220:
        return sys_clone(t, a);
    case 261:
        return sys_prlimit(a[1], a[3]);
    case 278:
        return sys_getrandom(a[0], a[1]);
    case 293:                               /* rseq */
    case 435:                               /* clone3: the caller has clone */
    case 258:                               /* riscv_hwprobe */
        return -ENOSYS;
    default:
        return sys_unknown(t, nr);
    }
}

/* Files and memory; the rest to sys_process. */
static int64_t sys_linux(struct core *c, struct thread *t, uint64_t nr,
                         const uint64_t *a)
{
    switch (nr) {
    case 17:
        return sys_getcwd(a[0], a[1]);
    case 25:                                /* fcntl */
        return fd_get(a[0]) ? (a[1] == 3 ? 2 : 0) : -EBADF;
    case 29:                                /* ioctl: nothing is a terminal */
        return fd_get(a[0]) ? -ENOTTY : -EBADF;
    case 48:                                /* faccessat, faccessat2 */
    case 439:
        return sys_access(a[1], a[2]);
    case 56:
        return sys_openat(t, a);
    case 57:
        return sys_close(a[0]);
    case 61:                                /* getdents64 */
        return fd_get(a[0]) ? 0 : -EBADF;
    case 62:
        return sys_lseek(a[0], (int64_t)a[1], a[2]);
    case 63:
        return sys_read(a[0], a[1], a[2]);
    case 64:
        return sys_write(t, a[0], a[1], a[2]);
    case 66:
        return sys_writev(t, a[0], a[1], a[2]);
    case 67:
        return sys_pread(a[0], a[1], a[2], a[3]);
    case 78:                                /* readlinkat: no links */
        return -EINVAL;
    case 79:
        return (a[3] & 0x1000) ? sys_fstat(a[0], a[2])
                               : sys_fstatat(a[1], a[2]);
    case 80:
        return sys_fstat(a[0], a[1]);
    case 214:
        return sys_brk(a[0]);
    case 215:
        return sys_munmap(a[0], a[1]);
    case 216:
        return sys_mremap(a[0], a[1], a[2], a[3]);
    case 222:
        return sys_mmap(t, a);
    case 226:
        return sys_mprotect(a[0], a[1], a[2]);
    case 233:
        return sys_madvise(a[0], a[1], a[2]);
    case 259:                               /* riscv_flush_icache */
        code_changed();
        return 0;
    case 283:                               /* membarrier */
    case 291:                               /* statx: the caller has fstat */
        return -ENOSYS;
    default:
        return sys_process(c, t, nr, a);
    }
}

void syscall(struct core *c, struct thread *t)
{
    uint64_t nr = t->x[17];
    uint64_t a[6];
    int64_t r;

    memcpy(a, &t->x[10], sizeof(a));
    t->x[0] += 4;
    if (nr >= A350_SYS_FIRST && nr <= A350_SYS_LAST) {
        r = sys_private(c, t, nr, a);
    } else {
        r = sys_linux(c, t, nr, a);
    }
#ifdef MON_TRACE
    mon_log(LOG_DEBUG, "core %lu tid %x: call %lu(0x%lx, 0x%lx, 0x%lx) = %ld "
            "pc 0x%lx", c->id, t->tid, nr, a[0], a[1], a[2], r, t->x[0]);
#endif
    t->x[10] = (uint64_t)r;
}
