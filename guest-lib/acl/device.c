/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices: which there are, opening and closing, the device's own queue.
 */
#include "ipc_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOC_DEFAULT     "Ascend950PR_958b"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static acl_dev devs[MAX_DEVICES];
static int numbers[MAX_DEVICES]; /* PCI number of a user device */
static unsigned dev_num;
static char soc_name[40];

/* ---- which there are ---- */

/*
 * ASCEND_RT_VISIBLE_DEVICES: a comma list of card numbers; a user device id is
 * a position in it. The first entry that names no card ends the list.
 */
static unsigned visible_list(const char *e, unsigned cards)
{
    unsigned n = 0;
    char *end;

    while (*e && n < MAX_DEVICES) {
        long v = strtol(e, &end, 10);
        unsigned i;

        if (end == e || v < 0 || v >= (long)cards) {
            a350_log_host(2, "RUNTIME", "ASCEND_RT_VISIBLE_DEVICES: \"%s\" "
                          "names no card (0..%d); the list ends there", e,
                          (int)cards - 1);
            break;
        }
        for (i = 0; i < n && numbers[i] != (int)v; i++) {
        }
        if (i < n) {
            break;               /* named twice */
        }
        numbers[n++] = (int)v;
        while (*end == ' ') {
            end++;
        }
        if (*end != ',') {
            break;
        }
        e = end + 1;
    }
    return n;
}

static void init(void)
{
    const char *e = getenv("ASCEND_RT_VISIBLE_DEVICES");
    unsigned cards = a350_card_count(), i;
    pthread_mutexattr_t a;

    dev_num = cards < MAX_DEVICES ? cards : MAX_DEVICES;
    for (i = 0; i < dev_num; i++) {
        numbers[i] = (int)i;
    }
    if (e) {
        dev_num = visible_list(e, cards);
    }
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    for (i = 0; i < MAX_DEVICES; i++) {
        devs[i].id = (int32_t)i;
        pthread_mutex_init(&devs[i].life, &a);
        pthread_mutex_init(&devs[i].lock, &a);
    }
    pthread_mutexattr_destroy(&a);
}

unsigned dev_count(void)
{
    pthread_once(&once, init);
    return dev_num;
}

int dev_card_number(int32_t id)
{
    return id >= 0 && (unsigned)id < dev_count() ? numbers[id] : -1;
}

acl_dev *dev_get(int32_t id)
{
    return dev_card_number(id) >= 0 ? &devs[id] : NULL;
}

aclError dev_bad_id(const char *func, int64_t id)
{
    a350_card_slot slot;

    if (dev_count() == 0) {
        if (a350_card_find(0, &slot)) {
            return acl_fail(func, ACL_ERROR_RT_INVALID_DEVICEID, "device "
                            "%lld: %s", (long long)id, a350_card_text());
        }
        return acl_fail(func, ACL_ERROR_RT_INVALID_DEVICEID, "device %lld: "
                        "ASCEND_RT_VISIBLE_DEVICES=\"%s\" names no card",
                        (long long)id, getenv("ASCEND_RT_VISIBLE_DEVICES"));
    }
    return acl_fail(func, ACL_ERROR_RT_INVALID_DEVICEID, "device %lld: legal "
                    "0..%u%s", (long long)id, dev_num - 1,
                    getenv("ASCEND_RT_VISIBLE_DEVICES") ?
                    " (ASCEND_RT_VISIBLE_DEVICES)" : "");
}

acl_dev *dev_of_card(const a350_card *card)
{
    unsigned i;

    for (i = 0; card && i < dev_count(); i++) {
        if (devs[i].card == card) {
            return &devs[i];
        }
    }
    return NULL;
}

acl_dev *dev_of_addr(uint64_t addr)
{
    return dev_of_card(a350_card_of_addr(addr));
}

int32_t a350_device_of(const void *ptr)
{
    acl_dev *d = dev_of_addr((uintptr_t)ptr);

    return d ? d->id : -1;
}

a350_card *a350_device_card(int32_t id)
{
    acl_dev *d = dev_get(id);

    return d ? d->card : NULL;
}

/* ---- open and close ---- */

static aclError dev_setup(const char *func, acl_dev *d)
{
    a350_sq_config cfg = { .flags = A350_SQ_F_CONTINUE, .labelled = true,
                           .label = { .rank = A350_ID_NONE, .kind = 2 } };
    int rc = a350_card_open((unsigned)numbers[d->id], &d->card);

    if (rc) {
        d->card = NULL;
        return acl_fail_card(func, rc);
    }
    rc = a350_sq_new(d->card, &cfg, &d->copy_sq);
    if (rc) {
        acl_fail_card(func, rc);
        a350_card_close(d->card);
        d->card = NULL;
        return acl_code_of(rc);
    }
    d->generation++;
    if (!atomic_load(&d->identified)) {
        d->identity = *a350_card_id(d->card);
        atomic_store(&d->identified, true);
    }
    snprintf(soc_name, sizeof(soc_name), "%s", a350_card_id(d->card)->soc_name);
    return ACL_SUCCESS;
}

aclError dev_open(const char *func, acl_dev *d)
{
    aclError rc = ACL_SUCCESS;

    pthread_mutex_lock(&d->lock);
    if (d->opens == 0) {
        rc = dev_setup(func, d);
    }
    if (rc == ACL_SUCCESS) {
        d->opens++;
    }
    pthread_mutex_unlock(&d->lock);
    return rc;
}

void dev_close(acl_dev *d)
{
    pthread_mutex_lock(&d->lock);
    if (--d->opens == 0) {
        kernels_device_gone(d);
        ipc_device_gone(d);
        ipc_mem_device_gone(d);
        vmm_device_gone(d);
        a350_sq_destroy(d->copy_sq);
        d->copy_sq = NULL;
        a350_card_close(d->card);
        d->card = NULL;
        memset(d->peers, 0, sizeof(d->peers));
    }
    pthread_mutex_unlock(&d->lock);
}

aclError dev_identity(const char *func, int64_t id,
                      const a350_identify_rsp **identity)
{
    acl_dev *d = id < 0 || id > INT32_MAX ? NULL : dev_get((int32_t)id);
    aclError rc;

    if (!d) {
        return dev_bad_id(func, id);
    }
    if (!atomic_load(&d->identified)) {
        rc = dev_open(func, d);
        if (rc != ACL_SUCCESS) {
            return rc;
        }
        dev_close(d);
    }
    *identity = &d->identity;
    return ACL_SUCCESS;
}

/* ---- reset hooks ---- */

typedef struct reset_hook {
    struct reset_hook *next;
    a350_device_reset_fn *fn;
    void *opaque;
} reset_hook;
static pthread_mutex_t hooks_lock = PTHREAD_MUTEX_INITIALIZER;
static reset_hook *hooks;

int a350_on_device_reset(a350_device_reset_fn *fn, void *opaque)
{
    reset_hook *h = malloc(sizeof(*h));

    if (!h) {
        return a350_fail(-ENOMEM, "out of host memory");
    }
    h->fn = fn;
    h->opaque = opaque;
    pthread_mutex_lock(&hooks_lock);
    h->next = hooks;
    hooks = h;
    pthread_mutex_unlock(&hooks_lock);
    return 0;
}

static void hooks_run(int32_t device)
{
    reset_hook *h;

    /* Hooks are never removed, so the list may be walked without the lock. */
    pthread_mutex_lock(&hooks_lock);
    h = hooks;
    pthread_mutex_unlock(&hooks_lock);
    for (; h; h = h->next) {
        h->fn(h->opaque, device);
    }
}

/* ---- set and reset ---- */

ACL_EXPORT aclError aclrtSetDevice(int32_t deviceId)
{
    acl_dev *d = dev_get(deviceId);
    aclError rc = ACL_SUCCESS;

    if (!d) {
        return dev_bad_id(__func__, deviceId);
    }
    dev_state_notify(deviceId, ACL_RT_DEVICE_STATE_SET_PRE);
    pthread_mutex_lock(&d->life);
    pthread_mutex_lock(&d->lock);
    if (!d->primary) {
        d->primary = handle_new(H_CONTEXT);
        if (d->primary) {
            d->primary->primary = true;
            d->primary->dev = d;
            pthread_mutex_init(&d->primary->lock, NULL);
        } else {
            rc = FAIL(ACL_ERROR_RT_MEMORY_ALLOCATION, "too many handles");
        }
    }
    if (rc == ACL_SUCCESS && !d->primary->active) {
        rc = dev_open(__func__, d);
        if (rc == ACL_SUCCESS) {
            rc = ctx_start(__func__, d->primary);
            if (rc) {
                dev_close(d);
            }
        }
    }
    if (rc == ACL_SUCCESS) {
        d->set_count++;
        ctx_set_current(d->primary);
    }
    pthread_mutex_unlock(&d->lock);
    pthread_mutex_unlock(&d->life);
    if (rc == ACL_SUCCESS) {
        dev_state_notify(deviceId, ACL_RT_DEVICE_STATE_SET_POST);
    }
    return rc;
}

/* The last reference is gone: everything of the device ends. */
static void dev_end(acl_dev *d, bool force)
{
    hooks_run(d->id);
    ctx_stop(d->primary, force);
    dev_close(d);
}

static aclError dev_reset(const char *func, int32_t id, bool force)
{
    acl_dev *d = dev_get(id);
    bool last;

    if (!d) {
        return dev_bad_id(func, id);
    }
    /* Who sets the device meanwhile waits and opens it anew. */
    pthread_mutex_lock(&d->life);
    if (d->set_count == 0) {
        pthread_mutex_unlock(&d->life);
        return acl_fail(func, ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, "device %d "
                        "is not set (aclrtSetDevice was not called, or reset "
                        "as often)", id);
    }
    d->set_count = force ? 0 : d->set_count - 1;
    last = d->set_count == 0;
    if (last) {
        dev_state_notify(id, ACL_RT_DEVICE_STATE_RESET_PRE);
        dev_end(d, force);
    }
    pthread_mutex_unlock(&d->life);
    if (last) {
        dev_state_notify(id, ACL_RT_DEVICE_STATE_RESET_POST);
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtResetDevice(int32_t deviceId)
{
    return dev_reset(__func__, deviceId, false);
}

ACL_EXPORT aclError aclrtResetDeviceForce(int32_t deviceId)
{
    return dev_reset(__func__, deviceId, true);
}

ACL_EXPORT aclError aclrtGetDevice(int32_t *deviceId)
{
    acl_ctx *c;

    CHECK_PTR(deviceId);
    c = ctx_current();
    if (!c) {
        return acl_code_only(ACL_ERROR_RT_CONTEXT_NULL);
    }
    *deviceId = c->dev->id;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetDeviceCount(uint32_t *count)
{
    CHECK_PTR(count);
    *count = dev_count();
    return ACL_SUCCESS;
}

/*
 * The name is the card's once it has been open in this process. Before that
 * the card cannot be asked without taking it, which another process may have
 * done: ATLAS350_SOC_NAME (set by atlas350-run for an unusual soc-name=) or
 * the model's default is told then.
 */
ACL_EXPORT const char *aclrtGetSocName(void)
{
    const char *e = getenv("ATLAS350_SOC_NAME");
    a350_card_slot slot;

    if (soc_name[0]) {
        return soc_name;
    }
    if (a350_card_find(0, &slot)) {
        FAIL(ACL_ERROR_RT_NO_DEVICE, "%s", a350_card_text());
        return NULL;
    }
    return e && *e ? e : SOC_DEFAULT;
}

/* ---- the device's own queue ---- */

aclError dev_run(const char *func, acl_dev *d, const a350_sqe *sqe, unsigned n,
                 int timeout_ms)
{
    uint32_t before = a350_sq_error_count(d->copy_sq), errors = before;
    a350_sq_error err;
    char text[1024];
    uint64_t seq;
    aclError code;
    int rc = a350_sq_push(d->copy_sq, sqe, n, &seq);

    if (rc) {
        return acl_fail_card(func, rc);
    }
    for (;;) {
        rc = a350_sq_wait(d->copy_sq, seq, timeout_ms, errors);
        if (rc != -EIO) {
            return rc ? acl_fail_card(func, rc) : ACL_SUCCESS;
        }
        /* Another thread's entry may have failed: counted before looking. */
        errors = a350_sq_error_count(d->copy_sq);
        if (a350_sq_error_of(d->copy_sq, seq - n + 1, seq, before, &err)) {
            break;
        }
    }
    code = a350_explain_error(d->copy_sq, &err, text, sizeof(text));
    return acl_fail(func, code, "%s", text);
}
