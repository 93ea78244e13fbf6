/* SPDX-License-Identifier: Apache-2.0 */
/* For strchrnul. */
#define _GNU_SOURCE
#include "kernel_file.h"

#include <elf.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define FILE_MAX        (256u << 20)

/* ---- descriptor ---- */

static char *string_of(const json_t *obj, const char *key)
{
    const char *s = json_string_value(json_object_get(obj, key));

    return strdup(s ? s : "");
}

kdesc *kdesc_load(const char *path, unsigned *n, char *why, size_t len)
{
    json_error_t err;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &err), *op;
    const char *key;
    kdesc *d;

    *n = 0;
    if (!root) {
        if (err.line > 0) {
            snprintf(why, len, "%s:%d: %s", path, err.line, err.text);
        } else {
            snprintf(why, len, "%s", err.text);
        }
        return NULL;
    }
    if (!json_is_object(root)) {
        snprintf(why, len, "%s: not an object of operators", path);
        json_decref(root);
        return NULL;
    }
    d = calloc(json_object_size(root) + 1, sizeof(*d));
    json_object_foreach(root, key, op) {
        const json_t *info = json_object_get(op, "opInfo");

        if (d && json_is_object(info)) {
            d[*n].op = strdup(key);
            d[*n].so = string_of(info, "kernelSo");
            d[*n].function = string_of(info, "functionName");
            d[*n].lib = string_of(info, "opKernelLib");
            (*n)++;
        }
    }
    json_decref(root);
    if (!d) {
        snprintf(why, len, "out of host memory");
    }
    return d;
}

void kdesc_free(kdesc *d, unsigned n)
{
    unsigned i;

    for (i = 0; d && i < n; i++) {
        free(d[i].op);
        free(d[i].so);
        free(d[i].function);
        free(d[i].lib);
    }
    free(d);
}

/* ---- files ---- */

void kfiles_free(kfiles *k)
{
    unsigned i;

    for (i = 0; i < k->n; i++) {
        free(k->f[i].data);
    }
    k->n = 0;
}

static void name_set(kfile *f, const char *path)
{
    const char *b = strrchr(path, '/');

    snprintf(f->name, sizeof(f->name), "%s", b ? b + 1 : path);
}

bool kfile_read(const char *path, kfile *out, char *why, size_t len)
{
    FILE *f = fopen(path, "re");
    struct stat st;
    bool ok = false;

    memset(out, 0, sizeof(*out));
    if (!f || fstat(fileno(f), &st)) {
        snprintf(why, len, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode) || st.st_size <= 0 ||
               st.st_size > FILE_MAX) {
        snprintf(why, len, "%s: not a file of 1 byte to %u MiB", path,
                 FILE_MAX >> 20);
    } else {
        out->size = (size_t)st.st_size;
        out->data = malloc(out->size);
        ok = out->data && fread(out->data, 1, out->size, f) == out->size;
        if (!ok) {
            free(out->data);
            out->data = NULL;
            snprintf(why, len, "%s: cannot be read", path);
        }
    }
    if (f) {
        fclose(f);
    }
    if (ok) {
        name_set(out, path);
    }
    return ok;
}

/* ---- ELF ---- */

static const char *machine_name(unsigned m)
{
    return m == EM_X86_64 ? "x86-64" : m == EM_AARCH64 ? "AArch64" :
           m == EM_ARM ? "Arm" : "another machine";
}

bool kelf_check(const uint8_t *data, size_t size, const char *name, char *why,
                size_t len)
{
    Elf64_Ehdr h;

    if (size < sizeof(h) || memcmp(data, ELFMAG, SELFMAG)) {
        snprintf(why, len, "%s is not an ELF file", name);
        return false;
    }
    memcpy(&h, data, sizeof(h));
    if (h.e_machine != EM_RISCV || h.e_ident[EI_CLASS] != ELFCLASS64) {
        snprintf(why, len, "%s is for %s (ELF machine %u), the card's cores "
                 "are RISC-V (243): compile it with atlas350-aicpu-gcc", name,
                 machine_name(h.e_machine), h.e_machine);
        return false;
    }
    if (h.e_type != ET_DYN) {
        snprintf(why, len, "%s is no shared object (ELF type %u): link it "
                 "with -shared", name, h.e_type);
        return false;
    }
    return true;
}

/* Copies a header out of the image; false if it is not inside. */
static bool take(const uint8_t *data, size_t size, uint64_t off, void *out,
                 size_t n)
{
    if (off > size || n > size - off) {
        return false;
    }
    memcpy(out, data + off, n);
    return true;
}

/* File offset of a virtual address, UINT64_MAX if no segment has it. */
static uint64_t offset_of(const uint8_t *data, size_t size,
                          const Elf64_Ehdr *h, uint64_t addr)
{
    Elf64_Phdr p;
    unsigned i;

    for (i = 0; i < h->e_phnum; i++) {
        if (take(data, size, h->e_phoff + (uint64_t)i * sizeof(p), &p,
                 sizeof(p)) &&
            p.p_type == PT_LOAD && addr >= p.p_vaddr &&
            addr - p.p_vaddr < p.p_filesz) {
            return p.p_offset + (addr - p.p_vaddr);
        }
    }
    return UINT64_MAX;
}

static bool dynamic_of(const uint8_t *data, size_t size, const Elf64_Ehdr *h,
                       Elf64_Phdr *dyn)
{
    unsigned i;

    for (i = 0; i < h->e_phnum; i++) {
        if (take(data, size, h->e_phoff + (uint64_t)i * sizeof(*dyn), dyn,
                 sizeof(*dyn)) && dyn->p_type == PT_DYNAMIC) {
            return true;
        }
    }
    return false;
}

void kelf_needed(const uint8_t *data, size_t size,
                 void (*fn)(void *opaque, const char *name), void *opaque)
{
    uint64_t str = UINT64_MAX, strsz = 0, off;
    Elf64_Ehdr h;
    Elf64_Phdr dyn;
    Elf64_Dyn d;
    int pass;

    if (!take(data, size, 0, &h, sizeof(h)) ||
        !dynamic_of(data, size, &h, &dyn)) {
        return;
    }
    /* First the string table, then the names in it. */
    for (pass = 0; pass < 2; pass++) {
        for (off = 0; off + sizeof(d) <= dyn.p_filesz &&
             take(data, size, dyn.p_offset + off, &d, sizeof(d)) &&
             d.d_tag != DT_NULL; off += sizeof(d)) {
            if (pass == 0 && d.d_tag == DT_STRTAB) {
                str = offset_of(data, size, &h, d.d_un.d_ptr);
            } else if (pass == 0 && d.d_tag == DT_STRSZ) {
                strsz = d.d_un.d_val;
            } else if (pass == 1 && d.d_tag == DT_NEEDED &&
                       d.d_un.d_val < strsz) {
                const char *s = (const char *)data + str + d.d_un.d_val;

                if (memchr(s, 0, strsz - d.d_un.d_val)) {
                    fn(opaque, s);
                }
            }
        }
        if (str == UINT64_MAX || strsz > size || str > size - strsz) {
            return;
        }
    }
}

/* ---- package list ---- */

static bool flag_value(const char *v, bool *out)
{
    *out = strcmp(v, "true") == 0;
    return *out || strcmp(v, "false") == 0;
}

/* The keys after name:, as bits of @seen. */
static bool package_key(kpackage *p, const char *key, const char *v,
                        unsigned *seen)
{
    unsigned bit;
    bool ok;

    if (strcmp(key, "install_path") == 0) {
        bit = 1;
        ok = v[0] >= '0' && v[0] <= '3' && !v[1];
        p->install_path = v[0] - '0';
    } else if (strcmp(key, "optional") == 0) {
        bit = 2;
        ok = flag_value(v, &p->optional);
    } else if (strcmp(key, "package_path") == 0) {
        bit = 4;
        ok = *v != '\0' && strlen(v) < sizeof(p->path);
        snprintf(p->path, sizeof(p->path), "%s", v);
    } else if (strcmp(key, "load_as_per_soc") == 0) {
        bit = 8;
        ok = flag_value(v, &p->per_soc);
    } else {
        return false;
    }
    if (!ok || (*seen & bit)) {
        return false;
    }
    *seen |= bit;
    return true;
}

static char *trim(char *s)
{
    char *e;

    while (*s == ' ' || *s == '\t' || *s == '\r') {
        s++;
    }
    e = s + strlen(s);
    while (e > s && (e[-1] == ' ' || e[-1] == '\t' || e[-1] == '\r')) {
        *--e = '\0';
    }
    return s;
}

int kpackages_parse(const char *text, kpackage *p, unsigned max, char *why,
                    size_t len)
{
    char line[1024], *s, *v;
    unsigned n = 0, seen = 15, no = 0;
    const char *nl;

    for (; *text; text = *nl ? nl + 1 : nl) {
        nl = strchrnul(text, '\n');
        no++;
        snprintf(line, sizeof(line), "%.*s",
                 (int)(nl - text < 1000 ? nl - text : 1000), text);
        s = trim(line);
        if (!*s || *s == '#' || *s == ';') {
            continue;
        }
        v = strchr(s, ':');
        if (!v) {
            snprintf(why, len, "line %u: no \"key:value\"", no);
            return -1;
        }
        *v = '\0';
        v = trim(v + 1);
        s = trim(s);
        if (strcmp(s, "name") == 0) {
            if (seen != 15 || n == max || !*v ||
                strlen(v) >= sizeof(p[0].name)) {
                snprintf(why, len, "line %u: %s", no, seen != 15 ?
                         "the package before it is not complete" :
                         n == max ? "too many packages" : "bad name");
                return -1;
            }
            memset(&p[n], 0, sizeof(p[n]));
            snprintf(p[n].name, sizeof(p[n].name), "%s", v);
            n++;
            seen = 0;
        } else if (seen == 15 || !package_key(&p[n - 1], s, v, &seen)) {
            snprintf(why, len, "line %u: \"%s:%s\" is not expected here or "
                     "has a bad value", no, s, v);
            return -1;
        }
    }
    if (seen != 15) {
        snprintf(why, len, "the last package is not complete");
        return -1;
    }
    return (int)n;
}

/* ---- tarballs ---- */

typedef struct tar_header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
    char type, link[100], magic[6], version[2], user[32], group[32];
    char major[8], minor[8], prefix[155], pad[12];
} tar_header;
_Static_assert(sizeof(tar_header) == 512, "ustar");

static bool octal(const char *s, size_t n, uint64_t *out)
{
    size_t i = 0;

    *out = 0;
    while (i < n && s[i] == ' ') {
        i++;
    }
    for (; i < n && s[i] && s[i] != ' '; i++) {
        if (s[i] < '0' || s[i] > '7') {
            return false;
        }
        *out = *out * 8 + (uint64_t)(s[i] - '0');
    }
    return true;
}

static bool sum_ok(const tar_header *h)
{
    const uint8_t *b = (const uint8_t *)h;
    uint64_t want, sum = 0;
    size_t i;

    for (i = 0; i < sizeof(*h); i++) {
        sum += i >= 148 && i < 156 ? ' ' : b[i];
    }
    return octal(h->sum, sizeof(h->sum), &want) && want == sum;
}

static bool skip(gzFile f, uint64_t n)
{
    char buf[4096];

    while (n) {
        unsigned k = n < sizeof(buf) ? (unsigned)n : (unsigned)sizeof(buf);

        if (gzread(f, buf, k) != (int)k) {
            return false;
        }
        n -= k;
    }
    return true;
}

/* Name of the member, GNU long names included; base name only. */
static void member_name(const tar_header *h, const char *longname, char *out,
                        size_t len)
{
    const char *s = longname[0] ? longname : h->name, *b;
    char buf[256];

    snprintf(buf, sizeof(buf), "%.*s", longname[0] ? 255 : 100, s);
    b = strrchr(buf, '/');
    snprintf(out, len, "%s", b ? b + 1 : buf);
}

static bool take_member(gzFile f, uint64_t size, kfile *out)
{
    if (size == 0 || size > FILE_MAX || !(out->data = malloc(size))) {
        return false;
    }
    out->size = size;
    if (gzread(f, out->data, (unsigned)size) != (int)size) {
        free(out->data);
        out->data = NULL;
        return false;
    }
    return true;
}

bool ktar_find(const char *path, const char *so, kfile *out, char *why,
               size_t len)
{
    gzFile f = gzopen(path, "re");
    char longname[256] = "";
    tar_header h;
    bool found = false;
    uint64_t size;

    why[0] = '\0';
    memset(out, 0, sizeof(*out));
    if (!f) {
        snprintf(why, len, "%s: %s", path, strerror(errno));
        return false;
    }
    while (!found && gzread(f, &h, sizeof(h)) == (int)sizeof(h) && h.name[0]) {
        if (!sum_ok(&h) || !octal(h.size, sizeof(h.size), &size)) {
            snprintf(why, len, "%s: not a tar archive", path);
            break;
        }
        if (h.type == 'L' && size < sizeof(longname)) {
            memset(longname, 0, sizeof(longname));
            if (gzread(f, longname, (unsigned)size) != (int)size ||
                !skip(f, (512 - size % 512) % 512)) {
                break;
            }
            continue;
        }
        member_name(&h, longname, out->name, sizeof(out->name));
        longname[0] = '\0';
        if ((h.type == '0' || h.type == '\0') && strcmp(out->name, so) == 0) {
            found = take_member(f, size, out);
            if (!found) {
                snprintf(why, len, "%s: member %s is cut short", path, so);
            }
            break;
        }
        if (!skip(f, (size + 511) & ~511ull)) {
            snprintf(why, len, "%s: cut short", path);
            break;
        }
    }
    gzclose(f);
    return found;
}

/* ---- search ---- */

typedef struct search {
    kfiles *out;
    const char *dir;             /* folder, or NULL: the archive */
    const char *tar;
} search;

static void need_one(void *opaque, const char *name)
{
    search *s = opaque;
    char path[PATH_MAX], why[64];
    kfile f;
    unsigned i;
    bool ok;

    for (i = 0; i < s->out->n; i++) {
        if (strcmp(s->out->f[i].name, name) == 0) {
            return;
        }
    }
    if (s->out->n == KFILES_MAX || strchr(name, '/')) {
        return;
    }
    if (s->dir) {
        snprintf(path, sizeof(path), "%s/%s", s->dir, name);
        ok = kfile_read(path, &f, why, sizeof(why));
    } else {
        ok = ktar_find(s->tar, name, &f, why, sizeof(why));
    }
    /* What is not there is one of the card's own, or its load will say. */
    if (ok && kelf_check(f.data, f.size, f.name, why, sizeof(why))) {
        s->out->f[s->out->n++] = f;
    } else if (ok) {
        free(f.data);
    }
}

/* The list grows while it is walked: what is needed needs more. */
static void need_all(search *s)
{
    unsigned i;

    for (i = 0; i < s->out->n; i++) {
        kelf_needed(s->out->f[i].data, s->out->f[i].size, need_one, s);
    }
}

bool kernel_with_needed(const char *dir, kfile *first, kfiles *out)
{
    search s = { .out = out, .dir = dir };

    out->f[0] = *first;
    out->n = 1;
    need_all(&s);
    return true;
}

static void note(char *why, size_t len, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void note(char *why, size_t len, const char *fmt, ...)
{
    size_t n = strlen(why);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why + n, len - n, fmt, ap);
    va_end(ap);
}

static bool find_plain(const char *dir, const char *so, kfiles *out, char *why,
                       size_t len)
{
    char path[PATH_MAX], reason[512];
    kfile f;

    snprintf(path, sizeof(path), "%s/%s", dir, so);
    if (!kfile_read(path, &f, reason, sizeof(reason))) {
        note(why, len, "%s%s", *why ? ", " : "", path);
        return false;
    }
    return kernel_with_needed(dir, &f, out);
}

static bool find_packaged(const char *home, const char *so, kfiles *out,
                          char *why, size_t len)
{
    kpackage *p = calloc(KPACKAGES_MAX, sizeof(*p));
    char path[PATH_MAX], reason[512];
    bool found = false;
    kfile ini, f;
    int n, i;

    snprintf(path, sizeof(path), "%s/conf/ascend_package_load.ini", home);
    if (!p || !kfile_read(path, &ini, reason, sizeof(reason))) {
        note(why, len, ", packages of %s (no such file)", path);
        free(p);
        return false;
    }
    ini.data = realloc(ini.data, ini.size + 1);
    ini.data[ini.size] = '\0';
    n = kpackages_parse((char *)ini.data, p, KPACKAGES_MAX, reason,
                        sizeof(reason));
    free(ini.data);
    note(why, len, ", packages of %s (", path);
    if (n < 0) {
        note(why, len, "dropped: %s", reason);
    }
    for (i = 0; i < n && !found; i++) {
        if (p[i].install_path != 2) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s/%s%s", home, p[i].path,
                 p[i].per_soc ? "Ascend950/" : "", p[i].name);
        found = ktar_find(path, so, &f, reason, sizeof(reason));
        if (found) {
            search s = { .out = out, .tar = path };

            out->f[0] = f;
            out->n = 1;
            need_all(&s);
        } else {
            note(why, len, "%s%s%s", i ? ", " : "",
                 reason[0] ? reason : path, reason[0] ? "" : ": not in it");
        }
    }
    note(why, len, ")");
    free(p);
    return found;
}

bool kernel_find(const char *json, const char *so, const char *home,
                 kfiles *out, char *why, size_t len)
{
    char dir[PATH_MAX], other[PATH_MAX + 16], *slash;

    why[0] = '\0';
    out->n = 0;
    snprintf(dir, sizeof(dir), "%s", json);
    slash = strrchr(dir, '/');
    if (slash) {
        *slash = '\0';
    } else {
        strcpy(dir, ".");
    }
    snprintf(other, sizeof(other), "%s/../kernel", dir);
    return find_plain(dir, so, out, why, len) ||
           find_plain(other, so, out, why, len) ||
           find_packaged(home, so, out, why, len);
}
