// SPDX-License-Identifier: Apache-2.0
/*
 * A firmware that answers the mailbox: the function's name says what to do.
 *   ok, echo      ends well; echo checks its arguments first
 *   fail          error code 7, status 4
 *   spin          runs until it is interrupted, then answers 0x28 with a record
 *   deaf          never ends, ignores interrupts
 */
#include "card.h"

static a350_exc_record exc[8];
static char names[8][64];

static int same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static uint64_t address(const uint32_t *w)
{
    return (w[0] | (uint64_t)(w[1] & 0xffff) << 32) |
           (REG(A350_AM_DEV_BASE) & ~0xffffffffffffull);
}

static void copy(char *to, const char *from, unsigned size)
{
    unsigned i;

    for (i = 0; i + 1 < size && from[i]; i++) {
        to[i] = from[i];
    }
    to[i] = '\0';
}

__attribute__((noinline))
static uint32_t spin(unsigned hart, const char *name, int deaf)
{
    a350_exc_record *e = &exc[hart];

    while (deaf || !REG(A350_AM_ABORT)) {
        __asm__ volatile(".word 0x0100000f");
    }
    CHECK(CSR_READ(mip) & MSI);
    REG(A350_AM_ABORT) = 0;
    CHECK(!(CSR_READ(mip) & MSI));
    e->cause = A350_EXC_TIMEOUT;
    e->core = hart;
    copy(e->kernel, name, sizeof(e->kernel));
    copy(e->text, "time is over", sizeof(e->text));
    REG(A350_AM_EXC_ADDR) = (uint64_t)e;
    return 0x28 << 16 | 4;
}

__attribute__((noinline))
static uint32_t execute(unsigned hart, const a350_topic_mbox *m)
{
    const char *name = (const char *)address(&m->user_data[4]);
    const a350_args_header *h =
        (const a350_args_header *)address(&m->user_data[2]) - 1;
    const uint8_t *args = (const uint8_t *)(h + 1);
    unsigned i;

    copy(names[hart], name, sizeof(names[hart]));
    REG(A350_AM_KERNEL_ADDR) = (uint64_t)names[hart];
    log_line("runs\n");
    if (same(name, "fail")) {
        return 7 << 16 | 4;
    }
    if (same(name, "spin") || same(name, "deaf")) {
        return spin(hart, name, same(name, "deaf"));
    }
    if (same(name, "echo")) {
        for (i = 0; i < h->args_size; i++) {
            if (args[i] != i + 1) {
                return 1 << 16 | 4;
            }
        }
        return h->magic == A350_ARGS_MAGIC ? 0 : 2 << 16 | 4;
    }
    return same(name, "ok") ? 0 : 3 << 16 | 4;
}

int test_main(unsigned hart)
{
    a350_topic_mbox m;
    unsigned i;

    CSR_WRITE(mie, MEI);
    if (hart == 0) {
        REG(A350_AM_FW_STATUS) = A350_FW_READY;
    }
    for (;;) {
        if (!(REG(A350_AM_MSQ_STATUS) & A350_MSQ_VALID)) {
            __asm__ volatile("wfi");
            continue;
        }
        CHECK(REG(A350_AM_MSQ_STATUS) ==
              (A350_MSQ_VALID | A350_MSQ_SIZE_512));
        CHECK(CSR_READ(mip) & MEI);
        for (i = 0; i < 8; i++) {
            ((uint64_t *)&m)[i] = REG(A350_AM_MSQ_DATA + 8 * i);
        }
        REG(A350_AM_MSQ_ACCEPT) = 1;
        CHECK(!(CSR_READ(mip) & MEI));
        uint32_t cqe = execute(hart, &m);

        REG(A350_AM_KERNEL_ADDR) = 0;
        REG(A350_AM_TOPIC_CQE) = cqe;
    }
}
