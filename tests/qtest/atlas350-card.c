/*
 * QTest: an Atlas 350 card as a driver sees it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "atlas350-card.h"

#define FIRST_SLOT      4
#define BAR_BASE        0x4000000000ull
#define BAR_STRIDE      0x0200000000ull

/* ---- machine ---- */

static void set_bar(TCard *c, int bar, uint64_t addr)
{
    int reg = PCI_BASE_ADDRESS_0 + 4 * bar;

    qpci_config_writel(c->pci, reg, addr);
    qpci_config_writel(c->pci, reg + 4, addr >> 32);
}

void t_enable(TCard *c)
{
    set_bar(c, A350_BAR_SHM, c->shm);
    set_bar(c, A350_BAR_REG, c->reg);
    set_bar(c, A350_BAR_HBM, c->hbm);
    qpci_config_writew(c->pci, PCI_COMMAND,
                       PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

void t_flr(TCard *c)
{
    qpci_config_writew(c->pci, A350_PCI_CAP_EXP + PCI_EXP_DEVCTL,
                       PCI_EXP_DEVCTL_BCR_FLR);
}

static void card_open(TMachine *m, unsigned i, int devfn, bool enable)
{
    TCard *c = &m->card[i];

    c->m = m;
    c->qts = m->qts;
    c->pci = qpci_device_find(m->bus, devfn);
    g_assert_nonnull(c->pci);
    c->hbm = BAR_BASE + i * BAR_STRIDE;
    c->shm = c->hbm + 0x100000000ull;
    c->reg = c->shm + 0x40000000ull;
    if (enable) {
        t_enable(c);
    }
    c->dev = A350_DEV_BASE(i);
}

static TMachine *start(unsigned cards, const char *props, const char *args,
                       bool enable)
{
    TMachine *m = g_new0(TMachine, 1);
    GString *cmd = g_string_new("-M q35 -m 256M -nodefaults ");
    unsigned i;

    g_string_append(cmd, args);
    for (i = 0; i < cards; i++) {
        g_autofree char *own = g_strdup(props);
        char *mark = strchr(own, '#');

        if (mark) {
            *mark = '0' + i;
        }
        g_string_append_printf(cmd, " -device atlas350,id=card%u,addr=%x,"
                               "hbm-size=256M%s", i, FIRST_SLOT + i, own);
    }
    m->qts = qtest_init(cmd->str);
    g_string_free(cmd, true);
    m->bus = qpci_new_pc(m->qts, NULL);
    m->n = cards;
    for (i = 0; i < cards; i++) {
        card_open(m, i, QPCI_DEVFN(FIRST_SLOT + i, 0), enable);
    }
    return m;
}

TMachine *t_start(unsigned cards, const char *props, const char *args)
{
    return start(cards, props, args, true);
}

TMachine *t_start_incoming(unsigned cards, const char *props,
                           const char *args)
{
    return start(cards, props, args, false);
}

void t_port_open(QPCIDevice *port, unsigned bus)
{
    uint64_t first = BAR_BASE + bus * BAR_STRIDE, last = first + BAR_STRIDE - 1;

    qpci_config_writeb(port, PCI_SECONDARY_BUS, bus);
    qpci_config_writeb(port, PCI_SUBORDINATE_BUS, bus);
    qpci_config_writew(port, PCI_PREF_MEMORY_BASE, first >> 16);
    qpci_config_writew(port, PCI_PREF_MEMORY_LIMIT, last >> 16);
    qpci_config_writel(port, PCI_PREF_BASE_UPPER32, first >> 32);
    qpci_config_writel(port, PCI_PREF_LIMIT_UPPER32, last >> 32);
    qpci_config_writew(port, PCI_COMMAND,
                       PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

void t_hot_open(TMachine *m, unsigned i, unsigned bus)
{
    g_assert_cmpuint(i, ==, m->n);
    card_open(m, i, bus << 8, true);
    m->n++;
}

void t_hot_close(TMachine *m, unsigned i)
{
    g_assert_cmpuint(i, ==, m->n - 1);
    g_free(m->card[i].pci);
    m->n--;
}

void t_stop(TMachine *m)
{
    unsigned i;

    for (i = 0; i < m->n; i++) {
        g_free(m->card[i].pci);
    }
    qpci_free_pc(m->bus);
    qtest_quit(m->qts);
    g_free(m);
}

gint64 t_patience(void)
{
    const char *n = g_getenv("A350_PATIENCE");

    return 10 * G_USEC_PER_SEC * (n ? MAX(atoi(n), 1) : 1);
}

/* ---- cards that come and go ---- */

void t_slot_power(QPCIDevice *port, bool on)
{
    uint8_t cap = qpci_find_capability(port, PCI_CAP_ID_EXP, 0);

    qpci_config_writew(port, cap + PCI_EXP_SLTCTL, on ?
                       PCI_EXP_SLTCTL_PWR_IND_ON : PCI_EXP_SLTCTL_PCC |
                       PCI_EXP_SLTCTL_PWR_IND_OFF);
}

/* Bus 1 behind the port, and all that the card's BARs may take. */
static void open_bridge(QPCIDevice *port)
{
    const uint64_t first = BAR_BASE, last = BAR_BASE + BAR_STRIDE - 1;

    qpci_config_writel(port, PCI_PRIMARY_BUS, 1 << 8 | 1 << 16);
    qpci_config_writew(port, PCI_PREF_MEMORY_BASE, (uint16_t)(first >> 16));
    qpci_config_writew(port, PCI_PREF_MEMORY_LIMIT, (uint16_t)(last >> 16));
    qpci_config_writel(port, PCI_PREF_BASE_UPPER32, first >> 32);
    qpci_config_writel(port, PCI_PREF_LIMIT_UPPER32, last >> 32);
    qpci_config_writew(port, PCI_COMMAND,
                       PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

void t_plug(TMachine *m, QPCIDevice *port, const char *bus,
            const char *firmware, int cores)
{
    qtest_qmp_device_add(m->qts, "atlas350", "hot", "{ 'bus': %s, "
                         "'hbm-size': 268435456, 'firmware': %s, "
                         "'aicpu-cores': %d }", bus, firmware, cores);
    t_slot_power(port, true);
    open_bridge(port);
    card_open(m, 0, 1 << 8, true);
    m->n = 1;
}

void t_unplug(TMachine *m, QPCIDevice *port)
{
    t_slot_power(port, false);
    qtest_qmp_eventwait(m->qts, "DEVICE_DELETED");
    g_free(m->card[0].pci);
    m->n = 0;
}

/* ---- registers and memory ---- */

uint32_t t_rd32(TCard *c, uint32_t offset)
{
    return qtest_readl(c->qts, c->reg + offset);
}

void t_wr32(TCard *c, uint32_t offset, uint32_t val)
{
    qtest_writel(c->qts, c->reg + offset, val);
}

uint64_t t_rd64(TCard *c, uint32_t offset)
{
    return qtest_readq(c->qts, c->reg + offset);
}

/* In pieces: the qtest server's time for a line is quadratic in its length. */
#define PIECE 0x4000

void t_hbm_read(TCard *c, uint64_t offset, void *buf, size_t len)
{
    size_t at;

    for (at = 0; at < len; at += PIECE) {
        qtest_bufread(c->qts, c->hbm + offset + at, (uint8_t *)buf + at,
                      MIN(len - at, PIECE));
    }
}

void t_hbm_write(TCard *c, uint64_t offset, const void *buf, size_t len)
{
    size_t at;

    for (at = 0; at < len; at += PIECE) {
        qtest_bufwrite(c->qts, c->hbm + offset + at,
                       (const uint8_t *)buf + at, MIN(len - at, PIECE));
    }
}

void t_hbm_fill(TCard *c, uint64_t offset, uint8_t val, size_t len)
{
    qtest_memset(c->qts, c->hbm + offset, val, len);
}

static uint8_t pattern(uint32_t seed, size_t i)
{
    uint32_t x = (uint32_t)i * 2654435761u + seed * 40503u;

    return (x >> 24) ^ (x >> 11);
}

void t_hbm_pattern(TCard *c, uint64_t offset, uint32_t seed, size_t len)
{
    g_autofree uint8_t *buf = g_malloc(len);
    size_t i;

    for (i = 0; i < len; i++) {
        buf[i] = pattern(seed, i);
    }
    t_hbm_write(c, offset, buf, len);
}

bool t_hbm_is_pattern(TCard *c, uint64_t offset, uint32_t seed, size_t len)
{
    g_autofree uint8_t *buf = g_malloc(len);
    size_t i;

    t_hbm_read(c, offset, buf, len);
    for (i = 0; i < len; i++) {
        if (buf[i] != pattern(seed, i)) {
            g_test_message("byte 0x%zx is 0x%02x, not 0x%02x", i, buf[i],
                           pattern(seed, i));
            return false;
        }
    }
    return true;
}

bool t_hbm_is_fill(TCard *c, uint64_t offset, uint8_t val, size_t len)
{
    g_autofree uint8_t *buf = g_malloc(len);
    size_t i;

    t_hbm_read(c, offset, buf, len);
    for (i = 0; i < len; i++) {
        if (buf[i] != val) {
            g_test_message("byte 0x%zx is 0x%02x, not 0x%02x", i, buf[i], val);
            return false;
        }
    }
    return true;
}

/* ---- admin queue ---- */

uint32_t t_admin(TCard *c, uint32_t opcode, void *data, uint32_t len,
                 char *msg)
{
    static unsigned turn;
    unsigned n = turn++ % A350_ADMIN_SLOTS;
    uint64_t addr = c->shm + A350_SHM_ADMIN + n * A350_ADMIN_SLOT_SIZE;
    a350_admin_slot slot = {
        .opcode = opcode,
        .status = A350_ADMIN_POSTED,
        .data_len = len,
    };
    uint32_t done = A350_REG_CTRL + A350_CTRL_ADMIN_PENDING;

    if (len) {
        memcpy(slot.data, data, len);
    }
    qtest_bufwrite(c->qts, addr, &slot, offsetof(a350_admin_slot, data) + len);
    t_wr32(c, A350_REG_CTRL + A350_CTRL_ADMIN_DB, n);
    g_assert_true(T_WAIT(t_rd32(c, done) & 1u << n));
    qtest_bufread(c->qts, addr, &slot, sizeof(slot));
    t_wr32(c, done, 1u << n);
    g_assert_cmpuint(slot.status, ==, slot.result == A350_ADM_OK ?
                     A350_ADMIN_DONE : A350_ADMIN_FAILED);
    if (slot.result == A350_ADM_OK) {
        g_assert_cmpuint(slot.data_len, <=, A350_ADMIN_DATA_SIZE);
        memcpy(data, slot.data, slot.data_len);
    } else {
        /* A refusal says what is wrong, in one line. */
        g_assert_cmpuint(strnlen(slot.message, sizeof(slot.message)), >, 8);
        g_assert_null(strchr(slot.message, '\n'));
        g_test_message("admin 0x%x: %u, %s", opcode, slot.result,
                       slot.message);
    }
    if (msg) {
        memcpy(msg, slot.message, sizeof(slot.message));
    }
    return slot.result;
}

void t_admin_id(TCard *c, uint32_t opcode, uint32_t id)
{
    uint8_t data[A350_ADMIN_DATA_SIZE] = { 0 };

    memcpy(data, &id, sizeof(id));
    g_assert_cmpuint(t_admin(c, opcode, data, sizeof(a350_id_req), NULL), ==,
                     A350_ADM_OK);
}

/* ---- queues ---- */

static uint32_t page(TQueue *q, uint32_t reg)
{
    return A350_REG_RTSQ + q->id * A350_SQ_PAGE_SIZE + reg;
}

static uint32_t cq_page(TQueue *q, uint32_t reg)
{
    return A350_REG_RTSQ + q->cq * A350_SQ_PAGE_SIZE + reg;
}

TQueue t_queue(TCard *c, uint64_t ring, uint32_t depth, bool cq,
               uint32_t flags)
{
    TQueue q = { .c = c, .depth = depth, .ring = ring, .cq = A350_ID_NONE,
                 .cq_phase = 1 };
    a350_cq_create ca = { .cq_id = A350_ID_ANY, .depth = 65, .irq = 1 };
    a350_sq_create sa = { .sq_id = A350_ID_ANY, .depth = depth,
                          .flags = flags, .cq_id = A350_ID_NONE };

    if (cq) {
        q.cq_depth = ca.depth;
        q.cq_ring = ring + depth * A350_SQE_SIZE;
        t_hbm_fill(c, q.cq_ring, 0, ca.depth * A350_CQE_SIZE);
        ca.base = c->dev + q.cq_ring;
        g_assert_cmpuint(t_admin(c, A350_ADM_CQ_CREATE, &ca, sizeof(ca), NULL),
                         ==, A350_ADM_OK);
        q.cq = ca.cq_id;
        sa.cq_id = ca.cq_id;
    }
    sa.base = c->dev + ring;
    g_assert_cmpuint(t_admin(c, A350_ADM_SQ_CREATE, &sa, sizeof(sa), NULL), ==,
                     A350_ADM_OK);
    q.id = sa.sq_id;
    return q;
}

void t_push_ext(TQueue *q, const void *slots, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        t_hbm_write(q->c, q->ring + q->tail * A350_SQE_SIZE,
                    (const uint8_t *)slots + i * A350_SQE_SIZE, A350_SQE_SIZE);
        q->tail = (q->tail + 1) % q->depth;
    }
}

void t_push(TQueue *q, const a350_sqe *s)
{
    t_push_ext(q, s, 1);
    q->task = s->w[1] + 1;
}

void t_ring(TQueue *q)
{
    t_wr32(q->c, page(q, A350_SQ_TAIL), q->tail);
}

void t_push_ring(TQueue *q, const a350_sqe *s)
{
    t_push(q, s);
    t_ring(q);
}

void t_fill_cq(TQueue *q)
{
    a350_sqe s;
    int i;

    a350_sqe_nop(&s, 0);
    s.w[0] |= A350_SQE_WR_CQE;
    for (i = 0; i < 64; i++) {
        t_push(q, &s);
    }
}

uint32_t t_head(TQueue *q)
{
    return t_rd32(q->c, page(q, A350_SQ_HEAD));
}

bool t_enabled(TQueue *q)
{
    return t_rd32(q->c, page(q, A350_SQ_STATUS)) & A350_SQ_STATUS_ENABLE;
}

bool t_drain(TQueue *q)
{
    return T_WAIT(t_head(q) == q->tail || !t_enabled(q)) &&
           t_head(q) == q->tail;
}

bool t_wait_stop(TQueue *q)
{
    return T_WAIT(!t_enabled(q));
}

bool t_stays(TQueue *q, uint32_t head)
{
    int i;

    for (i = 0; i < 20; i++) {
        g_usleep(1000);
        if (t_head(q) != head) {
            return false;
        }
    }
    return true;
}

static bool cqe_look(TQueue *q, a350_cqe *e)
{
    /* The tail moves last: who sees it moved sees the entry and its phase. */
    if (t_rd32(q->c, cq_page(q, A350_CQ_TAIL)) == q->cq_head) {
        return false;
    }
    t_hbm_read(q->c, q->cq_ring + q->cq_head * A350_CQE_SIZE, e, sizeof(*e));
    g_assert_cmpuint(e->h0 & A350_CQE_PHASE, ==, q->cq_phase);
    return true;
}

bool t_cqe(TQueue *q, a350_cqe *e)
{
    if (!T_WAIT(cqe_look(q, e))) {
        return false;
    }
    if (++q->cq_head == q->cq_depth) {
        q->cq_head = 0;
        q->cq_phase ^= 1;
    }
    t_wr32(q->c, cq_page(q, A350_CQ_HEAD), q->cq_head);
    return true;
}

bool t_no_cqe(TQueue *q)
{
    a350_cqe e;

    g_usleep(5000);
    return !cqe_look(q, &e);
}

/* ---- notifies ---- */

uint32_t t_notify(TCard *c, uint32_t id)
{
    return t_rd32(c, A350_REG_NOTIFY + a350_notify_offset(id));
}

void t_notify_set(TCard *c, uint32_t id, uint32_t val)
{
    t_wr32(c, A350_REG_NOTIFY + a350_notify_offset(id), val);
}

uint32_t t_cnt(TCard *c, uint32_t id, uint32_t alias)
{
    return t_rd32(c, A350_REG_CNT_NOTIFY + a350_cnt_notify_offset(id) + alias);
}

void t_cnt_set(TCard *c, uint32_t id, uint32_t alias, uint32_t val)
{
    t_wr32(c, A350_REG_CNT_NOTIFY + a350_cnt_notify_offset(id) + alias, val);
}
