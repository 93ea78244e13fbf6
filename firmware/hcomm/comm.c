/*
 * Device side of Hcomm: communicators by name, symmetric windows.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hcomm-data-plane.md §3.10; how communicators become known:
 * hw/atlas350/hcomm_abi.h.
 */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include "hc.h"
#include "platform.h"

#define COMM_MAX 256             /* communicators known at a time, a card */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static a350_comm_obj *comms[COMM_MAX];

static bool alive(const a350_comm_obj *c)
{
    return c->magic == A350_COMM_MAGIC &&
           c->version == A350_HCOMM_ABI_VERSION;
}

static bool is_comm(uint64_t addr)
{
    return addr != 0 && addr % 8 == 0 &&
           hc_in_card(addr, sizeof(a350_comm_obj)) &&
           alive((const a350_comm_obj *)(uintptr_t)addr);
}

/* Puts @c into the table, over a dead one if there is one. */
static bool remember(a350_comm_obj *c)
{
    uint32_t i, place = COMM_MAX;
    bool known = false;

    pthread_mutex_lock(&mutex);
    for (i = 0; i < COMM_MAX && !known; i++) {
        known = comms[i] == c;
        if (place == COMM_MAX && (!comms[i] || !alive(comms[i]))) {
            place = i;
        }
    }
    if (!known && place < COMM_MAX) {
        comms[place] = c;
        known = true;
    }
    pthread_mutex_unlock(&mutex);
    return known;
}

void hc_comm_seen(uint64_t addr)
{
    static _Thread_local uint64_t last;

    if (addr != last && is_comm(addr)) {
        remember((a350_comm_obj *)(uintptr_t)addr);
        last = addr;
    }
}

/* A kernel of the host library: return value is an HcclResult. */
HC_API uint32_t a350_hcomm_attach(void *arg)
{
    uint64_t addr = ((const a350_comm_attach *)arg)->comm;

    if (!is_comm(addr)) {
        hc_log(HC_ERROR, "%s: 0x%" PRIx64 " is no communicator object",
               __func__, addr);
        return HCCL_E_PARA;
    }
    if (!remember((a350_comm_obj *)(uintptr_t)addr)) {
        hc_log(HC_ERROR, "%s: more than %d communicators on this card",
               __func__, COMM_MAX);
        return HCCL_E_UNAVAIL;
    }
    return HCCL_SUCCESS;
}

HC_API uint32_t a350_hcomm_detach(void *arg)
{
    uint64_t addr = ((const a350_comm_attach *)arg)->comm;
    uint32_t i;

    pthread_mutex_lock(&mutex);
    for (i = 0; i < COMM_MAX; i++) {
        if ((uint64_t)(uintptr_t)comms[i] == addr) {
            comms[i] = NULL;
        }
    }
    pthread_mutex_unlock(&mutex);
    return HCCL_SUCCESS;
}

static a350_comm_obj *find(const char *name)
{
    a350_comm_obj *c = NULL;
    uint32_t i;

    pthread_mutex_lock(&mutex);
    for (i = 0; i < COMM_MAX && !c; i++) {
        if (comms[i] && alive(comms[i]) &&
            strncmp(comms[i]->name, name, A350_COMM_NAME_MAX) == 0) {
            c = comms[i];
        }
    }
    pthread_mutex_unlock(&mutex);
    return c;
}

/* HCCL_E_PTR for a null or an unknown name. */
static a350_comm_obj *lookup(const char *name, const char *call)
{
    a350_comm_obj *c = name ? find(name) : NULL;

    if (!c) {
        hc_log(HC_ERROR, "%s: no communicator \"%.127s\" on this card", call,
               name ? name : "(null)");
    }
    return c;
}

static void say_held(const a350_comm_obj *c, uint32_t holder, uint64_t since)
{
    hc_log(HC_WARN, "HcommAcquireComm: waits %" PRIu64 " s for communicator "
           "\"%.127s\", held by %s", (hc_plat_now() - since) / 1000000000u,
           c->name, holder == hc_self()->token ? "this kernel itself" :
           "another kernel");
}

HC_API int32_t HcommAcquireComm(const char *commId)
{
    a350_comm_obj *c = lookup(commId, __func__);
    hc_tls *me = hc_self();
    uint64_t start, said;
    uint32_t holder;

    if (!c) {
        return HCCL_E_PTR;
    }
    start = said = hc_plat_now();
    for (;;) {
        holder = 0;
        if (__atomic_compare_exchange_n(&c->lock, &holder, me->token, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            me->comm_held = c;
            return HCCL_SUCCESS;
        }
        if (!alive(c)) {
            return HCCL_E_PTR;   /* destroyed meanwhile */
        }
        if (hc_plat_now() - said >= 10000000000u) {
            said = hc_plat_now();
            say_held(c, holder, start);
        }
        hc_plat_sleep(HC_SLEEP_NS);
    }
}

/* An unknown name is a success: §3.10. */
HC_API int32_t HcommReleaseComm(const char *commId)
{
    a350_comm_obj *c = commId ? find(commId) : NULL;

    if (!commId) {
        hc_log(HC_ERROR, "%s: commId is null", __func__);
        return HCCL_E_PTR;
    }
    if (c) {
        if (hc_self()->comm_held == c) {
            hc_self()->comm_held = NULL;
        }
        __atomic_store_n(&c->lock, 0, __ATOMIC_RELEASE);
    }
    return HCCL_SUCCESS;
}

void hc_comm_kernel_enter(void)
{
    hc_tls *me = hc_self();
    a350_comm_obj *c = me->comm_held;
    uint32_t mine = me->token;

    me->comm_held = NULL;
    if (c && is_comm((uintptr_t)c) &&
        __atomic_compare_exchange_n(&c->lock, &mine, 0, false,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        hc_log(HC_WARN, "an earlier kernel ended without HcommReleaseComm: "
               "communicator \"%.127s\" is released", c->name);
    }
}

/* Declared here as in hccl/hccl_comm.h, which is for C++ only. */
HC_API HcclResult HcclCommGetStatus(const char *commId,
                                    HcclCommStatus *status);

HC_API HcclResult HcclCommGetStatus(const char *commId, HcclCommStatus *status)
{
    a350_comm_obj *c;

    if (!status) {
        hc_log(HC_ERROR, "%s: status is null", __func__);
        return HCCL_E_PTR;
    }
    c = lookup(commId, __func__);
    *status = c ? (HcclCommStatus)c->status : HCCL_COMM_STATUS_INVALID;
    return c ? HCCL_SUCCESS : HCCL_E_PTR;
}

static const char *window_fault(const a350_symwin_obj *w, uint64_t addr)
{
    if (addr == 0) {
        return "is null";
    }
    if (addr % 8 != 0 || !hc_in_card(addr, sizeof(*w)) ||
        w->magic != A350_SYMWIN_MAGIC ||
        w->version != A350_HCOMM_ABI_VERSION) {
        return "is no live window of this card";
    }
    if (w->peers % 8 != 0 ||
        !hc_in_card(w->peers, (uint64_t)w->rank_size * 8)) {
        return "has a table that is not in this card's memory";
    }
    return NULL;
}

HC_API HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle,
                                           size_t offset, uint32_t peerRank,
                                           void **ptr);

HC_API HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle,
                                           size_t offset, uint32_t peerRank,
                                           void **ptr)
{
    const a350_symwin_obj *w = winHandle;
    const char *why = window_fault(w, (uintptr_t)w);
    uint64_t base;

    if (why || !ptr) {
        hc_log(HC_ERROR, "%s: %s %p %s", __func__, why ? "window" : "ptr",
               why ? winHandle : NULL, why ? why : "is null");
        return HCCL_E_PTR;
    }
    if (peerRank >= w->rank_size || offset >= w->win_size) {
        hc_log(HC_ERROR, "%s: rank %u of %u, offset %zu of %" PRIu64
               " bytes: out of range", __func__, peerRank, w->rank_size,
               offset, w->win_size);
        return HCCL_E_PARA;
    }
    base = ((const uint64_t *)(uintptr_t)w->peers)[peerRank];
    if (base == 0) {
        hc_log(HC_ERROR, "%s: no channel of rank %u to rank %u carries the "
               "window's memory", __func__, w->rank, peerRank);
        return HCCL_E_NOT_FOUND;
    }
    *ptr = (void *)(uintptr_t)(base + offset);
    return HCCL_SUCCESS;
}
