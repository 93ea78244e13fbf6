/*
 * Atlas 350 virtual card: weak stand-ins for blocks that are not built in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each answers that there is nothing. A block that is linked replaces its
 * part.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "migration/vmstate.h"
#include "card.h"
#include "ts/ts.h"

#define WEAK __attribute__((weak))

#define EMPTY_VMSTATE(sym, text)                        \
    WEAK const VMStateDescription sym = {               \
        .name = text,                                   \
        .version_id = 1,                                \
        .minimum_version_id = 1,                        \
        .fields = (const VMStateField[]) {              \
            VMSTATE_END_OF_LIST()                       \
        },                                              \
    }

EMPTY_VMSTATE(vmstate_a350_ts, "atlas350/ts");

/* AICPU */

/* task scheduler */

WEAK void a350_ts_init(A350Card *c) { }
WEAK void a350_ts_destroy(A350Card *c) { }
WEAK void a350_ts_reset(A350Card *c) { }
WEAK void a350_ts_pause(A350Card *c) { }
WEAK void a350_ts_resume(A350Card *c) { }
WEAK void a350_ts_set_other_sqe(A350Card *c, bool noop) { }
WEAK bool a350_ts_reg_read(A350Card *c, uint32_t o, unsigned s, uint64_t *v) { return false; }
WEAK bool a350_ts_reg_write(A350Card *c, uint32_t o, unsigned s, uint64_t v) { return false; }
WEAK uint32_t a350_ts_cqint_read(A350Card *c, uint32_t o) { return 0; }
WEAK void a350_ts_cqint_write(A350Card *c, uint32_t o, uint32_t v) { }
WEAK void a350_ts_aicpu_done(A350Card *c, uint32_t sq, uint32_t task, uint16_t e, uint16_t s, const a350_exc_record *x) { }
WEAK uint32_t a350_ts_cq_create(A350Card *c, a350_cq_create *a, char *m) { return 9; }
WEAK uint32_t a350_ts_cq_destroy(A350Card *c, uint32_t i, char *m) { return 9; }
WEAK uint32_t a350_ts_sq_create(A350Card *c, a350_sq_create *a, char *m) { return 9; }
WEAK uint32_t a350_ts_sq_destroy(A350Card *c, uint32_t i, char *m) { return 9; }
WEAK uint32_t a350_ts_sq_reset(A350Card *c, uint32_t i, char *m) { return 9; }
WEAK uint32_t a350_ts_sq_query(A350Card *c, uint32_t i, a350_sq_query_rsp *r, char *m) { return 9; }
WEAK uint32_t a350_ts_sq_pause(A350Card *c, uint32_t i, bool p, char *m) { return 9; }
WEAK uint32_t a350_ts_sq_label(A350Card *c, const a350_sq_label *a, char *m) { return 9; }
WEAK uint32_t a350_ts_notify_reset(A350Card *c, const a350_notify_reset *a, char *m) { return 9; }
WEAK uint32_t a350_ts_notify_label(A350Card *c, const a350_notify_label *a, char *m) { return 9; }
WEAK void a350_ts_first_error(A350Card *c, a350_first_error *r) { }
WEAK void a350_ts_clear_error(A350Card *c) { }
WEAK void a350_ts_wait_list(A350Card *c, uint32_t f, a350_wait_list_rsp *r) { }
