/*
 * RV64GC core: regions, slow memory accesses, traps, blocks, state.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "core-int.h"

void a350_core_reset(A350Core *c, uint64_t pc)
{
    memset(c->x, 0, sizeof(c->x));
    memset(c->f, 0, sizeof(c->f));
    memset(&c->fp, 0, sizeof(c->fp));
    /* RISC-V: every NaN result is the canonical quiet NaN. */
    set_default_nan_mode(true, &c->fp);
    set_float_default_nan_pattern(0x40, &c->fp);
    c->frm = 0;
    c->x[10] = c->hartid;
    c->pc = pc;
    c->user = 0;
    c->mstatus = MS_MPP;
    c->mtvec = c->mscratch = c->mepc = c->mcause = c->mtval = c->mie = 0;
    c->mcounteren = 0;
    c->instret = c->cycle_off = 0;
    c->res_addr = c->skip_pc = c->stop_pc = ~0ull;
    qatomic_set(&c->mip, 0);
    qatomic_set(&c->pending, 0);
    memset(c->pmp.addr, 0, sizeof(c->pmp.addr));
    memset(c->pmp.cfg, 0, sizeof(c->pmp.cfg));
    a350_core_flush(c);
    a350_pmp_changed(c);
}

/* ---- memory ---- */

/*
 * The window is what loads and stores may have of the fast region now, if
 * nobody watches them; else it is empty.
 */
void a350_core_window(A350Core *c)
{
    unsigned need = A350_M_R | A350_M_W;
    const Region *r;

    c->data_user = c->mstatus & MS_MPRV ? !(c->mstatus & MS_MPP) : c->user;
    c->base = c->lim = c->bias = 0;
    if (c->data_user) {
        need = A350_U_R | A350_U_W;
    }
    if (c->fast < 0 || c->num_watch || c->pmp.win[c->data_user].len < 8) {
        return;
    }
    r = &c->region[c->fast];
    if ((r->access & need) == need) {
        c->base = c->pmp.win[c->data_user].addr;
        c->lim = c->pmp.win[c->data_user].len - 7;
        c->bias = (uintptr_t)r->host - r->addr;
    }
}

static Region *find_region(A350Core *c, uint64_t addr, uint64_t size)
{
    unsigned n, i = c->last;

    for (n = 0; n < c->num_regions; n++) {
        Region *r = &c->region[i];

        if (addr - r->addr < r->size && r->size - (addr - r->addr) >= size) {
            c->last = i;
            return r;
        }
        i = i + 1 < c->num_regions ? i + 1 : 0;
    }
    return NULL;
}

/*
 * Checks an access of loads and stores outside the window: @how is PMP_R, or
 * PMP_W, or both (atomics). Returns its exception, or 0 and the region.
 */
static uint32_t check_access(A350Core *c, uint64_t addr, unsigned size,
                             unsigned how, Region **r)
{
    /* Bits of regions: the same, those of user mode above machine mode's. */
    unsigned need = c->data_user ? how << 3 : how;

    QEMU_BUILD_BUG_ON(PMP_R != A350_M_R || PMP_W != A350_M_W ||
                      PMP_R << 3 != A350_U_R || PMP_W << 3 != A350_U_W);
    *r = find_region(c, addr, size);
    if (!*r || ((*r)->access & need) != need ||
        !a350_pmp_check(c, addr, size, c->data_user, how)) {
        return how & PMP_W ? EX_STORE : EX_LOAD;
    }
    return c->num_watch && a350_watch_hit(c, addr, size, how & PMP_W) ?
           EX_DEBUG : 0;
}

uint32_t a350_core_load(A350Core *c, uint64_t addr, unsigned size,
                        uint64_t *val)
{
    Region *r;
    uint32_t ex = check_access(c, addr, size, PMP_R, &r);

    if (ex) {
        return ex;
    }
    if (r->host) {
        GUEST_ACCESS(*val = ldn_le_p(r->host + (addr - r->addr), size));
        return 0;
    }
    if (addr & (size - 1)) {
        return EX_LOAD_MISALIGNED;
    }
    return c->ops->mmio_read(c->opaque, r - c->region, addr - r->addr, size,
                             val) ? 0 : EX_LOAD;
}

uint32_t a350_core_store(A350Core *c, uint64_t addr, unsigned size,
                         uint64_t val)
{
    Region *r;
    uint32_t ex = check_access(c, addr, size, PMP_W, &r);

    if (ex) {
        return ex;
    }
    if (r->host) {
        GUEST_ACCESS(stn_le_p(r->host + (addr - r->addr), size, val));
        return 0;
    }
    if (addr & (size - 1)) {
        return EX_STORE_MISALIGNED;
    }
    return c->ops->mmio_write(c->opaque, r - c->region, addr - r->addr, size,
                              val) ? 0 : EX_STORE;
}

void *a350_core_atomic(A350Core *c, uint64_t addr, unsigned size, bool load,
                       uint32_t *ex)
{
    Region *r;

    *ex = check_access(c, addr, size, load ? PMP_R : PMP_R | PMP_W, &r);
    if (!*ex && !r->host) {
        *ex = load ? EX_LOAD : EX_STORE;
    }
    return *ex ? NULL : r->host + (addr - r->addr);
}

bool a350_core_fetch16(A350Core *c, uint64_t pc, uint16_t *h)
{
    Region *r = find_region(c, pc, 2);

    if (!r || !r->host || !(r->access & (c->user ? A350_U_X : A350_M_X)) ||
        !a350_pmp_check(c, pc, 2, c->user, PMP_X)) {
        return false;
    }
    GUEST_ACCESS(*h = lduw_le_p(r->host + (pc - r->addr)));
    return true;
}

/* For mtval of an illegal instruction. */
uint32_t a350_core_fetch_insn(A350Core *c, uint64_t pc)
{
    uint16_t lo = 0, hi = 0;

    a350_core_fetch16(c, pc, &lo);
    if ((lo & 3) == 3) {
        a350_core_fetch16(c, pc + 2, &hi);
    }
    return lo | (uint32_t)hi << 16;
}

/* ---- traps ---- */

static void enter_handler(A350Core *c, uint64_t cause, uint64_t tval)
{
    uint64_t ms = c->mstatus & ~(MS_MIE | MS_MPIE | MS_MPP);
    bool irq = cause >> 63;

    c->mepc = c->pc;
    c->mcause = cause;
    c->mtval = tval;
    ms |= c->mstatus & MS_MIE ? MS_MPIE : 0;
    ms |= c->user ? 0 : MS_MPP;
    c->mstatus = ms;
    c->user = 0;
    c->pc = c->mtvec & ~3ull;
    if (irq && (c->mtvec & 1)) {
        c->pc += 4 * (cause & 63);
    }
    a350_core_window(c);
}

bool a350_core_trap(A350Core *c, uint32_t cause, uint64_t tval)
{
    if (c->ops->trap && c->ops->trap(c->opaque, cause, c->pc, tval)) {
        return false;
    }
    enter_handler(c, cause, tval);
    return true;
}

bool a350_core_irq_taken(A350Core *c)
{
    static const uint8_t order[] = { 11, 3, 7 }; /* MEI, MSI, MTI */
    uint64_t pend = qatomic_read(&c->mip) & c->mie;
    int i;

    if (!pend || (!c->user && !(c->mstatus & MS_MIE))) {
        return false;
    }
    for (i = 0; i < ARRAY_SIZE(order); i++) {
        if (pend & (1u << order[i])) {
            enter_handler(c, 1ull << 63 | order[i], 0);
            return true;
        }
    }
    return false;
}

/* ---- blocks ---- */

void a350_core_flush(A350Core *c)
{
    unsigned i;

    memset(c->hash, 0, sizeof(c->hash));
    /* An empty entry holds a key that belongs to another entry. */
    for (i = 0; i < ARRAY_SIZE(c->jc); i++) {
        c->jc[i].key = (uint64_t)(i ^ 1) << 1;
    }
    c->arena_used = 0;
    c->fault_blocks = false;
    c->flushes++;
}

static unsigned hash_key(uint64_t key)
{
    return (key ^ key >> HASH_BITS) & MAKE_64BIT_MASK(0, HASH_BITS);
}

/* The first operation of the block at c->pc; NULL: the core is locked up. */
const Op *a350_core_lookup(A350Core *c)
{
    uint64_t key = c->pc | c->user;
    unsigned slot = (c->pc >> 1) & MAKE_64BIT_MASK(0, JC_BITS);
    Block *b;
    uint16_t h;

    if (c->single) {
        return a350_decode_block(c)->ops;
    }
    b = c->hash[hash_key(key)];
    while (b && b->key != key) {
        b = b->next;
    }
    if (!b) {
        /* A handler that cannot be fetched would trap for ever. */
        if (c->pc == (c->mtvec & ~3ull) && !c->user &&
            !a350_core_fetch16(c, c->pc, &h)) {
            return NULL;
        }
        b = a350_decode_block(c);
        b->next = c->hash[hash_key(key)];
        c->hash[hash_key(key)] = b;
    }
    c->jc[slot].key = key;
    c->jc[slot].op = b->ops;
    return b->ops;
}

static A350CoreExit run(A350Core *c, int64_t left)
{
    int ret;

    c->left = c->start = left;
    qatomic_or(&c->pending, PEND_IRQ);
    ret = a350_exec_enter(c, NULL, left, c->base, c->lim, c->bias);
    while (ret < 0) {            /* only without optimisation, see GO() */
        ret = c->go->fn(c, c->go, c->left, c->base, c->lim, c->bias);
    }
    c->instret += c->start - c->left;
    c->start = c->left;
    return ret;
}

A350CoreExit a350_core_step(A350Core *c)
{
    uint64_t reported = c->stop_pc;
    A350CoreExit ret;

    c->single = true;
    c->skip_pc = c->pc;
    c->skip_watch = c->stop_pc == c->pc;
    c->stop_pc = ~0ull;
    ret = run(c, 0);
    if (ret == A350_EXIT_DEBUG) {
        c->stop_pc = c->pc;
    } else if (ret == A350_EXIT_KICK && c->pc == c->skip_pc) {
        c->stop_pc = reported;   /* nothing was done yet */
    }
    c->skip_pc = ~0ull;
    c->single = c->skip_watch = false;
    a350_core_flush(c);
    return ret;
}

A350CoreExit a350_core_run(A350Core *c, int64_t budget)
{
    A350CoreExit ret;

    if (unlikely(c->stop_pc == c->pc)) {
        /* Off the breakpoint that was reported already. */
        ret = a350_core_step(c);
        if (ret != A350_EXIT_BUDGET) {
            return ret;
        }
    }
    ret = run(c, MAX(budget, 1) - 1);
    if (ret == A350_EXIT_DEBUG) {
        c->stop_pc = c->pc;
    }
    return ret;
}
