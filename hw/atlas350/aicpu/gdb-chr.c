/*
 * GDB server of a card's AICPU cores: its character device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * It has a thread of its own: stopping the cores waits for them, and a core
 * may be waiting for the main loop to translate an address of its access.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "system/iothread.h"
#include "hw/atlas350/card.h"
#include "aicpu-int.h"
#include "gdb.h"

struct A350GdbChr {
    A350Gdb *gdb;
    CharBackend *chr;
    IOThread *thread;
    QEMUBH *bh;
};

static void chr_write(void *opaque, const char *buf, size_t len)
{
    struct A350GdbChr *gc = opaque;

    qemu_chr_fe_write_all(gc->chr, (const uint8_t *)buf, len);
}

static void chr_wake(void *opaque)
{
    struct A350GdbChr *gc = opaque;

    qemu_bh_schedule(gc->bh);
}

static void chr_poll(void *opaque)
{
    struct A350GdbChr *gc = opaque;

    a350_gdb_poll(gc->gdb);
}

static int chr_can_read(void *opaque)
{
    return 4096;
}

static void chr_read(void *opaque, const uint8_t *buf, int size)
{
    struct A350GdbChr *gc = opaque;

    a350_gdb_input(gc->gdb, (const char *)buf, size);
}

static void chr_event(void *opaque, QEMUChrEvent event)
{
    struct A350GdbChr *gc = opaque;

    if (event == CHR_EVENT_OPENED) {
        a350_gdb_connect(gc->gdb);
    } else if (event == CHR_EVENT_CLOSED) {
        a350_gdb_disconnect(gc->gdb);
    }
}

static const A350GdbOps chr_ops = {
    .write = chr_write,
    .wake = chr_wake,
};

bool a350_aicpu_gdb(A350Card *c, CharBackend *chr, Error **errp)
{
    g_autofree char *id = g_strdup_printf("atlas350-%u-gdb", c->index);
    struct A350GdbChr *gc;
    IOThread *thread;

    if (!qemu_chr_fe_backend_connected(chr)) {
        return true;
    }
    thread = iothread_create(id, errp);
    if (!thread) {
        error_prepend(errp, "aicpu-gdb: ");
        return false;
    }
    gc = g_new0(struct A350GdbChr, 1);
    gc->chr = chr;
    gc->thread = thread;
    gc->bh = aio_bh_new(iothread_get_aio_context(thread), chr_poll, gc);
    gc->gdb = a350_gdb_new(c->aicpu->cl, &chr_ops, gc);
    c->aicpu->gdb = gc;
    qemu_chr_fe_set_handlers(chr, chr_can_read, chr_read, chr_event, NULL, gc,
                             iothread_get_g_main_context(thread), true);
    return true;
}

void a350_aicpu_gdb_destroy(A350Aicpu *a)
{
    struct A350GdbChr *gc = a->gdb;

    if (!gc) {
        return;
    }
    a->gdb = NULL;
    qemu_chr_fe_set_handlers(gc->chr, NULL, NULL, NULL, NULL, NULL, NULL,
                             false);
    iothread_stop(gc->thread);
    a350_gdb_free(gc->gdb);
    qemu_bh_delete(gc->bh);
    iothread_destroy(gc->thread);
    g_free(gc);
}
