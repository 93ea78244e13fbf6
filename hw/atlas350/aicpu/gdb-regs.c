/*
 * GDB server of a card's AICPU cores: registers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers: 0-31 x, 32 pc, 33-64 f, 65-67 fflags frm fcsr, then some machine
 * mode registers. GDB knows them by the names in the target description.
 */
#include "qemu/osdep.h"
#include "gdb.h"

enum { REG_PC = 32, REG_F0 = 33, REG_FFLAGS = 65, REG_FRM, REG_FCSR, REG_CSR };

static const char *const x_name[32] = {
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1",
    "a2", "a3", "a4", "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7",
    "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
};

static const char *const f_name[32] = {
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1",
    "fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "fs2", "fs3",
    "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9",
    "ft10", "ft11",
};

static const struct {
    const char *name;
    size_t offset;
} csr[] = {
#define CSR(n) { #n, offsetof(A350CoreState, n) }
    CSR(mstatus), CSR(mtvec), CSR(mscratch), CSR(mepc), CSR(mcause),
    CSR(mtval), CSR(mie), CSR(mip),
};
QEMU_BUILD_BUG_ON(REG_CSR + ARRAY_SIZE(csr) != A350_GDB_NUM_REGS);

static void add_reg(GString *s, const char *name, unsigned bits,
                    const char *type, unsigned n)
{
    g_string_append_printf(s, "<reg name=\"%s\" bitsize=\"%u\" type=\"%s\" "
                           "regnum=\"%u\"/>", name, bits, type, n);
}

static char *make_xml(void)
{
    GString *s = g_string_new("<?xml version=\"1.0\"?>"
        "<!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
        "<architecture>riscv:rv64</architecture>"
        "<feature name=\"org.gnu.gdb.riscv.cpu\">");
    unsigned i;

    for (i = 0; i < 32; i++) {
        add_reg(s, x_name[i], 64, i == 1 ? "code_ptr" : i == 2 || i == 8
                ? "data_ptr" : "int", i);
    }
    add_reg(s, "pc", 64, "code_ptr", REG_PC);
    g_string_append(s, "</feature><feature name=\"org.gnu.gdb.riscv.fpu\">"
        "<union id=\"riscv_double\"><field name=\"float\" type=\"ieee_single\"/>"
        "<field name=\"double\" type=\"ieee_double\"/></union>");
    for (i = 0; i < 32; i++) {
        add_reg(s, f_name[i], 64, "riscv_double", REG_F0 + i);
    }
    add_reg(s, "fflags", 32, "int", REG_FFLAGS);
    add_reg(s, "frm", 32, "int", REG_FRM);
    add_reg(s, "fcsr", 32, "int", REG_FCSR);
    g_string_append(s, "</feature><feature name=\"org.gnu.gdb.riscv.csr\">");
    for (i = 0; i < ARRAY_SIZE(csr); i++) {
        add_reg(s, csr[i].name, 64, "int", REG_CSR + i);
    }
    g_string_append(s, "</feature></target>");
    return g_string_free(s, false);
}

const char *a350_gdb_target_xml(void)
{
    static gsize once;
    static char *xml;

    if (g_once_init_enter(&once)) {
        xml = make_xml();
        g_once_init_leave(&once, 1);
    }
    return xml;
}

unsigned a350_gdb_get_reg(const A350CoreState *s, unsigned n, uint64_t *val)
{
    if (n < REG_PC) {
        *val = s->x[n];
    } else if (n == REG_PC) {
        *val = s->pc;
    } else if (n < REG_FFLAGS) {
        *val = s->f[n - REG_F0];
    } else if (n < REG_CSR) {
        *val = n == REG_FFLAGS ? s->fcsr & 31 : n == REG_FRM ? s->fcsr >> 5
                                                             : s->fcsr;
        return 4;
    } else if (n < A350_GDB_NUM_REGS) {
        *val = *(const uint64_t *)((const char *)s + csr[n - REG_CSR].offset);
    } else {
        return 0;
    }
    return 8;
}

unsigned a350_gdb_set_reg(A350CoreState *s, unsigned n, uint64_t val)
{
    if (n < REG_PC) {
        s->x[n] = n ? val : 0;
    } else if (n == REG_PC) {
        s->pc = val & ~1ull;
    } else if (n < REG_FFLAGS) {
        s->f[n - REG_F0] = val;
    } else if (n == REG_FFLAGS) {
        s->fcsr = (s->fcsr & 0xe0) | (val & 31);
        return 4;
    } else if (n == REG_FRM) {
        s->fcsr = (s->fcsr & 31) | (val & 7) << 5;
        return 4;
    } else if (n == REG_FCSR) {
        s->fcsr = val & 0xff;
        return 4;
    } else if (n < A350_GDB_NUM_REGS) {
        *(uint64_t *)((char *)s + csr[n - REG_CSR].offset) = val;
    } else {
        return 0;
    }
    return 8;
}
