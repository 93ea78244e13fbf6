/*
 * Atlas 350 firmware monitor: start of the cores and of the runtime.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf64.h"
#include "mon.h"

struct mon mon;

extern void trap_in_monitor(uint64_t cause, uint64_t pc, uint64_t addr);
extern struct core *boot(uint64_t id, uint64_t stack);
extern void trap_user(struct core *c, uint64_t cause, uint64_t addr);

#define RUNTIME      "/bin/runtime"
#define LOADER       "/lib/ld-linux-riscv64-lp64d.so.1"
#define MAIN_STACK   (256 * 1024)

/* The ELF note that IDENTIFY's version text comes from. */
struct version_note {
    uint32_t namesz, descsz, type;
    char name[8];
    char text[32];
};
const struct version_note version_note
    __attribute__((section(".note.a350"), used)) = {
    sizeof(A350_FW_NOTE_NAME), 32, A350_FW_NOTE_VERSION,
    A350_FW_NOTE_NAME, FW_VERSION,
};

struct loaded {
    uint64_t entry, phdr, phnum, base;
};

static bool elf_load(const struct file *f, struct loaded *out)
{
    const Elf64_Ehdr *eh = (const Elf64_Ehdr *)f->data;
    const Elf64_Phdr *ph = (const Elf64_Phdr *)(f->data + eh->e_phoff);
    uint64_t end = 0;

    for (int i = 0; i < eh->e_phnum; i++) {
        if (ph[i].p_type == PT_LOAD) {
            end = ph[i].p_vaddr + ph[i].p_memsz;
        }
    }
    out->base = page_alloc(end, PG_READ | PG_WRITE | PG_EXEC);
    if (!out->base) {
        return false;
    }
    /* All of it: the dynamic linker takes the rest of its last page as zero. */
    memset((void *)out->base, 0, (end + PAGE - 1) & ~(PAGE - 1));
    for (int i = 0; i < eh->e_phnum; i++) {
        if (ph[i].p_type == PT_LOAD) {
            memcpy((uint8_t *)out->base + ph[i].p_vaddr,
                   f->data + ph[i].p_offset, ph[i].p_filesz);
        }
    }
    out->entry = out->base + eh->e_entry;
    out->phdr = out->base + eh->e_phoff;
    out->phnum = eh->e_phnum;
    code_changed();
    return true;
}

/* The strings of argv and envp, then the vectors, as Linux leaves them. */
static uint64_t build_stack(uint64_t top, const struct loaded *exe,
                            const struct loaded *ld)
{
    static const char *const args[] = { RUNTIME, NULL };
    static const char *const env[] = {
        "LD_LIBRARY_PATH=/lib:/kernels", "PATH=/bin", "HOME=/", "LANG=C",
        NULL,
    };
    uint64_t strings = top - 512, sp, *v, random;
    char *s = (char *)strings + 32;

    random = strings;
    for (int i = 0; i < 4; i++) {
        ((uint64_t *)random)[i] = am_read(A350_AM_RANDOM);
    }
    sp = (strings - 512) & ~15ull;
    v = (uint64_t *)sp;
    *v++ = 1;
    for (int i = 0; args[i]; i++) {
        *v++ = (uint64_t)s;
        memcpy(s, args[i], strlen(args[i]) + 1);
        s += strlen(args[i]) + 1;
    }
    *v++ = 0;
    for (int i = 0; env[i]; i++) {
        *v++ = (uint64_t)s;
        memcpy(s, env[i], strlen(env[i]) + 1);
        s += strlen(env[i]) + 1;
    }
    *v++ = 0;
    const uint64_t aux[][2] = {
        { AT_PHDR, exe->phdr }, { AT_PHENT, sizeof(Elf64_Phdr) },
        { AT_PHNUM, exe->phnum }, { AT_PAGESZ, PAGE },
        { AT_BASE, ld->base }, { AT_FLAGS, 0 }, { AT_ENTRY, exe->entry },
        { AT_UID, 0 }, { AT_EUID, 0 }, { AT_GID, 0 }, { AT_EGID, 0 },
        { AT_SECURE, 0 }, { AT_RANDOM, random }, { AT_HWCAP, 0x112d },
        { AT_CLKTCK, 100 }, { AT_EXECFN, strings + 32 }, { AT_NULL, 0 },
    };
    memcpy(v, aux, sizeof(aux));
    return sp;
}

/* Sets the runtime's first thread up, on core 0. */
bool runtime_load(void)
{
    struct file *exe = file_find(RUNTIME), *ld = file_find(LOADER);
    struct loaded l_exe, l_ld;
    struct thread *t;
    uint64_t stack;

    if (!exe || !ld) {
        mon_fail(4, "firmware archive has no %s", exe ? LOADER : RUNTIME);
        return false;
    }
    stack = page_alloc(MAIN_STACK, PG_READ | PG_WRITE);
    t = thread_new();
    if (!stack || !t || !elf_load(exe, &l_exe) || !elf_load(ld, &l_ld)) {
        mon_fail(5, "no memory for the runtime: %lu KiB reserved",
                 mon.fw_size >> 10);
        return false;
    }
    t->x[2] = build_stack(stack + MAIN_STACK, &l_exe, &l_ld);
    t->x[0] = l_ld.entry;
    t->core = 0;
    t->state = T_READY;
    return true;
}

#define RESTART_PATIENCE 2000000000ull  /* ns */

void restart_ask(enum restart how, const char *why)
{
    if (how <= mon.want_restart) {
        return;
    }
    mon.want_restart = how;
    mon.restart_by = am_read(A350_AM_TIME) + RESTART_PATIENCE;
    str_copy(mon.restart_why, sizeof(mon.restart_why), why);
    kick_all();
}

/* Everything of the runtime is thrown away but the kernel images. */
void runtime_restart(void)
{
    mon_log(LOG_WARN, "runtime restarts: %s", mon.restart_why);
    mon.want_restart = RESTART_NONE;
    mon.ready = false;
    am_write(A350_AM_DEBUG_ADDR, 0);
    mon.restarts++;
    for (unsigned i = 0; i < MAX_THREADS; i++) {
        mon.thread[i].state = T_FREE;
    }
    for (unsigned i = 0; i < mon.num_cores; i++) {
        struct core *c = &mon.core[i];

        c->cur = c->worker = c->fp_owner = NULL;
        c->need_worker = c->wake = false;
    }
    mem_init();
    file_init();
    runtime_load();
}

/* TOR of entries 2, 3 ends at entry 3: [lo, hi) readable, writable, ... */
static uint64_t napot(uint64_t base, uint64_t size)
{
    return (base >> 2) | ((size >> 3) - 1);
}

enum { P_R = 1, P_W = 2, P_X = 4, P_TOR = 1 << 3, P_NAPOT = 3 << 3 };

/*
 * 0, 1: the current stack's guard, no access. Then what user code may touch:
 * HBM, the queues' pages, the notify tables. All else has no entry: denied.
 */
static void pmp_init(void)
{
    uint64_t regs = mon.dev_base + A350_DEV_REG_OFFSET;
    uint64_t cfg = (uint64_t)P_TOR << 8 |
                   (uint64_t)(P_R | P_W | P_X | P_NAPOT) << 16 |
                   (uint64_t)(P_R | P_W | P_NAPOT) << 24 |
                   (uint64_t)(P_R | P_W | P_NAPOT) << 32 |
                   (uint64_t)(P_R | P_W | P_NAPOT) << 40;

    csr_write(pmpaddr0, 0);
    csr_write(pmpaddr1, 0);
    csr_write(pmpaddr2, napot(mon.dev_base, mon.hbm_size));
    csr_write(pmpaddr3, napot(regs + A350_REG_RTSQ, A350_REG_RTSQ_SIZE));
    csr_write(pmpaddr4, napot(regs + A350_REG_CNT_NOTIFY,
                              A350_REG_CNT_NOTIFY_SIZE));
    csr_write(pmpaddr5, napot(regs + A350_REG_NOTIFY, A350_REG_NOTIFY_SIZE));
    csr_write(pmpcfg0, cfg);
}

static void core_init(struct core *c, uint64_t id, uint64_t stack)
{
    c->id = id;
    c->stack = stack;
    pmp_init();
    csr_write(mcounteren, 7);
    csr_write(mstatus, 0x6000);
    csr_write(mie, MIP_MSIP | MIP_MTIP);
}

static void card_init(void)
{
    am_write(A350_AM_FW_STATUS, A350_FW_BOOTING);
    mon.num_cores = (unsigned)am_read(A350_AM_NUM_CORES);
    if (mon.num_cores > MAX_CORES) {
        mon.num_cores = MAX_CORES;
    }
    mon.dev_base = am_read(A350_AM_DEV_BASE);
    mon.hbm_size = am_read(A350_AM_HBM_SIZE);
    mon.fw_base = am_read(A350_AM_FW_BASE);
    mon.fw_size = am_read(A350_AM_FW_SIZE);
    mon.pages = (uint32_t)((mon.fw_size < A350_FW_HBM_SIZE
                                ? mon.fw_size : A350_FW_HBM_SIZE) / PAGE);
    memset(mon.page, 0, sizeof(mon.page));
    mem_init();
    file_init();
}

/* All cores come here from reset; returns the core, ready to run its thread. */
struct core *boot(uint64_t id, uint64_t stack)
{
    struct core *c = &mon.core[id < MAX_CORES ? id : 0];

    if (id >= MAX_CORES) {
        for (;;) {
            __asm__ volatile("wfi");
        }
    }
    if (id == 0) {
        card_init();
        core_init(c, id, stack);
        runtime_load();
        mon_lock();
        for (unsigned i = 1; i < mon.num_cores; i++) {
            kick((int)i);
        }
    } else {
        csr_write(mie, MIP_MSIP);
        while (!(csr_read(mip) & MIP_MSIP)) {
            __asm__ volatile("wfi");
        }
        am_write(A350_AM_IPI_CLEAR, 1);
        core_init(c, id, stack);
        mon_lock();
    }
    schedule(c);
    return c;
}

/* A trap or interrupt from user mode. */
void trap_user(struct core *c, uint64_t cause, uint64_t addr)
{
    mon_lock();
    if (cause >> 63) {
        if (csr_read(mip) & MIP_MSIP) {
            am_write(A350_AM_IPI_CLEAR, 1);
        }
        launch_abort(c);
    } else if (cause == 8) {
        syscall(c, c->cur);
    } else {
        launch_fault(c, c->cur, cause, addr, 0, NULL);
    }
    schedule(c);
}

/* The monitor itself has failed: says so and stops this core. */
void trap_in_monitor(uint64_t cause, uint64_t pc, uint64_t addr)
{
    mon_fail(6, "monitor trapped: cause 0x%lx, pc 0x%lx, address 0x%lx",
             cause, pc, addr);
}
