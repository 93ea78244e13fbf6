/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel binaries, functions and their argument objects. */
#ifndef A350_KERNEL_PRIV_H
#define A350_KERNEL_PRIV_H

#include "acl_priv.h"
#include "kernel_file.h"

typedef struct kbinary kbinary;
typedef struct kfunc kfunc;

/* A function on one device. */
typedef struct kbind {
    uint32_t generation;         /* of the device; 0: not bound */
    uint64_t so_addr, fn_addr;   /* names in device memory, 0: none */
    struct kbind *next;          /* of those that have names */
    int32_t device;
    char *path;                  /* of the library, if it counts in lib_put */
    char *error;                 /* why launches fail; NULL: they work */
} kbind;

struct kfunc {
    uint32_t magic;
    uint32_t kernel_type;        /* UINT32_MAX: opKernelLib is unknown */
    kbinary *bin;
    kfunc *next;
    char *op, *so, *function, *lib;
    kbind *bind;                 /* MAX_DEVICES entries */
};

struct kbinary {
    uint32_t magic;
    int32_t mode;                /* cpuKernelMode */
    pthread_mutex_t lock;        /* funcs */
    char *json;                  /* path, NULL for mode 2 */
    kdesc *desc;
    unsigned ndesc;
    kfiles *files;               /* the library, modes 1 and 2 */
    kfunc *funcs;
};

#define ARGS_MAX        A350_ARGS_MAX

typedef struct kargs {
    uint32_t magic;
    bool finalized, user_mem;
    kfunc *func;
    uint32_t num;
    size_t size, capacity;
    uint8_t *data;
    struct {
        uint32_t off, size;
        bool holder;             /* place holder: off is that of the pointer */
        uint32_t data_off;
    } param[KERNEL_PARAMS_MAX];
} kargs;

/* Is it a function handle? */
aclError func_need(const char *func, const void *h);
/* The function's names on @d; sets the error when it cannot be launched. */
aclError func_bound(const char *func, kfunc *f, acl_dev *d, kbind **out);

#endif /* A350_KERNEL_PRIV_H */
