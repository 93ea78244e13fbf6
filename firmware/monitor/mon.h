/*
 * Atlas 350 firmware monitor: its state and its parts.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The monitor runs in machine mode from SRAM, interrupts masked. One lock,
 * mon.lock, is held from trap entry to the return to user mode, except while
 * a core waits for an interrupt: every function below runs with it held.
 */
#ifndef A350_MON_H
#define A350_MON_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "a350_fw.h"

#define MAX_CORES      A350_AICPU_CORES_MAX
#define MAX_THREADS    24
#define MAX_FDS        64
#define MAX_ROM_FILES  48
#define MAX_RAM_FILES  160
#define PAGE           4096ull
#define MAX_PAGES      (A350_FW_HBM_SIZE / PAGE)
#define LINE_MAX_LEN   480

/* errno values of the Linux ABI that the monitor answers with. */
enum {
    EPERM = 1, ENOENT = 2, ESRCH = 3, EINTR = 4, EBADF = 9, EAGAIN = 11,
    ENOMEM = 12, EACCES = 13, EFAULT = 14, EBUSY = 16, EEXIST = 17,
    EINVAL = 22, ENFILE = 23, ENOTTY = 25, EFBIG = 27, ESPIPE = 29,
    EROFS = 30, ENAMETOOLONG = 36, ENOSYS = 38, ETIMEDOUT = 110,
};

enum thread_state {
    T_FREE,
    T_READY,                 /* can run on its core */
    T_RUN,                   /* is some core's current thread */
    T_FUTEX,
    T_SLEEP,
    T_MBOX,                  /* in A350_SYS_NEXT */
    T_PARK,                  /* in A350_SYS_PARK */
};

struct thread {
    uint64_t x[32];          /* x[0] holds pc; entry.S knows these offsets */
    uint64_t f[32];
    uint64_t fcsr;
    enum thread_state state;
    int core;                /* -1: not yet placed */
    uint32_t tid;
    uint64_t clear_tid;      /* user address, 0: none */
    uint64_t deadline;       /* T_FUTEX, T_SLEEP: 0 for none */
    uint64_t futex;          /* address waited for */
    uint32_t futex_bits;
    uint64_t guard_lo, guard_hi;
    int place;               /* core of the next thread it makes */
    uint64_t sigmask;
    uint64_t alt_sp, alt_size;
    uint64_t crash_entry, crash_stack, crash_size, crash_buf;
    uint64_t gp, tp;         /* as the runtime has them */
    char line[LINE_MAX_LEN]; /* standard output up to the next newline */
    uint32_t line_len;
    /* the launch it runs */
    bool in_launch;
    bool crashing;           /* its crash entry runs */
    unsigned crash_level;    /* how often that has trapped */
    uint64_t crash_until;
    uint32_t abort;          /* enum a350_abort asked for */
    uint64_t abort_until;
    a350_fw_call call;
};

struct core {
    uint64_t tmp;            /* entry.S knows these four */
    struct thread *cur;
    uint64_t stack;
    uint64_t id;
    struct thread *fp_owner; /* whose f registers are in the core */
    struct thread *worker;
    bool need_worker;
    bool wake;               /* A350_SYS_NEXT returns -EINTR once */
    uint64_t guard_lo, guard_hi;
    a350_exc_record exc;
};

/*
 * A soft restart comes when no launch runs, a hard one lets none begin until
 * then. No thread outside a launch can delay either for long.
 */
enum restart { RESTART_NONE, RESTART_SOFT, RESTART_HARD };

/* Per page of the reserve. */
enum {
    PG_READ = 1, PG_WRITE = 2, PG_EXEC = 4, PG_PROT = 7,
    PG_USED = 8,             /* mapped or reserved */
    PG_IMAGE = 16,           /* bytes of a RAM file: kept over a restart */
    PG_KERNEL = 32,          /* mapped from a RAM file */
};

struct file {
    char path[A350_KERNEL_PATH_MAX];
    char alias[A350_KERNEL_PATH_MAX];
    const uint8_t *data;
    uint64_t size;
    uint32_t ino;
    bool used, ram;
};

struct fd {
    uint8_t kind;            /* enum fd_kind */
    struct file *file;
    uint64_t pos;
    struct thread *owner;    /* closed with the launch that opened it */
};
enum fd_kind { FD_FREE, FD_CONSOLE, FD_FILE, FD_NULL, FD_ZERO, FD_RANDOM };

struct mon {
    volatile uint32_t lock;
    volatile uint32_t up;    /* secondaries may go on */
    unsigned num_cores;
    uint64_t dev_base, hbm_size, fw_base, fw_size;
    uint32_t pages;
    uint64_t brk_lo, brk_hi, brk;
    uint32_t next_tid, next_ino;
    uint64_t launches, failures;
    uint32_t restarts;
    bool ready, failed;
    enum restart want_restart;
    uint64_t restart_by;     /* hard: end of patience with busy threads */
    char restart_why[160];
    char error[256];
    struct core core[MAX_CORES];
    struct thread thread[MAX_THREADS];
    struct file rom[MAX_ROM_FILES], ram[MAX_RAM_FILES];
    unsigned rom_files;
    struct fd fd[MAX_FDS];
    uint8_t page[MAX_PAGES];
    uint32_t page_hint;
    uint64_t unknown_seen[16];  /* bit per Linux call number already logged */
};
extern struct mon mon;

/* MMIO page of the executing core. */
static inline uint64_t am_read(unsigned reg)
{
    return *(volatile uint64_t *)(A350_AICPU_MMIO + reg);
}

static inline void am_write(unsigned reg, uint64_t val)
{
    *(volatile uint64_t *)(A350_AICPU_MMIO + reg) = val;
}

#define csr_read(csr) ({ uint64_t v_; \
    __asm__ volatile("csrr %0, " #csr : "=r"(v_)); v_; })
#define csr_write(csr, val) \
    __asm__ volatile("csrw " #csr ", %0" :: "r"((uint64_t)(val)) : "memory")
#define csr_set(csr, val) \
    __asm__ volatile("csrs " #csr ", %0" :: "r"((uint64_t)(val)) : "memory")
#define csr_clear(csr, val) \
    __asm__ volatile("csrc " #csr ", %0" :: "r"((uint64_t)(val)) : "memory")

#define MIP_MSIP (1u << 3)
#define MIP_MTIP (1u << 7)
#define MIP_MEIP (1u << 11)

/*
 * The card's rule (docs/specs/atlas350-aicpu.rst): a fence.i of one core makes
 * all of its cores see code written before.
 */
static inline void code_changed(void)
{
    __asm__ volatile("fence.i" ::: "memory");
}

static inline void mon_lock(void)
{
    while (__atomic_exchange_n(&mon.lock, 1, __ATOMIC_ACQUIRE)) {
        __asm__ volatile(".4byte 0x0100000f" ::: "memory");   /* pause */
    }
}

static inline void mon_unlock(void)
{
    __atomic_store_n(&mon.lock, 0, __ATOMIC_RELEASE);
}

/* entry.S */
void fp_save(struct thread *t);
void fp_load(struct thread *t);

/* text.c */
void str_copy(char *dst, size_t size, const char *src);
int fmt_v(char *buf, size_t size, const char *fmt, va_list ap);
int fmt(char *buf, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* log.c */
enum { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
void log_text(int level, const char *text, uint64_t len);
void mon_log(int level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void mon_fail(unsigned why, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void line_put(struct thread *t, const char *text, uint64_t len);
void line_flush(struct thread *t);

/* mem.c: user memory and the reserve's pages */
bool user_range(uint64_t addr, uint64_t len);
bool user_get(void *dst, uint64_t addr, uint64_t len);
bool user_put(uint64_t addr, const void *src, uint64_t len);
int user_str(char *dst, size_t size, uint64_t addr);
void mem_init(void);
uint64_t page_alloc(uint64_t bytes, uint8_t flags);
void page_free(uint64_t addr, uint64_t bytes);
uint8_t page_flags(uint64_t addr);
uint32_t page_count_used(void);
void find_guard(uint64_t sp, uint64_t *lo, uint64_t *hi);
int64_t sys_mmap(struct thread *t, const uint64_t *a);
int64_t sys_munmap(uint64_t addr, uint64_t len);
int64_t sys_mprotect(uint64_t addr, uint64_t len, uint64_t prot);
int64_t sys_mremap(uint64_t addr, uint64_t old, uint64_t len, uint64_t flags);
int64_t sys_madvise(uint64_t addr, uint64_t len, uint64_t advice);
int64_t sys_brk(uint64_t addr);

/* file.c */
void file_init(void);
struct file *file_find(const char *path);
void file_close_owned(struct thread *t);
struct fd *fd_get(uint64_t fd);
int64_t sys_file_new(struct thread *t, uint64_t path, uint64_t alias,
                     uint64_t size);
int64_t sys_file_del(uint64_t path);
int64_t sys_file_get(uint64_t index, uint64_t out);
int64_t sys_openat(struct thread *t, const uint64_t *a);
int64_t sys_close(uint64_t fd);
int64_t sys_read(uint64_t fd, uint64_t buf, uint64_t len);
int64_t sys_pread(uint64_t fd, uint64_t buf, uint64_t len, uint64_t pos);
int64_t sys_lseek(uint64_t fd, int64_t off, uint64_t whence);
int64_t sys_fstat(uint64_t fd, uint64_t out);
int64_t sys_fstatat(uint64_t path, uint64_t out);
int64_t sys_access(uint64_t path, uint64_t mode);
int64_t sys_write(struct thread *t, uint64_t fd, uint64_t buf, uint64_t len);
int64_t sys_writev(struct thread *t, uint64_t fd, uint64_t iov, uint64_t n);

/* thread.c: threads, futexes, the scheduler */
struct thread *thread_new(void);
void thread_end(struct thread *t);
void thread_wake(struct thread *t, int64_t result);
void worker_follow(struct core *c);
void worker_offer(void);
void kick(int core);
void kick_all(void);
void set_guard(struct core *c, struct thread *t);
bool all_idle(void);
bool any_launch(void);
int64_t sys_clone(struct thread *t, const uint64_t *a);
int64_t sys_futex(struct thread *t, const uint64_t *a);
int64_t futex_wake(uint64_t addr, uint64_t max, uint32_t bits);
int64_t sys_sleep(struct thread *t, unsigned clock, bool absolute,
                  uint64_t req);
void schedule(struct core *c);

/* syscall.c */
void syscall(struct core *c, struct thread *t);

/* launch.c: mailbox, private calls, death of a launch */
bool mbox_closed(void);
bool mbox_take(struct core *c, struct thread *t);
void launch_timer(struct core *c);
uint64_t launch_deadline(struct thread *t);
void launch_abort(struct core *c);
void launch_fault(struct core *c, struct thread *t, uint64_t cause,
                  uint64_t addr, uint32_t code, const char *text);
void launch_kill(struct core *c, struct thread *t, bool raw);
int64_t sys_private(struct core *c, struct thread *t, uint64_t nr,
                    const uint64_t *a);

/* boot.c */
bool runtime_load(void);
void restart_ask(enum restart how, const char *why);
void runtime_restart(void);

#endif /* A350_MON_H */
