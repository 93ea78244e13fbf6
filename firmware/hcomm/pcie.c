/*
 * Device side of Hcomm: channels over PCIe, by SDMA and value writes.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hcomm-data-plane.md §3.12. The reference's write calls succeed
 * there without moving anything; here they are SDMA tasks to the peer's
 * address like the reads, and with-notify is the copy followed by the record
 * on the same thread, which runs them in order.
 */
#include <inttypes.h>
#include "hc.h"

static int32_t record(a350_thread_obj *t, const a350_channel_obj *c,
                      uint32_t idx, const char *call)
{
    uint64_t addr = c->remote_notify[idx].addr, own = hc_notify_addr(0);
    char name[HC_NAME_LEN];
    uint32_t one = 1;
    a350_sqe sqe HC_ALIGNED;

    /* The entry has 49 address bits; the card adds its own upper ones. */
    if ((addr ^ own) >> 49) {
        hc_log(HC_ERROR, "%s: %s: notify register 0x%" PRIx64 " can not be "
               "reached by a value write", call, hc_channel_name(c, name),
               addr);
        return HCCL_E_NOT_SUPPORT;
    }
    a350_sqe_write_value(&sqe, 0, addr, 2, &one, A350_WV_SUB_DEFAULT);
    return hc_push(t, &sqe, call);
}

int32_t hc_pcie_xfer(a350_thread_obj *t, const a350_channel_obj *c,
                     const hc_xfer *x, const char *call)
{
    bool write = x->opcode == A350_UB_WRITE;
    int32_t ret = HCCL_SUCCESS;

    if (!x->record) {
        ret = hc_sdma(t, x->reduce ? x->sdma_op : A350_SDMA_CPY,
                      write ? x->remote : x->local,
                      write ? x->local : x->remote, x->len, call);
    }
    if (ret == HCCL_SUCCESS && (x->record || x->notify)) {
        ret = record(t, c, x->notify_idx, call);
    }
    return ret;
}
