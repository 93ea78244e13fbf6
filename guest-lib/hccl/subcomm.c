/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sub-communicators. spec/api/hccl-control-plane.md §4.
 *
 * The members know each other from the parent's table; they agree through the
 * parent's mailboxes. The new communicator's nonce is a digest of the parent's
 * and of the split, so that it needs no root.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

#define NOT_MEMBER 0xffffffffull

static const char call[] = "HcclCreateSubCommConfig";

/* FNV-1a, twice with different starts: names a group, protects nothing. */
static void digest(uint8_t out[HCL_NONCE], const void *const *part,
                   const size_t *len, int n)
{
    uint64_t h[2] = { 1469598103934665603ull, 0x9e3779b97f4a7c15ull };
    int k, i;

    for (k = 0; k < 2; k++) {
        for (i = 0; i < n; i++) {
            const uint8_t *p = part[i];
            size_t b;

            for (b = 0; b < len[i]; b++) {
                h[k] = (h[k] ^ p[b]) * 1099511628211ull;
            }
        }
    }
    memcpy(out, h, HCL_NONCE);
}

static HcclResult check_members(const hcl_comm *c, const uint32_t *ids,
                                uint32_t n, uint32_t sub_rank)
{
    uint32_t i;
    bool self = false;

    if (n == 0 || n > c->n_ranks) {
        return hcl_bad(HCCL_E_PARA, call, "rankNum", "1 to the ranks of the "
                       "communicator", "%u of %u", n, c->n_ranks);
    }
    for (i = 0; i < n; i++) {
        if (ids[i] >= c->n_ranks) {
            return hcl_bad(HCCL_E_PARA, call, "rankIds", "ranks of the "
                           "communicator", "%u of %u", ids[i], c->n_ranks);
        }
        if (i && ids[i] <= ids[i - 1]) {
            return hcl_bad(HCCL_E_PARA, call, "rankIds", "ascending, each "
                           "once", "%u after %u", ids[i], ids[i - 1]);
        }
        self |= ids[i] == c->rank;
    }
    if (!self) {
        return hcl_bad(HCCL_E_NOT_FOUND, call, "rankIds", "a list with the "
                       "calling rank in it", "rank %u is not there", c->rank);
    }
    if (sub_rank >= n || ids[sub_rank] != c->rank) {
        return hcl_bad(HCCL_E_PARA, call, "subCommRankId", "the place of the "
                       "calling rank in rankIds", "%u", sub_rank);
    }
    return HCCL_SUCCESS;
}

static HcclResult compare(const hcl_comm *c, const hcl_settings *mine,
                          const hcl_mail *m)
{
    char text[512], number[8];
    hcl_settings o;

    if (m->len != sizeof(o)) {
        return hcl_fail(HCCL_E_NETWORK, "EI0015", "%s: broken data from rank "
                        "%u", call, m->src);
    }
    memcpy(&o, m->data, sizeof(o));
    o.name[sizeof(o.name) - 1] = '\0';
    o.version[sizeof(o.version) - 1] = '\0';
    o.algo[sizeof(o.algo) - 1] = '\0';
    if (hcl_settings_differ(mine, c->rank, &o, m->src, text, sizeof(text))) {
        snprintf(number, sizeof(number), "%.6s", text);
        return hcl_fail(HCCL_E_PARA, number, "%s (ranks of %s): %s", call,
                        c->name, text + 7);
    }
    return HCCL_SUCCESS;
}

/* Every member tells every other; all must have come. */
static HcclResult meet(hcl_comm *c, const uint32_t *ids, uint32_t n,
                       const char *what, const hcl_settings *set)
{
    uint64_t deadline = hcl_connect_deadline();
    HcclResult rc = HCCL_SUCCESS;
    char key[HCL_KEY];
    hcl_mail *m;
    uint32_t i;

    hcl_attempt_key(c, what, key);
    for (i = 0; i < n && rc == HCCL_SUCCESS; i++) {
        if (ids[i] != c->rank) {
            rc = hcl_mail_send(&c->table[ids[i]], c->rank, c->nonce,
                               HCL_MAIL_SUBCOMM, key, set, sizeof(*set),
                               deadline);
        }
    }
    for (i = 0; i < n && rc == HCCL_SUCCESS; i++) {
        if (ids[i] == c->rank) {
            continue;
        }
        m = hcl_mail_take(c->box, ids[i], HCL_MAIL_SUBCOMM, key, deadline);
        if (!m) {
            rc = hcl_fail(HCCL_E_TIMEOUT, "EI0015", "%s: rank %u of %s "
                          "(process %u%s) did not come to %s within %u s",
                          call, ids[i], c->name, c->table[ids[i]].pid,
                          hcl_peer_state(&c->table[ids[i]]), set->name,
                          hcl_connect_limit());
        } else {
            rc = compare(c, set, m);
            if (rc == HCCL_E_PARA) {
                hcl_attempt_differs(c, what);
            }
        }
        free(m);
    }
    return rc;
}

static hcl_rank_info *make_table(const hcl_comm *c, const uint32_t *ids,
                                 uint32_t n)
{
    hcl_rank_info *t = calloc(n, sizeof(*t));
    uint32_t i;

    for (i = 0; t && i < n; i++) {
        t[i] = c->table[ids[i]];
        t[i].rank = i;
    }
    return t;
}

static HcclResult create(hcl_comm *c, uint32_t n, const uint32_t *ids,
                         uint64_t id, uint32_t sub_rank,
                         const HcclCommConfig *config, HcclComm *out)
{
    const void *part[] = { c->nonce, &id, NULL, ids };
    size_t len[] = { HCL_NONCE, sizeof(id), 0, n * sizeof(*ids) };
    char name[COMM_NAME_MAX_LENGTH], key[HCL_KEY];
    uint8_t nonce[HCL_NONCE];
    hcl_settings set;
    hcl_rank_info self, *table;
    a350_card *card;
    hcl_box *box;
    HcclResult rc;

    snprintf(name, sizeof(name), "%.90s_sub_%llu", c->name,
             (unsigned long long)id);
    rc = hcl_comm_prepare(call, config, n, sub_rank, name, &set, &self, &card);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    if (card != c->card) {
        return hcl_bad(HCCL_E_PARA, call, "comm", "a communicator of the "
                       "current device", "device %d, current is %d",
                       c->device, a350_current_device());
    }
    part[2] = set.name;
    len[2] = strlen(set.name);
    digest(nonce, part, len, 4);
    table = make_table(c, ids, n);
    box = hcl_box_new(nonce, sub_rank);
    if (!table || !box) {
        free(table);
        hcl_box_free(box);
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    /* Different member lists never meet; then the limit tells. */
    snprintf(key, sizeof(key), "%llu %.60s", (unsigned long long)id, set.name);
    rc = meet(c, ids, n, key, &set);
    if (rc != HCCL_SUCCESS) {
        free(table);
        hcl_box_free(box);
        return rc;
    }
    return hcl_comm_create(set.name, false, c, nonce, box, table, &set,
                           sub_rank, config, out);
}

HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum,
                                   uint32_t *rankIds, uint64_t subCommId,
                                   uint32_t subCommRankId,
                                   HcclCommConfig *config, HcclComm *subComm)
{
    HcclResult rc;
    hcl_comm *c;

    if (!comm) {
        return hcl_null(call, "comm");
    }
    if (!rankIds && subCommId == NOT_MEMBER) {
        return HCCL_SUCCESS;     /* not a member: nothing to do */
    }
    if (!rankIds || !config || !subComm) {
        return hcl_null(call, !rankIds ? "rankIds" : config ? "subComm"
                        : "config");
    }
    c = hcl_comm_get(*comm, call, &rc);
    if (!c) {
        return rc;
    }
    if (!c->world) {
        rc = hcl_bad(HCCL_E_INTERNAL, call, "comm", "not itself a "
                     "sub-communicator", "%s", c->name);
    } else if (config->hcclBufferSize == 0) {
        rc = hcl_bad(HCCL_E_PARA, call, "hcclBufferSize", "MiB, 1 or more",
                     "0");
    } else {
        rc = check_members(c, rankIds, rankNum, subCommRankId);
    }
    if (rc == HCCL_SUCCESS) {
        rc = create(c, rankNum, rankIds, subCommId, subCommRankId, config,
                    subComm);
    }
    hcl_comm_put(c);
    return rc;
}
