/*
 * Atlas 350 firmware runtime: the user-mode program that runs kernels.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An ordinary dynamically linked program. One worker thread per core takes
 * launches from the monitor; spare threads stand by to replace a worker that
 * a kernel's crash has killed.
 */
#ifndef A350_RT_H
#define A350_RT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "a350_fw.h"

#define RT_API __attribute__((visibility("default")))

#define RT_LIBS_MAX    96
#define RT_FILES_MAX   64
#define RT_FN_CACHE    16

static inline long rt_sys(long nr, long a, long b, long c, long d)
{
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a7 __asm__("a7") = nr;

    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a7)
                     : "memory");
    return a0;
}

/* A loaded kernel library. */
typedef struct rt_fn {
    char name[64];
    void *fn;
} rt_fn;

typedef struct rt_lib {
    bool used;
    uint32_t id;                 /* 0: from the archive */
    char path[A350_KERNEL_PATH_MAX];
    void *handle;
    uintptr_t lo, hi;            /* all of its mapping */
    int running;                 /* launches in it now */
    unsigned files;
    char *file[RT_FILES_MAX];    /* paths of its RAM files */
    unsigned fns;
    rt_fn fn[RT_FN_CACHE];
} rt_lib;

/* What a thread is doing; in the thread's own storage. */
typedef struct rt_self {
    int core;                    /* -1: not a worker */
    bool in_kernel;              /* between entering a kernel and its end */
    a350_fw_call call;
    a350_fw_crash crash;
    uintptr_t entry;             /* of the running kernel */
    uintptr_t kernel_fp;         /* frame of the worker that called it */
    rt_lib *lib;                 /* library of the running kernel */
    a350_load_param *loading;    /* a350_load is at work on it */
    a350_unload_param *unloading;
    char last_words[160];        /* why it is about to die */
} rt_self;
extern __thread rt_self rt_me;
extern a350_fw_stats rt_card;    /* constants of the card */

/* main.c */
void rt_log(int level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool rt_in_hbm(uint64_t addr, uint64_t len);
/* Gives up what the Hcomm library holds for the calling thread. */
void rt_hcomm_leave(void);

/* load.c */
void rt_libs_init(void);
void rt_libs_reload(void);
uint32_t rt_load(a350_load_param *p);
uint32_t rt_unload(a350_unload_param *p);
uint32_t rt_lookup(a350_lookup_param *p);
uint32_t rt_resolve(const char *so, const char *function, rt_lib **lib,
                    void **fn, char *why, size_t size);
void rt_lib_leave(rt_lib *lib);
rt_lib *rt_lib_at(uintptr_t pc);
unsigned rt_lib_count(void);
void rt_libs_recover(void);

/* elf.c */
bool elf_check(const uint8_t *image, uint64_t size, const char *name,
               char *why, size_t why_size);
void elf_localise(uint8_t *image, uint64_t size, const char *(*rename)
                  (void *opaque, const char *name), void *opaque);
const char *elf_soname(const uint8_t *image, uint64_t size);
bool elf_symbol(const uint8_t *image, uint64_t size, uint64_t offset,
                char *name, size_t name_size, uint64_t *start);

/* line.c */
bool line_find(const uint8_t *image, uint64_t size, uint64_t offset,
               char *out, size_t out_size);

/* heap.c */
void heap_bind(int core);
void heap_launch_end(void);
uint64_t heap_drop_fresh(bool really);
void heap_recover(int tid);

/* crash.c */
void rt_crash_setup(void);
void rt_crash_entry(a350_fw_crash *crash, void *frame, long level);
void rt_write_result(const a350_fw_call *call, uint32_t status,
                     const a350_exc_record *rec);

/* locks.c */
void locks_recover(int tid, pthread_t dead);

/* interpose.c */
void rt_thread_dtors_run(uintptr_t lo, uintptr_t hi);
void rt_thread_dtors_forget(void);

#endif /* A350_RT_H */
