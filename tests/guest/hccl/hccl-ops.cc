/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators of hccl/hccl.h, each against what its definition gives:
 *
 *   hccl-ops threads|processes|env N TEST...
 *   hccl-ops single N
 *
 * env: threads, with the HCCL buffer of HCCL_BUFFSIZE, else it has 2 MiB.
 * single: one thread drives all devices, by groups.
 * Every rank computes its own expected bytes from the inputs of all ranks,
 * which are functions of a seed. Buffers have guards on both sides.
 */
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include "hccl/hccl.h"
#include "ctrl.h"
#include "values.h"

using namespace ctrl;
using values::Bytes;
using values::Input;
using values::Reduced;
using values::Size;

namespace {

bool g_env, g_processes;
constexpr uint64_t GUARD = 256;
constexpr uint8_t MARK = 0xee;

/* Device memory that an operator works on. */
class Area {
public:
    explicit Area(uint64_t size) : size_(size)
    {
        void *p = nullptr;

        SAMPLE_CHECK(aclrtMalloc(&p, size + 2 * GUARD,
                                 ACL_MEM_MALLOC_HUGE_FIRST));
        base_ = static_cast<uint8_t *>(p);
    }

    ~Area()
    {
        aclrtFree(base_);
    }

    Area(const Area &) = delete;
    Area &operator=(const Area &) = delete;

    void *At(uint64_t off = 0) const
    {
        return base_ + GUARD + off;
    }

    /* @v, and marks all around; @size: of the part that is used. */
    void Fill(const Bytes &v, uint64_t size)
    {
        Bytes all(size + 2 * GUARD, MARK);

        std::copy(v.begin(), v.end(), all.begin() + GUARD);
        SAMPLE_CHECK(aclrtMemcpy(base_, all.size(), all.data(), all.size(),
                                 ACL_MEMCPY_HOST_TO_DEVICE));
    }

    /* Is it @v, and are the marks as they were? */
    bool Is(const Bytes &v, std::string *why) const
    {
        Bytes all(v.size() + 2 * GUARD);
        uint64_t i;

        SAMPLE_CHECK(aclrtMemcpy(all.data(), all.size(), base_, all.size(),
                                 ACL_MEMCPY_DEVICE_TO_HOST));
        for (i = 0; i < GUARD; i++) {
            if (all[i] != MARK || all[GUARD + v.size() + i] != MARK) {
                *why = "bytes beside the buffer were written";
                return false;
            }
        }
        for (i = 0; i < v.size() && all[GUARD + i] == v[i]; i++) {
        }
        if (i < v.size()) {
            *why = "byte " + std::to_string(i) + " of " +
                   std::to_string(v.size()) + " is " +
                   std::to_string(all[GUARD + i]) + ", not " +
                   std::to_string(v[i]);
        }
        return i == v.size();
    }

    uint64_t Bytes_() const
    {
        return size_;
    }

private:
    uint64_t size_;
    uint8_t *base_;
};

/* One rank of the test. */
class Tester {
public:
    Tester(const Rank &me, HcclComm comm, uint64_t room = 8 << 20)
        : comm_(comm), in_(room), out_(room)
    {
        (void)me;
        SAMPLE_CHECK(HcclGetRankId(comm, &rank_));
        SAMPLE_CHECK(HcclGetRankSize(comm, &ranks_));
        SAMPLE_CHECK(aclrtCreateStream(&stream_));
    }

    ~Tester()
    {
        aclrtDestroyStream(stream_);
    }

    /* ---- operators ---- */

    void AllReduce(HcclDataType type, HcclReduceOp op, uint64_t n,
                   bool inPlace)
    {
        uint64_t s = Seed();
        Area &to = inPlace ? in_ : out_;

        in_.Fill(Input(type, s, rank_, 0, n), n * Size(type));
        if (!inPlace) {
            out_.Fill({}, n * Size(type));
        }
        Run(HcclAllReduce(in_.At(), to.At(), n, type, op, comm_, stream_));
        Check(to, Reduced(type, op, s, ranks_, 0, n), "AllReduce", type, op, n,
              inPlace);
    }

    void Reduce(HcclDataType type, HcclReduceOp op, uint64_t n, uint32_t root,
                bool inPlace)
    {
        uint64_t s = Seed();
        Area &to = inPlace ? in_ : out_;

        in_.Fill(Input(type, s, rank_, 0, n), n * Size(type));
        if (!inPlace) {
            out_.Fill({}, n * Size(type));
        }
        Run(HcclReduce(in_.At(), to.At(), n, type, op, root, comm_, stream_));
        if (rank_ == root) {
            Check(to, Reduced(type, op, s, ranks_, 0, n), "Reduce", type, op,
                  n, inPlace);
        } else if (!inPlace) {
            Check(in_, Input(type, s, rank_, 0, n), "Reduce, the input", type,
                  op, n, inPlace);
        }
    }

    /* inPlace: the result goes to its own part of the input. */
    void ReduceScatter(HcclDataType type, HcclReduceOp op, uint64_t n,
                       bool inPlace)
    {
        uint64_t s = Seed(), bytes = n * Size(type), at = rank_ * bytes;
        Bytes want = Reduced(type, op, s, ranks_, rank_ * n, n), all;

        all = Input(type, s, rank_, 0, n * ranks_);
        in_.Fill(all, all.size());
        if (inPlace) {
            Run(HcclReduceScatter(in_.At(), in_.At(at), n, type, op, comm_,
                                  stream_));
            std::copy(want.begin(), want.end(), all.begin() + at);
            Check(in_, all, "ReduceScatter", type, op, n, inPlace);
        } else {
            out_.Fill({}, bytes);
            Run(HcclReduceScatter(in_.At(), out_.At(), n, type, op, comm_,
                                  stream_));
            Check(out_, want, "ReduceScatter", type, op, n, inPlace);
        }
    }

    void ReduceScatterV(HcclDataType type, HcclReduceOp op, uint64_t n)
    {
        uint64_t s = Seed();
        std::vector<uint64_t> counts, displs;
        uint64_t total = Uneven(s, n, &counts, &displs);

        in_.Fill(Input(type, s, rank_, 0, total), total * Size(type));
        out_.Fill({}, counts[rank_] * Size(type));
        HcclResult rc = HcclReduceScatterV(
            in_.At(), counts.data(), displs.data(), out_.At(), counts[rank_],
            type, op, comm_, stream_);
        uint64_t mine = counts[rank_], first = displs[rank_];
        std::fill(counts.begin(), counts.end(), ~0ull);  /* read already */
        Run(rc);
        Check(out_, Reduced(type, op, s, ranks_, first, mine),
              "ReduceScatterV", type, op, n, false);
    }

    void Broadcast(HcclDataType type, uint64_t n, uint32_t root)
    {
        uint64_t s = Seed();

        in_.Fill(rank_ == root ? Input(type, s, root, 0, n) : Bytes(),
                 n * Size(type));
        Run(HcclBroadcast(in_.At(), n, type, root, comm_, stream_));
        Check(in_, Input(type, s, root, 0, n), "Broadcast", type, n);
    }

    void Scatter(HcclDataType type, uint64_t n, uint32_t root)
    {
        uint64_t s = Seed();

        if (rank_ == root) {
            in_.Fill(Input(type, s, root, 0, n * ranks_),
                     n * ranks_ * Size(type));
        }
        out_.Fill({}, n * Size(type));
        Run(HcclScatter(rank_ == root ? in_.At() : nullptr, out_.At(), n, type,
                        root, comm_, stream_));
        Check(out_, Input(type, s, root, rank_ * n, n), "Scatter", type, n);
    }

    /* inPlace: the input lies where its copy belongs. */
    void AllGather(HcclDataType type, uint64_t n, bool inPlace)
    {
        uint64_t s = Seed(), bytes = n * Size(type);
        Bytes mine = Input(type, s, rank_, 0, n), all;

        in_.Fill(mine, bytes);
        if (inPlace) {
            all.assign(rank_ * bytes, MARK);
            all.insert(all.end(), mine.begin(), mine.end());
        }
        out_.Fill(all, bytes * ranks_);
        Run(HcclAllGather(inPlace ? out_.At(rank_ * bytes) : in_.At(),
                          out_.At(), n, type, comm_, stream_));
        all.clear();
        for (uint32_t r = 0; r < ranks_; r++) {
            Bytes v = Input(type, s, r, 0, n);
            all.insert(all.end(), v.begin(), v.end());
        }
        Check(out_, all, "AllGather", type, n);
    }

    void AllGatherV(HcclDataType type, uint64_t n)
    {
        uint64_t s = Seed();
        std::vector<uint64_t> counts, displs;
        uint64_t total = Uneven(s, n, &counts, &displs);
        Bytes all(total * Size(type), MARK);

        in_.Fill(Input(type, s, rank_, 0, counts[rank_]),
                 counts[rank_] * Size(type));
        out_.Fill({}, all.size());
        for (uint32_t r = 0; r < ranks_; r++) {
            Bytes v = Input(type, s, r, 0, counts[r]);
            std::copy(v.begin(), v.end(),
                      all.begin() + displs[r] * Size(type));
        }
        HcclResult rc = HcclAllGatherV(in_.At(), counts[rank_], out_.At(),
                                       counts.data(), displs.data(), type,
                                       comm_, stream_);
        std::fill(counts.begin(), counts.end(), ~0ull);
        Run(rc);
        Check(out_, all, "AllGatherV", type, n);
    }

    void AlltoAll(HcclDataType type, uint64_t n)
    {
        uint64_t s = Seed();
        Bytes all;

        in_.Fill(Input(type, s, rank_, 0, n * ranks_),
                 n * ranks_ * Size(type));
        out_.Fill({}, n * ranks_ * Size(type));
        Run(HcclAlltoAll(in_.At(), n, type, out_.At(), n, type, comm_,
                         stream_));
        for (uint32_t r = 0; r < ranks_; r++) {
            Bytes v = Input(type, s, r, rank_ * n, n);
            all.insert(all.end(), v.begin(), v.end());
        }
        Check(out_, all, "AlltoAll", type, n);
    }

    /* What goes from @from to @to, in elements; some are 0. */
    uint64_t Matrix(uint64_t s, uint64_t n, uint32_t from, uint32_t to) const
    {
        uint64_t h = values::Mix(s * 77 + from * 1000003 + to * 7919);

        return h % 5 == 0 ? 0 : h % (n + 1);
    }

    /* Rows in order, a gap of one element behind each part. */
    void AlltoAllV(HcclDataType type, uint64_t n)
    {
        uint64_t s = Seed(), out = 0, in = 0;
        std::vector<uint64_t> sc(ranks_), sd(ranks_), rc(ranks_), rd(ranks_);

        for (uint32_t r = 0; r < ranks_; r++) {
            sc[r] = Matrix(s, n, rank_, r);
            rc[r] = Matrix(s, n, r, rank_);
            sd[r] = out;
            rd[ranks_ - 1 - r] = 0;
            out += sc[r] + 1;
        }
        for (uint32_t r = ranks_; r-- > 0; in += rc[r] + 1) {
            rd[r] = in;          /* from the last rank down */
        }
        in_.Fill(Input(type, s, rank_, 0, out), out * Size(type));
        out_.Fill({}, in * Size(type));
        Bytes all(in * Size(type), MARK);
        for (uint32_t r = 0; r < ranks_; r++) {
            uint64_t first = 0;

            for (uint32_t k = 0; k < rank_; k++) {
                first += Matrix(s, n, r, k) + 1;
            }
            Bytes v = Input(type, s, r, first, rc[r]);
            std::copy(v.begin(), v.end(), all.begin() + rd[r] * Size(type));
        }
        HcclResult code = HcclAlltoAllV(in_.At(), sc.data(), sd.data(), type,
                                        out_.At(), rc.data(), rd.data(), type,
                                        comm_, stream_);
        std::fill(sc.begin(), sc.end(), ~0ull);
        std::fill(rd.begin(), rd.end(), ~0ull);
        Run(code);
        Check(out_, all, "AlltoAllV", type, n);
    }

    void AlltoAllVC(HcclDataType type, uint64_t n)
    {
        uint64_t s = Seed(), out = 0;
        std::vector<uint64_t> m(ranks_ * ranks_);
        Bytes all;

        for (uint32_t k = 0; k < ranks_ * ranks_; k++) {
            m[k] = Matrix(s, n, k / ranks_, k % ranks_);
            out += k / ranks_ == rank_ ? m[k] : 0;
        }
        for (uint32_t r = 0; r < ranks_; r++) {
            uint64_t first = 0;

            for (uint32_t k = 0; k < rank_; k++) {
                first += m[r * ranks_ + k];
            }
            Bytes v = Input(type, s, r, first, m[r * ranks_ + rank_]);
            all.insert(all.end(), v.begin(), v.end());
        }
        in_.Fill(Input(type, s, rank_, 0, out), out * Size(type));
        out_.Fill({}, all.size());
        HcclResult rc = HcclAlltoAllVC(in_.At(), m.data(), type, out_.At(),
                                       type, comm_, stream_);
        std::fill(m.begin(), m.end(), ~0ull);
        Run(rc);
        Check(out_, all, "AlltoAllVC", type, n);
    }

    /* Round the ring, one rank after the other, on one stream. */
    void SendRecv(HcclDataType type, uint64_t n)
    {
        uint64_t s = Seed();
        uint32_t to = (rank_ + 1) % ranks_, from = (rank_ + ranks_ - 1) % ranks_;

        in_.Fill(Input(type, s, rank_, 0, n), n * Size(type));
        out_.Fill({}, n * Size(type));
        if (rank_ % 2 == 0 && rank_ + 1 != ranks_) {
            SAMPLE_CHECK(HcclSend(in_.At(), n, type, to, comm_, stream_));
            Run(HcclRecv(out_.At(), n, type, from, comm_, stream_));
        } else {
            SAMPLE_CHECK(HcclRecv(out_.At(), n, type, from, comm_, stream_));
            Run(HcclSend(in_.At(), n, type, to, comm_, stream_));
        }
        Check(out_, Input(type, s, from, 0, n), "Send, Recv", type, n);
    }

    /* Both sides send first: only side by side does it end. */
    void Group(HcclDataType type, uint64_t n)
    {
        uint64_t s = Seed(), bytes = n * Size(type);
        Bytes all;

        in_.Fill(Input(type, s, rank_, 0, n * ranks_), bytes * ranks_);
        all = Bytes(bytes * ranks_, MARK);
        out_.Fill({}, all.size());
        SAMPLE_CHECK(HcclGroupStart());
        for (uint32_t r = 0; r < ranks_; r++) {
            if (r != rank_) {
                SAMPLE_CHECK(HcclSend(in_.At(r * bytes), n, type, r, comm_,
                                      stream_));
                Bytes v = Input(type, s, r, rank_ * n, n);
                std::copy(v.begin(), v.end(), all.begin() + r * bytes);
            }
        }
        for (uint32_t r = 0; r < ranks_; r++) {
            if (r != rank_) {
                SAMPLE_CHECK(HcclRecv(out_.At(r * bytes), n, type, r, comm_,
                                      stream_));
            }
        }
        Run(HcclGroupEnd());
        Check(out_, all, "Send, Recv in a group", type, n);
    }

    /*
     * To each rank, itself too, two messages of different size, one of
     * nothing; receives in the other order of ranks.
     */
    void Batch(HcclDataType type, uint64_t n)
    {
        uint64_t s = Seed(), b = Size(type), two = 2 * n + 1;
        std::vector<HcclSendRecvItem> items;
        Bytes all;

        in_.Fill(Input(type, s, rank_, 0, two * ranks_), two * ranks_ * b);
        out_.Fill({}, two * ranks_ * b);
        for (uint32_t r = 0; r < ranks_; r++) {
            items.push_back({ HCCL_SEND, in_.At(r * two * b), n, type, r });
            items.push_back({ HCCL_SEND, in_.At(), 0, type, r });
            items.push_back({ HCCL_SEND, in_.At((r * two + n) * b), n + 1,
                              type, r });
            Bytes v = Input(type, s, r, rank_ * two, two);
            all.insert(all.end(), v.begin(), v.end());
        }
        for (uint32_t r = ranks_; r-- > 0;) {
            items.push_back({ HCCL_RECV, out_.At(r * two * b), n, type, r });
            items.push_back({ HCCL_RECV, out_.At((r * two + n) * b), n + 1,
                              type, r });
            items.push_back({ HCCL_RECV, out_.At(), 0, type, r });
        }
        HcclResult rc = HcclBatchSendRecv(items.data(), items.size(), comm_,
                                          stream_);
        items.clear();
        items.shrink_to_fit();
        Run(rc);
        Check(out_, all, "BatchSendRecv", type, n);
    }

    /* ---- many at once ---- */

    /* Each works on what the one before left; nobody waits in between. */
    void Chain(uint32_t rounds)
    {
        const HcclDataType type = HCCL_DATA_TYPE_INT32;
        uint64_t s = Seed(), n = 1024;
        std::vector<uint32_t> mine(n), sum(n), all(n * ranks_);

        for (uint64_t i = 0; i < n; i++) {
            for (uint32_t r = 0; r < ranks_; r++) {
                uint32_t v = values::Element(type, s, r, i);
                sum[i] += v;
                mine[i] = r == rank_ ? v : mine[i];
            }
        }
        SAMPLE_CHECK(aclrtMemcpy(in_.At(), n * 4, mine.data(), n * 4,
                                 ACL_MEMCPY_HOST_TO_DEVICE));
        for (uint32_t k = 0; k < rounds; k++) {
            /* in = sum over ranks; gather; my next input is a peer's part */
            SAMPLE_CHECK(HcclAllReduce(in_.At(), out_.At(), n, type,
                                       HCCL_REDUCE_SUM, comm_, stream_));
            SAMPLE_CHECK(HcclAllGather(out_.At(), in_.At(), n, type, comm_,
                                       stream_));
            SAMPLE_CHECK(HcclBarrier(comm_, stream_));
            SAMPLE_CHECK(HcclBroadcast(in_.At(), n, type, k % ranks_, comm_,
                                       stream_));
        }
        SAMPLE_CHECK(aclrtSynchronizeStream(stream_));
        SAMPLE_CHECK(aclrtMemcpy(mine.data(), n * 4, in_.At(), n * 4,
                                 ACL_MEMCPY_DEVICE_TO_HOST));
        uint32_t factor = 1;
        for (uint32_t k = 1; k < rounds; k++) {
            factor *= ranks_;
        }
        bool good = true;
        for (uint64_t i = 0; i < n; i++) {
            good = good && mine[i] == sum[i] * factor;
        }
        Ok(good, Name("chain of " + std::to_string(4 * rounds)));
    }

    /* Recorded once, run three times on other inputs. */
    void Capture()
    {
        const HcclDataType type = HCCL_DATA_TYPE_FP32;
        uint64_t n = 3000;
        aclmdlRI graph = nullptr;

        out_.Fill({}, n * 4);
        /* GLOBAL would keep the other ranks' threads from copying. */
        SAMPLE_CHECK(aclmdlRICaptureBegin(
            stream_, g_processes ? ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
                                 : ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
        SAMPLE_CHECK(HcclAllReduce(in_.At(), out_.At(), n, type,
                                   HCCL_REDUCE_SUM, comm_, stream_));
        SAMPLE_CHECK(aclmdlRICaptureEnd(stream_, &graph));
        for (int k = 0; k < 3; k++) {
            uint64_t s = Seed();

            in_.Fill(Input(type, s, rank_, 0, n), n * 4);
            SAMPLE_CHECK(aclmdlRIExecuteAsync(graph, stream_));
            SAMPLE_CHECK(aclrtSynchronizeStream(stream_));
            Check(out_, Reduced(type, HCCL_REDUCE_SUM, s, ranks_, 0, n),
                  "captured AllReduce", type, n);
        }
        SAMPLE_CHECK(aclmdlRIDestroy(graph));
    }

    uint32_t rank() const
    {
        return rank_;
    }

    uint32_t ranks() const
    {
        return ranks_;
    }

    /* Lines for all that went well since the last. */
    void Sum(const std::string &what)
    {
        Ok(bad_ == 0, Name(what), std::to_string(good_) + " right, " +
           std::to_string(bad_) + " wrong");
        good_ = bad_ = 0;
    }

private:
    uint64_t Seed()
    {
        return ++seed_ * 1000;
    }

    std::string Name(const std::string &what) const
    {
        return "rank " + std::to_string(rank_) + " of " +
               std::to_string(ranks_) + ": " + what;
    }

    /* Parts of different size, some empty, with gaps; their end. */
    uint64_t Uneven(uint64_t s, uint64_t n, std::vector<uint64_t> *counts,
                    std::vector<uint64_t> *displs) const
    {
        uint64_t at = 3;

        for (uint32_t r = 0; r < ranks_; r++) {
            uint64_t h = values::Mix(s + r * 31);

            counts->push_back(h % 4 == 0 && r != 1 ? 0 : h % (n + 1));
            displs->push_back(at);
            at += counts->back() + h % 7;
        }
        return at + 1;
    }

    void Run(HcclResult rc)
    {
        SAMPLE_CHECK(rc);
        SAMPLE_CHECK(aclrtSynchronizeStream(stream_));
    }

    void Check(const Area &a, const Bytes &want, const char *op, int type,
               uint64_t n)
    {
        std::string why;

        if (a.Is(want, &why)) {
            good_++;
        } else {
            bad_++;
            sample::Line("# rank %u of %u: %s, type %d, count %llu: %s", rank_,
                         ranks_, op, type, static_cast<unsigned long long>(n),
                         why.c_str());
        }
    }

    void Check(const Area &a, const Bytes &want, const char *op, int type,
               int how, uint64_t n, bool inPlace)
    {
        Check(a, want, (std::string(op) + " with " + std::to_string(how) +
                        (inPlace ? ", in place" : "")).c_str(), type, n);
    }

    HcclComm comm_;
    uint32_t rank_ = 0, ranks_ = 0, good_ = 0, bad_ = 0;
    uint64_t seed_ = 0;
    aclrtStream stream_ = nullptr;
    Area in_, out_;
};

/* ---- tests ---- */

const HcclDataType REDUCED[] = {
    HCCL_DATA_TYPE_INT8, HCCL_DATA_TYPE_INT16, HCCL_DATA_TYPE_INT32,
    HCCL_DATA_TYPE_INT64, HCCL_DATA_TYPE_UINT64, HCCL_DATA_TYPE_FP16,
    HCCL_DATA_TYPE_FP32, HCCL_DATA_TYPE_FP64, HCCL_DATA_TYPE_BFP16,
};
const HcclDataType COPIED[] = {
    HCCL_DATA_TYPE_INT8, HCCL_DATA_TYPE_UINT8, HCCL_DATA_TYPE_INT16,
    HCCL_DATA_TYPE_UINT16, HCCL_DATA_TYPE_INT32, HCCL_DATA_TYPE_UINT32,
    HCCL_DATA_TYPE_INT64, HCCL_DATA_TYPE_UINT64, HCCL_DATA_TYPE_FP16,
    HCCL_DATA_TYPE_FP32, HCCL_DATA_TYPE_FP64, HCCL_DATA_TYPE_BFP16,
    HCCL_DATA_TYPE_HIF8, HCCL_DATA_TYPE_FP8E4M3, HCCL_DATA_TYPE_FP8E5M2,
    HCCL_DATA_TYPE_FP8E8M0,
};

bool Reduces(HcclDataType type, HcclReduceOp op)
{
    return op != HCCL_REDUCE_PROD || (type != HCCL_DATA_TYPE_INT16 &&
                                      type != HCCL_DATA_TYPE_BFP16);
}

template <typename F> void AllReductions(F f)
{
    for (HcclDataType type : REDUCED) {
        for (int op = HCCL_REDUCE_SUM; op <= HCCL_REDUCE_MIN; op++) {
            if (Reduces(type, static_cast<HcclReduceOp>(op))) {
                f(type, static_cast<HcclReduceOp>(op));
            }
        }
    }
}

/* Every type and operation, below and above the change of algorithm. */
void Types(Tester &t)
{
    AllReductions([&](HcclDataType type, HcclReduceOp op) {
        t.AllReduce(type, op, 129, op == HCCL_REDUCE_MAX);
        t.ReduceScatter(type, op, 77, op == HCCL_REDUCE_MIN);
        t.Reduce(type, op, 33, op % t.ranks(), false);
        t.ReduceScatterV(type, op, 50);
    });
    t.AllReduce(HCCL_DATA_TYPE_FP16, HCCL_REDUCE_PROD, 70001, true);
    t.AllReduce(HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_SUM, 50001, false);
    t.AllReduce(HCCL_DATA_TYPE_FP64, HCCL_REDUCE_MIN, 10001, false);
    t.Reduce(HCCL_DATA_TYPE_INT8, HCCL_REDUCE_MAX, 70003, 0, false);
    t.Sum("reductions of every type");
    for (HcclDataType type : COPIED) {
        t.Broadcast(type, 100, type % t.ranks());
        t.AllGather(type, 33, type % 2 == 0);
        t.AlltoAll(type, 21);
        t.Scatter(type, 9, type % t.ranks());
        t.SendRecv(type, 17);
    }
    t.Sum("copies of every type");
}

/* From one element to several times the HCCL buffer (2 MiB here). */
void Sizes(Tester &t)
{
    const HcclDataType i32 = HCCL_DATA_TYPE_INT32, i64 = HCCL_DATA_TYPE_INT64;
    const HcclReduceOp sum = HCCL_REDUCE_SUM;
    uint32_t last = t.ranks() - 1;
    /* 3 MiB and a bit of the largest side, whatever the rank count */
    uint64_t big = 800003, part = big / t.ranks() + 1;

    for (uint64_t n : { 1ull, 2ull, 3ull, 31ull, 1000ull, 16384ull,
                        16387ull, 65537ull }) {
        t.AllReduce(i32, sum, n, n % 2 == 0);
        t.Reduce(i32, sum, n, last, n % 2 == 1);
        t.ReduceScatter(i32, sum, n / 8 + 1, n % 2 == 0);
        t.Broadcast(i32, n, last);
        t.AllGather(i32, n / 8 + 1, n % 2 == 0);
        t.AlltoAll(i32, n / 8 + 1);
        t.Scatter(i32, n / 8 + 1, last);
    }
    t.Sum("small sizes");
    t.AllReduce(i32, sum, big, false);
    t.AllReduce(i32, sum, big, true);
    t.AllReduce(i64, sum, big / 2, true);
    t.Reduce(i32, sum, big, last, false);
    t.Reduce(i32, sum, big, 0, true);
    t.Reduce(i64, HCCL_REDUCE_PROD, big / 2, 0, false);
    t.ReduceScatter(i32, sum, part, false);
    t.ReduceScatter(i32, sum, part, true);
    t.ReduceScatter(i64, HCCL_REDUCE_MAX, part / 2, false);
    t.ReduceScatterV(i32, sum, part);
    t.Sum("large reductions");
    t.Broadcast(i32, big, 0);
    t.AllGather(i32, part, false);
    t.AllGather(i32, part, true);
    t.AllGatherV(i32, part);
    t.AlltoAll(i32, part);
    t.AlltoAllV(i32, part);
    t.AlltoAllVC(i32, part);
    t.Scatter(i32, part, last);
    t.SendRecv(i32, big);
    t.Group(i32, part);
    t.Batch(i32, part / 2);
    t.Sum("large copies");
}

/* Counts of each rank for itself. */
void Uneven(Tester &t)
{
    for (uint64_t n : { 1ull, 5ull, 100ull, 4097ull }) {
        t.AllGatherV(HCCL_DATA_TYPE_UINT16, n);
        t.ReduceScatterV(HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, n);
        t.ReduceScatterV(HCCL_DATA_TYPE_INT64, HCCL_REDUCE_PROD, n);
        t.AlltoAllV(HCCL_DATA_TYPE_INT8, n);
        t.AlltoAllVC(HCCL_DATA_TYPE_FP64, n);
    }
    t.Sum("uneven counts");
}

void Points(Tester &t)
{
    for (uint64_t n : { 1ull, 100ull, 40000ull }) {
        t.SendRecv(HCCL_DATA_TYPE_FP32, n);
        t.Group(HCCL_DATA_TYPE_INT8, n);
        t.Batch(HCCL_DATA_TYPE_BFP16, n);
    }
    t.Sum("point to point");
}

void One(const std::string &name, const Rank &me, HcclComm comm)
{
    static const std::map<std::string, std::function<void(Tester &)>> tests = {
        { "types", Types }, { "sizes", Sizes }, { "uneven", Uneven },
        { "points", Points },
        { "chain", [](Tester &t) { t.Chain(40); } },
        { "capture", [](Tester &t) { t.Capture(); t.Sum("capture"); } },
    };
    auto it = tests.find(name);

    if (it == tests.end()) {
        throw std::runtime_error("no test " + name);
    }
    Tester t(me, comm);
    double begin = sample::Now();

    it->second(t);
    if (t.rank() == 0) {
        sample::Line("# %s: %.1f s", name.c_str(), sample::Now() - begin);
    }
}

/* All members of the world but the last, in a communicator of their own. */
void Sub(const Rank &me, HcclComm world)
{
    HcclCommConfig config = Config("all but the last");
    std::vector<uint32_t> ids;
    HcclComm comm = nullptr;

    for (uint32_t r = 0; r + 1 < me.ranks; r++) {
        ids.push_back(r);
    }
    if (me.rank + 1 == me.ranks) {
        SAMPLE_CHECK(HcclCreateSubCommConfig(&world, ids.size(), nullptr,
                                             0xffffffff, 0, &config, &comm));
        return;
    }
    SAMPLE_CHECK(HcclCreateSubCommConfig(&world, ids.size(), ids.data(), 5,
                                         me.rank, &config, &comm));
    {
        Tester t(me, comm);

        t.AllReduce(HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 5000, false);
        t.AllGather(HCCL_DATA_TYPE_INT8, 5000, false);
        t.Reduce(HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM, 5000, 0, true);
        t.AlltoAllV(HCCL_DATA_TYPE_INT16, 300);
        t.Chain(5);
        t.Sum("sub-communicator");
    }
    SAMPLE_CHECK(HcclCommDestroy(comm));
}

/*
 * Two communicators on two streams, which the ranks use in opposite order:
 * both must go on at the same time.
 */
void Two(const Rank &me, HcclComm comm)
{
    HcclComm other = Make(me, 1, Config("other"));
    aclrtStream stream[2];
    HcclComm c[2] = { comm, other };
    std::vector<float> in(1000), out(1000);
    void *p[2], *q[2];
    bool good = true;

    for (int k = 0; k < 2; k++) {
        SAMPLE_CHECK(aclrtCreateStream(&stream[k]));
        SAMPLE_CHECK(aclrtMalloc(&p[k], 4000, ACL_MEM_MALLOC_HUGE_FIRST));
        SAMPLE_CHECK(aclrtMalloc(&q[k], 4000, ACL_MEM_MALLOC_HUGE_FIRST));
        for (size_t i = 0; i < in.size(); i++) {
            in[i] = static_cast<float>(i + me.rank + 100 * k);
        }
        SAMPLE_CHECK(aclrtMemcpy(p[k], 4000, in.data(), 4000,
                                 ACL_MEMCPY_HOST_TO_DEVICE));
        /* Channels are made while all ranks take part. */
        SAMPLE_CHECK(HcclBarrier(c[k], stream[k]));
    }
    for (int round = 0; round < 20; round++) {
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t i = (k + me.rank) % 2;

            SAMPLE_CHECK(HcclAllReduce(p[i], q[i], 1000, HCCL_DATA_TYPE_FP32,
                                       HCCL_REDUCE_SUM, c[i], stream[i]));
        }
    }
    for (int k = 0; k < 2; k++) {
        SAMPLE_CHECK(aclrtSynchronizeStream(stream[k]));
        SAMPLE_CHECK(aclrtMemcpy(out.data(), 4000, q[k], 4000,
                                 ACL_MEMCPY_DEVICE_TO_HOST));
        for (size_t i = 0; i < out.size(); i++) {
            float want = static_cast<float>(
                me.ranks * (i + 100 * k) + me.ranks * (me.ranks - 1) / 2);
            good = good && out[i] == want;
        }
        SAMPLE_CHECK(aclrtDestroyStream(stream[k]));
        SAMPLE_CHECK(aclrtFree(p[k]));
        SAMPLE_CHECK(aclrtFree(q[k]));
    }
    Ok(good, "rank " + std::to_string(me.rank) + ": two communicators");
    SAMPLE_CHECK(HcclCommDestroy(other));
}

/* Custom operators on the same communicator, before and behind. */
void Mixed(const Rank &me, HcclComm comm)
{
    Node n;
    bool good;

    n.Open(comm, 4);
    good = n.Exchange(0);
    {
        Tester t(me, comm);

        t.AllReduce(HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, 20000, false);
        good = n.Exchange(1) && good;
        t.AlltoAll(HCCL_DATA_TYPE_INT32, 2000);
        good = n.Exchange(2) && good;
        t.Batch(HCCL_DATA_TYPE_INT8, 100);
        good = n.Exchange(3) && good;
        t.Sum("operators between custom ones");
    }
    Ok(good, "rank " + std::to_string(me.rank) + ": custom operators between");
    SAMPLE_CHECK(aclrtDestroyStream(n.stream));
}

void All(const Rank &me, const std::vector<std::string> &tests)
{
    HcclCommConfig config = Config("operators");

    if (g_env) {
        config.hcclBufferSize = HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET;
    }
    HcclComm comm = Make(me, 0, config);
    for (const std::string &name : tests) {
        if (name == "sub") {
            Sub(me, comm);
        } else if (name == "two") {
            Two(me, comm);
        } else if (name == "mixed") {
            Mixed(me, comm);
        } else {
            One(name, me, comm);
        }
    }
    Meet(me);
    SAMPLE_CHECK(HcclCommDestroy(comm));
}

/* Sends round the ring, which only a group can do from one thread. */
void Ring(uint32_t n, uint32_t round, const std::vector<HcclComm> &comm,
          const std::vector<aclrtStream> &stream,
          const std::vector<std::unique_ptr<Area>> &in,
          const std::vector<std::unique_ptr<Area>> &out)
{
    const HcclDataType type = HCCL_DATA_TYPE_INT16;
    uint64_t count = 1000 + 500000 * round;
    std::string why;

    for (uint32_t i = 0; i < n; i++) {
        SAMPLE_CHECK(aclrtSetDevice(static_cast<int32_t>(i)));
        in[i]->Fill(Input(type, round, i, 0, count), count * 2);
        out[i]->Fill({}, count * 2);
    }
    SAMPLE_CHECK(HcclGroupStart());
    for (uint32_t i = 0; i < n; i++) {
        SAMPLE_CHECK(aclrtSetDevice(static_cast<int32_t>(i)));
        SAMPLE_CHECK(HcclSend(in[i]->At(), count, type, (i + 1) % n, comm[i],
                              stream[i]));
        SAMPLE_CHECK(HcclRecv(out[i]->At(), count, type, (i + n - 1) % n,
                              comm[i], stream[i]));
    }
    SAMPLE_CHECK(HcclGroupEnd());
    for (uint32_t i = 0; i < n; i++) {
        SAMPLE_CHECK(aclrtSetDevice(static_cast<int32_t>(i)));
        SAMPLE_CHECK(aclrtSynchronizeStream(stream[i]));
        Ok(out[i]->Is(Input(type, round, (i + n - 1) % n, 0, count), &why),
           "device " + std::to_string(i) + ", round " + std::to_string(round),
           why);
    }
}

int Single(uint32_t n)
{
    std::vector<HcclComm> comm(n);
    std::vector<aclrtStream> stream(n);
    std::vector<std::unique_ptr<Area>> in, out;
    std::vector<int32_t> devices;

    SAMPLE_CHECK(aclInit(nullptr));
    for (uint32_t i = 0; i < n; i++) {
        devices.push_back(static_cast<int32_t>(i));
    }
    SAMPLE_CHECK(HcclCommInitAll(n, devices.data(), comm.data()));
    for (uint32_t i = 0; i < n; i++) {
        SAMPLE_CHECK(aclrtSetDevice(static_cast<int32_t>(i)));
        SAMPLE_CHECK(aclrtCreateStream(&stream[i]));
        in.emplace_back(new Area(4 << 20));
        out.emplace_back(new Area(4 << 20));
    }
    for (uint32_t round = 0; round < 3; round++) {
        Ring(n, round, comm, stream, in, out);
    }
    for (uint32_t i = 0; i < n; i++) {
        SAMPLE_CHECK(aclrtSetDevice(static_cast<int32_t>(i)));
        SAMPLE_CHECK(HcclCommDestroy(comm[i]));
        SAMPLE_CHECK(aclrtDestroyStream(stream[i]));
    }
    in.clear();
    out.clear();
    SAMPLE_CHECK(aclFinalize());
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> tests(argv + std::min(argc, 3), argv + argc);
    uint32_t n = argc > 2 ? strtoul(argv[2], nullptr, 10) : 0;

    bool single = argc > 2 && strcmp(argv[1], "single") == 0;

    if (n == 0 || tests.empty() == !single) {
        fprintf(stderr, "usage: hccl-ops threads|processes|env N "
                "TEST...\n");
        return 2;
    }
    Share();
    if (single) {
        return Done(Single(n));
    }
    g_env = strcmp(argv[1], "env") == 0;
    g_processes = strcmp(argv[1], "processes") == 0;
    return Done(sample::Run(n, g_processes,
                            [&](const Rank &me) { All(me, tests); }));
}
