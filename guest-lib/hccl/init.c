/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways to make communicators, and groups of such calls.
 * spec/api/hccl-control-plane.md §4, §4.4.
 */
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

/* ---- groups ---- */

/*
 * Inside a group, making and destroying communicators is only noted; the
 * outermost End runs all of it at the same time, one worker thread for each,
 * so that one thread may make a communicator on several devices. Kernels of
 * operators are launched in their order then; after them the operators' own
 * calls are made, on worker threads too, for they may wait for another device
 * of the same thread. A group has one or the other.
 */
enum work_kind { WORK_ROOT_INFO = 1, WORK_DESTROY, WORK_LAUNCH, WORK_CALL };

typedef struct work {
    struct work *next;
    enum work_kind kind;
    int32_t device;
    pthread_t thread;
    bool started;
    uint32_t n_ranks, rank;
    HcclRootInfo info;
    HcclCommConfig config;
    HcclComm *comm;
    HcclComm victim;
    hcl_launch *launch;
    hcl_group_fn *fn;
    void *arg;
    aclrtContext context;        /* of the thread that noted it */
    HcclResult rc;
    char text[1024];
} work;

static __thread int depth;
static __thread uint64_t serial;
static __thread work *first, *last;

bool hcl_group_active(void)
{
    return depth > 0;
}

static void work_free(work *w)
{
    free(w->launch);
    free(w);
}

/* A group has these or the others. */
static bool launches(const work *w)
{
    return w->kind == WORK_LAUNCH || w->kind == WORK_CALL;
}

static HcclResult note(work *w)
{
    w->device = a350_current_device();
    if (w->device < 0 || aclrtGetCurrentContext(&w->context) != ACL_SUCCESS) {
        work_free(w);
        return hcl_fail(HCCL_E_RUNTIME, "EI0003", "this thread has no current "
                        "device (aclrtSetDevice)");
    }
    if (first && launches(first) != launches(w)) {
        work_free(w);
        return hcl_fail(HCCL_E_NOT_SUPPORT, "EI0003", "a group either makes "
                        "and destroys communicators or launches operators, "
                        "not both");
    }
    if (last) {
        last->next = w;
    } else {
        first = w;
    }
    last = w;
    return HCCL_SUCCESS;
}

static void *run(void *opaque)
{
    work *w = opaque;

    /* Not aclrtSetDevice: the device would stay set once more. */
    if (aclrtSetCurrentContext(w->context) != ACL_SUCCESS) {
        w->rc = HCCL_E_RUNTIME;
    } else if (w->kind == WORK_ROOT_INFO) {
        w->rc = hcl_init_root_info(w->n_ranks, &w->info, w->rank, &w->config,
                                   w->comm, "HcclCommInitRootInfo (in a "
                                   "group)");
    } else {
        w->rc = HcclCommDestroy(w->victim);
    }
    strncpy(w->text, a350_peek_error(), sizeof(w->text) - 1);
    return NULL;
}

static void *run_call(void *opaque)
{
    work *w = opaque;

    w->rc = hcl_acl(aclrtSetCurrentContext(w->context),
                    "aclrtSetCurrentContext");
    if (w->rc == HCCL_SUCCESS) {
        w->rc = w->fn(w->arg);
    }
    strncpy(w->text, a350_peek_error(), sizeof(w->text) - 1);
    return NULL;
}

HcclResult HcclGroupStart(void)
{
    serial += depth++ == 0;
    return HCCL_SUCCESS;
}

uint64_t hcl_group_serial(void)
{
    return serial;
}

/* Launches wait for nobody: one after the other, in this thread. */
static void run_launches(void)
{
    aclrtContext before = NULL;
    work *w;

    aclrtGetCurrentContext(&before);
    for (w = first; w; w = w->next) {
        if (w->kind == WORK_CALL) {
            continue;
        }
        w->rc = hcl_acl(aclrtSetCurrentContext(w->context),
                        "aclrtSetCurrentContext");
        if (w->rc == HCCL_SUCCESS) {
            w->rc = hcl_launch_run(w->launch);
        }
        if (w->rc != HCCL_SUCCESS) {
            strncpy(w->text, a350_peek_error(), sizeof(w->text) - 1);
        }
    }
    if (before) {
        aclrtSetCurrentContext(before);
    }
}

HcclResult HcclGroupEnd(void)
{
    HcclResult rc = HCCL_SUCCESS;
    work *w;

    if (depth == 0) {
        return hcl_fail(HCCL_E_NOT_SUPPORT, "EI0003", "HcclGroupEnd without "
                        "HcclGroupStart in this thread");
    }
    if (--depth) {
        return HCCL_SUCCESS;
    }
    if (first && launches(first)) {
        run_launches();
    }
    for (w = first; w; w = w->next) {
        if (w->kind != WORK_LAUNCH) {
            w->rc = HCCL_E_SYSCALL;  /* what stays if there is no thread */
            w->started = !a350_thread_create(&w->thread, NULL, w->kind ==
                                             WORK_CALL ? run_call : run, w);
        }
    }
    while ((w = first)) {
        if (w->started) {
            pthread_join(w->thread, NULL);
        }
        if (w->rc != HCCL_SUCCESS && rc == HCCL_SUCCESS) {
            rc = hcl_fail(w->rc, NULL, "%s", w->text);
        }
        first = w->next;
        work_free(w);
    }
    last = NULL;
    return rc;
}

HcclResult HcclGroupStatusGet(bool *isGroup)
{
    if (!isGroup) {
        return hcl_null("HcclGroupStatusGet", "isGroup");
    }
    *isGroup = depth > 0;
    return HCCL_SUCCESS;
}

HcclResult hcl_group_launch(hcl_launch *l)
{
    work *w = calloc(1, sizeof(*w));

    if (!w) {
        free(l);
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    w->kind = WORK_LAUNCH;
    w->launch = l;
    return note(w);
}

HcclResult hcl_group_call(hcl_group_fn *fn, void *arg)
{
    work *w = calloc(1, sizeof(*w));

    if (!w) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    w->kind = WORK_CALL;
    w->fn = fn;
    w->arg = arg;
    return note(w);
}

HcclResult HcclCommDestroy(HcclComm comm)
{
    work *w;

    if (!comm) {
        hcl_log(2, "HcclCommDestroy: comm is nullptr");
        return HCCL_SUCCESS;
    }
    if (!hcl_group_active()) {
        return hcl_comm_destroy(comm);
    }
    w = calloc(1, sizeof(*w));
    if (!w) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    w->kind = WORK_DESTROY;
    w->victim = comm;
    return note(w);
}

/* ---- root info ---- */

static HcclResult root_info(const char *call, uint32_t n_ranks,
                            const HcclRootInfo *info, uint32_t rank,
                            const HcclCommConfig *config, HcclComm *comm)
{
    work *w;

    if (!hcl_group_active() || !info || !config || !comm) {
        return hcl_init_root_info(n_ranks, info, rank, config, comm, call);
    }
    w = calloc(1, sizeof(*w));
    if (!w) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    w->kind = WORK_ROOT_INFO;
    w->n_ranks = n_ranks;
    w->rank = rank;
    w->info = *info;
    w->config = *config;
    w->comm = comm;
    return note(w);
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo,
                                uint32_t rank, HcclComm *comm)
{
    HcclCommConfig config;

    HcclCommConfigInit(&config);
    return root_info("HcclCommInitRootInfo", nRanks, rootInfo, rank, &config,
                     comm);
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks,
                                      const HcclRootInfo *rootInfo,
                                      uint32_t rank,
                                      const HcclCommConfig *config,
                                      HcclComm *comm)
{
    return root_info("HcclCommInitRootInfoConfig", nRanks, rootInfo, rank,
                     config, comm);
}

/* ---- rank table ---- */

HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank,
                                   HcclComm *comm)
{
    HcclCommConfig config;

    HcclCommConfigInit(&config);
    return hcl_init_cluster(clusterInfo, rank, &config, comm,
                            "HcclCommInitClusterInfo");
}

HcclResult HcclCommInitClusterInfoConfig(const char *clusterInfo,
                                         uint32_t rank, HcclCommConfig *config,
                                         HcclComm *comm)
{
    return hcl_init_cluster(clusterInfo, rank, config, comm,
                            "HcclCommInitClusterInfoConfig");
}

/* ---- all devices of a process ---- */

/* Nobody goes to the meeting before all have their device. */
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    uint32_t missing;
    bool failed;
} gate;

static bool gate_pass(gate *g, bool good)
{
    bool open;

    pthread_mutex_lock(&g->lock);
    g->failed |= !good;
    if (--g->missing == 0) {
        pthread_cond_broadcast(&g->cond);
    }
    while (g->missing) {
        pthread_cond_wait(&g->cond, &g->lock);
    }
    open = !g->failed;
    pthread_mutex_unlock(&g->lock);
    return open;
}

typedef struct one {
    pthread_t thread;
    bool started;
    gate *gate;
    int32_t device;
    int32_t was_set;
    uint32_t n, rank;
    const HcclRootInfo *info;
    HcclComm comm;
    HcclResult rc;
    char text[1024];
} one;

static void *init_one(void *opaque)
{
    one *o = opaque;
    HcclCommConfig config;

    bool set;

    HcclCommConfigInit(&config);
    o->rc = hcl_acl(aclrtSetDevice(o->device), "aclrtSetDevice");
    set = o->rc == HCCL_SUCCESS;
    if (!gate_pass(o->gate, o->rc == HCCL_SUCCESS)) {
        o->rc = o->rc == HCCL_SUCCESS ? HCCL_E_AGAIN : o->rc;
    } else {
        o->rc = hcl_init_root_info(o->n, o->info, o->rank, &config, &o->comm,
                                   "HcclCommInitAll");
    }
    strncpy(o->text, a350_peek_error(), sizeof(o->text) - 1);
    /* A device that the program has not set stays set with its communicator. */
    if (set && (o->was_set || o->rc != HCCL_SUCCESS)) {
        aclrtResetDevice(o->device);
    }
    return NULL;
}

static HcclResult check_devices(uint32_t n, const int32_t *devices)
{
    uint32_t i, k;

    if (n == 0 || n > HCL_DEVICES_MAX) {
        return hcl_bad(HCCL_E_PARA, "HcclCommInitAll", "ndev",
                       "1 to " HCL_TEXT(HCL_DEVICES_MAX),
                       "%u", n);
    }
    for (i = 0; i < n; i++) {
        for (k = 0; k < i; k++) {
            if (devices[k] == devices[i]) {
                return hcl_bad(HCCL_E_PARA, "HcclCommInitAll", "devices",
                               "each device once", "device %d twice",
                               devices[i]);
            }
        }
    }
    return HCCL_SUCCESS;
}

static HcclResult run_all(one *all, uint32_t n)
{
    HcclResult rc = HCCL_SUCCESS;
    uint32_t i;
    gate g = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, n + 1,
               false };
    bool good = true;

    for (i = 0; i < n; i++) {
        all[i].gate = &g;
        all[i].rc = HCCL_E_SYSCALL;  /* what stays if there is no thread */
        all[i].started = !a350_thread_create(&all[i].thread, NULL, init_one,
                                             &all[i]);
        if (!all[i].started) {
            good = false;
            pthread_mutex_lock(&g.lock);
            g.missing--;
            pthread_mutex_unlock(&g.lock);
        }
    }
    gate_pass(&g, good);
    for (i = 0; i < n; i++) {
        if (all[i].started) {
            pthread_join(all[i].thread, NULL);
        }
        /* AGAIN: it only waited for another, whose failure is told. */
        if (all[i].rc != HCCL_SUCCESS && all[i].rc != HCCL_E_AGAIN &&
            rc == HCCL_SUCCESS) {
            rc = hcl_fail(HCCL_E_INTERNAL, NULL, "HcclCommInitAll: device %d: "
                          "%s", all[i].device, all[i].text);
        }
    }
    for (i = 0; i < n && rc != HCCL_SUCCESS; i++) {
        if (all[i].comm) {
            hcl_comm_destroy(all[i].comm);
            if (!all[i].was_set) {
                aclrtResetDevice(all[i].device);
            }
        }
    }
    return rc;
}

HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms)
{
    aclrtContext before = NULL;
    HcclRootInfo info;
    HcclResult rc;
    uint32_t i;
    bool set;
    one *all;

    if (!devices || !comms) {
        return hcl_null("HcclCommInitAll", devices ? "comms" : "devices");
    }
    rc = check_devices(ndev, devices);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    all = calloc(ndev, sizeof(*all));
    if (!all) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    for (i = 0; i < ndev; i++) {
        aclrtGetPrimaryCtxState(devices[i], NULL, &all[i].was_set);
    }
    aclrtGetCurrentContext(&before);
    rc = hcl_acl(aclrtSetDevice(devices[0]), "aclrtSetDevice");
    set = rc == HCCL_SUCCESS;
    if (rc == HCCL_SUCCESS) {
        rc = HcclGetRootInfo(&info);
    }
    for (i = 0; i < ndev; i++) {
        all[i].device = devices[i];
        all[i].n = ndev;
        all[i].rank = i;
        all[i].info = &info;
    }
    if (rc == HCCL_SUCCESS) {
        rc = run_all(all, ndev);
    }
    for (i = 0; i < ndev && rc == HCCL_SUCCESS; i++) {
        comms[i] = all[i].comm;
    }
    free(all);
    if (set) {
        aclrtResetDevice(devices[0]);
    }
    if (before) {
        aclrtSetCurrentContext(before);
    }
    return rc;
}
