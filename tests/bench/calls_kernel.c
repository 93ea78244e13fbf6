/*
 * What a device-side Hcomm call costs: instructions and time, immediate, in
 * batch mode and out of the task cache. Run by aicpu-run, on objects that it
 * makes itself in free HBM; nobody empties the rings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "hcomm/hcomm_primitives.h"
#include "hw/atlas350/hcomm_abi.h"
#include "hw/atlas350/ub.h"

#define BASE   A350_DEV_BASE(0)
#define REMOTE A350_DEV_BASE(1)
#define ROUNDS 100

static a350_thread_obj *const thread = (void *)(BASE + 0x100000);
static a350_channel_obj *const channel = (void *)(BASE + 0x110000);

static uint64_t instructions(void)
{
    uint64_t v;

    __asm__ volatile("rdinstret %0" : "=r"(v));
    return v;
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void make_objects(void)
{
    a350_mem_token *mem = (void *)(BASE + 0x120000);

    memset(thread, 0, sizeof(*thread));
    thread->magic = A350_THREAD_MAGIC;
    thread->version = A350_HCOMM_ABI_VERSION;
    thread->kind = A350_THREAD_QUEUE;
    thread->sq_depth = A350_SQ_DEPTH_MAX;
    thread->sq_base = BASE + 0x200000;
    thread->sq_page = a350_sq_page_addr(BASE, 5);
    memset(channel, 0, sizeof(*channel));
    channel->magic = A350_CHANNEL_MAGIC;
    channel->version = A350_HCOMM_ABI_VERSION;
    channel->proto = A350_PROTO_UB;
    channel->notify_num = 1;
    channel->jetty_depth = A350_JETTY_DEPTH_MAX;
    channel->wq_base = BASE + 0x300000;
    channel->ci_addr = BASE + 0x121000;
    channel->max_msg = 256u << 20;
    channel->remote_mem_num = 1;
    channel->remote_mems = (uintptr_t)mem;
    *mem = (a350_mem_token){ REMOTE, 1 << 20, 1, 1 };
}

static int copy(void)
{
    return HcommLocalCopyOnThread((uintptr_t)thread, (void *)(BASE + 0x800000),
                                  (void *)(BASE + 0x900000), 100);
}

static int write_notify(void)
{
    return HcommWriteWithNotifyOnThread((uintptr_t)thread, (uintptr_t)channel,
                                        (void *)REMOTE,
                                        (void *)(BASE + 0x900000), 100, 0);
}

static int measure(const char *name, const char *mode, int (*call)(void))
{
    uint64_t i0 = instructions(), t0 = now(), i1, t1;
    int i, bad = 0;

    for (i = 0; i < ROUNDS; i++) {
        bad |= call();
    }
    t1 = now();
    i1 = instructions();
    printf("bench call.%s.%s.count %.0f instructions - 0\n", name, mode,
           (double)(i1 - i0) / ROUNDS);
    printf("bench call.%s.%s %.3f us - 0\n", name, mode,
           (double)(t1 - t0) / ROUNDS / 1e3);
    return bad;
}

static const char *const tag = "replay";
static uint64_t size = 4096;
static void *ranges[] = { (void *)(BASE + 0x900000) };

static int record(void)
{
    bool hit;
    int i, bad = HcommAicpuTsTaskCacheLookup(tag, &hit) |
                 HcommAicpuTsTaskCacheStart(tag, ranges, &size, 1);

    for (i = 0; i < ROUNDS; i++) {
        bad |= write_notify();
    }
    return bad | HcommAicpuTsTaskCacheEnd(tag);
}

/* The same calls out of the task cache, on another buffer. */
static int replay(const char *mode)
{
    void *other[] = { (void *)(BASE + 0xa00000) };
    uint64_t i0 = instructions(), t0 = now(), i1, t1;
    bool hit;
    int bad = HcommAicpuTsTaskCacheLookup(tag, &hit);

    bad |= HcommAicpuTsTaskCacheExecute(tag, other, &size, 1);
    t1 = now();
    i1 = instructions();
    printf("bench call.WriteWithNotify.cached-%s.count %.0f instructions - "
           "0\n", mode, (double)(i1 - i0) / ROUNDS);
    printf("bench call.WriteWithNotify.cached-%s %.3f us - 0\n", mode,
           (double)(t1 - t0) / ROUNDS / 1e3);
    return bad;
}

unsigned int calls(void *arg)
{
    int bad;

    (void)arg;
    make_objects();
    bad = copy() | write_notify();           /* warm */
    bad |= measure("LocalCopy", "immediate", copy);
    bad |= measure("WriteWithNotify", "immediate", write_notify);
    HcommBatchModeStart(NULL);
    bad |= measure("LocalCopy", "batch", copy);
    bad |= HcommBatchModeEnd(NULL);
    HcommBatchModeStart(NULL);
    bad |= measure("WriteWithNotify", "batch", write_notify);
    bad |= HcommBatchModeEnd(NULL);
    bad |= record();
    bad |= replay("immediate");
    HcommBatchModeStart(NULL);
    bad |= replay("batch");
    bad |= HcommBatchModeEnd(NULL);
    return bad ? 1 : 0;
}
