/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered memory, engine contexts, named card memory, exchange info.
 * spec/api/hccl-control-plane.md §6.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hccl_internal.h"

/* ---- registration ---- */

#define PAGE 4096ull
#define SEGMENT_BUSY_NS (5ull * 1000000000ull)

/* Host memory must be visible to the card: what is not pinned yet, is now. */
static HcclResult pin(hcl_mem *m)
{
    uint64_t end;
    int rc;

    if (a350_host_is_pinned(m->mem.addr, m->mem.size)) {
        return HCCL_SUCCESS;
    }
    end = (m->base + m->length + PAGE - 1) & ~(PAGE - 1);
    rc = a350_dma_map((void *)(uintptr_t)m->base, end - m->base);
    if (rc) {
        return hcl_driver(rc, "host memory for the card");
    }
    m->mapped = true;
    return HCCL_SUCCESS;
}

static HcclResult check_device(a350_card *card, const char *call,
                               const CommMem *mem)
{
    uint64_t addr = (uintptr_t)mem->addr, base, size;

    if (a350_addr_is_host(addr) || a350_card_of_addr(addr) != card ||
        a350_hbm_range(addr, &base, &size) ||
        mem->size > base + size - addr) {
        return hcl_bad(HCCL_E_PARA, call, "mem", "memory inside one "
                       "allocation of the communicator's device",
                       "%p + %llu", mem->addr, (unsigned long long)mem->size);
    }
    return HCCL_SUCCESS;
}

/* The start is rounded down to a page, the end is not: transport.md §5. */
HcclResult hcl_mem_register(a350_card *card, const char *call, const char *tag,
                            const CommMem *mem, hcl_mem **out)
{
    hcl_mem *m = calloc(1, sizeof(*m));
    HcclResult rc = HCCL_SUCCESS;
    int err;

    if (!m) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    m->mem = *mem;
    memcpy(m->tag, tag, strlen(tag) + 1);
    m->base = (uintptr_t)mem->addr & ~(PAGE - 1);
    m->length = (uintptr_t)mem->addr - m->base + mem->size;
    if (mem->type == COMM_MEM_TYPE_DEVICE) {
        uint64_t base, size;

        rc = check_device(card, call, mem);
        /* Not across into a neighbour's allocation. */
        if (rc == HCCL_SUCCESS &&
            !a350_hbm_range((uintptr_t)mem->addr, &base, &size) &&
            m->base < base) {
            m->base = base;
            m->length = (uintptr_t)mem->addr - base + mem->size;
        }
    } else {
        rc = pin(m);
    }
    if (rc == HCCL_SUCCESS) {
        err = a350_segment_register(card, m->base, m->length,
                                    A350_SEG_READ | A350_SEG_WRITE |
                                    A350_SEG_ATOMIC, &m->token_id,
                                    &m->token_value);
        if (err) {
            rc = hcl_driver(err, call);
            if (m->mapped) {
                a350_dma_unmap((void *)(uintptr_t)m->base,
                               (m->length + PAGE - 1) & ~(PAGE - 1));
            }
        }
    }
    if (rc != HCCL_SUCCESS) {
        free(m);
        return rc;
    }
    m->handle = hcl_handle_new(HCL_MEM, m);
    *out = m;
    return HCCL_SUCCESS;
}

bool hcl_segment_end(a350_card *card, uint32_t token_id)
{
    uint64_t deadline = hcl_now_ns() + SEGMENT_BUSY_NS;
    int rc;

    while ((rc = a350_segment_unregister(card, token_id)) == -EBUSY &&
           hcl_now_ns() < deadline) {
        usleep(1000);
    }
    if (rc) {
        hcl_log(2, "a segment and its memory stay until the device is reset: "
                "%s", a350_card_text());
    }
    return rc != -EBUSY;
}

bool hcl_mem_release(a350_card *card, hcl_mem *m)
{
    bool ended;

    hcl_handle_drop(m->handle);
    ended = hcl_segment_end(card, m->token_id);
    if (m->mapped && ended) {
        a350_dma_unmap((void *)(uintptr_t)m->base,
                       (m->length + PAGE - 1) & ~(PAGE - 1));
    }
    free(m);
    return ended;
}

static HcclResult check_reg(hcl_comm *c, const char *call, const char *tag,
                            const CommMem *mem)
{
    size_t n = strnlen(tag, HCCL_RES_TAG_MAX_LEN + 1);
    const hcl_mem *m;

    if (n == 0 || n > HCCL_RES_TAG_MAX_LEN) {
        return hcl_bad(HCCL_E_PARA, call, "memTag", "1 to "
                       HCL_TEXT(HCL_TAG_MAX) " characters",
                       "%zu characters", n);
    }
    if (!strncmp(tag, "HcclBuffer", 10)) {
        return hcl_bad(HCCL_E_PARA, call, "memTag", "no name that begins with "
                       "HcclBuffer", "\"%s\"", tag);
    }
    if (mem->type != COMM_MEM_TYPE_DEVICE && mem->type != COMM_MEM_TYPE_HOST) {
        return hcl_bad(HCCL_E_PARA, call, "mem->type", "DEVICE 0 or HOST 1",
                       "%d", (int)mem->type);
    }
    if (!mem->addr) {
        return hcl_null(call, "mem->addr");
    }
    if (mem->size == 0) {
        return hcl_bad(HCCL_E_PARA, call, "mem->size", "1 or more", "0");
    }
    for (m = c->mems; m; m = m->next) {
        if (!strcmp(m->tag, tag)) {
            return hcl_bad(HCCL_E_PARA, call, "memTag", "a tag not used in "
                           "this communicator", "\"%s\"", tag);
        }
    }
    if (c->n_mems + 1 >= HCL_MEMS_MAX) {
        return hcl_fail(HCCL_E_UNAVAIL, "EI0007", "%s: communicator %s has %u "
                        "registered memories, at most %u", call, c->name,
                        c->n_mems, HCL_MEMS_MAX - 1);
    }
    return HCCL_SUCCESS;
}

HcclResult HcclCommMemReg(HcclComm comm, const char *memTag,
                          const CommMem *mem, HcclMemHandle *memHandle)
{
    static const char call[] = "HcclCommMemReg";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    hcl_mem *m;

    if (!c) {
        return rc;
    }
    if (!memTag || !mem || !memHandle) {
        rc = hcl_null(call, !memTag ? "memTag" : !mem ? "mem" : "memHandle");
        hcl_comm_put(c);
        return rc;
    }
    pthread_mutex_lock(&c->lock);
    rc = check_reg(c, call, memTag, mem);
    if (rc == HCCL_SUCCESS) {
        rc = hcl_mem_register(c->card, call, memTag, mem, &m);
    }
    if (rc == HCCL_SUCCESS) {
        hcl_mem **p;

        for (p = &c->mems; *p; p = &(*p)->next) {
        }
        *p = m;
        c->n_mems++;
        *memHandle = (HcclMemHandle)(uintptr_t)m->handle;
    }
    pthread_mutex_unlock(&c->lock);
    hcl_comm_put(c);
    return rc;
}

/* ---- engine contexts ---- */

static bool on_device(CommEngine e)
{
    return e == COMM_ENGINE_AICPU || e == COMM_ENGINE_AICPU_TS ||
           e == COMM_ENGINE_AIV;
}

static HcclResult check_key(const char *call, const char **tag,
                            CommEngine engine)
{
    if (!*tag) {
        *tag = "";
    }
    if (strnlen(*tag, HCCL_RES_TAG_MAX_LEN + 1) > HCCL_RES_TAG_MAX_LEN) {
        return hcl_bad(HCCL_E_PARA, call, "ctxTag", "at most "
                       HCL_TEXT(HCL_TAG_MAX) " characters",
                       "%.32s... (%zu characters)", *tag, strlen(*tag));
    }
    if (engine < COMM_ENGINE_CPU || engine > COMM_ENGINE_CCU) {
        return hcl_bad(HCCL_E_PARA, call, "engine", "0 to 5", "%d",
                       (int)engine);
    }
    return HCCL_SUCCESS;
}

static hcl_ctx **find_ctx(hcl_comm *c, const char *tag, CommEngine engine)
{
    hcl_ctx **p;

    for (p = &c->ctxs; *p; p = &(*p)->next) {
        if ((*p)->engine == engine && !strcmp((*p)->tag, tag)) {
            return p;
        }
    }
    return NULL;
}

static void ctx_free(hcl_ctx *x)
{
    if (x->device) {
        a350_hbm_free((uintptr_t)x->addr);
    } else {
        free(x->addr);
    }
    free(x);
}

void hcl_ctx_free_all(hcl_comm *c)
{
    hcl_ctx *x;

    while ((x = c->ctxs)) {
        c->ctxs = x->next;
        ctx_free(x);
    }
}

static HcclResult ctx_create(hcl_comm *c, const char *call, const char *tag,
                             CommEngine engine, uint64_t size, void **ctx)
{
    uint64_t addr;
    hcl_ctx *x;
    int rc;

    if (find_ctx(c, tag, engine)) {
        return hcl_bad(HCCL_E_PARA, call, "ctxTag", "a tag that this engine "
                       "does not have yet", "\"%s\" (engine %s)", tag,
                       hcl_engine_name(engine));
    }
    x = calloc(1, sizeof(*x));
    if (!x) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    strcpy(x->tag, tag);
    x->engine = engine;
    x->size = size;
    x->device = on_device(engine);
    if (x->device) {
        rc = a350_hbm_alloc(c->card, size, A350_HBM_NORMAL, &addr);
        if (rc) {
            free(x);
            return hcl_driver(rc, call);
        }
        x->addr = (void *)(uintptr_t)addr;
    } else {
        x->addr = calloc(1, size);
        if (!x->addr) {
            free(x);
            return hcl_fail(HCCL_E_MEMORY, "EI0007", "%s: no host memory for "
                            "%llu bytes", call, (unsigned long long)size);
        }
    }
    x->next = c->ctxs;
    c->ctxs = x;
    *ctx = x->addr;
    return HCCL_SUCCESS;
}

HcclResult HcclEngineCtxCreate(HcclComm comm, const char *ctxTag,
                               CommEngine engine, uint64_t size, void **ctx)
{
    static const char call[] = "HcclEngineCtxCreate";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);

    if (!c) {
        return rc;
    }
    rc = check_key(call, &ctxTag, engine);
    if (!ctx) {
        rc = hcl_null(call, "ctx");
    } else if (rc == HCCL_SUCCESS && size == 0) {
        rc = hcl_bad(HCCL_E_PARA, call, "size", "1 or more", "0");
    }
    if (rc == HCCL_SUCCESS) {
        pthread_mutex_lock(&c->lock);
        rc = ctx_create(c, call, ctxTag, engine, size, ctx);
        pthread_mutex_unlock(&c->lock);
    }
    hcl_comm_put(c);
    return rc;
}

/* A question more than a mistake: no error text when nothing is found. */
HcclResult HcclEngineCtxGet(HcclComm comm, const char *ctxTag,
                            CommEngine engine, void **ctx, uint64_t *size)
{
    static const char call[] = "HcclEngineCtxGet";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    hcl_ctx **x;

    if (!c) {
        return rc;
    }
    rc = check_key(call, &ctxTag, engine);
    if (!ctx || !size) {
        rc = hcl_null(call, ctx ? "size" : "ctx");
    }
    if (rc == HCCL_SUCCESS) {
        pthread_mutex_lock(&c->lock);
        x = find_ctx(c, ctxTag, engine);
        if (x) {
            *ctx = (*x)->addr;
            *size = (*x)->size;
        } else {
            rc = HCCL_E_NOT_FOUND;
        }
        pthread_mutex_unlock(&c->lock);
    }
    hcl_comm_put(c);
    return rc;
}

static HcclResult ctx_copy(hcl_comm *c, const char *call, const char *tag,
                           CommEngine engine, const void *src, uint64_t size,
                           uint64_t offset)
{
    hcl_ctx **x = find_ctx(c, tag, engine);
    void *to;

    if (!x) {
        return hcl_bad(HCCL_E_NOT_FOUND, call, "ctxTag", "a context of this "
                       "engine", "\"%s\" (engine %s)", tag,
                       hcl_engine_name(engine));
    }
    if (size == 0 || offset > (*x)->size || size > (*x)->size - offset) {
        return hcl_bad(HCCL_E_PARA, call, "size, dstCtxOffset", "a range "
                       "inside the context", "%llu at %llu of %llu bytes",
                       (unsigned long long)size, (unsigned long long)offset,
                       (unsigned long long)(*x)->size);
    }
    if (!(*x)->device) {
        memcpy((char *)(*x)->addr + offset, src, size);
        return HCCL_SUCCESS;
    }
    to = a350_hbm_ptr((uintptr_t)(*x)->addr + offset, size);
    if (!to) {
        return hcl_fail(HCCL_E_INTERNAL, NULL, "%s: context \"%s\" is not in "
                        "the card's memory", call, tag);
    }
    a350_copy(to, src, size);
    return HCCL_SUCCESS;
}

HcclResult HcclEngineCtxCopy(HcclComm comm, CommEngine engine,
                             const char *ctxTag, const void *srcCtx,
                             uint64_t size, uint64_t dstCtxOffset)
{
    static const char call[] = "HcclEngineCtxCopy";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);

    if (!c) {
        return rc;
    }
    rc = check_key(call, &ctxTag, engine);
    if (!srcCtx) {
        rc = hcl_null(call, "srcCtx");
    }
    if (rc == HCCL_SUCCESS) {
        pthread_mutex_lock(&c->lock);
        rc = ctx_copy(c, call, ctxTag, engine, srcCtx, size, dstCtxOffset);
        pthread_mutex_unlock(&c->lock);
    }
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclEngineCtxDestroy(HcclComm comm, const char *ctxTag,
                                CommEngine engine)
{
    static const char call[] = "HcclEngineCtxDestroy";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    hcl_ctx **p, *x = NULL;

    if (!c) {
        return rc;
    }
    rc = check_key(call, &ctxTag, engine);
    if (rc == HCCL_SUCCESS) {
        pthread_mutex_lock(&c->lock);
        p = find_ctx(c, ctxTag, engine);
        if (p) {
            x = *p;
            *p = x->next;
        }
        pthread_mutex_unlock(&c->lock);
        if (x) {
            ctx_free(x);
        } else {
            rc = hcl_bad(HCCL_E_PARA, call, "ctxTag", "a context of this "
                         "engine", "\"%s\" (engine %s)", ctxTag,
                         hcl_engine_name(engine));
        }
    }
    hcl_comm_put(c);
    return rc;
}

/* ---- named card memory ---- */

static HcclResult dev_mem(hcl_comm *c, const char *call, const char *tag,
                          uint64_t *size, void **addr, bool *created)
{
    hcl_mem *m;
    uint64_t where;
    int rc;

    for (m = c->dev_mems; m && strcmp(m->tag, tag); m = m->next) {
    }
    *created = !m;
    if (!m) {
        if (*size == 0) {
            return hcl_bad(HCCL_E_PARA, call, "size", "1 or more", "0");
        }
        rc = a350_hbm_alloc(c->card, *size, A350_HBM_NORMAL, &where);
        if (rc) {
            return hcl_driver(rc, call);
        }
        m = calloc(1, sizeof(*m));
        if (!m) {
            a350_hbm_free(where);
            return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
        }
        strcpy(m->tag, tag);
        m->mem = (CommMem){ COMM_MEM_TYPE_DEVICE, (void *)(uintptr_t)where,
                            *size };
        m->next = c->dev_mems;
        c->dev_mems = m;
    }
    *addr = m->mem.addr;
    *size = m->mem.size;
    return HCCL_SUCCESS;
}

HcclResult HcclDevMemAcquire(HcclComm comm, const char *memTag, uint64_t *size,
                             void **addr, bool *newCreated)
{
    static const char call[] = "HcclDevMemAcquire";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);

    if (!c) {
        return rc;
    }
    if (!memTag || !size || !addr || !newCreated) {
        rc = hcl_null(call, !memTag ? "memTag" : !size ? "size"
                      : !addr ? "addr" : "newCreated");
    } else if (!*memTag || strlen(memTag) > HCCL_RES_TAG_MAX_LEN) {
        rc = hcl_bad(HCCL_E_PARA, call, "memTag", "1 to "
                       HCL_TEXT(HCL_TAG_MAX) " characters",
                     "%zu characters", strlen(memTag));
    } else {
        pthread_mutex_lock(&c->lock);
        rc = dev_mem(c, call, memTag, size, addr, newCreated);
        pthread_mutex_unlock(&c->lock);
    }
    hcl_comm_put(c);
    return rc;
}

/* ---- exchange info ---- */

HcclResult HcclCommAddExchangeInfo(HcclComm comm, const void *info,
                                   uint32_t length)
{
    static const char call[] = "HcclCommAddExchangeInfo";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    void *p;

    if (!c) {
        return rc;
    }
    pthread_mutex_lock(&c->lock);
    if (!info) {
        rc = hcl_null(call, "info");
    } else if (length == 0 || length > HCL_EXCHANGE_MAX - c->exchange_len) {
        rc = hcl_bad(HCCL_E_PARA, call, "length",
                     "1 to " HCL_TEXT(HCL_EXCHANGE_MAX) " bytes in all",
                     "%u after %u", length, c->exchange_len);
    } else if (!(p = realloc(c->exchange, c->exchange_len + length))) {
        rc = hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    } else {
        memcpy((char *)p + c->exchange_len, info, length);
        c->exchange = p;
        c->exchange_len += length;
    }
    pthread_mutex_unlock(&c->lock);
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclCommResetExchangeInfo(HcclComm comm)
{
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, "HcclCommResetExchangeInfo", &rc);

    if (!c) {
        return rc;
    }
    pthread_mutex_lock(&c->lock);
    free(c->exchange);
    c->exchange = NULL;
    c->exchange_len = 0;
    pthread_mutex_unlock(&c->lock);
    hcl_comm_put(c);
    return HCCL_SUCCESS;
}

HcclResult HcclCommGetExchangeInfo(HcclComm comm, uint32_t remoteRank,
                                   uint32_t length, void *info,
                                   uint32_t *actualLength)
{
    static const char call[] = "HcclCommGetExchangeInfo";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    const hcl_channel *ch;

    if (!c) {
        return rc;
    }
    if (!info || !actualLength) {
        rc = hcl_null(call, info ? "actualLength" : "info");
        hcl_comm_put(c);
        return rc;
    }
    pthread_mutex_lock(&c->lock);
    for (ch = c->channels; ch && (ch->peer != remoteRank || !ch->exchange_len);
         ch = ch->next) {
    }
    if (!ch) {
        rc = hcl_bad(HCCL_E_NOT_FOUND, call, "remoteRank", "a rank that sent "
                     "exchange info on a channel", "%u", remoteRank);
    } else {
        *actualLength = ch->exchange_len;
        memcpy(info, ch->exchange, length < ch->exchange_len
               ? length : ch->exchange_len);
    }
    pthread_mutex_unlock(&c->lock);
    hcl_comm_put(c);
    return rc;
}
