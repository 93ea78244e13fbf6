/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sharing with other processes of the machine (spec/api/acl-runtime.md §9).
 *
 * A key names a process and one of its exports. Whoever imports it connects to
 * that process (a socket in the abstract name space, served by one thread) and
 * keeps the connection: it is the lease. So each side sees at once when the
 * other is gone, and the kernel says who the importer is.
 */
#ifndef A350_IPC_PRIV_H
#define A350_IPC_PRIV_H

#include "acl_priv.h"

#define IPC_KEY_SIZE    65u      /* the least room for a key, with its NUL */

typedef enum { IPC_MEM = 'm', IPC_NOTIFY = 'n', IPC_EVENT = 'e' } ipc_kind;

/* What an importer learns. */
typedef struct ipc_info {
    uint64_t addr;               /* device address; of a notify: its register */
    uint64_t size;
    uint32_t id;                 /* of a notify or event */
    uint32_t card;               /* number on the PCI bus */
} ipc_info;

/* One imported object. */
typedef struct ipc_lease {
    ipc_info info;
    int pid;                     /* the exporter */
    int fd;                      /* the connection */
    int mem_fd;                  /* memory file that came along, or -1 */
} ipc_lease;

/*
 * Makes a key of @size >= IPC_KEY_SIZE bytes. @block: what the export ends
 * with (start of the memory block, id of the notify). @mem_fd is given to
 * importers, and stays the caller's.
 */
aclError ipc_export(const char *func, ipc_kind kind, acl_dev *d,
                    const ipc_info *info, uint64_t block, bool any_pid,
                    int mem_fd, char *key, size_t size);
/* More processes that may import; by key, or by what was exported. */
aclError ipc_allow_key(const char *func, const char *key, const int32_t *pid,
                       size_t num);
aclError ipc_allow(const char *func, ipc_kind kind, const acl_dev *d,
                   uint64_t block, const int32_t *pid, size_t num);
/* No more imports by this key of ours. False: there is no such key here. */
bool ipc_revoke_key(const char *key);
bool ipc_key_ours(const char *key);
/*
 * The object is freed. IPC_HELD: an importer still has it, the server frees it
 * with the last lease; IPC_HELD_BEFORE: that was so already.
 */
typedef enum { IPC_FREE, IPC_HELD, IPC_HELD_BEFORE } ipc_hold;
ipc_hold ipc_freed(ipc_kind kind, acl_dev *d, uint64_t block);
/* All of a device's exports end, whoever has them. */
void ipc_device_gone(acl_dev *d);

/* Checks the text alone. */
bool ipc_key_valid(ipc_kind kind, const char *key, int *pid);
aclError ipc_bad_key(const char *func, ipc_kind kind, const char *key);
aclError ipc_import(const char *func, ipc_kind kind, const char *key,
                    ipc_lease *lease);
/* NULL while the exporter is there; else what has become of the object. */
const char *ipc_lease_ended(const ipc_lease *lease);
void ipc_lease_end(ipc_lease *lease);

/* ---- memory (ipc_mem.c) ---- */

typedef struct ipc_mem {
    uint64_t base, size;
    int pid;                     /* the exporter */
    int32_t device;              /* user id of its card, -1: not visible */
    int32_t importer;            /* device that was current at the import */
    bool peer_access;            /* by the import's flag, for that device */
    const char *ended;           /* NULL, or what the exporter has done */
} ipc_mem;

/* The imported block that holds @addr; false: none. */
bool ipc_mem_find(uint64_t addr, ipc_mem *m);
/* What was imported with device @d current is closed. */
void ipc_mem_device_gone(const acl_dev *d);

/* ---- events (ipc_event.c) ---- */

aclError ipc_event_new(const char *func, ipc_event **out);
/* From the event's memory file, which becomes ours unless this fails. */
aclError ipc_event_open(const char *func, int fd, ipc_event **out);
ipc_event *ipc_event_ref(ipc_event *e);
void ipc_event_put(ipc_event *e);
int ipc_event_fd(const ipc_event *e);
/* Number of the latest record that was submitted, by whoever; 0: none. */
uint64_t ipc_event_last(const ipc_event *e);
bool ipc_event_done(const ipc_event *e, uint64_t number);
/* The process that has ended without its record @number; 0: there is hope. */
int ipc_event_orphan(const ipc_event *e, uint64_t number);
aclError ipc_event_record(const char *func, ipc_event *e, a350_stream *s);
aclError ipc_event_wait(const char *func, ipc_event *e, bool before_record,
                        a350_stream *s, uint32_t seconds, uint64_t *seq);
aclError ipc_event_sync(const char *func, ipc_event *e, int32_t timeout_ms);

#endif /* A350_IPC_PRIV_H */
