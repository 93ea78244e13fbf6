/*
 * aicpu-run: AICPU cores without a machine around them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_ATLAS350_AICPU_RUN_H
#define HW_ATLAS350_AICPU_RUN_H

#define RUN_KERNELS_MAX 256

typedef struct RunOptions {
    const char *tohost, *linux_elf, *firmware, *signature, *gdb;
    const char *script;
    char **args;                 /* of the program of --linux */
    int num_args;
    uint64_t hbm_size, max_insns;
    unsigned cores;
    bool parallel, stats;
    double limit;                /* seconds for each kernel, 0 none */
    double timeout;              /* seconds for all of it, 0 none */
    unsigned repeat;
    const char *kernel[RUN_KERNELS_MAX];
    unsigned num_kernels;
} RunOptions;

enum { RUN_OK = 0, RUN_FAILED = 1, RUN_USAGE = 2, RUN_TIMEOUT = 3 };

int run_tohost(const RunOptions *o);   /* run-bare.c */
int run_linux(const RunOptions *o);    /* run-linux.c */
int run_firmware(const RunOptions *o); /* run-card.c */

/* An ELF file in the memory of a core (run-bare.c). */
typedef struct RunImage {
    GMappedFile *file;
    const uint8_t *data;
    uint64_t size;
    uint64_t entry, low, high;   /* addresses of the loaded segments */
    uint64_t phdr, phnum;
} RunImage;

bool run_image_open(RunImage *im, const char *path);
/* Copies the segments; @mem holds addresses from @base on. */
bool run_image_load(const RunImage *im, uint8_t *mem, uint64_t base,
                    uint64_t size);
bool run_image_symbol(const RunImage *im, const char *name, uint64_t *addr);
void *run_alloc(uint64_t size);

#endif /* HW_ATLAS350_AICPU_RUN_H */
