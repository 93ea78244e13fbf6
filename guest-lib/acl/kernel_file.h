/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel libraries as files: descriptor JSON, package list, tarballs, ELF.
 * Pure: no device, no error state; reasons go to a text buffer.
 */
#ifndef A350_KERNEL_FILE_H
#define A350_KERNEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One operator of a descriptor: spec/api/acl-runtime.md §14. */
typedef struct kdesc {
    char *op;                    /* key */
    char *so, *function, *lib;   /* "" when missing */
} kdesc;

/* Entries without opInfo are left out. NULL on failure, reason in @why. */
kdesc *kdesc_load(const char *path, unsigned *n, char *why, size_t len);
void kdesc_free(kdesc *d, unsigned n);

typedef struct kfile {
    char name[256];              /* base name */
    uint8_t *data;
    size_t size;
} kfile;

#define KFILES_MAX 64
typedef struct kfiles {
    kfile f[KFILES_MAX];
    unsigned n;
} kfiles;
void kfiles_free(kfiles *k);

/* Reads a whole file; false with a reason. */
bool kfile_read(const char *path, kfile *out, char *why, size_t len);

/* Is this a shared object for the card's cores? */
bool kelf_check(const uint8_t *data, size_t size, const char *name, char *why,
                size_t len);
/* Calls @fn for every DT_NEEDED name of a checked image. */
void kelf_needed(const uint8_t *data, size_t size,
                 void (*fn)(void *opaque, const char *name), void *opaque);

/* conf/ascend_package_load.ini: spec/api/examples.md §3.2. */
typedef struct kpackage {
    char name[256], path[512];
    int install_path;
    bool optional, per_soc;
} kpackage;
#define KPACKAGES_MAX 100
/* One bad line drops the whole list: -1 and the reason; else the number. */
int kpackages_parse(const char *text, kpackage *p, unsigned max, char *why,
                    size_t len);

/*
 * Member with base name @so of a .tar or .tar.gz; false if there is none (or
 * the archive is broken, then @why says so and is not "").
 */
bool ktar_find(const char *path, const char *so, kfile *out, char *why,
               size_t len);

/*
 * Finds @so for a descriptor at @json (cpuKernelMode 0): beside it, in
 * ../kernel, in the packages under @home. The libraries that it needs and that
 * lie in the same place come with it: out->f[0] is @so. When it is nowhere,
 * @why lists what was searched.
 */
bool kernel_find(const char *json, const char *so, const char *home,
                 kfiles *out, char *why, size_t len);
/* @first and what it needs from the folder @dir. */
bool kernel_with_needed(const char *dir, kfile *first, kfiles *out);

#endif /* A350_KERNEL_FILE_H */
