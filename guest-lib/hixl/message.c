/*
 * HIXL: bodies of control messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * JSON but for notifies, whose texts are bytes. Both ends of a link are this
 * library (spec/api/hixl.md §4 allows any protocol then), yet nothing that
 * comes in is believed before it is checked.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hx.h"

#define MEM_MAX 65536u           /* regions in one answer */

static json_t *load(const void *text, size_t len, const char **why)
{
    json_error_t err;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &err);

    if (!root || !json_is_object(root)) {
        *why = root ? "not a JSON object" : "not JSON";
        json_decref(root);
        return NULL;
    }
    return root;
}

static char *dump(json_t *root)
{
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

    json_decref(root);
    return text;
}

/* ---- end points ---- */

char *hx_endpoints_encode(const hx_endpoints *p)
{
    json_t *list = json_array();
    char eid[33];
    int i;

    hx_eid_text(p->eid, eid);
    for (i = 0; i < HX_PROTO_NUM; i++) {
        if (p->proto[i]) {
            json_array_append_new(list, json_pack("{ssssss}",
                "protocol", hx_proto_name[i], "placement", "device",
                "comm_id", eid));
        }
    }
    return dump(json_pack("{sssssiso}", "engine", p->engine,
                          "net_instance_id", p->net_instance, "version", 1,
                          "endpoint_list", list));
}

/* One end point; those of protocols that are not ours are passed over. */
static bool one_endpoint(const json_t *j, hx_endpoints *p)
{
    const char *proto = json_string_value(json_object_get(j, "protocol"));
    const char *eid = json_string_value(json_object_get(j, "comm_id"));
    int i;

    if (!proto || !eid) {
        return false;
    }
    for (i = 0; i < HX_PROTO_NUM; i++) {
        if (strcmp(proto, hx_proto_name[i]) == 0) {
            p->proto[i] = true;
            return hx_eid_parse(eid, p->eid);
        }
    }
    return true;
}

static bool copy_text(char *to, size_t size, const json_t *j)
{
    if (!json_is_string(j) || json_string_length(j) >= size) {
        return false;
    }
    memcpy(to, json_string_value(j), json_string_length(j) + 1);
    return true;
}

bool hx_endpoints_decode(const void *text, size_t len, hx_endpoints *p,
                         const char **why)
{
    json_t *root = load(text, len, why), *list;
    bool good = false;
    size_t i;

    memset(p, 0, sizeof(*p));
    if (!root) {
        return false;
    }
    list = json_object_get(root, "endpoint_list");
    if (json_integer_value(json_object_get(root, "version")) != 1) {
        *why = "another protocol version";
    } else if (!copy_text(p->engine, sizeof(p->engine),
                          json_object_get(root, "engine")) ||
               !copy_text(p->net_instance, sizeof(p->net_instance),
                          json_object_get(root, "net_instance_id"))) {
        *why = "no engine name or net instance";
    } else if (!json_is_array(list) ||
               json_array_size(list) > HX_ENDPOINT_MAX) {
        *why = "no list of at most 16 end points";
    } else {
        good = true;
        for (i = 0; i < json_array_size(list) && good; i++) {
            good = one_endpoint(json_array_get(list, i), p);
        }
        *why = good ? NULL : "an end point without protocol or address";
    }
    json_decref(root);
    return good;
}

/* ---- memory ---- */

char *hx_mems_encode(const hx_table *t)
{
    json_t *list = json_array();
    const hx_mem *m;
    size_t i;

    for (i = 0; i < t->num; i++) {
        m = &t->mem[i];
        json_array_append_new(list, json_pack("{sisIsIsIsIss%}",
            "type", m->type, "addr", (json_int_t)m->addr,
            "size", (json_int_t)m->len, "token_id", (json_int_t)m->token_id,
            "token_value", (json_int_t)m->token_value, "tag", m->tag,
            strlen(m->tag)));
    }
    return dump(json_pack("{siso}", "result", 0, "mem_descs", list));
}

static bool number(const json_t *obj, const char *key, json_int_t min,
                   json_int_t max, json_int_t *v)
{
    const json_t *j = json_object_get(obj, key);

    *v = json_integer_value(j);
    return json_is_integer(j) && *v >= min && *v <= max;
}

static bool one_mem(const json_t *j, hx_mem *m)
{
    json_int_t type, addr, size, id, value;

    if (!number(j, "type", 0, 1, &type) ||
        !number(j, "addr", 1, INT64_MAX, &addr) ||
        !number(j, "size", 1, INT64_MAX - addr, &size) ||
        !number(j, "token_id", 0, A350_TOKEN_ID_MASK, &id) ||
        !number(j, "token_value", 0, UINT32_MAX, &value) ||
        !copy_text(m->tag, sizeof(m->tag), json_object_get(j, "tag"))) {
        return false;
    }
    m->type = (int)type;
    m->addr = (uint64_t)addr;
    m->len = (uint64_t)size;
    m->token_id = (uint32_t)id;
    m->token_value = (uint32_t)value;
    return true;
}

bool hx_mems_decode(const void *text, size_t len, hx_table *t,
                    const char **why)
{
    json_t *root = load(text, len, why), *list;
    bool good = false;
    size_t i, n;

    memset(t, 0, sizeof(*t));
    if (!root) {
        return false;
    }
    list = json_object_get(root, "mem_descs");
    n = json_array_size(list);
    *why = "no list of memory regions";
    if (json_is_array(list) && n <= MEM_MAX) {
        t->mem = calloc(n + 1, sizeof(t->mem[0]));
        good = t->mem != NULL;
        for (i = 0; i < n && good; i++) {
            good = one_mem(json_array_get(list, i), &t->mem[i]);
            *why = "a memory region with a value out of range";
        }
        t->num = good ? n : 0;
    }
    json_decref(root);
    if (good) {
        hx_table_sort(t);
    } else {
        hx_table_free(t);
    }
    return good;
}

/* ---- results ---- */

char *hx_result_encode(uint32_t code, const char *reason)
{
    return dump(json_pack("{sIss}", "result", (json_int_t)code, "reason",
                          reason ? reason : ""));
}

bool hx_result_decode(const void *text, size_t len, uint32_t *code,
                      char reason[128], const char **why)
{
    json_t *root = load(text, len, why);
    json_int_t v;
    bool good;

    if (!root) {
        return false;
    }
    good = number(root, "result", 0, UINT32_MAX, &v);
    *code = (uint32_t)v;
    *why = "no result";
    if (!copy_text(reason, 128, json_object_get(root, "reason"))) {
        reason[0] = '\0';
    }
    json_decref(root);
    return good;
}

/* ---- notifies: u64 id, u32 name length, u32 text length, bytes ---- */

bool hx_note_encode(hx_buf *b, const hx_note *n)
{
    uint8_t head[16];

    hx_put_le(head, n->id, 8);
    hx_put_le(head + 8, n->name_len, 4);
    hx_put_le(head + 12, n->msg_len, 4);
    return hx_buf_add(b, head, 16) && hx_buf_add(b, n->name, n->name_len) &&
           hx_buf_add(b, n->msg, n->msg_len);
}

bool hx_note_decode(const void *data, size_t len, hx_note *n)
{
    const uint8_t *p = data;

    if (len < 16) {
        return false;
    }
    n->id = hx_get_le(p, 8);
    n->name_len = (uint32_t)hx_get_le(p + 8, 4);
    n->msg_len = (uint32_t)hx_get_le(p + 12, 4);
    if (n->name_len > HX_NOTIFY_TEXT || n->msg_len > HX_NOTIFY_TEXT ||
        len != 16u + n->name_len + n->msg_len) {
        return false;
    }
    n->name = (const char *)p + 16;
    n->msg = n->name + n->name_len;
    return true;
}

void hx_ack_encode(uint8_t out[12], uint64_t id, uint32_t code)
{
    hx_put_le(out, id, 8);
    hx_put_le(out + 8, code, 4);
}

bool hx_ack_decode(const void *data, size_t len, uint64_t *id, uint32_t *code)
{
    if (len != 12) {
        return false;
    }
    *id = hx_get_le(data, 8);
    *code = (uint32_t)hx_get_le((const uint8_t *)data + 8, 4);
    return true;
}
