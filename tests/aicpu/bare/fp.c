// SPDX-License-Identifier: Apache-2.0
/* RV64FD: NaN boxing, canonical NaNs, flags, rounding, conversions. */
#include "bare.h"

#define NV 16
#define DZ 8
#define OF 4
#define UF 2
#define NX 1

#define D(hi) ((uint64_t)(hi) << 32)
#define QNAN  0x7ff8000000000000ull
#define SNAN  0x7ff0000000000001ull
#define BOX(w) (0xffffffff00000000ull | (w))

static uint64_t flags;

/* Two doubles (as bits) in, one out; flags of this operation alone. */
#define DD(a, b, ...) ({ uint64_t r_; \
    __asm__ volatile("fsflags zero\n fmv.d.x fa0, %2\n fmv.d.x fa1, %3\n" \
                     #__VA_ARGS__ "\n fmv.x.d %0, fa0\n frflags %1" \
                     : "=r"(r_), "=r"(flags) \
                     : "r"((uint64_t)(a)), "r"((uint64_t)(b)) \
                     : "fa0", "fa1"); r_; })
#define DX(a, b, ...) ({ uint64_t r_; \
    __asm__ volatile("fsflags zero\n fmv.d.x fa0, %2\n fmv.d.x fa1, %3\n" \
                     #__VA_ARGS__ "\n frflags %1" \
                     : "=&r"(r_), "=r"(flags) \
                     : "r"((uint64_t)(a)), "r"((uint64_t)(b)) \
                     : "fa0", "fa1"); r_; })

static void arithmetic(void)
{
    CHECK(DD(D(0x3ff00000), D(0x40000000), fadd.d fa0, fa0, fa1) ==
          D(0x40080000) && flags == 0);
    CHECK(DD(D(0x3ff00000), 0, fdiv.d fa0, fa0, fa1) == D(0x7ff00000) &&
          flags == DZ);
    CHECK(DD(0, 0, fdiv.d fa0, fa0, fa1) == QNAN && flags == NV);
    CHECK(DD(D(0x7ff00000), D(0x7ff00000), fsub.d fa0, fa0, fa1) == QNAN &&
          flags == NV);
    CHECK(DD(D(0x7fe00000), D(0x7fe00000), fmul.d fa0, fa0, fa1) ==
          D(0x7ff00000) && flags == (OF | NX));
    CHECK(DD(D(0x00100000), D(0x3fd00000), fmul.d fa0, fa0, fa1) ==
          0x0004000000000000 && flags == 0);
    CHECK(DD(1, D(0x3fd00000), fmul.d fa0, fa0, fa1) == 0 &&
          flags == (UF | NX));
    CHECK(DD(D(0xbff00000), 0, fsqrt.d fa0, fa0) == QNAN && flags == NV);
    CHECK(DD(D(0x80000000), 0, fsqrt.d fa0, fa0) == D(0x80000000) && !flags);
    /* NaN payloads do not survive; a quiet NaN raises nothing. */
    CHECK(DD(0xfff8000000000123, D(0x3ff00000), fadd.d fa0, fa0, fa1) ==
          QNAN && flags == 0);
    CHECK(DD(SNAN, D(0x3ff00000), fadd.d fa0, fa0, fa1) == QNAN &&
          flags == NV);
    /* 0 * inf + quiet NaN is invalid. */
    CHECK(DD(QNAN, D(0x7ff00000), fmv.d fa2, fa1; fmv.d.x fa1, zero; fmadd.d fa0, fa1, fa2, fa0) == QNAN &&
          flags == NV);
}

static void min_max(void)
{
    CHECK(DD(QNAN, D(0x3ff00000), fmin.d fa0, fa0, fa1) == D(0x3ff00000) &&
          flags == 0);
    CHECK(DD(SNAN, D(0x3ff00000), fmin.d fa0, fa0, fa1) == D(0x3ff00000) &&
          flags == NV);
    CHECK(DD(QNAN, QNAN | 5, fmax.d fa0, fa0, fa1) == QNAN && flags == 0);
    CHECK(DD(0, D(0x80000000), fmin.d fa0, fa0, fa1) == D(0x80000000));
    CHECK(DD(D(0x80000000), 0, fmax.d fa0, fa0, fa1) == 0);
    CHECK(DX(QNAN, QNAN, feq.d %0, fa0, fa1) == 0 && flags == 0);
    CHECK(DX(SNAN, QNAN, feq.d %0, fa0, fa1) == 0 && flags == NV);
    CHECK(DX(QNAN, 0, flt.d %0, fa0, fa1) == 0 && flags == NV);
    CHECK(DX(D(0x80000000), 0, fle.d %0, fa0, fa1) == 1 && flags == 0);
}

static void boxing(void)
{
    /* An operand that is not boxed counts as the canonical NaN. */
    CHECK(DD(0x3f800000, BOX(0x3f800000), fadd.s fa0, fa0, fa1) ==
          BOX(0x7fc00000) && flags == 0);
    CHECK(DD(0x3f800000, BOX(0x80000000), fsgnj.s fa0, fa0, fa1) ==
          BOX(0xffc00000));
    CHECK(DD(BOX(0x3f800000), BOX(0x3f800000), fadd.s fa0, fa0, fa1) ==
          BOX(0x40000000));
    CHECK(DX(0x12345678c0000000, 0, fmv.x.w %0, fa0) == 0xffffffffc0000000);
    CHECK(DX(0, 0, fclass.s %0, fa0) == 1 << 9);
    CHECK(DD(BOX(0x7fa00000), 0, fcvt.d.s fa0, fa0) == QNAN && flags == NV);
    CHECK(DD(0x3ff0000010000000, 0, fcvt.s.d fa0, fa0) == BOX(0x3f800000) &&
          flags == NX);
}

static void conversions(void)
{
    CHECK(DX(QNAN, 0, fcvt.w.d %0, fa0) == 0x7fffffff && flags == NV);
    CHECK(DX(D(0xbff00000), 0, fcvt.wu.d %0, fa0) == 0 && flags == NV);
    CHECK(DX(D(0x41e00000), 0, fcvt.wu.d %0, fa0) == 0xffffffff80000000ull &&
          flags == 0);
    CHECK(DX(D(0x43e00000), 0, fcvt.l.d %0, fa0) == 0x7fffffffffffffff &&
          flags == NV);
    CHECK(DX(D(0xfff00000), 0, fcvt.lu.d %0, fa0) == 0 && flags == NV);
    /* 2.5 in every rounding mode, 0..4 */
#define W(rm, a) ({ uint64_t r_; \
    __asm__ volatile("fsflags zero\n fmv.d.x fa0, %2\n fcvt.w.d %0, fa0, " \
                     #rm "\n frflags %1" : "=r"(r_), "=r"(flags) \
                     : "r"((uint64_t)(a)) : "fa0"); r_; })
    CHECK(W(rne, D(0x40040000)) == 2 && flags == NX);
    CHECK(W(rtz, D(0x40040000)) == 2);
    CHECK(W(rdn, D(0x40040000)) == 2);
    CHECK(W(rup, D(0x40040000)) == 3);
    CHECK(W(rmm, D(0x40040000)) == 3);
    CHECK(W(rne, D(0xc0040000)) == (uint64_t)-2);
    CHECK(W(rdn, D(0xc0040000)) == (uint64_t)-3);
    CHECK(W(rmm, D(0xc0040000)) == (uint64_t)-3);
    /* dynamic */
    CSR_WRITE(frm, 3);
    CHECK(W(dyn, D(0x40040000)) == 3);
    CSR_WRITE(frm, 0);
}

static void classes(void)
{
    CHECK(DX(D(0xfff00000), 0, fclass.d %0, fa0) == 1 << 0);
    CHECK(DX(D(0xbff00000), 0, fclass.d %0, fa0) == 1 << 1);
    CHECK(DX(D(0x80000001), 0, fclass.d %0, fa0) == 1 << 2);
    CHECK(DX(D(0x80000000), 0, fclass.d %0, fa0) == 1 << 3);
    CHECK(DX(0, 0, fclass.d %0, fa0) == 1 << 4);
    CHECK(DX(1, 0, fclass.d %0, fa0) == 1 << 5);
    CHECK(DX(D(0x3ff00000), 0, fclass.d %0, fa0) == 1 << 6);
    CHECK(DX(D(0x7ff00000), 0, fclass.d %0, fa0) == 1 << 7);
    CHECK(DX(SNAN, 0, fclass.d %0, fa0) == 1 << 8);
    CHECK(DX(QNAN, 0, fclass.d %0, fa0) == 1 << 9);
}

static void control(void)
{
    uint64_t t;

    CSR_WRITE(fcsr, 0xff);
    CHECK(CSR_READ(fcsr) == 0xff && CSR_READ(frm) == 7 &&
          CSR_READ(fflags) == 0x1f);
    /* A reserved dynamic rounding mode is illegal when used. */
    EXPECT_TRAP(2, "fadd.d fa0, fa0, fa0" : : : "fa0");
    CSR_WRITE(fcsr, 0);
    /* A reserved static one always: rm = 5. */
    EXPECT_TRAP(2, ".word 0x02a55553" : : : "fa0");
    CSR_CLEAR(mstatus, 3 << 13);
    EXPECT_TRAP(2, "fadd.d fa0, fa0, fa0" : : : "fa0");
    EXPECT_TRAP(2, "frflags %0" : "=r"(t));
    EXPECT_TRAP(2, "fld fa0, 0(sp)" : : : "fa0");
    CSR_SET(mstatus, 1 << 13);
    CHECK((CSR_READ(mstatus) & 3 << 13) == 1 << 13);
    __asm__ volatile("fmv.d.x fa0, zero" : : : "fa0");
    CHECK((CSR_READ(mstatus) & 3 << 13) == 3 << 13);
    CHECK(CSR_READ(mstatus) >> 63);
}

int test_main(unsigned hart)
{
    arithmetic();
    min_max();
    boxing();
    conversions();
    classes();
    control();
    return 0;
}
