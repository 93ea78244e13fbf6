/*
 * RV64GC core: physical memory protection (privileged specification, PMP).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sixteen entries, grain 4 bytes. What user mode may do with the fast region
 * is worked out once after a change: the longest stretch of it that is
 * readable and writable becomes the window of loads and stores.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "core-int.h"

#define CFG_A(cfg)  (((cfg) >> 3) & 3)
#define CFG_L       0x80
#define A_OFF       0
#define A_TOR       1
#define A_NA4       2

/* Range of entry @i; false if it is off or empty. @last is inclusive. */
static bool entry_range(const PmpState *p, unsigned i, uint64_t *first,
                        uint64_t *last)
{
    uint64_t addr = p->addr[i];
    unsigned ones;

    switch (CFG_A(p->cfg[i])) {
    case A_OFF:
        return false;
    case A_TOR:
        *first = i ? p->addr[i - 1] << 2 : 0;
        *last = (addr << 2) - 1;
        return *first < addr << 2;
    case A_NA4:
        *first = addr << 2;
        *last = *first + 3;
        return true;
    }
    ones = cto64(addr);
    if (ones >= 54) {
        *first = 0;
        *last = UINT64_MAX;
        return true;
    }
    *first = (addr & ~((1ull << ones) - 1)) << 2;
    *last = *first + (8ull << ones) - 1;
    return true;
}

/*
 * May @user (else machine) mode do @need (CFG_*) to all of [addr, addr +
 * size)? @len, if given, is set to how far the answer holds from @addr on.
 */
static bool check(const PmpState *p, uint64_t addr, uint64_t size, bool user,
                  unsigned need, uint64_t *len)
{
    uint64_t end = addr + size - 1, limit = UINT64_MAX, first, last;
    unsigned i;

    for (i = 0; i < A350_PMP_ENTRIES; i++) {
        if (!entry_range(p, i, &first, &last)) {
            continue;
        }
        if (addr >= first && addr <= last) {
            if (len) {
                *len = MIN(limit, last) - addr + 1;
            }
            if (end > last) {
                return false;    /* only part of it matches */
            }
            return (!user && !(p->cfg[i] & CFG_L)) ||
                   (p->cfg[i] & need) == need;
        }
        if (first > addr && first <= end) {
            return false;
        }
        if (first > addr) {
            limit = MIN(limit, first - 1);
        }
    }
    if (len) {
        *len = limit - addr + 1;
    }
    return !user;
}

bool a350_pmp_check(const A350Core *c, uint64_t addr, unsigned size,
                    bool user, unsigned need)
{
    if (!user && !c->pmp.machine) {
        return true;
    }
    return check(&c->pmp, addr, size, user, need, NULL);
}

/*
 * The longest stretch of [addr, addr + size) that @user may read and write, and
 * without a border that an aligned access could lie across.
 */
static void longest(A350Core *c, uint64_t addr, uint64_t size, bool user,
                    uint64_t *best, uint64_t *best_len)
{
    uint64_t pos = addr, end = addr + size, start = addr, len;

    *best = *best_len = 0;
    while (pos < end) {
        bool ok = check(&c->pmp, pos, 1, user, PMP_R | PMP_W, &len);

        len = len && len < end - pos ? len : end - pos;
        start = pos & 7 ? pos : start;
        pos += len;
        if (!ok) {
            start = pos;
        } else if (pos - start > *best_len) {
            *best = start;
            *best_len = pos - start;
        }
    }
}

/* Are all decoded user blocks still executable? */
static bool code_executable(A350Core *c)
{
    unsigned i;
    Block *b;

    for (i = 0; i < ARRAY_SIZE(c->hash); i++) {
        for (b = c->hash[i]; b; b = b->next) {
            if (b->bytes && !a350_pmp_check(c, b->pc, b->bytes, b->key & 1,
                                            PMP_X)) {
                return false;
            }
        }
    }
    return true;
}

/* After a change of cfg or addr. */
void a350_pmp_changed(A350Core *c)
{
    const Region *r = c->fast >= 0 ? &c->region[c->fast] : NULL;
    uint64_t first, last;
    unsigned i, user;

    c->pmp.machine = false;
    for (i = 0; i < A350_PMP_ENTRIES; i++) {
        c->pmp.machine |= entry_range(&c->pmp, i, &first, &last) &&
                          ((c->pmp.cfg[i] & CFG_L) || ((first | ~last) & 7));
    }
    for (user = 0; user < 2 && r; user++) {
        longest(c, r->addr, r->size, user, &c->pmp.win[user].addr,
                &c->pmp.win[user].len);
    }
    if (c->fault_blocks || !code_executable(c)) {
        qatomic_or(&c->pending, PEND_FLUSH);
    }
    a350_core_window(c);
}

bool a350_pmp_read(A350Core *c, unsigned csr, uint64_t *val)
{
    unsigned n = csr - CSR_PMPADDR0;

    if (csr >= CSR_PMPADDR0 && n < PMP_NUMBERS) {
        *val = c->pmp.addr[n];
        return true;
    }
    n = csr - CSR_PMPCFG0;
    if (n >= 16 || (n & 1)) {
        return false;
    }
    *val = ldq_le_p(&c->pmp.cfg[n * 4]);
    return true;
}

static bool addr_locked(const PmpState *p, unsigned n)
{
    return (p->cfg[n] & CFG_L) ||
           (n + 1 < A350_PMP_ENTRIES && (p->cfg[n + 1] & CFG_L) &&
            CFG_A(p->cfg[n + 1]) == A_TOR);
}

bool a350_pmp_write(A350Core *c, unsigned csr, uint64_t val)
{
    unsigned n = csr - CSR_PMPADDR0, i;

    if (csr >= CSR_PMPADDR0 && n < PMP_NUMBERS) {
        if (n < A350_PMP_ENTRIES && !addr_locked(&c->pmp, n) &&
            c->pmp.addr[n] != (val & MAKE_64BIT_MASK(0, 54))) {
            c->pmp.addr[n] = val & MAKE_64BIT_MASK(0, 54);
            a350_pmp_changed(c);
        }
        return true;
    }
    n = csr - CSR_PMPCFG0;
    if (n >= 16 || (n & 1)) {
        return false;
    }
    for (i = 0; i < 8; i++) {
        unsigned e = n * 4 + i;
        uint8_t cfg = (val >> (8 * i)) & 0x9f;

        /* W without R is reserved: the entry keeps what it has. */
        if (e < A350_PMP_ENTRIES && !(c->pmp.cfg[e] & CFG_L) &&
            (cfg & (PMP_R | PMP_W)) != PMP_W) {
            c->pmp.cfg[e] = cfg;
        }
    }
    a350_pmp_changed(c);
    return true;
}
