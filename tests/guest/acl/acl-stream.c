/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams, events, notifies, call-backs, captured graphs: order, waiting,
 * time, codes.
 */
#include <pthread.h>
#include <unistd.h>
#include "t.h"

#define N   (1 << 20)

static uint8_t *dev_a, *dev_b, *pin;

static void async_copies(void)
{
    aclrtStreamStatus st;
    aclrtStream s;
    uint8_t *back = malloc(N), *plain = malloc(N);
    int i;

    OK(aclrtCreateStream(&s));
    t_fill(pin, N, 5);
    memset(back, 0, N);
    OK(aclrtMemcpyAsync(dev_a, N, pin, N, ACL_MEMCPY_HOST_TO_DEVICE, s));
    OK(aclrtMemcpyAsync(dev_b, N, dev_a, N, ACL_MEMCPY_DEVICE_TO_DEVICE, s));
    OK(aclrtMemsetAsync(pin, N, 0, N, s));
    OK(aclrtMemcpyAsync(pin, N, dev_b, N, ACL_MEMCPY_DEVICE_TO_HOST, s));
    OK(aclrtSynchronizeStream(s));
    CHECK(t_diff(pin, N, 5) == SIZE_MAX);
    OK(aclrtStreamQuery(s, &st));
    CHECK(st == ACL_STREAM_STATUS_COMPLETE);
    /* pageable memory is copied at the call: it may change behind it */
    for (i = 0; i < 50; i++) {
        uint32_t v = (uint32_t)i;

        OK(aclrtMemcpyAsync(dev_a + 4 * i, 4, &v, 4,
                            ACL_MEMCPY_HOST_TO_DEVICE, s));
        v = 999;
    }
    t_fill(plain, N, 6);
    OK(aclrtMemcpyAsync(dev_b, N, plain, N, ACL_MEMCPY_HOST_TO_DEVICE, s));
    memset(plain, 0, N);
    OK(aclrtMemcpyAsync(back, N, dev_b, N, ACL_MEMCPY_DEVICE_TO_HOST, s));
    CHECK(t_diff(back, N, 6) == SIZE_MAX);
    OK(aclrtMemcpy(back, 200, dev_a, 200, ACL_MEMCPY_DEVICE_TO_HOST));
    for (i = 0; i < 50; i++) {
        uint32_t v;

        memcpy(&v, back + 4 * i, 4);
        CHECK(v == (uint32_t)i);
    }
    /* more entries than the queue holds */
    for (i = 0; i < 5000; i++) {
        if (aclrtMemcpyAsync(dev_a, 64, dev_b, 64,
                             ACL_MEMCPY_DEVICE_TO_DEVICE, s)) {
            CHECK(!"submit");
            break;
        }
    }
    OK(aclrtSynchronizeStreamWithTimeout(s, 20000));
    CODE(aclrtSynchronizeStreamWithTimeout(s, 0), 107000);
    CODE(aclrtSynchronizeStreamWithTimeout(s, -2), 107000);
    OK(aclrtDestroyStream(s));
    CODE(aclrtDestroyStream(NULL), 100000);
    CHECK(aclrtSynchronizeStream(s) != 0);
    aclGetRecentErrMsg();
    free(back);
    free(plain);
}

static void reduce_and_2d(void)
{
    float a[64], b[64];
    uint8_t m[8][16], r[8][8];
    aclrtStream s;
    int i, j;

    OK(aclrtCreateStream(&s));
    for (i = 0; i < 64; i++) {
        a[i] = (float)i;
        b[i] = 1000.0f - 2.0f * (float)i;
    }
    OK(aclrtMemcpy(dev_a, N, a, sizeof(a), ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(dev_b, N, b, sizeof(b), ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtReduceAsync(dev_a, dev_b, sizeof(a),
                        ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, s, NULL));
    OK(aclrtReduceAsync(dev_a, dev_b, sizeof(a),
                        ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX, ACL_FLOAT, s, NULL));
    CODE(aclrtReduceAsync(dev_a, dev_b, 64, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM,
                          ACL_DOUBLE, s, NULL), 207000);
    OK(aclrtSynchronizeStream(s));
    OK(aclrtMemcpy(a, sizeof(a), dev_a, sizeof(a), ACL_MEMCPY_DEVICE_TO_HOST));
    for (i = 0; i < 64; i++) {
        float sum = (float)i + 1000.0f - 2.0f * (float)i;

        CHECK(a[i] == (sum > b[i] ? sum : b[i]));
    }
    for (i = 0; i < 8; i++) {
        for (j = 0; j < 16; j++) {
            m[i][j] = (uint8_t)(i * 16 + j);
        }
    }
    OK(aclrtMemcpy2d(dev_a, 32, m, 16, 8, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy2dAsync(dev_b, 8, dev_a, 32, 8, 8,
                          ACL_MEMCPY_DEVICE_TO_DEVICE, s));
    OK(aclrtSynchronizeStream(s));
    OK(aclrtMemcpy(r, 64, dev_b, 64, ACL_MEMCPY_DEVICE_TO_HOST));
    for (i = 0; i < 8; i++) {
        CHECK(memcmp(r[i], m[i], 8) == 0);
    }
    CODE(aclrtMemcpy2d(dev_a, 4, m, 16, 8, 8, ACL_MEMCPY_HOST_TO_DEVICE),
         107000);
    /* The last row runs past the block: no row is copied. */
    OK(aclrtMemset(dev_b, N, 0x77, 64));
    CODE(aclrtMemcpy2d(dev_b, N, m, 16, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE),
         107000);
    CODE(aclrtMemcpy2dAsync(dev_b, N, dev_a, 32, 8, 2,
                            ACL_MEMCPY_DEVICE_TO_DEVICE, s), 107000);
    CODE(aclrtMemcpy2d(dev_b, 32, m, 16, 8, SIZE_MAX / 16,
                       ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    OK(aclrtSynchronizeStream(s));
    OK(aclrtMemcpy(r, 64, dev_b, 64, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(r[0][0] == 0x77 && r[0][7] == 0x77);
    OK(aclrtDestroyStream(s));
}

static void notifies(void)
{
    aclrtStream s, t;
    aclrtNotify n;
    uint32_t id;
    double t0;

    OK(aclrtCreateStream(&s));
    OK(aclrtCreateStream(&t));
    OK(aclrtCreateNotify(&n, 0));
    OK(aclrtGetNotifyId(n, &id));
    OK(aclrtWaitAndResetNotify(n, s, 0));
    CODE(aclrtSynchronizeStreamWithTimeout(s, 50), 507046);
    OK(aclrtRecordNotify(n, t));
    OK(aclrtSynchronizeStreamWithTimeout(s, 5000));
    /* recorded twice, waited for twice: the second one waits */
    OK(aclrtRecordNotify(n, t));
    OK(aclrtRecordNotify(n, t));
    OK(aclrtSynchronizeStream(t));
    OK(aclrtWaitAndResetNotify(n, s, 0));
    OK(aclrtSynchronizeStreamWithTimeout(s, 5000));
    OK(aclrtWaitAndResetNotify(n, s, 1));
    t0 = t_now();
    CODE(aclrtSynchronizeStream(s), 107020);
    CHECK(t_now() - t0 < 4);
    OK(aclrtSynchronizeStream(s));
    OK(aclrtNotifyBatchReset(&n, 1));
    CODE(aclrtWaitAndResetNotify(s, s, 0), 107017);
    /* aborted while waiting */
    OK(aclrtWaitAndResetNotify(n, s, 0));
    OK(aclrtStreamAbort(s));
    OK(aclrtSynchronizeStream(s));
    OK(aclrtMemsetAsync(dev_a, 64, 1, 64, s));
    OK(aclrtSynchronizeStream(s));
    OK(aclrtDestroyNotify(n));
    CODE(aclrtRecordNotify(n, s), 107017);
    OK(aclrtDestroyStream(s));
    OK(aclrtDestroyStream(t));
}

static void *wait_for_abort(void *s)
{
    aclrtSetDevice(0);
    return (void *)(intptr_t)aclrtSynchronizeStream(s);
}

static void abort_waiter(void)
{
    aclrtNotify n;
    aclrtStream s;
    pthread_t th;
    void *rc;

    OK(aclrtCreateStream(&s));
    OK(aclrtCreateNotify(&n, 0));
    OK(aclrtWaitAndResetNotify(n, s, 0));
    pthread_create(&th, NULL, wait_for_abort, s);
    usleep(100000);
    OK(aclrtStreamAbort(s));
    pthread_join(th, &rc);
    CHECK((intptr_t)rc == 107023);
    OK(aclrtResetDevice(0));
    OK(aclrtDestroyNotify(n));
    OK(aclrtDestroyStream(s));
}

static void counting(void)
{
    aclrtCntNotifyRecordInfo rec = {
        ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1
    };
    aclrtCntNotifyWaitInfo wait = {
        ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 3, 5, 1, { 0 }
    };
    aclrtCntNotify n;
    aclrtStream s, t;
    int i;

    OK(aclrtCreateStream(&s));
    OK(aclrtCreateStream(&t));
    OK(aclrtCntNotifyCreate(&n, 0));
    OK(aclrtCntNotifyWaitWithTimeout(n, s, &wait));
    for (i = 0; i < 3; i++) {
        OK(aclrtStreamQuery(s, &(aclrtStreamStatus){ 0 }));
        OK(aclrtCntNotifyRecord(n, t, &rec));
    }
    OK(aclrtSynchronizeStreamWithTimeout(s, 5000));
    OK(aclrtCntNotifyReset(n, t));
    OK(aclrtSynchronizeStream(t));
    OK(aclrtCntNotifyDestroy(n));
    OK(aclrtDestroyStream(s));
    OK(aclrtDestroyStream(t));
}

static void events(void)
{
    aclrtEventRecordedStatus rs;
    aclrtEvent a, b, sync;
    aclrtStream s, t;
    float ms = -1;
    int i;

    OK(aclrtCreateStream(&s));
    OK(aclrtCreateStream(&t));
    OK(aclrtCreateEvent(&a));
    OK(aclrtCreateEvent(&b));
    CODE(aclrtStreamWaitEvent(s, a), 107000);
    CODE(aclrtEventElapsedTime(&ms, a, b), 107006);
    OK(aclrtRecordEvent(a, s));
    for (i = 0; i < 8; i++) {
        OK(aclrtMemcpyAsync(dev_b, N, dev_a, N, ACL_MEMCPY_DEVICE_TO_DEVICE,
                            s));
    }
    OK(aclrtRecordEvent(b, s));
    OK(aclrtStreamWaitEvent(t, b));
    OK(aclrtSynchronizeStreamWithTimeout(t, 5000));
    OK(aclrtSynchronizeEvent(b));
    OK(aclrtQueryEventStatus(b, &rs));
    CHECK(rs == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtEventElapsedTime(&ms, a, b));
    CHECK(ms > 0 && ms < 5000);
    CODE(aclrtEventElapsedTime(&ms, b, a), 107007);
    printf("8 MiB in the card: %.3f ms\n", (double)ms);
    /* recorded again and again, waited for each time */
    for (i = 0; i < 200; i++) {
        OK(aclrtRecordEvent(a, s));
        OK(aclrtStreamWaitEvent(t, a));
    }
    OK(aclrtSynchronizeStream(t));
    /* a SYNC event may be waited for before it is recorded */
    OK(aclrtCreateEventWithFlag(&sync, ACL_EVENT_SYNC));
    OK(aclrtStreamWaitEvent(s, sync));
    OK(aclrtResetEvent(sync, s));
    CODE(aclrtSynchronizeStreamWithTimeout(s, 50), 507046);
    OK(aclrtRecordEvent(sync, t));
    OK(aclrtSynchronizeStreamWithTimeout(s, 5000));
    OK(aclrtStreamWaitEvent(s, sync));
    CODE(aclrtSynchronizeStreamWithTimeout(s, 50), 507046);
    OK(aclrtRecordEvent(sync, t));
    OK(aclrtSynchronizeStreamWithTimeout(s, 5000));
    OK(aclrtDestroyEvent(sync));
    CODE(aclrtCreateEventWithFlag(&sync, 0), 107000);
    CODE(aclrtCreateEventWithFlag(&sync, 0x30), 107000);
    OK(aclrtCreateEventExWithFlag(&sync, ACL_EVENT_SYNC));
    OK(aclrtStreamWaitEvent(s, sync));
    CODE(aclrtResetEvent(sync, s), 207000);
    OK(aclrtSynchronizeStreamWithTimeout(s, 5000));
    OK(aclrtDestroyEvent(sync));
    OK(aclrtDestroyEvent(a));
    OK(aclrtDestroyEvent(b));
    CODE(aclrtRecordEvent(a, s), 107017);
    OK(aclrtDestroyStream(s));
    OK(aclrtDestroyStream(t));
}

static int order[8], order_num;

static void note(void *arg)
{
    usleep(20000);
    order[order_num++] = (int)(intptr_t)arg;
}

static void *reporter(void *arg)
{
    volatile int *stop = arg;

    while (!*stop) {
        aclrtProcessReport(50);
    }
    return NULL;
}

static void callbacks(void)
{
    uint64_t value = 1;
    volatile int stop = 0;
    aclrtStream s, t;
    pthread_t th;
    int i;

    OK(aclrtCreateStream(&s));
    for (i = 0; i < 3; i++) {
        OK(aclrtLaunchHostFunc(s, note, (void *)(intptr_t)i));
        OK(aclrtMemsetAsync(dev_a + i, 1, i + 1, 1, s));
    }
    OK(aclrtSynchronizeStream(s));
    CHECK(order_num == 3 && order[0] == 0 && order[1] == 1 && order[2] == 2);
    CODE(aclrtSubscribeReport(1, s), 107011);
    OK(aclrtCreateStream(&t));
    CODE(aclrtLaunchCallback(note, NULL, ACL_CALLBACK_BLOCK, t), 107015);
    pthread_create(&th, NULL, reporter, (void *)&stop);
    OK(aclrtSubscribeReport((uint64_t)th, t));
    order_num = 0;
    OK(aclrtLaunchCallback(note, (void *)7, ACL_CALLBACK_BLOCK, t));
    OK(aclrtSynchronizeStream(t));
    CHECK(order_num == 1 && order[0] == 7);
    OK(aclrtUnSubscribeReport((uint64_t)th, t));
    stop = 1;
    pthread_join(th, NULL);
    /* values */
    OK(aclrtMemset(dev_a, 8, 0, 8));
    OK(aclrtValueWait(dev_a, value, ACL_STREAM_WAIT_VALUE_EQ, s));
    CODE(aclrtSynchronizeStreamWithTimeout(s, 50), 507046);
    OK(aclrtValueWrite(dev_a, value, 0, t));
    OK(aclrtSynchronizeStreamWithTimeout(s, 5000));
    OK(aclrtDestroyStream(s));
    OK(aclrtDestroyStream(t));
}

static void graphs(void)
{
    aclrtStream s, t;
    aclrtEvent e;
    aclmdlRI g;
    int i;

    OK(aclrtCreateStream(&s));
    OK(aclrtCreateStream(&t));
    OK(aclrtCreateEvent(&e));
    OK(aclrtMemset(dev_a, 64, 0, 64));
    OK(aclrtMemset(dev_b, 64, 1, 64));
    OK(aclmdlRICaptureBegin(s, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtReduceAsync(dev_a, dev_b, 64, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM,
                        ACL_INT8, s, NULL));
    OK(aclrtRecordEvent(e, s));
    OK(aclrtStreamWaitEvent(t, e));
    OK(aclrtReduceAsync(dev_a, dev_b, 64, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM,
                        ACL_INT8, t, NULL));
    order_num = 0;
    OK(aclrtLaunchHostFunc(t, note, (void *)3));
    CODE(aclrtSynchronizeStream(s), 107027);
    CODE(aclrtSynchronizeEvent(e), 107028);
    OK(aclmdlRICaptureEnd(s, &g));
    OK(aclrtMemcpy(pin, 64, dev_a, 64, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(pin[0] == 0 && order_num == 0);
    for (i = 0; i < 4; i++) {
        OK(aclmdlRIExecuteAsync(g, s));
    }
    OK(aclrtSynchronizeStream(s));
    OK(aclrtMemcpy(pin, 64, dev_a, 64, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(pin[0] == 8 && pin[63] == 8 && order_num == 4);
    OK(aclmdlRIDestroy(g));
    CODE(aclmdlRIDestroy(g), 107017);
    CODE(aclmdlRICaptureEnd(s, &g), 107029);
    OK(aclrtDestroyEvent(e));
    OK(aclrtDestroyStream(s));
    OK(aclrtDestroyStream(t));
}

static void contexts(void)
{
    aclrtContext c0, c1, got;
    aclrtStream s;

    OK(aclrtGetCurrentContext(&c0));
    OK(aclrtCreateContext(&c1, 0));
    OK(aclrtGetCurrentContext(&got));
    CHECK(got == c1);
    OK(aclrtCreateStream(&s));
    OK(aclrtSetCurrentContext(c0));
    CODE(aclrtSynchronizeStream(s), 107003);
    OK(aclrtSetCurrentContext(c1));
    OK(aclrtSynchronizeStream(s));
    OK(aclrtDestroyStream(s));
    OK(aclrtDestroyContext(c1));
    CODE(aclrtSetCurrentContext(c1), 107002);
    CODE(aclrtGetCurrentContext(&got), 107002);
    OK(aclrtSetCurrentContext(c0));
}

/* All streams there are; the next one is refused, and they come back. */
static void limits(void)
{
    static aclrtStream s[4096];
    uint32_t free_before, free_after;
    int n = 0, rc = 0;

    OK(aclrtGetStreamAvailableNum(&free_before));
    while (n < 4096 && (rc = aclrtCreateStream(&s[n])) == 0) {
        n++;
    }
    printf("%d streams, then %d: %s\n", n, rc, aclGetRecentErrMsg());
    CHECK(rc == 207008);
    CHECK(n > 200 && n <= 1983 && (uint32_t)n == free_before);
    while (n--) {
        if (aclrtDestroyStream(s[n])) {
            CHECK(!"destroy");
        }
    }
    OK(aclrtGetStreamAvailableNum(&free_after));
    CHECK(free_after == free_before);
}

int main(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtMalloc((void **)&dev_a, N, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&dev_b, N, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&pin, N));
    printf("async copies\n");
    async_copies();
    printf("reduce and 2d\n");
    reduce_and_2d();
    printf("notifies\n");
    notifies();
    printf("abort waiter\n");
    abort_waiter();
    printf("counting\n");
    counting();
    printf("events\n");
    events();
    printf("callbacks\n");
    callbacks();
    printf("graphs\n");
    graphs();
    printf("contexts\n");
    contexts();
    printf("limits\n");
    limits();
    OK(aclrtFree(dev_a));
    OK(aclrtFree(dev_b));
    OK(aclrtFreeHost(pin));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    return t_end("acl-stream");
}
