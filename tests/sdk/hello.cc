// A kernel as a user writes one. WAY says how it was compiled.
//
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include "aicpu_api.h"
#include "dlog_pub.h"

#ifndef WAY
#define WAY "nobody"
#endif

namespace {
// A symbol that the host's compilers would make unique in the whole process:
// the library could never be unloaded.
template <class T> struct Counter {
    static inline std::atomic<T> count{0};
};
} // namespace

extern "C" unsigned int hello(void *)
{
    std::ostringstream text;

    try {
        throw std::runtime_error(WAY);
    } catch (const std::exception &e) {
        text << "hello by " << e.what() << ", call "
             << ++Counter<unsigned>::count;
    }
    std::cout << text.str() << std::endl;
    dlog_info(0, "block %u of %u", a350_block_idx(), a350_block_num());
    return 0;
}

// 128 bits wide: a call to libatomic.
extern "C" unsigned int wide(void *)
{
    std::atomic<unsigned __int128> v{1};

    return v.exchange(3) == 1 && v.load() == 3 ? 0 : 1;
}
