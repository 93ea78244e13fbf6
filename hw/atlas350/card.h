/*
 * Atlas 350 virtual card: the blocks of the card and what they ask of each
 * other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The PCI shell (atlas350.c) knows the blocks; a block does not know PCI. A
 * block keeps its state in a structure of its own, allocated by its _init and
 * reached through A350Card. Unless a function says otherwise it may be called
 * from any thread and takes the locks it needs; no callback is made with a
 * lock of the calling block held, and none needs the big QEMU lock.
 */
#ifndef HW_ATLAS350_CARD_H
#define HW_ATLAS350_CARD_H

#include "qemu/queue.h"
#include "exec/memattrs.h"
#include "chardev/char-fe.h"
#include "hw/atlas350/regs.h"
#include "hw/atlas350/sqe.h"
#include "hw/atlas350/ub.h"
#include "hw/atlas350/admin.h"
#include "hw/atlas350/aicpu.h"
#include "reduce.h"

typedef struct A350Card A350Card;
typedef struct A350Ts A350Ts;
typedef struct A350Ub A350Ub;
typedef struct A350Mover A350Mover;
typedef struct A350Aicpu A350Aicpu;
typedef struct A350Fabric A350Fabric;
typedef struct A350Log A350Log;

/*
 * What every block may know of its card. Constant from realize to unrealize
 * but for what is said to be otherwise.
 */
struct A350Card {
    uint32_t index;              /* in its fabric */
    uint64_t dev_base;           /* A350_DEV_BASE(index) */
    uint8_t *hbm;                /* host address of HBM */
    uint64_t hbm_size;
    uint64_t hbm_usable;         /* below the firmware's reserve */
    uint32_t num_sq, num_notify, num_cnt_notify, num_cores;
    uint8_t eid[A350_EID_LEN];
    AioContext *ctx;             /* the card's thread */

    A350Ts *ts;
    A350Ub *ub;
    A350Mover *mover;
    A350Aicpu *aicpu;
    A350Fabric *fabric;
    A350Log *log;

    /*
     * Supplied by the shell: access to host memory through the bus. @bulk: a
     * block of many (bulk.h).
     */
    MemTxResult (*host_read)(A350Card *c, uint64_t iova, void *buf,
                             uint64_t len, bool bulk);
    MemTxResult (*host_write)(A350Card *c, uint64_t iova, const void *buf,
                              uint64_t len, bool bulk);
    /* Raises an MSI-X vector, from any thread. */
    void (*msix)(A350Card *c, unsigned vector);
    /* Sets and clears A350_STATUS_* bits of the control page. */
    void (*set_status)(A350Card *c, uint32_t set, uint32_t clear);
    /* Big lock: all cards of the fabric stand still from true to false. */
    void (*still)(A350Card *c, bool on);
    /* Big lock: nothing of the fabric moves; @text says who waits for whom. */
    void (*stalled)(A350Card *c, bool cycle, const char *text);
};

/*
 * VMState of the blocks; the opaque of each is the A350Card. They are saved
 * and loaded while the block is paused.
 */
extern const VMStateDescription vmstate_a350_ts;
extern const VMStateDescription vmstate_a350_mover;
extern const VMStateDescription vmstate_a350_ub;
extern const VMStateDescription vmstate_a350_aicpu;

/* The card's clock: QEMU's virtual clock in ns since the machine started. */
int64_t a350_clock_ns(void);

/* ---- memory (mem.c) ---- */

/* Host pointer to [addr, addr + len), NULL if that is not all in c's HBM. */
void *a350_hbm_ptr(A350Card *c, uint64_t addr, uint64_t len);

/*
 * Access to any address that c's own masters may use: c's HBM, c's registers
 * (4 or 8 bytes; SQ pages and notify tables), host memory, the HBM and the
 * notify tables of a card of the same fabric in this process. Returns false
 * and moves nothing if the address is none of these.
 */
bool a350_bus_read(A350Card *c, uint64_t addr, void *buf, uint64_t len);
bool a350_bus_write(A350Card *c, uint64_t addr, const void *buf, uint64_t len);
/* Is all of [addr, addr + len) reachable by a350_bus_*? */
bool a350_bus_valid(A350Card *c, uint64_t addr, uint64_t len);

/* ---- data mover (mover.c, reduce.c) ---- */

/*
 * One copy, fill or reduction. Small ones are done before _submit returns
 * (then done has been called), larger ones in slices on worker threads, all
 * users of the card by turns. @opcode is that of an SDMA SQE. Overlap gives
 * memmove's result. done is called exactly once; the job is the caller's
 * again from then on.
 *
 * A new job is all zeroes but for what its submitter sets. Work begins at
 * @pos, the bytes already moved: a job that was saved while the mover was
 * paused (vmstate_a350_move) is submitted again as it was loaded.
 */
typedef struct A350Move A350Move;
struct A350Move {
    uint32_t opcode;             /* A350_SDMA_* operation | type */
    uint64_t dst, src, len;      /* device addresses or IOVAs; bytes */
    uint32_t fill;               /* MEMSET: byte value */
    uint32_t bf16_sat;           /* BF16 reduce: saturates at the largest */
    A350Card *dst_card;          /* whose bus dst and src are addressed on; */
    A350Card *src_card;          /* the submitting card's unless UB says so */
    void (*done)(A350Move *m, uint32_t status); /* 0 or A350_SDMA_ST_* */
    void *opaque;
    uint64_t error_addr;         /* set with a status other than 0 */
    bool ub;                     /* UB's reduce types, not SDMA's */
    bool bulk;                   /* a copy of many in a row: bulk.h */
    /* private to the mover */
    uint64_t pos;
    int state;
    int abort;
    bool backwards;
    QTAILQ_ENTRY(A350Move) next;
};

/* All of a job but the callback, its opaque and the two cards. */
extern const VMStateDescription vmstate_a350_move;

void a350_mover_init(A350Card *c);
void a350_mover_destroy(A350Card *c);
void a350_mover_submit(A350Card *c, A350Move *m);
/* Stops all work at slice boundaries, jobs keep their position; and goes on. */
void a350_mover_pause(A350Card *c);
void a350_mover_resume(A350Card *c);
/* Drops all jobs without calling done; returns when none is being worked on. */
void a350_mover_reset(A350Card *c);

/*
 * Takes back one submitted job: it is not worked on when this returns, and
 * done has either returned or will not be called. True in the latter case.
 * What was moved so far stays moved. Neither this nor _reset may be called
 * with a lock held that done waits for, nor from done.
 */
bool a350_mover_cancel(A350Card *c, A350Move *m);
/* Ends all jobs of @c that touch @peer with the status of a broken link. */
void a350_mover_drop_peer(A350Card *c, A350Card *peer);

/* ---- UB (ub/) ---- */

#define A350_SEGMENT_MAX    65536u

/* How a doorbell task ended. */
typedef struct A350UbResult {
    uint8_t status, sub_status;  /* enum a350_ub_status */
    uint32_t jetty;
    uint16_t ci;
    uint64_t address, length;    /* of the refused access */
    uint32_t peer_card;          /* A350_ID_NONE unknown */
    const char *reason;          /* static text */
} A350UbResult;
typedef void A350UbDone(void *opaque, const A350UbResult *r);

void a350_ub_init(A350Card *c);
void a350_ub_destroy(A350Card *c);
void a350_ub_reset(A350Card *c);
void a350_ub_pause(A350Card *c);
void a350_ub_resume(A350Card *c);
/*
 * Work is done up to producer index @pi, in order; done is called once the
 * consumer index has reached it with completions, or a work request before it
 * has failed: before this returns if it is there already, else from any
 * thread. Returns false, and a reason, if there is no such jetty or it takes
 * none; done is not called then.
 */
bool a350_ub_doorbell(A350Card *c, uint32_t jetty, uint16_t pi,
                      A350UbDone *done, void *opaque, const char **reason);
/* Direct form: the WQE itself comes with the task. */
bool a350_ub_direct(A350Card *c, uint32_t jetty, const a350_wqe *wqe,
                    A350UbDone *done, void *opaque, const char **reason);
/*
 * Forgets the callbacks of @opaque (its queue is reset): none is running when
 * this returns and none follows, so no lock may be held that done takes.
 */
void a350_ub_forget(A350Card *c, void *opaque);
/*
 * The next @count work requests of @jetty (A350_ID_ANY: of any) fail with
 * @status, A350_UB_ERR_RETRY or A350_UB_ERR_ACK_TIMEOUT, as on a bad link.
 */
bool a350_ub_inject(A350Card *c, uint32_t jetty, uint8_t status,
                    uint32_t count);
/* Admin commands; they fill @msg on failure. */
uint32_t a350_ub_jetty_create(A350Card *c, a350_jetty_create *arg, char *msg);
uint32_t a350_ub_jetty_destroy(A350Card *c, uint32_t jetty, char *msg);
uint32_t a350_ub_jetty_reset(A350Card *c, uint32_t jetty, char *msg);
uint32_t a350_ub_jetty_query(A350Card *c, uint32_t jetty,
                             a350_jetty_query_rsp *rsp, char *msg);
uint32_t a350_ub_seg_register(A350Card *c, a350_seg_register *arg, char *msg);
uint32_t a350_ub_seg_unregister(A350Card *c, uint32_t token_id, char *msg);

/* ---- task scheduler (ts/) ---- */

/*
 * Device-side register access at BAR2 offset @offset, as a core or a UB write
 * makes it: SQ pages, notify and counting notify tables. False: no register.
 */
bool a350_ts_reg_read(A350Card *c, uint32_t offset, unsigned size,
                      uint64_t *val);
bool a350_ts_reg_write(A350Card *c, uint32_t offset, unsigned size,
                       uint64_t val);
/* A launch that a350_aicpu_submit accepted has ended. */
void a350_ts_aicpu_done(A350Card *c, uint32_t sq, uint32_t task,
                        uint16_t errcode, uint16_t status,
                        const a350_exc_record *exc);

void a350_ts_init(A350Card *c);
void a350_ts_destroy(A350Card *c);
/* Everything as after power-on; called while the card is paused. */
void a350_ts_reset(A350Card *c);
/* Returns when the card's thread is out of the scheduler; and goes on. */
void a350_ts_pause(A350Card *c);
void a350_ts_resume(A350Card *c);

/* ---- AICPU (aicpu/) ---- */

/* Launches (blocks) of one entry that wait or run at a time. */
#define A350_LAUNCH_WINDOW  64u

/*
 * @firmware: path, "" for none. Reads and checks the file; a wrong one is an
 * error of one line that names the file and what is wrong with it. Cores
 * start with _resume after a _reset. Called with the big lock, like the
 * others of this group but for _pause and _reset, which may come from a
 * helper thread while the big lock's holder waits.
 */
bool a350_aicpu_init(A350Card *c, const char *firmware, Error **errp);
void a350_aicpu_destroy(A350Card *c);
/* Serves GDB at @chr if that is connected to something; after _init. */
bool a350_aicpu_gdb(A350Card *c, CharBackend *chr, Error **errp);
/* Registers, SRAM and firmware segments as after power-on. */
void a350_aicpu_reset(A350Card *c);
/* Returns when no core executes; and goes on. */
void a350_aicpu_pause(A350Card *c);
void a350_aicpu_resume(A350Card *c);
/* Version text of the firmware's ELF note, "" without firmware. */
void a350_aicpu_fw_version(A350Card *c, char version[64]);
/* enum a350_fw_status */
uint32_t a350_aicpu_fw_status(A350Card *c);

/*
 * Hands a launch to the cores; it waits its turn if all are busy. @limit_ns
 * of virtual time counts from the kernel's start (0: for ever).
 */
void a350_aicpu_submit(A350Card *c, const a350_topic_mbox *mbox,
                       uint64_t limit_ns);
/* The launch of this queue is not wanted any more; no done follows. */
void a350_aicpu_abort(A350Card *c, uint32_t sq, uint32_t task);
bool a350_aicpu_ready(A350Card *c);

/* ---- fabric (fabric.c) ---- */

#define TYPE_A350_FABRIC "atlas350-fabric"

/*
 * Joins the fabric @obj, or the default one of this process if NULL: sets
 * fabric, index, dev_base and eid of the card. Others find it from _publish on,
 * when all its blocks are there. And leaves it: no other card finds this one
 * when it returns, nor is any working on its memory.
 */
bool a350_fabric_join(A350Card *c, Object *obj, Error **errp);
void a350_fabric_publish(A350Card *c);
void a350_fabric_leave(A350Card *c);

/*
 * The card with this end point address in this process, NULL if none. With
 * the big lock only: nothing else keeps the card (see fabric.h).
 */
A350Card *a350_fabric_find(A350Fabric *f, const uint8_t eid[A350_EID_LEN]);
A350Card *a350_fabric_card(A350Fabric *f, uint32_t index);
uint32_t a350_fabric_count(A350Fabric *f);

/* ---- log (log.c) ---- */

/* A piece of text for it as it comes, console output of a core. */
void a350_log_write(A350Card *c, const char *text, size_t len);
/* One line of the card's log: host chardev, and the ring in BAR0. */
void a350_log(A350Card *c, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

#endif /* HW_ATLAS350_CARD_H */
