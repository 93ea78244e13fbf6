/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process for each card, without MPI: rank 0 gets the root information
 * and leaves it in memory that all share; then gradients of a "model" are
 * averaged over the ranks and the loss is compared, as training programs do.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "hccl/hccl.h"

#define CHECK(call)                                                     \
    do {                                                                \
        int rc_ = static_cast<int>(call);                               \
        if (rc_ != 0) {                                                 \
            const char *text_ = aclGetRecentErrMsg();                   \
            fprintf(stderr, "%s:%d: %s returned %d: %s\n", __FILE__,    \
                    __LINE__, #call, rc_, text_ ? text_ : "");          \
            _exit(1);                                                   \
        }                                                               \
    } while (0)

struct Board {
    volatile int ready;
    HcclRootInfo root;
};

static const uint64_t PARAMETERS = 300000;
static const int STEPS = 5;

/* Every rank pulls all weights to its own number: they end at the mean. */
static void Train(uint32_t me, uint32_t n, HcclComm comm, aclrtStream stream)
{
    std::vector<float> w(PARAMETERS), g(PARAMETERS);
    uint64_t bytes = PARAMETERS * sizeof(float);
    void *weights = nullptr, *gradient = nullptr;
    float mean = static_cast<float>(n - 1) / 2, worst = 0;

    CHECK(aclrtMalloc(&weights, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&gradient, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    for (uint64_t i = 0; i < PARAMETERS && me == 0; i++) {
        w[i] = static_cast<float>(i % 100);
    }
    CHECK(aclrtMemcpy(weights, bytes, w.data(), bytes,
                      ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(HcclBroadcast(weights, PARAMETERS, HCCL_DATA_TYPE_FP32, 0, comm,
                        stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(w.data(), bytes, weights, bytes,
                      ACL_MEMCPY_DEVICE_TO_HOST));
    for (int step = 0; step < STEPS; step++) {
        for (uint64_t i = 0; i < PARAMETERS; i++) {
            g[i] = w[i] - static_cast<float>(me);
        }
        CHECK(aclrtMemcpy(gradient, bytes, g.data(), bytes,
                          ACL_MEMCPY_HOST_TO_DEVICE));
        CHECK(HcclAllReduce(gradient, gradient, PARAMETERS,
                            HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                            stream));
        CHECK(aclrtSynchronizeStream(stream));
        CHECK(aclrtMemcpy(g.data(), bytes, gradient, bytes,
                          ACL_MEMCPY_DEVICE_TO_HOST));
        for (uint64_t i = 0; i < PARAMETERS; i++) {
            w[i] -= g[i] / static_cast<float>(n) / 2;
        }
    }
    for (uint64_t i = 0; i < PARAMETERS; i++) {
        float start = static_cast<float>(i % 100) - mean;

        worst = std::max(worst, std::fabs(
            w[i] - mean - std::ldexp(start, -STEPS)));
    }
    printf("rank %u of %u: %d steps, furthest from the mean by %g\n", me, n,
           STEPS, static_cast<double>(worst));
    fflush(stdout);
    if (worst > 1e-3f) {
        _exit(1);
    }
    CHECK(aclrtFree(weights));
    CHECK(aclrtFree(gradient));
}

static int OneRank(uint32_t me, uint32_t n, Board *board)
{
    aclrtStream stream = nullptr;
    HcclCommConfig config;
    HcclComm comm = nullptr;

    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(static_cast<int32_t>(me)));
    if (me == 0) {
        CHECK(HcclGetRootInfo(&board->root));
        __sync_synchronize();
        board->ready = 1;
    }
    while (!board->ready) {
        usleep(1000);
    }
    __sync_synchronize();
    HcclCommConfigInit(&config);
    config.hcclBufferSize = 64;
    config.hcclDeterministic = 1;
    CHECK(HcclCommInitRootInfoConfig(n, &board->root, me, &config, &comm));
    CHECK(aclrtCreateStream(&stream));
    Train(me, n, comm, stream);
    CHECK(aclrtDestroyStream(stream));
    CHECK(HcclCommDestroy(comm));
    CHECK(aclrtResetDevice(static_cast<int32_t>(me)));
    CHECK(aclFinalize());
    return 0;
}

/* In a process that ends: the ones of the ranks must open the cards. */
static uint32_t CountCards()
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        uint32_t n = 0;

        _exit(aclrtGetDeviceCount(&n) == 0 ? static_cast<int>(n) : 0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid
           ? static_cast<uint32_t>(WEXITSTATUS(status)) : 0;
}

int main()
{
    uint32_t n = CountCards();
    int bad = n == 0;
    void *p = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (fork() == 0) {
            _exit(OneRank(i, n, static_cast<Board *>(p)));
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        int status = 1;

        bad |= wait(&status) < 0 || status != 0;
    }
    printf("%u processes: %s\n", n, bad ? "failed" : "ok");
    return bad;
}
