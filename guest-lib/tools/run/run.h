/*
 * atlas350-run: what its files share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef A350_RUN_H
#define A350_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RUN_CARDS_MAX   16
/* As many queues as a real card has: 1984 streams and what libraries take. */
#define RUN_NUM_SQ      2016
/* --device: the card, with or without properties, or another model. */
#define RUN_IS_CARD(device) \
    (!strcmp(device, "atlas350") || !strncmp(device, "atlas350,", 9))

#define RUN_STATUS_VM   125      /* the machine failed, not the program */
#define RUN_STATUS_TIME 124      /* --timeout, as timeout(1) has it */

struct run_options {
    int cards;
    const char *hbm, *aicpu_cores, *mem;
    int smp;
    const char *append, *kernel, *modules, *qemu, *firmware, *log, *device;
    const char *accel;           /* tcg, kvm, or auto */
    char **qemu_args;
    int num_qemu_args;
    bool shell, verbose, show_command;
    int timeout, boot_timeout;   /* seconds, 0 none */
    char **program;              /* NULL-terminated */
};

/* Places found by run_paths(); absolute. */
struct run_paths {
    char *prefix;                /* the SDK this launcher belongs to */
    char *qemu, *kernel, *modules, *init, *firmware;
};

/* Says one line on standard error and ends with RUN_STATUS_VM. */
_Noreturn void run_die(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
/* Memory of a printf; never NULL. */
char *run_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *run_alloc(size_t size);

void run_options_parse(int argc, char **argv, struct run_options *o);
void run_paths_find(const struct run_options *o, struct run_paths *p);

/* A memory file with the initramfs: init and the modules it loads. */
int run_initramfs(const struct run_paths *p);

/* "kvm" or "tcg"; *why says in one line why not KVM, or is NULL. */
const char *run_accel(const char *wanted, const char **why);

#endif
