/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of libhcomm.so: communicators and what they own.
 *
 * Life. HcclComm, ThreadHandle (host), HcclMemHandle and EndpointHandle are
 * numbers that are never used twice, looked up in one table (handle.c), so a
 * stale handle is recognised for certain. A call takes a reference on the
 * communicator it works on; destroying one that others work on is
 * HCCL_E_AGAIN.
 *
 * Locks, in this order: hcl_comm.launch_lock, hcl_comm.chan_lock,
 * hcl_comm.lock, the table's and the mailboxes' own (leaves). chan_lock may be
 * held for minutes, the others never across anything that waits for another
 * rank.
 */
#ifndef HCCL_INTERNAL_H
#define HCCL_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#pragma GCC visibility push(default)
#include "acl/acl.h"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_launch.h"
#include "hccl/hccl_rank_graph.h"
#include "hccl/hccl_res.h"
#include "hccl/hccl_sym_win.h"
#include "hccl/hccl_team.h"
#include "hccl/hccl_mc2.h"
#include "hcomm/hcomm_primitives.h"
#include "hcomm/hcomm_res.h"
#include "hccl/hccl_res_expt.h"
#include "hccl/hccl_diag.h"
#include "hccl/hcomm_diag.h"
#include "hcomm/hcomm_exception.h"
#pragma GCC visibility pop

#include "a350_card.h"
#include "acl_internal.h"
#include "hw/atlas350/hcomm_abi.h"

/*
 * An exported symbol that no public header declares: other libraries' calls,
 * and what libhccl.so uses of this library.
 */
#define HCL_EXPORT __attribute__((visibility("default")))

typedef struct hcl_comm hcl_comm;

/* ---- limits: one table, docs/hccl.rst shows it ---- */

#define HCL_RANKS_MAX           65536
#define HCL_THREADS_MAX         200     /* in a communicator */
#define HCL_NOTIFIES_MAX        65536   /* of threads, in a communicator */
#define HCL_THREAD_NOTIFY_MAX   65535   /* argument of one thread */
#define HCL_DED_NOTIFY_MAX      64
#define HCL_EXPORT_MAX          40
#define HCL_CHANNELS_CALL_MAX   1048576
#define HCL_CHANNEL_NOTIFY_MAX  64
#define HCL_MEMS_MAX            256     /* a channel gives to its peer */
#define HCL_EXCHANGE_MAX        65536   /* bytes of exchange info */
#define HCL_DEVICES_MAX         65
#define HCL_ALLOC_THREADS_MAX   1000    /* HcommThreadAlloc */
#define HCL_REGNAME_MAX         160
/* Characters without the NUL; checked against the public headers below. */
#define HCL_TAG_MAX             255     /* contexts, memories, names of kernels */
#define HCL_QUEUE_TAG_MAX       254     /* of a channel's shared queue */
#define HCL_NAME_MAX            127     /* communicator, hcclUdi */
#define HCL_ALGO_MAX            1599
#define HCL_CHANNEL_NAME_MAX    191
/* Rank table 2.0: spec/api/hccl-control-plane.md §10.1 */
#define HCL_TABLE_ID_MAX        64      /* local_id, device_id */
#define HCL_TABLE_LAYER_MAX     7
#define HCL_TABLE_LEVELS_MAX    8
#define HCL_TABLE_INSTANCE_MAX  1024    /* characters of net_instance_id */
#define HCL_TABLE_ADDRS_MAX     24
#define HCL_TABLE_PORTS_MAX     16
#define HCL_OPS_MAX             16      /* kinds of collective operators */

/* A limit as text, so that messages say what the table says. */
#define HCL_TEXT_(x)            #x
#define HCL_TEXT(x)             HCL_TEXT_(x)

_Static_assert(HCL_TAG_MAX == HCCL_RES_TAG_MAX_LEN, "tags");
_Static_assert(HCL_QUEUE_TAG_MAX + 1 ==
               HCCL_CHANNEL_CONFIG_SHARED_QUEUE_TAG_MAX_LEN, "queue tags");
_Static_assert(HCL_NAME_MAX + 1 == COMM_NAME_MAX_LENGTH, "names");
_Static_assert(HCL_ALGO_MAX + 1 == HCCL_COMM_ALGO_MAX_LENGTH, "algorithms");

/* ---- errors ---- */

/*
 * Set the calling thread's recent error (aclGetRecentErrMsg) and return @rc:
 *   return hcl_fail(HCCL_E_PARA, "EI0003", "...", ...);
 */
HCL_EXPORT HcclResult hcl_fail(HcclResult rc, const char *code,
                               const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* EI0003 in its published parts. */
HCL_EXPORT HcclResult hcl_bad(HcclResult rc, const char *call,
                              const char *param, const char *expect,
                              const char *value_fmt, ...)
    __attribute__((format(printf, 5, 6)));
HCL_EXPORT HcclResult hcl_null(const char *call, const char *param);
/* A driver call failed with @rc (-errno): names @what, adds its text. */
HcclResult hcl_driver(int rc, const char *what);
HCL_EXPORT HcclResult hcl_acl(aclError rc, const char *what);
const char *hcl_engine_name(CommEngine engine);
const char *hcl_protocol_name(CommProtocol protocol);
HCL_EXPORT void hcl_log(int level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- environment, read once ---- */

#define HCL_PORT_RANGES 16

typedef struct hcl_ports {
    uint16_t first, last;        /* both included */
} hcl_ports;

typedef struct hcl_env {
    uint32_t buffer_mib;
    uint32_t connect_timeout;    /* s, without the 20 s */
    float exec_timeout;          /* s */
    uint32_t expansion;          /* as HcclCommConfig.hcclOpExpansionMode */
    uint32_t ub_timeout;         /* class 0..31 */
    bool task_exception;
    bool inconsistent_check;
    char if_ip[64];
    char ifname[256];
    int family;                  /* AF_INET, AF_INET6 */
    hcl_ports ports[HCL_PORT_RANGES];
    unsigned port_ranges;
    bool ports_by_user;
} hcl_env;

/* HCCL_E_PARA with EI0001 if a value is wrong. */
HcclResult hcl_env_get(const hcl_env **env);
uint64_t hcl_now_ns(void);
/* Absolute time (hcl_now_ns) when a set-up wait ends. */
uint64_t hcl_connect_deadline(void);
uint32_t hcl_connect_limit(void);    /* seconds, for messages */

/* ---- handles ---- */

enum hcl_kind {
    HCL_COMM = 1, HCL_THREAD, HCL_MEM, HCL_ENDPOINT, HCL_EPMEM, HCL_CHANNEL,
    HCL_SYMWIN,
};

uint64_t hcl_handle_new(enum hcl_kind kind, void *object);
/* Under a number chosen by the caller: device objects. */
int hcl_handle_add(uint64_t handle, enum hcl_kind kind, void *object);
void *hcl_handle_get(uint64_t handle, enum hcl_kind kind);
void hcl_handle_drop(uint64_t handle);
/* Any object of @kind that matches, or NULL. */
void *hcl_handle_find(enum hcl_kind kind,
                      bool (*match)(const void *object, const void *arg),
                      const void *arg);

/*
 * A device that is reset takes all that was made on it along; what was not
 * destroyed is told in the log. Called before the first thing is made.
 */
void hcl_watch_resets(void);
/* Threads and endpoints without a communicator on @card. */
void hcl_threads_left(a350_card *card, int32_t device);
void hcl_endpoints_left(a350_card *card, int32_t device);

/* ---- talking to other ranks ---- */

#define HCL_NONCE   16
#define HCL_KEY     128
#define HCL_IP_LEN  48

/* One rank, as all others know it. Goes over the wire as it is. */
typedef struct hcl_rank_info {
    uint32_t rank;
    uint32_t device;             /* physical id in its guest */
    uint32_t card_index;         /* in the fabric */
    uint32_t pid;
    uint64_t fabric;
    uint64_t host_id;            /* the same for all processes of a guest */
    uint8_t eid[A350_EID_LEN];
    char ip[HCL_IP_LEN];
    uint32_t port;
    uint32_t reserved;
} hcl_rank_info;

/* What must be equal on all ranks of a communicator. */
typedef struct hcl_settings {
    uint32_t buffer_mib;
    uint32_t expansion;
    uint32_t sq_depth;
    uint32_t n_ranks;
    uint32_t qos, traffic_class, service_level;
    uint32_t algo_digest;        /* of all of it */
    char algo[64];               /* its beginning, for messages */
    char name[COMM_NAME_MAX_LENGTH];
    char version[32];
} hcl_settings;

/*
 * True if they differ; @text then says in which field, as "EI0005 ...": the
 * published number stands in front.
 */
bool hcl_settings_differ(const hcl_settings *a, uint32_t rank_a,
                         const hcl_settings *b, uint32_t rank_b, char *text,
                         size_t len);

typedef struct hcl_mail {
    struct hcl_mail *next;
    uint32_t src, kind, len;
    char key[HCL_KEY];
    uint8_t data[];
} hcl_mail;

enum hcl_mail_kind {
    HCL_MAIL_OFFER = 1,          /* channel */
    HCL_MAIL_SUBCOMM = 2,
    HCL_MAIL_SYMWIN = 3,
    HCL_MAIL_OPERATOR = 4,
};

typedef struct hcl_box hcl_box;

/* Where a root session may be. */
typedef struct hcl_where {
    char ip[HCL_IP_LEN];
    hcl_ports ports[HCL_PORT_RANGES];
    unsigned ranges;
    bool listens;                /* at one port, already: it gave the address */
} hcl_where;

/* The one port of a process that listens. */
static inline hcl_where hcl_where_of(const char ip[HCL_IP_LEN], uint32_t port)
{
    hcl_where w = { .ports = { { (uint16_t)port, (uint16_t)port } },
                    .ranges = 1, .listens = true };

    memcpy(w.ip, ip, HCL_IP_LEN);
    return w;
}

/* Where this process is reached; starts the server at the first call. */
HcclResult hcl_server_start(char ip[HCL_IP_LEN], uint32_t *port);
/* Lets the server, which runs, listen at @w too if it does not yet. */
HcclResult hcl_server_also(const hcl_where *w);
uint64_t hcl_host_id(void);
HcclResult hcl_random(void *buf, size_t len);

/* A session that waits for all ranks' hello; ends by itself. */
HcclResult hcl_root_open(uint8_t nonce[HCL_NONCE]);
/* For rank tables: the nonce is a digest all ranks know. */
HcclResult hcl_root_open_as(const uint8_t nonce[HCL_NONCE]);
/*
 * Says hello to the root session and waits for the table of all ranks, which
 * is allocated. A root that does not listen yet is looked for at all ports of
 * @w until @deadline, past whatever else answers there.
 */
HcclResult hcl_root_join(const hcl_where *w, const uint8_t nonce[HCL_NONCE],
                         const hcl_settings *set, const hcl_rank_info *self,
                         hcl_rank_info **table, uint64_t deadline);

hcl_box *hcl_box_new(const uint8_t nonce[HCL_NONCE], uint32_t rank);
void hcl_box_free(hcl_box *box);
/* Puts a message into the box of @to. */
HcclResult hcl_mail_send(const hcl_rank_info *to, uint32_t from,
                         const uint8_t nonce[HCL_NONCE], uint32_t kind,
                         const char *key, const void *data, uint32_t len,
                         uint64_t deadline);
/* Takes the message of @src with @key out of the box; NULL: deadline. */
hcl_mail *hcl_mail_take(hcl_box *box, uint32_t src, uint32_t kind,
                        const char *key, uint64_t deadline);
/* For a rank that did not come: ", which has ended" or ", which runs". */
const char *hcl_peer_state(const hcl_rank_info *peer);
/*
 * The key under which the ranks meet for @what. All ranks see it when their
 * arguments differ, and leave at once: messages of others stay behind or are
 * still to come. The next attempt has another key, the same on all ranks.
 */
void hcl_attempt_key(hcl_comm *c, const char *what, char key[HCL_KEY]);
void hcl_attempt_differs(hcl_comm *c, const char *what);
void hcl_attempts_free(hcl_comm *c);
/* Key of any other message of @src and @kind, for explanations. */
bool hcl_mail_other(hcl_box *box, uint32_t src, uint32_t kind,
                    char key[HCL_KEY]);

/* ---- objects of a communicator ---- */

typedef struct hcl_notifies {
    uint32_t num, cap;
    uint32_t *ids;
} hcl_notifies;

/* A thread of either side. The side is told by @sq and @stream. */
typedef struct hcl_thread {
    struct hcl_thread *next;
    hcl_comm *comm;                 /* NULL: HcommThreadAlloc */
    a350_card *card;
    CommEngine engine;
    uint32_t index;
    uint64_t host;               /* handle for the host; 0: not exported */
    uint64_t device;             /* handle for kernels = address; 0: not yet */
    a350_sq *sq;                 /* device threads */
    aclrtStream stream;          /* host threads */
    a350_stream *s;
    bool own_stream, waits;
    a350_stream_mark mark;       /* of what was queued last on the stream */
    uint64_t ids_addr;           /* the notify ids' copy in HBM */
    hcl_notifies notify;
    int errors_told;
} hcl_thread;

typedef struct hcl_mem {
    struct hcl_mem *next;
    uint64_t handle;
    char tag[HCCL_RES_TAG_MAX_LEN + 1];
    CommMem mem;
    uint64_t base, length;       /* registered */
    uint32_t token_id, token_value;
    bool mapped;                 /* host memory that we pinned */
} hcl_mem;

typedef struct hcl_ctx {
    struct hcl_ctx *next;
    char tag[HCCL_RES_TAG_MAX_LEN + 1];
    CommEngine engine;
    bool device;
    void *addr;
    uint64_t size;
} hcl_ctx;

typedef struct hcl_channel {
    struct hcl_channel *next;
    hcl_comm *comm;                 /* NULL: HcommChannelCreate */
    char key[HCL_KEY];
    CommEngine engine;
    CommProtocol protocol;
    uint32_t peer, notify_num;
    uint64_t device;             /* handle: a350_channel_obj */
    a350_card *card;
    a350_jetty jetty;
    uint32_t notify_first, drain_notify;
    uint32_t notify_token, notify_token_value;
    uint64_t local_mems, remote_mems;    /* tables in HBM */
    uint32_t mem_num;
    CommMem *mems;               /* what the peer gave */
    a350_mem_token *tokens;
    char **tags;
    void *exchange;              /* the peer's exchange info */
    uint32_t exchange_len;
} hcl_channel;

typedef struct hcl_win {
    struct hcl_win *next;
    uint64_t handle;             /* device address of a350_symwin_obj */
    uint64_t addr, size;
    uint64_t peers;              /* its table in HBM */
    hcl_mem *mem;
} hcl_win;

/* An operator's arguments that all ranks must agree on; -1, 0: it has none. */
typedef struct hcl_op {
    char name[32];
    int32_t type, op;
    int64_t root;
    uint64_t count;
    uint64_t digest;             /* of arrays */
} hcl_op;

struct hcl_comm {
    struct hcl_comm *next;       /* all live ones */
    uint64_t handle;
    int refs;
    bool destroyed;
    char name[COMM_NAME_MAX_LENGTH];
    uint32_t rank, n_ranks;
    hcl_rank_info *table;
    uint8_t nonce[HCL_NONCE];
    hcl_box *box;
    int32_t device;              /* user id */
    a350_card *card;
    HcclCommConfig config;
    hcl_settings set;
    bool world;                  /* may be split */
    struct hcl_comm *parent;

    uint64_t buffer, buffer_size;
    hcl_mem *buffer_mem;
    uint64_t drain_const;        /* 8 bytes {1, 0} for the peers' drains */
    uint32_t drain_token, drain_token_value;
    uint64_t object;             /* a350_comm_obj */

    pthread_mutex_t lock;        /* everything below */
    hcl_thread *device_threads, *host_threads, *stream_threads;
    uint32_t n_device_threads, n_host_threads, n_stream_threads, n_notifies;
    hcl_thread *dedicated;
    hcl_mem *mems, *dev_mems;
    uint32_t n_mems;
    hcl_ctx *ctxs;
    hcl_win *wins;
    uint32_t win_serial;         /* of the next one; the same on all ranks */
    void *exchange;
    uint32_t exchange_len;
    struct hcl_attempt *attempts;    /* that failed for different arguments */
    hcl_op ops[HCL_OPS_MAX];     /* the first of each kind, in order */
    uint32_t n_ops;
    HcclCommStatus status;
    HcclResult async_error;
    char first_error[512];
    aclError first_code;         /* what its streams got */

    pthread_mutex_t chan_lock;
    hcl_channel *channels;

    pthread_mutex_t launch_lock; /* outermost; HcclAicpuKernelLaunch */
    struct hcl_helper *helpers;
    struct hcl_unfold *unfolds;

    uint32_t *scratch;           /* arrays that rank graph queries give */
    CommLink *links;
};

/* Looks a communicator up and takes a reference; sets *@rc otherwise. */
hcl_comm *hcl_comm_get(HcclComm comm, const char *call, HcclResult *rc);
void hcl_comm_put(hcl_comm *c);
HcclResult hcl_comm_create(const char *name, bool world, hcl_comm *parent,
                           const uint8_t nonce[HCL_NONCE], hcl_box *box,
                           hcl_rank_info *table, const hcl_settings *set,
                           uint32_t rank, const HcclCommConfig *config,
                           HcclComm *out);
/* Fills @set and @self for the current device; checks @config. */
HcclResult hcl_comm_prepare(const char *call, const HcclCommConfig *config,
                            uint32_t n_ranks, uint32_t rank,
                            const char *default_name, hcl_settings *set,
                            hcl_rank_info *self, a350_card **card);
bool hcl_comm_name_taken(int32_t device, const char *name);
/* Takes a reference. @device -1: the current one's, else anybody's. */
hcl_comm *hcl_comm_by_name(int32_t device, const char *name);
/* Take a reference. */
hcl_comm *hcl_comm_by_object(uint64_t object);
hcl_comm *hcl_comm_by_nonce(const uint8_t nonce[HCL_NONCE], uint32_t rank);
HcclResult hcl_comm_destroy(HcclComm comm);
HcclResult hcl_init_root_info(uint32_t n_ranks, const HcclRootInfo *info,
                              uint32_t rank, const HcclCommConfig *config,
                              HcclComm *comm, const char *call);
HcclResult hcl_init_cluster(const char *path, uint32_t rank,
                            const HcclCommConfig *config, HcclComm *comm,
                            const char *call);

/* Between HcclGroupStart and HcclGroupEnd of this thread. */
HCL_EXPORT bool hcl_group_active(void);

/* ---- for the operators (libhccl.so) ---- */

/*
 * Channels that only the operators have: what custom operators acquire, and
 * with how many notifies, makes no difference to them.
 */
HCL_EXPORT HcclResult hcl_channels_own(HcclComm comm,
                                       const HcclChannelDesc *descs,
                                       uint32_t num, ChannelHandle *channels);
/* Limit of the operators' waits in seconds, 0: none. */
HCL_EXPORT HcclResult hcl_exec_seconds(HcclComm comm, uint32_t *seconds);
/*
 * Calls @fn(@arg) when this thread's group ends, on another thread, in the
 * context of now. Fails, without calling it, when the group is one that makes
 * communicators.
 */
typedef HcclResult hcl_group_fn(void *arg);
HCL_EXPORT HcclResult hcl_group_call(hcl_group_fn *fn, void *arg);
/* Which group of this thread that is. */
HCL_EXPORT uint64_t hcl_group_serial(void);
/* Tells the other ranks, compares with what they have told: EI0005. */
HCL_EXPORT HcclResult hcl_op_agree(HcclComm comm, const hcl_op *op);
/* @peer has told about an operator; before its call goes on. */
void hcl_op_arrived(const uint8_t nonce[HCL_NONCE], uint32_t rank,
                    uint32_t peer);

/* ---- HcclAicpuKernelLaunch ---- */

typedef struct hcl_launch {
    HcclComm comm;
    ThreadHandle thread;
    aclrtStream user, unfold;
    uint64_t seconds;
    uint32_t arg_size;
    char so[HCCL_KERNEL_SO_NAME_MAX_LEN];
    char function[HCCL_KERNEL_FUNC_NAME_MAX_LEN];
    uint8_t args[P2P_MAX_ARG_SIZE];
} hcl_launch;

/* Ends the host's wait: a stream error hook; @opaque is its thread. */
void hcl_unfold_failed(void *opaque, aclError code);
HcclResult hcl_launch_run(const hcl_launch *l);
/* Takes @l; it runs at the end of the group. */
HcclResult hcl_group_launch(hcl_launch *l);
/* Ends the streams on which kernels of @c's operators are queued. */
void hcl_unfolds_end(hcl_comm *c, aclError code, const char *text);
void hcl_helpers_free(hcl_comm *c);
/* The kernel by file and symbol name, from where kernel.c says. */
HcclResult hcl_kernel_find(const char *so, const char *function,
                           aclrtFuncHandle *handle);

/* Of HcommExceptionInfo.header; the public sources give no number. */
#define HCL_EXCEPTION_MAGIC     0x0f0f0f0fu
/* Calls what HcommExceptionRegisterCallback has; hold no lock. */
void hcl_exception_tell(const HcommExceptionInfo *info);

/* ---- threads, channels ---- */

hcl_thread *hcl_thread_get(uint64_t handle);
/* Ends the streams that wait for @c's work; it stays failed. */
void hcl_comm_fail(hcl_comm *c, aclError code, const char *text);
/* For a wait that was queued on @t's stream while its communicator failed. */
void hcl_thread_waits(hcl_thread *t);
/* Ends the streams on which work of @c is queued: its notifies go. */
void hcl_comm_leave_streams(hcl_comm *c);
/* Why it has failed; false, "": it has not. */
bool hcl_comm_failed(hcl_comm *c, char *text, size_t len);
HcclResult hcl_thread_new_device(a350_card *card, hcl_comm *c,
                                 CommEngine engine, uint32_t index,
                                 uint32_t notifies, hcl_thread **out);
HcclResult hcl_thread_new_host(a350_card *card, hcl_comm *c, CommEngine engine,
                               aclrtStream stream, uint32_t index,
                               uint32_t notifies, hcl_thread **out);
HcclResult hcl_thread_export_host(hcl_thread *t);
HcclResult hcl_thread_export_device(hcl_thread *t);
void hcl_thread_free(hcl_thread *t);
HcclResult hcl_thread_grow(hcl_thread *t, uint32_t notifies);

void hcl_channel_free(hcl_channel *ch);
hcl_channel *hcl_channel_find(hcl_comm *c, ChannelHandle handle);

HcclResult hcl_mem_register(a350_card *card, const char *call, const char *tag,
                            const CommMem *mem, hcl_mem **out);
/*
 * Takes a segment from the peers; waits for a transfer that uses it. False: it
 * still does after some seconds, and the memory must not be used again.
 */
bool hcl_segment_end(a350_card *card, uint32_t token_id);
bool hcl_mem_release(a350_card *card, hcl_mem *m);
void hcl_symwin_fill(hcl_comm *c, hcl_channel *ch);
void hcl_symwin_free_all(hcl_comm *c);
void hcl_ctx_free_all(hcl_comm *c);

/* What both ends of a channel tell each other (channel_wire.c). */
typedef struct hcl_offer_mem {
    uint64_t addr, size;         /* what the user sees */
    uint64_t base, length;       /* what is registered */
    uint32_t token_id, token_value;
    uint32_t type, reserved;
    char tag[HCCL_RES_TAG_MAX_LEN + 1];
} hcl_offer_mem;

typedef struct hcl_offer {
    uint32_t magic, version;
    uint32_t rank, peer, engine, protocol;
    uint32_t notify_num, jetty_id;
    uint8_t eid[A350_EID_LEN];
    uint64_t notify_addr[A350_CHANNEL_NOTIFY_MAX];
    uint32_t notify_token, notify_token_value;
    a350_mem_token drain;
    char lib_version[32];
    uint32_t mem_num, exchange_len;
    /* hcl_offer_mem[mem_num], then exchange_len bytes */
} hcl_offer;
void hcl_offer_mem_fill(hcl_offer_mem *o, const hcl_mem *m);
/* Everything in it lies in memory of card @card, or of a host. */
HcclResult hcl_offer_mem_check(const hcl_offer_mem *m, uint32_t card);
/* ---- configuration of channels, of both levels (channel.c) ---- */

typedef struct hcl_channel_config {
    uint32_t shared;
    char tag[HCL_QUEUE_TAG_MAX + 1];
} hcl_channel_config;

HcclResult hcl_channel_config_new(const char *call, void **config);
/* @type 0 is IS_SHARED_QUEUE, in both levels' enumerations. */
HcclResult hcl_channel_config_int(const char *call, void *config, int type,
                                  uint32_t value);
/* What this card cannot do of it. NULL: the defaults. */
HcclResult hcl_channel_config_check(const char *call, const void *config);

#define HCL_OFFER_MAGIC 0x5246464fu

#define HCL_LIB_VERSION "atlas350-1"

/* Resources of this side, before the peer is known. */
HcclResult hcl_channel_prepare(hcl_channel *ch, uint32_t rank, uint32_t depth,
                               const char *comm_name,
                               const uint8_t peer_eid[A350_EID_LEN]);
HcclResult hcl_offer_make(hcl_channel *ch, uint32_t rank, hcl_mem *const *mems,
                          uint32_t n, const void *exchange, uint32_t ex_len,
                          const a350_mem_token *drain, hcl_offer **offer,
                          uint32_t *len);
/* Checks what the peer sent, then builds the object kernels use. */
HcclResult hcl_channel_connect(hcl_channel *ch, uint32_t rank,
                               const hcl_offer *offer, uint32_t len,
                               const uint8_t peer_eid[A350_EID_LEN],
                               hcl_mem *const *mems, uint32_t n,
                               uint64_t comm_object);

/* Runs a function of the device library with @args; waits for it. */
HcclResult hcl_device_call(a350_card *card, const char *function,
                           const void *args, size_t len);

#endif /* HCCL_INTERNAL_H */
