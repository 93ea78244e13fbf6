/*
 * HIXL: options of Initialize.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys, ranges and defaults: spec/api/hixl.md §2. A wrong value is
 * HX_PARAM_INVALID and named with its key; a key that is not known is ignored
 * with a warning, and so is what only other products have.
 */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "hx.h"

const char *const hx_proto_name[HX_PROTO_NUM] = { "ub_ctp", "uboe", "ub_rtp" };

void hx_options_default(hx_options *o)
{
    memset(o, 0, sizeof(*o));
    o->max_channels = 128;
    o->pool_threads = 2;
    o->pool_queue = 128;
    o->traffic_class = 132;
    o->service_level = 4;
    o->proto[HX_UB_CTP] = true;
}

/* ---- numbers ---- */

static bool parse_number(const char *s, long min, long max, uint32_t *v)
{
    char *end;
    long n;

    if (*s < '0' || *s > '9') {
        return false;
    }
    n = strtol(s, &end, 10);
    if (*end || n < min || n > max) {
        return false;
    }
    *v = (uint32_t)n;
    return true;
}

static uint32_t bad_value(const char *key, const char *value,
                          const char *legal)
{
    return hx_err(HX_PARAM_INVALID, "option %s: value \"%.200s\" is not %s",
                  key, value, legal);
}

/* A JSON number, or a string of digits. */
static uint32_t json_number(const char *key, const json_t *j, long min,
                            long max, uint32_t *v)
{
    char text[32] = "(not a number)", legal[80];

    if (json_is_integer(j)) {
        snprintf(text, sizeof(text), "%lld",
                 (long long)json_integer_value(j));
    } else if (json_is_string(j)) {
        snprintf(text, sizeof(text), "%s", json_string_value(j));
    }
    if (parse_number(text, min, max, v)) {
        return HX_OK;
    }
    snprintf(legal, sizeof(legal), "a number from %ld to %ld", min, max);
    return bad_value(key, text, legal);
}

/* ---- protocols ---- */

static const struct {
    const char *name;
    enum hx_proto proto;
    bool other_product, host;
} protocols[] = {
    { "ub_ctp", HX_UB_CTP, false, true },
    { "uboe", HX_UBOE, false, false },
    { "ub_rtp", HX_UB_RTP, false, false },
    { "hccs", HX_UB_CTP, true, true },
    { "roce", HX_UB_CTP, true, true },
};

/*
 * One protocol of this engine; @placement "device" or "host". Names that this
 * card has not, stand for its link, so that what was written for other
 * products runs.
 */
static bool add_protocol(hx_options *o, const char *name,
                         const char *placement)
{
    bool host = strcmp(placement, "host") == 0;
    size_t i;

    if (!host && strcmp(placement, "device") != 0) {
        return false;
    }
    for (i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
        if (strcmp(name, protocols[i].name) == 0) {
            break;
        }
    }
    if (i == sizeof(protocols) / sizeof(protocols[0]) ||
        (host && !protocols[i].host)) {
        return false;
    }
    if ((host || protocols[i].other_product) && !o->foreign) {
        o->foreign = true;       /* one warning is enough */
        hx_warn("protocol %s:%s is not one of this card: its UB link "
                "(ub_ctp:device) is used", name, placement);
    }
    o->proto[protocols[i].proto] = true;
    return true;
}

static uint32_t one_desc(hx_options *o, const json_t *j)
{
    static const char key[] = "comm_resource_config.protocol_desc";
    const char *s = json_string_value(j), *colon;
    char name[32];

    colon = s ? strchr(s, ':') : NULL;
    if (colon && (size_t)(colon - s) < sizeof(name)) {
        memcpy(name, s, (size_t)(colon - s));
        name[colon - s] = '\0';
        if (add_protocol(o, name, colon + 1)) {
            return HX_OK;
        }
    }
    return bad_value(key, s ? s : "(not a string)", "PROTOCOL:PLACEMENT with "
                     "ub_ctp, hccs, roce (device, host), uboe, ub_rtp "
                     "(device)");
}

static uint32_t protocol_desc(hx_options *o, const json_t *j)
{
    uint32_t ret = HX_OK;
    size_t i;

    memset(o->proto, 0, sizeof(o->proto));
    if (json_is_array(j) && json_array_size(j) > 0) {
        for (i = 0; i < json_array_size(j) && ret == HX_OK; i++) {
            ret = one_desc(o, json_array_get(j, i));
        }
    } else {
        ret = one_desc(o, j);
    }
    if (ret == HX_OK && o->proto[HX_UBOE] && o->proto[HX_UB_RTP]) {
        ret = bad_value("comm_resource_config.protocol_desc",
                        "uboe and ub_rtp", "one of the two");
    }
    return ret;
}

/* ---- LocalCommRes ---- */

static const char *json_text(const json_t *obj, const char *key)
{
    return json_string_value(json_object_get(obj, key));
}

static uint32_t one_endpoint(hx_options *o, const json_t *j)
{
    const char *proto = json_text(j, "protocol");
    const char *place = json_text(j, "placement");

    if (!proto || !place || !add_protocol(o, proto, place)) {
        return bad_value("LocalCommRes", proto ? proto : "(no protocol)",
                         "an end point with a known protocol and placement");
    }
    if (!json_text(j, "comm_id")) {
        return bad_value("LocalCommRes", proto, "an end point with comm_id");
    }
    return HX_OK;
}

static uint32_t comm_res_object(hx_options *o, const json_t *root)
{
    const char *version = json_text(root, "version");
    const json_t *list = json_object_get(root, "endpoint_list");
    const json_t *net = json_object_get(root, "net_instance_id");
    uint32_t ret = HX_OK;
    size_t i;

    if (!version || strcmp(version, "1.3") != 0) {
        return bad_value("LocalCommRes", version ? version : "(no version)",
                         "version \"1.3\", the one that this card has");
    }
    if (net && (!json_is_string(net) || json_string_length(net) >=
                sizeof(o->net_instance))) {
        return bad_value("LocalCommRes", "net_instance_id",
                         "a string of at most 127 characters");
    }
    if (net) {
        strcpy(o->net_instance, json_string_value(net));
    }
    if (list && !json_is_array(list)) {
        return bad_value("LocalCommRes", "endpoint_list", "an array");
    }
    if (json_array_size(list) > HX_ENDPOINT_MAX) {
        return bad_value("LocalCommRes", "endpoint_list", "at most 16 long");
    }
    if (json_array_size(list)) {
        memset(o->proto, 0, sizeof(o->proto));
    }
    for (i = 0; i < json_array_size(list) && ret == HX_OK; i++) {
        ret = one_endpoint(o, json_array_get(list, i));
    }
    return ret;
}

static json_t *parse_object(const char *key, const char *text)
{
    json_error_t err;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &err);

    if (!root) {
        hx_err(HX_PARAM_INVALID, "option %s: value \"%.200s\" is not JSON: %s "
               "at line %d, column %d", key, text, err.text, err.line,
               err.column);
    } else if (!json_is_object(root)) {
        bad_value(key, text, "a JSON object");
        json_decref(root);
        root = NULL;
    }
    return root;
}

static uint32_t local_comm_res(hx_options *o, const char *text)
{
    json_t *root = parse_object("LocalCommRes", text);
    uint32_t ret;

    if (!root) {
        return HX_PARAM_INVALID;
    }
    ret = comm_res_object(o, root);
    json_decref(root);
    return ret;
}

static uint32_t comm_res_path(hx_options *o, const json_t *j)
{
    static const char key[] = "local_comm_res_path";
    const char *path = json_string_value(j);
    struct stat st;
    uint32_t ret;
    char *text;
    FILE *f;

    if (!path || stat(path, &st) || !S_ISREG(st.st_mode) || st.st_size < 1 ||
        st.st_size > 1 << 20) {
        return bad_value(key, path ? path : "(not a string)",
                         "a regular file of 1 byte to 1 MiB");
    }
    f = fopen(path, "r");
    text = calloc(1, (size_t)st.st_size + 1);
    if (!f || !text || fread(text, 1, (size_t)st.st_size, f) !=
        (size_t)st.st_size) {
        ret = bad_value(key, path, "readable");
    } else {
        ret = local_comm_res(o, text);
    }
    if (f) {
        fclose(f);
    }
    free(text);
    return ret;
}

/* ---- GlobalResourceConfig ---- */

/* Keys with a number; those without a place are of other products. */
static const struct {
    const char *key;
    long min, max;
    size_t offset;               /* in hx_options; SIZE_MAX: ignored */
} numbers[] = {
    { "comm_resource_config.listen_port", 1, 65535,
      offsetof(hx_options, listen_port) },
    { "comm_resource_config.qos", 0, 7, offsetof(hx_options, qos) },
    { "comm_resource_config.max_active_channels", 1, UINT32_MAX,
      offsetof(hx_options, max_channels) },
    { "connect_pool.thread_num", 1, 64, offsetof(hx_options, pool_threads) },
    { "connect_pool.task_queue_capacity", 1, 65535,
      offsetof(hx_options, pool_queue) },
    { "fabric_memory.max_capacity", 1, 1024, SIZE_MAX },
    { "fabric_memory.start_address", 0, 1024, SIZE_MAX },
    { "fabric_memory.task_stream_num", 1, 8, SIZE_MAX },
    { "channel_pool.max_channel", 1, 512, SIZE_MAX },
};

static uint32_t waterline(const char *key, const json_t *j, double max,
                          const char *legal)
{
    char *text;
    uint32_t ret;

    if (json_is_number(j) && json_number_value(j) > 0 &&
        json_number_value(j) < max) {
        return HX_OK;
    }
    text = json_dumps(j, JSON_ENCODE_ANY);
    ret = bad_value(key, text ? text : "?", legal);
    free(text);
    return ret;
}

/* What only other products have, but for numbers; false: is not known. */
static bool other_product(const char *key, const json_t *root,
                          const json_t *j, uint32_t *ret)
{
    const json_t *high = json_object_get(root, "channel_pool.high_waterline");

    if (strcmp(key, "fabric_memory.enable_aicpu_unfold") == 0) {
        *ret = json_is_boolean(j) ? HX_OK :
               bad_value(key, json_is_string(j) ? json_string_value(j) :
                         "(not a boolean)", "true or false");
        return true;
    }
    if (strcmp(key, "channel_pool.high_waterline") == 0) {
        *ret = waterline(key, j, 1.0, "a number between 0 and 1");
        return true;
    }
    if (strcmp(key, "channel_pool.low_waterline") == 0) {
        *ret = waterline(key, j, json_is_number(high) ?
                         json_number_value(high) : 1.0,
                         "a number between 0 and the high waterline");
        return true;
    }
    return false;
}

static uint32_t global_key(hx_options *o, const json_t *root, const char *key,
                           const json_t *j)
{
    uint32_t v = 0, ret = HX_OK;
    size_t i;

    if (strcmp(key, "comm_resource_config.protocol_desc") == 0) {
        return protocol_desc(o, j);
    }
    if (strcmp(key, "local_comm_res_path") == 0) {
        return comm_res_path(o, j);
    }
    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(key, numbers[i].key) == 0) {
            ret = json_number(key, j, numbers[i].min, numbers[i].max, &v);
            if (ret == HX_OK && numbers[i].offset != SIZE_MAX) {
                *(uint32_t *)((char *)o + numbers[i].offset) = v;
            } else if (ret == HX_OK) {
                hx_warn("option %s is for other products: ignored", key);
            }
            return ret;
        }
    }
    if (!other_product(key, root, j, &ret)) {
        hx_warn("option %s is not known: ignored", key);
    } else if (ret == HX_OK) {
        hx_warn("option %s is for other products: ignored", key);
    }
    return ret;
}

uint32_t hx_options_global(hx_options *o, const char *text)
{
    json_t *root = parse_object("GlobalResourceConfig", text), *value;
    uint32_t ret = HX_OK;
    const char *key;

    if (!root) {
        return HX_PARAM_INVALID;
    }
    json_object_foreach(root, key, value) {
        ret = global_key(o, root, key, value);
        if (ret != HX_OK) {
            break;
        }
    }
    json_decref(root);
    return ret;
}

/* ---- Initialize ---- */

static uint32_t set_traffic_class(hx_options *o, const char *key,
                                  const char *value)
{
    uint32_t v;

    if (!parse_number(value, 0, 255, &v) || v % 4 != 0) {
        return bad_value(key, value, "a multiple of 4 from 0 to 255");
    }
    o->traffic_class = v;
    return HX_OK;
}

static uint32_t set_service_level(hx_options *o, const char *key,
                                  const char *value)
{
    return parse_number(value, 0, 7, &o->service_level) ? HX_OK :
           bad_value(key, value, "a number from 0 to 7");
}

static uint32_t set_buffer_pool(hx_options *o, const char *key,
                                const char *value)
{
    (void)o;
    return strcmp(value, "0:0") == 0 ? HX_OK :
           bad_value(key, value, "\"0:0\": this card has no relay buffers");
}

static uint32_t set_auto_connect(hx_options *o, const char *key,
                                 const char *value)
{
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0) {
        return bad_value(key, value, "\"0\" or \"1\"");
    }
    o->auto_connect = value[0] == '1';
    return HX_OK;
}

static uint32_t set_fabric_mem(hx_options *o, const char *key,
                               const char *value)
{
    (void)o;
    return bad_value(key, value, "for this card: it has no fabric memory");
}

static uint32_t set_local_comm_res(hx_options *o, const char *key,
                                   const char *value)
{
    (void)key;
    return local_comm_res(o, value);
}

static uint32_t set_global(hx_options *o, const char *key, const char *value)
{
    (void)key;
    return hx_options_global(o, value);
}

typedef uint32_t set_fn(hx_options *o, const char *key, const char *value);

/* In this order, so that the plain form of a key wins over adxl's. */
static const struct {
    const char *key;
    set_fn *set;
} keys[] = {
    { "EnableUseFabricMem", set_fabric_mem },
    { "adxl.RdmaTrafficClass", set_traffic_class },
    { "RdmaTrafficClass", set_traffic_class },
    { "adxl.RdmaServiceLevel", set_service_level },
    { "RdmaServiceLevel", set_service_level },
    { "adxl.BufferPool", set_buffer_pool },
    { "BufferPool", set_buffer_pool },
    { "AutoConnect", set_auto_connect },
    { "adxl.LocalCommRes", set_local_comm_res },
    { "LocalCommRes", set_local_comm_res },
    { "GlobalResourceConfig", set_global },
};
#define NUM_KEYS (sizeof(keys) / sizeof(keys[0]))

static uint32_t from_environment(hx_options *o)
{
    const char *tc = getenv("HCCL_RDMA_TC"), *sl = getenv("HCCL_RDMA_SL");
    uint32_t ret = HX_OK;

    if (tc && *tc) {
        ret = set_traffic_class(o, "HCCL_RDMA_TC", tc);
    }
    if (ret == HX_OK && sl && *sl) {
        ret = set_service_level(o, "HCCL_RDMA_SL", sl);
    }
    return ret;
}

static void warn_unknown(const hixl_option *opt, size_t num)
{
    size_t i, k;

    for (i = 0; i < num; i++) {
        for (k = 0; k < NUM_KEYS && strcmp(opt[i].key, keys[k].key); k++) {
            continue;
        }
        if (k == NUM_KEYS) {
            hx_warn("option %.200s is not known: ignored", opt[i].key);
        }
    }
}

uint32_t hx_options_parse(hx_options *o, const hixl_option *opt, size_t num)
{
    uint32_t ret;
    size_t i, k;

    hx_options_default(o);
    ret = from_environment(o);
    for (k = 0; k < NUM_KEYS && ret == HX_OK; k++) {
        for (i = 0; i < num && ret == HX_OK; i++) {
            if (strcmp(opt[i].key, keys[k].key) == 0) {
                ret = keys[k].set(o, opt[i].key, opt[i].value);
            }
        }
    }
    if (ret == HX_OK) {
        warn_unknown(opt, num);
    }
    return ret;
}
