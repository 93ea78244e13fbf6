/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the acl runtime.
 *
 * Lock order, outermost first: a device's lock, a stream's lock, then the
 * locks of the driver and of events (leaves). No lock that an on_cqe call-back
 * takes is held while waiting for a queue.
 */
#ifndef A350_ACL_PRIV_H
#define A350_ACL_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include "acl_internal.h"
#include "acl/acl.h"

#define ACL_EXPORT __attribute__((visibility("default")))
#define MAX_DEVICES         256

/* Limits, which messages name: spec/api/acl-runtime.md §10, §11, §14. */
#define STREAM_MAX          1984u
#define STREAM_PRIORITY_LEAST 7u
#define EVENT_MAX           65536u
#define KERNEL_PARAMS_MAX   128u
#define KERNEL_BLOCKS_MAX   65535u
#define KERNEL_TIMEOUT_US   1091000000ull
#define SYS_OPTS            4        /* aclSysParamOpt */
#define EXC_CALLBACKS_MAX   64       /* ours */

/* ---- errors (error.c) ---- */

/*
 * Every public function leaves through one of these. They keep the code as
 * the thread's last error, write the text that aclGetRecentErrMsg returns, and
 * log it. acl_fail_keep keeps the text that a lower layer has left and puts
 * the function's name before it.
 */
aclError acl_fail(const char *func, aclError code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
aclError acl_fail_keep(const char *func, aclError code);
/* From a negative errno and a350_card_text(). */
aclError acl_fail_card(const char *func, int rc);
aclError acl_code_of(int rc);
/* Keeps the code as last error without a text of its own. */
aclError acl_code_only(aclError code);

#define FAIL(code, ...)     acl_fail(__func__, code, __VA_ARGS__)
#define FAIL_CARD(rc)       acl_fail_card(__func__, rc)
#define FAIL_NULL(name)     acl_fail(__func__, ACL_ERROR_INVALID_PARAM, \
                                     "%s is NULL", name)
#define CHECK_PTR(p)                                                    \
    do {                                                                \
        if (!(p)) {                                                     \
            return FAIL_NULL(#p);                                       \
        }                                                               \
    } while (0)

/* ---- handles (handle.c) ---- */

enum {
    H_CONTEXT = 0x43545841,
    H_STREAM = 0x4d525453,
    H_EVENT = 0x544e5645,
    H_NOTIFY = 0x59465449,
    H_CNT_NOTIFY = 0x4e544e43,
    H_BINARY = 0x594e4942,
    H_BINDATA = 0x41544144,
    H_FUNC = 0x434e5546,
    H_GRAPH = 0x48505247,
    H_PHYS = 0x53594850,
    H_ARGS = 0x53475241,
};
#define HANDLE_SIZE         512

/*
 * Objects behind handles lie in one region that is never given back: whether a
 * handle is alive, and of which kind, can be asked of any pointer.
 */
void *handle_new(uint32_t magic);
void handle_free(void *h);
int handle_is(const void *h, uint32_t magic);
/* What a bad handle is: "NULL", "freed or never made", "a stream", … */
const char *handle_what(const void *h);

/* ---- devices (device.c) ---- */

typedef struct acl_ctx acl_ctx;

typedef struct acl_dev {
    int32_t id;                  /* user device id */
    pthread_mutex_t life;        /* setting and resetting; outermost */
    pthread_mutex_t lock;
    uint32_t set_count;          /* aclrtSetDevice less aclrtResetDevice */
    uint32_t opens;              /* primary context + explicit contexts */
    a350_card *card;             /* NULL while not open */
    a350_identify_rsp identity;  /* once it was open: never changes then */
    atomic_bool identified;
    uint32_t generation;         /* of opens; for what is cached per device */
    acl_ctx *primary;
    acl_ctx *contexts;           /* all live ones, linked by next */
    a350_sq *copy_sq;            /* synchronous copies, kernel loading */
    atomic_uint streams, events;
    uint64_t peers[MAX_DEVICES / 64]; /* enabled directions from here */
    aclrtFloatOverflowMode sat_mode;
} acl_dev;

unsigned dev_count(void);
/* PCI number of a user device; -1 out of range. */
int dev_card_number(int32_t id);
acl_dev *dev_get(int32_t id);    /* NULL: bad id */
aclError dev_open(const char *func, acl_dev *d);
void dev_close(acl_dev *d);
/* Opens the card only the first time: that resets it, and takes its time. */
aclError dev_identity(const char *func, int64_t id,
                      const a350_identify_rsp **identity);
/* User device that owns @card; NULL if none. */
acl_dev *dev_of_card(const a350_card *card);
acl_dev *dev_of_addr(uint64_t addr);
bool dev_peer_enabled(const acl_dev *d, int32_t peer);
aclError dev_bad_id(const char *func, int64_t id);
/* Calls every registered reset function; destroys are logged. */
void dev_state_notify(int32_t id, aclrtDeviceState state);
void stream_state_notify(aclrtStream s, aclrtStreamState state);
/*
 * Runs @n entries on the device's own queue and waits; @timeout_ms -1 for
 * ever. Errors are explained in the recent text.
 */
aclError dev_run(const char *func, acl_dev *d, const a350_sqe *sqe, unsigned n,
                 int timeout_ms);

/* ---- contexts (context.c) ---- */

struct acl_ctx {
    uint32_t magic;
    bool primary;
    bool active;
    acl_ctx *next;               /* of the device */
    acl_dev *dev;
    uint32_t generation;         /* of dev when it was made */
    pthread_mutex_t lock;
    a350_stream *streams;        /* all of this context, linked by next */
    a350_stream *def;
    int64_t opt[SYS_OPTS];
};

/* The calling thread's context; NULL: none, or it is gone. */
acl_ctx *ctx_current(void);
/* The same; sets the error (107002) when there is none. */
acl_ctx *ctx_need(const char *func, aclError *code);
void ctx_set_current(acl_ctx *c);
/* Creates the default stream, resp. destroys everything of the context. */
aclError ctx_start(const char *func, acl_ctx *c);
void ctx_stop(acl_ctx *c, bool force);
extern _Atomic int64_t sys_opt[SYS_OPTS];

/* ---- streams (stream.c) ---- */

typedef struct graph graph;
typedef struct event_rec event_rec;
typedef struct cb_item cb_item;
typedef struct ipc_event ipc_event;

/* What the runtime remembers of an entry until it is complete. */
typedef struct task_meta {
    uint64_t seq;
    uint64_t args_end;           /* position in the argument ring; 0 none */
    const char *what;
    const void *func;            /* H_FUNC of a launch */
    event_rec *wait;             /* a wait holds its record */
    void *free_dev;              /* device memory to give back */
    ipc_event *ipc;              /* a record holds its event */
} task_meta;

typedef struct destroy_hook {
    struct destroy_hook *next;
    a350_stream_destroy_fn *fn;
    void *opaque;
} destroy_hook;

struct a350_stream {
    uint32_t magic;
    uint32_t id;
    acl_ctx *ctx;
    a350_stream *next;
    a350_card *card;
    a350_sq *sq;
    uint32_t priority, flags;
    bool is_default, mode_set;
    uint32_t stop_on_failure;
    uint32_t overflow, tag, cache_op;

    pthread_mutex_t lock;        /* all below */
    task_meta *meta;             /* depth entries */
    uint64_t reclaimed;          /* entries up to here are given back */
    uint64_t args_base;          /* device address of the argument ring */
    uint8_t *args_host;
    uint64_t args_w, args_r;     /* running positions */
    uint64_t result;             /* device address: a350_launch_result */
    _Atomic uint32_t errors_seen;  /* read without the lock */
    uint64_t told;               /* entries submitted when an error was told */
    aclError failed;             /* stop on failure: code of all that follows */
    char *failed_text;
    _Atomic aclError aborted;            /* what the latest abort tells waiters */
    aclError ext_code;           /* a350_stream_fail */
    char *ext_text;
    graph *capture;
    destroy_hook *hooks;
    struct error_hook *error_hooks;  /* grows only; read without the lock */
    uint32_t cb_notify;          /* A350_ID_NONE: not yet */
    uint64_t cb_thread;          /* subscribed thread, 0: none */
    bool cb_simple;              /* aclrtLaunchHostFunc was used */

    atomic_uint users;           /* who holds it in streams_get's list */
};

/* NULL stream: default one. Checks context; sets the error. */
a350_stream *stream_need(const char *func, aclrtStream s, aclError *code);
aclError stream_new(const char *func, acl_ctx *c, uint32_t priority,
                    uint32_t flags, a350_stream **out);
void stream_delete(a350_stream *s, bool force);
/* Submits with what is to be remembered of the last entry. Lock not held. */
aclError stream_submit(const char *func, a350_stream *s, const a350_sqe *sqe,
                       unsigned n, void *const *cookies,
                       const task_meta *meta, uint64_t *seq);
/* Same, lock held. */
aclError stream_submit_locked(const char *func, a350_stream *s,
                              const a350_sqe *sqe, unsigned n,
                              void *const *cookies, const task_meta *meta,
                              uint64_t *seq);
/* Waits for entry @seq (0: all so far). */
aclError stream_wait(const char *func, a350_stream *s, uint64_t seq,
                     int timeout_ms);
/* Drops what is queued; whoever waits gets @code. */
aclError stream_abort(const char *func, a350_stream *s, aclError code);
/* Gives back what complete entries held. Lock held. */
void stream_reclaim(a350_stream *s);
/* Room for @size bytes of arguments, 64-aligned. Lock held. */
aclError stream_args(const char *func, a350_stream *s, size_t size,
                     uint64_t *dev, void **host, uint64_t *end);
aclError stream_capturing(const char *func, a350_stream *s);
uint32_t stream_available(acl_dev *d);
/* Waits for launches of functions that @match in all streams of @d. */
void streams_finish(acl_dev *d, bool (*match)(const void *func,
                                              const void *arg),
                    const void *arg);
/* Drops the work of all streams of a context. */
aclError streams_abort(const char *func, acl_ctx *c, aclError code);
#define STREAM_ARGS_RING    (256u << 10)

/*
 * Explains a failed entry. @result: device address of its a350_launch_result
 * (0: none), @what: operation (NULL: unknown), @own_wait: the queue is a host
 * stream, whose expired wait has a code of its own.
 */
aclError explain(a350_sq *sq, const a350_sq_error *err, uint64_t result,
                 const char *what, bool own_wait, char *text, size_t len);
/* " (rank 3 waits for …)" about a queue that is blocked; "" if it is not. */
void explain_wait(a350_sq *sq, char *text, size_t len);

/* ---- events (event.c) ---- */

void event_cqe(event_rec *r, uint64_t ts, bool failed);
void event_wait_done(event_rec *r);

/* ---- call-backs (callback.c) ---- */

/* First word of every cookie says what it is. */
enum { COOKIE_EVENT = 1, COOKIE_CALL = 2, COOKIE_POLL = 3 };
void callback_cqe(void *cookie);
void callback_drop(void *cookie);
void *callback_clone(const void *cookie, a350_stream *s);
/* Forgets what was due for a stream that is aborted or destroyed. */
void callback_purge(a350_stream *s);
void exception_notify(uint32_t task, uint32_t stream, int32_t device,
                      uint32_t code);

/* Queues a wait for record @number; @seconds 0: no limit. */
aclError callback_wait_event(const char *func, a350_stream *s, ipc_event *e,
                             uint64_t number, uint32_t seconds, uint64_t *seq);
/* Makes the stream's own notify for call-backs. Lock held. */
aclError callback_notify(const char *func, a350_stream *s);

/* ---- memory (memory.c, copy.c) ---- */

aclError copy_sync(const char *func, void *dst, const void *src, size_t n);
/* Frees a block that aclrtMalloc or the like made: 0 or a negative errno. */
int dev_mem_free(uint64_t addr);

/* ---- virtual memory (vmm.c) ---- */

/* Does @addr lie in a range of aclrtReserveMemAddress? */
bool vmm_reserved(uint64_t addr);
/* False: it does, and memory is not mapped for all of [addr, addr + size). */
bool vmm_usable(uint64_t addr, uint64_t size);
/* Is all of it mapped memory that aclrtMemSetAccess has opened to @device? */
bool vmm_granted(uint64_t addr, uint64_t size, int32_t device);
void vmm_device_gone(const acl_dev *d);

/* ---- graphs (graph.c) ---- */

/*
 * For calls that wait for work: @code, with its text, if a capture of this
 * thread, or a GLOBAL one of another, forbids them to the calling thread.
 */
aclError graph_forbids(const char *func, aclError code);
aclError graph_append(const char *func, graph *g, const a350_sqe *sqe,
                      unsigned n, void *const *cookies, const char *what);
/* Argument memory that lives as long as the graph. */
aclError graph_args(const char *func, graph *g, size_t size, uint64_t *dev,
                    void **host);
/* Stream @s waits for an event of @g: it becomes part of the capture. */
aclError graph_join(const char *func, const graph *g, a350_stream *s);
void graph_stream_gone(graph *g, a350_stream *s);

/* ---- kernels (kernel.c) ---- */

void kernels_device_gone(acl_dev *d);
const char *func_name(const void *func);

#endif /* A350_ACL_PRIV_H */
