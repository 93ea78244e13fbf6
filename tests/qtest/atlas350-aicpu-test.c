/*
 * QTest: kernels on an Atlas 350's AICPU cores, launched through its queues
 * with registers and memory alone, on the real firmware.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Needs ATLAS350_FIRMWARE and $B/tests/firmware/libqueue.so, whose source says
 * what each kernel does. Codes: spec/hw/aicpu.md §4 and its summary.
 */
#include "qemu/osdep.h"
#include <elf.h>
#include "qobject/qdict.h"
#include "hw/pci/pci_regs.h"
#include "atlas350-card.h"

#define SECOND      1000000000ll

/* In HBM. */
#define RING        0x00010000
#define RING2       0x00080000
#define NAMES       0x00100000
#define PARAM       0x00110000
#define FILES       0x00111000
#define ARGS        0x00120000
#define ARGS2       0x00130000  /* count()'s own: see check_works() */
#define IMAGE       0x01000000

/* What the kernels of libqueue.so take. */
typedef struct Args {
    uint64_t progress, stop, rounds, sum;
    double real;
} Args;

typedef struct Kernels {
    TMachine *m;
    TCard *c;
    TQueue q;
    char path[A350_KERNEL_PATH_MAX];
    uint32_t id;
} Kernels;

static char *props(const char *more)
{
    return g_strdup_printf(",firmware=%s%s", getenv("ATLAS350_FIRMWARE"),
                           more);
}

static bool have_files(void)
{
    const char *fw = getenv("ATLAS350_FIRMWARE"), *b = getenv("B");
    g_autofree char *lib = NULL;

    if (!fw || !b || access(fw, R_OK)) {
        return false;
    }
    lib = g_strdup_printf("%s/tests/firmware/libqueue.so", b);
    return access(lib, R_OK) == 0;
}

/* Firmware boots on the host's clock: a loaded machine needs its time. */
static void wait_ready(TCard *c)
{
    const uint32_t reg = A350_REG_CTRL + A350_CTRL_FW_STATUS;
    int i;

    for (i = 0; i < 6 && !T_WAIT(t_rd32(c, reg) >= A350_FW_READY); i++) {
    }
    g_assert_cmphex(t_rd32(c, reg), ==, A350_FW_READY);
}

/* ---- launches ---- */

static void launch_sqe(Kernels *k, a350_sqe *s, const char *so,
                       const char *func, uint64_t args, uint32_t credit)
{
    static unsigned turn;
    uint64_t at = NAMES + turn++ % 64 * 1024;

    t_hbm_write(k->c, at, so, strlen(so) + 1);
    t_hbm_write(k->c, at + 512, func, strlen(func) + 1);
    a350_sqe_aicpu(s, k->q.task, A350_KERNEL_TYPE_AICPU, 1, k->c->dev + at,
                   k->c->dev + at + 512, k->c->dev + args, credit);
}

static void start(Kernels *k, const char *func, const Args *a)
{
    a350_sqe s;

    t_hbm_write(k->c, ARGS, a, sizeof(*a));
    launch_sqe(k, &s, k->path, func, ARGS, A350_CREDIT_NEVER);
    t_push_ring(&k->q, &s);
}

static uint64_t arg(Kernels *k, size_t field)
{
    return qtest_readq(k->c->qts, k->c->hbm + ARGS + field);
}
#define ARG(k, f) arg(k, offsetof(Args, f))

static void set_stop(Kernels *k)
{
    qtest_writeq(k->c->qts, k->c->hbm + ARGS + offsetof(Args, stop), 1);
}

/*
 * Runs count() once: the card takes and finishes kernels. A kernel whose queue
 * was reset may still run for a moment, so this one has arguments of its own.
 */
static void check_works(Kernels *k)
{
    a350_sqe s;

    t_hbm_write(k->c, ARGS2, &(Args){ 41 }, sizeof(Args));
    launch_sqe(k, &s, k->path, "count", ARGS2, A350_CREDIT_NEVER);
    t_push_ring(&k->q, &s);
    g_assert_true(t_drain(&k->q));
    g_assert_cmpuint(qtest_readq(k->c->qts, k->c->hbm + ARGS2), ==, 42);
}

/* What the scheduler writes is not lost between load and store of a core. */
static void check_bumped(Kernels *k, TQueue *q, uint64_t top)
{
    const uint64_t src = 0x00140000, value = top << 32;
    uint64_t at = ARG(k, progress);
    a350_sqe s;

    qtest_writeq(k->c->qts, k->c->hbm + src, value);
    a350_sqe_sdma(&s, q->task, A350_SDMA_CPY,
                  k->c->dev + ARGS + offsetof(Args, rounds), k->c->dev + src,
                  8);
    t_push_ring(q, &s);
    a350_sqe_write_value(&s, q->task, k->c->dev + ARGS + offsetof(Args, sum),
                         3, &value, A350_WV_SUB_DEFAULT);
    t_push_ring(q, &s);
    g_assert_true(t_drain(q));
    g_assert_cmpuint(ARG(k, rounds) >> 32, ==, top);
    g_assert_cmpuint(ARG(k, sum) >> 32, ==, top);
    g_assert_true(T_WAIT(ARG(k, progress) != at));
}

/* The launch at the head failed with @code; the queue goes on afterwards. */
static void check_failed(Kernels *k, uint32_t bits, uint32_t code)
{
    uint32_t page = A350_REG_RTSQ + k->q.id * A350_SQ_PAGE_SIZE;
    a350_cqe e;

    g_assert_true(t_wait_stop(&k->q));
    g_assert_true(t_cqe(&k->q, &e));
    g_assert_true(e.h0 & A350_CQE_ERROR);
    g_assert_cmphex(e.error_bits, ==, bits);
    g_assert_cmpuint(e.flags_type >> 2, ==, A350_SQE_AICPU_D);
    g_assert_cmphex(e.status, ==, code << 16 | A350_AICPU_ST_EXCEPTION);
    t_admin_id(k->c, A350_ADM_SQ_RESET, k->q.id);
    t_wr32(k->c, page + A350_SQ_STATUS, 1);
    k->q.tail = 0;
}

/* ---- the library ---- */

static void write_image(Kernels *k, a350_load_file *f)
{
    g_autofree char *name = g_strdup_printf("%s/tests/firmware/libqueue.so",
                                            getenv("B"));
    g_autofree char *image = NULL;
    gsize size;

    g_assert_true(g_file_get_contents(name, &image, &size, NULL));
    t_hbm_write(k->c, IMAGE, image, size);
    g_strlcpy(f->name, "libqueue.so", sizeof(f->name));
    f->image = k->c->dev + IMAGE;
    f->size = size;
}

static void load(Kernels *k)
{
    a350_load_param p = { .num_files = 1, .files = k->c->dev + FILES };
    a350_load_file f = { 0 };
    a350_sqe s;

    write_image(k, &f);
    t_hbm_write(k->c, FILES, &f, sizeof(f));
    t_hbm_write(k->c, PARAM, &p, sizeof(p));
    launch_sqe(k, &s, A350_BUILTIN_SO, A350_BUILTIN_LOAD, PARAM,
               A350_CREDIT_NEVER);
    t_push_ring(&k->q, &s);
    g_assert_true(t_drain(&k->q));
    t_hbm_read(k->c, PARAM, &p, sizeof(p));
    g_assert_cmpuint(p.status, ==, A350_AE_OK);
    g_assert_true(g_str_has_suffix(p.path, "/libqueue.so"));
    g_strlcpy(k->path, p.path, sizeof(k->path));
    k->id = p.id;
}

/* As soon as the card's firmware is up. */
static void open_card(Kernels *k)
{
    wait_ready(k->c);
    k->q = t_queue(k->c, RING, 2049, true, 0);
    load(k);
}

static void set_up(Kernels *k, const char *more)
{
    g_autofree char *p = props(more);

    k->m = t_start(1, p, "");
    k->c = &k->m->card[0];
    open_card(k);
}

/* ---- tests ---- */

static void test_launch(void)
{
    Kernels k;
    a350_unload_param u = { 0 };
    a350_sqe s;

    set_up(&k, "");
    check_works(&k);
    /* unloaded, it is gone */
    u.id = k.id;
    t_hbm_write(k.c, PARAM, &u, sizeof(u));
    launch_sqe(&k, &s, A350_BUILTIN_SO, A350_BUILTIN_UNLOAD, PARAM,
               A350_CREDIT_NEVER);
    t_push_ring(&k.q, &s);
    g_assert_true(t_drain(&k.q));
    t_hbm_read(k.c, PARAM, &u, sizeof(u));
    g_assert_cmpuint(u.status, ==, A350_AE_OK);
    start(&k, "count", &(Args){ 0 });
    check_failed(&k, A350_ERR_EXCEPTION, A350_AE_OPEN_SO);
    load(&k);
    check_works(&k);
    t_stop(k.m);
}

static void test_atomics(void)
{
    uint64_t top;
    TQueue q;
    Kernels k;

    set_up(&k, "");
    q = t_queue(k.c, RING2, 2049, false, 0);
    start(&k, "bump", &(Args){ 0 });
    for (top = 1; top <= 2000; top++) {
        check_bumped(&k, &q, top);
    }
    set_stop(&k);
    g_assert_true(t_drain(&k.q));
    t_stop(k.m);
}

static void test_failures(void)
{
    Kernels k;
    a350_sqe s;

    set_up(&k, "");
    start(&k, "refuse", &(Args){ 0 });
    check_failed(&k, A350_ERR_EXCEPTION, 77);
    start(&k, "null_store", &(Args){ 0 });
    check_failed(&k, A350_ERR_EXCEPTION, A350_AICPU_ERR_EXCEPTION);
    start(&k, "nothing_of_this_name", &(Args){ 0 });
    check_failed(&k, A350_ERR_EXCEPTION, A350_AE_NO_FUNCTION);
    launch_sqe(&k, &s, "/kernels/999/libnone.so", "count", ARGS,
               A350_CREDIT_NEVER);
    t_push_ring(&k.q, &s);
    check_failed(&k, A350_ERR_EXCEPTION, A350_AE_OPEN_SO);
    check_works(&k);
    t_stop(k.m);
}

/* Addresses that are no memory of the card, for each of the three. */
static void test_bad_addresses(void)
{
    static const uint64_t bad[] = {
        0, 0x7fff12345678, 0x10000000, 0x20000000, A350_DEV_BASE(1),
        A350_DEV_BASE(0) + T_HBM_SIZE - 1, 0xffffffffffff,
    };
    Kernels k;
    unsigned i, field;
    a350_cqe e;

    set_up(&k, "");
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        for (field = 4; field <= 8; field += 4) {
            a350_sqe s;

            launch_sqe(&k, &s, k.path, "count", ARGS, A350_CREDIT_NEVER);
            s.w[field] = bad[i];
            s.w[field + 1] = bad[i] >> 32;
            t_push_ring(&k.q, &s);
            g_assert_true(t_wait_stop(&k.q));
            g_assert_true(t_cqe(&k.q, &e));
            g_assert_cmphex(e.status & 0xffff, ==, A350_AICPU_ST_EXCEPTION);
            t_admin_id(k.c, A350_ADM_SQ_RESET, k.q.id);
            t_wr32(k.c, A350_REG_RTSQ + k.q.id * A350_SQ_PAGE_SIZE +
                   A350_SQ_STATUS, 1);
            k.q.tail = 0;
        }
    }
    check_works(&k);
    t_stop(k.m);
}

/* kernelCredit 0: one unit of 2^32 ns of the card's clock. */
static void test_time_limit(void)
{
    Kernels k;
    a350_sqe s;

    set_up(&k, ",aicpu-cores=1");
    t_hbm_write(k.c, ARGS, &(Args){ 0 }, sizeof(Args));
    launch_sqe(&k, &s, k.path, "spin", ARGS, 0);
    t_push_ring(&k.q, &s);
    g_assert_true(T_WAIT(ARG(&k, progress) > 0));
    qtest_clock_step(k.c->qts, (1ll << 32) - SECOND / 10);
    g_assert_true(t_stays(&k.q, t_head(&k.q)));
    g_assert_true(t_enabled(&k.q));
    qtest_clock_step(k.c->qts, SECOND / 5);
    check_failed(&k, A350_ERR_TIMEOUT, A350_AICPU_ERR_TIMEOUT);
    check_works(&k);
    t_stop(k.m);
}

/* The only core runs a kernel whose queue goes: the kernel ends. */
static void test_queue_reset(void)
{
    Kernels k;
    uint64_t seen;
    int i;

    set_up(&k, ",aicpu-cores=1");
    for (i = 0; i < 5; i++) {
        start(&k, "spin", &(Args){ 0 });
        g_assert_true(T_WAIT(ARG(&k, progress) > 0));
        t_admin_id(k.c, A350_ADM_SQ_RESET, k.q.id);
        t_wr32(k.c, A350_REG_RTSQ + k.q.id * A350_SQ_PAGE_SIZE +
               A350_SQ_STATUS, 1);
        k.q.tail = 0;
        check_works(&k);
        seen = ARG(&k, progress);
        g_usleep(2000);
        g_assert_cmpuint(ARG(&k, progress), ==, seen);
    }
    /* nobody is told of the launch that was dropped */
    g_assert_true(t_no_cqe(&k.q));
    t_stop(k.m);
}

/* A queue that is destroyed takes its kernel along; the other one goes on. */
static void test_queue_destroyed(void)
{
    Kernels k;
    TQueue other;
    Args a = { 0 };

    set_up(&k, ",aicpu-cores=2");
    other = t_queue(k.c, RING2, 17, true, 0);
    start(&k, "spin", &a);
    g_assert_true(T_WAIT(ARG(&k, progress) > 0));
    t_admin_id(k.c, A350_ADM_SQ_DESTROY, k.q.id);
    k.q = other;
    check_works(&k);
    check_works(&k);
    t_stop(k.m);
}

static void function_reset(TCard *c)
{
    t_flr(c);
    t_enable(c);
}

/* At any moment of a kernel's life and of the firmware's start. */
static void test_flr(void)
{
    Kernels k;
    int i;

    set_up(&k, ",aicpu-cores=2");
    for (i = 0; i < 8; i++) {
        start(&k, i & 1 ? "spin" : "work", &(Args){ .rounds = 1ull << 40 });
        g_usleep(i * 300);
        function_reset(k.c);
        g_usleep(i * 2000);
        function_reset(k.c);
        wait_ready(k.c);
        k.q = t_queue(k.c, RING, 2049, true, 0);
        load(&k);
        check_works(&k);
    }
    t_stop(k.m);
}

static void test_thousand(void)
{
    Kernels k;
    a350_sqe s;
    int i;

    set_up(&k, "");
    t_hbm_write(k.c, ARGS, &(Args){ 0 }, sizeof(Args));
    launch_sqe(&k, &s, k.path, "count", ARGS, A350_CREDIT_NEVER);
    for (i = 0; i < 1000; i++) {
        s.w[1] = s.w[12] = i;
        t_push(&k.q, &s);
    }
    t_ring(&k.q);
    for (i = 0; i < 6 && !t_drain(&k.q); i++) {
        g_assert_true(t_enabled(&k.q));
    }
    g_assert_cmpuint(ARG(&k, progress), ==, 1000);
    g_assert_true(t_no_cqe(&k.q));
    t_stop(k.m);
}

/* A firmware that does nothing fails, and says so, after 60 s. */
static void test_no_start(void)
{
    /* An executable of one segment: j . at the entry. */
    static const uint32_t code = 0x0000006f;
    g_autofree char *file = g_strdup_printf("%s/atlas350-idle-%d.elf",
                                            g_get_tmp_dir(), getpid());
    g_autofree char *p = g_strdup_printf(",firmware=%s", file);
    Elf64_Ehdr eh = {
        .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
        .e_type = ET_EXEC, .e_machine = EM_RISCV, .e_version = 1,
        .e_entry = A350_AICPU_SRAM, .e_phoff = sizeof(Elf64_Ehdr),
        .e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1,
    };
    Elf64_Phdr ph = {
        .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = 4096,
        .p_offset = sizeof(eh) + sizeof(ph), .p_vaddr = A350_AICPU_SRAM,
        .p_paddr = A350_AICPU_SRAM, .p_filesz = 4, .p_memsz = 4,
    };
    const uint32_t reg = A350_REG_CTRL + A350_CTRL_FW_STATUS;
    g_autoptr(GByteArray) elf = g_byte_array_new();
    TMachine *m;
    TCard *c;

    g_byte_array_append(elf, (void *)&eh, sizeof(eh));
    g_byte_array_append(elf, (void *)&ph, sizeof(ph));
    g_byte_array_append(elf, (void *)&code, sizeof(code));
    g_assert_true(g_file_set_contents(file, (char *)elf->data, elf->len,
                                      NULL));
    m = t_start(1, p, "");
    c = &m->card[0];
    unlink(file);
    qtest_clock_step(m->qts, 59 * SECOND);
    g_assert_cmphex(t_rd32(c, reg), <, A350_FW_READY);
    qtest_clock_step(m->qts, 2 * SECOND);
    g_assert_cmphex(t_rd32(c, reg), ==, A350_FW_FAILED + 0x10);
    g_assert_true(t_rd32(c, A350_REG_CTRL + A350_CTRL_STATUS) &
                  A350_STATUS_FW_FAILED);
    /* Not after a reset, which starts it anew; then again. */
    function_reset(c);
    g_assert_cmphex(t_rd32(c, reg), <, A350_FW_READY);
    t_stop(m);
}

/* ---- a snapshot inside a kernel ---- */

/* The result of work(), computed here; the map holds the last of each key. */
static void expected(uint64_t rounds, uint64_t *sum, double *real)
{
    uint64_t x = 0x9e3779b97f4a7c15, last[7] = { 0 }, i;

    *real = 1.0;
    for (i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        *real = *real * 0.75 + (double)(x >> 40);
        if (i % 1024 == 0) {
            last[i % 7] = x;
        }
    }
    for (i = 0; i < 7; i++) {
        x += last[i];
    }
    *sum = x;
}

static void wait_migrated(QTestState *qts)
{
    bool done = false;

    while (!done) {
        QDict *rsp = qtest_qmp_assert_success_ref(qts,
            "{ 'execute': 'query-migrate' }");
        const char *status = qdict_get_try_str(rsp, "status");

        g_assert_cmpstr(status, !=, "failed");
        done = status && !strcmp(status, "completed");
        qobject_unref(rsp);
        g_usleep(1000);
    }
}

static void through_file(Kernels *k, const char *more)
{
    g_autofree char *file = g_strdup_printf("%s/atlas350-kernel-%d",
                                            g_get_tmp_dir(), getpid());
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    g_autofree char *p = props(more);

    qtest_qmp_assert_success(k->m->qts, "{ 'execute': 'migrate', "
                             "'arguments': { 'uri': %s } }", uri);
    wait_migrated(k->m->qts);
    t_stop(k->m);
    k->m = t_start_incoming(1, p, "-incoming defer");
    k->q.c = k->c = &k->m->card[0];
    qtest_qmp_assert_success(k->m->qts, "{ 'execute': 'migrate-incoming', "
                             "'arguments': { 'uri': %s } }", uri);
    wait_migrated(k->m->qts);
    unlink(file);
}

static void stop(Kernels *k)
{
    qtest_qmp_assert_success(k->m->qts, "{ 'execute': 'stop' }");
}

static void cont(Kernels *k)
{
    qtest_qmp_assert_success(k->m->qts, "{ 'execute': 'cont' }");
}

/* Twice in the same kernel; its result is that of an undisturbed run. */
static void test_snapshot(void)
{
    const uint64_t rounds = 20000000;
    const char *more = ",aicpu-cores=2";
    uint64_t at, sum;
    double real, got;
    Kernels k;
    int i;

    expected(rounds, &sum, &real);
    set_up(&k, more);
    start(&k, "work", &(Args){ .rounds = rounds });
    for (i = 0; i < 2; i++) {
        at = ARG(&k, progress);
        g_assert_true(T_WAIT(ARG(&k, progress) > at));
        stop(&k);
        at = ARG(&k, progress);
        g_assert_cmpuint(at, <, rounds - 2048);
        through_file(&k, more);
        g_assert_cmpuint(ARG(&k, progress), ==, at);
        cont(&k);
    }
    for (i = 0; i < 6 && !t_drain(&k.q); i++) {
        g_assert_true(t_enabled(&k.q));
    }
    g_assert_cmphex(ARG(&k, sum), ==, sum);
    t_hbm_read(k.c, ARGS + offsetof(Args, real), &got, sizeof(got));
    g_assert_true(got == real);
    check_works(&k);
    t_stop(k.m);
}

/*
 * More launches wait than there are queues: an entry of many blocks hands over
 * a number of them at a time. None is lost in a snapshot.
 */
static void test_snapshot_queue(void)
{
    enum { QUEUES = 40, BLOCKS = 64 };
    const char *more = ",aicpu-cores=1";
    TQueue q[QUEUES];
    Kernels k;
    a350_sqe s;
    int i;

    set_up(&k, more);
    start(&k, "spin", &(Args){ 0 });
    g_assert_true(T_WAIT(ARG(&k, progress) > 0));
    t_hbm_write(k.c, ARGS2, &(Args){ 0 }, sizeof(Args));
    for (i = 0; i < QUEUES; i++) {
        q[i] = t_queue(k.c, 0x200000 + i * 0x1000, 17, false, 0);
        launch_sqe(&k, &s, k.path, "count", ARGS2, A350_CREDIT_NEVER);
        s.w[0] = (s.w[0] & 0xffff) | BLOCKS << A350_SQE_BLOCK_DIM_SHIFT;
        t_push_ring(&q[i], &s);
        g_assert_true(t_stays(&q[i], 0));
    }
    stop(&k);
    through_file(&k, more);
    cont(&k);
    set_stop(&k);
    g_assert_true(t_drain(&k.q));
    for (i = 0; i < QUEUES; i++) {
        q[i].c = k.c;
        g_assert_true(t_drain(&q[i]));
    }
    g_assert_cmpuint(qtest_readq(k.c->qts, k.c->hbm + ARGS2), ==,
                     QUEUES * BLOCKS);
    t_stop(k.m);
}

/* A stopped machine's cores stand still. */
static void test_stop_cont(void)
{
    uint64_t at;
    Kernels k;
    int i;

    set_up(&k, "");
    start(&k, "spin", &(Args){ 0 });
    for (i = 0; i < 20; i++) {
        at = ARG(&k, progress);
        g_assert_true(T_WAIT(ARG(&k, progress) != at));
        stop(&k);
        at = ARG(&k, progress);
        g_usleep(1000);
        g_assert_cmpuint(ARG(&k, progress), ==, at);
        cont(&k);
    }
    set_stop(&k);
    g_assert_true(t_drain(&k.q));
    t_stop(k.m);
}

/* ---- the device comes and goes ---- */

static void test_unplug_running(void)
{
    TMachine *m;
    int i;

    /* Cards of a root port, so that they can be unplugged. */
    m = t_start(0, "", "-device pcie-root-port,id=rp0,chassis=1");
    for (i = 0; i < 10; i++) {
        g_autofree char *id = g_strdup_printf("hot%d", i);

        qtest_qmp_assert_success(m->qts, "{ 'execute': 'device_add', "
            "'arguments': { 'driver': 'atlas350', 'id': %s, 'bus': 'rp0', "
            "'hbm-size': 268435456, 'firmware': %s } }", id,
            getenv("ATLAS350_FIRMWARE"));
        g_usleep(i * 4000);
        qtest_qmp_device_del_send(m->qts, id);
        /* Without a guest nobody presses the button: a reset completes it. */
        qtest_system_reset_nowait(m->qts);
        qtest_qmp_eventwait(m->qts, "DEVICE_DELETED");
    }
    t_stop(m);
}

/*
 * Kernels that are busy in different ways, each with its own arguments. The
 * one that dozes does not wake up: the machine's clock stands still.
 */
static const char *const busy[] = { "spin", "poll", "chatter", "doze" };

static uint64_t busy_args(unsigned i)
{
    return ARGS + 0x1000 + 64 * i;
}

static bool busy_is_seen(Kernels *k, unsigned i)
{
    return qtest_readq(k->c->qts, k->c->hbm + busy_args(i)) > 0;
}

static void start_busy(Kernels *k, TQueue *q, unsigned i)
{
    Args a = { .rounds = a350_notify_addr(k->c->dev, 77) };
    a350_sqe s;

    t_hbm_write(k->c, busy_args(i), &a, sizeof(a));
    launch_sqe(k, &s, k->path, busy[i], busy_args(i), A350_CREDIT_NEVER);
    t_push_ring(q, &s);
}

/* One of each on four cores, and a queue that waits for a notify. */
static void make_busy(Kernels *k)
{
    TQueue q;
    a350_sqe s;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(busy); i++) {
        q = t_queue(k->c, RING2 + i * 0x10000, 17, true, 0);
        start_busy(k, &q, i);
    }
    q = t_queue(k->c, RING2 + i * 0x10000, 17, true, 0);
    a350_sqe_notify_wait(&s, 1, 78, 0);
    t_push_ring(&q, &s);
    for (i = 0; i < ARRAY_SIZE(busy); i++) {
        g_assert_true(T_WAIT(busy_is_seen(k, i)));
    }
}

/* Pages of the emulator's memory, without those of files. */
static uint64_t anonymous_kib(QTestState *qts)
{
    g_autofree char *name = g_strdup_printf("/proc/%d/status", qtest_pid(qts));
    g_autofree char *text = NULL;
    const char *line;

    g_assert_true(g_file_get_contents(name, &text, NULL, NULL));
    line = strstr(text, "RssAnon:");
    g_assert_nonnull(line);
    return g_ascii_strtoull(line + 8, NULL, 10);
}

/*
 * A card goes while its cores are busy: at once, and with all it had. The
 * machine lives, and the next card in the slot works.
 */
static void test_unplug_busy(void)
{
    Kernels k = { .m = t_start(1, "", "-global ICH9-LPC.acpi-pci-hotplug-with-"
                               "bridge-support=off "
                               "-device pcie-root-port,id=rp0,addr=8") };
    QPCIDevice *port = qpci_device_find(k.m->bus, QPCI_DEVFN(8, 0));
    uint64_t before = 0, after = 0;
    int i;

    t_port_open(port, 1);
    for (i = 0; i < 8; i++) {
        qtest_qmp_device_add(k.m->qts, "atlas350", "hot", "{ 'bus': 'rp0', "
                             "'hbm-size': 268435456, 'aicpu-cores': 5, "
                             "'firmware': %s }", getenv("ATLAS350_FIRMWARE"));
        t_slot_power(port, true);
        t_hot_open(k.m, 1, 1);
        k.c = &k.m->card[1];
        open_card(&k);
        check_works(&k);
        make_busy(&k);
        g_usleep(i * 500);
        t_slot_power(port, false);
        qtest_qmp_eventwait(k.m->qts, "DEVICE_DELETED");
        t_hot_close(k.m, 1);
        after = anonymous_kib(k.m->qts);
        before = i == 1 ? after : before;
    }
    /* Sanitizers keep what is freed for a while. */
    if (!getenv("ASAN_OPTIONS")) {
        g_assert_cmpuint(after, <, before + 8 * 1024);
    }
    g_free(port);
    t_stop(k.m);
}

/* The same by a function reset, a reset register and the machine's reset. */
static void test_reset_busy(void)
{
    Kernels k;
    int i;

    set_up(&k, ",aicpu-cores=5");
    for (i = 0; i < 9; i++) {
        make_busy(&k);
        switch (i % 3) {
        case 0:
            function_reset(k.c);
            break;
        case 1:
            t_wr32(k.c, A350_REG_CTRL + A350_CTRL_RESET, A350_RESET_KEY);
            break;
        default:
            qtest_system_reset(k.m->qts);
            t_enable(k.c);
        }
        open_card(&k);
        check_works(&k);
    }
    t_stop(k.m);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!have_files()) {
        g_test_message("no firmware, or no $B/tests/firmware/libqueue.so");
        return 77;
    }
    qtest_add_func("atlas350/aicpu/launch", test_launch);
    qtest_add_func("atlas350/aicpu/atomics", test_atomics);
    qtest_add_func("atlas350/aicpu/failures", test_failures);
    qtest_add_func("atlas350/aicpu/bad-addresses", test_bad_addresses);
    qtest_add_func("atlas350/aicpu/time-limit", test_time_limit);
    qtest_add_func("atlas350/aicpu/queue-reset", test_queue_reset);
    qtest_add_func("atlas350/aicpu/queue-destroyed", test_queue_destroyed);
    qtest_add_func("atlas350/aicpu/flr", test_flr);
    qtest_add_func("atlas350/aicpu/thousand", test_thousand);
    qtest_add_func("atlas350/aicpu/no-start", test_no_start);
    qtest_add_func("atlas350/aicpu/snapshot", test_snapshot);
    qtest_add_func("atlas350/aicpu/snapshot-queue", test_snapshot_queue);
    qtest_add_func("atlas350/aicpu/stop-cont", test_stop_cont);
    qtest_add_func("atlas350/aicpu/unplug-running", test_unplug_running);
    qtest_add_func("atlas350/aicpu/unplug-busy", test_unplug_busy);
    qtest_add_func("atlas350/aicpu/reset-busy", test_reset_busy);
    return g_test_run();
}
