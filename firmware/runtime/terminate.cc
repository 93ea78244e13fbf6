// Atlas 350 firmware runtime: what an uncaught exception says of itself.
//
// SPDX-License-Identifier: Apache-2.0
//
// C++ because only C++ can look at an exception.
#include <cxxabi.h>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <typeinfo>

extern "C" char *rt_last_words(unsigned *size);
extern "C" void rt_terminate_setup(void);

namespace {

[[noreturn]] void on_terminate()
{
    unsigned size = 0;
    char *out = rt_last_words(&size);
    const std::type_info *type = abi::__cxa_current_exception_type();

    if (!type) {
        std::snprintf(out, size, "std::terminate()");
        std::abort();
    }
    int status = -1;
    char *name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);

    std::snprintf(out, size, "uncaught exception %s",
                  status == 0 ? name : type->name());
    try {
        throw;
    } catch (const std::exception &e) {
        std::snprintf(out, size, "uncaught exception %s: %s",
                      status == 0 ? name : type->name(), e.what());
    } catch (...) {
    }
    std::abort();
}

} // namespace

void rt_terminate_setup(void)
{
    std::set_terminate(on_terminate);
}
