// Small libraries: which, and with what around it, the macros say.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>
#include <string>

#ifdef SAY_DEPENDENCY
extern "C" int dependency();
#endif
#ifdef SAY_MISSING
extern "C" int nobody_has_this_function();
#endif

namespace {

struct Talker {
    Talker()
    {
        std::printf("constructor of %s\n", SAY_NAME);
#ifdef SAY_CRASH
        *reinterpret_cast<volatile int *>(SAY_CRASH) = 1;
#endif
#ifdef SAY_ENDLESS
        for (volatile int i = 0;; i = i + 1) {
        }
#endif
    }
    ~Talker() { std::printf("destructor of %s\n", SAY_NAME); }
} talker;

struct Local {
    std::string text = "a thread's own text that needs memory";
    ~Local() { std::printf("thread destructor of %s\n", SAY_NAME); }
};
thread_local Local local;

// One for all of C++, if the linker has it its way.
template <typename T> struct Once {
    static int count;
};
template <typename T> int Once<T>::count;

} // namespace

inline int &shared_count()
{
    static int count;

    return count;
}

#ifdef SAY_IS_DEPENDENCY
extern "C" int dependency()
{
    return SAY_VALUE;
}
#else
extern "C" unsigned which(void *)
{
    int value = SAY_VALUE;

#ifdef SAY_DEPENDENCY
    value += dependency();
#endif
#ifdef SAY_MISSING
    value += nobody_has_this_function();
#endif
    std::printf("%s: value %d, call %d, text %zu\n", SAY_NAME, value,
                ++shared_count(), local.text.size());
    return 0;
}
#endif
