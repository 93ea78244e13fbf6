/*
 * aicpu-run --tohost: bare-metal programs in machine mode.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory lies where the ELF file puts it. The word at symbol tohost ends the
 * program, or prints a character if its upper half is 0x0101 (the convention
 * of the usual conformance binaries).
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/atomic.h"
#include <sys/mman.h>
#include "elf.h"
#include "core.h"
#include "aicpu-run.h"

#define SLICE       200000
#define SPARE       (32u << 20)  /* memory behind the image */

void *run_alloc(uint64_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED) {
        fprintf(stderr, "aicpu-run: no memory for 0x%" PRIx64 " bytes\n", size);
        exit(RUN_USAGE);
    }
    return p;
}

static bool get_phdr(const RunImage *im, unsigned n, Elf64_Phdr *ph)
{
    const Elf64_Ehdr *eh = (const void *)im->data;
    uint64_t off = eh->e_phoff + n * sizeof(*ph);

    if (eh->e_phentsize != sizeof(*ph) || off > im->size ||
        im->size - off < sizeof(*ph)) {
        return false;
    }
    memcpy(ph, im->data + off, sizeof(*ph));
    return ph->p_type != PT_LOAD ||
           (ph->p_offset <= im->size && ph->p_filesz <= ph->p_memsz &&
            ph->p_filesz <= im->size - ph->p_offset &&
            ph->p_paddr + ph->p_memsz >= ph->p_paddr);
}

bool run_image_open(RunImage *im, const char *path)
{
    const Elf64_Ehdr *eh;
    Elf64_Phdr ph;
    unsigned i;

    memset(im, 0, sizeof(*im));
    im->low = UINT64_MAX;
    im->file = g_mapped_file_new(path, false, NULL);
    if (!im->file) {
        fprintf(stderr, "aicpu-run: cannot read '%s'\n", path);
        return false;
    }
    im->data = (const uint8_t *)g_mapped_file_get_contents(im->file);
    im->size = g_mapped_file_get_length(im->file);
    eh = (const void *)im->data;
    if (im->size < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) ||
        eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_machine != EM_RISCV) {
        fprintf(stderr, "aicpu-run: '%s' is not a RISC-V ELF64 file\n", path);
        return false;
    }
    im->entry = eh->e_entry;
    im->phnum = eh->e_phnum;
    for (i = 0; i < eh->e_phnum; i++) {
        if (!get_phdr(im, i, &ph)) {
            fprintf(stderr, "aicpu-run: '%s': bad program header %u\n", path,
                    i);
            return false;
        }
        if (ph.p_type == PT_LOAD && ph.p_memsz) {
            im->low = MIN(im->low, ph.p_paddr);
            im->high = MAX(im->high, ph.p_paddr + ph.p_memsz);
            if (eh->e_phoff - ph.p_offset < ph.p_filesz) {
                im->phdr = ph.p_paddr + eh->e_phoff - ph.p_offset;
            }
        }
    }
    if (im->high <= im->low) {
        fprintf(stderr, "aicpu-run: '%s' has nothing to load\n", path);
    }
    return im->high > im->low;
}

bool run_image_load(const RunImage *im, uint8_t *mem, uint64_t base,
                    uint64_t size)
{
    Elf64_Phdr ph;
    unsigned i;

    if (im->low < base || im->high - base > size) {
        fprintf(stderr, "aicpu-run: the program does not fit into memory\n");
        return false;
    }
    for (i = 0; i < im->phnum; i++) {
        if (get_phdr(im, i, &ph) && ph.p_type == PT_LOAD) {
            memcpy(mem + (ph.p_paddr - base), im->data + ph.p_offset,
                   ph.p_filesz);
        }
    }
    return true;
}

static bool get_shdr(const RunImage *im, unsigned n, Elf64_Shdr *sh)
{
    const Elf64_Ehdr *eh = (const void *)im->data;
    uint64_t off = eh->e_shoff + n * sizeof(*sh);

    if (n >= eh->e_shnum || off > im->size || im->size - off < sizeof(*sh)) {
        return false;
    }
    memcpy(sh, im->data + off, sizeof(*sh));
    return sh->sh_type == SHT_NOBITS ||
           (sh->sh_offset <= im->size && sh->sh_size <= im->size -
            sh->sh_offset);
}

bool run_image_symbol(const RunImage *im, const char *name, uint64_t *addr)
{
    const Elf64_Ehdr *eh = (const void *)im->data;
    Elf64_Shdr sh, str;
    uint64_t i, n;
    Elf64_Sym sym;
    unsigned s;

    for (s = 0; s < eh->e_shnum; s++) {
        if (!get_shdr(im, s, &sh) || sh.sh_type != SHT_SYMTAB ||
            !get_shdr(im, sh.sh_link, &str) || str.sh_type != SHT_STRTAB) {
            continue;
        }
        n = sh.sh_size / sizeof(sym);
        for (i = 0; i < n; i++) {
            memcpy(&sym, im->data + sh.sh_offset + i * sizeof(sym),
                   sizeof(sym));
            if (sym.st_name < str.sh_size &&
                strnlen((char *)im->data + str.sh_offset + sym.st_name,
                        str.sh_size - sym.st_name) == strlen(name) &&
                !memcmp(im->data + str.sh_offset + sym.st_name, name,
                        strlen(name))) {
                *addr = sym.st_value;
                return true;
            }
        }
    }
    return false;
}

static bool no_mmio_read(void *opaque, unsigned region, uint64_t off,
                         unsigned size, uint64_t *val)
{
    return false;
}

static bool no_mmio_write(void *opaque, unsigned region, uint64_t off,
                          unsigned size, uint64_t val)
{
    return false;
}

static const A350CoreOps bare_ops = {
    .mmio_read = no_mmio_read,
    .mmio_write = no_mmio_write,
};

static bool write_signature(const RunOptions *o, const RunImage *im,
                            A350Core *c)
{
    uint64_t begin, end;
    FILE *f;

    if (!run_image_symbol(im, "begin_signature", &begin) ||
        !run_image_symbol(im, "end_signature", &end)) {
        fprintf(stderr, "aicpu-run: '%s' has no symbols begin_signature and "
                "end_signature\n", o->tohost);
        return false;
    }
    f = fopen(o->signature, "w");
    for (; f && begin < end; begin += 4) {
        const void *p = a350_core_mem(c, begin, 4);

        if (p) {
            fprintf(f, "%08x\n", ldl_le_p(p));
        }
    }
    if (!f || fclose(f)) {
        fprintf(stderr, "aicpu-run: cannot write '%s'\n", o->signature);
        return false;
    }
    return true;
}

/* Looks at tohost; true: the program has ended with *ret. */
static bool look(uint64_t *word, int *ret)
{
    uint64_t val = qatomic_read(word);

    if (!val) {
        return false;
    }
    if (val >> 48 == 0x0101) {
        putchar(val & 0xff);
        qatomic_set(word, 0);
        return false;
    }
    *ret = val == 1 ? RUN_OK : RUN_FAILED;
    if (!(val & 1)) {
        printf("FAIL: 0x%" PRIx64 " at tohost is no result, which is odd\n",
               val);
    } else if (val != 1) {
        printf("FAIL: test %" PRIu64 "\n", val >> 1);
    }
    return true;
}

static int bare_loop(const RunOptions *o, A350Core *c, uint64_t *word)
{
    A350CoreState s;
    int ret;

    while (a350_core_instret(c) < o->max_insns) {
        A350CoreExit why = a350_core_run(c, SLICE);

        if (look(word, &ret)) {
            return ret;
        }
        if (why == A350_EXIT_LOCKUP ||
            (why == A350_EXIT_WFI && !a350_core_irq_pending(c))) {
            a350_core_get_state(c, &s);
            printf("FAIL: %s at 0x%" PRIx64 " (cause %" PRIu64 ", mepc 0x%"
                   PRIx64 ", mtval 0x%" PRIx64 ")\n",
                   why == A350_EXIT_WFI ? "waits for ever" : "locked up",
                   s.pc, s.mcause, s.mepc, s.mtval);
            return RUN_FAILED;
        }
    }
    printf("FAIL: no end after %" PRIu64 " instructions, pc 0x%" PRIx64 "\n",
           a350_core_instret(c), a350_core_get_pc(c));
    return RUN_TIMEOUT;
}

int run_tohost(const RunOptions *o)
{
    uint64_t tohost, base, size;
    RunImage im;
    A350Core *c;
    int64_t t0;
    uint8_t *mem;
    int ret;

    if (!run_image_open(&im, o->tohost)) {
        return RUN_USAGE;
    }
    if (!run_image_symbol(&im, "tohost", &tohost)) {
        fprintf(stderr, "aicpu-run: '%s' has no symbol tohost\n", o->tohost);
        return RUN_USAGE;
    }
    base = im.low & ~0xfffull;
    size = ROUND_UP(im.high - base, 4096) + SPARE;
    mem = run_alloc(size);
    c = a350_core_new(0, &bare_ops, NULL);
    a350_core_add_region(c, base, size, mem, A350_M_RWX | A350_U_RWX);
    if (!run_image_load(&im, mem, base, size)) {
        return RUN_USAGE;
    }
    if (!a350_core_mem(c, tohost, 8) || (tohost & 7)) {
        fprintf(stderr, "aicpu-run: '%s': tohost at 0x%" PRIx64 " is no "
                "aligned doubleword of the program\n", o->tohost, tohost);
        return RUN_USAGE;
    }
    a350_core_reset(c, im.entry);
    t0 = g_get_monotonic_time();
    ret = bare_loop(o, c, a350_core_mem(c, tohost, 8));
    t0 = g_get_monotonic_time() - t0;
    if (o->stats) {
        fprintf(stderr, "%" PRIu64 " instructions, %.1f million/s\n",
                a350_core_instret(c), (double)a350_core_instret(c) / t0);
    }
    fflush(stdout);
    if (o->signature && !write_signature(o, &im, c)) {
        ret = RUN_USAGE;
    }
    a350_core_free(c);
    return ret;
}
