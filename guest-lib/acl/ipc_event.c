/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that several processes use.
 *
 * The event is a page of memory that its processes share and that their cards
 * can write: records are numbered in the order of submission, and a record
 * leaves its number there when the queue comes to it. A wait is for the record
 * that was the latest when it was submitted; the host looks for its number, as
 * for aclrtValueWait. A number has a slot of its own among many, so that
 * records of several queues may end in any order.
 */
#define _GNU_SOURCE
#include "ipc_priv.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES      4096u
#define SLOTS           128u
#define PAUSE_NS        50000

typedef struct slot {
    _Atomic uint64_t done;       /* number of the record; the card writes it */
    _Atomic int32_t pid;         /* who has queued it */
    uint32_t reserved;
    _Atomic uint64_t taken;      /* number of the record that is to write it */
} slot;

typedef struct page {
    _Atomic uint64_t submitted;
    uint64_t reserved[7];
    slot slot[SLOTS];
} page;

_Static_assert(sizeof(page) <= PAGE_BYTES, "an event is one page");

struct ipc_event {
    atomic_uint refs;            /* events, entries under way, waits */
    int fd;
    page *page;
};

static slot *slot_of(const ipc_event *e, uint64_t number)
{
    return &e->page->slot[number % SLOTS];
}

/* ---- life ---- */

aclError ipc_event_open(const char *func, int fd, ipc_event **out)
{
    ipc_event *e = calloc(1, sizeof(*e));
    void *p = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                   0);

    if (!e || p == MAP_FAILED) {
        free(e);
        if (p != MAP_FAILED) {
            munmap(p, PAGE_BYTES);
        }
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "no memory for "
                        "a shared event");
    }
    madvise(p, PAGE_BYTES, MADV_DONTFORK);
    if (a350_dma_map(p, PAGE_BYTES)) {
        munmap(p, PAGE_BYTES);
        free(e);
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "%s",
                        a350_card_text());
    }
    atomic_init(&e->refs, 1);
    e->fd = fd;
    e->page = p;
    *out = e;
    return ACL_SUCCESS;
}

aclError ipc_event_new(const char *func, ipc_event **out)
{
    int fd = memfd_create("atlas350-event", MFD_CLOEXEC);
    aclError rc;

    if (fd < 0 || ftruncate(fd, PAGE_BYTES)) {
        rc = acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "no memory for a "
                      "shared event: %s", strerror(errno));
    } else {
        rc = ipc_event_open(func, fd, out);
    }
    if (rc && fd >= 0) {
        close(fd);
    }
    return rc;
}

ipc_event *ipc_event_ref(ipc_event *e)
{
    atomic_fetch_add(&e->refs, 1);
    return e;
}

void ipc_event_put(ipc_event *e)
{
    if (atomic_fetch_sub(&e->refs, 1) == 1) {
        a350_dma_unmap(e->page, PAGE_BYTES);
        munmap(e->page, PAGE_BYTES);
        close(e->fd);
        free(e);
    }
}

int ipc_event_fd(const ipc_event *e)
{
    return e->fd;
}

/* ---- state ---- */

uint64_t ipc_event_last(const ipc_event *e)
{
    return atomic_load(&e->page->submitted);
}

bool ipc_event_done(const ipc_event *e, uint64_t number)
{
    return atomic_load(&slot_of(e, number)->done) >= number;
}

/* Also true of one that nobody has waited for yet. */
static bool process_ended(int pid)
{
    struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0),
                        .events = POLLIN };
    bool ended;

    if (p.fd < 0) {
        return errno == ESRCH;
    }
    ended = poll(&p, 1, 0) == 1;
    close(p.fd);
    return ended;
}

int ipc_event_orphan(const ipc_event *e, uint64_t number)
{
    int pid = atomic_load(&slot_of(e, number)->pid);

    if (number > ipc_event_last(e) || pid == 0 || !process_ended(pid)) {
        return 0;
    }
    /* It may have got that far just before. */
    return ipc_event_done(e, number) ? 0 : pid;
}

/* ---- record and wait ---- */

/*
 * A number for a record, now the latest. Slots that a record is still to write
 * are passed over: it would take back what a later one has left there. If all
 * are such, they are most likely of one queue, which keeps the order.
 */
static uint64_t take_number(ipc_event *e, slot **at)
{
    uint64_t last = atomic_load(&e->page->submitted), n;

    do {
        for (n = last + 1; n <= last + SLOTS; n++) {
            *at = slot_of(e, n);
            if (atomic_load(&(*at)->done) >= atomic_load(&(*at)->taken)) {
                break;
            }
        }
        if (n > last + SLOTS) {
            n = last + 1;
            *at = slot_of(e, n);
        }
    } while (!atomic_compare_exchange_weak(&e->page->submitted, &last, n));
    atomic_store(&(*at)->taken, n);
    return n;
}

aclError ipc_event_record(const char *func, ipc_event *e, a350_stream *s)
{
    task_meta m = { .what = "event record" };
    uint64_t number;
    aclError rc;
    a350_sqe q;
    slot *at;

    if (s->capture) {
        return acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a record of "
                        "an IPC event cannot be captured");
    }
    if (a350_card_id(s->card)->dev_base >> (A350_WV_ADDR_BITS)) {
        return acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "card %u "
                        "cannot write host memory by an address of %u bits",
                        a350_card_number(s->card), A350_WV_ADDR_BITS);
    }
    number = take_number(e, &at);
    atomic_store(&at->pid, (int32_t)getpid());
    a350_sqe_write_value(&q, 0, (uintptr_t)&at->done, 3, &number,
                         A350_WV_SUB_DEFAULT);
    m.ipc = ipc_event_ref(e);
    rc = stream_submit(func, s, &q, 1, NULL, &m, NULL);
    if (rc) {
        /* Nobody waits for what was never queued. */
        atomic_store(&at->done, number);
        ipc_event_put(e);
    }
    return rc;
}

aclError ipc_event_wait(const char *func, ipc_event *e, bool before_record,
                        a350_stream *s, uint32_t seconds, uint64_t *seq)
{
    uint64_t number = ipc_event_last(e);

    if (s->capture) {
        return acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a wait for an "
                        "IPC event cannot be captured");
    }
    if (number == 0 && !before_record) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "the event was never "
                        "recorded, and only events with flag 0x1 (SYNC) or "
                        "0x20 (EXTERNAL) may be waited for before their "
                        "record");
    }
    number = number ? number : 1;
    return ipc_event_done(e, number)
           ? ACL_SUCCESS : callback_wait_event(func, s, e, number, seconds,
                                               seq);
}

aclError ipc_event_sync(const char *func, ipc_event *e, int32_t timeout_ms)
{
    const struct timespec pause = { 0, PAUSE_NS };
    uint64_t number = ipc_event_last(e), waited = 0;
    int pid;

    while (number && !ipc_event_done(e, number)) {
        if (timeout_ms >= 0 && waited / 1000000 >= (uint64_t)timeout_ms) {
            return acl_fail(func, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "the event "
                            "is not recorded after %d ms", timeout_ms);
        }
        if (waited % (2000 * PAUSE_NS) == 0 &&
            (pid = ipc_event_orphan(e, number))) {
            return acl_fail(func, ACL_ERROR_RT_TS_ERROR, "process %d, which "
                            "was to record the event, has ended", pid);
        }
        nanosleep(&pause, NULL);
        waited += PAUSE_NS;
    }
    return ACL_SUCCESS;
}
