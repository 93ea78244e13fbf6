/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device is and can: attributes, ids, peers, limits.
 */
#include "acl_priv.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Runs with the device's card open, opening it for the moment if need be. */
static aclError with_card(const char *func, int64_t id, acl_dev **out)
{
    acl_dev *d = id < 0 || id > INT32_MAX ? NULL : dev_get((int32_t)id);

    if (!d) {
        return dev_bad_id(func, id);
    }
    *out = d;
    return dev_open(func, d);
}

/* ---- attributes ---- */

/* Constants are those of the Ascend950PR_958b's platform file. */
static bool attr_value(int32_t device, const a350_identify_rsp *id,
                       aclrtDevAttr attr, int64_t *v)
{
    switch (attr) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
        *v = id->aicpu_cores;
        break;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
        *v = 0;                  /* the model has no AI cores */
        break;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
        *v = (int64_t)id->hbm_usable;
        break;
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
        *v = 112 << 20;
        break;
    case ACL_DEV_ATTR_PHY_CHIP_ID:
        *v = dev_card_number(device);
        break;
    case ACL_DEV_ATTR_SMP_ID:
    case ACL_DEV_ATTR_SUPER_POD_DEVICE_ID:
    case ACL_DEV_ATTR_SUPER_POD_SERVER_ID:
    case ACL_DEV_ATTR_SUPER_POD_ID:
    case ACL_DEV_ATTR_CUST_OP_PRIVILEGE:
        *v = 0;
        break;
    case ACL_DEV_ATTR_MAINBOARD_ID:
        *v = 0x60;               /* PCIe standard card, host attached */
        break;
    case ACL_DEV_ATTR_HD_CONNECT_TYPE:
        *v = ACL_HOST_DEVICE_CONNECT_TYPE_PCIE;
        break;
    case ACL_DEV_ATTR_DEVICE_FORM_FACTOR:
        *v = ACL_DEVICE_FORM_FACTOR_PCIE_CARD;
        break;
    case ACL_DEV_ATTR_IS_VIRTUAL:
        *v = 0;
        break;
    case ACL_DEV_ATTR_NPU_ARCH:
        *v = 3510;
        break;
    default:
        return false;
    }
    return true;
}

ACL_EXPORT aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr,
                                       int64_t *value)
{
    const a350_identify_rsp *id = NULL;
    aclError rc;

    CHECK_PTR(value);
    rc = dev_identity(__func__, deviceId, &id);
    if (rc) {
        return rc;
    }
    if (!attr_value((int32_t)deviceId, id, attr, value)) {
        bool simt = attr >= ACL_DEV_ATTR_WARP_SIZE &&
                    attr <= ACL_DEV_ATTR_MAX_BLOCK_DIM_Z;

        rc = simt ? FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "attribute %d is "
                         "about vector cores, which this card has not",
                         (int)attr)
                  : FAIL(ACL_ERROR_RT_PARAM_INVALID, "attribute %d is unknown",
                         (int)attr);
    }
    return rc;
}

ACL_EXPORT aclError aclrtGetDeviceCapability(
    int32_t deviceId, aclrtDevFeatureType devFeatureType, int32_t *value)
{
    CHECK_PTR(value);
    if (!dev_get(deviceId)) {
        return dev_bad_id(__func__, deviceId);
    }
    if (devFeatureType != ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV &&
        devFeatureType != ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "feature %d: legal 1, 21",
                    (int)devFeatureType);
    }
    *value = ACL_DEV_FEATURE_NOT_SUPPORT;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtQueryDeviceStatus(int32_t deviceId,
                                           aclrtDeviceStatus *deviceStatus)
{
    acl_dev *d = NULL;
    aclError rc;
    uint32_t st;

    CHECK_PTR(deviceStatus);
    rc = with_card(__func__, deviceId, &d);
    if (rc) {
        return rc;
    }
    st = a350_card_read32(d->card, A350_REG_CTRL + A350_CTRL_STATUS);
    *deviceStatus = (st & A350_STATUS_READY) && !(st & A350_STATUS_FW_FAILED)
                    ? ACL_RT_DEVICE_STATUS_NORMAL
                    : ACL_RT_DEVICE_STATUS_ABNORMAL;
    dev_close(d);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid *uuid)
{
    const a350_identify_rsp *id = NULL;
    aclError rc;

    CHECK_PTR(uuid);
    rc = dev_identity(__func__, deviceId, &id);
    if (rc) {
        return rc;
    }
    memcpy(uuid->bytes, id->uuid, sizeof(uuid->bytes));
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtDeviceGetPCIBusId(int32_t deviceId, char *pciBusId,
                                           int32_t len)
{
    a350_card_slot slot;

    CHECK_PTR(pciBusId);
    if (!dev_get(deviceId)) {
        return dev_bad_id(__func__, deviceId);
    }
    if (a350_card_find((unsigned)dev_card_number(deviceId), &slot)) {
        return FAIL(ACL_ERROR_RT_NO_DEVICE, "%s", a350_card_text());
    }
    if (len < (int32_t)strlen(slot.bdf) + 1) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "len %d: at least %zu", len,
                    strlen(slot.bdf) + 1);
    }
    strcpy(pciBusId, slot.bdf);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtDeviceGetByPCIBusId(const char *pciBusId,
                                             int32_t *deviceId)
{
    a350_card_slot slot;
    unsigned i;

    CHECK_PTR(pciBusId);
    CHECK_PTR(deviceId);
    for (i = 0; i < dev_count(); i++) {
        if (a350_card_find((unsigned)dev_card_number((int32_t)i), &slot) == 0 &&
            strcasecmp(slot.bdf, pciBusId) == 0) {
            *deviceId = (int32_t)i;
            return ACL_SUCCESS;
        }
    }
    return FAIL(ACL_ERROR_RT_INVALID_DEVICEID, "no visible card at PCI address "
                "%s", pciBusId);
}

ACL_EXPORT aclError aclrtGetDevicesTopo(uint32_t deviceId,
                                        uint32_t otherDeviceId,
                                        uint64_t *value)
{
    CHECK_PTR(value);
    if (!dev_get((int32_t)deviceId)) {
        return dev_bad_id(__func__, deviceId);
    }
    if (!dev_get((int32_t)otherDeviceId)) {
        return dev_bad_id(__func__, otherDeviceId);
    }
    /* Linked card to card by the fabric, whatever is between on the bus. */
    *value = deviceId == otherDeviceId ? 0 : ACL_RT_DEVS_TOPOLOGY_HCCS;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetDeviceUtilizationRate(
    int32_t deviceId, aclrtUtilizationInfo *utilizationInfo)
{
    CHECK_PTR(utilizationInfo);
    if (!dev_get(deviceId)) {
        return dev_bad_id(__func__, deviceId);
    }
    return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the card does not measure "
                "the load of its units");
}

/* ---- ids ---- */

static aclError user_to_card(const char *func, int32_t user, int32_t *card)
{
    int n = dev_card_number(user);

    if (!card) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "the result pointer is "
                        "NULL");
    }
    if (n < 0) {
        return dev_bad_id(func, user);
    }
    *card = n;
    return ACL_SUCCESS;
}

static aclError card_to_user(const char *func, int32_t card, int32_t *user)
{
    unsigned i;

    if (!user) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "the result pointer is "
                        "NULL");
    }
    for (i = 0; i < dev_count(); i++) {
        if (dev_card_number((int32_t)i) == card) {
            *user = (int32_t)i;
            return ACL_SUCCESS;
        }
    }
    return acl_fail(func, ACL_ERROR_RT_INVALID_DEVICEID, "card %d is not "
                    "visible", card);
}

/* Logic and physical id are the same number. */
static aclError card_to_card(const char *func, int32_t id, int32_t *out)
{
    if (!out) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "the result pointer is "
                        "NULL");
    }
    if (id < 0 || (unsigned)id >= a350_card_count()) {
        return acl_fail(func, ACL_ERROR_RT_INVALID_DEVICEID, "device %d: "
                        "legal 0..%d", id, (int)a350_card_count() - 1);
    }
    *out = id;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid,
                                                  int32_t *const logicDevId)
{
    return user_to_card(__func__, userDevid, logicDevId);
}

ACL_EXPORT aclError aclrtGetUserDevIdByLogicDevId(const int32_t logicDevId,
                                                  int32_t *const userDevid)
{
    return card_to_user(__func__, logicDevId, userDevid);
}

ACL_EXPORT aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId,
                                                 int32_t *const logicDevId)
{
    return card_to_card(__func__, phyDevId, logicDevId);
}

/* Takes the user id in practice: spec/api/acl-runtime.md §5. */
ACL_EXPORT aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId,
                                                 int32_t *const phyDevId)
{
    return user_to_card(__func__, logicDevId, phyDevId);
}

ACL_EXPORT aclError aclrtGetUserDevIdByPhyDevId(const int32_t phyDevId,
                                                int32_t *const userDevId)
{
    return card_to_user(__func__, phyDevId, userDevId);
}

ACL_EXPORT aclError aclrtGetPhyDevIdByUserDevId(const int32_t userDevId,
                                                int32_t *const phyDevId)
{
    return user_to_card(__func__, userDevId, phyDevId);
}

/* ---- peers ---- */

static aclError peer_pair(const char *func, int32_t dev, int32_t peer)
{
    if (!dev_get(dev)) {
        return dev_bad_id(func, dev);
    }
    if (!dev_get(peer)) {
        return dev_bad_id(func, peer);
    }
    if (dev == peer) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "device %d is not its "
                        "own peer", dev);
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer,
                                             int32_t deviceId,
                                             int32_t peerDeviceId)
{
    aclError rc;

    CHECK_PTR(canAccessPeer);
    rc = peer_pair(__func__, deviceId, peerDeviceId);
    if (rc == ACL_SUCCESS) {
        *canAccessPeer = 1;
    }
    return rc;
}

bool dev_peer_enabled(const acl_dev *d, int32_t peer)
{
    return d->peers[peer / 64] >> (peer % 64) & 1;
}

static aclError peer_set(const char *func, int32_t peer, bool on)
{
    aclError rc;
    acl_ctx *c = ctx_need(func, &rc);
    uint64_t bit = 1ull << (peer & 63);

    if (!c || (rc = peer_pair(func, c->dev->id, peer))) {
        return rc;
    }
    pthread_mutex_lock(&c->dev->lock);
    if (on) {
        c->dev->peers[peer / 64] |= bit;
    } else {
        c->dev->peers[peer / 64] &= ~bit;
    }
    pthread_mutex_unlock(&c->dev->lock);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId,
                                                uint32_t flags)
{
    if (flags) {
        return FAIL(ACL_ERROR_FEATURE_UNSUPPORTED, "flags 0x%x: must be 0",
                    flags);
    }
    return peer_set(__func__, peerDeviceId, true);
}

ACL_EXPORT aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId)
{
    return peer_set(__func__, peerDeviceId, false);
}

ACL_EXPORT aclError aclrtDevicePeerAccessStatus(int32_t deviceId,
                                                int32_t peerDeviceId,
                                                int32_t *status)
{
    aclError rc;

    CHECK_PTR(status);
    rc = peer_pair(__func__, deviceId, peerDeviceId);
    if (rc == ACL_SUCCESS) {
        *status = dev_peer_enabled(dev_get(deviceId), peerDeviceId);
    }
    return rc;
}

/* ---- modes and limits ---- */

ACL_EXPORT aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode)
{
    aclError rc;
    acl_ctx *c;

    if (mode != ACL_RT_OVERFLOW_MODE_SATURATION &&
        mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "mode %d: legal 0, 1",
                    (int)mode);
    }
    c = ctx_need(__func__, &rc);
    if (!c) {
        return rc;
    }
    if (mode == ACL_RT_OVERFLOW_MODE_SATURATION) {
        return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this chip computes in "
                    "INF/NaN mode only");
    }
    c->dev->sat_mode = mode;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode)
{
    aclError rc;
    acl_ctx *c;

    CHECK_PTR(mode);
    c = ctx_need(__func__, &rc);
    if (!c) {
        return rc;
    }
    *mode = ACL_RT_OVERFLOW_MODE_INFNAN;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtDeviceGetBareTgid(int32_t *pid)
{
    CHECK_PTR(pid);
    *pid = (int32_t)getpid();
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtDeviceGetStreamPriorityRange(
    int32_t *leastPriority, int32_t *greatestPriority)
{
    if (leastPriority) {
        *leastPriority = STREAM_PRIORITY_LEAST;
    }
    if (greatestPriority) {
        *greatestPriority = 0;
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type,
                                               uint32_t *value)
{
    CHECK_PTR(value);
    if (type != ACL_RT_DEV_RES_CUBE_CORE &&
        type != ACL_RT_DEV_RES_VECTOR_CORE) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "type %d: legal 0, 1",
                    (int)type);
    }
    *value = 0;
    return ACL_SUCCESS;
}
