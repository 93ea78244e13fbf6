/*
 * Atlas 350 firmware runtime: the end of a launch whose kernel died.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The monitor continues a dead kernel's thread here, on a stack of its own,
 * as if this were a signal handler called from the dead code. Here the raw
 * record is made readable; then the launch ends and the thread with it.
 * If that traps too, the monitor comes back with @level 1 (no unwinding), and
 * after that does without.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>
#include "rt.h"

#define CRASH_STACK   (48 * 1024)
#define SHORT_MEMORY  (4u << 20)     /* a dead launch may keep less */

void rt_terminate_setup(void);
char *rt_last_words(unsigned *size);

static char *crash_stack[A350_AICPU_CORES_MAX];

char *rt_last_words(unsigned *size)
{
    *size = sizeof(rt_me.last_words);
    return rt_me.last_words;
}

void rt_crash_setup(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int core = rt_me.core;

    pthread_once(&once, rt_terminate_setup);
    if (!crash_stack[core]) {
        crash_stack[core] = malloc(CRASH_STACK);
    }
    rt_sys(A350_SYS_CRASH_ENTRY, (long)rt_crash_entry,
           (long)crash_stack[core], crash_stack[core] ? CRASH_STACK : 0,
           (long)&rt_me.crash);
}

typedef struct walk {
    a350_exc_record *rec;
    bool found;                      /* the interrupted frame */
} walk;

static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *ctx, void *arg)
{
    walk *w = arg;
    int before = 0;
    uint64_t pc = _Unwind_GetIPInfo(ctx, &before);
    if (!w->found && (pc == w->rec->pc || pc == w->rec->x[1])) {
        w->found = true;
        w->rec->frames = 0;
        if (pc != w->rec->pc) {
            w->rec->frame[w->rec->frames++] = w->rec->pc;
        }
    }
    if (w->found) {
        if (w->rec->frames == A350_EXC_FRAMES) {
            return _URC_END_OF_STACK;
        }
        w->rec->frame[w->rec->frames++] = pc;
    }
    return _URC_NO_REASON;
}

static bool has_kernel_frame(const a350_exc_record *rec)
{
    for (unsigned i = 0; i < rec->frames; i++) {
        if (rt_lib_at(rec->frame[i])) {
            return true;
        }
    }
    return false;
}

/* Is the instruction before @pc a call? */
static bool after_call(uintptr_t pc)
{
    const uint16_t *p = (const uint16_t *)pc;
    uint32_t insn = p[-2] | (uint32_t)p[-1] << 16;

    return (insn & 0xfff) == 0x0ef || (insn & 0xfff) == 0x0e7 ||
           ((p[-1] & 0xf07f) == 0x9002 && (p[-1] & 0x0f80));
}

/* Frame pointers from @fp lead up to the worker's call of the kernel? */
static bool chain_ok(uintptr_t fp)
{
    for (int n = 0; n < 256; n++) {
        uintptr_t next;

        if (fp == rt_me.kernel_fp) {
            return true;
        }
        if (fp > rt_me.kernel_fp || (fp & 15)) {
            return false;
        }
        next = *(uintptr_t *)(fp - 16);
        if (next <= fp) {
            return false;
        }
        fp = next;
    }
    return false;
}

static void add_frame(a350_exc_record *rec, uintptr_t pc)
{
    if (rec->frames < A350_EXC_FRAMES) {
        rec->frame[rec->frames++] = pc;
    }
}

/*
 * The C library keeps no frame pointers and has few unwind tables. But it
 * saves the caller's frame pointer sooner or later, right below a return
 * address; such a pair, if its chain leads to the worker, gives the kernel's
 * frame away, and the last return into its library below it is the call.
 */
static void scan_stack(a350_exc_record *rec)
{
    const uintptr_t *p = (const uintptr_t *)(rec->x[2] & ~7ull);
    const uintptr_t *top = (const uintptr_t *)rt_me.kernel_fp;
    uintptr_t fp, call = 0;

    if (p >= top || top - p > (1 << 17)) {
        return;
    }
    for (; p + 1 < top; p++) {
        fp = p[0];
        if (fp > (uintptr_t)(p + 1) && fp < rt_me.kernel_fp &&
            chain_ok(fp) && !(p[1] & 1)) {
            break;
        }
    }
    if (p + 1 >= top) {
        return;
    }
    for (p++; p < (const uintptr_t *)fp - 2; p++) {
        if (!(*p & 1) && rt_lib_at(*p) == rt_me.lib && after_call(*p) &&
            *p != rt_me.entry) {
            call = *p;
        }
    }
    if (call) {
        add_frame(rec, call);
    }
    for (; fp < rt_me.kernel_fp; fp = *(uintptr_t *)(fp - 16)) {
        add_frame(rec, *(uintptr_t *)(fp - 8));
    }
}

/*
 * The unwinder knows more than frame pointers do. The C library's assembler
 * routines tell it nothing: they keep no frame, so it starts at the caller.
 * Functions that never return do not say where they came from: the stack may.
 */
static void unwind(a350_exc_record *rec, uint64_t *frame_pc)
{
    a350_exc_record copy = *rec;
    walk w = { rec, false };

    _Unwind_Backtrace(walk_frame, &w);
    if (w.found && rec->frames == 1 && !has_kernel_frame(rec)) {
        w.found = false;
        *frame_pc = rec->x[1];
        _Unwind_Backtrace(walk_frame, &w);
    }
    if (!w.found || rec->frames < copy.frames) {
        rec->frames = copy.frames;
        memcpy(rec->frame, copy.frame, sizeof(rec->frame));
    }
    if (!has_kernel_frame(rec)) {
        scan_stack(rec);
    }
}

/* Image of the library's file that @pc is in, for symbols beyond .dynsym. */
static const uint8_t *image_of(const char *path, uint64_t *size)
{
    a350_fw_file f;
    long r;

    for (unsigned i = 0; (r = rt_sys(A350_SYS_FILE_GET, i, (long)&f, 0, 0))
                         >= 0; i++) {
        if (r == 1 && strcmp(f.path, path) == 0) {
            *size = f.size;
            return (const uint8_t *)f.addr;
        }
    }
    return NULL;
}

static const char *base_name(const char *path)
{
    const char *s = strrchr(path, '/');

    return s ? s + 1 : path;
}

/* "function+0x12 (libx.so) at file.c:34"; @call: pc is a return address. */
static void describe(uint64_t pc, bool call, char *out, size_t n)
{
    char name[96] = "", line[120] = "";
    uint64_t at = call ? pc - 2 : pc, start = 0, size = 0;
    const uint8_t *image;
    Dl_info info;

    if (!dladdr((void *)at, &info) || !info.dli_fname) {
        snprintf(out, n, "0x%llx (no code there)", (unsigned long long)pc);
        return;
    }
    image = image_of(info.dli_fname, &size);
    at -= (uintptr_t)info.dli_fbase;
    pc -= (uintptr_t)info.dli_fbase;
    if (image) {
        elf_symbol(image, size, at, name, sizeof(name), &start);
        line_find(image, size, at, line, sizeof(line));
    }
    if (!name[0] && info.dli_sname) {
        snprintf(name, sizeof(name), "%s", info.dli_sname);
        start = (uintptr_t)info.dli_saddr - (uintptr_t)info.dli_fbase;
    }
    if (name[0]) {
        snprintf(out, n, "%s+0x%llx (%s)%s%s", name,
                 (unsigned long long)(pc - start),
                 base_name(info.dli_fname), line[0] ? " at " : "", line);
    } else {
        snprintf(out, n, "%s+0x%llx%s%s", base_name(info.dli_fname),
                 (unsigned long long)pc, line[0] ? " at " : "", line);
    }
}

/* Frames of the worker that called the kernel say nothing. */
static void cut_frames(a350_exc_record *rec)
{
    unsigned last = 0;

    for (unsigned i = 0; i < rec->frames; i++) {
        if (rt_lib_at(rec->frame[i])) {
            last = i + 1;
        }
    }
    if (last) {
        rec->frames = last;
    }
}

/* The first frame in a kernel's own code is what its author looks for. */
static unsigned guilty_frame(const a350_exc_record *rec)
{
    for (unsigned i = 0; i < rec->frames; i++) {
        if (rt_lib_at(rec->frame[i])) {
            return i;
        }
    }
    return 0;
}

static void make_readable(a350_exc_record *rec)
{
    char text[sizeof(rec->text)], where[sizeof(rec->where)];
    unsigned f;

    cut_frames(rec);
    f = guilty_frame(rec);

    describe(rec->frames ? rec->frame[f] : rec->pc, f > 0, where,
             sizeof(where));
    memcpy(rec->where, where, sizeof(where));
    snprintf(text, sizeof(text), "%.80s%s%.60s: %s", rec->kernel,
             rec->library[0] ? " of " : "", base_name(rec->library),
             rec->text);
    memcpy(rec->text, text, sizeof(text));
    for (unsigned i = 0; i < rec->frames; i++) {
        describe(rec->frame[i], i > 0, where, sizeof(where));
        rt_log(3, "  #%u 0x%llx %s", i, (unsigned long long)rec->frame[i],
               where);
    }
}

/* Is the header before the arguments ours, and does it want the result? */
void rt_write_result(const a350_fw_call *call, uint32_t status,
                     const a350_exc_record *rec)
{
    const a350_args_header *h;
    a350_launch_result *r;
    uint64_t addr;

    if (!rt_in_hbm(call->args - sizeof(*h), sizeof(*h)) ||
        (call->args & 7)) {
        return;
    }
    h = (const a350_args_header *)(call->args - sizeof(*h));
    addr = h->result;
    if (h->magic != A350_ARGS_MAGIC || !addr || (addr & 7) ||
        !rt_in_hbm(addr, sizeof(*r))) {
        return;
    }
    r = (a350_launch_result *)addr;
    r->exc = *rec;
    r->status = status;
    __atomic_store_n(&r->valid, 1, __ATOMIC_RELEASE);
}

/* A library that dies while it is loaded: the load's answer says so. */
static void answer_load(const a350_exc_record *rec)
{
    char *message = NULL;
    size_t n = A350_KERNEL_MSG_MAX;

    if (rt_me.loading) {
        rt_me.loading->status = A350_AE_OPEN_SO;
        message = rt_me.loading->message;
    } else if (rt_me.unloading) {
        rt_me.unloading->status = A350_AE_TASK_FAIL;
        message = rt_me.unloading->message;
    }
    if (message) {
        snprintf(message, n, "the library's %s died: %s, in %s",
                 rt_me.loading ? "constructor" : "destructor", rec->text,
                 rec->where);
        rt_sys(A350_SYS_RESTART, (long)"a library died while it was loaded",
               0, 0, 0);
    }
}

static void free_memory(a350_exc_record *rec)
{
    a350_fw_stats s;
    uint64_t kept = heap_drop_fresh(false);

    rt_sys(A350_SYS_STATS, (long)&s, 0, 0, 0);
    if (kept < SHORT_MEMORY && s.pages_used < s.pages - s.pages / 4) {
        return;
    }
    rt_log(2, "runtime: taking back %llu KiB that %s had allocated",
           (unsigned long long)(kept >> 10), rec->kernel);
    heap_drop_fresh(true);
    rt_sys(A350_SYS_RESTART, (long)"a dead kernel's memory was taken back", 0,
           0, 0);
}

static const char *const no_memory[] = { "bad_alloc", "out of memory" };

void rt_crash_entry(a350_fw_crash *crash, void *frame, long level)
{
    a350_exc_record *rec = &crash->rec;
    uint32_t code = a350_fw_death_code(rec->cause);
    int tid = gettid();

    rt_me.in_kernel = false;
    for (unsigned i = 0; i < 2; i++) {
        if (rec->cause == A350_EXC_ABORT && strstr(rec->text, no_memory[i])) {
            rec->cause = A350_EXC_NO_MEMORY;
        }
    }
    if (level == 0) {
        /* The pc that the monitor put into the signal frame it made. */
        unwind(rec, (uint64_t *)((char *)frame + 128 + 176));
    }
    make_readable(rec);
    rt_write_result(&rt_me.call, code, rec);
    answer_load(rec);
    locks_recover(tid, pthread_self());
    rt_hcomm_leave();            /* nobody else can: it goes by thread */
    rt_thread_dtors_forget();
    rt_libs_recover();
    free_memory(rec);
    rt_sys(A350_SYS_END, code, (long)rec, 0, 0);
    rt_sys(A350_SYS_DIE, 0, 0, 0, 0);
}
