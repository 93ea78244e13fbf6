/*
 * aicpu-run --gdb: the GDB server on a socket in the file system.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/event_notifier.h"
#include "qemu/sockets.h"
#include "qapi/error.h"
#include <poll.h>
#include "run-card.h"
#include "gdb.h"

typedef struct RunGdb {
    A350Gdb *gdb;
    EventNotifier wake;          /* a core stopped, or quit */
    int listener, conn;
    bool quit, attached;
    QemuMutex lock;
    QemuCond cond;
    QemuThread thread;
} RunGdb;

static void gdb_write(void *opaque, const char *buf, size_t len)
{
    RunGdb *rg = opaque;

    while (len) {
        ssize_t n = send(rg->conn, buf, len, MSG_NOSIGNAL);

        if (n <= 0) {
            return;              /* the next read sees it, too */
        }
        buf += n;
        len -= n;
    }
}

static void gdb_wake(void *opaque)
{
    RunGdb *rg = opaque;

    event_notifier_set(&rg->wake);
}

static const A350GdbOps run_gdb_ops = {
    .write = gdb_write,
    .wake = gdb_wake,
};

static void set_attached(RunGdb *rg, bool attached)
{
    qemu_mutex_lock(&rg->lock);
    rg->attached = attached;
    qemu_cond_broadcast(&rg->cond);
    qemu_mutex_unlock(&rg->lock);
}

static void new_connection(RunGdb *rg)
{
    rg->conn = accept(rg->listener, NULL, NULL);
    if (rg->conn >= 0) {
        a350_gdb_connect(rg->gdb);
        set_attached(rg, true);
    }
}

static void read_connection(RunGdb *rg)
{
    char buf[4096];
    ssize_t n = recv(rg->conn, buf, sizeof(buf), 0);

    if (n > 0) {
        a350_gdb_input(rg->gdb, buf, n);
        return;
    }
    a350_gdb_disconnect(rg->gdb);
    close(rg->conn);
    rg->conn = -1;
}

static void *gdb_thread(void *opaque)
{
    RunGdb *rg = opaque;

    while (!qatomic_read(&rg->quit)) {
        struct pollfd fd[2] = {
            { .fd = event_notifier_get_fd(&rg->wake), .events = POLLIN },
            { .fd = rg->conn >= 0 ? rg->conn : rg->listener, .events = POLLIN },
        };

        if (poll(fd, 2, -1) < 0) {
            continue;
        }
        if (fd[0].revents && event_notifier_test_and_clear(&rg->wake)) {
            a350_gdb_poll(rg->gdb);
        }
        if (fd[1].revents && rg->conn >= 0) {
            read_connection(rg);
        } else if (fd[1].revents) {
            new_connection(rg);
        }
    }
    return NULL;
}

RunGdb *run_gdb_start(RunCard *rc, const char *path)
{
    RunGdb *rg = g_new0(RunGdb, 1);
    Error *err = NULL;

    rg->conn = -1;
    rg->listener = unix_listen(path, &err);
    if (rg->listener < 0) {
        fprintf(stderr, "aicpu-run: --gdb: %s\n", error_get_pretty(err));
        exit(RUN_USAGE);
    }
    event_notifier_init(&rg->wake, false);
    qemu_mutex_init(&rg->lock);
    qemu_cond_init(&rg->cond);
    rg->gdb = a350_gdb_new(rc->cl, &run_gdb_ops, rg);
    qemu_thread_create(&rg->thread, "gdb", gdb_thread, rg,
                       QEMU_THREAD_JOINABLE);
    return rg;
}

void run_gdb_wait(RunGdb *rg)
{
    qemu_mutex_lock(&rg->lock);
    while (!rg->attached) {
        qemu_cond_wait(&rg->cond, &rg->lock);
    }
    qemu_mutex_unlock(&rg->lock);
}

void run_gdb_stop(RunGdb *rg)
{
    qatomic_set(&rg->quit, true);
    event_notifier_set(&rg->wake);
    qemu_thread_join(&rg->thread);
    a350_gdb_free(rg->gdb);
    if (rg->conn >= 0) {
        close(rg->conn);
    }
    close(rg->listener);
    g_free(rg);
}
