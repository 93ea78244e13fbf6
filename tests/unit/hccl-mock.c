/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Card driver and acl inside, of plain memory: as much as libhcomm needs. A
 * "card" is a mapping at its device address (which lies above user addresses,
 * so it is reached through a350_hbm_ptr as in the real driver).
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "a350_card.h"
#include "acl_internal.h"
#include "hccl-mock.h"

#define HBM (64u << 20)

struct a350_card {
    a350_identify_rsp id;
    unsigned number;
    uint8_t *hbm;
    uint64_t top;
    uint32_t next_notify, next_sq, next_jetty, next_token;
};

struct a350_sq {
    a350_card *card;
    uint32_t id;
    a350_sq_config cfg;
};

struct a350_stream {
    a350_card *card;
    int32_t device;
    a350_stream_destroy_fn *fn;
    void *opaque;
    a350_sqe last;
    int pushed, failed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static a350_card cards[MOCK_CARDS];
static __thread int32_t current = -1;
static __thread char card_text[256], error_text[2048], error_code[16];
int mock_segments_busy;
int mock_live, mock_sets[MOCK_CARDS], mock_notifies = 1 << 20;

static a350_card *card_at(int i)
{
    a350_card *c = &cards[i];

    pthread_mutex_lock(&lock);
    if (!c->hbm) {
        c->hbm = calloc(1, HBM);
        c->number = (unsigned)i;
        c->id.card_index = (uint32_t)i;
        c->id.dev_base = A350_DEV_BASE(i);
        c->id.hbm_size = HBM;
        c->id.max_msg = A350_UB_MAX_MSG;
        a350_eid_make(c->id.eid, 0, (uint32_t)i);
        c->top = 4096;
        c->next_notify = 1;
    }
    pthread_mutex_unlock(&lock);
    return c;
}

static uint32_t take(uint32_t *n, uint32_t count)
{
    uint32_t v;

    pthread_mutex_lock(&lock);
    v = *n;
    *n += count;
    mock_live += (int)count;
    pthread_mutex_unlock(&lock);
    return v;
}

static void give(int count)
{
    pthread_mutex_lock(&lock);
    mock_live -= count;
    pthread_mutex_unlock(&lock);
}

void mock_device(int device)
{
    current = device;
}

/* ---- card ---- */

const char *a350_card_text(void)
{
    return card_text;
}

int a350_fail(int rc, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(card_text, sizeof(card_text), fmt, ap);
    va_end(ap);
    return rc;
}

void a350_card_ref(a350_card *card)
{
    (void)card;
}

void a350_card_close(a350_card *card)
{
    (void)card;
}

a350_card *a350_card_of_addr(uint64_t addr)
{
    return a350_addr_is_host(addr) ? NULL : card_at((int)a350_addr_card(addr));
}

a350_card *a350_device_card(int32_t dev)
{
    return dev < 0 || dev >= MOCK_CARDS ? NULL : card_at(dev);
}

unsigned a350_card_number(const a350_card *card)
{
    return card->number;
}

const a350_identify_rsp *a350_card_id(const a350_card *card)
{
    return &card->id;
}

int a350_card_wait_firmware(a350_card *card, unsigned ms)
{
    (void)card;
    (void)ms;
    return 0;
}

int a350_dma_map(void *va, size_t len)
{
    (void)va;
    (void)len;
    return 0;
}

int a350_dma_unmap(void *va, size_t len)
{
    (void)va;
    (void)len;
    return 0;
}

/* Blocks: {size} in front; never reused, so that stale use shows. */
int a350_hbm_alloc(a350_card *card, size_t size, unsigned kind, uint64_t *addr)
{
    uint64_t at;

    (void)kind;
    pthread_mutex_lock(&lock);
    at = (card->top + 64 + 4095) & ~4095ull;
    if (at + size > HBM) {
        pthread_mutex_unlock(&lock);
        snprintf(card_text, sizeof(card_text), "no %zu bytes", size);
        return -ENOSPC;
    }
    memcpy(card->hbm + at - 8, &size, 8);
    card->top = at + size;
    mock_live++;
    pthread_mutex_unlock(&lock);
    *addr = card->id.dev_base + at;
    return 0;
}

int a350_hbm_free(uint64_t addr)
{
    (void)addr;
    give(1);
    return 0;
}

int a350_hbm_range(uint64_t addr, uint64_t *base, uint64_t *size)
{
    a350_card *c = a350_card_of_addr(addr);
    uint64_t at = a350_addr_offset(addr) & ~4095ull;

    for (; c && at; at -= 4096) {
        memcpy(size, c->hbm + at - 8, 8);
        if (*size) {
            *base = c->id.dev_base + at;
            return addr < *base + *size ? 0 : -EINVAL;
        }
    }
    return -EINVAL;
}

void *a350_hbm_ptr(uint64_t addr, size_t len)
{
    a350_card *c = a350_card_of_addr(addr);

    return c && a350_addr_offset(addr) + len <= HBM
           ? c->hbm + a350_addr_offset(addr) : NULL;
}

void a350_copy(void *dst, const void *src, size_t len)
{
    memcpy(dst, src, len);
}

void a350_fill(void *dst, int value, size_t len)
{
    memset(dst, value, len);
}

int a350_hbm_new(a350_card *card, const void *data, size_t size,
                 uint64_t *addr)
{
    int rc = a350_hbm_alloc(card, size, 0, addr);

    if (!rc && data) {
        memcpy(a350_hbm_ptr(*addr, size), data, size);
    }
    return rc;
}

/* ---- queues, notifies, UB ---- */

int a350_sq_new(a350_card *card, const a350_sq_config *cfg, a350_sq **sq)
{
    *sq = calloc(1, sizeof(**sq));
    (*sq)->card = card;
    (*sq)->cfg = *cfg;
    (*sq)->id = take(&card->next_sq, 1);
    return 0;
}

void a350_sq_destroy(a350_sq *sq)
{
    give(1);
    free(sq);
}

uint32_t a350_sq_id(const a350_sq *sq)
{
    return sq->id;
}

uint32_t a350_sq_depth(const a350_sq *sq)
{
    return sq->cfg.depth ? sq->cfg.depth : 2049;
}

uint64_t a350_sq_base(const a350_sq *sq)
{
    return sq->card->id.dev_base;
}

uint64_t a350_sq_page(const a350_sq *sq)
{
    return a350_sq_page_addr(sq->card->id.dev_base, sq->id);
}

int a350_sq_push(a350_sq *sq, const a350_sqe *sqe, unsigned n, uint64_t *seq)
{
    (void)sq;
    (void)sqe;
    *seq = n;
    return 0;
}

int a350_sq_wait(a350_sq *sq, uint64_t seq, int timeout_ms, uint32_t seen)
{
    (void)sq;
    (void)seq;
    (void)timeout_ms;
    (void)seen;
    return 0;
}

bool a350_sq_last_error(a350_sq *sq, a350_sq_error *err)
{
    memset(err, 0, sizeof(*err));
    err->sqe_type = A350_SQE_PLACE_HOLDER;
    (void)sq;
    return true;
}

int a350_first_error_get(a350_card *card, a350_first_error *err)
{
    (void)card;
    memset(err, 0, sizeof(*err));
    return 0;
}

int a350_notify_alloc(a350_card *card, uint32_t *id)
{
    if (mock_notifies-- <= 0) {
        mock_notifies = 0;
        return a350_fail(-ENOSPC, "no notify");
    }
    *id = take(&card->next_notify, 1);
    return 0;
}

int a350_notify_alloc_n(a350_card *card, uint32_t n, uint32_t *first)
{
    *first = take(&card->next_notify, n);
    return 0;
}

void a350_notify_free(a350_card *card, uint32_t id)
{
    (void)card;
    (void)id;
    give(1);
}

int a350_notify_clear(a350_card *card, uint32_t first, uint32_t n)
{
    (void)card;
    (void)first;
    (void)n;
    return 0;
}

int a350_notify_set_label(a350_card *card, const a350_notify_label *label)
{
    (void)card;
    (void)label;
    return 0;
}

uint64_t a350_notify_device_addr(a350_card *card, uint32_t id)
{
    return a350_notify_addr(card->id.dev_base, id);
}

int a350_jetty_new(a350_card *card, uint32_t depth, uint32_t flags,
                   uint32_t err_timeout, uint32_t rank, uint32_t peer_rank,
                   a350_jetty *jetty)
{
    (void)flags;
    (void)err_timeout;
    (void)rank;
    (void)peer_rank;
    jetty->id = take(&card->next_jetty, 1);
    jetty->depth = depth;
    jetty->wq = card->id.dev_base + 64;
    jetty->ci = card->id.dev_base + 32;
    jetty->card = card;
    return 0;
}

void a350_jetty_free(a350_jetty *jetty)
{
    jetty->card = NULL;
    give(1);
}

int a350_segment_register(a350_card *card, uint64_t base, uint64_t length,
                          uint32_t access, uint32_t *token_id,
                          uint32_t *token_value)
{
    (void)base;
    (void)length;
    (void)access;
    *token_id = take(&card->next_token, 1);
    *token_value = 4711;
    return 0;
}

int a350_segment_unregister(a350_card *card, uint32_t token_id)
{
    bool busy;

    (void)card;
    (void)token_id;
    pthread_mutex_lock(&lock);
    busy = mock_segments_busy > 0;
    mock_segments_busy -= busy;
    pthread_mutex_unlock(&lock);
    if (busy) {
        return -EBUSY;
    }
    give(1);
    return 0;
}

int a350_local_token(a350_card *card, uint32_t *token_id)
{
    (void)card;
    *token_id = 99;
    return 0;
}

/* ---- acl ---- */

a350_card *a350_current_card(void)
{
    return current < 0 ? NULL : card_at(current);
}

int32_t a350_current_device(void)
{
    return current;
}

int a350_on_device_reset(a350_device_reset_fn *fn, void *opaque)
{
    (void)fn;
    (void)opaque;
    return 0;
}

bool a350_host_is_pinned(const void *ptr, size_t len)
{
    (void)ptr;
    (void)len;
    return true;
}

aclError aclrtSetDevice(int32_t device)
{
    current = device;
    __atomic_add_fetch(&mock_sets[device], 1, __ATOMIC_SEQ_CST);
    return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t device)
{
    __atomic_sub_fetch(&mock_sets[device], 1, __ATOMIC_SEQ_CST);
    return ACL_SUCCESS;
}

aclError aclrtGetPrimaryCtxState(int32_t device, uint32_t *flags,
                                 int32_t *active)
{
    (void)flags;
    *active = device >= 0 && device < MOCK_CARDS && mock_sets[device] > 0;
    return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext *context)
{
    *context = (aclrtContext)(intptr_t)(current + 1);
    return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context)
{
    current = (int32_t)(intptr_t)context - 1;
    return ACL_SUCCESS;
}

/* ---- kernels: every name is one, launches count as pushes ---- */

aclError aclrtBinaryLoadFromFile(const char *path,
                                 aclrtBinaryLoadOptions *options,
                                 aclrtBinHandle *bin)
{
    (void)path;
    (void)options;
    *bin = (aclrtBinHandle)1;
    return ACL_SUCCESS;
}

aclError aclrtBinaryLoadFromData(const void *data, size_t length,
                                 const aclrtBinaryLoadOptions *options,
                                 aclrtBinHandle *bin)
{
    (void)data;
    (void)length;
    (void)options;
    *bin = (aclrtBinHandle)1;
    return ACL_SUCCESS;
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle bin, const char *name,
                                aclrtFuncHandle *function)
{
    (void)bin;
    (void)name;
    *function = (aclrtFuncHandle)2;
    return ACL_SUCCESS;
}

aclError aclrtRegisterCpuFunc(const aclrtBinHandle bin, const char *symbol,
                              const char *name, aclrtFuncHandle *function)
{
    (void)symbol;
    return aclrtBinaryGetFunction(bin, name, function);
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle function,
                                       uint32_t blocks, aclrtStream stream,
                                       aclrtLaunchKernelCfg *cfg, void *args,
                                       size_t size,
                                       aclrtPlaceHolderInfo *holders,
                                       size_t n)
{
    (void)function;
    (void)blocks;
    (void)cfg;
    (void)args;
    (void)size;
    (void)holders;
    (void)n;
    ((a350_stream *)stream)->pushed++;
    return ACL_SUCCESS;
}

aclError aclrtCreateStream(aclrtStream *stream)
{
    a350_stream *s = calloc(1, sizeof(*s));

    s->card = a350_current_card();
    s->device = current;
    give(-1);
    *stream = s;
    return ACL_SUCCESS;
}

aclError aclrtDestroyStream(aclrtStream stream)
{
    a350_stream *s = stream;

    if (s->fn) {
        s->fn(s->opaque, stream);
    }
    give(1);
    free(s);
    return ACL_SUCCESS;
}

aclError aclrtSynchronizeStream(aclrtStream stream)
{
    (void)stream;
    return ACL_SUCCESS;
}

a350_stream *a350_stream_from_handle(aclrtStream stream)
{
    return stream;
}

a350_card *a350_stream_card(a350_stream *s)
{
    return s->card;
}

uint32_t a350_stream_sq_id(a350_stream *s)
{
    (void)s;
    return 7;
}

void (*mock_on_push)(void);

int mock_failed(aclrtStream stream)
{
    return ((a350_stream *)stream)->failed;
}

aclError a350_stream_push(a350_stream *s, const a350_sqe *sqe, unsigned n,
                          const char *what, a350_stream_mark *mark)
{
    (void)what;
    if (mock_on_push) {
        mock_on_push();
    }
    if (mark) {
        *mark = (a350_stream_mark){ s, 1 };
    }
    s->last = *sqe;
    s->pushed += (int)n;
    return ACL_SUCCESS;
}

const a350_sqe *mock_last(aclrtStream stream)
{
    return &((a350_stream *)stream)->last;
}

int mock_pushed(aclrtStream stream)
{
    return ((a350_stream *)stream)->pushed;
}

void a350_stream_fail(a350_stream *s, aclError code, const char *text)
{
    (void)text;
    s->failed = code;
}

bool a350_stream_passed(a350_stream *s, const a350_stream_mark *mark)
{
    return mark->queue != s;     /* nothing is ever done */
}

void a350_stream_end(a350_stream *s, aclError code, const char *text)
{
    a350_stream_fail(s, code, text);
}

int a350_stream_on_error(a350_stream *s, a350_stream_error_fn *fn,
                         void *opaque)
{
    (void)s;
    (void)fn;
    (void)opaque;
    return 0;
}

int a350_stream_on_destroy(a350_stream *s, a350_stream_destroy_fn *fn,
                           void *opaque)
{
    s->fn = fn;
    s->opaque = opaque;
    return 0;
}

void a350_stream_off_destroy(a350_stream *s, a350_stream_destroy_fn *fn,
                             void *opaque)
{
    (void)fn;
    (void)opaque;
    s->fn = NULL;
}

void a350_set_error(const char *code, const char *fmt, ...)
{
    va_list ap;

    snprintf(error_code, sizeof(error_code), "%s", code ? code : "");
    va_start(ap, fmt);
    vsnprintf(error_text, sizeof(error_text), fmt, ap);
    va_end(ap);
}

void a350_append_error(const char *fmt, ...)
{
    (void)fmt;
}

const char *a350_peek_error(void)
{
    return error_text;
}

const char *mock_error_code(void)
{
    return error_code;
}

aclError a350_explain_error(a350_sq *sq, const a350_sq_error *err, char *text,
                            size_t len)
{
    (void)sq;
    (void)err;
    snprintf(text, len, "mock");
    return 507001;
}

void a350_log_host(int level, const char *module, const char *fmt, ...)
{
    va_list ap;

    if (getenv("MOCK_LOG")) {
        fprintf(stderr, "# %d %s ", level, module);
        va_start(ap, fmt);
        vfprintf(stderr, fmt, ap);
        va_end(ap);
        fputc('\n', stderr);
    }
}
