// SPDX-License-Identifier: Apache-2.0
/*
 * Bare-metal tests of the AICPU core: what crt.S and the tests share. A test
 * is a C file with test_main(), which numbers its checks by CHECK and returns
 * 0. Values expected are those of the RISC-V specifications.
 */
#ifndef TESTS_AICPU_BARE_H
#define TESTS_AICPU_BARE_H

#include <stdint.h>

struct trap_info {
    uint64_t count, cause, epc, tval, status;
};

extern volatile struct trap_info trap_info;
/* Called first for every trap; returns non-zero if it dealt with it. */
extern int (*volatile trap_hook)(uint64_t cause);

int test_main(unsigned hart);
void finish(long number) __attribute__((noreturn));
void run_user(void *fn, uint64_t arg);
void user_done(void);

#define CSR_READ(name) ({ uint64_t v_; \
    __asm__ volatile("csrr %0, " #name : "=r"(v_) : : "memory"); v_; })
#define CSR_WRITE(name, val) \
    __asm__ volatile("csrw " #name ", %0" : : "r"((uint64_t)(val)) : "memory")
#define CSR_SET(name, val) \
    __asm__ volatile("csrs " #name ", %0" : : "r"((uint64_t)(val)) : "memory")
#define CSR_CLEAR(name, val) \
    __asm__ volatile("csrc " #name ", %0" : : "r"((uint64_t)(val)) : "memory")

/* The line number names the check that failed. */
#define CHECK(cond) do { if (!(cond)) { finish(__LINE__); } } while (0)

/* Executes asm text that must trap once with @cause. */
#define EXPECT_TRAP(want, ...) do { \
    uint64_t n_ = trap_info.count; \
    __asm__ volatile(__VA_ARGS__); \
    CHECK(trap_info.count == n_ + 1); \
    CHECK(trap_info.cause == (want)); \
} while (0)

#endif
