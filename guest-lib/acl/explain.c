/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a failed queue entry to a published code and a line of text.
 * Codes: spec/api/env-and-errors.md §4; bits: spec/hw/task-queues.md §4.
 */
#include "acl_priv.h"

#include <stdio.h>
#include <string.h>

static aclError code_of_status(uint32_t status)
{
    switch (status) {
    case 0x3ea:         /* local memory of a UB transfer */
    case 0x225:
    case 0x220:
    case 0x221:
        return ACL_ERROR_RT_DEVICE_MEM_ERROR;
    case 0x3eb:
    case 0x226:
    case 0x222:
        return ACL_ERROR_RT_SUSPECT_REMOTE_ERROR;
    case 0x3ec:
    case 0x5d:
        return ACL_ERROR_RT_LINK_ERROR;
    }
    return status >= 100000 && status < 600000 ? (aclError)status
                                               : ACL_ERROR_RT_TS_ERROR;
}

static aclError code_ub(uint32_t status)
{
    switch (status & 0xff) {
    case A350_UB_ERR_LOCAL:       return ACL_ERROR_RT_DEVICE_MEM_ERROR;
    case A350_UB_ERR_REMOTE:      return ACL_ERROR_RT_SUSPECT_REMOTE_ERROR;
    case A350_UB_ERR_ACK_TIMEOUT: return ACL_ERROR_RT_LINK_ERROR;
    }
    return ACL_ERROR_RT_TS_ERROR;
}

static aclError code_sdma(uint32_t status)
{
    switch (status & 0xff) {
    case A350_SDMA_ST_LINK:   return ACL_ERROR_RT_SUSPECT_REMOTE_ERROR;
    case A350_SDMA_ST_DDRC:
    case A350_SDMA_ST_POISON: return ACL_ERROR_RT_DEVICE_MEM_ERROR;
    }
    return ACL_ERROR_RT_TS_ERROR;
}

aclError a350_error_code(const a350_sq_error *e)
{
    if (e->bits & A350_ERR_SW_STATUS) {
        return code_of_status(e->status);
    }
    switch (e->sqe_type) {
    case A350_SQE_AICPU_D:
    case A350_SQE_AICPU_H:
        return (e->bits & A350_ERR_TIMEOUT) ||
               (e->status >> 16) == A350_AICPU_ERR_TIMEOUT
               ? ACL_ERROR_RT_AICPU_TIMEOUT : ACL_ERROR_RT_AICPU_EXCEPTION;
    case A350_SQE_UBDMA:
        return code_ub(e->status);
    case A350_SQE_SDMA:
        return code_sdma(e->status);
    }
    if (e->bits & A350_ERR_EXCEPTION) {
        return ACL_ERROR_RT_TS_ERROR;
    }
    return e->bits & A350_ERR_TIMEOUT ? ACL_ERROR_RT_TASK_TIMEOUT
                                      : ACL_ERROR_RT_TS_ERROR;
}

static const char *type_name(unsigned type)
{
    switch (type) {
    case A350_SQE_PLACE_HOLDER:  return "wait for a notify";
    case A350_SQE_AICPU_D:       return "kernel launch";
    case A350_SQE_NOTIFY_RECORD: return "notify record";
    case A350_SQE_NOTIFY_WAIT:   return "notify wait";
    case A350_SQE_WRITE_VALUE:   return "value write";
    case A350_SQE_UBDMA:         return "transfer to another card";
    case A350_SQE_SDMA:          return "copy";
    }
    return "task";
}

static const char *bits_name(unsigned bits)
{
    return bits & A350_ERR_EXCEPTION ? "exception" :
           bits & A350_ERR_BUS ? "bus error" :
           bits & A350_ERR_TIMEOUT ? "timeout" :
           bits & A350_ERR_SQE ? "malformed entry" :
           bits & A350_ERR_CONFLICT ? "resource conflict" : "failure";
}

/* What the firmware wrote about a failed launch; 0: nothing. */
static size_t kernel_text(uint64_t result, char *text, size_t len)
{
    a350_launch_result *r = result ? a350_hbm_ptr(result, sizeof(*r)) : NULL;
    a350_launch_result c;
    int n;

    if (!r || !r->valid) {
        return 0;
    }
    a350_copy(&c, r, sizeof(c));
    a350_fill(r, 0, sizeof(*r));
    /* The firmware's sentence names kernel and library. */
    c.exc.text[sizeof(c.exc.text) - 1] = '\0';
    c.exc.where[sizeof(c.exc.where) - 1] = '\0';
    n = c.exc.text[0]
        ? snprintf(text, len, "kernel %s", c.exc.text)
        : snprintf(text, len, "kernel %.64s of %.64s failed at %.160s",
                   c.exc.kernel, c.exc.library, c.exc.where);
    if (n > 0 && (size_t)n < len && c.exc.where[0] &&
        !strstr(text, c.exc.where)) {
        n += snprintf(text + n, len - (size_t)n, "%s%s",
                      c.exc.cause == A350_EXC_RETURN ? ": " : " at ",
                      c.exc.where);
    }
    if (n > 0 && (size_t)n < len && c.exc.cause < 0x100) {
        n += snprintf(text + n, len - (size_t)n, " (pc 0x%llx, address 0x%llx, "
                      "cause %u, core %u)", (unsigned long long)c.exc.pc,
                      (unsigned long long)c.exc.addr, c.exc.cause, c.exc.core);
    } else if (n > 0 && (size_t)n < len && c.status) {
        n += snprintf(text + n, len - (size_t)n, " (status %u)", c.status);
    }
    return n > 0 ? ((size_t)n < len ? (size_t)n : len - 1) : 0;
}

aclError explain(a350_sq *sq, const a350_sq_error *err, uint64_t result,
                 const char *what, bool own_wait, char *text, size_t len)
{
    a350_card *c = a350_sq_card(sq);
    aclError code = a350_error_code(err);
    a350_first_error fe;
    size_t n = 0;

    if (own_wait && (err->sqe_type == A350_SQE_PLACE_HOLDER ||
                     err->sqe_type == A350_SQE_NOTIFY_WAIT) &&
        !(err->bits & A350_ERR_SW_STATUS)) {
        code = ACL_ERROR_RT_TASK_TIMEOUT;
    }
    if (err->sqe_type == A350_SQE_AICPU_D) {
        n = kernel_text(result, text, len);
    }
    if (a350_first_error_get(c, &fe) || fe.kind == A350_EK_NONE) {
        fe.kind = A350_EK_NONE;
    }
    if (fe.kind != A350_EK_NONE && fe.sq_id == a350_sq_id(sq) &&
        fe.task == err->task) {
        if (n == 0) {
            n = (size_t)snprintf(text, len, "%s", fe.message);
        }
        a350_first_error_clear(c);
        fe.kind = A350_EK_NONE;
    }
    if (n == 0) {
        n = (size_t)snprintf(text, len, "%s failed: %s, status 0x%x",
                             what ? what : type_name(err->sqe_type),
                             bits_name(err->bits), err->status);
    }
    if (n < len) {
        n += (size_t)snprintf(text + n, len - n, "; card %u, queue %u, entry "
                              "%u%s%s", a350_card_number(c), a350_sq_id(sq),
                              err->sqe_index, what ? ", " : "",
                              what ? what : "");
    }
    if (fe.kind != A350_EK_NONE && n < len) {
        snprintf(text + n, len - n, "; the card's first error was: %s",
                 fe.message);
    }
    return code;
}

aclError a350_explain_error(a350_sq *sq, const a350_sq_error *err, char *text,
                            size_t len)
{
    return explain(sq, err, 0, NULL, false, text, len);
}

void explain_wait(a350_sq *sq, char *text, size_t len)
{
    a350_wait_entry e[64];
    unsigned n = 0, i;
    char line[256];

    text[0] = '\0';
    if (a350_wait_list(a350_sq_card(sq), e, 64, &n)) {
        return;
    }
    for (i = 0; i < n; i++) {
        if (e[i].sq_id == a350_sq_id(sq)) {
            a350_wait_text(&e[i], line, sizeof(line));
            snprintf(text, len, "; %s", line);
            return;
        }
    }
}
