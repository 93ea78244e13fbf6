/*
 * Atlas 350 virtual card: BAR2, the register space as the host sees it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Register by register: docs/specs/atlas350.rst. A write never does more
 * than store and schedule, but for the reset register.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/bitops.h"
#include "shell.h"
#include "ts/ts.h"
#include "trace.h"

uint32_t a350_mainboard_id(A350Card *c)
{
    uint32_t n = a350_fabric_count(c->fabric);

    /* spec/hw/pci.md §9: one card, two by a bridge, a mesh */
    return n <= 1 ? 0x68 : n == 2 ? 0x6a : 0x6c;
}

/* A 64-bit register read through any aligned or unaligned part of it. */
static uint64_t a350_part(uint64_t val, uint32_t offset, unsigned size)
{
    return extract64(val >> (8 * (offset & 7)), 0, MIN(size, 8) * 8);
}

static uint64_t a350_ctrl_reg64(Atlas350State *s, uint32_t offset)
{
    A350Card *c = &s->card;

    switch (offset & ~7u) {
    case A350_CTRL_MAGIC:
        return A350_MAGIC | ((uint64_t)A350_CONTRACT_VERSION << 32);
    case A350_CTRL_STATUS:
        return qatomic_read(&s->status) |
               ((uint64_t)a350_aicpu_fw_status(c) << 32);
    case A350_CTRL_RESET:
        return (uint64_t)c->index << 32;
    case A350_CTRL_NUM_SQ:
        return c->num_sq | ((uint64_t)c->num_notify << 32);
    case A350_CTRL_NUM_CNT_NOTIFY:
        return c->num_cnt_notify | ((uint64_t)c->num_cores << 32);
    case A350_CTRL_HBM_SIZE:
        return c->hbm_size;
    case A350_CTRL_DEV_BASE:
        return c->dev_base;
    case A350_CTRL_HBM_USABLE:
        return c->hbm_usable;
    case A350_CTRL_CLOCK_NS:
        return a350_clock_ns();
    case A350_CTRL_ADMIN_DB:
        return (uint64_t)A350_ADMIN_SLOTS << 32;
    case A350_CTRL_ADMIN_PENDING:
        /* Whoever sees the bit sees the slot. */
        return qatomic_load_acquire(&s->admin.done);
    default:
        return 0;
    }
}

static void a350_ctrl_write(Atlas350State *s, uint32_t offset, uint32_t val)
{
    switch (offset) {
    case A350_CTRL_RESET:
        if (val == A350_RESET_KEY) {
            device_cold_reset(DEVICE(s));
        } else {
            qemu_log_mask(LOG_GUEST_ERROR, "atlas350 %u: reset register "
                          "takes 0x%x, not 0x%x\n", s->card.index,
                          A350_RESET_KEY, val);
        }
        break;
    case A350_CTRL_ADMIN_DB:
        a350_admin_doorbell(s, val);
        break;
    case A350_CTRL_ADMIN_PENDING:
        qatomic_and(&s->admin.done, ~val);
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "atlas350 %u: control register 0x%x "
                      "is read-only\n", s->card.index, offset);
    }
}

/* Hardware-info block, spec/hw/pci.md §5. */
static uint8_t a350_hwinfo_byte(A350Card *c, uint32_t offset)
{
    switch (offset) {
    case A350_HWINFO_BOARD_ID:
        return 0x1b;
    case A350_HWINFO_VERSION:
        return 1;
    case A350_HWINFO_MAINBOARD_ID:
        return a350_mainboard_id(c);
    default:
        return 0;
    }
}

static uint64_t a350_hwinfo_read(A350Card *c, uint32_t offset, unsigned size)
{
    uint64_t val = 0;
    unsigned i;

    for (i = 0; i < size; i++) {
        val |= (uint64_t)a350_hwinfo_byte(c, offset + i) << (8 * i);
    }
    return val;
}

static bool a350_in(uint64_t addr, uint32_t base, uint32_t size)
{
    return addr >= base && addr < (uint64_t)base + size;
}

static bool a350_in_ts(uint64_t addr)
{
    return a350_in(addr, A350_REG_RTSQ, A350_REG_RTSQ_SIZE) ||
           a350_in(addr, A350_REG_CNT_NOTIFY, A350_REG_CNT_NOTIFY_SIZE) ||
           a350_in(addr, A350_REG_NOTIFY, A350_REG_NOTIFY_SIZE);
}

static uint64_t a350_regs_read(void *opaque, hwaddr addr, unsigned size)
{
    Atlas350State *s = opaque;
    A350Card *c = &s->card;
    uint64_t val = 0;

    if (a350_in_ts(addr)) {
        if (!a350_ts_reg_read(c, addr, size, &val)) {
            qemu_log_mask(LOG_GUEST_ERROR, "atlas350 %u: no register to read "
                          "at 0x%" PRIx64 "\n", c->index, addr);
        }
    } else if (a350_in(addr, A350_REG_CQINT, A350_REG_CQINT_SIZE)) {
        val = a350_ts_cqint_read(c, addr - A350_REG_CQINT);
    } else if (a350_in(addr, A350_REG_CTRL, A350_REG_CTRL_SIZE)) {
        val = a350_part(a350_ctrl_reg64(s, addr - A350_REG_CTRL), addr, size);
    } else if (a350_in(addr, A350_REG_HWINFO, A350_REG_HWINFO_SIZE)) {
        val = a350_hwinfo_read(c, addr - A350_REG_HWINFO, size);
    } else {
        qemu_log_mask(LOG_GUEST_ERROR, "atlas350 %u: no register to read at "
                      "0x%" PRIx64 "\n", c->index, addr);
    }
    trace_atlas350_reg_read(c->index, addr, size, val);
    return val;
}

static void a350_regs_write(void *opaque, hwaddr addr, uint64_t val,
                            unsigned size)
{
    Atlas350State *s = opaque;
    A350Card *c = &s->card;

    trace_atlas350_reg_write(c->index, addr, size, val);
    if (a350_in_ts(addr)) {
        if (!a350_ts_reg_write(c, addr, size, val)) {
            qemu_log_mask(LOG_GUEST_ERROR, "atlas350 %u: no register to write "
                          "at 0x%" PRIx64 "\n", c->index, addr);
        }
    } else if (a350_in(addr, A350_REG_CQINT, A350_REG_CQINT_SIZE)) {
        a350_ts_cqint_write(c, addr - A350_REG_CQINT, val);
    } else if (a350_in(addr, A350_REG_CTRL, A350_REG_CTRL_SIZE) && size >= 4) {
        a350_ctrl_write(s, addr - A350_REG_CTRL, val);
    } else {
        qemu_log_mask(LOG_GUEST_ERROR, "atlas350 %u: no register to write at "
                      "0x%" PRIx64 "\n", c->index, addr);
    }
}

const MemoryRegionOps a350_regs_ops = {
    .read = a350_regs_read,
    .write = a350_regs_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};
