/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels of a communicator. spec/api/hccl-control-plane.md §7.
 *
 * Both ends leave an offer (jetty, notifies, memories) in each other's mailbox
 * under the same key and take the other's. Everything an offer names exists
 * before it is sent, so a channel works as soon as its owner has the peer's
 * offer, whether or not the peer has come as far.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

typedef struct job {
    hcl_channel *ch;             /* existing or new */
    bool made, sent;
} job;

/* ---- keys ---- */

static void hex(char *out, const uint8_t *b, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        sprintf(out + 2 * i, "%02x", b[i]);
    }
}

/* Of the operators' channels: no call of a program has as many equal ones. */
#define OWN_ORDINAL     HCL_CHANNELS_CALL_MAX

/*
 * The same text on both ends: engine, protocol, the two end points in rank
 * order, and the number among equal ones of the call.
 */
static void make_key(const hcl_comm *c, CommEngine engine,
                     const HcclChannelDesc *d, uint32_t ordinal,
                     char key[HCL_KEY])
{
    bool first = c->rank < d->remoteRank;
    char a[33], b[33];

    hex(a, d->localEndpoint.commAddr.eid, A350_EID_LEN);
    hex(b, d->remoteEndpoint.commAddr.eid, A350_EID_LEN);
    snprintf(key, HCL_KEY, "engine %d protocol %d %s-%s #%u", (int)engine,
             (int)d->channelProtocol, first ? a : b, first ? b : a, ordinal);
}

static hcl_channel *find(hcl_comm *c, uint32_t peer, const char *key)
{
    hcl_channel *ch;

    for (ch = c->channels; ch; ch = ch->next) {
        if (ch->peer == peer && !strcmp(ch->key, key)) {
            return ch;
        }
    }
    return NULL;
}

hcl_channel *hcl_channel_find(hcl_comm *c, ChannelHandle handle)
{
    hcl_channel *ch = hcl_handle_get(handle, HCL_CHANNEL);

    return ch && ch->comm == c ? ch : NULL;
}

/* ---- arguments ---- */

static HcclResult check_endpoint(const hcl_comm *c, const char *call,
                                 const char *name, const EndpointDesc *e,
                                 CommProtocol protocol, uint32_t rank)
{
    if (e->protocol != protocol) {
        return hcl_bad(HCCL_E_PARA, call, name, "the protocol of the channel "
                       "(use a link of HcclRankGraphGetLinks)", "%d (%s)",
                       (int)e->protocol, hcl_protocol_name(e->protocol));
    }
    if (e->commAddr.type != COMM_ADDR_TYPE_IP_V6 &&
        e->commAddr.type != COMM_ADDR_TYPE_EID) {
        return hcl_bad(HCCL_E_PARA, call, name, "address type IP_V6 (1) or "
                       "EID (3)", "%d", (int)e->commAddr.type);
    }
    if (memcmp(e->commAddr.eid, c->table[rank].eid, A350_EID_LEN)) {
        return hcl_bad(HCCL_E_PARA, call, name, "the address of that rank's "
                       "card (use a link of HcclRankGraphGetLinks)",
                       "address of another card for rank %u", rank);
    }
    return HCCL_SUCCESS;
}

static HcclResult check_desc(const hcl_comm *c, const char *call,
                             CommEngine engine, const HcclChannelDesc *d)
{
    HcclResult rc;

    if (d->header.magicWord != HCCL_CHANNEL_MAGIC_WORD) {
        return hcl_bad(HCCL_E_PARA, call, "channelDescs", "structures filled "
                       "by HcclChannelDescInit", "magic 0x%x",
                       d->header.magicWord);
    }
    if (d->remoteRank >= c->n_ranks || d->remoteRank == c->rank) {
        return hcl_bad(HCCL_E_PARA, call, "remoteRank", "another rank of the "
                       "communicator", "%u (of %u, this is %u)",
                       d->remoteRank, c->n_ranks, c->rank);
    }
    if (d->notifyNum > HCL_CHANNEL_NOTIFY_MAX) {
        return hcl_bad(HCCL_E_PARA, call, "notifyNum",
                       "0 to " HCL_TEXT(HCL_CHANNEL_NOTIFY_MAX), "%u",
                       d->notifyNum);
    }
    if (d->memHandleNum > HCL_MEMS_MAX && d->memHandles) {
        return hcl_bad(HCCL_E_PARA, call, "memHandleNum",
                       "0 to " HCL_TEXT(HCL_MEMS_MAX), "%u",
                       d->memHandleNum);
    }
    if (d->channelProtocol != COMM_PROTOCOL_UB_CTP) {
        return hcl_bad(HCCL_E_NOT_SUPPORT, call, "channelProtocol",
                       "UB_CTP (4), the only link between these cards",
                       "%d (%s) for engine %s", (int)d->channelProtocol,
                       hcl_protocol_name(d->channelProtocol),
                       hcl_engine_name(engine));
    }
    rc = check_endpoint(c, call, "localEndpoint", &d->localEndpoint,
                        d->channelProtocol, c->rank);
    if (rc == HCCL_SUCCESS) {
        rc = check_endpoint(c, call, "remoteEndpoint", &d->remoteEndpoint,
                            d->channelProtocol, d->remoteRank);
    }
    return rc;
}

static HcclResult check_call(const char *call, CommEngine engine,
                             const HcclChannelDesc *descs, uint32_t num,
                             const ChannelHandle *channels)
{
    if (!descs || !channels) {
        return hcl_null(call, descs ? "channels" : "channelDescs");
    }
    if (num == 0 || num > HCL_CHANNELS_CALL_MAX) {
        return hcl_bad(HCCL_E_PARA, call, "channelNum",
                       "1 to " HCL_TEXT(HCL_CHANNELS_CALL_MAX), "%u",
                       num);
    }
    if (engine < COMM_ENGINE_CPU || engine > COMM_ENGINE_CCU) {
        return hcl_bad(HCCL_E_PARA, call, "engine", "0 to 5", "%d",
                       (int)engine);
    }
    if (engine != COMM_ENGINE_AICPU && engine != COMM_ENGINE_AICPU_TS) {
        return hcl_bad(HCCL_E_NOT_SUPPORT, call, "engine", "AICPU 2 or "
                       "AICPU_TS 3 on this card", "%d (%s)", (int)engine,
                       hcl_engine_name(engine));
    }
    return HCCL_SUCCESS;
}

/* Equal descriptors before @i in the call. */
static uint32_t ordinal_of(const HcclChannelDesc *d, uint32_t i)
{
    uint32_t n = 0, k;

    for (k = 0; k < i; k++) {
        n += d[k].remoteRank == d[i].remoteRank &&
             d[k].channelProtocol == d[i].channelProtocol;
    }
    return n;
}

/* ---- set-up ---- */

/* The communicator's memories: its buffer first, then what was registered. */
static hcl_mem **list_mems(hcl_comm *c, uint32_t *n)
{
    hcl_mem **v, *m;
    hcl_win *w;

    pthread_mutex_lock(&c->lock);
    v = calloc(c->n_mems + 64u, sizeof(*v));
    *n = 0;
    if (v) {
        if (c->buffer_mem) {
            v[(*n)++] = c->buffer_mem;
        }
        for (m = c->mems; m; m = m->next) {
            v[(*n)++] = m;
        }
        for (w = c->wins; w && *n < c->n_mems + 63u; w = w->next) {
            v[(*n)++] = w->mem;
        }
    }
    pthread_mutex_unlock(&c->lock);
    return v;
}

static HcclResult send_offer(hcl_comm *c, hcl_channel *ch, uint64_t deadline)
{
    a350_mem_token drain = { c->drain_const, 8, c->drain_token,
                             c->drain_token_value };
    char key[HCL_KEY];
    hcl_offer *offer;
    hcl_mem **mems;
    uint32_t n, len;
    HcclResult rc;

    mems = list_mems(c, &n);
    if (!mems) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    rc = hcl_offer_make(ch, c->rank, mems, n, c->exchange, c->exchange_len,
                        &drain, &offer, &len);
    free(mems);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    hcl_attempt_key(c, ch->key, key);
    rc = hcl_mail_send(&c->table[ch->peer], c->rank, c->nonce, HCL_MAIL_OFFER,
                       key, offer, len, deadline);
    free(offer);
    return rc;
}

static HcclResult never_came(hcl_comm *c, const hcl_channel *ch)
{
    const hcl_rank_info *p = &c->table[ch->peer];
    char other[HCL_KEY] = "";

    if (hcl_mail_other(c->box, ch->peer, HCL_MAIL_OFFER, other)) {
        return hcl_fail(HCCL_E_TIMEOUT, "EI0006", "channel to rank %u of "
                        "communicator %s: the peer did not offer (%s) within "
                        "%u s; it offers (%s): engine and order of the "
                        "descriptors must be the same on both ends",
                        ch->peer, c->name, ch->key, hcl_connect_limit(),
                        other);
    }
    return hcl_fail(HCCL_E_TIMEOUT, "EI0006", "channel to rank %u (%s:%u, "
                    "process %u%s, card %u) of communicator %s: the peer did "
                    "not call HcclChannelAcquire or the operator within %u s "
                    "(HCCL_CONNECT_TIMEOUT)", ch->peer, p->ip, p->port, p->pid,
                    hcl_peer_state(p), p->card_index, c->name,
                    hcl_connect_limit());
}

/* Where the operators' arguments differ: they are the caller's own bytes. */
static HcclResult exchange_differs(const hcl_comm *c, const hcl_channel *ch)
{
    const uint8_t *mine = c->exchange, *theirs = ch->exchange;
    uint32_t len = c->exchange_len < ch->exchange_len ? c->exchange_len
                                                      : ch->exchange_len;
    uint32_t at = 0;
    char where[96] = "";

    while (at < len && mine[at] == theirs[at]) {
        at++;
    }
    if (at < len) {
        snprintf(where, sizeof(where), "; the first difference is byte %u: "
                 "0x%02x here, 0x%02x there", at, mine[at], theirs[at]);
    }
    return hcl_fail(HCCL_E_PARA, "EI0005", "exchange info (operator "
                    "arguments) of communicator %s differs between ranks: "
                    "this rank %u has %u bytes, rank %u has %u%s", c->name,
                    c->rank, c->exchange_len, ch->peer, ch->exchange_len,
                    where);
}

static HcclResult compare_exchange(const hcl_comm *c, const hcl_channel *ch)
{
    const hcl_env *env;
    HcclResult rc = hcl_env_get(&env);

    if (rc != HCCL_SUCCESS || !env->inconsistent_check) {
        return rc;
    }
    if (!c->exchange_len && !ch->exchange_len) {
        return HCCL_SUCCESS;
    }
    if (c->exchange_len != ch->exchange_len ||
        memcmp(c->exchange, ch->exchange, c->exchange_len)) {
        return exchange_differs(c, ch);
    }
    return HCCL_SUCCESS;
}

static HcclResult finish(hcl_comm *c, hcl_channel *ch, uint64_t deadline)
{
    char key[HCL_KEY];
    hcl_mem **mems;
    uint32_t n;
    hcl_mail *mail;
    HcclResult rc;

    hcl_attempt_key(c, ch->key, key);
    mail = hcl_mail_take(c->box, ch->peer, HCL_MAIL_OFFER, key, deadline);
    if (!mail) {
        return never_came(c, ch);
    }
    mems = list_mems(c, &n);
    if (!mems) {
        free(mail);
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    /* Mail data is not aligned for the structure. */
    {
        hcl_offer *o = malloc(mail->len + sizeof(*o));

        if (o) {
            memcpy(o, mail->data, mail->len);
            rc = hcl_channel_connect(ch, c->rank, o, mail->len,
                                     c->table[ch->peer].eid, mems, n,
                                     c->object);
            free(o);
        } else {
            rc = hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
        }
    }
    free(mems);
    free(mail);
    if (rc == HCCL_SUCCESS) {
        rc = compare_exchange(c, ch);
    }
    if (rc == HCCL_SUCCESS) {
        hcl_symwin_fill(c, ch);
    }
    return rc;
}

static HcclResult start(hcl_comm *c, CommEngine engine,
                        const HcclChannelDesc *d, const char *key, job *j)
{
    hcl_channel *ch = calloc(1, sizeof(*ch));

    if (!ch) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    ch->comm = c;
    ch->card = c->card;
    ch->engine = engine;
    ch->protocol = d->channelProtocol;
    ch->peer = d->remoteRank;
    ch->notify_num = d->notifyNum;
    snprintf(ch->key, sizeof(ch->key), "%s", key);
    j->ch = ch;
    j->made = true;
    return hcl_channel_prepare(ch, c->rank, c->set.sq_depth, c->name,
                               c->table[ch->peer].eid);
}

/* All offers first: two ranks then never wait for each other in a circle. */
static HcclResult acquire_all(hcl_comm *c, const char *call, CommEngine engine,
                              const HcclChannelDesc *descs, uint32_t num,
                              uint32_t ordinal, job *jobs)
{
    uint64_t deadline = hcl_connect_deadline();
    HcclResult rc = HCCL_SUCCESS;
    bool differs = false;
    char key[HCL_KEY];
    uint32_t i;

    for (i = 0; i < num && rc == HCCL_SUCCESS; i++) {
        rc = check_desc(c, call, engine, &descs[i]);
    }
    for (i = 0; i < num && rc == HCCL_SUCCESS; i++) {
        make_key(c, engine, &descs[i], ordinal + ordinal_of(descs, i), key);
        jobs[i].ch = find(c, descs[i].remoteRank, key);
        if (!jobs[i].ch) {
            rc = start(c, engine, &descs[i], key, &jobs[i]);
        }
        if (rc == HCCL_SUCCESS && jobs[i].made) {
            rc = send_offer(c, jobs[i].ch, deadline);
        }
    }
    for (i = 0; i < num && rc == HCCL_SUCCESS; i++) {
        if (jobs[i].made) {
            rc = finish(c, jobs[i].ch, deadline);
            differs = rc == HCCL_E_PARA;
        }
    }
    for (i = 0; i < num && differs; i++) {
        if (jobs[i].made) {
            hcl_attempt_differs(c, jobs[i].ch->key);
        }
    }
    return rc;
}

static HcclResult channel_acquire(HcclComm comm, const char *call,
                                  CommEngine engine,
                                  const HcclChannelDesc *channelDescs,
                                  uint32_t channelNum, uint32_t ordinal,
                                  ChannelHandle *channels)
{
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    job *jobs = NULL;
    uint32_t i;

    if (!c) {
        return rc;
    }
    rc = check_call(call, engine, channelDescs, channelNum, channels);
    if (rc == HCCL_SUCCESS) {
        jobs = calloc(channelNum, sizeof(*jobs));
        if (!jobs) {
            rc = hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
        }
    }
    if (rc == HCCL_SUCCESS) {
        pthread_mutex_lock(&c->chan_lock);
        rc = acquire_all(c, call, engine, channelDescs, channelNum, ordinal,
                         jobs);
        for (i = 0; i < channelNum; i++) {
            if (jobs[i].made && rc != HCCL_SUCCESS) {
                hcl_channel_free(jobs[i].ch);
            } else if (rc == HCCL_SUCCESS) {
                channels[i] = jobs[i].ch->device;
                if (jobs[i].made) {
                    pthread_mutex_lock(&c->lock);
                    jobs[i].ch->next = c->channels;
                    c->channels = jobs[i].ch;
                    pthread_mutex_unlock(&c->lock);
                }
            }
        }
        pthread_mutex_unlock(&c->chan_lock);
    }
    free(jobs);
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclChannelAcquire(HcclComm comm, CommEngine engine,
                              const HcclChannelDesc *channelDescs,
                              uint32_t channelNum, ChannelHandle *channels)
{
    return channel_acquire(comm, "HcclChannelAcquire", engine, channelDescs,
                           channelNum, 0, channels);
}

HcclResult hcl_channels_own(HcclComm comm, const HcclChannelDesc *descs,
                            uint32_t num, ChannelHandle *channels)
{
    return channel_acquire(comm, "channels of the operators",
                           COMM_ENGINE_AICPU_TS, descs, num, OWN_ORDINAL,
                           channels);
}

/* ---- configuration ---- */

HcclResult hcl_channel_config_new(const char *call, void **config)
{
    if (!config) {
        return hcl_null(call, "config");
    }
    *config = calloc(1, sizeof(hcl_channel_config));
    return *config ? HCCL_SUCCESS
                   : hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
}

HcclResult hcl_channel_config_int(const char *call, void *config, int type,
                                  uint32_t value)
{
    if (!config) {
        return hcl_null(call, "config");
    }
    if (type != HCCL_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE) {
        return hcl_bad(HCCL_E_PARA, call, "type", "IS_SHARED_QUEUE (0)", "%d",
                       type);
    }
    ((hcl_channel_config *)config)->shared = value;
    return HCCL_SUCCESS;
}

HcclResult hcl_channel_config_check(const char *call, const void *config)
{
    const hcl_channel_config *cfg = config;

    if (!cfg || !cfg->shared) {
        return HCCL_SUCCESS;
    }
    return hcl_bad(HCCL_E_NOT_SUPPORT, call, "config", "no shared queue: that "
                   "is for engine AIV", "IS_SHARED_QUEUE %u", cfg->shared);
}

HcclResult HcclChannelAcquireWithConfig(HcclComm comm, CommEngine engine,
                                        const HcclChannelDesc *channelDescs,
                                        uint32_t channelNum,
                                        HcclChannelConfig config,
                                        ChannelHandle *channels)
{
    HcclResult rc = hcl_channel_config_check("HcclChannelAcquireWithConfig",
                                             config);

    return rc != HCCL_SUCCESS ? rc : HcclChannelAcquire(comm, engine,
                                                        channelDescs,
                                                        channelNum, channels);
}

HcclResult HcclChannelConfigCreate(HcclChannelConfig *config)
{
    return hcl_channel_config_new("HcclChannelConfigCreate", config);
}

HcclResult HcclChannelConfigDestroy(HcclChannelConfig config)
{
    free(config);
    return HCCL_SUCCESS;
}

HcclResult HcclChannelConfigSetInt(HcclChannelConfig config,
                                   HcclChannelConfigType type, uint32_t value)
{
    return hcl_channel_config_int("HcclChannelConfigSetInt", config,
                                  (int)type, value);
}

HcclResult HcclChannelConfigSetStr(HcclChannelConfig config,
                                   HcclChannelConfigType type,
                                   const char *value)
{
    hcl_channel_config *cfg = config;

    if (!config || !value) {
        return hcl_null("HcclChannelConfigSetStr", config ? "value"
                                                          : "config");
    }
    if (type != HCCL_CHANNEL_CONFIG_TYPE_SHARED_QUEUE_TAG ||
        strlen(value) > HCL_QUEUE_TAG_MAX) {
        return hcl_bad(HCCL_E_PARA, "HcclChannelConfigSetStr", "type, value",
                       "SHARED_QUEUE_TAG (1) and at most "
                       HCL_TEXT(HCL_QUEUE_TAG_MAX) " characters",
                       "%d, %zu characters", (int)type, strlen(value));
    }
    strcpy(cfg->tag, value);
    return HCCL_SUCCESS;
}

/* ---- questions ---- */

HcclResult HcclChannelQuery(HcclComm comm, CommEngine engine,
                            const HcclChannelDesc *channelDescs,
                            uint32_t channelNum, ChannelHandle *channels)
{
    static const char call[] = "HcclChannelQuery";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    const hcl_channel *ch;
    char key[HCL_KEY];
    uint32_t i;

    if (!c) {
        return rc;
    }
    rc = check_call(call, engine, channelDescs, channelNum, channels);
    for (i = 0; i < channelNum && rc == HCCL_SUCCESS; i++) {
        rc = check_desc(c, call, engine, &channelDescs[i]);
        if (rc == HCCL_SUCCESS) {
            make_key(c, engine, &channelDescs[i],
                     ordinal_of(channelDescs, i), key);
            pthread_mutex_lock(&c->lock);
            ch = find(c, channelDescs[i].remoteRank, key);
            pthread_mutex_unlock(&c->lock);
            channels[i] = ch ? ch->device : 0;
        }
    }
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclChannelDestroy(HcclComm comm, const ChannelHandle *channels,
                              uint32_t channelNum)
{
    static const char call[] = "HcclChannelDestroy";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    HcclResult first = HCCL_SUCCESS, one;
    uint32_t i;

    if (!c) {
        return rc;
    }
    if (!channels) {
        first = hcl_null(call, "channels");
    }
    for (i = 0; channels && i < channelNum; i++) {
        if (hcl_channel_find(c, channels[i])) {
            one = hcl_bad(HCCL_E_NOT_SUPPORT, call, "channels", "channels of "
                          "engine CCU; others end with the communicator",
                          "0x%llx", (unsigned long long)channels[i]);
        } else {
            one = hcl_bad(HCCL_E_NOT_FOUND, call, "channels", "channels of "
                          "this communicator", "0x%llx",
                          (unsigned long long)channels[i]);
        }
        first = first == HCCL_SUCCESS ? one : first;
    }
    hcl_comm_put(c);
    return first;
}

static HcclResult no_channel(HcclResult rc, const char *call, const hcl_comm *c,
                             ChannelHandle channel)
{
    return hcl_bad(rc, call, "channel", "a channel of this communicator",
                   "0x%llx (communicator %s)", (unsigned long long)channel,
                   c->name);
}

HcclResult HcclChannelGetHcclBuffer(HcclComm comm, ChannelHandle channel,
                                    void **buffer, uint64_t *size)
{
    static const char call[] = "HcclChannelGetHcclBuffer";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    hcl_channel *ch;

    if (!c) {
        return rc;
    }
    ch = hcl_channel_find(c, channel);
    if (!buffer || !size) {
        rc = hcl_null(call, buffer ? "size" : "buffer");
    } else if (!ch || !ch->mem_num) {
        rc = no_channel(HCCL_E_INTERNAL, call, c, channel);
    } else {
        *buffer = ch->mems[0].addr;
        *size = ch->mems[0].size;
    }
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclChannelGetRemoteMems(HcclComm comm, ChannelHandle channel,
                                    uint32_t *memNum, CommMem **remoteMems,
                                    char ***memTags)
{
    static const char call[] = "HcclChannelGetRemoteMems";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    hcl_channel *ch;

    if (!c) {
        return rc;
    }
    ch = hcl_channel_find(c, channel);
    if (!memNum || !remoteMems || !memTags) {
        rc = hcl_null(call, !memNum ? "memNum" : !remoteMems ? "remoteMems"
                      : "memTags");
    } else if (!ch) {
        rc = no_channel(HCCL_E_NOT_FOUND, call, c, channel);
    } else {
        *memNum = ch->mem_num;
        *remoteMems = ch->mems;
        *memTags = ch->tags;
    }
    hcl_comm_put(c);
    return rc;
}

HcclResult HcclChannelGetNotifyNum(HcclComm comm, ChannelHandle channel,
                                   uint32_t *notifyNum)
{
    static const char call[] = "HcclChannelGetNotifyNum";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);
    hcl_channel *ch;

    if (!c) {
        return rc;
    }
    ch = hcl_channel_find(c, channel);
    if (!notifyNum) {
        rc = hcl_null(call, "notifyNum");
    } else if (!ch) {
        rc = no_channel(HCCL_E_NOT_FOUND, call, c, channel);
    } else {
        *notifyNum = ch->notify_num;
    }
    hcl_comm_put(c);
    return rc;
}
