/*
 * Atlas 350 firmware runtime: source lines from DWARF, where a library has it.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs the line number programs of .debug_line (DWARF 2 to 5, §6.2 of each)
 * until one has a row for the address. The image may hold anything: a reader
 * that would leave its section sets "bad", and all ends quietly.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include "rt.h"

typedef struct reader {
    const uint8_t *p, *end;
    bool bad;
} reader;

typedef struct section {
    const uint8_t *data;
    uint64_t size;
} section;

typedef struct files {
    reader names;                /* at the first */
    unsigned version;
    uint64_t count;
    uint8_t forms[16];           /* content type, form code pairs, DWARF 5 */
    unsigned nforms;
    bool wide;
    const section *str, *line_str;
} files;

typedef struct row {
    uint64_t addr;
    uint64_t file;
    int64_t line;
} row;

static uint64_t fixed(reader *r, unsigned n)
{
    uint64_t v = 0;

    if (r->bad || (uint64_t)(r->end - r->p) < n) {
        r->bad = true;
        return 0;
    }
    memcpy(&v, r->p, n);
    r->p += n;
    return v;
}

static uint64_t uleb(reader *r)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t b = (uint8_t)fixed(r, 1);

        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            return v;
        }
    }
    r->bad = true;
    return 0;
}

static int64_t sleb(reader *r)
{
    int64_t v = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t b = (uint8_t)fixed(r, 1);

        v |= (int64_t)((uint64_t)(b & 0x7f) << shift);
        if (!(b & 0x80)) {
            return b & 0x40 && shift < 57 ? v | -(1ll << (shift + 7)) : v;
        }
    }
    r->bad = true;
    return 0;
}

static void skip(reader *r, uint64_t n)
{
    if (r->bad || (uint64_t)(r->end - r->p) < n) {
        r->bad = true;
    } else {
        r->p += n;
    }
}

static const char *string(reader *r)
{
    const char *s = (const char *)r->p;
    const uint8_t *e = r->bad ? NULL : memchr(r->p, 0,
                                              (size_t)(r->end - r->p));

    if (!e) {
        r->bad = true;
        return "";
    }
    r->p = e + 1;
    return s;
}

static const char *string_at(const section *s, uint64_t off)
{
    if (!s->data || off >= s->size || !memchr(s->data + off, 0,
                                              s->size - off)) {
        return "";
    }
    return (const char *)s->data + off;
}

static bool find_section(const uint8_t *image, uint64_t size,
                         const char *name, section *out)
{
    const Elf64_Ehdr *eh = (const Elf64_Ehdr *)image;
    const Elf64_Shdr *sh = (const Elf64_Shdr *)(image + eh->e_shoff);
    section names;

    memset(out, 0, sizeof(*out));
    if (!eh->e_shoff || (eh->e_shoff & 7) || eh->e_shstrndx >= eh->e_shnum) {
        return false;
    }
    names.size = sh[eh->e_shstrndx].sh_size;
    if (sh[eh->e_shstrndx].sh_offset > size ||
        names.size > size - sh[eh->e_shstrndx].sh_offset) {
        return false;
    }
    names.data = image + sh[eh->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < eh->e_shnum; i++) {
        if (sh[i].sh_type != SHT_PROGBITS || (sh[i].sh_flags & SHF_COMPRESSED)
            || sh[i].sh_offset > size || sh[i].sh_size > size - sh[i].sh_offset
            || strcmp(string_at(&names, sh[i].sh_name), name) != 0) {
            continue;
        }
        out->data = image + sh[i].sh_offset;
        out->size = sh[i].sh_size;
        return true;
    }
    return false;
}

/* One attribute of a DWARF 5 file or directory entry. */
static const char *form(reader *r, const files *f, uint64_t code, uint64_t *v)
{
    switch (code) {
    case 0x08:                               /* string */
        return string(r);
    case 0x0e:                               /* strp */
        return string_at(f->str, fixed(r, f->wide ? 8 : 4));
    case 0x1f:                               /* line_strp */
        return string_at(f->line_str, fixed(r, f->wide ? 8 : 4));
    case 0x0f:                               /* udata */
        *v = uleb(r);
        break;
    case 0x0b:                               /* data1, 2, 4, 8, 16 */
        *v = fixed(r, 1);
        break;
    case 0x05:
        *v = fixed(r, 2);
        break;
    case 0x06:
        *v = fixed(r, 4);
        break;
    case 0x07:
        *v = fixed(r, 8);
        break;
    case 0x1e:
        skip(r, 16);
        break;
    case 0x09:                               /* block */
        skip(r, uleb(r));
        break;
    default:
        r->bad = true;
    }
    return NULL;
}

static void read_forms(reader *r, files *f)
{
    unsigned n = (unsigned)fixed(r, 1);

    f->nforms = 0;
    for (unsigned i = 0; i < n && !r->bad; i++) {
        uint64_t type = uleb(r), code = uleb(r);

        if (i < sizeof(f->forms) / 2 && type < 256 && code < 256) {
            f->forms[2 * i] = (uint8_t)type;
            f->forms[2 * i + 1] = (uint8_t)code;
            f->nforms++;
        } else {
            r->bad = true;
        }
    }
}

static const char *read_entry(reader *r, const files *f)
{
    const char *name = "";
    uint64_t v = 0;

    for (unsigned i = 0; i < f->nforms && !r->bad; i++) {
        const char *s = form(r, f, f->forms[2 * i + 1], &v);

        if (f->forms[2 * i] == 1 && s) {     /* DW_LNCT_path */
            name = s;
        }
    }
    return name;
}

/* Leaves @f at the file names, @r behind them. */
static void read_tables(reader *r, files *f)
{
    if (f->version >= 5) {
        read_forms(r, f);
        for (uint64_t n = uleb(r); n && !r->bad; n--) {
            read_entry(r, f);
        }
        read_forms(r, f);
        f->count = uleb(r);
        f->names = *r;
        return;
    }
    while (!r->bad && r->p < r->end && *r->p) {
        string(r);
    }
    skip(r, 1);
    f->names = *r;
}

static const char *file_name(files *f, uint64_t file)
{
    reader r = f->names;

    if (f->version >= 5) {
        const char *name = "";

        for (uint64_t i = 0; i <= file && i < f->count && !r.bad; i++) {
            name = read_entry(&r, f);
        }
        return name;
    }
    for (uint64_t i = 1; !r.bad; i++) {
        const char *name = string(&r);

        if (!*name || i == file) {
            return name;
        }
        uleb(&r);
        uleb(&r);
        uleb(&r);
    }
    return "";
}

typedef struct header {
    unsigned min_insn, opcode_base, line_range;
    int line_base;
    uint8_t lengths[256];
} header;

typedef struct search {
    uint64_t target;
    row last;                    /* row before the current one */
    bool have_last, found;
} search;

/* A row of the table: is the address between the last one and this? */
static void emit(search *s, const row *now, bool end)
{
    if (s->have_last && s->target >= s->last.addr && s->target < now->addr) {
        s->found = true;
        return;
    }
    s->last = *now;
    s->have_last = !end;
}

static void extended(reader *r, search *s, row *now)
{
    uint64_t len = uleb(r);
    reader sub = { r->p, r->end, r->bad };
    unsigned op = (unsigned)fixed(&sub, 1);

    skip(r, len);
    if (op == 1) {                           /* end_sequence */
        emit(s, now, true);
        *now = (row){ 0, 1, 1 };
    } else if (op == 2) {                    /* set_address */
        now->addr = fixed(&sub, 8);
    }
}

static void standard(reader *r, const header *h, unsigned op, search *s,
                     row *now)
{
    switch (op) {
    case 1:                                  /* copy */
        emit(s, now, false);
        break;
    case 2:                                  /* advance_pc */
        now->addr += uleb(r) * h->min_insn;
        break;
    case 3:                                  /* advance_line */
        now->line += sleb(r);
        break;
    case 4:                                  /* set_file */
        now->file = uleb(r);
        break;
    case 8:                                  /* const_add_pc */
        now->addr += (255 - h->opcode_base) / h->line_range * h->min_insn;
        break;
    case 9:                                  /* fixed_advance_pc */
        now->addr += fixed(r, 2);
        break;
    default:
        for (unsigned i = 0; i < h->lengths[op]; i++) {
            uleb(r);
        }
    }
}

static void run_program(reader *r, const header *h, search *s)
{
    row now = { 0, 1, 1 };

    while (!r->bad && r->p < r->end && !s->found) {
        unsigned op = (unsigned)fixed(r, 1);

        if (op == 0) {
            extended(r, s, &now);
        } else if (op < h->opcode_base) {
            standard(r, h, op, s, &now);
        } else {
            op -= h->opcode_base;
            now.addr += op / h->line_range * h->min_insn;
            now.line += h->line_base + (int)(op % h->line_range);
            emit(s, &now, false);
        }
    }
}

/* One unit of .debug_line; @r is moved behind it. */
static bool search_unit(reader *r, files *f, search *s)
{
    uint64_t len = fixed(r, 4), header_len;
    reader unit;
    header h;

    f->wide = len == 0xffffffff;
    if (f->wide) {
        len = fixed(r, 8);
    }
    unit = *r;
    skip(r, len);
    if (r->bad) {
        return false;
    }
    unit.end = r->p;
    f->version = (unsigned)fixed(&unit, 2);
    if (f->version < 2 || f->version > 5) {
        return false;
    }
    if (f->version >= 5) {
        skip(&unit, 2);                      /* address, segment size */
    }
    header_len = fixed(&unit, f->wide ? 8 : 4);
    reader program = unit;
    skip(&program, header_len);
    h.min_insn = (unsigned)fixed(&unit, 1);
    skip(&unit, f->version >= 4 ? 2 : 1);    /* maximum operations, default */
    h.line_base = (int8_t)fixed(&unit, 1);
    h.line_range = (unsigned)fixed(&unit, 1);
    h.opcode_base = (unsigned)fixed(&unit, 1);
    for (unsigned i = 1; i < h.opcode_base; i++) {
        h.lengths[i] = (uint8_t)fixed(&unit, 1);
    }
    read_tables(&unit, f);
    if (unit.bad || program.bad || !h.line_range || !h.opcode_base) {
        return false;
    }
    s->have_last = false;
    run_program(&program, &h, s);
    return s->found;
}

bool line_find(const uint8_t *image, uint64_t size, uint64_t vaddr,
               char *out, size_t out_size)
{
    section line, str, line_str;
    files f = { .str = &str, .line_str = &line_str };
    search s = { .target = vaddr };
    const char *name, *slash;
    reader r;

    if (!find_section(image, size, ".debug_line", &line)) {
        return false;
    }
    find_section(image, size, ".debug_str", &str);
    find_section(image, size, ".debug_line_str", &line_str);
    r = (reader){ line.data, line.data + line.size, false };
    while (r.p < r.end && !r.bad) {
        if (search_unit(&r, &f, &s)) {
            name = file_name(&f, s.last.file);
            slash = strrchr(name, '/');
            snprintf(out, out_size, "%s:%lld", slash ? slash + 1 : name,
                     (long long)s.last.line);
            return true;
        }
    }
    return false;
}
