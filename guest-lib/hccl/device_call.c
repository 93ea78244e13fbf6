/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of functions of the device library itself, on a queue of our own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

#define LIMIT_MS 30000

typedef struct block {
    char so[64], function[64];
    a350_args_header head;
    uint8_t args[1024];
} block;

static int run(a350_card *card, a350_sq *sq, uint64_t addr)
{
    uint64_t seq;
    a350_sqe sqe;
    int rc;

    (void)card;
    a350_sqe_aicpu(&sqe, 0, A350_KERNEL_TYPE_AICPU, 1,
                   addr + offsetof(block, so), addr + offsetof(block, function),
                   addr + offsetof(block, args), 16);
    rc = a350_sq_push(sq, &sqe, 1, &seq);
    return rc ? rc : a350_sq_wait(sq, seq, LIMIT_MS, 0);
}

HcclResult hcl_device_call(a350_card *card, const char *function,
                           const void *args, size_t len)
{
    a350_sq_config cfg = { .depth = 9 };
    a350_sq *sq;
    block b;
    uint64_t addr;
    int rc;

    if (len > sizeof(b.args)) {
        return HCCL_E_PARA;
    }
    rc = a350_card_wait_firmware(card, LIMIT_MS);
    if (rc) {
        return hcl_driver(rc, "firmware of the card");
    }
    memset(&b, 0, sizeof(b));
    strncpy(b.so, A350_HCOMM_SO, sizeof(b.so) - 1);
    strncpy(b.function, function, sizeof(b.function) - 1);
    b.head = (a350_args_header){ A350_ARGS_MAGIC, (uint32_t)len, 0 };
    memcpy(b.args, args, len);
    rc = a350_hbm_new(card, &b, sizeof(b), &addr);
    if (rc) {
        return hcl_driver(rc, "kernel arguments");
    }
    rc = a350_sq_new(card, &cfg, &sq);
    if (!rc) {
        rc = run(card, sq, addr);
        a350_sq_destroy(sq);
    }
    a350_hbm_free(addr);
    return rc ? hcl_driver(rc, function) : HCCL_SUCCESS;
}
