/*
 * RV64GC core: control and status registers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "core-int.h"

/* misa: RV64, A C D F I M U. */
#define MISA ((2ull << 62) | (1u << 0) | (1u << 2) | (1u << 3) | (1u << 5) | \
              (1u << 8) | (1u << 12) | (1u << 20))

#define MS_WRITABLE (MS_MIE | MS_MPIE | MS_MPP | MS_FS | MS_MPRV | MS_TW)
#define MIE_BITS    (A350_IRQ_MSI | A350_IRQ_MTI | A350_IRQ_MEI)

enum {
    CSR_FFLAGS = 0x001, CSR_FRM = 0x002, CSR_FCSR = 0x003,
    CSR_MSTATUS = 0x300, CSR_MISA = 0x301, CSR_MIE = 0x304, CSR_MTVEC = 0x305,
    CSR_MCOUNTEREN = 0x306, CSR_MENVCFG = 0x30a, CSR_MCOUNTINHIBIT = 0x320,
    CSR_MHPMEVENT3 = 0x323, CSR_MHPMEVENT31 = 0x33f,
    CSR_MSCRATCH = 0x340, CSR_MEPC = 0x341, CSR_MCAUSE = 0x342,
    CSR_MTVAL = 0x343, CSR_MIP = 0x344, CSR_TSELECT = 0x7a0, CSR_TDATA3 = 0x7a3,
    CSR_MCYCLE = 0xb00, CSR_MINSTRET = 0xb02, CSR_MHPMCOUNTER31 = 0xb1f,
    CSR_CYCLE = 0xc00, CSR_TIME = 0xc01, CSR_INSTRET = 0xc02,
    CSR_HPMCOUNTER31 = 0xc1f,
    CSR_MVENDORID = 0xf11, CSR_MARCHID = 0xf12, CSR_MIMPID = 0xf13,
    CSR_MHARTID = 0xf14, CSR_MCONFIGPTR = 0xf15,
};

/* softfloat has the same five flags in the opposite order. */
QEMU_BUILD_BUG_ON(float_flag_invalid != 1 || float_flag_divbyzero != 2 ||
                  float_flag_overflow != 4 || float_flag_underflow != 8 ||
                  float_flag_inexact != 16);
uint32_t a350_fflags_get(A350Core *c)
{
    return revbit8(get_float_exception_flags(&c->fp) & 31) >> 3;
}

void a350_fflags_set(A350Core *c, uint32_t flags)
{
    set_float_exception_flags(revbit8(flags & 31) >> 3, &c->fp);
}

/* Instructions retired before the one that asks (which is in @left). */
static uint64_t retired(A350Core *c, int64_t left)
{
    return c->instret + (uint64_t)(c->start - left) - 1;
}

static bool counter_read(A350Core *c, unsigned csr, int64_t left,
                         uint64_t *val)
{
    unsigned n = csr & 31;

    if (c->user && !(c->mcounteren & (1u << n))) {
        return false;
    }
    switch (csr) {
    case CSR_CYCLE:
    case CSR_MCYCLE:
        *val = retired(c, left) + c->cycle_off;
        return true;
    case CSR_INSTRET:
    case CSR_MINSTRET:
        *val = retired(c, left);
        return true;
    case CSR_TIME:
        *val = c->ops->time ? c->ops->time(c->opaque) : retired(c, left);
        return true;
    }
    *val = 0;                    /* event counters count nothing */
    return csr != CSR_MCYCLE + 1;
}

static bool fp_read(A350Core *c, unsigned csr, uint64_t *val)
{
    if (!(c->mstatus & MS_FS)) {
        return false;
    }
    *val = (csr & 1 ? a350_fflags_get(c) : 0) |
           (csr == CSR_FCSR ? c->frm << 5 : csr == CSR_FRM ? c->frm : 0);
    return true;
}

/* Registers that are no more than memory for some of their bits. */
static const struct {
    uint32_t csr, offset;
    uint64_t writable;
} plain[] = {
#define PLAIN(csr, field, writable) { csr, offsetof(A350Core, field), writable }
    PLAIN(CSR_MIE, mie, MIE_BITS),
    PLAIN(CSR_MTVEC, mtvec, ~2ull),
    PLAIN(CSR_MCOUNTEREN, mcounteren, UINT32_MAX),
    PLAIN(CSR_MSCRATCH, mscratch, UINT64_MAX),
    PLAIN(CSR_MEPC, mepc, ~1ull),
    PLAIN(CSR_MCAUSE, mcause, UINT64_MAX),
    PLAIN(CSR_MTVAL, mtval, UINT64_MAX),
};

/* Where a plain register is, and its writable bits; NULL: it is none. */
static uint64_t *find_plain(A350Core *c, unsigned csr, uint64_t *writable)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(plain); i++) {
        if (plain[i].csr == csr) {
            *writable = plain[i].writable;
            return (void *)((char *)c + plain[i].offset);
        }
    }
    return NULL;
}

static bool machine_read(A350Core *c, unsigned csr, uint64_t *val)
{
    uint64_t mask, *p = find_plain(c, csr, &mask);

    *val = 0;
    if (p) {
        *val = *p;
        return true;
    }
    switch (csr) {
    case CSR_MSTATUS:
        *val = c->mstatus | MS_UXL |
               ((c->mstatus & MS_FS) == MS_FS ? MS_SD : 0);
        return true;
    case CSR_MISA:
        *val = MISA;
        return true;
    case CSR_MIP:
        *val = qatomic_read(&c->mip);
        return true;
    case CSR_MHARTID:
        *val = c->hartid;
        return true;
    case CSR_MENVCFG:
    case CSR_MCOUNTINHIBIT:
    case CSR_MHPMEVENT3 ... CSR_MHPMEVENT31:
    case CSR_TSELECT ... CSR_TDATA3:
    case CSR_MVENDORID ... CSR_MIMPID:
    case CSR_MCONFIGPTR:
        return true;             /* no bits */
    }
    return false;
}

bool a350_csr_read(A350Core *c, unsigned csr, int64_t left, uint64_t *val)
{
    if (c->user && (csr & 0x300)) {
        return false;
    }
    switch (csr) {
    case CSR_FFLAGS ... CSR_FCSR:
        return fp_read(c, csr, val);
    case CSR_CYCLE ... CSR_HPMCOUNTER31:
    case CSR_MCYCLE ... CSR_MHPMCOUNTER31:
        return counter_read(c, csr, left, val);
    }
    return machine_read(c, csr, val) || a350_pmp_read(c, csr, val);
}

static bool fp_write(A350Core *c, unsigned csr, uint64_t val)
{
    if (!(c->mstatus & MS_FS)) {
        return false;
    }
    if (csr & 1) {
        a350_fflags_set(c, val & 31);
    }
    if (csr & 2) {
        c->frm = (csr == CSR_FCSR ? val >> 5 : val) & 7;
    }
    c->mstatus |= MS_FS;
    return true;
}

static void mstatus_write(A350Core *c, uint64_t val)
{
    uint64_t mpp = val & MS_MPP;

    val &= MS_WRITABLE & ~MS_MPP;
    /* MPP holds user or machine; what it cannot hold leaves it alone. */
    val |= mpp == 0 || mpp == MS_MPP ? mpp : c->mstatus & MS_MPP;
    c->mstatus = val;
    a350_core_window(c);
    qatomic_or(&c->pending, PEND_IRQ);
}

bool a350_csr_write(A350Core *c, unsigned csr, int64_t left, uint64_t val)
{
    uint64_t mask, *p;

    if ((csr >> 10) == 3 || (c->user && (csr & 0x300))) {
        return false;
    }
    p = find_plain(c, csr, &mask);
    if (p) {
        qatomic_set(p, val & mask);
        qatomic_or(&c->pending, PEND_IRQ);
        return true;
    }
    switch (csr) {
    case CSR_FFLAGS ... CSR_FCSR:
        return fp_write(c, csr, val);
    case CSR_MSTATUS:
        mstatus_write(c, val);
        return true;
    case CSR_MCYCLE:
        c->cycle_off = val - retired(c, left) - 1;
        return true;
    case CSR_MINSTRET:
        /* This instruction does not count itself into the new value. */
        c->cycle_off += retired(c, left) + 1 - val;
        c->instret += val - retired(c, left) - 1;
        return true;
    }
    /* What else can be read has no writable bits. */
    return a350_pmp_write(c, csr, val) || a350_csr_read(c, csr, left, &val);
}
