/*
 * QTest: the Atlas 350 as a PCI function: identity, BARs, HBM, admin queue,
 * log, reset.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Expected values: spec/hw/pci.md and docs/specs/atlas350.rst.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "atlas350-card.h"

static void test_identity(void)
{
    TMachine *m = t_start(1, "", "");
    QPCIDevice *pci = m->card[0].pci;

    g_assert_cmphex(qpci_config_readw(pci, PCI_VENDOR_ID), ==, 0x19e5);
    g_assert_cmphex(qpci_config_readw(pci, PCI_DEVICE_ID), ==, 0xd806);
    g_assert_cmphex(qpci_config_readw(pci, PCI_SUBSYSTEM_VENDOR_ID), ==,
                    0x19e5);
    g_assert_cmphex(qpci_config_readw(pci, PCI_SUBSYSTEM_ID), ==, 0x4004);
    /* class, subclass, interface, revision */
    g_assert_cmphex(qpci_config_readl(pci, PCI_CLASS_REVISION), ==,
                    0x12000020);
    t_stop(m);
}

static void test_capabilities(void)
{
    TMachine *m = t_start(1, "", "");
    QPCIDevice *pci = m->card[0].pci;

    /* the chain of spec/hw/pci.md §2 */
    g_assert_cmphex(qpci_config_readb(pci, PCI_CAPABILITY_LIST), ==, 0x40);
    g_assert_cmphex(qpci_config_readw(pci, 0x40), ==, 0xa010);
    g_assert_cmphex(qpci_config_readw(pci, 0xa0), ==, 0xb011);
    g_assert_cmphex(qpci_config_readw(pci, 0xb0), ==, 0x0001);
    /* end point, version 2; FLR capable */
    g_assert_cmphex(qpci_config_readw(pci, 0x42) & 0xff, ==, 0x02);
    g_assert_cmphex(qpci_config_readl(pci, 0x44) & (1u << 28), ==, 1u << 28);
    /* 256 vectors; table and PBA in BAR2 */
    g_assert_cmphex(qpci_config_readw(pci, 0xa2) & 0x7ff, ==, 255);
    g_assert_cmphex(qpci_config_readl(pci, 0xa4), ==,
                    A350_REG_MSIX_TABLE | 2);
    g_assert_cmphex(qpci_config_readl(pci, 0xa8), ==, A350_REG_MSIX_PBA | 2);
    t_stop(m);
}

static uint64_t bar_size(QPCIDevice *pci, int bar, uint32_t *flags)
{
    int reg = PCI_BASE_ADDRESS_0 + 4 * bar;
    uint64_t mask;

    qpci_config_writel(pci, reg, 0xffffffff);
    qpci_config_writel(pci, reg + 4, 0xffffffff);
    mask = qpci_config_readl(pci, reg);
    *flags = mask & 0xf;
    mask = (mask & ~0xfull) | (uint64_t)qpci_config_readl(pci, reg + 4) << 32;
    return -mask;
}

static void test_bars(void)
{
    TMachine *m = t_start(1, "", "");
    QPCIDevice *pci = m->card[0].pci;
    uint32_t flags;

    qpci_config_writew(pci, PCI_COMMAND, 0);
    g_assert_cmphex(bar_size(pci, 0, &flags), ==, 0x40000000);
    g_assert_cmphex(flags, ==, 0xc); /* memory, 64 bit, prefetchable */
    g_assert_cmphex(bar_size(pci, 2, &flags), ==, 0x20000000);
    g_assert_cmphex(flags, ==, 0xc);
    g_assert_cmphex(bar_size(pci, 4, &flags), ==, T_HBM_SIZE);
    g_assert_cmphex(flags, ==, 0xc);
    t_stop(m);
}

static void test_hbm_edges(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    uint64_t last = c->hbm + T_HBM_SIZE - 8;

    g_assert_cmphex(qtest_readq(c->qts, c->hbm), ==, 0);
    qtest_writeq(c->qts, c->hbm, 0x1122334455667788ull);
    qtest_writeq(c->qts, last, 0x99aabbccddeeff00ull);
    g_assert_cmphex(qtest_readb(c->qts, c->hbm), ==, 0x88);
    g_assert_cmphex(qtest_readq(c->qts, c->hbm), ==, 0x1122334455667788ull);
    g_assert_cmphex(qtest_readq(c->qts, last), ==, 0x99aabbccddeeff00ull);
    g_assert_cmphex(qtest_readb(c->qts, last + 7), ==, 0x99);
    /* behind the end there is nothing of the card */
    g_assert_cmphex(qtest_readq(c->qts, last + 8), !=, 0x1122334455667788ull);
    t_stop(m);
}

static void test_control_page(void)
{
    TMachine *m = t_start(1, ",num-sq=17,num-notify=4096,aicpu-cores=5", "");
    TCard *c = &m->card[0];
    const uint32_t p = A350_REG_CTRL;

    g_assert_cmphex(t_rd32(c, p + A350_CTRL_MAGIC), ==, 0x30353341);
    g_assert_cmpuint(t_rd32(c, p + A350_CTRL_VERSION), ==, 1);
    g_assert_cmphex(t_rd32(c, p + A350_CTRL_STATUS), ==, A350_STATUS_READY);
    g_assert_cmpuint(t_rd32(c, p + A350_CTRL_CARD_INDEX), ==, 0);
    g_assert_cmpuint(t_rd32(c, p + A350_CTRL_NUM_SQ), ==, 17);
    g_assert_cmpuint(t_rd32(c, p + A350_CTRL_NUM_NOTIFY), ==, 4096);
    g_assert_cmpuint(t_rd32(c, p + A350_CTRL_NUM_CNT_NOTIFY), ==, 2048);
    g_assert_cmpuint(t_rd32(c, p + A350_CTRL_AICPU_CORES), ==, 5);
    g_assert_cmphex(t_rd64(c, p + A350_CTRL_HBM_SIZE), ==, T_HBM_SIZE);
    g_assert_cmphex(t_rd64(c, p + A350_CTRL_DEV_BASE), ==, 1ull << 47);
    g_assert_cmphex(t_rd64(c, p + A350_CTRL_HBM_USABLE), ==,
                    T_HBM_SIZE - (64 << 20));
    g_assert_cmpuint(t_rd32(c, p + A350_CTRL_ADMIN_SLOTS), ==, 32);
    /* read-only registers stay, and the card lives */
    t_wr32(c, p + A350_CTRL_NUM_SQ, 99);
    g_assert_cmpuint(t_rd32(c, p + A350_CTRL_NUM_SQ), ==, 17);
    t_stop(m);
}

static void test_hwinfo(void)
{
    static const uint8_t board[] = { 0, 0x68, 0x6a, 0x6c, 0x6c };
    unsigned n;

    /* spec/hw/pci.md §9: the shape shows in the main board id */
    for (n = 1; n <= 4; n++) {
        TMachine *m = t_start(n, "", "");
        TCard *c = &m->card[0];

        g_assert_cmphex(qtest_readb(c->qts, c->reg + 0x8c2d800 + 0x22), ==,
                        board[n]);
        g_assert_cmphex(qtest_readb(c->qts, c->reg + 0x8c2d800 + 0x08), !=,
                        0xff);
        g_assert_cmphex(qtest_readw(c->qts, c->reg + 0x8c2d800 + 0x06), ==,
                        0x1b);
        t_stop(m);
    }
}

static void test_identify(void)
{
    TMachine *m = t_start(2, "", "");
    TCard *c = &m->card[1];
    union {
        a350_identify_rsp r;
        uint8_t data[A350_ADMIN_DATA_SIZE];
    } u = { 0 };
    static const uint8_t eid[16] = { 0, 0, 0, 0, 0, 0, 0, 0,
                                     0, 0x10, 0, 0, 0, 0, 0, 2 };

    g_assert_cmpuint(t_admin(c, A350_ADM_IDENTIFY, &u, 0, NULL), ==, 0);
    g_assert_cmpuint(u.r.card_index, ==, 1);
    g_assert_cmphex(u.r.dev_base, ==, (1ull << 47) + (1ull << 43));
    g_assert_cmphex(u.r.hbm_size, ==, T_HBM_SIZE);
    g_assert_cmpuint(u.r.num_sq, ==, 256);
    g_assert_cmpuint(u.r.num_notify, ==, 65536);
    g_assert_cmpuint(u.r.num_jetty, ==, 65536);
    g_assert_cmpuint(u.r.num_segment, ==, 65536);
    g_assert_cmpuint(u.r.aicpu_cores, ==, 7);
    g_assert_cmpuint(u.r.fabric_cards, ==, 2);
    g_assert_cmphex(u.r.mainboard_id, ==, 0x6a);
    g_assert_cmpuint(u.r.max_msg, ==, 256 << 20);
    g_assert_cmpstr(u.r.soc_name, ==, "Ascend950PR_958b");
    g_assert_cmpmem(u.r.eid, 16, eid, 16);
    t_stop(m);
}

static void test_soc_res(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    union {
        a350_soc_res_req q;
        uint8_t data[A350_ADMIN_DATA_SIZE];
    } u = { .q = { .dir = 1, .scope = 1, .type = 2, .id = 0 } };
    a350_soc_res_reg reg;
    uint32_t len;

    g_assert_cmpuint(t_admin(c, A350_ADM_SYNC_SOC_RES, &u, sizeof(u.q), NULL),
                     ==, 0);
    memcpy(&len, u.data, 4);
    g_assert_cmpuint(len, ==, 4 * 56);
    memcpy(&reg, u.data + 4, 56);
    g_assert_cmpstr(reg.name, ==, "TS_STARS_RTSQ_SCHED_REG");
    g_assert_cmphex(reg.address >> 60, ==, 2);
    g_assert_cmphex(reg.address << 4 >> 4, ==, A350_REG_RTSQ);
    g_assert_cmphex(reg.length, ==, 0x800000);

    /* what the host has no case for answers with length 0 */
    u.q = (a350_soc_res_req) { .dir = 1, .scope = 2, .type = 6 };
    g_assert_cmpuint(t_admin(c, A350_ADM_SYNC_SOC_RES, &u, sizeof(u.q), NULL),
                     ==, 0);
    memcpy(&len, u.data, 4);
    g_assert_cmpuint(len, ==, 0);
    t_stop(m);
}

static void test_peers(void)
{
    TMachine *m = t_start(4, "", "");
    union {
        a350_id_req q;
        a350_peers_rsp r;
        uint8_t data[A350_ADMIN_DATA_SIZE];
    } u = { 0 };
    unsigned i;

    g_assert_cmpuint(t_admin(&m->card[2], A350_ADM_PEERS, &u, 8, NULL), ==, 0);
    g_assert_cmpuint(u.r.count, ==, 4);
    g_assert_cmpuint(u.r.next_index, ==, A350_ID_NONE);
    for (i = 0; i < 4; i++) {
        g_assert_cmpuint(u.r.peer[i].card_index, ==, i);
        g_assert_cmpuint(u.r.peer[i].flags, ==, i == 2);
        g_assert_cmpuint(u.r.peer[i].eid[15], ==, i + 1);
    }
    t_stop(m);
}

static void test_admin_bad(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    uint8_t data[A350_ADMIN_DATA_SIZE] = { 0 };
    const uint64_t slot = c->shm + A350_SHM_ADMIN + 5 * A350_ADMIN_SLOT_SIZE;

    g_assert_cmpuint(t_admin(c, 0x999, data, 0, NULL), ==, A350_ADM_E_OPCODE);
    g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, data, 4, NULL), ==,
                     A350_ADM_E_LENGTH);
    /* a length beyond the slot */
    qtest_writel(c->qts, slot, A350_ADM_IDENTIFY);
    qtest_writel(c->qts, slot + 12, 0xffffffff);
    qtest_writel(c->qts, slot + 4, A350_ADMIN_POSTED);
    t_wr32(c, A350_REG_CTRL + A350_CTRL_ADMIN_DB, 5);
    g_assert_true(T_WAIT(t_rd32(c, A350_REG_CTRL + A350_CTRL_ADMIN_PENDING) &
                         32));
    g_assert_cmpuint(qtest_readl(c->qts, slot + 4), ==, A350_ADMIN_FAILED);
    g_assert_cmpuint(qtest_readl(c->qts, slot + 8), ==, A350_ADM_E_LENGTH);
    /* slots that are not posted, or not there: nothing happens */
    t_wr32(c, A350_REG_CTRL + A350_CTRL_ADMIN_DB, 5);
    t_wr32(c, A350_REG_CTRL + A350_CTRL_ADMIN_DB, 32);
    t_wr32(c, A350_REG_CTRL + A350_CTRL_ADMIN_DB, 0xffffffff);
    g_assert_cmpuint(t_admin(c, A350_ADM_IDENTIFY, data, 0, NULL), ==, 0);
    t_stop(m);
}

/* Every 4-byte register of the interesting pages may be poked at. */
static void test_poke(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    static const struct {
        uint32_t base, size, step;
    } area[] = {
        { A350_REG_RTSQ, 0x2000, 4 },
        { A350_REG_RTSQ + 0x7ff000, 0x1000, 4 },
        { A350_REG_CQINT, 0x100, 4 },
        { A350_REG_CQINT + 0xf0000, 0x100, 4 },
        { A350_REG_NOTIFY, 0x100, 4 },
        { A350_REG_NOTIFY + 0x1fff000, 0x100, 4 },
        { A350_REG_CNT_NOTIFY + 0xf7000, 0x300, 4 },
        { A350_REG_CTRL + 0x14, 0x100, 4 },
        { A350_REG_HWINFO, 0x100, 4 },
        { 0, 0x100, 4 },
        { A350_BAR2_SIZE - 0x100, 0x100, 4 },
    };
    uint8_t data[A350_ADMIN_DATA_SIZE] = { 0 };
    unsigned i;
    uint32_t o;

    for (i = 0; i < ARRAY_SIZE(area); i++) {
        for (o = 0; o < area[i].size; o += area[i].step) {
            uint64_t a = c->reg + area[i].base + o;

            qtest_writel(c->qts, a, 0xffffffff);
            qtest_readl(c->qts, a);
            qtest_writeq(c->qts, a & ~7ull, ~0ull);
            qtest_readq(c->qts, a & ~7ull);
            qtest_writew(c->qts, a, 0xffff);
            qtest_readw(c->qts, a + 2);
            qtest_writeb(c->qts, a + 1, 0xff);
            qtest_readb(c->qts, a + 3);
        }
    }
    g_assert_cmpuint(t_admin(c, A350_ADM_IDENTIFY, data, 0, NULL), ==, 0);
    t_stop(m);
}

static void check_reset_state(TCard *c)
{
    g_assert_cmphex(t_rd32(c, A350_REG_CTRL + A350_CTRL_STATUS), ==,
                    A350_STATUS_READY);
    g_assert_cmphex(t_notify(c, 7), ==, 0);
    g_assert_cmphex(t_cnt(c, 7, 0), ==, 0);
    g_assert_cmphex(t_rd32(c, A350_REG_RTSQ + A350_SQ_STATUS), ==, 0);
    g_assert_cmphex(t_rd32(c, A350_REG_RTSQ + A350_SQ_TAIL), ==, 0);
    g_assert_cmphex(t_rd32(c, A350_REG_CTRL + A350_CTRL_ADMIN_PENDING), ==, 0);
}

static void make_state(TCard *c)
{
    TQueue q = t_queue(c, 0, 17, true, 0);
    a350_sqe s;

    t_notify_set(c, 7, 1);
    t_cnt_set(c, 7, 0, 42);
    a350_sqe_notify_wait(&s, 1, 8, 0);
    t_push_ring(&q, &s);
    g_assert_true(t_enabled(&q));
    g_assert_cmphex(t_notify(c, 7), ==, 1);
    g_assert_cmphex(t_cnt(c, 7, 0), ==, 42);
}

static void test_reset_register(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];

    make_state(c);
    /* a wrong key changes nothing */
    t_wr32(c, A350_REG_CTRL + A350_CTRL_RESET, 1);
    g_assert_cmphex(t_notify(c, 7), ==, 1);
    t_wr32(c, A350_REG_CTRL + A350_CTRL_RESET, A350_RESET_KEY);
    check_reset_state(c);
    make_state(c);
    t_stop(m);
}

static void test_flr(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];

    make_state(c);
    t_flr(c);
    /* FLR clears the BARs and the command register */
    g_assert_cmphex(qpci_config_readw(c->pci, PCI_COMMAND) & 6, ==, 0);
    t_enable(c);
    check_reset_state(c);
    make_state(c);
    t_stop(m);
}

static void test_system_reset(void)
{
    TMachine *m = t_start(2, "", "");

    make_state(&m->card[0]);
    make_state(&m->card[1]);
    qtest_system_reset(m->qts);
    t_enable(&m->card[0]);
    t_enable(&m->card[1]);
    check_reset_state(&m->card[0]);
    check_reset_state(&m->card[1]);
    t_stop(m);
}

static void test_stop_cont(void)
{
    TMachine *m = t_start(1, "", "");
    TCard *c = &m->card[0];
    TQueue q = t_queue(c, 0, 17, false, 0);
    a350_sqe s;

    qtest_qmp_assert_success(m->qts, "{ 'execute': 'stop' }");
    a350_sqe_notify_record(&s, 1, 3);
    t_push_ring(&q, &s);
    /* nothing moves while the machine is stopped */
    g_assert_true(t_stays(&q, 0));
    g_assert_cmpuint(t_notify(c, 3), ==, 0);
    qtest_qmp_assert_success(m->qts, "{ 'execute': 'cont' }");
    g_assert_true(t_drain(&q));
    g_assert_cmpuint(t_notify(c, 3), ==, 1);
    t_stop(m);
}

static void test_hotplug(void)
{
    QTestState *qts = qtest_init("-M q35 -m 64M -nodefaults "
                                 "-device pcie-root-port,id=rp0");
    int i;

    for (i = 0; i < 5; i++) {
        qtest_qmp_device_add(qts, "atlas350", "hot", "{'bus': 'rp0', "
                             "'hbm-size': 268435456 }");
        qtest_qmp_device_del_send(qts, "hot");
        /* no guest to let go of it: a reset of the machine completes it */
        qtest_system_reset_nowait(qts);
        qtest_qmp_eventwait(qts, "DEVICE_DELETED");
    }
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("atlas350/pci/identity", test_identity);
    qtest_add_func("atlas350/pci/capabilities", test_capabilities);
    qtest_add_func("atlas350/pci/bars", test_bars);
    qtest_add_func("atlas350/pci/hbm-edges", test_hbm_edges);
    qtest_add_func("atlas350/pci/control-page", test_control_page);
    qtest_add_func("atlas350/pci/hardware-info", test_hwinfo);
    qtest_add_func("atlas350/admin/identify", test_identify);
    qtest_add_func("atlas350/admin/sync-soc-res", test_soc_res);
    qtest_add_func("atlas350/admin/peers", test_peers);
    qtest_add_func("atlas350/admin/bad-commands", test_admin_bad);
    qtest_add_func("atlas350/pci/poke-registers", test_poke);
    qtest_add_func("atlas350/reset/register", test_reset_register);
    qtest_add_func("atlas350/reset/flr", test_flr);
    qtest_add_func("atlas350/reset/system", test_system_reset);
    qtest_add_func("atlas350/pci/stop-and-cont", test_stop_cont);
    qtest_add_func("atlas350/pci/hotplug", test_hotplug);
    return g_test_run();
}
