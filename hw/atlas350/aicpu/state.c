/*
 * RV64GC core: its state from outside, breakpoints and watchpoints.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "core-int.h"

/* ---- state ---- */

uint64_t a350_core_get_x(A350Core *c, unsigned n)
{
    return c->x[n & 31];
}

void a350_core_set_x(A350Core *c, unsigned n, uint64_t val)
{
    if (n & 31) {
        c->x[n & 31] = val;
    }
}

uint64_t a350_core_get_pc(A350Core *c)
{
    return c->pc;
}

uint64_t a350_core_instret(A350Core *c)
{
    return c->instret + (c->start - c->left);
}

void a350_core_get_state(A350Core *c, A350CoreState *s)
{
    memcpy(s->x, c->x, sizeof(s->x));
    memcpy(s->f, c->f, sizeof(s->f));
    s->pc = c->pc;
    s->fcsr = c->frm << 5 | a350_fflags_get(c);
    s->priv = c->user ? 0 : 3;
    s->mstatus = c->mstatus;
    s->mtvec = c->mtvec;
    s->mscratch = c->mscratch;
    s->mepc = c->mepc;
    s->mcause = c->mcause;
    s->mtval = c->mtval;
    s->mie = c->mie;
    s->mip = qatomic_read(&c->mip);
    s->mcounteren = c->mcounteren;
    s->instret = c->instret;
    s->cycle = c->instret + c->cycle_off;
    s->res_addr = c->res_addr;
    s->res_val = c->res_val;
    memcpy(s->pmpaddr, c->pmp.addr, sizeof(s->pmpaddr));
    memcpy(s->pmpcfg, c->pmp.cfg, sizeof(s->pmpcfg));
}

bool a350_core_set_state(A350Core *c, const A350CoreState *s)
{
    uint64_t mpp = s->mstatus & MS_MPP;

    if ((s->priv != 0 && s->priv != 3) || (mpp != 0 && mpp != MS_MPP) ||
        (s->pc & 1) || (s->mepc & 1) || (s->mtvec & 2) || s->x[0] ||
        s->fcsr > 0xff) {
        return false;
    }
    memcpy(c->x, s->x, sizeof(s->x));
    memcpy(c->f, s->f, sizeof(s->f));
    c->pc = s->pc;
    c->frm = s->fcsr >> 5;
    a350_fflags_set(c, s->fcsr & 31);
    c->user = s->priv == 0;
    c->mstatus = s->mstatus & (MS_MIE | MS_MPIE | MS_MPP | MS_FS | MS_MPRV |
                               MS_TW);
    c->mtvec = s->mtvec;
    c->mscratch = s->mscratch;
    c->mepc = s->mepc;
    c->mcause = s->mcause;
    c->mtval = s->mtval;
    c->mie = s->mie;
    qatomic_set(&c->mip, s->mip & (A350_IRQ_MSI | A350_IRQ_MTI | A350_IRQ_MEI));
    c->mcounteren = s->mcounteren;
    c->instret = s->instret;
    c->cycle_off = s->cycle - s->instret;
    c->res_addr = s->res_addr;
    c->res_val = s->res_val;
    memcpy(c->pmp.addr, s->pmpaddr, sizeof(s->pmpaddr));
    memcpy(c->pmp.cfg, s->pmpcfg, sizeof(s->pmpcfg));
    a350_core_flush(c);
    a350_pmp_changed(c);
    return true;
}

/* ---- debugging ---- */

bool a350_core_add_break(A350Core *c, uint64_t addr)
{
    if (c->num_brk == MAX_BREAK) {
        return false;
    }
    c->brk[c->num_brk++] = addr;
    a350_core_flush(c);
    return true;
}

void a350_core_del_break(A350Core *c, uint64_t addr)
{
    unsigned i;

    for (i = 0; i < c->num_brk; i++) {
        if (c->brk[i] == addr) {
            c->brk[i] = c->brk[--c->num_brk];
            a350_core_flush(c);
            return;
        }
    }
}

bool a350_core_add_watch(A350Core *c, A350DebugKind kind, uint64_t addr,
                         uint64_t len)
{
    if (c->num_watch == MAX_WATCH || !len || addr + len < addr) {
        return false;
    }
    c->watch[c->num_watch++] = (Watch){ kind, addr, len };
    a350_core_window(c);
    return true;
}

void a350_core_del_watch(A350Core *c, A350DebugKind kind, uint64_t addr,
                         uint64_t len)
{
    unsigned i;

    for (i = 0; i < c->num_watch; i++) {
        if (c->watch[i].kind == kind && c->watch[i].addr == addr &&
            c->watch[i].len == len) {
            c->watch[i] = c->watch[--c->num_watch];
            a350_core_window(c);
            return;
        }
    }
}

A350DebugInfo a350_core_debug_info(A350Core *c)
{
    return c->debug;
}
