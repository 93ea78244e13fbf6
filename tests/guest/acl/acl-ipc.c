/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory, notifies and events of one process in another: two processes with a
 * card each go through the same steps and meet between them.
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "t.h"

#define KEY     65
#define SIZE    (1u << 20)

static int peer;                 /* socket to the other process */
static pid_t peer_pid;
static const char *role;

static void put(const void *p, size_t n)
{
    if (send(peer, p, n, MSG_NOSIGNAL) != (ssize_t)n) {
        printf("FAILED %s: the other process is gone\n", role);
        exit(1);
    }
}

static void get(void *p, size_t n)
{
    if (recv(peer, p, n, MSG_WAITALL) != (ssize_t)n) {
        printf("FAILED %s: the other process is gone\n", role);
        exit(1);
    }
}

static void meet(void)
{
    char c = 1;

    put(&c, 1);
    get(&c, 1);
}

/* The call returns @want and its text has @word. */
#define SAYS(call, want, word)                                          \
    do {                                                                \
        int got_ = (call);                                              \
        const char *msg_ = aclGetRecentErrMsg();                        \
        msg_ = msg_ ? msg_ : "(no text)";                               \
        if (got_ == (want) && strstr(msg_, word)) {                     \
            t_passed++;                                                 \
        } else {                                                        \
            t_failed++;                                                 \
            printf("FAILED %s:%d: %s returns %d, not %d: %s\n",         \
                   __FILE__, __LINE__, #call, got_, (int)(want), msg_); \
        }                                                               \
    } while (0)

static size_t free_memory(void)
{
    size_t free_, total;

    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_, &total));
    return free_;
}

static bool comes_back(size_t bytes)
{
    int i;

    for (i = 0; i < 2000 && free_memory() != bytes; i++) {
        usleep(1000);
    }
    return free_memory() == bytes;
}

/* ---- memory: exporter ---- */

static uint8_t host[SIZE], host2[SIZE];

static void export_memory(void)
{
    char key[KEY], any[KEY], part[KEY];
    int32_t pid = peer_pid;
    uint8_t *dev, *other;
    size_t before;

    OK(aclrtMalloc((void **)&dev, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    t_fill(host, SIZE, 1);
    OK(aclrtMemcpy(dev, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    CODE(aclrtIpcMemGetExportKey(dev, SIZE, key, 64, 0), 100000);
    CODE(aclrtIpcMemGetExportKey(dev, 0, key, KEY, 0), 100000);
    CODE(aclrtIpcMemGetExportKey(dev, SIZE, key, KEY, 2), 100000);
    CODE(aclrtIpcMemGetExportKey(NULL, SIZE, key, KEY, 0), 100000);
    CODE(aclrtIpcMemGetExportKey(host, SIZE, key, KEY, 0), 107000);
    SAYS(aclrtIpcMemGetExportKey(dev, SIZE + 4096, key, KEY, 0), 107000,
         "past the end");
    OK(aclrtIpcMemGetExportKey(dev, SIZE, key, KEY, 0));
    OK(aclrtIpcMemGetExportKey(dev, SIZE, any, KEY,
                               ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    OK(aclrtIpcMemGetExportKey(dev + 4096, 8192, part, KEY,
                               ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    CHECK(strcmp(key, any));
    put(key, KEY);
    put(any, KEY);
    put(part, KEY);
    meet();                      /* the importer was refused */
    CODE(aclrtIpcMemSetImportPid(key, &pid, 0), 100000);
    SAYS(aclrtIpcMemSetImportPid("atlas350:m:1:12", &pid, 1), 107000,
         "not of this process");
    OK(aclrtIpcMemSetImportPid(key, &pid, 1));
    OK(aclrtIpcMemSetAttr(key, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK,
                          ACL_RT_MEM_LINK_IDX_0));
    CODE(aclrtIpcMemSetAttr(key, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK,
                            ACL_RT_MEM_LINK_IDX_1), 207021);
    meet();
    meet();                      /* it has written */
    OK(aclrtMemcpy(host2, SIZE, dev, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(t_diff(host2, 4096, 2) == SIZE_MAX);
    CHECK(t_diff(host2 + 4096, 300000, 3) == SIZE_MAX);
    t_fill(host, SIZE, 1);
    CHECK(!memcmp(host2 + 304096, host + 304096, 600000 - 304096));
    CHECK(host2[600000] == 0x77 && host2[600999] == 0x77 &&
          host2[601000] == host[601000]);
    /* It frees what the importer still has. */
    OK(aclrtMemset(dev, SIZE, 0x21, SIZE));
    before = free_memory();
    OK(aclrtFree(dev));
    CHECK(free_memory() == before);
    SAYS(aclrtFree(dev), 107000, "freed already");
    OK(aclrtMalloc((void **)&other, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(other != dev);
    OK(aclrtMemset(other, SIZE, 0x42, SIZE));
    SAYS(aclrtIpcMemGetExportKey(dev, SIZE, key, KEY, 0), 107000, "freed");
    OK(aclrtFree(other));
    meet();
    meet();                      /* the importer has let go */
    CHECK(comes_back(before + SIZE));
    /* A key that is closed, and one whose memory is gone. */
    OK(aclrtMalloc((void **)&dev, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtIpcMemGetExportKey(dev, SIZE, key, KEY, 1));
    OK(aclrtIpcMemGetExportKey(dev, SIZE, any, KEY, 1));
    put(key, KEY);
    put(any, KEY);
    OK(aclrtIpcMemClose(key));
    SAYS(aclrtIpcMemClose(key), 107000, "closed");
    OK(aclrtFree(dev));
    meet();
    meet();
}

/* ---- memory: importer ---- */

static void keys(const char *good)
{
    static const char *const bad[] = {
        "", "x", "atlas350:m:", "atlas350:m:1", "atlas350:m:-1:1",
        "atlas350:q:1:1", "atlas350:m:1:1x",
    };
    char long_key[200], wrong[KEY], cut[KEY];
    aclrtNotify n;
    void *p;
    size_t i;

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CODE(aclrtIpcMemImportByKey(&p, bad[i], 0), 107000);
        CODE(aclrtIpcMemClose(bad[i]), 107000);
    }
    memset(long_key, 'a', sizeof(long_key));
    CODE(aclrtIpcMemImportByKey(&p, long_key, 0), 107000);
    snprintf(wrong, sizeof(wrong), "%s", good);
    wrong[strlen(wrong) - 1] = good[strlen(good) - 1] == '0' ? '1' : '0';
    SAYS(aclrtIpcMemImportByKey(&p, wrong, 0), 107000, "freed");
    SAYS(aclrtNotifyImportByKey(&n, good, 0), 107000,
         "aclrtNotifyGetExportKey");
    snprintf(cut, sizeof(cut), "atlas350:m:%d:1", 0x3ffff0);
    SAYS(aclrtIpcMemImportByKey(&p, cut, 0), 107000, "not there any more");
    CODE(aclrtIpcMemImportByKey(&p, good, 2), 107000);
    CODE(aclrtIpcMemImportByKey(NULL, good, 0), 100000);
    CODE(aclrtIpcMemImportByKey(&p, NULL, 0), 100000);
    CODE(aclrtIpcMemClose(NULL), 100000);
    CODE(aclrtIpcMemSetAttr(wrong, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0),
         107000);
}

static void read_and_write(uint8_t *far)
{
    uint8_t *dev, *pin;
    aclrtStream s;
    void *base;
    size_t size;
    aclrtPtrAttributes a;

    OK(aclrtCreateStream(&s));
    OK(aclrtMalloc((void **)&dev, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&pin, SIZE));
    OK(aclrtPointerGetAttributes(far + 100, &a));
    CHECK(a.location.type == ACL_MEM_LOCATION_TYPE_DEVICE);
    CHECK(a.location.id == 0);
    OK(aclrtMemGetAddressRange(far + 100, &base, &size));
    CHECK(base == far && size == SIZE);
    /* every way to read it */
    OK(aclrtMemcpy(host, SIZE, far, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(t_diff(host, SIZE, 1) == SIZE_MAX);
    OK(aclrtMemcpy(pin, SIZE, far, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(t_diff(pin, SIZE, 1) == SIZE_MAX);
    OK(aclrtMemcpy(dev, SIZE, far, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));
    OK(aclrtMemcpy(host2, SIZE, dev, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(t_diff(host2, SIZE, 1) == SIZE_MAX);
    memset(host, 0, SIZE);
    memset(pin, 0, SIZE);
    OK(aclrtMemcpyAsync(pin, SIZE, far, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, s));
    OK(aclrtMemcpyAsync(host, SIZE, far, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, s));
    OK(aclrtSynchronizeStream(s));
    CHECK(t_diff(pin, SIZE, 1) == SIZE_MAX);
    CHECK(t_diff(host, SIZE, 1) == SIZE_MAX);
    /* and to write it: 4096 bytes of 2, 300000 of 3, 1000 of 0x77 */
    t_fill(host, 4096, 2);
    OK(aclrtMemcpy(far, SIZE, host, 4096, ACL_MEMCPY_HOST_TO_DEVICE));
    t_fill(pin, 300000, 3);
    OK(aclrtMemcpy(dev, SIZE, pin, 300000, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpyAsync(far + 4096, SIZE - 4096, dev, 300000,
                        ACL_MEMCPY_DEVICE_TO_DEVICE, s));
    OK(aclrtMemsetAsync(far + 600000, 1000, 0x70, 500, s));
    OK(aclrtSynchronizeStream(s));
    OK(aclrtMemset(far + 600500, 1000, 0x70, 500));
    OK(aclrtMemset(dev, SIZE, 0x07, 1000));
    OK(aclrtReduceAsync(far + 600000, dev, 1000,
                        ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT8, s, NULL));
    OK(aclrtSynchronizeStream(s));
    SAYS(aclrtMemcpy(host, SIZE, far + 1, SIZE, ACL_MEMCPY_DEVICE_TO_HOST),
         107000, "past the end");
    SAYS(aclrtFree(far), 107000, "aclrtIpcMemClose");
    CODE(aclrtIpcMemGetExportKey(far, SIZE, (char[KEY]){ 0 }, KEY, 0), 107000);
    OK(aclrtFree(dev));
    OK(aclrtFreeHost(pin));
    OK(aclrtDestroyStream(s));
}

static void import_memory(void)
{
    char key[KEY], any[KEY], part[KEY];
    uint8_t *far, *again, *some;
    void *p;

    get(key, KEY);
    get(any, KEY);
    get(part, KEY);
    keys(any);
    SAYS(aclrtIpcMemImportByKey(&p, key, 0), 207006, "SetImportPid");
    meet();
    meet();
    OK(aclrtIpcMemImportByKey((void **)&far, key, 0));
    SAYS(aclrtMemcpy(host, SIZE, far, 100, ACL_MEMCPY_DEVICE_TO_HOST), 507899,
         "no peer");
    OK(aclrtDeviceEnablePeerAccess(0, 0));
    OK(aclrtMemcpy(host, SIZE, far, 100, ACL_MEMCPY_DEVICE_TO_HOST));
    OK(aclrtDeviceDisablePeerAccess(0));
    OK(aclrtIpcMemImportByKey((void **)&again, key,
                              ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS));
    CHECK(again == far);
    OK(aclrtIpcMemImportByKey((void **)&some, part, 1));
    CHECK(some == far + 4096);
    OK(aclrtIpcMemImportByKey(&p, any, 1));
    CHECK(p == far);
    OK(aclrtIpcMemClose(any));
    SAYS(aclrtIpcMemClose(any), 107000, "nor imported");
    read_and_write(far);
    OK(aclrtIpcMemSetAttr(key, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0));
    meet();
    meet();                      /* the exporter has freed it */
    OK(aclrtMemcpy(host, SIZE, far, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    memset(host2, 0x21, SIZE);
    CHECK(!memcmp(host, host2, SIZE));
    SAYS(aclrtIpcMemImportByKey(&p, any, 0), 107000, "freed");
    OK(aclrtIpcMemClose(key));
    OK(aclrtIpcMemClose(key));
    SAYS(aclrtIpcMemClose(key), 107000, "nor imported");
    OK(aclrtMemcpy(host, SIZE, some, 8192, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(!memcmp(host, host2, 8192));
    SAYS(aclrtMemcpy(host, SIZE, far, 8, ACL_MEMCPY_DEVICE_TO_HOST), 107000,
         "not imported");
    OK(aclrtIpcMemClose(part));
    meet();
    get(key, KEY);
    get(any, KEY);
    meet();
    SAYS(aclrtIpcMemImportByKey(&p, key, 0), 107000, "");
    SAYS(aclrtIpcMemImportByKey(&p, any, 0), 107000, "freed");
    meet();
}

/* ---- notifies ---- */

static void export_notify(void)
{
    aclrtNotify n, more[8];
    aclrtStream s;
    uint32_t id, other;
    int32_t pid = peer_pid;
    char key[KEY], mem[KEY];
    uint8_t *dev;
    int i;

    OK(aclrtCreateStream(&s));
    OK(aclrtCreateNotify(&n, ACL_NOTIFY_DEFAULT));
    OK(aclrtMalloc((void **)&dev, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(dev, SIZE, 0, SIZE));
    SAYS(aclrtNotifySetImportPid(n, &pid, 1), 107000, "no key");
    CODE(aclrtNotifyGetExportKey(n, key, 64, 0), 107000);
    CODE(aclrtNotifyGetExportKey(n, key, KEY, 1), 107000);
    CODE(aclrtNotifyGetExportKey(NULL, key, KEY, 0), 100000);
    OK(aclrtNotifyGetExportKey(n, key, KEY, 0));
    OK(aclrtIpcMemGetExportKey(dev, SIZE, mem, KEY, 1));
    put(key, KEY);
    put(mem, KEY);
    meet();                      /* refused */
    CODE(aclrtNotifySetImportPid(n, &pid, 0), 100000);
    OK(aclrtNotifySetImportPid(n, &pid, 1));
    OK(aclrtGetNotifyId(n, &id));
    put(&id, sizeof(id));
    for (i = 0; i < 20; i++) {   /* the importer writes, records; this waits */
        OK(aclrtWaitAndResetNotify(n, s, 60));
        OK(aclrtMemcpyAsync(host, SIZE, dev, SIZE, ACL_MEMCPY_DEVICE_TO_HOST,
                            s));
        OK(aclrtSynchronizeStream(s));
        CHECK(t_diff(host, SIZE, 100 + (uint32_t)i) == SIZE_MAX);
        meet();
    }
    /* Its id is not another notify's while the importer has it. */
    OK(aclrtDestroyNotify(n));
    for (i = 0; i < 8; i++) {
        OK(aclrtCreateNotify(&more[i], 0));
        OK(aclrtGetNotifyId(more[i], &other));
        CHECK(other != id);
    }
    meet();
    meet();
    for (i = 0; i < 8; i++) {
        OK(aclrtDestroyNotify(more[i]));
    }
    OK(aclrtFree(dev));
    OK(aclrtDestroyStream(s));
}

static void import_notify(void)
{
    char key[KEY], mem[KEY];
    aclrtNotify n, m;
    aclrtStream s;
    uint32_t id, got;
    uint8_t *far, *dev;
    int i;

    get(key, KEY);
    get(mem, KEY);
    SAYS(aclrtNotifyImportByKey(&n, key, 0), 207006, "SetImportPid");
    CODE(aclrtNotifyImportByKey(&n, "no key", 0), 107000);
    CODE(aclrtNotifyImportByKey(&n, mem, 0), 107000);
    meet();
    get(&id, sizeof(id));
    OK(aclrtNotifyImportByKey(&n, key,
                              ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS));
    OK(aclrtNotifyImportByKey(&m, key, 0));
    OK(aclrtGetNotifyId(n, &got));
    CHECK(got == id);
    OK(aclrtIpcMemImportByKey((void **)&far, mem, 1));
    OK(aclrtCreateStream(&s));
    OK(aclrtMalloc((void **)&dev, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    SAYS(aclrtWaitAndResetNotify(n, s, 1), 207000, "only its own card");
    SAYS(aclrtNotifyBatchReset(&n, 1), 207000, "only that process");
    SAYS(aclrtNotifyGetExportKey(n, key, KEY, 0), 107000, "only that process");
    for (i = 0; i < 20; i++) {
        t_fill(host, SIZE, 100 + (uint32_t)i);
        OK(aclrtMemcpy(dev, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
        OK(aclrtMemcpyAsync(far, SIZE, dev, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE,
                            s));
        OK(aclrtRecordNotify(i % 2 ? m : n, s));
        OK(aclrtSynchronizeStream(s));
        meet();
    }
    meet();
    OK(aclrtRecordNotify(n, s)); /* nobody waits; it disturbs nobody either */
    OK(aclrtSynchronizeStream(s));
    OK(aclrtDestroyNotify(n));
    CODE(aclrtDestroyNotify(n), 107017);
    OK(aclrtDestroyNotify(m));
    OK(aclrtIpcMemClose(mem));
    meet();
    OK(aclrtFree(dev));
    OK(aclrtDestroyStream(s));
}

/* ---- events ---- */

static void slow(void *us)
{
    usleep(*(useconds_t *)us);
}

static void owner_events(void)
{
    static useconds_t nap = 200000;
    aclrtEventRecordedStatus st;
    aclrtIpcEventHandle h;
    aclrtEvent e, plain;
    aclrtStream s;
    float ms;

    OK(aclrtCreateStream(&s));
    OK(aclrtCreateEventWithFlag(&plain, ACL_EVENT_SYNC));
    SAYS(aclrtIpcGetEventHandle(plain, &h), 107000, "0x40");
    OK(aclrtDestroyEvent(plain));
    OK(aclrtCreateEventWithFlag(&e, ACL_EVENT_IPC));
    CODE(aclrtIpcGetEventHandle(e, NULL), 100000);
    OK(aclrtIpcGetEventHandle(e, &h));
    put(&h, sizeof(h));
    meet();                      /* the other has opened it */
    OK(aclrtLaunchHostFunc(s, slow, &nap));
    OK(aclrtRecordEvent(e, s));
    OK(aclrtQueryEventStatus(e, &st));
    CHECK(st == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    meet();                      /* submitted; the other waits */
    OK(aclrtSynchronizeEvent(e));
    OK(aclrtQueryEventStatus(e, &st));
    CHECK(st == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CODE(aclrtEventElapsedTime(&ms, e, e), 107006);
    CODE(aclrtResetEvent(e, s), 207000);
    meet();
    meet();                      /* the other has submitted a record */
    OK(aclrtStreamWaitEvent(s, e));
    OK(aclrtSynchronizeStream(s));
    OK(aclrtQueryEventStatus(e, &st));
    CHECK(st == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtDestroyEvent(e));
    meet();
    CODE(aclrtIpcGetEventHandle(e, &h), 107017);
    OK(aclrtDestroyStream(s));
    meet();
}

static void other_events(void)
{
    static useconds_t nap = 200000;
    aclrtEventRecordedStatus st;
    aclrtStreamStatus ss;
    aclrtIpcEventHandle h, bad = { { 0 } };
    aclrtEvent e, late;
    aclrtStream s;
    double t;

    OK(aclrtCreateStream(&s));
    SAYS(aclrtIpcOpenEventHandle(bad, &e), 107000, "aclrtIpcGetEventHandle");
    memset(&bad, 'a', sizeof(bad));
    CODE(aclrtIpcOpenEventHandle(bad, &e), 107000);
    get(&h, sizeof(h));
    OK(aclrtIpcOpenEventHandle(h, &e));
    OK(aclrtQueryEventStatus(e, &st));
    CHECK(st == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    SAYS(aclrtStreamWaitEvent(s, e), 107000, "never recorded");
    OK(aclrtSynchronizeEvent(e));
    meet();
    meet();                      /* its record is submitted */
    t = t_now();
    OK(aclrtStreamWaitEvent(s, e));
    CHECK(t_now() - t < 0.1);
    OK(aclrtStreamQuery(s, &ss));
    CHECK(ss == ACL_STREAM_STATUS_NOT_READY);
    CODE(aclrtSynchronizeEventWithTimeout(e, 1), 507047);
    OK(aclrtSynchronizeStream(s));
    OK(aclrtQueryEventStatus(e, &st));
    CHECK(st == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtSynchronizeEventWithTimeout(e, 1));
    meet();
    OK(aclrtLaunchHostFunc(s, slow, &nap));
    OK(aclrtRecordEvent(e, s));
    meet();
    OK(aclrtSynchronizeStream(s));
    meet();                      /* the owner has destroyed it */
    SAYS(aclrtIpcOpenEventHandle(h, &late), 107000, "freed");
    /* It works on here; a wait of its own for its own record. */
    OK(aclrtRecordEvent(e, s));
    OK(aclrtStreamWaitEvent(s, e));
    OK(aclrtSynchronizeStream(s));
    OK(aclrtDestroyEvent(e));
    OK(aclrtDestroyStream(s));
    meet();
}

/* ---- the exporter's end ---- */

/* Leaves everything exported, resets its device; then it is killed. */
static void die(void)
{
    aclrtIpcEventHandle h;
    char key[KEY], nkey[KEY];
    aclrtNotify n;
    aclrtEvent e;
    aclrtStream s;
    uint8_t *dev;
    int i;

    for (i = 0; i < 2; i++) {
        OK(aclrtCreateStream(&s));
        OK(aclrtMalloc((void **)&dev, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
        OK(aclrtCreateNotify(&n, 0));
        OK(aclrtCreateEventWithFlag(&e, ACL_EVENT_IPC | ACL_EVENT_SYNC));
        OK(aclrtIpcMemGetExportKey(dev, SIZE, key, KEY, 1));
        OK(aclrtNotifyGetExportKey(n, nkey, KEY, 2));
        OK(aclrtIpcGetEventHandle(e, &h));
        put(key, KEY);
        put(nkey, KEY);
        put(&h, sizeof(h));
        meet();
        if (i == 0) {
            OK(aclrtResetDeviceForce(0));
            OK(aclrtSetDevice(0));
            meet();
        } else {
            OK(aclrtWaitAndResetNotify(n, s, 0));
            OK(aclrtRecordEvent(e, s));
            put(&t_failed, sizeof(t_failed));
            put(&t_passed, sizeof(t_passed));
            meet();
            pause();
        }
    }
}

static void survive(void)
{
    aclrtIpcEventHandle h;
    char key[KEY], nkey[KEY];
    const char *const what[] = { "has reset its device", "has ended" };
    int failed, passed, i;
    aclrtNotify n;
    aclrtEvent e;
    aclrtStream s;
    uint8_t *far;
    void *p;

    OK(aclrtCreateStream(&s));
    for (i = 0; i < 2; i++) {
        get(key, KEY);
        get(nkey, KEY);
        get(&h, sizeof(h));
        OK(aclrtIpcMemImportByKey((void **)&far, key, 1));
        OK(aclrtNotifyImportByKey(&n, nkey, 2));
        OK(aclrtIpcOpenEventHandle(h, &e));
        OK(aclrtMemcpy(host, SIZE, far, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
        meet();
        if (i == 0) {
            meet();
        } else {
            get(&failed, sizeof(failed));
            get(&passed, sizeof(passed));
            t_failed += failed;
            t_passed += passed;
            meet();
            OK(aclrtStreamWaitEvent(s, e));
            kill(peer_pid, SIGKILL);
            SAYS(aclrtSynchronizeStream(s), 507001, "was to record it");
            SAYS(aclrtSynchronizeEvent(e), 507001, "was to record");
        }
        SAYS(aclrtMemcpy(host, SIZE, far, 8, ACL_MEMCPY_DEVICE_TO_HOST),
             107000, what[i]);
        SAYS(aclrtMemcpyAsync(host, SIZE, far, 8, ACL_MEMCPY_DEVICE_TO_HOST,
                              s), 107000, what[i]);
        SAYS(aclrtRecordNotify(n, s), 107017, what[i]);
        CODE(aclrtIpcMemImportByKey(&p, key, 0), 107000);
        OK(aclrtIpcMemClose(key));
        CODE(aclrtIpcMemImportByKey(&p, key, 0), 107000);
        OK(aclrtDestroyNotify(n));
        OK(aclrtDestroyEvent(e));
    }
    OK(aclrtDestroyStream(s));
}

/* What one process does alone with its own keys. */
static void alone(void)
{
    aclrtIpcEventHandle h;
    char key[KEY];
    aclrtNotify n, m;
    aclrtEvent e, f;
    aclrtStream s;
    uint8_t *dev;
    void *p;

    OK(aclrtCreateStream(&s));
    OK(aclrtMalloc((void **)&dev, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtIpcMemGetExportKey(dev, SIZE, key, KEY, 0));
    OK(aclrtIpcMemImportByKey(&p, key, 0));
    CHECK(p == dev);
    OK(aclrtMemset(p, SIZE, 1, SIZE));
    OK(aclrtIpcMemClose(key));   /* the import */
    OK(aclrtIpcMemClose(key));   /* the key */
    CODE(aclrtIpcMemClose(key), 107000);
    OK(aclrtFree(dev));
    OK(aclrtCreateNotify(&n, 0));
    OK(aclrtNotifyGetExportKey(n, key, KEY, 0));
    OK(aclrtNotifyImportByKey(&m, key, 0));
    OK(aclrtRecordNotify(m, s));
    OK(aclrtWaitAndResetNotify(n, s, 10));
    OK(aclrtSynchronizeStream(s));
    OK(aclrtDestroyNotify(m));
    OK(aclrtDestroyNotify(n));
    OK(aclrtCreateEventExWithFlag(&e, ACL_EVENT_IPC));
    OK(aclrtStreamWaitEvent(s, e));      /* never recorded: no wait */
    OK(aclrtSynchronizeStream(s));
    OK(aclrtIpcGetEventHandle(e, &h));
    OK(aclrtIpcOpenEventHandle(h, &f));
    OK(aclrtRecordEvent(e, s));
    OK(aclrtSynchronizeEvent(f));
    OK(aclrtDestroyEvent(e));
    OK(aclrtDestroyEvent(f));
    OK(aclrtDestroyStream(s));
}

int main(void)
{
    int sv[2], status;
    pid_t self = getpid(), child;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv)) {
        return 1;
    }
    child = fork();
    peer = sv[child == 0];
    close(sv[child != 0]);
    if (child == 0) {
        role = "exporter";
        peer_pid = self;
        OK(aclrtSetDevice(0));
        alone();
        export_memory();
        export_notify();
        owner_events();
        die();
        return t_end("acl-ipc exporter");
    }
    role = "importer";
    peer_pid = child;
    OK(aclrtSetDevice(1));
    import_memory();
    import_notify();
    other_events();
    survive();
    OK(aclrtResetDevice(1));
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
          WTERMSIG(status) == SIGKILL);
    return t_end("acl-ipc");
}
