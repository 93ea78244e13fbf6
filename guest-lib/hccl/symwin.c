/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symmetric windows: memory of the same size on all ranks, carried to the
 * peers by the channels made after its registration.
 * spec/api/hccl-control-plane.md §8.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

#define TAG "HcclSymWin%u"

static hcl_win *win_of(HcclCommSymWindow handle)
{
    return hcl_handle_get((uintptr_t)handle, HCL_SYMWIN);
}

static void win_free(hcl_comm *c, hcl_win *w)
{
    a350_symwin_obj *o = a350_hbm_ptr(w->handle, sizeof(*o));

    if (o) {
        o->magic = 0;
    }
    hcl_handle_drop(w->handle);
    a350_hbm_free(w->handle);
    a350_hbm_free(w->peers);
    hcl_mem_release(c->card, w->mem);
    free(w);
}

void hcl_symwin_free_all(hcl_comm *c)
{
    hcl_win *w;

    while ((w = c->wins)) {
        c->wins = w->next;
        win_free(c, w);
    }
}

static HcclResult make_object(hcl_comm *c, hcl_win *w)
{
    a350_symwin_obj o = {
        .magic = A350_SYMWIN_MAGIC, .version = A350_HCOMM_ABI_VERSION,
        .size = sizeof(o), .rank = c->rank, .rank_size = c->n_ranks,
        .win_size = w->size, .comm = c->object,
    };
    uint64_t *table = calloc(c->n_ranks, sizeof(*table));
    int rc;

    if (!table) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    table[c->rank] = w->addr;
    rc = a350_hbm_new(c->card, table, c->n_ranks * sizeof(*table), &w->peers);
    free(table);
    if (rc) {
        return hcl_driver(rc, "window");
    }
    o.peers = w->peers;
    rc = a350_hbm_new(c->card, &o, sizeof(o), &w->handle);
    if (rc) {
        a350_hbm_free(w->peers);
        return hcl_driver(rc, "window");
    }
    return HCCL_SUCCESS;
}

static HcclResult win_new(hcl_comm *c, const char *call, void *addr,
                          uint64_t size, hcl_win **out)
{
    CommMem mem = { COMM_MEM_TYPE_DEVICE, addr, size };
    hcl_win *w = calloc(1, sizeof(*w));
    char tag[32];
    HcclResult rc;

    if (!w) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    snprintf(tag, sizeof(tag), TAG, c->win_serial);
    w->addr = (uintptr_t)addr;
    w->size = size;
    rc = hcl_mem_register(c->card, call, tag, &mem, &w->mem);
    if (rc != HCCL_SUCCESS) {
        free(w);
        return rc;
    }
    rc = make_object(c, w);
    if (rc != HCCL_SUCCESS) {
        hcl_mem_release(c->card, w->mem);
        free(w);
        return rc;
    }
    hcl_handle_add(w->handle, HCL_SYMWIN, w);
    *out = w;
    return HCCL_SUCCESS;
}

/* All ranks must have come, with the same size. */
static HcclResult agree(hcl_comm *c, const char *call, uint64_t size,
                        uint32_t number)
{
    uint64_t deadline = hcl_connect_deadline(), other;
    HcclResult rc = HCCL_SUCCESS;
    char what[32], key[HCL_KEY];
    hcl_mail *m;
    uint32_t i;

    snprintf(what, sizeof(what), TAG, number);
    hcl_attempt_key(c, what, key);
    for (i = 0; i < c->n_ranks && rc == HCCL_SUCCESS; i++) {
        if (i != c->rank) {
            rc = hcl_mail_send(&c->table[i], c->rank, c->nonce,
                               HCL_MAIL_SYMWIN, key, &size, sizeof(size),
                               deadline);
        }
    }
    for (i = 0; i < c->n_ranks && rc == HCCL_SUCCESS; i++) {
        if (i == c->rank) {
            continue;
        }
        m = hcl_mail_take(c->box, i, HCL_MAIL_SYMWIN, key, deadline);
        if (!m || m->len != sizeof(other)) {
            rc = hcl_fail(HCCL_E_TIMEOUT, "EI0006", "%s: rank %u of "
                          "communicator %s (process %u%s) did not register "
                          "its window within %u s", call, i, c->name,
                          c->table[i].pid, hcl_peer_state(&c->table[i]),
                          hcl_connect_limit());
        } else {
            memcpy(&other, m->data, sizeof(other));
            if (other != size) {
                rc = hcl_fail(HCCL_E_PARA, "EI0005", "%s: size differs "
                              "between ranks of communicator %s: rank %u has "
                              "%llu bytes, rank %u has %llu", call, c->name,
                              c->rank, (unsigned long long)size, i,
                              (unsigned long long)other);
                hcl_attempt_differs(c, what);
            }
        }
        free(m);
    }
    return rc;
}

HcclResult HcclCommSymWinRegister(HcclComm comm, void *addr, uint64_t size,
                                  HcclCommSymWindow *winHandle, uint32_t flag)
{
    static const char call[] = "HcclCommSymWinRegister";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    hcl_win *w = NULL;

    if (!c) {
        return rc;
    }
    if (!addr || !winHandle) {
        rc = hcl_null(call, addr ? "winHandle" : "addr");
    } else if (size == 0 || flag != 1) {
        rc = hcl_bad(HCCL_E_PARA, call, "size, flag", "1 or more, and 1",
                     "%llu, %u", (unsigned long long)size, flag);
    } else {
        pthread_mutex_lock(&c->chan_lock);
        rc = win_new(c, call, addr, size, &w);
        if (rc == HCCL_SUCCESS) {
            rc = agree(c, call, size, c->win_serial);
            if (rc == HCCL_SUCCESS) {
                pthread_mutex_lock(&c->lock);
                w->next = c->wins;
                c->wins = w;
                c->win_serial++;
                pthread_mutex_unlock(&c->lock);
                *winHandle = (HcclCommSymWindow)(uintptr_t)w->handle;
            } else {
                win_free(c, w);
            }
        }
        pthread_mutex_unlock(&c->chan_lock);
    }
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle)
{
    static const char call[] = "HcclCommSymWinDeregister";
    a350_symwin_obj *o;
    hcl_win *w, **p;
    hcl_comm *c;

    if (!winHandle) {
        return hcl_null(call, "winHandle");
    }
    w = win_of(winHandle);
    o = w ? a350_hbm_ptr(w->handle, sizeof(*o)) : NULL;
    c = o ? hcl_comm_by_object(o->comm) : NULL;
    if (!c) {
        return hcl_bad(HCCL_E_PARA, call, "winHandle", "a registered window",
                       "%p", winHandle);
    }
    pthread_mutex_lock(&c->lock);
    for (p = &c->wins; *p && *p != w; p = &(*p)->next) {
    }
    w = *p;
    if (w) {
        *p = w->next;
    }
    pthread_mutex_unlock(&c->lock);
    if (w) {
        win_free(c, w);
    }
    hcl_comm_put(c);
    return w ? HCCL_SUCCESS
             : hcl_bad(HCCL_E_PARA, call, "winHandle", "a registered window",
                       "%p (another thread deregisters it)", winHandle);
}

HcclResult HcclCommSymWinGet(HcclComm comm, void *ptr, size_t size,
                             HcclCommSymWindow *winHandle, size_t *offset)
{
    static const char call[] = "HcclCommSymWinGet";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    uint64_t addr = (uintptr_t)ptr;
    const hcl_win *w;

    if (!c) {
        return rc;
    }
    if (!ptr || !winHandle || !offset) {
        rc = hcl_null(call, !ptr ? "ptr" : winHandle ? "offset" : "winHandle");
        hcl_comm_put(c);
        return rc;
    }
    *winHandle = NULL;
    pthread_mutex_lock(&c->lock);
    for (w = c->wins; w; w = w->next) {
        if (addr >= w->addr && addr - w->addr <= w->size &&
            size <= w->size - (addr - w->addr)) {
            *winHandle = (HcclCommSymWindow)(uintptr_t)w->handle;
            *offset = addr - w->addr;
            break;
        }
    }
    pthread_mutex_unlock(&c->lock);
    hcl_comm_put(c);
    return HCCL_SUCCESS;
}

/* What a new channel carries: the peer's base of each window. */
void hcl_symwin_fill(hcl_comm *c, hcl_channel *ch)
{
    uint64_t *table;
    hcl_win *w;
    uint32_t i;

    pthread_mutex_lock(&c->lock);
    for (w = c->wins; w; w = w->next) {
        table = a350_hbm_ptr(w->peers, c->n_ranks * sizeof(*table));
        for (i = 0; table && i < ch->mem_num; i++) {
            if (!strcmp(ch->tags[i], w->mem->tag) &&
                ch->mems[i].size == w->size) {
                table[ch->peer] = (uintptr_t)ch->mems[i].addr;
            }
        }
    }
    pthread_mutex_unlock(&c->lock);
}
