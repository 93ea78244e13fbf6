/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do all ranks call the same operator with the same arguments? Asked when an
 * operator is the first of its name on a communicator (HCCL_DFS_CONFIG,
 * inconsistent_check). Nobody waits for an answer: each rank tells all others
 * and goes on; who has both sides first, its caller or the thread that takes
 * messages, compares them. spec/api/hccl-collectives.md §3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

#define SEND_NS 2000000000ull
#define EI0005  "EI0005: "

static void key_of(uint32_t n, char key[HCL_KEY])
{
    snprintf(key, HCL_KEY, "operator %u", n);
}

/* The first field that differs; both values as text. */
static const char *differs(const hcl_op *a, const hcl_op *b, char x[32],
                           char y[32])
{
    const struct { const char *name; int64_t a, b; } field[] = {
        { "dataType", a->type, b->type }, { "op", a->op, b->op },
        { "root", a->root, b->root },
        { "count", (int64_t)a->count, (int64_t)b->count },
    };
    size_t i;

    for (i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
        if (field[i].a != field[i].b) {
            snprintf(x, 32, "%lld", (long long)field[i].a);
            snprintf(y, 32, "%lld", (long long)field[i].b);
            return field[i].name;
        }
    }
    if (a->digest != b->digest) {
        strcpy(x, "other ones");
        strcpy(y, "its own");
        return "counts, displacements";
    }
    return NULL;
}

/* What is wrong between this rank's @a and @b of @peer; false: nothing. */
static bool explain(const hcl_comm *c, uint32_t n, const hcl_op *a,
                    const hcl_op *b, uint32_t peer, char *text, size_t len)
{
    char x[32], y[32];
    const char *name;

    if (strcmp(a->name, b->name)) {
        snprintf(text, len, "communicator %s: rank %u calls %s where rank %u "
                 "calls %s (kind %u of operator): all ranks must call the "
                 "operators of a communicator in the same order", c->name,
                 c->rank, a->name, peer, b->name, n + 1);
        return true;
    }
    name = differs(a, b, x, y);
    if (name) {
        snprintf(text, len, "%s, communicator %s: parameter %s differs: rank "
                 "%u has %s, rank %u has %s", a->name, c->name, name, c->rank,
                 x, peer, y);
    }
    return name != NULL;
}

/* Takes what @peer said about operator @n, if it has come, and compares. */
static bool compare(hcl_comm *c, uint32_t n, uint32_t peer, char *text,
                    size_t len)
{
    char key[HCL_KEY];
    hcl_mail *m;
    hcl_op op;
    bool bad = false;

    key_of(n, key);
    m = hcl_mail_take(c->box, peer, HCL_MAIL_OPERATOR, key, 0);
    if (m && m->len == sizeof(op)) {
        memcpy(&op, m->data, sizeof(op));
        op.name[sizeof(op.name) - 1] = '\0';
        bad = explain(c, n, &c->ops[n], &op, peer, text, len);
    }
    free(m);
    return bad;
}

static void told(hcl_comm *c, const char *text)
{
    char full[sizeof(c->first_error)];

    snprintf(full, sizeof(full), EI0005 "%.480s", text);
    hcl_comm_fail(c, ACL_ERROR_RT_TS_ERROR, full);
}

static uint32_t known(hcl_comm *c)
{
    uint32_t n;

    pthread_mutex_lock(&c->lock);
    n = c->n_ops;
    pthread_mutex_unlock(&c->lock);
    return n;
}

void hcl_op_arrived(const uint8_t nonce[HCL_NONCE], uint32_t rank,
                    uint32_t peer)
{
    hcl_comm *c = hcl_comm_by_nonce(nonce, rank);
    char text[512];
    uint32_t n, num;

    if (!c) {
        return;
    }
    num = peer < c->n_ranks ? known(c) : 0;
    for (n = 0; n < num; n++) {
        if (compare(c, n, peer, text, sizeof(text))) {
            told(c, text);
        }
    }
    hcl_comm_put(c);
}

/* False: it is not the first of its name. */
static bool note(hcl_comm *c, const hcl_op *op, uint32_t *n)
{
    bool fresh;

    pthread_mutex_lock(&c->lock);
    for (*n = 0; *n < c->n_ops && strcmp(c->ops[*n].name, op->name); ++*n) {
    }
    fresh = *n == c->n_ops && *n < HCL_OPS_MAX;
    if (fresh) {
        c->ops[c->n_ops++] = *op;
    }
    pthread_mutex_unlock(&c->lock);
    return fresh;
}

static HcclResult agree(hcl_comm *c, uint32_t n)
{
    char key[HCL_KEY], text[512];
    uint32_t i;

    key_of(n, key);
    for (i = 0; i < c->n_ranks; i++) {
        /* One that cannot be reached will be missed by the operator. */
        if (i != c->rank) {
            hcl_mail_send(&c->table[i], c->rank, c->nonce, HCL_MAIL_OPERATOR,
                          key, &c->ops[n], sizeof(c->ops[n]),
                          hcl_now_ns() + SEND_NS);
        }
    }
    for (i = 0; i < c->n_ranks; i++) {
        if (i != c->rank && compare(c, n, i, text, sizeof(text))) {
            told(c, text);
        }
    }
    /* It may have been found as a message came. */
    if (hcl_comm_failed(c, text, sizeof(text)) &&
        !strncmp(text, EI0005, strlen(EI0005))) {
        return hcl_fail(HCCL_E_PARA, "EI0005", "%s", text + strlen(EI0005));
    }
    return HCCL_SUCCESS;
}

HcclResult hcl_op_agree(HcclComm comm, const hcl_op *op)
{
    const hcl_env *env;
    HcclResult rc = hcl_env_get(&env);
    hcl_comm *c;
    uint32_t n;

    if (rc != HCCL_SUCCESS || !env->inconsistent_check) {
        return rc;
    }
    c = hcl_comm_get(comm, op->name, &rc);
    if (!c) {
        return rc;
    }
    if (note(c, op, &n)) {
        rc = agree(c, n);
    }
    hcl_comm_put(c);
    return rc;
}
