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
