/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts and the calling thread's current one. The primary context object
 * of a device is made once and lives for ever; it is active while the device
 * is set, so that a thread that still has it current is told 107002.
 */
#include "acl_priv.h"

static __thread acl_ctx *current;

acl_ctx *ctx_current(void)
{
    acl_ctx *c = current;

    return c && handle_is(c, H_CONTEXT) && c->active ? c : NULL;
}

acl_ctx *ctx_need(const char *func, aclError *code)
{
    acl_ctx *c = ctx_current();

    if (!c) {
        *code = acl_fail(func, ACL_ERROR_RT_CONTEXT_NULL, "this thread has no "
                         "context: call aclrtSetDevice or "
                         "aclrtSetCurrentContext in it first");
    }
    return c;
}

void ctx_set_current(acl_ctx *c)
{
    current = c;
}

aclError ctx_start(const char *func, acl_ctx *c)
{
    aclError rc;

    c->generation = c->dev->generation;
    rc = stream_new(func, c, 0, 0, &c->def);
    if (rc == ACL_SUCCESS) {
        c->def->is_default = true;
        pthread_mutex_lock(&c->dev->lock);
        c->next = c->dev->contexts;
        c->dev->contexts = c;
        c->active = true;
        pthread_mutex_unlock(&c->dev->lock);
    }
    return rc;
}

void ctx_stop(acl_ctx *c, bool force)
{
    acl_ctx **p;

    pthread_mutex_lock(&c->dev->lock);
    c->active = false;
    for (p = &c->dev->contexts; *p; p = &(*p)->next) {
        if (*p == c) {
            *p = c->next;
            break;
        }
    }
    pthread_mutex_unlock(&c->dev->lock);
    while (c->streams) {
        stream_delete(c->streams, force);
    }
    c->def = NULL;
}

ACL_EXPORT aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId)
{
    acl_dev *d;
    acl_ctx *c;
    aclError rc;

    CHECK_PTR(context);
    d = dev_get(deviceId);
    if (!d) {
        return dev_bad_id(__func__, deviceId);
    }
    rc = dev_open(__func__, d);
    if (rc) {
        return rc;
    }
    c = handle_new(H_CONTEXT);
    if (!c) {
        dev_close(d);
        return FAIL(ACL_ERROR_RT_MEMORY_ALLOCATION, "too many handles");
    }
    c->dev = d;
    pthread_mutex_init(&c->lock, NULL);
    rc = ctx_start(__func__, c);
    if (rc) {
        handle_free(c);
        dev_close(d);
        return rc;
    }
    current = c;
    *context = c;
    return ACL_SUCCESS;
}

static aclError bad_context(const char *func, const void *h)
{
    return acl_fail(func, ACL_ERROR_RT_CONTEXT_NULL, "context %p is %s", h,
                    handle_is(h, H_CONTEXT) ? "of a device that was reset"
                                            : handle_what(h));
}

ACL_EXPORT aclError aclrtDestroyContext(aclrtContext context)
{
    acl_ctx *c = context;

    CHECK_PTR(context);
    if (!handle_is(c, H_CONTEXT)) {
        return bad_context(__func__, c);
    }
    if (c->primary) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "this is the primary context "
                    "of device %d: it goes with aclrtResetDevice", c->dev->id);
    }
    if (c->active) {
        ctx_stop(c, false);
        dev_close(c->dev);
    }
    handle_free(c);
    if (current == c) {
        current = NULL;
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtSetCurrentContext(aclrtContext context)
{
    acl_ctx *c = context;

    CHECK_PTR(context);
    if (!handle_is(c, H_CONTEXT) || !c->active) {
        return bad_context(__func__, c);
    }
    current = c;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetCurrentContext(aclrtContext *context)
{
    acl_ctx *c;

    CHECK_PTR(context);
    c = ctx_current();
    if (!c) {
        return acl_code_only(ACL_ERROR_RT_CONTEXT_NULL);
    }
    *context = c;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream)
{
    aclError code;
    acl_ctx *c;

    CHECK_PTR(stream);
    c = ctx_need(__func__, &code);
    if (!c) {
        return code;
    }
    *stream = c->def;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags,
                                            int32_t *active)
{
    acl_dev *d;

    CHECK_PTR(active);
    if (flags) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "flags must be NULL");
    }
    d = dev_get(deviceId);
    if (!d) {
        return dev_bad_id(__func__, deviceId);
    }
    *active = d->primary && d->primary->active;
    return ACL_SUCCESS;
}

a350_card *a350_current_card(void)
{
    acl_ctx *c = ctx_current();

    return c ? c->dev->card : NULL;
}

int32_t a350_current_device(void)
{
    acl_ctx *c = ctx_current();

    return c ? c->dev->id : -1;
}
