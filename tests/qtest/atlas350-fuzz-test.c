/*
 * QTest: hostile software on two Atlas 350 cards.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each round sets up queues, jetties and segments on both cards, and then
 * does what no driver does: writes registers at random, posts admin commands
 * with any opcode, length and argument, fills rings with entries that are
 * half right, changes ring and slot memory while it is read, rings doorbells
 * outside the ring, takes bus mastering away, moves the clock. Afterwards the
 * machine lives, and after a reset both cards do their work and move the
 * right bytes. A350_FUZZ rounds (12), A350_SEED.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "hw/pci/pci_regs.h"
#include "atlas350-card.h"
#include "atlas350-ub.h"

#define QUEUES      4           /* of a card: the one of ub_card, and more */
#define STEPS       300
#define RINGS       0x200000u   /* rings of the further queues */

typedef struct Fuzz {
    Ub ub;
    GRand *rand;
    TQueue q[2][QUEUES];
    uint32_t direct[2];         /* a jetty that takes direct WQEs */
} Fuzz;

static uint32_t pick(Fuzz *f, uint32_t n)
{
    return g_rand_int_range(f->rand, 0, n);
}

static uint32_t word(Fuzz *f)
{
    static const uint32_t edge[] = {
        0, 1, 2, 3, 4, 8, 9, 15, 16, 63, 64, 65, 255, 256, 1216, 2016, 2047,
        2048, 2049, 4095, 4096, 0x7fff, 0x8000, 0xffff, 0x10000, 0x1ffff,
        0xfffff, 0x10000000, 0x7fffffff, 0x80000000, 0xfffffff8, A350_ID_NONE,
        A350_ID_ANY,
    };

    switch (pick(f, 4)) {
    case 0:
        return g_rand_int(f->rand);
    case 1:
        return pick(f, 16);
    default:
        return edge[pick(f, ARRAY_SIZE(edge))];
    }
}

static uint64_t address(Fuzz *f)
{
    uint64_t dev = f->ub.m->card[pick(f, 2)].dev;
    uint64_t reg = dev + A350_DEV_REG_OFFSET;
    const uint64_t base[] = {
        dev + DATA, dev + DATA + 0x100000, dev, dev + T_HBM_SIZE,
        dev + T_HBM_SIZE - 64, dev + WQ, dev + RINGS, T_RAM, T_RAM, 0x10000000,
        0xfee00000, A350_DEV_FIRST - 64, A350_DEV_BASE(2), A350_DEV_BASE(255),
        1ull << 63, -64ull, reg + A350_REG_NOTIFY + 0x1000 * pick(f, 512),
        reg + A350_REG_CNT_NOTIFY, reg + A350_REG_RTSQ, reg + A350_REG_CTRL,
        reg + A350_REG_NOTIFY + 0x100000, reg + A350_BAR2_SIZE - 4, 0,
        0x200000000ull,
    };
    uint64_t a = base[pick(f, ARRAY_SIZE(base))];

    return pick(f, 3) ? a : a + (int32_t)word(f) % 4096;
}

static uint32_t length(Fuzz *f)
{
    return pick(f, 40) ? pick(f, 0x4000) : word(f);
}

/* ---- entries and work requests ---- */

static void make_wqe(Fuzz *f, unsigned card, a350_wqe *w)
{
    UbCard *k = &f->ub.card[card], *peer = &f->ub.card[pick(f, 2)];
    unsigned i;

    *w = ub_write_notify(k, peer, peer->c->dev + DATA, k->c->dev + DATA,
                         length(f), pick(f, 64), 1);
    if (pick(f, 2)) {
        *w = ub_rw(k, peer, pick(f, 2) ? A350_UB_WRITE : A350_UB_READ,
                   pick(f, 2) ? DATA : T_HBM_SIZE - 64, DATA, length(f));
        if (pick(f, 2)) {
            a350_wqe_set_reduce(w, 7 + pick(f, 5), pick(f, 11));
        }
    }
    for (i = pick(f, 4); i > 1; i--) {
        w->w[pick(f, 32)] = word(f);
    }
}

static void make_notify(Fuzz *f, a350_sqe *s)
{
    if (pick(f, 2)) {
        a350_sqe_notify_record(s, word(f), pick(f, 64));
    } else {
        a350_sqe_notify_wait(s, word(f), pick(f, 64), pick(f, 4));
    }
    if (pick(f, 2)) {
        s->w[2] |= A350_NOTIFY_CNT;
        s->w[4] = pick(f, 4);
        s->w[5] = pick(f, 64);
    }
}

static void make_sdma(Fuzz *f, a350_sqe *s)
{
    a350_sqe_sdma(s, word(f), pick(f, 3) ? 0 : pick(f, 256), address(f),
                  address(f), length(f));
    if (!pick(f, 4)) {
        s->w[4] |= pick(f, 4) << A350_SDMA_STRIDE_SHIFT;
        s->w[7] = word(f);
        s->w[13] = word(f);
        s->w[14] = word(f);
        s->w[15] = word(f);
    }
}

static unsigned make_entry(Fuzz *f, unsigned card, a350_sqe *s)
{
    uint64_t data[4] = { 1, word(f), word(f), word(f) };
    unsigned i, slots = 1;

    switch (pick(f, 9)) {
    case 0:
    case 1:
        make_notify(f, s);
        break;
    case 2:
    case 3:
        make_sdma(f, s);
        break;
    case 4:
        a350_sqe_write_value(s, word(f), address(f), pick(f, 6), data, 0);
        break;
    case 5:
        a350_sqe_ubdma_db(s, word(f), pick(f, 4) ? f->ub.card[card].jetty :
                          word(f), pick(f, 4) ? f->ub.card[card].pi : word(f));
        s->w[2] |= pick(f, 2) << 2;
        s->w[6] = f->ub.card[card].jetty;
        break;
    case 6:
        a350_sqe_init(s, A350_SQE_UBDMA, word(f), pick(f, 256));
        slots = 2 + pick(f, 2);
        s->w[2] = slots == 3 ? A350_UBDMA_WQE_128 : 0;
        s->w[3] |= (slots - 1) << A350_SQE_LEN_SHIFT;
        s->w[4] = f->direct[card];
        make_wqe(f, card, (a350_wqe *)&s[1]);
        break;
    case 7:
        a350_sqe_nop(s, word(f));
        s->w[3] = (s->w[3] & ~0xffffu) | (pick(f, 2) ? 72 : pick(f, 104));
        s->w[6] = pick(f, 64);
        s->w[7] = word(f);
        break;
    default:
        a350_sqe_init(s, pick(f, 64), word(f), pick(f, 256));
        s->w[2] = word(f);
        s->w[4] = word(f);
        break;
    }
    s->w[0] |= pick(f, 4) ? 0 : word(f) & ~A350_SQE_TYPE_MASK;
    for (i = pick(f, 5); i > 3; i--) {
        s->w[pick(f, 16)] = word(f);
    }
    return slots;
}

/* ---- steps ---- */

static void step_entries(Fuzz *f, unsigned card)
{
    TQueue *q = &f->q[card][pick(f, QUEUES)];
    a350_sqe s[3];
    unsigned n;

    for (n = pick(f, 6); n; n--) {
        memset(s, 0, sizeof(s));
        t_push_ext(q, s, make_entry(f, card, s));
    }
    t_ring(q);
}

static void step_work(Fuzz *f, unsigned card)
{
    UbCard *k = &f->ub.card[card];
    a350_wqe w;

    make_wqe(f, card, &w);
    ub_post(k, &w);
}

/* Ring memory, jetty or queue, that is perhaps being read right now. */
static void step_flip(Fuzz *f, unsigned card)
{
    TCard *c = &f->ub.m->card[card];
    uint32_t v = word(f);
    uint64_t at = (pick(f, 2) ? WQ : RINGS) + pick(f, 0x1000) * 4;

    t_hbm_write(c, at, &v, sizeof(v));
}

static void step_register(Fuzz *f, unsigned card)
{
    static const uint32_t page[] = {
        A350_SQ_TAIL, A350_SQ_HEAD, A350_SQ_STATUS, A350_CQ_HEAD, A350_CQ_TAIL,
    };
    TCard *c = &f->ub.m->card[card];
    uint32_t id = pick(f, 4) ? pick(f, 8) : pick(f, 2048);
    const uint32_t at[] = {
        A350_REG_RTSQ + id * A350_SQ_PAGE_SIZE + page[pick(f, 5)],
        A350_REG_RTSQ + id * A350_SQ_PAGE_SIZE + pick(f, 0x1000),
        A350_REG_NOTIFY + a350_notify_offset(id * 32),
        A350_REG_NOTIFY + pick(f, A350_REG_NOTIFY_SIZE),
        A350_REG_CNT_NOTIFY + a350_cnt_notify_offset(id % 64) + 8 * pick(f, 4),
        A350_REG_CNT_NOTIFY + pick(f, A350_REG_CNT_NOTIFY_SIZE),
        A350_REG_CQINT + pick(f, 17) * A350_CQINT_GROUP_STRIDE +
            pick(f, 48) * 4,
        A350_REG_CTRL + pick(f, 0x60),
        A350_REG_HWINFO + pick(f, 0x100),
        pick(f, A350_BAR2_SIZE),
    };
    uint64_t addr = c->reg + at[pick(f, ARRAY_SIZE(at))];
    unsigned size = 1u << pick(f, 4);

    if (addr + size > c->reg + A350_BAR2_SIZE) {
        return;
    }
    switch (size) {
    case 1:
        qtest_writeb(c->qts, addr, word(f));
        qtest_readb(c->qts, addr);
        break;
    case 2:
        qtest_writew(c->qts, addr & ~1ull, word(f));
        qtest_readw(c->qts, addr & ~1ull);
        break;
    case 4:
        qtest_writel(c->qts, addr & ~3ull, word(f));
        qtest_readl(c->qts, addr & ~3ull);
        break;
    default:
        qtest_writeq(c->qts, addr & ~7ull, word(f));
        qtest_readq(c->qts, addr & ~7ull);
        break;
    }
}

static void step_admin(Fuzz *f, unsigned card)
{
    static const uint32_t opcode[] = {
        A350_ADM_SYNC_SOC_RES, A350_ADM_IDENTIFY, A350_ADM_CQ_CREATE,
        A350_ADM_CQ_DESTROY, A350_ADM_SQ_CREATE, A350_ADM_SQ_DESTROY,
        A350_ADM_SQ_RESET, A350_ADM_SQ_QUERY, A350_ADM_SQ_PAUSE,
        A350_ADM_SQ_RESUME, A350_ADM_SQ_LABEL, A350_ADM_NOTIFY_RESET,
        A350_ADM_NOTIFY_LABEL, A350_ADM_JETTY_CREATE, A350_ADM_JETTY_DESTROY,
        A350_ADM_JETTY_RESET, A350_ADM_JETTY_QUERY, A350_ADM_SEG_REGISTER,
        A350_ADM_SEG_UNREGISTER, A350_ADM_FIRST_ERROR, A350_ADM_CLEAR_ERROR,
        A350_ADM_WAIT_LIST, A350_ADM_PEERS,
    };
    static const uint32_t len[] = {
        0, 1, 3, 4, 8, 16, 20, 24, 48, 64, 80, 128, A350_ADMIN_DATA_SIZE,
        A350_ADMIN_DATA_SIZE + 1, UINT32_MAX,
    };
    TCard *c = &f->ub.m->card[card];
    unsigned n = pick(f, A350_ADMIN_SLOTS), i;
    uint64_t addr = c->shm + A350_SHM_ADMIN + n * A350_ADMIN_SLOT_SIZE, a;
    uint32_t data[24];
    a350_admin_slot slot = {
        .opcode = pick(f, 20) ? opcode[pick(f, ARRAY_SIZE(opcode))] : word(f),
        .status = pick(f, 20) ? A350_ADMIN_POSTED : word(f),
        .data_len = pick(f, 3) ? 80 : len[pick(f, ARRAY_SIZE(len))],
    };

    for (i = 0; i < ARRAY_SIZE(data); i++) {
        data[i] = word(f);
    }
    for (i = 0; i < 2; i++) {
        a = address(f);
        memcpy(&data[2 * pick(f, 5)], &a, 8);
    }
    memcpy(slot.data, data, sizeof(data));
    qtest_bufwrite(c->qts, addr, &slot,
                   offsetof(a350_admin_slot, data) + sizeof(data));
    t_wr32(c, A350_REG_CTRL + A350_CTRL_ADMIN_DB, pick(f, 20) ? n : word(f));
    if (!pick(f, 4)) {
        qtest_writel(c->qts, addr + 4 * pick(f, 64), word(f));
    }
}

static void step_machine(Fuzz *f, unsigned card)
{
    TMachine *m = f->ub.m;
    TCard *c = &m->card[card];

    switch (pick(f, 8)) {
    case 0:
        qpci_config_writew(c->pci, PCI_COMMAND, PCI_COMMAND_MEMORY);
        break;
    case 1:
        t_wr32(c, A350_REG_CTRL + A350_CTRL_RESET, A350_RESET_KEY);
        break;
    case 2:
        qtest_qmp_assert_success(m->qts, "{ 'execute': 'stop' }");
        qobject_unref(qtest_qmp(m->qts,
                                "{ 'execute': 'query-atlas350-waits' }"));
        qtest_qmp_assert_success(m->qts, "{ 'execute': 'cont' }");
        break;
    case 3:
        qobject_unref(qtest_qmp(m->qts, "{ 'execute': 'query-atlas350' }"));
        break;
    case 4:
        qtest_qmp_assert_success(m->qts,
                                 "{ 'execute': 'atlas350-inject-link-error',"
                                 "  'arguments': { 'card': %s,"
                                 "    'error': %s, 'count': 2 } }",
                                 card ? "card1" : "card0",
                                 pick(f, 2) ? "retry" : "ack-timeout");
        break;
    default:
        qpci_config_writew(c->pci, PCI_COMMAND,
                           PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
        qtest_clock_step(m->qts, 1 + (int64_t)pick(f, 1500) * 1000000);
        break;
    }
}

static void step(Fuzz *f)
{
    unsigned card = pick(f, 2), what = pick(f, 100);

    if (what < 40) {
        step_entries(f, card);
    } else if (what < 55) {
        step_work(f, card);
    } else if (what < 65) {
        step_flip(f, card);
    } else if (what < 85) {
        step_register(f, card);
    } else if (what < 97) {
        step_admin(f, card);
    } else {
        step_machine(f, card);
    }
}

/* ---- rounds ---- */

static void prepare(Fuzz *f)
{
    unsigned i, k;

    for (i = 0; i < 2; i++) {
        f->ub.card[i].pi = 0;
        ub_card(&f->ub, i, 64, 0);
        f->q[i][0] = f->ub.card[i].q;
        for (k = 1; k < QUEUES; k++) {
            f->q[i][k] = t_queue(&f->ub.m->card[i], RINGS + k * 0x8000,
                                 k == 1 ? 9 : 65, k & 1,
                                 k == 2 ? A350_SQ_F_CONTINUE : 0);
        }
        f->direct[i] = ub_jetty(&f->ub.m->card[i], 0, 64, 0,
                                A350_JETTY_F_DIRECT);
    }
}

static void reset_card(Fuzz *f, unsigned i)
{
    TCard *c = &f->ub.m->card[i];

    if (pick(f, 2)) {
        t_flr(c);
    } else {
        t_enable(c);
        t_wr32(c, A350_REG_CTRL + A350_CTRL_RESET, A350_RESET_KEY);
    }
    t_enable(c);
    g_assert_cmphex(t_rd32(c, A350_REG_CTRL + A350_CTRL_MAGIC), ==,
                    A350_MAGIC);
    g_assert_cmphex(t_rd32(c, A350_REG_CTRL + A350_CTRL_STATUS), ==,
                    A350_STATUS_READY);
}

/* After a reset a card does its work: a copy, then a UB write to the other. */
static void usable(Fuzz *f, unsigned i)
{
    UbCard *k = &f->ub.card[i], *peer = &f->ub.card[1 - i];
    uint32_t seed = word(f), len = 0x3001;
    a350_sqe s;
    a350_wqe w;

    t_hbm_pattern(k->c, SRC, seed, len);
    a350_sqe_sdma(&s, 1, 0, k->c->dev + SRC + 0x10000, k->c->dev + SRC, len);
    t_push_ring(&k->q, &s);
    g_assert_true(t_drain(&k->q));
    w = ub_write_notify(k, peer, DST, SRC + 0x10000, len, 5, 1);
    ub_post(k, &w);
    ub_ring_ok(k);
    g_assert_true(t_hbm_is_pattern(peer->c, DST, seed, len));
    g_assert_cmpuint(t_notify(peer->c, 5), ==, 1);
}

static void fuzz(const char *props, const char *args)
{
    const char *n = g_getenv("A350_FUZZ"), *s = g_getenv("A350_SEED");
    uint32_t rounds = n ? atoi(n) : s ? 1 : 12;
    uint32_t seed = s ? g_ascii_strtoull(s, NULL, 0) : g_random_int();
    Fuzz f = { 0 };
    unsigned r, i;

    f.ub.m = t_start(2, props, args);
    g_test_message("A350_SEED=%u, %u rounds", seed, rounds);
    for (r = 0; r < rounds; r++) {
        /* The round alone: A350_SEED=its seed */
        g_test_message("round %u: A350_SEED=%u", r, seed + r);
        f.rand = g_rand_new_with_seed(seed + r);
        prepare(&f);
        for (i = 0; i < STEPS; i++) {
            step(&f);
        }
        reset_card(&f, r & 1);
        reset_card(&f, !(r & 1));
        prepare(&f);
        usable(&f, 0);
        usable(&f, 1);
        reset_card(&f, 0);
        reset_card(&f, 1);
        g_rand_free(f.rand);
    }
    t_stop(f.ub.m);
}

static void test_shared_thread(void)
{
    fuzz(",num-sq=64", "");
}

static void test_own_threads(void)
{
    fuzz(",num-sq=64,iothread=io#",
         "-object iothread,id=io0 -object iothread,id=io1");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("atlas350/fuzz/shared-thread", test_shared_thread);
    qtest_add_func("atlas350/fuzz/own-threads", test_own_threads);
    return g_test_run();
}
