/*
 * Atlas 350 firmware runtime: kernel libraries, loading and unloading.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The files of one load become RAM files "/kernels/<id>/<name>" of the
 * monitor. Their SONAMEs, and the references to them inside the load, are
 * changed to names of that load: the first three bytes become a number. So a
 * load finds its own files and nobody else's, and libraries of the archive
 * are still found by their ordinary names. The alias "/kernels/<new name>"
 * is where the dynamic linker's search path meets them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "rt.h"

#define MANGLED  3

static pthread_mutex_t lib_lock = PTHREAD_MUTEX_INITIALIZER;
static rt_lib lib_table[RT_LIBS_MAX];
static uint32_t next_id = 1;

/* One load while it is made. */
typedef struct loading {
    uint32_t id;
    unsigned n;
    char name[RT_FILES_MAX][96];    /* base names */
    char soname[RT_FILES_MAX][96];  /* what others know them by */
    char mangled[RT_FILES_MAX][96];
    bool archive[RT_FILES_MAX];     /* the archive has it: not taken */
    uint8_t *image[RT_FILES_MAX];
    uint64_t size[RT_FILES_MAX];
} loading;

static void mangle(char *out, const char *name, uint32_t id)
{
    strcpy(out, name);
    out[0] = (char)(0x80 | (id & 0x7f));
    out[1] = (char)(0x80 | (id >> 7 & 0x7f));
    out[2] = (char)(0x80 | (id >> 14 & 0x7f));
}

static const char *rename_for(void *opaque, const char *name)
{
    loading *l = opaque;

    for (unsigned i = 0; i < l->n; i++) {
        if (!l->archive[i] && strcmp(name, l->soname[i]) == 0) {
            return l->mangled[i];
        }
    }
    return NULL;
}

/* Puts original names back into the dynamic linker's message. */
static void clean_message(const loading *l, const char *text, char *out,
                          size_t n)
{
    size_t k = 0;

    while (*text && k + 1 < n) {
        bool hit = false;

        for (unsigned i = 0; i < l->n && !hit; i++) {
            size_t len = strlen(l->mangled[i]);

            if (len && strncmp(text, l->mangled[i], len) == 0 &&
                k + len < n) {
                memcpy(out + k, l->soname[i], len);
                text += len;
                k += len;
                hit = true;
            }
        }
        if (!hit) {
            out[k++] = *text++;
        }
    }
    out[k] = 0;
}

static bool safe_name(const char *s)
{
    size_t len = strnlen(s, A350_KERNEL_PATH_MAX);

    if (len < 4 || len >= 96) {
        return false;
    }
    for (; *s; s++) {
        if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f ||
            *s == '/' || *s == '$' || *s == ':') {
            return false;
        }
    }
    return true;
}

/* The dynamic linker's path of a file, in @out. */
static void file_path(char *out, size_t n, uint32_t id, const char *name)
{
    snprintf(out, n, "/kernels/%u/%s", id, name);
}

static bool take_file(loading *l, const a350_load_file *f, char *why,
                      size_t n)
{
    unsigned i = l->n;
    const char *soname;
    char path[128];
    int len;

    if (!safe_name(f->name)) {
        snprintf(why, n, "file %u has an unusable name (4 to 95 printable "
                 "characters without '/')", i);
        return false;
    }
    if (!rt_in_hbm(f->image, f->size)) {
        snprintf(why, n, "%s: the image 0x%llx, %llu bytes, is not in the "
                 "card's memory", f->name, (unsigned long long)f->image,
                 (unsigned long long)f->size);
        return false;
    }
    if (!elf_check((const uint8_t *)f->image, f->size, f->name, why, n)) {
        return false;
    }
    strcpy(l->name[i], f->name);
    snprintf(path, sizeof(path), "/lib/%s", f->name);
    l->archive[i] = i > 0 && access(path, R_OK) == 0;
    /* The image is the host's, too: the name is looked at where it is ours. */
    soname = elf_soname((const uint8_t *)f->image, f->size);
    len = snprintf(l->soname[i], sizeof(l->soname[i]), "%s",
                   soname ? soname : "");
    if (len < 0 || (size_t)len >= sizeof(l->soname[i]) ||
        !safe_name(l->soname[i])) {
        strcpy(l->soname[i], f->name);
    }
    mangle(l->mangled[i], l->soname[i], l->id);
    l->image[i] = (uint8_t *)f->image;
    l->size[i] = f->size;
    l->n++;
    return true;
}

/* Copies the images into RAM files and makes their names the load's own. */
static bool make_files(loading *l, rt_lib *lib, char *why, size_t n)
{
    for (unsigned i = 0; i < l->n; i++) {
        char alias[128], path[128];
        long addr;

        if (l->archive[i]) {
            continue;
        }
        file_path(path, sizeof(path), l->id, l->name[i]);
        snprintf(alias, sizeof(alias), "/kernels/%s", l->mangled[i]);
        addr = rt_sys(A350_SYS_FILE_NEW, (long)path, (long)alias,
                      (long)l->size[i], 0);
        if (addr < 0 && addr > -4096) {
            snprintf(why, n, "%s: no room for its %llu bytes (error %ld)",
                     l->name[i], (unsigned long long)l->size[i], -addr);
            return false;
        }
        lib->file[lib->files++] = strdup(path);
        memcpy((void *)addr, l->image[i], l->size[i]);
        /* What was checked may have changed since: check the copy. */
        if (!elf_check((uint8_t *)addr, l->size[i], l->name[i], why, n)) {
            return false;
        }
        elf_localise((uint8_t *)addr, l->size[i], rename_for, l);
    }
    return true;
}

static void drop_files(rt_lib *lib)
{
    for (unsigned i = 0; i < lib->files; i++) {
        if (lib->file[i]) {
            rt_sys(A350_SYS_FILE_DEL, (long)lib->file[i], 0, 0, 0);
            free(lib->file[i]);
        }
    }
    lib->files = 0;
}

static int bounds_cb(struct dl_phdr_info *info, size_t size, void *opaque)
{
    rt_lib *lib = opaque;
    struct link_map *map = lib->handle;

    (void)size;
    if (info->dlpi_addr != map->l_addr) {
        return 0;
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t lo = info->dlpi_addr + ph->p_vaddr;

        if (ph->p_type == PT_LOAD) {
            lib->lo = lo < lib->lo ? lo : lib->lo;
            lib->hi = lo + ph->p_memsz > lib->hi ? lo + ph->p_memsz : lib->hi;
        }
    }
    return 1;
}

static bool open_lib(rt_lib *lib)
{
    lib->handle = dlopen(lib->path, RTLD_NOW | RTLD_LOCAL);
    if (!lib->handle) {
        return false;
    }
    lib->lo = UINTPTR_MAX;
    lib->hi = 0;
    dl_iterate_phdr(bounds_cb, lib);
    return true;
}

static rt_lib *new_lib(void)
{
    for (unsigned i = 0; i < RT_LIBS_MAX; i++) {
        if (!lib_table[i].used) {
            memset(&lib_table[i], 0, sizeof(lib_table[i]));
            lib_table[i].used = true;
            return &lib_table[i];
        }
    }
    return NULL;
}

static uint32_t load_files(a350_load_param *p, const a350_load_file *files,
                           uint32_t n, loading *l, rt_lib *lib)
{
    const char *err;

    for (unsigned i = 0; i < n; i++) {
        a350_load_file f;

        memcpy(&f, &files[i], sizeof(f));
        f.name[sizeof(f.name) - 1] = 0;
        if (!take_file(l, &f, p->message, sizeof(p->message))) {
            return safe_name(f.name) ? A350_AE_OPEN_SO : A350_AE_SO_NAME;
        }
    }
    if (!make_files(l, lib, p->message, sizeof(p->message))) {
        return A350_AE_OPEN_SO;
    }
    file_path(lib->path, sizeof(lib->path), l->id, l->name[0]);
    if (!open_lib(lib)) {
        err = dlerror();
        clean_message(l, err ? err : "cannot load", p->message,
                      sizeof(p->message));
        return A350_AE_OPEN_SO;
    }
    return A350_AE_OK;
}

/* a350_load: see include/hw/atlas350/aicpu.h. */
uint32_t rt_load(a350_load_param *p)
{
    static loading l;               /* under lib_lock */
    /* Read once: the block stays the host's, which may change it any time. */
    uint32_t n = *(volatile uint32_t *)&p->num_files;
    uint64_t files = *(volatile uint64_t *)&p->files;
    rt_lib *lib;
    uint32_t status;

    p->message[0] = p->path[0] = 0;
    p->id = 0;
    if (n < 1 || n > RT_FILES_MAX ||
        !rt_in_hbm(files, n * sizeof(a350_load_file))) {
        snprintf(p->message, sizeof(p->message), "a load has 1 to %d files, "
                 "described in the card's memory; got %u at 0x%llx",
                 RT_FILES_MAX, n, (unsigned long long)files);
        return p->status = A350_AE_BAD_PARAM;
    }
    pthread_mutex_lock(&lib_lock);
    lib = new_lib();
    if (!lib) {
        pthread_mutex_unlock(&lib_lock);
        snprintf(p->message, sizeof(p->message), "%d kernel libraries are "
                 "loaded, which is the limit", RT_LIBS_MAX);
        return p->status = A350_AE_OPEN_SO;
    }
    memset(&l, 0, sizeof(l));
    l.id = lib->id = next_id++;
    rt_me.loading = p;
    rt_me.lib = lib;
    status = load_files(p, (const a350_load_file *)files, n, &l, lib);
    rt_me.loading = NULL;
    rt_me.lib = NULL;
    if (status == A350_AE_OK) {
        p->message[0] = 0;
        p->id = lib->id;
        snprintf(p->path, sizeof(p->path), "%s", lib->path);
    } else {
        drop_files(lib);
        lib->used = false;
    }
    pthread_mutex_unlock(&lib_lock);
    return p->status = status;
}

uint32_t rt_unload(a350_unload_param *p)
{
    rt_lib *lib = NULL;

    p->message[0] = 0;
    pthread_mutex_lock(&lib_lock);
    for (unsigned i = 0; i < RT_LIBS_MAX; i++) {
        if (lib_table[i].used && lib_table[i].id && lib_table[i].id == p->id) {
            lib = &lib_table[i];
        }
    }
    if (!lib || lib->running) {
        if (lib) {
            snprintf(p->message, sizeof(p->message), "%s is in use by %d "
                     "running kernel(s)", lib->path, lib->running);
        } else {
            snprintf(p->message, sizeof(p->message), "no library with load id "
                     "%u", p->id);
        }
        pthread_mutex_unlock(&lib_lock);
        return p->status = lib ? A350_AE_TASK_FAIL : A350_AE_BAD_PARAM;
    }
    rt_me.unloading = p;
    rt_me.lib = lib;
    rt_thread_dtors_run(lib->lo, lib->hi);
    if (lib->handle) {
        dlclose(lib->handle);
    }
    rt_me.unloading = NULL;
    rt_me.lib = NULL;
    drop_files(lib);
    lib->used = false;
    pthread_mutex_unlock(&lib_lock);
    return p->status = A350_AE_OK;
}

/* With lib_lock held. Archive libraries are opened when first asked for. */
static rt_lib *find_lib(const char *so, char *why, size_t n)
{
    rt_lib *lib;
    const char *err;

    for (unsigned i = 0; i < RT_LIBS_MAX; i++) {
        if (lib_table[i].used && strcmp(lib_table[i].path, so) == 0) {
            return &lib_table[i];
        }
    }
    if (strchr(so, '/') || !safe_name(so)) {
        snprintf(why, n, "library %s is not loaded", so);
        return NULL;
    }
    lib = new_lib();
    if (!lib) {
        snprintf(why, n, "library %s: too many are loaded", so);
        return NULL;
    }
    snprintf(lib->path, sizeof(lib->path), "%s", so);
    if (!open_lib(lib)) {
        err = dlerror();
        snprintf(why, n, "%s", err ? err : so);
        lib->used = false;
        return NULL;
    }
    return lib;
}

static void *find_fn(rt_lib *lib, const char *function)
{
    void *fn;

    for (unsigned i = 0; i < lib->fns; i++) {
        if (strcmp(lib->fn[i].name, function) == 0) {
            return lib->fn[i].fn;
        }
    }
    fn = dlsym(lib->handle, function);
    if (fn && lib->fns < RT_FN_CACHE &&
        strlen(function) < sizeof(lib->fn[0].name)) {
        strcpy(lib->fn[lib->fns].name, function);
        lib->fn[lib->fns++].fn = fn;
    }
    return fn;
}

/* Finds a kernel; its library counts as in use until rt_lib_leave. */
uint32_t rt_resolve(const char *so, const char *function, rt_lib **lib,
                    void **fn, char *why, size_t size)
{
    uint32_t status = A350_AE_OK;
    rt_lib *l;

    pthread_mutex_lock(&lib_lock);
    l = find_lib(so, why, size);
    if (!l) {
        status = A350_AE_OPEN_SO;
    } else if (!(*fn = find_fn(l, function))) {
        snprintf(why, size, "%s has no function %s", so, function);
        status = A350_AE_NO_FUNCTION;
    } else {
        l->running++;
        *lib = l;
    }
    pthread_mutex_unlock(&lib_lock);
    return status;
}

void rt_lib_leave(rt_lib *lib)
{
    if (lib) {
        __atomic_sub_fetch(&lib->running, 1, __ATOMIC_SEQ_CST);
    }
}

uint32_t rt_lookup(a350_lookup_param *p)
{
    char so[A350_KERNEL_PATH_MAX], function[A350_KERNEL_PATH_MAX];
    rt_lib *lib = NULL;
    void *fn = NULL;

    memcpy(so, p->path, sizeof(so));
    memcpy(function, p->function, sizeof(function));
    so[sizeof(so) - 1] = function[sizeof(function) - 1] = 0;
    p->message[0] = 0;
    if (!so[0] || !function[0]) {
        snprintf(p->message, sizeof(p->message), "no %s name",
                 so[0] ? "function" : "library");
        p->status = so[0] ? A350_AE_KERNEL_NAME : A350_AE_SO_NAME;
        return p->status;
    }
    p->status = rt_resolve(so, function, &lib, &fn, p->message,
                           sizeof(p->message));
    rt_lib_leave(lib);
    return p->status;
}

rt_lib *rt_lib_at(uintptr_t pc)
{
    for (unsigned i = 0; i < RT_LIBS_MAX; i++) {
        rt_lib *l = &lib_table[i];

        if (l->used && l->handle && pc >= l->lo && pc < l->hi) {
            return l;
        }
    }
    return NULL;
}

unsigned rt_lib_count(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < RT_LIBS_MAX; i++) {
        n += lib_table[i].used && lib_table[i].id;
    }
    return n;
}

void rt_libs_init(void)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lib_lock, &attr);
}

/* A load or unload died on this thread: the library is given up. */
void rt_libs_recover(void)
{
    rt_lib *lib = rt_me.lib;

    if (rt_me.loading || rt_me.unloading) {
        drop_files(lib);
        lib->used = false;
    } else {
        rt_lib_leave(lib);
    }
    rt_me.lib = NULL;
}

static rt_lib *lib_of_id(uint32_t id)
{
    for (unsigned i = 0; i < RT_LIBS_MAX; i++) {
        if (lib_table[i].used && lib_table[i].id == id) {
            return &lib_table[i];
        }
    }
    return NULL;
}

/*
 * After a restart of the runtime the images are still with the monitor, names
 * already localised. The first file of an id is its kernel library.
 */
void rt_libs_reload(void)
{
    a350_fw_file f;
    long r;

    for (unsigned i = 0; (r = rt_sys(A350_SYS_FILE_GET, i, (long)&f, 0, 0))
                         >= 0; i++) {
        unsigned id = 0;
        rt_lib *lib;

        if (r == 0 || sscanf(f.path, "/kernels/%u/", &id) != 1) {
            continue;
        }
        next_id = id >= next_id ? id + 1 : next_id;
        lib = lib_of_id(id);
        if (!lib) {
            lib = new_lib();
            if (!lib) {
                continue;
            }
            lib->id = id;
            strcpy(lib->path, f.path);
        }
        if (lib->files < RT_FILES_MAX) {
            lib->file[lib->files++] = strdup(f.path);
        }
    }
    for (unsigned i = 0; i < RT_LIBS_MAX; i++) {
        if (lib_table[i].used && !open_lib(&lib_table[i])) {
            rt_log(3, "runtime: %s is lost: %s", lib_table[i].path,
                   dlerror());
            drop_files(&lib_table[i]);
            lib_table[i].used = false;
        }
    }
}
