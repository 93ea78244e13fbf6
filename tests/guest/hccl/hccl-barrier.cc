/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HcclBarrier, ranks that do not come, and ranks that call something else:
 *
 *   hccl-barrier threads|processes N order|missing|never|differ...
 */
#include <algorithm>
#include <functional>
#include "hccl/hccl.h"
#include "ctrl.h"

using namespace ctrl;

namespace {

constexpr uint32_t ROUNDS = 12;
constexpr uint64_t SLOW = 48 << 20;
constexpr uint64_t PAGE = 4096;

/* A page for each rank, which its card writes into. */
uint8_t *g_pages;

std::atomic<uint32_t> &Word(uint32_t rank)
{
    return *reinterpret_cast<std::atomic<uint32_t> *>(g_pages + rank * PAGE);
}

struct Look {
    uint32_t ranks, round;
    uint32_t least;              /* of all ranks' words behind the barrier */
};

void Least(void *arg)
{
    Look *l = static_cast<Look *>(arg);

    l->least = ~0u;
    for (uint32_t r = 0; r < l->ranks; r++) {
        l->least = std::min(l->least, Word(r).load());
    }
}

/*
 * In each round another rank is late: it copies much. Then each card writes
 * the round's number, comes to the barrier, and looks at all numbers.
 */
void Order(const Rank &me)
{
    HcclComm comm = Make(me, 0, Config("order"));
    std::vector<Look> look(ROUNDS, { me.ranks, 0, 0 });
    aclrtStream stream;
    void *big, *word, *mapped;
    uint32_t bad = 0;

    SAMPLE_CHECK(aclrtCreateStream(&stream));
    SAMPLE_CHECK(aclrtMalloc(&big, 2 * SLOW, ACL_MEM_MALLOC_HUGE_FIRST));
    SAMPLE_CHECK(aclrtMalloc(&word, ROUNDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    SAMPLE_CHECK(aclrtHostRegister(g_pages + me.rank * PAGE, PAGE,
                                   ACL_HOST_REGISTER_MAPPED, &mapped));
    std::vector<uint32_t> numbers(ROUNDS);
    for (uint32_t k = 0; k < ROUNDS; k++) {
        numbers[k] = k + 1;
    }
    SAMPLE_CHECK(aclrtMemcpy(word, ROUNDS * 4, numbers.data(), ROUNDS * 4,
                             ACL_MEMCPY_HOST_TO_DEVICE));
    SAMPLE_CHECK(HcclBarrier(comm, stream));
    for (uint32_t k = 0; k < ROUNDS; k++) {
        for (int i = 0; i < 4 && k % me.ranks == me.rank; i++) {
            SAMPLE_CHECK(aclrtMemcpyAsync(
                big, SLOW, static_cast<uint8_t *>(big) + SLOW, SLOW,
                ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
        }
        SAMPLE_CHECK(aclrtMemcpyAsync(
            g_pages + me.rank * PAGE, 4, static_cast<uint8_t *>(word) + 4 * k,
            4, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        if (getenv("NO_BARRIER") == nullptr) {
            SAMPLE_CHECK(HcclBarrier(comm, stream));
        }
        look[k].round = k + 1;
        SAMPLE_CHECK(aclrtLaunchHostFunc(stream, Least, &look[k]));
    }
    SAMPLE_CHECK(aclrtSynchronizeStream(stream));
    for (const Look &l : look) {
        bad += l.least < l.round;
    }
    Ok(bad == 0, "rank " + std::to_string(me.rank) + ": all came before any "
       "went on", std::to_string(bad) + " of " + std::to_string(ROUNDS) +
       " rounds wrong");
    Meet(me);
    SAMPLE_CHECK(aclrtHostUnregister(g_pages + me.rank * PAGE));
    SAMPLE_CHECK(aclrtFree(big));
    SAMPLE_CHECK(aclrtFree(word));
    SAMPLE_CHECK(HcclCommDestroy(comm));
    SAMPLE_CHECK(aclrtDestroyStream(stream));
}

/* The last rank does not come to the second one: all others are told. */
void Missing(const Rank &me)
{
    uint32_t last = me.ranks - 1;
    HcclComm comm = Make(me, 1, Config("missing"));
    std::string who = "rank " + std::to_string(me.rank) + ": ";
    aclrtStream stream;
    void *data;

    SAMPLE_CHECK(aclrtCreateStream(&stream));
    SAMPLE_CHECK(aclrtMalloc(&data, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    SAMPLE_CHECK(HcclBarrier(comm, stream));
    SAMPLE_CHECK(aclrtSynchronizeStream(stream));
    if (me.rank != last) {
        double begin = sample::Now();
        SAMPLE_CHECK(HcclBarrier(comm, stream));
        aclError rc = aclrtSynchronizeStream(stream);
        double took = sample::Now() - begin;
        bool says = Says("EI0002", { "missing", "channel to rank " +
                                     std::to_string(last), "which rank " +
                                     std::to_string(last) + " must record" });

        Ok(rc == 507001 && says && took > 1.5 && took < 20,
           who + "a barrier without the last rank ends",
           std::to_string(rc) + " after " + std::to_string(took) + " s");
        HcclResult next = HcclAllReduce(data, data, 10, HCCL_DATA_TYPE_FP32,
                                        HCCL_REDUCE_SUM, comm, stream);
        says = Says("", { "has failed before" });
        Ok(next != HCCL_SUCCESS && says, who + "the next one refuses",
           std::to_string(next));
    }
    Meet(me);
    SAMPLE_CHECK(HcclCommDestroy(comm));
    aclrtDestroyStream(stream);

    /* Another communicator works. */
    comm = Make(me, 2, Config("missing no more"));
    SAMPLE_CHECK(aclrtCreateStream(&stream));
    SAMPLE_CHECK(HcclBarrier(comm, stream));
    Ok(aclrtSynchronizeStream(stream) == ACL_SUCCESS,
       who + "another communicator works");
    Meet(me);
    SAMPLE_CHECK(HcclCommDestroy(comm));
    SAMPLE_CHECK(aclrtFree(data));
    SAMPLE_CHECK(aclrtDestroyStream(stream));
}

/* The last rank does not come to the first operator of a communicator. */
void Never(const Rank &me)
{
    HcclComm comm = Make(me, 3, Config("never"));
    std::string last = std::to_string(me.ranks - 1);
    aclrtStream stream;

    SAMPLE_CHECK(aclrtCreateStream(&stream));
    if (me.rank + 1 != me.ranks) {
        HcclResult rc = HcclBarrier(comm, stream);
        bool says = Says("EI0006", { "channel to rank " + last, "HcclBarrier",
                                     "HCCL_CONNECT_TIMEOUT" });

        Ok(rc == HCCL_E_TIMEOUT && says, "rank " + std::to_string(me.rank) +
           ": the first barrier without the last rank",
           std::to_string(rc));
    }
    Meet(me);
    SAMPLE_CHECK(HcclCommDestroy(comm));
    SAMPLE_CHECK(aclrtDestroyStream(stream));
}

/*
 * The last rank's arguments are others. It is told at the call if it comes
 * second; who came first learns it from its stream at once, long before the
 * operator's limit (2 s; the ranks are not that slow).
 */
void Different(const Rank &me, uint32_t k, const char *what,
               const std::vector<std::string> &words,
               const std::function<HcclResult(bool, void *, HcclComm,
                                              aclrtStream)> &call)
{
    bool odd = me.rank + 1 == me.ranks;
    HcclComm comm = Make(me, k, Config(what));
    aclrtStream stream;
    void *data;

    SAMPLE_CHECK(aclrtCreateStream(&stream));
    SAMPLE_CHECK(aclrtMalloc(&data, 65536, ACL_MEM_MALLOC_HUGE_FIRST));
    SAMPLE_CHECK(HcclBarrier(comm, stream));
    SAMPLE_CHECK(aclrtSynchronizeStream(stream));
    Meet(me);
    if (k % 2 != 0 && odd) {
        usleep(300000);          /* surely the second, or else the first */
    } else if (k % 2 == 0 && !odd) {
        usleep(300000);
    }
    double begin = sample::Now();
    HcclResult rc = call(odd, data, comm, stream);
    bool said = rc != HCCL_SUCCESS;
    if (rc == HCCL_SUCCESS) {
        said = aclrtSynchronizeStream(stream) != ACL_SUCCESS;
    }
    double took = sample::Now() - begin;
    const char *raw = aclGetRecentErrMsg();
    std::string text = raw != nullptr ? raw : "";
    for (const std::string &w : words) {
        said = said && text.find(w) != std::string::npos;
    }
    /* Two equal ranks may find out by the odd one only. */
    Ok(said && text.find("EI0005") != std::string::npos && took < 1.5,
       "rank " + std::to_string(me.rank) + ": another " + what,
       std::to_string(rc) + " after " + std::to_string(took) + " s: " + text);
    Meet(me);
    SAMPLE_CHECK(HcclCommDestroy(comm));
    aclrtDestroyStream(stream);
    SAMPLE_CHECK(aclrtFree(data));
}

void Differ(const Rank &me)
{
    const HcclDataType f32 = HCCL_DATA_TYPE_FP32, i32 = HCCL_DATA_TYPE_INT32;
    uint32_t k = 4;

    for (int twice = 0; twice < 2; twice++) {
        Different(me, k++, "count", { "HcclAllReduce", "parameter count",
                                      "has 100", "has 101" },
                  [&](bool odd, void *p, HcclComm c, aclrtStream s) {
            return HcclAllReduce(p, p, odd ? 101 : 100, f32, HCCL_REDUCE_SUM,
                                 c, s);
        });
    }
    Different(me, k++, "operation", { "HcclAllReduce", "parameter op" },
              [&](bool odd, void *p, HcclComm c, aclrtStream s) {
        return HcclAllReduce(p, p, 100, f32, odd ? HCCL_REDUCE_MAX
                                                 : HCCL_REDUCE_SUM, c, s);
    });
    Different(me, k++, "type", { "HcclAllReduce", "parameter dataType" },
              [&](bool odd, void *p, HcclComm c, aclrtStream s) {
        return HcclAllReduce(p, p, 100, odd ? i32 : f32, HCCL_REDUCE_SUM, c,
                             s);
    });
    Different(me, k++, "root", { "HcclBroadcast", "parameter root" },
              [&](bool odd, void *p, HcclComm c, aclrtStream s) {
        return HcclBroadcast(p, 100, f32, odd ? 1 : 0, c, s);
    });
    Different(me, k++, "operator", { "HcclAllReduce", "HcclBroadcast",
                                     "same order" },
              [&](bool odd, void *p, HcclComm c, aclrtStream s) {
        return odd ? HcclBroadcast(p, 100, f32, 0, c, s)
                   : HcclAllReduce(p, p, 100, f32, HCCL_REDUCE_SUM, c, s);
    });
    Different(me, k++, "matrix", { "HcclAlltoAllVC", "counts" },
              [&](bool odd, void *p, HcclComm c, aclrtStream s) {
        std::vector<uint64_t> m(me.ranks * me.ranks, odd ? 2 : 1);
        return HcclAlltoAllVC(p, m.data(), f32,
                              static_cast<uint8_t *>(p) + 32768, f32, c, s);
    });
}

} // namespace

int main(int argc, char **argv)
{
    uint32_t n = argc > 3 ? strtoul(argv[2], nullptr, 10) : 0;
    int rc;

    if (n < 2) {
        fprintf(stderr, "usage: hccl-barrier threads|processes N TEST...\n");
        return 2;
    }
    setenv("HCCL_EXEC_TIMEOUT", "2", 0);
    setenv("ATLAS350_CONNECT_TIMEOUT", "3", 0);
    Share();
    g_pages = static_cast<uint8_t *>(mmap(nullptr, n * PAGE,
                                          PROT_READ | PROT_WRITE, MAP_SHARED |
                                          MAP_ANONYMOUS, -1, 0));
    rc = sample::Run(n, strcmp(argv[1], "processes") == 0,
                     [&](const Rank &me) {
        for (int i = 3; i < argc; i++) {
            std::string what = argv[i];

            what == "order" ? Order(me) : what == "missing" ? Missing(me)
                : what == "differ" ? Differ(me) : Never(me);
        }
    });
    return Done(rc);
}
