/*
 * HIXL's core: what its files share.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   core.c      life of an engine, the calls of hixl_core.h
 *   transfer.c  checks, posting, requests
 *   link.c      Connect and Disconnect, the client's side of a link
 *   heartbeat.c keeps an eye on idle links
 *   pool.c      asynchronous Connect and Disconnect
 *   server.c    the target's side: one thread with all its sockets
 *   path.c      a jetty of the card; the only file that writes work requests
 *   queues.c    task queues of a card, for the links that are at work
 *   memory.c    registered memory, segments, pinned host pages
 *   message.c   bodies of control messages
 *   frame.c     frames over TCP, with deadlines
 *   options.c   options of Initialize
 *   util.c      time, names, error text, numbers
 *
 * Locks, outermost first: engine->query, link->mutex (posting, the end of the
 * link), link->talk (the socket), link->path_lock (read: waiting for and
 * looking at the path; written: ending it), link->use (who has use of the
 * path's queue), engine->registering, engine->mutex. What waits for a peer or
 * for the card holds none of them but query, talk or mutex, and these are
 * waited for until a call's own deadline only.
 *
 * The data path goes from the initiator's card to the target's through a UB
 * jetty of the initiator; the target's CPU takes no part.
 */
#ifndef HX_H
#define HX_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "a350_card.h"
#include "hixl_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- util.c ---- */

uint64_t hx_now_ms(void);
/* Milliseconds from now to @deadline, 0 if it is over; fits an int. */
int hx_left_ms(uint64_t deadline);
/* False: the deadline has passed. */
bool hx_lock_until(pthread_mutex_t *m, uint64_t deadline);
bool hx_wait_until(pthread_cond_t *c, pthread_mutex_t *m, uint64_t deadline);

/* Sets the thread's error text, logs it, returns @code. */
uint32_t hx_err(uint32_t code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void hx_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Little-endian numbers of 1 to 8 bytes. */
void hx_put_le(uint8_t *p, uint64_t v, int bytes);
uint64_t hx_get_le(const uint8_t *p, int bytes);

#define HX_NAME_MAX 64
typedef struct hx_addr {
    struct sockaddr_storage sa;
    socklen_t len;
    uint16_t port;                   /* 0: none */
    char text[HX_NAME_MAX];          /* canonical "ip:port" */
} hx_addr;
/* "ip", "ip:port", "[ipv6]", "[ipv6]:port"; false: none of these. */
bool hx_parse_name(const char *name, hx_addr *a);

void hx_eid_text(const uint8_t eid[A350_EID_LEN], char text[33]);
bool hx_eid_parse(const char *text, uint8_t eid[A350_EID_LEN]);

/* ---- options.c ---- */

#define HX_ENDPOINT_MAX 16
enum hx_proto { HX_UB_CTP, HX_UBOE, HX_UB_RTP, HX_PROTO_NUM };
extern const char *const hx_proto_name[HX_PROTO_NUM];

typedef struct hx_options {
    bool auto_connect;
    uint32_t max_channels;           /* outstanding transfers, 1.. */
    uint32_t pool_threads;           /* 1..64 */
    uint32_t pool_queue;             /* 1..65535 */
    uint32_t traffic_class, service_level, qos;
    uint32_t listen_port;            /* checked, not used: data needs none */
    bool proto[HX_PROTO_NUM];        /* what this engine offers */
    bool foreign;                    /* asked for what this card has not */
    char net_instance[128];          /* "" unless given */
} hx_options;

uint32_t hx_options_parse(hx_options *o, const hixl_option *opt, size_t num);
/* The GlobalResourceConfig text alone, for the HixlCS layer. */
uint32_t hx_options_global(hx_options *o, const char *text);
void hx_options_default(hx_options *o);

/* ---- frame.c: packed { u32 magic, u64 body } then i32 type, payload ---- */

#define HX_MAGIC        0xA4B3C2D1u
#define HX_HEADER       12u
#define HX_BODY_MAX     (4u << 20)

enum hx_msg {
    HX_CREATE_CHANNEL = 1, HX_CREATE_CHANNEL_RESP = 2,
    HX_ENDPOINTS = 5, HX_ENDPOINTS_RESP = 6,
    HX_DESTROY_CHANNEL = 11, HX_NOTIFY = 12, HX_NOTIFY_ACK = 13,
    HX_HEARTBEAT = 14, HX_MEM_INFO = 15, HX_MEM_INFO_RESP = 16,
};

typedef struct hx_buf {
    uint8_t *data;
    size_t len, cap;
} hx_buf;
bool hx_buf_add(hx_buf *b, const void *data, size_t len);
void hx_buf_drop(hx_buf *b, size_t len);
void hx_buf_free(hx_buf *b);

/* Appends a frame; false: no memory. */
bool hx_frame_put(hx_buf *b, int32_t type, const void *payload, size_t len);

enum hx_parse { HX_FRAME_MORE, HX_FRAME_ONE, HX_FRAME_BAD };
typedef struct hx_frame {
    int32_t type;
    const uint8_t *payload;
    size_t len, used;                /* used: bytes of the buffer it takes */
    const char *why;                 /* what is bad */
} hx_frame;
enum hx_parse hx_frame_get(const hx_buf *b, hx_frame *f);

/* Client side. 0, -ETIMEDOUT, or another negative errno. */
int hx_tcp_connect(const hx_addr *a, uint64_t deadline, int *fd);
/* -EBADMSG: time was over inside the frame, no other can follow it. */
int hx_send(int fd, int32_t type, const void *payload, size_t len,
            uint64_t deadline);
/* Receives one frame into @in (which keeps what comes after it). */
int hx_recv(int fd, hx_buf *in, hx_frame *f, uint64_t deadline);
/* Has the peer closed or broken the connection? Reads nothing. */
bool hx_peer_gone(int fd);

/* ---- memory.c ---- */

#define HX_TAG_MAX 64

/* A registered range, ours or a peer's. */
typedef struct hx_mem {
    uint64_t addr, len;
    int type;                        /* HX_MEM_* */
    uint32_t token_id, token_value;
    char tag[HX_TAG_MAX];
} hx_mem;

/* Sorted by address, ranges of one type do not overlap. */
typedef struct hx_table {
    hx_mem *mem;
    size_t num;
} hx_table;
/* The range that holds [addr, addr + len), NULL: none. */
const hx_mem *hx_table_find(const hx_table *t, uint64_t addr, uint64_t len);
/* The same, for a caller that has an idea: @hint is a range or NULL. */
static inline const hx_mem *hx_table_near(const hx_table *t,
                                          const hx_mem *hint, uint64_t addr,
                                          uint64_t len)
{
    return hint && addr - hint->addr < hint->len &&
           len <= hint->len - (addr - hint->addr) ? hint :
           hx_table_find(t, addr, len);
}
void hx_table_sort(hx_table *t);
bool hx_table_copy(hx_table *to, const hx_table *from);
void hx_table_free(hx_table *t);

typedef struct hx_reg hx_reg;        /* our registration */
struct hx_reg {
    hx_mem mem;
    hx_reg *next;
};

extern unsigned hx_busy_ms;          /* for a peer's last request: 5 s */
struct hx_engine;
uint32_t hx_mem_register(struct hx_engine *e, uintptr_t addr, size_t len,
                         int type, const char *tag, void **handle);
uint32_t hx_mem_deregister(struct hx_engine *e, void *handle);
void hx_mem_free_all(struct hx_engine *e);
/* Copy of all registrations; false: no memory. */
bool hx_mem_snapshot(struct hx_engine *e, hx_table *t);

/* ---- message.c ---- */

typedef struct hx_endpoints {
    char engine[HX_NAME_MAX];
    bool proto[HX_PROTO_NUM];
    uint8_t eid[A350_EID_LEN];
    char net_instance[128];
} hx_endpoints;

/* Encoders return malloc'ed text, NULL: no memory. Decoders check all of it:
   false and *why (static text) for anything that is not as it should be. */
char *hx_endpoints_encode(const hx_endpoints *p);
bool hx_endpoints_decode(const void *text, size_t len, hx_endpoints *p,
                         const char **why);
char *hx_mems_encode(const hx_table *t);
bool hx_mems_decode(const void *text, size_t len, hx_table *t,
                    const char **why);
char *hx_result_encode(uint32_t code, const char *reason);
bool hx_result_decode(const void *text, size_t len, uint32_t *code,
                      char reason[128], const char **why);

#define HX_NOTIFY_TEXT 1024u
typedef struct hx_note {
    uint64_t id;
    uint32_t name_len, msg_len;
    const char *name, *msg;
} hx_note;
bool hx_note_encode(hx_buf *b, const hx_note *n);
bool hx_note_decode(const void *data, size_t len, hx_note *n);
/* Acknowledgement: id, result code. */
void hx_ack_encode(uint8_t out[12], uint64_t id, uint32_t code);
bool hx_ack_decode(const void *data, size_t len, uint64_t *id, uint32_t *code);

/* ---- queues.c ---- */

/*
 * Task queues of @card for this process's engines. An engine is counted, so
 * that the last one's leaving gives the spare queues back.
 */
void hx_queues_join(a350_card *card);
void hx_queues_leave(a350_card *card);
/* A negative errno of a350_sq_new: -ENOSPC, the card has none left. */
int hx_queue_take(a350_card *card, a350_sq **sq);
/* @sq is empty and has not failed. */
void hx_queue_give(a350_sq *sq);

/* ---- path.c ---- */

#define HX_JETTY_BLOCKS 4096u
#define HX_CHUNK        512u         /* WQEs a doorbell, at most */
#define HX_CHUNK_FIRST  16u          /* and in the first one of a transfer */
#define HX_CHUNKS       16u          /* doorbells that are remembered */
#define HX_QUIET        2048u        /* WQEs before a doorbell has a CQE */

/*
 * The card's way to one peer. Used under its link's mutex. It has a queue only
 * while somebody has use of it: between hx_path_take and the hx_path_give that
 * belongs to it, which are called under the link's use.
 */
typedef struct hx_path {
    a350_card *card;
    a350_sq *sq;                     /* NULL: none */
    uint32_t users;
    bool woken;                      /* the queue is not for another link */
    a350_jetty jetty;
    uint8_t *ring;                   /* of the jetty, through the BAR */
    const uint32_t *ci;              /* its consumer index */
    uint32_t max_msg;                /* bytes of a WQE */
    uint8_t peer_eid[A350_EID_LEN];
    a350_wqe wqe;                    /* the last one but for what differs */
    uint32_t wqe_op, wqe_local, wqe_remote;
    uint16_t pi;
    uint32_t room;                   /* blocks that are free for certain */
    uint32_t posted;                 /* WQEs of this transfer */
    uint32_t unrung;                 /* WQEs posted since the last doorbell */
    uint32_t chunk;                  /* ring when there are so many */
    uint32_t *last;                  /* word 0 of the last one */
    uint64_t seq;                    /* of the last doorbell */
    uint64_t chunk_seq[HX_CHUNKS];   /* by order, to wait for room */
    uint32_t chunk_head, chunk_num;
    uint32_t errors;                 /* count when it was opened */
    bool abandoned;                  /* nobody shall wait for room; atomic */
} hx_path;

uint32_t hx_path_open(hx_path *p, a350_card *card,
                      const uint8_t eid[A350_EID_LEN]);
/* Nothing of it touches any memory when this returns. */
void hx_path_close(hx_path *p);
/* Before posting, for each transfer; HX_EXHAUSTED: no queue is free. */
uint32_t hx_path_take(hx_path *p);
/* After a transfer that has completed. */
void hx_path_give(hx_path *p);
/*
 * Posts a list whose ranges are all inside those of the tables, in slices, and
 * rings; waits for room until @deadline. *@seq: what to wait for.
 */
uint32_t hx_path_post(hx_path *p, int op, const hixl_op *desc, size_t num,
                      const hx_table *local, const hx_table *remote,
                      uint64_t deadline, uint64_t *seq);
/* 0 complete, HX_TIMEOUT, HX_FAILED (the text says why). */
uint32_t hx_path_wait(hx_path *p, uint64_t seq, uint64_t deadline);
/* HX_WAITING, HX_COMPLETED, HX_ST_FAILED, without waiting. */
int hx_path_poll(hx_path *p, uint64_t seq);
/* Sets the error text from the queue's error. */
uint32_t hx_path_explain(hx_path *p);
/* Wakes all waiters with HX_FAILED. Under the link's use, too. */
void hx_path_wake(hx_path *p);
/* Ends a wait for room in hx_path_post. Needs no lock. */
static inline void hx_path_abandon(hx_path *p)
{
    __atomic_store_n(&p->abandoned, true, __ATOMIC_RELEASE);
}

/* ---- engine ---- */

typedef struct hx_link hx_link;
typedef struct hx_server hx_server;
typedef struct hx_pool hx_pool;

/* An asynchronous transfer until its final status was given. */
typedef struct hx_req hx_req;
struct hx_req {
    uint64_t id;
    hx_link *link;                   /* NULL: final is set */
    uint64_t seq;
    int final;
    const void *user_data;
    hx_req *next;
};

typedef struct hx_text {
    char *name, *msg;
    size_t name_len, msg_len;
} hx_text;
#define HX_NOTIFY_QUEUE 4096u

typedef struct hx_engine {
    uint32_t calls;                  /* inside it; under the core's mutex */
    hx_addr name;
    hx_options opt;
    a350_card *card;
    uint8_t eid[A350_EID_LEN];

    pthread_mutex_t query;           /* who removes from reqs */
    pthread_mutex_t registering;     /* who adds to regs */
    pthread_mutex_t mutex;           /* all below */
    hx_reg *regs;
    hx_link *links;
    pthread_cond_t linked;           /* a link is connected, or gone */
    hx_req *reqs, **reqs_tail;
    uint64_t next_req;
    uint32_t slots_used;             /* of opt.max_channels */
    hx_text notes[HX_NOTIFY_QUEUE];
    uint32_t note_head, note_num;
    bool beats, beat_stop;           /* heartbeats, with AutoConnect */
    pthread_t beat_thread;
    pthread_cond_t beat_cond;
    hx_server *server;               /* NULL: client only */
    hx_pool *pool;                   /* NULL until the first async call */
} hx_engine;

/* ---- link.c ---- */

struct hx_link {
    hx_engine *e;
    hx_link *next;
    uint32_t refs;                   /* under engine->mutex */
    bool listed;                     /* in engine->links */
    bool connecting;                 /* under engine->mutex: its maker's only */
    char remote[HX_NAME_MAX];        /* canonical name */

    pthread_mutex_t mutex;           /* serialises posting and the end */
    pthread_mutex_t talk;            /* who sends and receives */
    pthread_mutex_t use;             /* path.sq, path.users */
    int fd;
    hx_buf in;
    hx_path path;
    pthread_rwlock_t path_lock;
    bool open;                       /* path may be used; fd is open then */
    bool failed;                     /* latched; atomic access */
    hx_table local, remote_mem;      /* snapshots of Connect */
    uint64_t next_note;
};

static inline bool hx_link_failed(const hx_link *l)
{
    return __atomic_load_n(&l->failed, __ATOMIC_ACQUIRE);
}

/*
 * The link to @remote with a reference. HX_NOT_CONNECTED: there is none;
 * HX_TIMEOUT: another call is still connecting it. The first one sets no error
 * text; for the second, @call names the caller.
 */
uint32_t hx_link_find(hx_engine *e, const hx_addr *remote, uint64_t deadline,
                      hx_link **link);
uint32_t hx_link_get(hx_engine *e, const char *call, const char *remote,
                     uint64_t deadline, hx_link **link);
void hx_local_endpoints(const hx_engine *e, hx_endpoints *p);
void hx_link_put(hx_link *l);
uint32_t hx_link_connect(hx_engine *e, const hx_addr *remote,
                         uint64_t deadline);
uint32_t hx_link_disconnect(hx_engine *e, const char *remote,
                            uint64_t deadline);
/* Latches the link failed and stops its work. Link mutex held. */
void hx_link_fail(hx_link *l);
/*
 * The same for who has none of its locks, and at once, whoever has them. With
 * AutoConnect the link is disconnected.
 */
void hx_link_break(hx_link *l);
/* Ends waits for room in the ring, for a Finalize. */
void hx_link_abandon_all(hx_engine *e);
/* A transfer that was started is over: the link may do without its queue. */
void hx_link_done(hx_link *l);
void hx_link_close_all(hx_engine *e);
/* Checks a remote name: HX_PARAM_INVALID for self or no target. */
uint32_t hx_remote_name(hx_engine *e, const char *remote, hx_addr *a);
/* One heartbeat, unless the link is at work; a peer that is gone fails it. */
void hx_link_beat(hx_link *l);
uint32_t hx_link_notify(hx_link *l, const hx_note *n, uint64_t deadline);

/* ---- transfer.c ---- */

/* What both forms of a transfer are told. */
typedef struct hx_job {
    const char *remote;
    int op;
    const hixl_op *desc;
    size_t num;
} hx_job;

uint32_t hx_transfer_sync(hx_engine *e, const hx_job *j, int32_t timeout_ms);
uint32_t hx_transfer_async(hx_engine *e, const hx_job *j,
                           const void *user_data, void **req);
uint32_t hx_transfer_status(hx_engine *e, void *req, int *status);
uint32_t hx_transfer_results(hx_engine *e, uint32_t max, bool skip_waiting,
                             hixl_result_fn *fn, void *opaque);
/* Final states for the requests of a link that ends. Link mutex held. */
void hx_requests_settle(hx_link *l);
void hx_requests_free(hx_engine *e);

/* ---- server.c ---- */

extern unsigned hx_patience_ms;      /* for a frame to become whole: 10 s */
uint32_t hx_server_start(hx_engine *e);
void hx_server_stop(hx_engine *e);

/* ---- heartbeat.c ---- */

extern unsigned hx_heartbeat_ms;     /* 10 s, but for tests */
uint32_t hx_heartbeat_start(hx_engine *e);
void hx_heartbeat_stop(hx_engine *e);

/* ---- pool.c ---- */

uint32_t hx_pool_submit(hx_engine *e, const char *remote, bool connect,
                        int32_t timeout_ms);
uint32_t hx_pool_status(hx_engine *e, const char *remote, int *status);
uint32_t hx_pool_list(hx_engine *e, hixl_async_fn *fn, void *opaque);
void hx_pool_stop(hx_engine *e);

#ifdef __cplusplus
}
#endif

#endif /* HX_H */
