/*
 * Atlas 350 firmware monitor: kernel launches, from mailbox to end.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A worker asks for a launch (A350_SYS_NEXT), calls the kernel in user mode
 * and ends it (A350_SYS_END). A kernel that traps, aborts or runs out of
 * time does not come back: the monitor records what it sees, lets the
 * runtime's crash entry make it readable on the dead thread itself, and a
 * spare thread takes the core over. A crash entry that fails too, or takes
 * too long, is passed over: the raw record goes out.
 */
#include "mon.h"

#define MSEC          1000000ull
#define USEC          1000ull
#define CRASH_TIME    (3000 * MSEC)  /* for the runtime to read a crash */
#define ABORT_GRACE   (20 * MSEC)    /* for leaving a library's lock */
#define ABORT_SAMPLE  (50 * USEC)

static uint64_t complete48(uint32_t low, uint32_t high)
{
    uint64_t addr = low | (uint64_t)(high & 0xffff) << 32;

    return addr | (mon.dev_base & ~((1ull << 48) - 1));
}

static void read_mbox(a350_topic_mbox *mb)
{
    uint64_t w[sizeof(*mb) / 8];

    for (unsigned i = 0; i < sizeof(*mb) / 8; i++) {
        w[i] = am_read(A350_AM_MSQ_DATA + i * 8);
    }
    memcpy(mb, w, sizeof(*mb));
}

/* Decodes w4..w13 of the SQE: spec/hw/task-queues.md §3, AICPU_D. */
static void decode(a350_fw_call *call, const a350_topic_mbox *mb)
{
    const uint32_t *u = mb->user_data;

    /* Not all of it is copied out: the strings are short. */
    memset(call, 0, offsetof(a350_fw_call, so));
    call->so[0] = 0;
    call->blk_id = mb->blk_id;
    call->blk_dim = mb->blk_dim;
    call->kernel_type = mb->kernel & 0x7f;
    call->sq_id = mb->tq_id;
    call->task = mb->stream_id | (uint32_t)mb->task_id << 16;
    call->args = complete48(u[2], u[3]);
    if ((u[0] || (u[1] & 0xffff)) &&
        user_str(call->so, sizeof(call->so), complete48(u[0], u[1])) < 0) {
        call->so[0] = 0;
        call->status = A350_AE_SO_NAME;
    }
    if (user_str(call->function, sizeof(call->function),
                 complete48(u[4], u[5])) <= 0) {
        str_copy(call->function, sizeof(call->function), "(unreadable)");
        call->status = call->status ? call->status : A350_AE_KERNEL_NAME;
    }
}

/* No launch may begin before the runtime has been restarted. */
bool mbox_closed(void)
{
    return mon.want_restart == RESTART_HARD ||
           (mon.want_restart && !any_launch());
}

/* Gives the core's mailbox, if it is valid, to @t, which waits for it. */
bool mbox_take(struct core *c, struct thread *t)
{
    a350_topic_mbox mb;
    uint64_t out = t->x[10];

    if (t != c->worker) {
        return false;
    }
    if (c->wake) {
        c->wake = false;
        t->x[10] = (uint64_t)-EINTR;
        return true;
    }
    if (mbox_closed() || !(am_read(A350_AM_MSQ_STATUS) & A350_MSQ_VALID)) {
        return false;
    }
    read_mbox(&mb);
    decode(&t->call, &mb);
    t->call.core = (uint32_t)c->id;
    t->call.serial = (uint32_t)++mon.launches;
    am_write(A350_AM_MSQ_ACCEPT, 1);
    am_write(A350_AM_KERNEL_ADDR, (uintptr_t)t->call.function);
    t->in_launch = true;
    t->fcsr = 0;
    if (c->fp_owner == t) {
        csr_write(0x003, 0);     /* fcsr: no kernel leaves it to the next */
    }
    t->abort = A350_ABORT_NONE;
    t->x[10] = user_put(out, &t->call, sizeof(t->call)) ? 0
                                                        : (uint64_t)-EFAULT;
    return true;
}

static void launch_over(struct thread *t)
{
    line_flush(t);
    t->in_launch = t->crashing = false;
    t->abort = A350_ABORT_NONE;
    t->abort_until = t->crash_until = 0;
    file_close_owned(t);
    if (mon.want_restart) {
        kick_all();
    }
}

static void launch_end(struct core *c, struct thread *t, uint32_t errcode,
                       const a350_exc_record *rec)
{
    launch_over(t);
    if (rec) {
        am_write(A350_AM_EXC_ADDR, (uintptr_t)rec);
    }
    if (errcode) {
        mon.failures++;
    }
    am_write(A350_AM_TOPIC_CQE, (uint64_t)errcode << 16 | (errcode ? 4 : 0));
    am_write(A350_AM_KERNEL_ADDR, 0);
    (void)c;
}

static bool pc_in_kernel(uint64_t pc)
{
    return (page_flags(pc) & (PG_KERNEL | PG_EXEC)) == (PG_KERNEL | PG_EXEC);
}

/* Frame pointers, as kernels of the SDK's compiler wrapper keep them. */
static uint32_t walk_frames(const struct thread *t, uint64_t *frame)
{
    uint64_t fp = t->x[8], pair[2];
    uint32_t n = 0;

    frame[n++] = t->x[0];
    if (!page_flags(t->x[0]) && t->x[1]) {
        frame[n++] = t->x[1];
    }
    while (n < A350_EXC_FRAMES && !(fp & 7) && user_get(pair, fp - 16, 16)) {
        if (!(page_flags(pair[1]) & PG_EXEC)) {
            break;
        }
        frame[n++] = pair[1];
        if (pair[0] <= fp) {
            break;
        }
        fp = pair[0];
    }
    return n;
}

static const char *cause_text(uint64_t cause)
{
    static const char *const text[] = {
        "jump to a misaligned address", "jump to an address without code",
        "illegal instruction", "ebreak", "misaligned atomic load",
        "load from an invalid address", "misaligned atomic store",
        "store to an invalid address",
    };

    switch (cause) {
    case A350_EXC_ABORT:
        return "abort";
    case A350_EXC_EXIT:
        return "exit inside a kernel";
    case A350_EXC_TIMEOUT:
        return "time limit reached";
    case A350_EXC_NO_MEMORY:
        return "out of memory";
    }
    return cause < sizeof(text) / sizeof(text[0]) ? text[cause]
                                                  : "unexpected trap";
}

static void fill_record(a350_exc_record *r, const struct core *c,
                        const struct thread *t, uint64_t cause, uint64_t addr,
                        uint32_t code, const char *text)
{
    memset(r, 0, sizeof(*r));
    r->cause = (uint32_t)cause;
    r->core = (uint32_t)c->id;
    r->sq_id = t->call.sq_id;
    r->task = t->call.task;
    r->pc = t->x[0];
    r->addr = addr;
    memcpy(&r->x[1], &t->x[1], 31 * 8);
    r->frames = walk_frames(t, r->frame);
    r->exit_code = code;
    str_copy(r->kernel, sizeof(r->kernel), t->call.function);
    str_copy(r->library, sizeof(r->library), t->call.so);
    if (text && *text) {
        str_copy(r->text, sizeof(r->text), text);
    } else if (cause == 5 || cause == 7 || cause == 1) {
        bool guard = addr >= t->guard_lo && addr < t->guard_hi;

        fmt(r->text, sizeof(r->text), guard ? "stack overflow (%s 0x%lx)"
                                            : "%s 0x%lx",
            cause_text(cause), addr);
    } else {
        str_copy(r->text, sizeof(r->text), cause_text(cause));
    }
    fmt(r->where, sizeof(r->where), "pc 0x%lx", r->pc);
}

/* The runtime could not read this crash: ends it with the raw record. */
void launch_kill(struct core *c, struct thread *t, bool raw)
{
    if (raw) {
        mon_log(LOG_ERROR, "kernel %s died and its crash could not be read",
                t->call.function);
        launch_end(c, t, a350_fw_death_code(c->exc.cause), &c->exc);
        restart_ask(RESTART_HARD, "a crash could not be handled");
    }
    thread_end(t);
    worker_follow(c);
}

/*
 * Linux's struct rt_sigframe as the unwinder knows it: 128 bytes of siginfo,
 * then ucontext with the registers, pc first, 176 bytes into it. ra points at
 * the runtime's copy of the sigreturn trampoline, kept at crash_buf's end.
 */
#define SIGINFO_SIZE   128
#define UC_REGS        176
#define SIGFRAME_SIZE  (SIGINFO_SIZE + UC_REGS + 32 * 8 + 528 + 64)

static bool enter_crash(struct core *c, struct thread *t)
{
    uint64_t sp = (t->crash_stack + t->crash_size - SIGFRAME_SIZE) & ~15ull;
    static const uint32_t tramp[2] = { 0x08b00893, 0x00000073 };
    uint64_t regs[32];

    if (!t->crash_entry || !user_range(t->crash_stack, t->crash_size) ||
        t->crash_size < SIGFRAME_SIZE + 8192 ||
        !user_put(t->crash_buf, &c->exc, sizeof(c->exc))) {
        return false;
    }
    memset((void *)sp, 0, SIGFRAME_SIZE);
    memcpy(regs, c->exc.x, sizeof(regs));
    /* After a jump into nowhere, the caller is all that can be found. */
    regs[0] = page_flags(c->exc.pc) ? c->exc.pc : regs[1];
    user_put(sp + SIGINFO_SIZE + UC_REGS, regs, sizeof(regs));
    user_put(sp + SIGFRAME_SIZE - 16, tramp, 8);
    t->x[1] = sp + SIGFRAME_SIZE - 16;
    t->x[2] = sp;
    t->x[3] = t->gp;
    t->x[4] = t->tp;
    t->x[10] = t->crash_buf;
    t->x[11] = sp;
    t->x[12] = t->crash_level;
    t->x[0] = t->crash_entry;
    t->guard_lo = t->guard_hi = 0;
    if (c->cur == t) {
        set_guard(c, t);
    } else {
        t->state = T_READY;      /* it was blocked */
    }
    return true;
}

/* @t cannot go on: its launch ends, or the runtime does. */
void launch_fault(struct core *c, struct thread *t, uint64_t cause,
                  uint64_t addr, uint32_t code, const char *text)
{
    if (t->crashing) {
        mon_log(LOG_WARN, "crash handler of %s trapped: cause %lu, pc 0x%lx, "
                "address 0x%lx%s", t->call.function, cause, t->x[0], addr,
                t->crash_level ? ", again" : "");
        if (++t->crash_level > 1 || !enter_crash(c, t)) {
            launch_kill(c, t, true);
        }
        return;
    }
    fill_record(&c->exc, c, t, cause, addr, code, text);
    if (!t->in_launch) {
        mon_log(LOG_ERROR, "runtime: %s, pc 0x%lx, ra 0x%lx, thread 0x%x",
                c->exc.text, t->x[0], t->x[1], t->tid);
        if (!mon.ready || mon.restarts > 1000) {
            mon_fail(2, "runtime failed to start: %s, pc 0x%lx",
                     c->exc.text, t->x[0]);
            thread_end(t);
            return;
        }
        restart_ask(RESTART_HARD, c->exc.text);
        thread_end(t);
        if (c->worker == t) {
            worker_follow(c);
        }
        return;
    }
    t->crashing = true;
    t->crash_level = 0;
    t->crash_until = am_read(A350_AM_TIME) + CRASH_TIME;
    if (!enter_crash(c, t)) {
        launch_kill(c, t, true);
    }
}

/* Next time at which a launch needs looking at, 0 for none. */
uint64_t launch_deadline(struct thread *t)
{
    if (!t->in_launch) {
        return 0;
    }
    if (t->crashing) {
        return t->crash_until;
    }
    return t->abort ? am_read(A350_AM_TIME) + ABORT_SAMPLE : 0;
}

static void abort_now(struct core *c, struct thread *t)
{
    t->deadline = 0;
    launch_fault(c, t, A350_EXC_TIMEOUT, 0, 0,
                 t->abort == A350_ABORT_TIMEOUT
                     ? "time limit reached"
                     : "the queue was reset or destroyed");
}

/*
 * A kernel whose time is over dies when its own code runs, so that no lock of
 * a shared library dies with it; in any case when the grace is over.
 */
void launch_timer(struct core *c)
{
    struct thread *t = c->worker;

    if (!t || !t->in_launch) {
        return;
    }
    if (t->crashing) {
        if (am_read(A350_AM_TIME) >= t->crash_until) {
            launch_kill(c, t, true);
        }
        return;
    }
    if (t->abort && (am_read(A350_AM_TIME) >= t->abort_until ||
                     (t->state == T_RUN && pc_in_kernel(t->x[0])))) {
        abort_now(c, t);
    }
}

/* Takes note of the card's wish to end this core's launch. */
void launch_abort(struct core *c)
{
    uint64_t why = am_read(A350_AM_ABORT);
    struct thread *t = c->worker;

    if (why == A350_ABORT_NONE) {
        return;
    }
    am_write(A350_AM_ABORT, 0);
    if (t && t->in_launch && !t->crashing && !t->abort) {
        t->abort = (uint32_t)why;
        t->abort_until = am_read(A350_AM_TIME) + ABORT_GRACE;
    }
}

static int64_t sys_next(struct core *c, struct thread *t, uint64_t out)
{
    if (t->in_launch) {
        return -EBUSY;
    }
    if (c->worker && c->worker != t) {
        return -EPERM;
    }
    if (!user_range(out, sizeof(a350_fw_call))) {
        return -EFAULT;
    }
    c->worker = t;
    c->need_worker = false;
    t->gp = t->x[3];
    t->tp = t->x[4];
    t->state = T_MBOX;
    return (int64_t)out;
}

static int64_t sys_end(struct core *c, struct thread *t, uint64_t errcode,
                       uint64_t rec)
{
    if (!t->in_launch) {
        return -EINVAL;
    }
    if (rec && !user_get(&c->exc, rec, sizeof(c->exc))) {
        return -EFAULT;
    }
    if (rec) {
        c->exc.core = (uint32_t)c->id;
        c->exc.sq_id = t->call.sq_id;
        c->exc.task = t->call.task;
    }
    launch_end(c, t, (uint32_t)errcode & 0xffff, rec ? &c->exc : NULL);
    return 0;
}

static int64_t sys_park(struct core *c, struct thread *t)
{
    if (t->in_launch || c->worker == t) {
        return -EBUSY;
    }
    fp_save(t);
    c->fp_owner = NULL;
    t->state = T_PARK;
    t->core = -1;
    worker_offer();
    return (int64_t)t->x[10];
}

static int64_t sys_crash(struct core *c, struct thread *t, const uint64_t *a)
{
    char text[160];

    if (a[0] < A350_EXC_ABORT || a[0] > A350_EXC_LOOKUP) {
        return -EINVAL;
    }
    if (!a[2] || user_str(text, sizeof(text), a[2]) < 0) {
        text[0] = 0;
    }
    launch_fault(c, t, a[0], 0, (uint32_t)a[1], text);
    return (int64_t)t->x[10];
}

static int64_t sys_die(struct core *c, struct thread *t)
{
    if (t->in_launch || c->worker != t) {
        return -EINVAL;
    }
    launch_kill(c, t, false);
    return 0;
}

static int64_t sys_status(struct thread *t, uint64_t status, uint64_t text,
                          uint64_t r_debug)
{
    char buf[200];

    if (t->in_launch) {
        return -EPERM;
    }
    if (!text || user_str(buf, sizeof(buf), text) < 0) {
        buf[0] = 0;
    }
    if (status == A350_FW_FAILED) {
        mon_fail(1, "runtime: %s", buf);
    } else if (status == A350_FW_READY || status == A350_FW_RUNTIME) {
        mon.ready = status == A350_FW_READY;
        am_write(A350_AM_DEBUG_ADDR, user_range(r_debug, 8) ? r_debug : 0);
        am_write(A350_AM_FW_STATUS, status);
    } else {
        return -EINVAL;
    }
    return 0;
}

static int64_t sys_log(uint64_t level, uint64_t text, uint64_t len)
{
    if (level > LOG_ERROR || len > 4096) {
        return -EINVAL;
    }
    if (!user_range(text, len)) {
        return -EFAULT;
    }
    log_text((int)level, (const char *)text, len);
    return 0;
}

static int64_t sys_stats(uint64_t out)
{
    a350_fw_stats s = {
        .page_size = PAGE, .pages = mon.pages,
        .pages_used = page_count_used(), .fw_base = mon.fw_base,
        .dev_base = mon.dev_base, .hbm_size = mon.hbm_size,
        .launches = mon.launches, .failures = mon.failures,
        .cores = mon.num_cores, .restarts = mon.restarts,
    };

    return user_put(out, &s, sizeof(s)) ? 0 : -EFAULT;
}

static int64_t sys_restart(struct thread *t, uint64_t text)
{
    char why[sizeof(mon.restart_why)];

    if (t->in_launch && !t->crashing) {
        return -EPERM;
    }
    if (user_str(why, sizeof(why), text) < 0) {
        str_copy(why, sizeof(why), "asked for");
    }
    restart_ask(RESTART_SOFT, why);
    return 0;
}

int64_t sys_private(struct core *c, struct thread *t, uint64_t nr,
                    const uint64_t *a)
{
    switch (nr) {
    case A350_SYS_NEXT:
        return sys_next(c, t, a[0]);
    case A350_SYS_END:
        return sys_end(c, t, a[0], a[1]);
    case A350_SYS_PARK:
        return sys_park(c, t);
    case A350_SYS_PLACE:
        t->place = (int64_t)a[0] < 0 || a[0] >= mon.num_cores ? -1
                                                              : (int)a[0];
        return 0;
    case A350_SYS_CRASH_ENTRY:
        if (t->in_launch) {
            return -EPERM;
        }
        t->crash_entry = a[0];
        t->crash_stack = a[1];
        t->crash_size = a[2];
        t->crash_buf = a[3];
        return 0;
    case A350_SYS_CRASH:
        return sys_crash(c, t, a);
    case A350_SYS_DIE:
        return sys_die(c, t);
    case A350_SYS_FILE_NEW:
        return sys_file_new(t, a[0], a[1], a[2]);
    case A350_SYS_FILE_DEL:
        return sys_file_del(a[0]);
    case A350_SYS_FILE_GET:
        return sys_file_get(a[0], a[1]);
    case A350_SYS_STATUS:
        return sys_status(t, a[0], a[1], a[2]);
    case A350_SYS_LOG:
        return sys_log(a[0], a[1], a[2]);
    case A350_SYS_RESTART:
        return sys_restart(t, a[0]);
    case A350_SYS_STATS:
        return sys_stats(a[0]);
    case A350_SYS_BLOCK:
        return (int64_t)(t->call.blk_id | (uint64_t)t->call.blk_dim << 32);
    default:
        return -ENOSYS;
    }
}
