/*
 * aicpu-run --firmware: the cores of a card without queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Boots the firmware, loads kernel libraries by its built-in kernels and
 * launches functions of them through the mailbox, as the task scheduler does.
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "crypto/random.h"
#include "hw/atlas350/aicpu.h"
#include "hw/atlas350/sqe.h"
#include "cluster.h"
#include "aicpu-run.h"
#include "run-card.h"

#define BOOT_TIMEOUT_NS     (65ll * 1000000000) /* the cluster has 60 */

/* ---- what the cluster asks for ---- */

static int64_t card_clock(void *opaque)
{
    RunCard *rc = opaque;

    return g_get_monotonic_time() * 1000 - rc->epoch;
}

static void card_arm_timer(void *opaque, int64_t ns)
{
    RunCard *rc = opaque;

    qemu_mutex_lock(&rc->lock);
    rc->deadline = ns;
    qemu_cond_signal(&rc->timer_cond);
    qemu_mutex_unlock(&rc->lock);
}

static void card_log(void *opaque, int level, const char *line)
{
    static const char tag[] = "DIWE";

    fprintf(stderr, "%c %s\n", tag[level & 3], line);
}

static void card_done(void *opaque, const a350_topic_mbox *mbox,
                      uint16_t errcode, uint16_t status,
                      const a350_exc_record *exc)
{
    RunCard *rc = opaque;
    uint32_t n = mbox->stream_id | (uint32_t)mbox->task_id << 16;

    qemu_mutex_lock(&rc->lock);
    if (n < rc->num_launches) {
        rc->launch[n].done = true;
        rc->launch[n].errcode = errcode;
        rc->launch[n].status = status;
        rc->launch[n].end = card_clock(rc);
    }
    qemu_cond_broadcast(&rc->cond);
    qemu_mutex_unlock(&rc->lock);
}

static void card_fw_status(void *opaque, uint32_t status, const char *message)
{
    RunCard *rc = opaque;
    int64_t now = card_clock(rc);

    if (message) {
        fprintf(stderr, "aicpu-run: firmware failed (0x%x): %s\n", status,
                message);
    } else if (rc->o->stats) {
        fprintf(stderr, "aicpu-run: firmware status %u at %.3f ms\n", status,
                now / 1e6);
    }
    qemu_mutex_lock(&rc->lock);
    rc->fw_status = status;
    qemu_cond_broadcast(&rc->cond);
    qemu_mutex_unlock(&rc->lock);
}

/* Registers: writes are shown, notifies and heads read 0. */
static bool card_reg_read(void *opaque, uint32_t off, unsigned size,
                          uint64_t *val)
{
    *val = 0;
    return true;
}

static bool card_reg_write(void *opaque, uint32_t off, unsigned size,
                           uint64_t val)
{
    fprintf(stderr, "aicpu-run: register 0x%x = 0x%" PRIx64 "\n", off, val);
    return true;
}

static const A350ClusterOps card_ops = {
    .clock = card_clock,
    .arm_timer = card_arm_timer,
    .log = card_log,
    .done = card_done,
    .fw_status = card_fw_status,
    .reg_read = card_reg_read,
    .reg_write = card_reg_write,
};

static void *timer_thread(void *opaque)
{
    RunCard *rc = opaque;

    qemu_mutex_lock(&rc->lock);
    while (!rc->quit) {
        int64_t wait = rc->deadline - card_clock(rc);

        if (wait > 0) {
            /* Rounded up to whole milliseconds, the condition's unit. */
            qemu_cond_timedwait(&rc->timer_cond, &rc->lock,
                                MIN(wait / 1000000 + 1, 1000));
            continue;
        }
        rc->deadline = A350_NEVER;
        qemu_mutex_unlock(&rc->lock);
        a350_cluster_timer(rc->cl);
        qemu_mutex_lock(&rc->lock);
    }
    qemu_mutex_unlock(&rc->lock);
    return NULL;
}

/* ---- HBM ---- */

uint64_t run_hbm_alloc(RunCard *rc, uint64_t size, void **p)
{
    uint64_t off = ROUND_UP(rc->next, 64);

    if (size > rc->o->hbm_size / 2 || off > rc->o->hbm_size / 2 - size) {
        fprintf(stderr, "aicpu-run: HBM is too small, use --hbm\n");
        exit(RUN_USAGE);
    }
    rc->next = off + size;
    *p = rc->hbm + off;
    return rc->base + off;
}

uint64_t run_hbm_string(RunCard *rc, const char *s)
{
    void *p;
    uint64_t addr = run_hbm_alloc(rc, strlen(s) + 1, &p);

    memcpy(p, s, strlen(s) + 1);
    return addr;
}

static bool hbm_file(RunCard *rc, const char *path, uint64_t *addr,
                     uint64_t *size)
{
    g_autofree char *data = NULL;
    gsize len;
    void *p;

    if (!g_file_get_contents(path, &data, &len, NULL)) {
        fprintf(stderr, "aicpu-run: cannot read '%s'\n", path);
        return false;
    }
    *addr = run_hbm_alloc(rc, len, &p);
    *size = len;
    memcpy(p, data, len);
    return true;
}

/* A parameter block with its header in front; @data NULL: zeros. */
uint64_t run_hbm_args(RunCard *rc, const void *data, uint64_t size,
                         a350_launch_result **result, void **block)
{
    a350_args_header *h;
    uint64_t res, addr;
    void *p;

    res = run_hbm_alloc(rc, sizeof(a350_launch_result), (void **)result);
    addr = run_hbm_alloc(rc, sizeof(*h) + size, &p);
    h = p;
    h->magic = A350_ARGS_MAGIC;
    h->args_size = size;
    h->result = res;
    *block = h + 1;
    if (data) {
        memcpy(h + 1, data, size);
    }
    return addr + sizeof(*h);
}

/* ---- launches ---- */

void run_post(RunCard *rc, RunLaunch *l)
{
    unsigned n = l - rc->launch;
    a350_topic_mbox m = {
        .h0 = n & 0xff, .blk_dim = l->blk_dim ? l->blk_dim : 1,
        .stream_id = n & 0xffff, .task_id = n >> 16, .blk_id = l->blk_id,
        .kernel = l->type ? l->type : A350_KERNEL_TYPE_AICPU, .pid = 1,
        .user_data = {
            l->so, l->so >> 32, l->args, (l->args >> 32) | 0xffff0000,
            l->func, l->func >> 32, 0, 0, n, 0,
        },
        .topic = 3u << 12 | 40u << 24,
    };

    l->start = card_clock(rc);
    a350_cluster_submit(rc->cl, &m,
                        (l->limit ? l->limit : rc->o->limit) * 1e9);
}

/* Lock held: waits for news until the end of the time; false: it is over. */
static bool wait_news(RunCard *rc, const char *what)
{
    int64_t left = rc->end - card_clock(rc);

    if (left > 0) {
        qemu_cond_timedwait(&rc->cond, &rc->lock,
                            MIN(left / 1000000 + 1, 1000));
        return true;
    }
    if (!rc->late) {
        rc->late = true;
        fprintf(stderr, "aicpu-run: %s: no end within %g s (--timeout)\n",
                what, rc->o->timeout);
    }
    return false;
}

bool run_wait(RunCard *rc, RunLaunch *l)
{
    bool ok;

    qemu_mutex_lock(&rc->lock);
    while (!l->done && rc->fw_status < A350_FW_FAILED) {
        if (!wait_news(rc, l->spec ? l->spec : l->function)) {
            break;
        }
    }
    ok = l->done;
    qemu_mutex_unlock(&rc->lock);
    return ok;
}

RunLaunch *run_new_launch(RunCard *rc)
{
    RunLaunch *l;

    if (rc->num_launches == LAUNCHES_MAX) {
        fprintf(stderr, "aicpu-run: more than %d launches\n", LAUNCHES_MAX);
        exit(RUN_USAGE);
    }
    qemu_mutex_lock(&rc->lock);
    l = &rc->launch[rc->num_launches++];
    qemu_mutex_unlock(&rc->lock);
    return l;
}

bool run_builtin(RunCard *rc, const char *name, void *param, size_t size)
{
    RunLaunch *l = run_new_launch(rc);
    a350_launch_result *res;
    void *block;

    l->so = run_hbm_string(rc, A350_BUILTIN_SO);
    l->func = run_hbm_string(rc, name);
    l->function = g_strdup(name);
    l->args = run_hbm_args(rc, param, size, &res, &block);
    run_post(rc, l);
    if (!run_wait(rc, l)) {
        return false;
    }
    memcpy(param, block, size);
    return true;
}

bool run_load_files(RunCard *rc, const char *list, a350_load_param *p)
{
    g_auto(GStrv) names = g_strsplit(list, ",", -1);
    unsigned i, n = g_strv_length(names);
    a350_load_file *f;

    memset(p, 0, sizeof(*p));
    p->num_files = n;
    p->files = run_hbm_alloc(rc, n * sizeof(*f), (void **)&f);
    for (i = 0; i < n; i++) {
        g_autofree char *base = g_path_get_basename(names[i]);

        g_strlcpy(f[i].name, base, sizeof(f[i].name));
        if (!hbm_file(rc, names[i], &f[i].image, &f[i].size)) {
            return false;
        }
    }
    return run_builtin(rc, A350_BUILTIN_LOAD, p, sizeof(*p));
}

/* Loads "LIBRARY[,NEEDED...]"; fills the name to launch by. */
static bool load_library(RunCard *rc, const char *list, char *path)
{
    a350_load_param p;

    if (!run_load_files(rc, list, &p)) {
        return false;
    }
    if (p.status != A350_AE_OK) {
        printf("load %s: status %u: %s\n", list, p.status, p.message);
        return false;
    }
    g_strlcpy(path, p.path, A350_KERNEL_PATH_MAX);
    return true;
}

bool run_parse_args(RunCard *rc, const char *text, GByteArray *out)
{
    g_autofree char *data = NULL;
    gsize len;

    if (!text) {
        return true;
    }
    if (*text != '=') {
        if (!g_file_get_contents(text, &data, &len, NULL) ||
            len > A350_ARGS_MAX) {
            fprintf(stderr, "aicpu-run: cannot use '%s' as arguments\n", text);
            return false;
        }
        g_byte_array_append(out, (guint8 *)data, len);
        return true;
    }
    for (text++; text[0] && text[1]; text += 2) {
        guint8 b = g_ascii_xdigit_value(text[0]) << 4 |
                   g_ascii_xdigit_value(text[1]);

        g_byte_array_append(out, &b, 1);
    }
    return true;
}

/* Loads what @spec names, once for each list of files. */
static bool prepare(RunCard *rc, const char *spec, GHashTable *loaded)
{
    g_auto(GStrv) part = g_strsplit(spec, ":", 3);
    g_autoptr(GByteArray) args = g_byte_array_new();
    char path[A350_KERNEL_PATH_MAX];
    a350_launch_result *res;
    const char *so;
    RunLaunch *l;
    void *block;

    if (!part[0] || !part[1]) {
        fprintf(stderr, "aicpu-run: '%s': LIBRARY:FUNCTION is expected\n",
                spec);
        return false;
    }
    so = g_hash_table_lookup(loaded, part[0]);
    if (g_str_has_prefix(part[0], "rom/")) {
        so = part[0] + 4;
    } else if (!so) {
        if (!load_library(rc, part[0], path)) {
            return false;
        }
        g_hash_table_insert(loaded, g_strdup(part[0]), g_strdup(path));
        so = path;
    }
    if (!run_parse_args(rc, part[2], args)) {
        return false;
    }
    l = run_new_launch(rc);
    l->spec = g_strdup(spec);
    l->function = g_strdup(part[1]);
    l->so = run_hbm_string(rc, so);
    l->func = run_hbm_string(rc, part[1]);
    l->args = run_hbm_args(rc, args->data, args->len, &res, &block);
    l->result = res;
    return true;
}

bool run_report(RunCard *rc, RunLaunch *l)
{
    const a350_launch_result *r = l->result;

    printf("%s: status %u, error code %u, %.3f ms\n", l->spec, l->status,
           l->errcode, (l->end - l->start) / 1e6);
    if (l->status && r->valid) {
        /* The texts are in memory that kernels can write. */
        printf("  %.*s: %.*s at 0x%" PRIx64 " (%.*s), cause 0x%x, address 0x%"
               PRIx64 "\n", (int)sizeof(r->exc.kernel), r->exc.kernel,
               (int)sizeof(r->exc.text), r->exc.text, r->exc.pc,
               (int)sizeof(r->exc.where), r->exc.where, r->exc.cause,
               r->exc.addr);
    }
    return !l->status && !l->errcode;
}

static int run_kernels(RunCard *rc)
{
    g_autoptr(GHashTable) loaded = g_hash_table_new_full(g_str_hash,
                                                         g_str_equal, g_free,
                                                         g_free);
    unsigned i, r, first;
    int ret = RUN_OK;

    for (r = 0; r < rc->o->repeat; r++) {
        first = rc->num_launches;
        for (i = 0; i < rc->o->num_kernels; i++) {
            if (!prepare(rc, rc->o->kernel[i], loaded)) {
                return RUN_FAILED;
            }
        }
        for (i = first; i < rc->num_launches; i++) {
            if (!rc->launch[i].spec) {
                continue;        /* a load */
            }
            run_post(rc, &rc->launch[i]);
            if (!rc->o->parallel && !run_wait(rc, &rc->launch[i])) {
                return RUN_FAILED;
            }
        }
        for (i = first; i < rc->num_launches; i++) {
            if (rc->launch[i].spec) {
                if (!run_wait(rc, &rc->launch[i])) {
                    return RUN_FAILED;
                }
                ret |= run_report(rc, &rc->launch[i]) ? RUN_OK : RUN_FAILED;
            }
        }
    }
    return ret;
}

static bool boot(RunCard *rc)
{
    uint32_t status;

    a350_cluster_resume(rc->cl);
    qemu_mutex_lock(&rc->lock);
    while (rc->fw_status < A350_FW_READY && card_clock(rc) < BOOT_TIMEOUT_NS) {
        if (!wait_news(rc, "the firmware")) {
            break;
        }
    }
    status = rc->fw_status;
    qemu_mutex_unlock(&rc->lock);
    if (status != A350_FW_READY) {
        fprintf(stderr, "aicpu-run: the firmware is not ready (status 0x%x)\n",
                status);
        return false;
    }
    if (rc->o->stats) {
        fprintf(stderr, "aicpu-run: firmware ready after %.3f ms\n",
                card_clock(rc) / 1e6);
    }
    return true;
}

static void print_stats(RunCard *rc)
{
    uint64_t total = 0;
    unsigned i;

    for (i = 0; i < rc->o->cores; i++) {
        total += a350_core_instret(rc->cl->core[i].core);
    }
    fprintf(stderr, "aicpu-run: %" PRIu64 " instructions in %.3f s\n", total,
            card_clock(rc) / 1e9);
}

int run_firmware(const RunOptions *o)
{
    RunCard *rc = g_new0(RunCard, 1);
    A350ClusterConfig cfg = {
        .num_cores = o->cores, .dev_base = A350_DEV_BASE(0),
        .hbm_size = o->hbm_size,
    };
    RunGdb *gdb = NULL;
    Error *err = NULL;
    int ret = RUN_USAGE;

    qcrypto_random_init(&error_fatal); /* A350_AM_RANDOM */
    rc->o = o;
    rc->base = cfg.dev_base;
    rc->hbm = cfg.hbm = run_alloc(o->hbm_size);
    rc->next = 4096;
    rc->epoch = g_get_monotonic_time() * 1000;
    rc->deadline = A350_NEVER;
    rc->end = o->timeout ? o->timeout * 1e9 : A350_NEVER;
    qemu_mutex_init(&rc->lock);
    qemu_cond_init(&rc->cond);
    qemu_cond_init(&rc->timer_cond);
    cfg.fw = a350_firmware_open(o->firmware, &err);
    if (!cfg.fw) {
        fprintf(stderr, "aicpu-run: %s\n", error_get_pretty(err));
        return RUN_USAGE;
    }
    rc->cl = a350_cluster_new(&cfg, &card_ops, rc);
    qemu_thread_create(&rc->timer, "timer", timer_thread, rc,
                       QEMU_THREAD_JOINABLE);
    if (o->gdb) {
        gdb = run_gdb_start(rc, o->gdb);
    }
    if (boot(rc)) {
        if (gdb) {
            int64_t start = card_clock(rc);

            run_gdb_wait(gdb);
            rc->end += o->timeout ? card_clock(rc) - start : 0;
        }
        ret = o->script ? run_script(rc, o->script) : run_kernels(rc);
    }
    if (rc->late) {
        ret = RUN_TIMEOUT;
    }
    if (gdb) {
        run_gdb_stop(gdb);
    }
    a350_cluster_pause(rc->cl);
    if (o->stats) {
        print_stats(rc);
    }
    qemu_mutex_lock(&rc->lock);
    rc->quit = true;
    qemu_cond_signal(&rc->timer_cond);
    qemu_mutex_unlock(&rc->lock);
    qemu_thread_join(&rc->timer);
    a350_cluster_stop(rc->cl);
    a350_cluster_free(rc->cl);
    return ret;
}
