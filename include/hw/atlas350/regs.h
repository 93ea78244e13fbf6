/*
 * Atlas 350 virtual card: PCI identity, BAR layout, registers, address map.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later OR Apache-2.0
 *
 * Shared by the device model, the firmware, the guest library and the tests.
 * Facts of the real card: spec/hw/pci.md and spec/hw/task-queues.md; what is
 * ours is marked so and specified in docs/specs/atlas350.rst.
 */
#ifndef HW_ATLAS350_REGS_H
#define HW_ATLAS350_REGS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define A350_STATIC_ASSERT(cond) static_assert(cond, #cond)
#else
#define A350_STATIC_ASSERT(cond) _Static_assert(cond, #cond)
#endif

/* Identity: spec/hw/pci.md §1. */
#define A350_PCI_VENDOR_ID          0x19e5
#define A350_PCI_DEVICE_ID          0xd806
#define A350_PCI_SUBVENDOR_ID       0x19e5
#define A350_PCI_SUBDEVICE_ID       0x4004
#define A350_PCI_CLASS              0x1200   /* base 0x12, subclass 0 */
#define A350_PCI_REVISION           0x20
#define A350_PCI_CAP_EXP            0x40     /* spec/hw/pci.md §2 */
#define A350_PCI_CAP_MSIX           0xa0
#define A350_PCI_CAP_PM             0xb0

/* BARs: spec/hw/pci.md §3, the PF row. */
#define A350_BAR_SHM                0        /* reserved device memory */
#define A350_BAR_REG                2        /* I/O registers */
#define A350_BAR_HBM                4        /* HBM window */
#define A350_BAR0_SIZE              0x40000000ull
#define A350_BAR2_SIZE              0x20000000ull
#define A350_BAR0_RAM_SIZE          0x02000000ull /* backed part of BAR0 */

#define A350_MSIX_VECTORS           256
#define A350_MSIX_ADMIN             0        /* boot and admin channel */
#define A350_MSIX_CQ_FIRST          80       /* first CQ group, §4 */

/* BAR0 (ours, inside the areas that spec/hw/pci.md §3 names). */
#define A350_SHM_ADMIN              0x00040000u  /* admin slots */
#define A350_SHM_LOG                0x01000000u  /* struct a350_log_ring */
#define A350_SHM_LOG_SIZE           0x00100000u

/*
 * BAR2 windows. Their positions are ours (the real card publishes them by
 * SYNC_SOC_RES, and so does this one): software asks, it does not assume.
 */
#define A350_REG_RTSQ               0x01000000u  /* 4 KiB a queue */
#define A350_REG_RTSQ_SIZE          0x00800000u  /* 2048 pages */
#define A350_REG_CQINT              0x01800000u
#define A350_REG_CQINT_SIZE         0x00100000u
#define A350_REG_CNT_NOTIFY         0x01900000u
#define A350_REG_CNT_NOTIFY_SIZE    0x00100000u
#define A350_REG_NOTIFY             0x02000000u
#define A350_REG_NOTIFY_SIZE        0x02000000u  /* 16 slices of 2 MiB */
#define A350_REG_MSIX_TABLE         0x08000000u
#define A350_REG_MSIX_PBA           0x08008000u
#define A350_REG_CTRL               0x08c00000u  /* control page, ours */
#define A350_REG_CTRL_SIZE          0x00001000u
#define A350_REG_HWINFO             0x08c2d800u  /* spec/hw/pci.md §5 */
#define A350_REG_HWINFO_SIZE        0x00000100u
#define A350_HWINFO_BOARD_ID        0x06         /* u16 */
#define A350_HWINFO_VERSION         0x08         /* u8 */
#define A350_HWINFO_MAINBOARD_ID    0x22         /* u8: 0x68, 0x6a, 0x6c */

/* One page per SQ; the CQ registers of the CQ of the same index beside. */
#define A350_SQ_PAGE_SIZE           0x1000u
#define A350_SQ_TAIL                0x000        /* RW, doorbell */
#define A350_SQ_HEAD                0x010        /* R; W while disabled */
#define A350_SQ_STATUS              0x014        /* bit 0 enable */
#define A350_CQ_HEAD                0x888        /* RW, moved by software */
#define A350_CQ_TAIL                0x890        /* R */
#define A350_SQ_STATUS_ENABLE       0x1u

/* CQ interrupt groups: spec/hw/task-queues.md §1, host side. */
#define A350_CQINT_GROUP_STRIDE     0x10000u
#define A350_CQINT_GROUPS           16
#define A350_CQINT_L1_STATUS        0x10
#define A350_CQINT_L1_CTRL          0x14
#define A350_CQINT_L1_MASK          0x20
#define A350_CQINT_MID_STATUS       0x40         /* + 4 i, 2 registers */
#define A350_CQINT_L2_STATUS        0x90         /* + 4 m */
#define A350_CQINT_L2_CTRL          0xa0         /* + 4 m, write 1 clears */
#define A350_CQS_PER_GROUP          128          /* 2048 / 16 */

/*
 * Notify table: spec/hw/task-queues.md §5. A register is 4 bytes wide at an
 * 8-byte step; bit 0 is the flag. 16 registers a 4 KiB page.
 */
#define A350_NOTIFY_MAX             65536u
#define A350_CNT_NOTIFY_MAX         2048u
#define A350_CNT_NOTIFY_STORE       0x00
#define A350_CNT_NOTIFY_ADD         0x08
#define A350_CNT_NOTIFY_OR          0x10
#define A350_CNT_NOTIFY_CLEAR       0x18

static inline uint32_t a350_notify_offset(uint32_t id)
{
    return (id / 4096) * 0x200000 + ((id % 4096) / 16) * 0x1000 + (id % 16) * 8;
}

static inline uint32_t a350_cnt_notify_offset(uint32_t id)
{
    return (id / 128) * 0x10000 + ((id % 128) / 16) * 0x1000 + (id % 16) * 32;
}

/* Queues: spec/hw/task-queues.md §1. */
#define A350_SQ_MAX                 2016u
#define A350_SQ_ID_MASK             0x7ffu
#define A350_SQ_DEPTH_MAX           2049u
#define A350_SQ_DEPTH_MIN           9u           /* (depth - 1) % 8 == 0 */
#define A350_SQE_SIZE               64u
#define A350_CQE_SIZE               32u
#define A350_JETTY_MAX              65536u
#define A350_AICPU_CORES_MAX        7u

/* Wherever an id is a 32-bit word. */
#define A350_ID_ANY                 0xffffffffu  /* the card chooses */
#define A350_ID_NONE                0xfffffffeu

/* Control page (BAR2 + A350_REG_CTRL), ours: docs/specs/atlas350.rst. */
#define A350_CTRL_MAGIC             0x000        /* R: A350_MAGIC */
#define A350_CTRL_VERSION           0x004        /* R: A350_CONTRACT_VERSION */
#define A350_CTRL_STATUS            0x008        /* R: A350_STATUS_* */
#define A350_CTRL_FW_STATUS         0x00c        /* R: enum a350_fw_status */
#define A350_CTRL_RESET             0x010        /* W: A350_RESET_KEY */
#define A350_CTRL_CARD_INDEX        0x014        /* R: index in the fabric */
#define A350_CTRL_NUM_SQ            0x018        /* R */
#define A350_CTRL_NUM_NOTIFY        0x01c        /* R */
#define A350_CTRL_NUM_CNT_NOTIFY    0x020        /* R */
#define A350_CTRL_AICPU_CORES       0x024        /* R */
#define A350_CTRL_HBM_SIZE          0x028        /* R, 64 bit */
#define A350_CTRL_DEV_BASE          0x030        /* R, 64 bit: card's window */
#define A350_CTRL_HBM_USABLE        0x038        /* R, 64 bit: from offset 0 */
#define A350_CTRL_CLOCK_NS          0x040        /* R, 64 bit: card's clock */
#define A350_CTRL_ADMIN_DB          0x048        /* W: slot number */
#define A350_CTRL_ADMIN_SLOTS       0x04c        /* R */
#define A350_CTRL_ADMIN_PENDING     0x050        /* R: bit per done slot; W1C */

#define A350_MAGIC                  0x30353341u  /* "A350" */
#define A350_CONTRACT_VERSION       1u
#define A350_RESET_KEY              0x52534554u  /* "TESR" in memory */

#define A350_STATUS_READY           0x01u        /* card answers */
#define A350_STATUS_FW_RUNNING      0x02u        /* AICPU takes kernels */
#define A350_STATUS_FW_FAILED       0x04u        /* see FW_STATUS */
#define A350_STATUS_FIRST_ERROR     0x08u        /* first error latched */
#define A350_STATUS_STALLED         0x10u        /* whole fabric is blocked */

/*
 * Device addresses. A card's window starts at A350_DEV_BASE(index), windows
 * lie 8 TiB apart (spec/hw/pci.md §9) and above every x86-64 and RISC-V user
 * pointer, so that an address alone says whose memory it is:
 *
 *   below 2^47                       host memory, an IOVA of this card's bus
 *   window + 0                       HBM
 *   window + A350_DEV_REG_OFFSET     the registers, laid out as BAR2
 *
 * The 48- and 49-bit address fields of SQEs are completed with the upper bits
 * of the card's own window base.
 */
#define A350_DEV_STRIDE_SHIFT       43
#define A350_DEV_STRIDE             (1ull << A350_DEV_STRIDE_SHIFT)
#define A350_DEV_FIRST              (1ull << 47)
#define A350_DEV_BASE(index)        (A350_DEV_FIRST + \
                                     (index) * A350_DEV_STRIDE)
#define A350_DEV_REG_OFFSET         (1ull << 42)
#define A350_CARDS_MAX              256u

static inline int a350_addr_is_host(uint64_t addr)
{
    return addr < A350_DEV_FIRST;
}

/* Index of the card whose window @addr lies in; only for device addresses. */
static inline uint32_t a350_addr_card(uint64_t addr)
{
    return (uint32_t)((addr - A350_DEV_FIRST) >> A350_DEV_STRIDE_SHIFT);
}

static inline uint64_t a350_addr_offset(uint64_t addr)
{
    return addr & (A350_DEV_STRIDE - 1);
}

static inline uint64_t a350_notify_addr(uint64_t dev_base, uint32_t id)
{
    return dev_base + A350_DEV_REG_OFFSET + A350_REG_NOTIFY +
           a350_notify_offset(id);
}

static inline uint64_t a350_sq_page_addr(uint64_t dev_base, uint32_t sq)
{
    return dev_base + A350_DEV_REG_OFFSET + A350_REG_RTSQ +
           (uint64_t)sq * A350_SQ_PAGE_SIZE;
}

/*
 * End point address (EID) of a card: 16 bytes, as the card shows it and as
 * CommAddr.eid carries it; a WQE holds it byte-reversed (spec/hw/transport.md
 * §2). Bytes 0-7 name the fabric (0 for the default one), 8-11 are the bytes
 * 00 10 00 00, 12-15 the card index + 1, big-endian.
 */
#define A350_EID_LEN                16

static inline void a350_eid_make(uint8_t eid[A350_EID_LEN], uint64_t fabric,
                                 uint32_t card)
{
    uint32_t n = card + 1;
    int i;

    for (i = 0; i < 8; i++) {
        eid[i] = (uint8_t)(fabric >> (56 - 8 * i));
    }
    eid[8] = 0x00;
    eid[9] = 0x10;
    eid[10] = 0x00;
    eid[11] = 0x00;
    eid[12] = (uint8_t)(n >> 24);
    eid[13] = (uint8_t)(n >> 16);
    eid[14] = (uint8_t)(n >> 8);
    eid[15] = (uint8_t)n;
}

/* Card index of an EID; UINT32_MAX if it is not the EID of a card. */
static inline uint32_t a350_eid_card(const uint8_t eid[A350_EID_LEN])
{
    uint32_t n = ((uint32_t)eid[12] << 24) | ((uint32_t)eid[13] << 16) |
                 ((uint32_t)eid[14] << 8) | eid[15];

    if (eid[8] != 0x00 || eid[9] != 0x10 || eid[10] || eid[11] || n == 0) {
        return UINT32_MAX;
    }
    return n - 1;
}

#endif /* HW_ATLAS350_REGS_H */
