/*
 * Atlas 350 virtual card: the card's log, a ring in BAR0 and a host chardev.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any thread of the card may log. The ring is written at once; what goes to
 * the chardev is collected and written by the main loop, so that a reader
 * which does not read holds up nobody: text beyond A350_LOG_BACKLOG is lost
 * and the loss is said.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "shell.h"
#include "trace.h"

#define A350_LOG_BACKLOG (1 * MiB)

struct A350Log {
    QemuMutex lock;
    a350_log_ring *ring;
    uint64_t head;              /* the ring's own is for the guest only */
    MemoryRegion *mr;
    GString *backlog;           /* for the chardev */
    uint64_t lost;
    guint watch;                /* main loop */
    QEMUBH *bh;
};

static uint64_t a350_log_ring_size(void)
{
    return A350_SHM_LOG_SIZE - sizeof(a350_log_ring);
}

static void a350_log_ring_put(A350Log *log, const char *text, size_t len)
{
    uint64_t size = a350_log_ring_size();
    uint64_t pos, part;

    while (len) {
        pos = log->head % size;
        part = MIN(len, size - pos);
        memcpy(log->ring->data + pos, text, part);
        log->head += part;
        text += part;
        len -= part;
    }
    /* The guest reads head, then the bytes before it. */
    qatomic_store_release(&log->ring->head, cpu_to_le64(log->head));
    memory_region_set_dirty(log->mr, A350_SHM_LOG, A350_SHM_LOG_SIZE);
}

void a350_log_write(A350Card *c, const char *text, size_t len)
{
    A350Log *log = c->log;

    if (!log || !len) {
        return;
    }
    WITH_QEMU_LOCK_GUARD(&log->lock) {
        a350_log_ring_put(log, text, len);
        if (qemu_chr_fe_backend_connected(&a350_shell(c)->log_chr)) {
            if (log->backlog->len + len <= A350_LOG_BACKLOG) {
                g_string_append_len(log->backlog, text, len);
            } else {
                log->lost += len;
            }
            qemu_bh_schedule(log->bh);
        }
    }
}

void a350_log(A350Card *c, const char *fmt, ...)
{
    g_autoptr(GString) line = g_string_new(NULL);
    va_list ap;

    va_start(ap, fmt);
    g_string_append_vprintf(line, fmt, ap);
    va_end(ap);
    trace_atlas350_log(c->index, line->str);
    if (!line->len || line->str[line->len - 1] != '\n') {
        g_string_append_c(line, '\n');
    }
    a350_log_write(c, line->str, line->len);
}

static gboolean a350_log_writable(void *dummy, GIOCondition cond, void *opaque)
{
    A350Log *log = opaque;

    log->watch = 0;
    qemu_bh_schedule(log->bh);
    return G_SOURCE_REMOVE;
}

static void a350_log_flush(void *opaque)
{
    Atlas350State *s = opaque;
    A350Log *log = s->card.log;
    int n;

    if (log->watch) {
        return;
    }
    QEMU_LOCK_GUARD(&log->lock);
    if (log->backlog->len) {
        n = qemu_chr_fe_write(&s->log_chr, (uint8_t *)log->backlog->str,
                              log->backlog->len);
        if (n > 0) {
            g_string_erase(log->backlog, 0, n);
        }
    }
    if (log->lost && log->backlog->len < A350_LOG_BACKLOG / 2) {
        g_string_append_printf(log->backlog, "[%" PRIu64 " bytes lost]\n",
                               log->lost);
        log->lost = 0;
    }
    if (log->backlog->len) {
        log->watch = qemu_chr_fe_add_watch(&s->log_chr, G_IO_OUT | G_IO_HUP,
                                           a350_log_writable, log);
        if (!log->watch) {
            /* The backend cannot tell when it is writable: drop. */
            log->lost += log->backlog->len;
            g_string_truncate(log->backlog, 0);
        }
    }
}

void a350_log_reset(Atlas350State *s)
{
    A350Log *log = s->card.log;

    QEMU_LOCK_GUARD(&log->lock);
    log->head = 0;
    log->ring->size = cpu_to_le64(a350_log_ring_size());
    qatomic_store_release(&log->ring->head, 0);
    memory_region_set_dirty(log->mr, A350_SHM_LOG, sizeof(a350_log_ring));
}

uint64_t a350_log_head(Atlas350State *s)
{
    return s->card.log->head;
}

int a350_log_post_load(Atlas350State *s)
{
    s->card.log->head = s->log_head;
    return 0;
}

void a350_log_init(Atlas350State *s)
{
    A350Log *log = g_new0(A350Log, 1);
    uint8_t *shm = memory_region_get_ram_ptr(&s->shm_ram);

    qemu_mutex_init(&log->lock);
    log->mr = &s->shm_ram;
    log->ring = (a350_log_ring *)(shm + A350_SHM_LOG);
    log->backlog = g_string_new(NULL);
    log->bh = qemu_bh_new(a350_log_flush, s);
    s->card.log = log;
    a350_log_reset(s);
}

void a350_log_destroy(Atlas350State *s)
{
    A350Log *log = s->card.log;

    if (!log) {
        return;
    }
    s->card.log = NULL;
    if (log->watch) {
        g_source_remove(log->watch);
    }
    qemu_bh_delete(log->bh);
    g_string_free(log->backlog, true);
    qemu_mutex_destroy(&log->lock);
    g_free(log);
}
