/* SPDX-License-Identifier: Apache-2.0 */
/* What crosses from the host library to the kernel, as raw bytes. */
#ifndef ALLGATHER_COMMON_H
#define ALLGATHER_COMMON_H

#include <stdint.h>
#include <sstream>
#include <vector>
#include <hccl/hccl_types.h>
#include <hccl/hcomm_primitives.h>

constexpr uint32_t NOTIFY_IDX_ACK = 0;
constexpr uint32_t NOTIFY_IDX_DATA = 1;
constexpr uint32_t CHANNEL_NOTIFY_NUM = 3;
constexpr uint32_t CUSTOM_TIMEOUT = 27 * 68;
constexpr uint64_t MAX_CHUNK = 256ull << 20;
constexpr uint64_t SLOT_ALIGN = 128;

struct ChannelInfo {
    uint32_t remoteRank;
    uint32_t notifyNum;
    ChannelHandle handle;
    void *remoteBuffer;
    uint64_t remoteSize;
};

/* A context of variable length: numbers, then vectors with their counts. */
struct AlgResource {
    uint32_t rank = 0;
    uint32_t rankSize = 0;
    void *buffer = nullptr;
    uint64_t bufferSize = 0;
    std::vector<ThreadHandle> threads;      /* thread i: the i-th peer */
    std::vector<ChannelInfo> channels;

    std::vector<char> Serialize() const
    {
        std::ostringstream out;

        Put(out, rank);
        Put(out, rankSize);
        Put(out, buffer);
        Put(out, bufferSize);
        PutVector(out, threads);
        PutVector(out, channels);
        std::string text = out.str();
        return std::vector<char>(text.begin(), text.end());
    }

    /* Reads the bytes where they are. */
    bool Deserialize(char *data, uint64_t size)
    {
        std::stringstream in;

        in.rdbuf()->pubsetbuf(data, static_cast<std::streamsize>(size));
        Take(in, rank);
        Take(in, rankSize);
        Take(in, buffer);
        Take(in, bufferSize);
        TakeVector(in, threads, size);
        TakeVector(in, channels, size);
        return !in.fail();
    }

private:
    template <typename T> static void Put(std::ostream &out, const T &value)
    {
        out.write(reinterpret_cast<const char *>(&value), sizeof(value));
    }

    template <typename T>
    static void PutVector(std::ostream &out, const std::vector<T> &v)
    {
        Put(out, v.size());
        out.write(reinterpret_cast<const char *>(v.data()),
                  static_cast<std::streamsize>(v.size() * sizeof(T)));
    }

    template <typename T> static void Take(std::istream &in, T &value)
    {
        in.read(reinterpret_cast<char *>(&value), sizeof(value));
    }

    template <typename T>
    static void TakeVector(std::istream &in, std::vector<T> &v, uint64_t limit)
    {
        size_t count = 0;

        Take(in, count);
        if (count > limit / sizeof(T)) {
            in.setstate(std::ios::failbit);
            return;
        }
        v.resize(count);
        in.read(reinterpret_cast<char *>(v.data()),
                static_cast<std::streamsize>(count * sizeof(T)));
    }
};

struct OpParam {
    char tag[256];
    uint64_t count;
    uint64_t bytes;              /* of one rank */
    void *inputPtr;
    void *outputPtr;
    ThreadHandle cpuThreadOnAicpu;
    uint32_t typeSize;
    HcclDataType dataType;
    char *ctx;                   /* serialised AlgResource */
    uint64_t ctxSize;
    uint64_t reserved[8];
};
static_assert(sizeof(OpParam) == 384, "the kernel reads these bytes");

#endif /* ALLGATHER_COMMON_H */
