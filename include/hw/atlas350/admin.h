/*
 * Atlas 350 virtual card: the admin queue (ours; docs/specs/atlas350.rst).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later OR Apache-2.0
 *
 * BAR0 + A350_SHM_ADMIN holds A350_ADMIN_SLOTS slots of 1 KiB. The driver
 * fills a slot, sets status POSTED, then writes the slot number to
 * A350_CTRL_ADMIN_DB. The card copies the slot once, executes the command,
 * writes result, message and reply data, then status DONE or FAILED, sets the
 * slot's bit in A350_CTRL_ADMIN_PENDING and raises MSI-X vector 0. Slots are
 * independent: several may be posted at once, they complete in any order.
 *
 * A failed command changes nothing. Its message names the argument, the value
 * and the legal range in one line of text.
 */
#ifndef HW_ATLAS350_ADMIN_H
#define HW_ATLAS350_ADMIN_H

#include <stdint.h>
#include "hw/atlas350/regs.h"

#define A350_ADMIN_SLOTS            32u
#define A350_ADMIN_SLOT_SIZE        1024u
#define A350_ADMIN_DATA_SIZE        832u
#define A350_ADMIN_MSG_SIZE         160u

enum a350_admin_status {
    A350_ADMIN_FREE = 0,
    A350_ADMIN_POSTED = 1,
    A350_ADMIN_DONE = 2,
    A350_ADMIN_FAILED = 3,
};

enum a350_admin_result {
    A350_ADM_OK = 0,
    A350_ADM_E_OPCODE = 1,       /* unknown command */
    A350_ADM_E_LENGTH = 2,       /* data_len does not fit the command */
    A350_ADM_E_RANGE = 3,        /* an argument is out of range */
    A350_ADM_E_ADDRESS = 4,      /* not memory, or not aligned */
    A350_ADM_E_EXISTS = 5,
    A350_ADM_E_NOT_FOUND = 6,
    A350_ADM_E_BUSY = 7,         /* still in use */
    A350_ADM_E_NO_RESOURCE = 8,
    A350_ADM_E_STATE = 9,        /* not possible in this state */
};

enum a350_admin_opcode {
    A350_ADM_SYNC_SOC_RES = 13,  /* spec/hw/pci.md §3: where the windows are */
    A350_ADM_IDENTIFY = 0x100,
    A350_ADM_CQ_CREATE = 0x110,
    A350_ADM_CQ_DESTROY = 0x111,
    A350_ADM_SQ_CREATE = 0x120,
    A350_ADM_SQ_DESTROY = 0x121,
    A350_ADM_SQ_RESET = 0x122,   /* drops entries, head = tail = 0, disabled */
    A350_ADM_SQ_QUERY = 0x123,
    A350_ADM_SQ_PAUSE = 0x124,
    A350_ADM_SQ_RESUME = 0x125,
    A350_ADM_SQ_LABEL = 0x126,
    A350_ADM_NOTIFY_RESET = 0x130,
    A350_ADM_NOTIFY_LABEL = 0x131,
    A350_ADM_JETTY_CREATE = 0x140,
    A350_ADM_JETTY_DESTROY = 0x141,
    A350_ADM_JETTY_RESET = 0x142,
    A350_ADM_JETTY_QUERY = 0x143,
    A350_ADM_SEG_REGISTER = 0x150,
    A350_ADM_SEG_UNREGISTER = 0x151,
    A350_ADM_FIRST_ERROR = 0x160,
    A350_ADM_CLEAR_ERROR = 0x161,
    A350_ADM_WAIT_LIST = 0x162,
    A350_ADM_PEERS = 0x170,      /* cards of the fabric */
};

typedef struct a350_admin_slot {
    uint32_t opcode;
    uint32_t status;             /* enum a350_admin_status */
    uint32_t result;             /* enum a350_admin_result */
    uint32_t data_len;           /* in: bytes of arguments; out: of reply */
    uint32_t reserved[4];
    char message[A350_ADMIN_MSG_SIZE];   /* NUL-terminated, "" if none */
    uint8_t data[A350_ADMIN_DATA_SIZE];  /* arguments, then reply */
} a350_admin_slot;
A350_STATIC_ASSERT(sizeof(a350_admin_slot) == A350_ADMIN_SLOT_SIZE);
A350_STATIC_ASSERT(offsetof(a350_admin_slot, data) == 192);

/* SYNC_SOC_RES: spec/hw/pci.md §3. Reply: u32 length, then packed entries. */
typedef struct a350_soc_res_req {
    uint32_t dir, scope, type, id, device;
} a350_soc_res_req;

#define A350_SOC_RES_NAME_LEN       40
#define A350_SOC_RES_BAR_SHIFT      60

typedef struct a350_soc_res_reg {
    char name[A350_SOC_RES_NAME_LEN];
    uint64_t address;            /* BAR in bits 63:60, offset below */
    uint64_t length;
} a350_soc_res_reg;
A350_STATIC_ASSERT(sizeof(a350_soc_res_reg) == 56);

typedef struct a350_identify_rsp {
    uint32_t contract_version;
    uint32_t card_index;         /* in its fabric */
    uint64_t dev_base;
    uint64_t hbm_size;
    uint64_t hbm_usable;         /* bytes from offset 0; firmware's follow */
    uint32_t num_sq, num_cq;
    uint32_t num_notify, num_cnt_notify;
    uint32_t num_jetty, num_segment;
    uint32_t aicpu_cores, fabric_cards;
    uint32_t mainboard_id;       /* 0x68 one card, 0x6a two, 0x6c more */
    uint32_t max_msg;            /* bytes a UB WQE may move */
    uint8_t eid[A350_EID_LEN];
    uint8_t uuid[16];
    char soc_name[32];
    char fw_version[64];
    uint64_t fabric_id;
    uint64_t reserved[6];
} a350_identify_rsp;
A350_STATIC_ASSERT(sizeof(a350_identify_rsp) == 256);

/*
 * Queue memory may be HBM of this card or host memory (an IOVA). An id of
 * A350_ID_ANY lets the card choose; the reply carries the id chosen.
 */
typedef struct a350_cq_create {
    uint32_t cq_id;              /* in/out */
    uint32_t depth;              /* slots, 2..2049 */
    uint64_t base;               /* 32-byte slots, 64-byte aligned, zeroed */
    uint32_t irq;                /* 1: raise the group's MSI-X vector */
    uint32_t vector;             /* out: 80 + group */
} a350_cq_create;

typedef struct a350_sq_create {
    uint32_t sq_id;              /* in/out */
    uint32_t depth;              /* 9..2049, (depth - 1) a multiple of 8 */
    uint64_t base;               /* 64-byte slots, 64-byte aligned */
    uint32_t cq_id;              /* A350_ID_NONE: no CQEs */
    uint32_t flags;              /* A350_SQ_F_* */
} a350_sq_create;
#define A350_SQ_F_DISABLED          1u   /* created with enable = 0 */
#define A350_SQ_F_CONTINUE          2u   /* failure mode 0: errors pass */

typedef struct a350_id_req {
    uint32_t id;
    uint32_t arg;
} a350_id_req;

typedef struct a350_sq_query_rsp {
    uint32_t sq_id, depth, cq_id, flags;
    uint64_t base;
    uint32_t head, tail, enabled, paused;
    uint32_t error_bits, status; /* of the error that stopped it */
    uint32_t error_index, error_task;
    uint64_t completed;          /* tasks since creation */
} a350_sq_query_rsp;

/* Names for reports; they change no behaviour. */
typedef struct a350_sq_label {
    uint32_t sq_id;
    uint32_t rank;               /* A350_ID_NONE: not of a communicator */
    uint32_t thread;             /* index in the communicator's pool */
    uint32_t kind;               /* 0 stream, 1 AICPU_TS thread, 2 internal */
    char comm[64];
} a350_sq_label;

typedef struct a350_notify_label {
    uint32_t notify_id;
    uint32_t kind;               /* 0 none, 1 thread, 2 channel, 3 runtime */
    uint32_t index;              /* index in its thread or channel */
    uint32_t rank;               /* owner's rank */
    uint32_t peer_rank;          /* who records it; A350_ID_NONE: anybody */
    uint32_t owner_sq;           /* SQ that waits; A350_ID_NONE unknown */
    uint8_t peer_eid[A350_EID_LEN];  /* channel: the recorder's card */
    char comm[64];
} a350_notify_label;

typedef struct a350_notify_reset {
    uint32_t first, count;
    uint32_t counting;           /* 1: counting notifies */
    uint32_t reserved;
} a350_notify_reset;

typedef struct a350_jetty_create {
    uint32_t jetty_id;           /* in/out */
    uint32_t depth;              /* blocks: power of two, 16..32768 */
    uint64_t base;               /* HBM, 64-byte aligned */
    uint32_t err_timeout;        /* 0..31, spec/hw/transport.md §1 */
    uint32_t flags;              /* A350_JETTY_F_* */
    uint64_t ci_addr;            /* HBM: u32 CI mirrored there; 0: not */
    uint32_t rank, peer_rank;    /* names for reports, A350_ID_NONE unknown */
} a350_jetty_create;
#define A350_JETTY_F_DIRECT         1u   /* takes direct WQEs, no doorbells */
#define A350_JETTY_F_CONTINUE       2u   /* errorSuspend = 0 */

typedef struct a350_jetty_query_rsp {
    uint32_t jetty_id, state, depth, pi, ci, status, sub_status, reserved;
} a350_jetty_query_rsp;

typedef struct a350_seg_register {
    uint64_t base;               /* device address of this card or host IOVA */
    uint64_t length;             /* > 0 */
    uint32_t access;             /* A350_SEG_* */
    uint32_t token_value;
    uint32_t token_id;           /* out, 20 bits */
    uint32_t flags;
} a350_seg_register;

enum a350_error_kind {
    A350_EK_NONE = 0,
    A350_EK_SQE = 1,             /* malformed or unsupported entry */
    A350_EK_ADDRESS = 2,
    A350_EK_TIMEOUT = 3,
    A350_EK_UB = 4,
    A350_EK_AICPU = 5,
    A350_EK_SDMA = 6,
    A350_EK_RING = 7,            /* ring or doorbell rule broken */
};

/* FIRST_ERROR reply; kind NONE when nothing is latched. */
typedef struct a350_first_error {
    uint32_t kind;               /* enum a350_error_kind */
    uint32_t sq_id;
    uint32_t sqe_index;          /* slot */
    uint32_t sqe_type;
    uint32_t task;
    uint32_t error_bits;
    uint32_t status;
    uint32_t sub_status;
    uint64_t address;
    uint64_t length;
    uint64_t time_ns;            /* card's clock */
    uint32_t peer_card;          /* A350_ID_NONE if none is concerned */
    uint32_t followers;          /* later errors, marked as consequences */
    uint32_t jetty_id;
    uint32_t notify_id;
    char message[A350_ADMIN_MSG_SIZE];
} a350_first_error;

enum a350_wait_kind {
    A350_WAIT_NOTIFY = 1,
    A350_WAIT_CNT_NOTIFY = 2,
    A350_WAIT_AICPU = 3,         /* a kernel is running or queued */
    A350_WAIT_COPY = 4,          /* data in flight */
    A350_WAIT_UB = 5,
    A350_WAIT_STOPPED = 6,       /* stopped by an error */
    A350_WAIT_PAUSED = 7,
};

enum a350_owner_state {
    A350_OWNER_UNKNOWN = 0,      /* nobody is bound to the notify */
    A350_OWNER_IDLE = 1,         /* exists, nothing queued that records it */
    A350_OWNER_BLOCKED = 2,      /* waits itself */
    A350_OWNER_GONE = 3,         /* peer card or queue does not exist */
    A350_OWNER_RUNNING = 4,
};

typedef struct a350_wait_entry {
    uint32_t sq_id, kind;        /* enum a350_wait_kind */
    uint32_t sqe_index, task;
    uint32_t notify_id, owner_state;
    uint32_t owner_card, owner_sq;
    uint64_t since_ns;
    uint64_t limit_ns;           /* 0: for ever */
    uint32_t rank, thread, peer_rank, notify_index;
} a350_wait_entry;
A350_STATIC_ASSERT(sizeof(a350_wait_entry) == 64);

/* WAIT_LIST: request a350_id_req.id = first SQ; up to 12 entries a reply. */
typedef struct a350_wait_list_rsp {
    uint32_t count;
    uint32_t next_sq;            /* A350_ID_NONE: no more */
    a350_wait_entry entry[12];
} a350_wait_list_rsp;
A350_STATIC_ASSERT(sizeof(a350_wait_list_rsp) <= A350_ADMIN_DATA_SIZE);

/* PEERS: request a350_id_req.id = first index; up to 32 entries a reply. */
typedef struct a350_peer {
    uint32_t card_index;
    uint32_t flags;              /* bit 0: this card; bit 1: other process */
    uint8_t eid[A350_EID_LEN];
} a350_peer;

typedef struct a350_peers_rsp {
    uint32_t count;
    uint32_t next_index;         /* A350_ID_NONE: no more */
    a350_peer peer[32];
} a350_peers_rsp;
A350_STATIC_ASSERT(sizeof(a350_peers_rsp) <= A350_ADMIN_DATA_SIZE);

/*
 * Card log: a byte ring at BAR0 + A350_SHM_LOG, lines of text ended by '\n'.
 * @head counts all bytes ever written; the byte n is at data[n % size]. The
 * reader keeps its own position and lost (head - position - size) bytes if
 * that is positive.
 */
typedef struct a350_log_ring {
    uint64_t head;
    uint64_t size;               /* of data[] */
    uint8_t reserved[48];
    uint8_t data[];
} a350_log_ring;

#endif /* HW_ATLAS350_ADMIN_H */
