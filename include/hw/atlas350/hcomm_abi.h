/*
 * Atlas 350 virtual card: the objects behind device-side Hcomm handles.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later OR Apache-2.0
 *
 * The host library builds these in HBM and gives their device address to
 * kernels as ThreadHandle and ChannelHandle; the device-side Hcomm library
 * (libccl_kernel.so) checks magic and size at every call and works on them.
 * Ours: docs/specs/atlas350-hcomm.rst. Little-endian, LP64, natural alignment.
 */
#ifndef HW_ATLAS350_HCOMM_ABI_H
#define HW_ATLAS350_HCOMM_ABI_H

#include <stdint.h>
#include "hw/atlas350/regs.h"

#define A350_THREAD_MAGIC           0x44524854u  /* "THRD" */
#define A350_CHANNEL_MAGIC          0x4e414843u  /* "CHAN" */
#define A350_COMM_MAGIC             0x4d4d4f43u  /* "COMM" */
#define A350_SYMWIN_MAGIC           0x574d5953u  /* "SYMW" */
#define A350_HCOMM_ABI_VERSION      1u
#define A350_THREAD_NOTIFY_MAX      65536u
#define A350_CHANNEL_NOTIFY_MAX     64u
#define A350_COMM_NAME_MAX          128

enum a350_thread_kind {
    A350_THREAD_QUEUE = 1,       /* AICPU_TS: owns an SQ that kernels fill */
    A350_THREAD_EXPORTED = 2,    /* a host stream: only its notifies */
};

/*
 * Communicator, device side. Named by its string in HcommAcquireComm; the
 * host keeps the list of live ones in HBM, its head is given to the firmware
 * library by the first thread object a kernel uses (field comm).
 */
typedef struct a350_comm_obj {
    uint32_t magic, version;
    uint32_t rank, rank_size;
    uint32_t lock;               /* 0 free, else holder's token; AMO */
    uint32_t status;             /* HcclCommStatus */
    uint64_t next;               /* next live communicator of this card, 0 */
    char name[A350_COMM_NAME_MAX];
    uint64_t thread_num, channel_num;
    uint64_t reserved[8];
} a350_comm_obj;

typedef struct a350_thread_obj {
    uint32_t magic, version;
    uint32_t size;               /* of this object, notify ids included */
    uint32_t kind;               /* enum a350_thread_kind */
    uint32_t rank;               /* of the owner; A350_ID_NONE outside a comm */
    uint32_t index;              /* thread number in the pool */
    uint32_t notify_num;         /* all, the hidden host notify included */
    uint32_t sq_id;
    uint32_t sq_depth;
    uint32_t sq_tail;            /* next slot to fill, kept by the device */
    uint32_t task;               /* next task number */
    uint32_t lock;               /* AMO spin lock for tail and staging */
    uint64_t sq_base;            /* device address of slot 0 */
    uint64_t sq_page;            /* device address of the register page */
    uint64_t comm;               /* struct a350_comm_obj, 0: none */
    uint64_t notify_ids;         /* device address of uint32_t[notify_num] */
    uint64_t reserved[6];
} a350_thread_obj;
A350_STATIC_ASSERT(sizeof(a350_thread_obj) == 128);
A350_STATIC_ASSERT(offsetof(a350_thread_obj, sq_base) == 48);

/* A memory range with its registration. */
typedef struct a350_mem_token {
    uint64_t addr, len;
    uint32_t token_id, token_value;
} a350_mem_token;
A350_STATIC_ASSERT(sizeof(a350_mem_token) == 24);

enum a350_channel_proto {
    A350_PROTO_UB = 0,           /* jetty */
    A350_PROTO_PCIE = 1,         /* peer to peer over the bus */
};

typedef struct a350_channel_obj {
    uint32_t magic, version;
    uint32_t size;
    uint32_t proto;              /* enum a350_channel_proto */
    uint32_t comm_protocol;      /* CommProtocol the user asked for */
    uint32_t rank, peer_rank;
    uint32_t notify_num;
    uint32_t jetty_id;
    uint32_t jetty_depth;        /* blocks */
    uint64_t wq_base;            /* device address of block 0 */
    uint64_t ci_addr;            /* u32 consumer index, written by the card */
    uint32_t pi;                 /* 16-bit running producer index */
    uint32_t fence;              /* next data operation is fenced */
    uint32_t lock;
    uint32_t max_msg;            /* bytes a WQE may move */
    uint8_t eid[A350_EID_LEN];   /* local */
    uint8_t peer_eid[A350_EID_LEN];
    uint32_t tpn;
    uint32_t local_any_token;    /* token id that covers all of this card's
                                    memory, for local operands that are not
                                    in the table below */
    uint32_t local_mem_num, remote_mem_num;
    uint64_t local_mems;         /* device address of a350_mem_token[] */
    uint64_t remote_mems;
    uint64_t comm;               /* struct a350_comm_obj, 0: none */
    uint32_t drain_notify;       /* local notify id; A350_ID_NONE: no drain */
    uint32_t reserved0;
    a350_mem_token drain_remote; /* 8 bytes {1, 0} on the peer */
    uint32_t local_notify[A350_CHANNEL_NOTIFY_MAX];
    a350_mem_token remote_notify[A350_CHANNEL_NOTIFY_MAX]; /* addr: register */
    uint64_t reserved[8];
} a350_channel_obj;
A350_STATIC_ASSERT(offsetof(a350_channel_obj, wq_base) == 40);
A350_STATIC_ASSERT(offsetof(a350_channel_obj, pi) == 56);
A350_STATIC_ASSERT(offsetof(a350_channel_obj, eid) == 72);
A350_STATIC_ASSERT(offsetof(a350_channel_obj, local_mems) == 120);

/*
 * Symmetric window: what an HcclCommSymWindow points to. A peer's entry is 0
 * until a channel that carries the window's memory to it exists.
 */
typedef struct a350_symwin_obj {
    uint32_t magic, version;
    uint32_t size;               /* of this object */
    uint32_t rank, rank_size;
    uint32_t flags;
    uint64_t win_size;           /* bytes, the same on all ranks */
    uint64_t comm;               /* struct a350_comm_obj */
    uint64_t peers;              /* device address of uint64_t[rank_size]: the
                                    window's base on that rank */
    uint64_t reserved[2];
} a350_symwin_obj;
A350_STATIC_ASSERT(sizeof(a350_symwin_obj) == 64);

/*
 * Life of the objects. The host clears magic before it frees an object, so
 * that a stale handle is recognised. Communicators are made known to the
 * device by launching, as AICPU_D tasks of library A350_HCOMM_SO, the
 * functions below with an a350_comm_attach as argument: attach when the
 * object is filled, detach before it is freed. A thread's comm field makes
 * its communicator known too.
 */
#define A350_HCOMM_SO               "libccl_kernel.so"
#define A350_HCOMM_ATTACH           "a350_hcomm_attach"
#define A350_HCOMM_DETACH           "a350_hcomm_detach"
typedef struct a350_comm_attach {
    uint64_t comm;               /* device address of a350_comm_obj */
} a350_comm_attach;

/*
 * What brackets a kernel of HcclAicpuKernelLaunch (hccl-control-plane.md
 * §4.5), kernels of the same library: a wait of @thread for its own notify
 * @index, and a record of notify @index of @target on @thread.
 */
#define A350_HCOMM_STEP_WAIT        "a350_hcomm_step_wait"
#define A350_HCOMM_STEP_RECORD      "a350_hcomm_step_record"
typedef struct a350_thread_step {
    uint64_t thread, target;     /* handles as the device knows them */
    uint32_t index, reserved;
} a350_thread_step;
A350_STATIC_ASSERT(sizeof(a350_thread_step) == 24);

/*
 * Called by the firmware on the core that is about to enter a kernel, if the
 * library is loaded: ends what an earlier kernel left behind on this core
 * (batch mode, locks).
 */
#define A350_HCOMM_ENTER            "a350_hcomm_kernel_enter"
/* const char *(void): why the kernel's last failed call failed; "" none did. */
#define A350_HCOMM_ERROR            "a350_hcomm_error"

#endif /* HW_ATLAS350_HCOMM_ABI_H */
