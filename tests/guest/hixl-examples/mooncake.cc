/*
 * A user of the older twin, in the manner of a transfer engine: options of
 * such libraries, engines that connect by themselves, worker threads that set
 * the engine's context, TransferAsync and a poll of each request.
 *
 *   mooncake [DEVICE_A DEVICE_B]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "acl/acl.h"
#include "adxl/adxl_engine.h"
#include "example.h"

namespace {
constexpr size_t kBlock = 65536, kTasks = 64, kPerTask = 16;
constexpr size_t kSize = kBlock * kTasks * kPerTask;
constexpr int kWorkers = 4;

struct Node {
  adxl::AdxlEngine engine;
  const char *name;
  int32_t device;
  aclrtContext context;
  uint8_t *dev;
  uint8_t *host;
};

struct Task {
  adxl::TransferOp op;
  std::vector<adxl::TransferOpDesc> descs;
};

int Start(Node &n) {
  CHECK_ACL(aclrtSetDevice(n.device));
  CHECK_ACL(aclrtGetCurrentContext(&n.context));
  int32_t value = 0;
  std::map<adxl::AscendString, adxl::AscendString> options;
  CHECK_HIXL(adxl::AdxlEngine::GetCapability(adxl::CLIENT_SERVER_COMM, value));
  if (value == adxl::FEATURE_SUPPORTED) {
    options["adxl.LocalCommRes"] = "{\"version\":\"1.3\"}";
  }
  options["adxl.BufferPool"] = "0:0";
  options["AutoConnect"] = "1";
  CHECK_HIXL(n.engine.Initialize(n.name, options));
  CHECK_ACL(aclrtMalloc(reinterpret_cast<void **>(&n.dev), kSize,
                        ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK_ACL(aclrtMallocHost(reinterpret_cast<void **>(&n.host), kSize));
  adxl::MemDesc desc{};
  adxl::MemHandle handle = nullptr;
  desc.addr = reinterpret_cast<uintptr_t>(n.dev);
  desc.len = kSize;
  CHECK_HIXL(n.engine.RegisterMem(desc, adxl::MEM_DEVICE, handle));
  desc.addr = reinterpret_cast<uintptr_t>(n.host);
  CHECK_HIXL(n.engine.RegisterMem(desc, adxl::MEM_HOST, handle));
  return 0;
}

/* A worker: takes tasks, submits them, polls until they are complete. */
class Workers {
 public:
  Workers(Node &from, const char *to) : from_(from), to_(to) {
    for (int i = 0; i < kWorkers; ++i) {
      threads_.emplace_back([this] { Work(); });
    }
  }
  void Add(Task task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
    cond_.notify_one();
  }
  /* Failed tasks. */
  int Finish() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      end_ = true;
      cond_.notify_all();
    }
    for (auto &t : threads_) {
      t.join();
    }
    return failed_;
  }

 private:
  bool Take(Task &task) {
    std::unique_lock<std::mutex> lock(mutex_);
    cond_.wait(lock, [this] { return end_ || !tasks_.empty(); });
    if (tasks_.empty()) {
      return false;
    }
    task = std::move(tasks_.front());
    tasks_.pop_front();
    return true;
  }
  bool Move(Task &task) {
    adxl::TransferReq req = nullptr;
    adxl::TransferStatus status = adxl::TransferStatus::WAITING;
    if (from_.engine.TransferAsync(to_, task.op, task.descs,
                                   adxl::TransferArgs{}, req) !=
        adxl::SUCCESS) {
      return false;
    }
    task.descs.clear();
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::seconds(60);
    while (status == adxl::TransferStatus::WAITING &&
           std::chrono::steady_clock::now() < end) {
      if (from_.engine.GetTransferStatus(req, status) != adxl::SUCCESS) {
        return false;
      }
    }
    return status == adxl::TransferStatus::COMPLETED;
  }
  void Work() {
    Task task;
    failed_ += aclrtSetCurrentContext(from_.context) != ACL_ERROR_NONE;
    while (Take(task)) {
      if (!Move(task)) {
        std::cerr << "[ERROR] "
                  << (aclGetRecentErrMsg() ? aclGetRecentErrMsg() : "?")
                  << std::endl;
        ++failed_;
      }
    }
  }

  Node &from_;
  const char *to_;
  std::mutex mutex_;
  std::condition_variable cond_;
  std::deque<Task> tasks_;
  bool end_ = false;
  std::atomic<int> failed_{0};
  std::vector<std::thread> threads_;
};

uint8_t Pattern(size_t i, unsigned seed) {
  return static_cast<uint8_t>((i * 2654435761U + seed * 40503U) >> 15);
}

/* Blocks of one side to the other's, each to another place. */
int Exchange(Node &a, const Node &b, adxl::TransferOp op, bool local_host,
             bool remote_host, unsigned seed) {
  uint8_t *local = local_host ? a.host : a.dev;
  uint8_t *remote = remote_host ? b.host : b.dev;
  uint8_t *from = op == adxl::WRITE ? local : remote;
  uint8_t *to = op == adxl::WRITE ? remote : local;
  std::vector<uint8_t> data(kSize);
  for (size_t i = 0; i < kSize; ++i) {
    data[i] = Pattern(i, seed);
  }
  CHECK_ACL(aclrtMemcpy(from, kSize, data.data(), kSize, ACL_MEMCPY_DEFAULT));
  Workers workers(a, b.name);
  const size_t blocks = kTasks * kPerTask;
  const auto place = [blocks](size_t i) { return i * 7 % blocks * kBlock; };
  for (size_t t = 0; t < kTasks; ++t) {
    Task task{op, {}};
    for (size_t i = t * kPerTask; i < (t + 1) * kPerTask; ++i) {
      const size_t l = op == adxl::WRITE ? i * kBlock : place(i);
      const size_t r = op == adxl::WRITE ? place(i) : i * kBlock;
      task.descs.push_back({reinterpret_cast<uintptr_t>(local) + l,
                            reinterpret_cast<uintptr_t>(remote) + r, kBlock});
    }
    workers.Add(std::move(task));
  }
  if (workers.Finish() != 0) {
    return -1;
  }
  std::vector<uint8_t> got(kSize);
  CHECK_ACL(aclrtMemcpy(got.data(), kSize, to, kSize, ACL_MEMCPY_DEFAULT));
  for (size_t i = 0; i < blocks; ++i) {
    if (std::memcmp(&got[place(i)], &data[i * kBlock], kBlock) != 0) {
      std::cerr << "[ERROR] block " << i << " is wrong" << std::endl;
      return -1;
    }
  }
  std::cout << "[INFO] " << (op == adxl::WRITE ? "WRITE " : "READ ")
            << (local_host ? "host " : "device ")
            << (remote_host ? "host" : "device") << " success" << std::endl;
  return 0;
}
}  // namespace

int main(int argc, char **argv) {
  Node a{{}, "127.0.0.1:16100", argc > 2 ? std::atoi(argv[1]) : 0, nullptr,
         nullptr, nullptr};
  Node b{{}, "127.0.0.1:16101", argc > 2 ? std::atoi(argv[2]) : 1, nullptr,
         nullptr, nullptr};
  CHECK_ACL(aclInit(nullptr));
  if (Start(a) != 0 || Start(b) != 0) {
    return 1;
  }
  unsigned seed = 1;
  for (const auto op : {adxl::WRITE, adxl::READ}) {
    for (const bool local : {false, true}) {
      for (const bool remote : {false, true}) {
        if (Exchange(a, b, op, local, remote, seed++) != 0 ||
            Exchange(b, a, op, local, remote, seed++) != 0) {
          return 1;
        }
      }
    }
  }
  a.engine.Finalize();
  b.engine.Finalize();
  for (Node *n : {&a, &b}) {
    CHECK_ACL(aclrtSetDevice(n->device));
    CHECK_ACL(aclrtFree(n->dev));
    CHECK_ACL(aclrtFreeHost(n->host));
    CHECK_ACL(aclrtResetDevice(n->device));
  }
  CHECK_ACL(aclFinalize());
  std::cout << "[INFO] Verify success" << std::endl;
  return 0;
}
