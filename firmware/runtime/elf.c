/*
 * Atlas 350 firmware runtime: looks into images of kernel libraries.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An image comes from the host and may hold anything: every offset is
 * checked before it is followed.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include "rt.h"

static bool inside(uint64_t size, uint64_t off, uint64_t len)
{
    return off <= size && len <= size - off;
}

static const char *machine_name(unsigned machine)
{
    return machine == EM_X86_64 ? ", x86-64"
         : machine == EM_AARCH64 ? ", AArch64" : "";
}

static const Elf64_Phdr *phdrs(const uint8_t *image)
{
    const Elf64_Ehdr *eh = (const Elf64_Ehdr *)image;

    return (const Elf64_Phdr *)(image + eh->e_phoff);
}

/* Is all there that the program headers promise? */
static bool check_segments(const uint8_t *image, uint64_t size, char *why,
                           size_t n)
{
    const Elf64_Ehdr *eh = (const Elf64_Ehdr *)image;
    const Elf64_Phdr *ph = phdrs(image);
    bool dynamic = false;

    for (unsigned i = 0; i < eh->e_phnum; i++) {
        if (ph[i].p_type == PT_DYNAMIC) {
            dynamic = true;
        }
        if (ph[i].p_type != PT_LOAD && ph[i].p_type != PT_DYNAMIC) {
            continue;
        }
        if (!inside(size, ph[i].p_offset, ph[i].p_filesz)) {
            snprintf(why, n, "truncated: segment %u ends at byte %llu of %llu",
                     i, (unsigned long long)(ph[i].p_offset + ph[i].p_filesz),
                     (unsigned long long)size);
            return false;
        }
        if (ph[i].p_memsz > A350_FW_HBM_SIZE || ph[i].p_vaddr > 1ull << 40) {
            snprintf(why, n, "segment %u asks for %llu bytes", i,
                     (unsigned long long)ph[i].p_memsz);
            return false;
        }
    }
    if (!dynamic) {
        snprintf(why, n, "not a shared object (no dynamic section)");
    }
    return dynamic;
}

/* Fit for the dynamic linker? If not, @why says what it is instead. */
bool elf_check(const uint8_t *image, uint64_t size, const char *name,
               char *why, size_t why_size)
{
    const Elf64_Ehdr *eh = (const Elf64_Ehdr *)image;
    int n = snprintf(why, why_size, "%s: ", name);

    if (n < 0 || (size_t)n >= why_size) {
        return false;
    }
    why += n;
    why_size -= (size_t)n;
    if (size < 4 || memcmp(image, ELFMAG, SELFMAG) != 0) {
        snprintf(why, why_size, "not an ELF file");
        return false;
    }
    if (size < sizeof(*eh)) {
        snprintf(why, why_size, "truncated: %llu bytes are no ELF header",
                 (unsigned long long)size);
        return false;
    }
    if (eh->e_machine != EM_RISCV || eh->e_ident[EI_CLASS] != ELFCLASS64) {
        snprintf(why, why_size, "not a 64-bit RISC-V library (ELF machine "
                 "%u%s); build it with atlas350-aicpu-gcc", eh->e_machine,
                 machine_name(eh->e_machine));
        return false;
    }
    if (eh->e_type != ET_DYN) {
        snprintf(why, why_size, "not a shared object (ELF type %u)",
                 eh->e_type);
        return false;
    }
    if ((eh->e_flags & EF_RISCV_FLOAT_ABI) != EF_RISCV_FLOAT_ABI_DOUBLE ||
        (eh->e_flags & EF_RISCV_RVE)) {
        snprintf(why, why_size, "not of the lp64d ABI (ELF flags 0x%x)",
                 eh->e_flags);
        return false;
    }
    if (eh->e_phentsize != sizeof(Elf64_Phdr) ||
        !inside(size, eh->e_phoff, eh->e_phnum * sizeof(Elf64_Phdr)) ||
        (eh->e_phoff & 7)) {
        snprintf(why, why_size, "truncated: no program headers");
        return false;
    }
    if (!check_segments(image, size, why, why_size)) {
        return false;
    }
    if (eh->e_shoff && !inside(size, eh->e_shoff,
                               eh->e_shnum * sizeof(Elf64_Shdr))) {
        snprintf(why, why_size, "truncated: section headers end beyond byte "
                 "%llu", (unsigned long long)size);
        return false;
    }
    return true;
}

/* File offset of a virtual address, UINT64_MAX if no segment has it. */
static uint64_t to_offset(const uint8_t *image, uint64_t vaddr)
{
    const Elf64_Ehdr *eh = (const Elf64_Ehdr *)image;
    const Elf64_Phdr *ph = phdrs(image);

    for (unsigned i = 0; i < eh->e_phnum; i++) {
        if (ph[i].p_type == PT_LOAD && vaddr >= ph[i].p_vaddr &&
            vaddr - ph[i].p_vaddr < ph[i].p_filesz) {
            return vaddr - ph[i].p_vaddr + ph[i].p_offset;
        }
    }
    return UINT64_MAX;
}

typedef struct dyn {
    Elf64_Dyn *d;
    unsigned n;
    char *str;
    uint64_t str_size;
} dyn;

static bool dyn_open(uint8_t *image, uint64_t size, dyn *out)
{
    const Elf64_Ehdr *eh = (const Elf64_Ehdr *)image;
    const Elf64_Phdr *ph = phdrs(image);
    uint64_t str = UINT64_MAX;

    memset(out, 0, sizeof(*out));
    for (unsigned i = 0; i < eh->e_phnum; i++) {
        if (ph[i].p_type == PT_DYNAMIC && !(ph[i].p_offset & 7)) {
            out->d = (Elf64_Dyn *)(image + ph[i].p_offset);
            out->n = (unsigned)(ph[i].p_filesz / sizeof(Elf64_Dyn));
        }
    }
    for (unsigned i = 0; i < out->n; i++) {
        if (out->d[i].d_tag == DT_NULL) {
            out->n = i;
        } else if (out->d[i].d_tag == DT_STRTAB) {
            str = to_offset(image, out->d[i].d_un.d_ptr);
        } else if (out->d[i].d_tag == DT_STRSZ) {
            out->str_size = out->d[i].d_un.d_val;
        }
    }
    if (str == UINT64_MAX || !out->str_size ||
        !inside(size, str, out->str_size) ||
        image[str + out->str_size - 1] != 0) {
        return false;
    }
    out->str = (char *)image + str;
    return true;
}

static char *dyn_str(const dyn *d, uint64_t off)
{
    return off < d->str_size ? d->str + off : NULL;
}

const char *elf_soname(const uint8_t *image, uint64_t size)
{
    dyn d;

    if (!dyn_open((uint8_t *)image, size, &d)) {
        return NULL;
    }
    for (unsigned i = 0; i < d.n; i++) {
        if (d.d[i].d_tag == DT_SONAME) {
            return dyn_str(&d, d.d[i].d_un.d_val);
        }
    }
    return NULL;
}

static void rename_in_place(char *s, const char *to)
{
    if (s && to && strlen(s) == strlen(to)) {
        memcpy(s, to, strlen(to));
    }
}

/* Names of needed files stand a second time in the version references. */
static void rename_versions(uint8_t *image, uint64_t size, const dyn *d,
                            const char *(*rename)(void *, const char *),
                            void *opaque)
{
    uint64_t off = UINT64_MAX, count = 0;

    for (unsigned i = 0; i < d->n; i++) {
        if (d->d[i].d_tag == DT_VERNEED) {
            off = to_offset(image, d->d[i].d_un.d_ptr);
        } else if (d->d[i].d_tag == DT_VERNEEDNUM) {
            count = d->d[i].d_un.d_val;
        }
    }
    for (; count && off != UINT64_MAX; count--) {
        Elf64_Verneed *v = (Elf64_Verneed *)(image + off);
        char *s;

        if (!inside(size, off, sizeof(*v)) || (off & 3)) {
            return;
        }
        s = dyn_str(d, v->vn_file);
        rename_in_place(s, s ? rename(opaque, s) : NULL);
        if (!v->vn_next) {
            return;
        }
        off += v->vn_next;
    }
}

/*
 * GNU's "unique" symbols are one for the whole process and pin their library
 * for ever: two loads of a library would share them, and never be unloaded.
 */
static void drop_unique(uint8_t *image, uint64_t size)
{
    Elf64_Ehdr *eh = (Elf64_Ehdr *)image;
    Elf64_Shdr *sh = (Elf64_Shdr *)(image + eh->e_shoff);

    if (!eh->e_shoff || (eh->e_shoff & 7)) {
        return;
    }
    for (unsigned i = 0; i < eh->e_shnum; i++) {
        Elf64_Sym *sym;

        if (sh[i].sh_type != SHT_DYNSYM || (sh[i].sh_offset & 7) ||
            !inside(size, sh[i].sh_offset, sh[i].sh_size)) {
            continue;
        }
        sym = (Elf64_Sym *)(image + sh[i].sh_offset);
        for (uint64_t k = 0; k < sh[i].sh_size / sizeof(*sym); k++) {
            if (ELF64_ST_BIND(sym[k].st_info) == STB_GNU_UNIQUE) {
                sym[k].st_info = (unsigned char)ELF64_ST_INFO(
                    STB_WEAK, ELF64_ST_TYPE(sym[k].st_info));
            }
        }
    }
}

/*
 * Makes a library's names its load's own: @rename gives the new name, of the
 * same length, or NULL. The dynamic linker takes libraries of one SONAME for
 * the same one, whatever they contain.
 */
void elf_localise(uint8_t *image, uint64_t size,
                  const char *(*rename)(void *opaque, const char *name),
                  void *opaque)
{
    dyn d;

    drop_unique(image, size);
    if (!dyn_open(image, size, &d)) {
        return;
    }
    rename_versions(image, size, &d, rename, opaque);
    for (unsigned i = 0; i < d.n; i++) {
        if (d.d[i].d_tag == DT_SONAME || d.d[i].d_tag == DT_NEEDED) {
            char *s = dyn_str(&d, d.d[i].d_un.d_val);

            rename_in_place(s, s ? rename(opaque, s) : NULL);
        } else if (d.d[i].d_tag == DT_FLAGS_1) {
            d.d[i].d_un.d_val &= ~(uint64_t)(DF_1_NODELETE | DF_1_GLOBAL);
        }
    }
}

/* The function that covers a virtual address, from .symtab, else .dynsym. */
static bool symbol_in(const uint8_t *image, uint64_t size,
                      const Elf64_Shdr *sh, const Elf64_Shdr *str,
                      uint64_t vaddr, char *name, size_t n, uint64_t *start)
{
    const Elf64_Sym *sym, *best = NULL;

    if ((sh->sh_offset & 7) || !inside(size, sh->sh_offset, sh->sh_size) ||
        !inside(size, str->sh_offset, str->sh_size)) {
        return false;
    }
    sym = (const Elf64_Sym *)(image + sh->sh_offset);
    for (uint64_t i = 0; i < sh->sh_size / sizeof(*sym); i++) {
        if (ELF64_ST_TYPE(sym[i].st_info) == STT_FUNC && sym[i].st_shndx &&
            vaddr >= sym[i].st_value &&
            vaddr - sym[i].st_value < (sym[i].st_size ? sym[i].st_size : 1) &&
            sym[i].st_name < str->sh_size) {
            best = &sym[i];
            break;
        }
    }
    if (!best) {
        return false;
    }
    snprintf(name, n, "%.*s", (int)(str->sh_size - best->st_name),
             (const char *)image + str->sh_offset + best->st_name);
    *start = best->st_value;
    return true;
}

bool elf_symbol(const uint8_t *image, uint64_t size, uint64_t vaddr,
                char *name, size_t name_size, uint64_t *start)
{
    static const uint32_t type[2] = { SHT_SYMTAB, SHT_DYNSYM };
    const Elf64_Ehdr *eh = (const Elf64_Ehdr *)image;
    const Elf64_Shdr *sh = (const Elf64_Shdr *)(image + eh->e_shoff);

    if (!eh->e_shoff || (eh->e_shoff & 7)) {
        return false;
    }
    for (int k = 0; k < 2; k++) {
        for (unsigned i = 0; i < eh->e_shnum; i++) {
            if (sh[i].sh_type == type[k] && sh[i].sh_link < eh->e_shnum &&
                symbol_in(image, size, &sh[i], &sh[sh[i].sh_link], vaddr,
                          name, name_size, start)) {
                return true;
            }
        }
    }
    return false;
}
