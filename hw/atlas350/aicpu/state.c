/*
 * RV64GC core: what its surroundings do with it: life, lines, state, memory,
 * breakpoints and watchpoints.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "core-int.h"

/* ---- life ---- */

A350Core *a350_core_new(unsigned hartid, const A350CoreOps *ops, void *opaque)
{
    A350Core *c = g_new0(A350Core, 1);

    c->hartid = hartid;
    c->ops = ops;
    c->opaque = opaque;
    c->fast = -1;
    /* Not touched until used: the host gives no memory for it before. */
    c->arena = g_malloc(ARENA_SIZE);
    a350_core_reset(c, 0);
    return c;
}

void a350_core_free(A350Core *c)
{
    if (c) {
        g_free(c->arena);
        g_free(c);
    }
}

int a350_core_add_region(A350Core *c, uint64_t addr, uint64_t size,
                         void *host, unsigned access)
{
    Region *r = &c->region[c->num_regions];
    unsigned rw = A350_M_R | A350_M_W;

    if (c->num_regions == MAX_REGIONS || !size) {
        return -1;
    }
    r->addr = addr;
    r->size = size;
    r->host = host;
    r->access = access;
    if (host && c->fast < 0 && (access & rw) == rw && size >= 4096) {
        c->fast = c->num_regions;
    }
    c->num_regions++;
    a350_core_flush(c);
    a350_pmp_changed(c);
    return c->num_regions - 1;
}

/* ---- interrupt lines and requests, from any thread ---- */

void a350_core_set_irq(A350Core *c, uint32_t line, bool level)
{
    if (level) {
        qatomic_or(&c->mip, line);
        qatomic_or(&c->pending, PEND_IRQ);
    } else {
        qatomic_and(&c->mip, ~(uint64_t)line);
    }
}

bool a350_core_irq_pending(A350Core *c)
{
    return qatomic_read(&c->mip) & qatomic_read(&c->mie);
}

void a350_core_kick(A350Core *c)
{
    qatomic_or(&c->pending, PEND_KICK);
}

void a350_core_halt(A350Core *c)
{
    qatomic_or(&c->pending, PEND_HALT);
}

void a350_core_invalidate(A350Core *c)
{
    qatomic_or(&c->pending, PEND_FLUSH);
}

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

/* ---- memory ---- */

static uint8_t *host_memory(A350Core *c, uint64_t addr, uint64_t size,
                            unsigned need)
{
    unsigned i;

    for (i = 0; i < c->num_regions; i++) {
        Region *r = &c->region[i];

        if (r->host && addr - r->addr < r->size &&
            r->size - (addr - r->addr) >= size) {
            return (r->access & need) == need ? r->host + (addr - r->addr)
                                              : NULL;
        }
    }
    return NULL;
}

void *a350_core_mem(A350Core *c, uint64_t addr, uint64_t size)
{
    return host_memory(c, addr, size, 0);
}

void *a350_core_mem_rw(A350Core *c, uint64_t addr, uint64_t size)
{
    return host_memory(c, addr, size, A350_M_W);
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

bool a350_is_break(A350Core *c, uint64_t pc)
{
    unsigned i;

    for (i = 0; i < c->num_brk; i++) {
        if (c->brk[i] == pc && c->skip_pc != pc) {
            return true;
        }
    }
    return false;
}

bool a350_watch_hit(A350Core *c, uint64_t addr, unsigned size, bool write)
{
    unsigned i;

    if (c->skip_watch) {
        return false;            /* the access that was reported already */
    }
    for (i = 0; i < c->num_watch; i++) {
        const Watch *w = &c->watch[i];

        if (addr < w->addr + w->len && w->addr < addr + size &&
            w->kind != (write ? A350_DEBUG_WATCH_R : A350_DEBUG_WATCH_W)) {
            c->debug.kind = w->kind;
            c->debug.addr = MAX(addr, w->addr);
            return true;
        }
    }
    return false;
}
