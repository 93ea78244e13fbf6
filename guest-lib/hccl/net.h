/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framed messages over TCP. Peers are not trusted: a frame has a magic word
 * and a bounded length, connections and waits have limits, a broken frame
 * closes its connection and nothing else.
 */
#ifndef HCCL_NET_H
#define HCCL_NET_H

#include "hccl_internal.h"

#define HCL_FRAME_MAGIC     0x43483341u          /* "A3HC" */
#define HCL_FRAME_VERSION   1u
#define HCL_FRAME_MAX       (16u << 20)
#define HCL_CONNS_MAX       4096u

enum hcl_frame_type {
    HCL_F_HELLO = 1,             /* to a root session */
    HCL_F_TABLE = 2,
    HCL_F_FAIL = 3,              /* uint32 code, text */
    HCL_F_MAIL = 4,
    HCL_F_ACK = 5,               /* uint32 code */
};

typedef struct hcl_frame {
    uint32_t magic;
    uint16_t version, type;
    uint32_t length;             /* bytes that follow */
    uint32_t reserved;
} hcl_frame;

typedef struct hcl_conn hcl_conn;

/* "port 60000" or "ports 60000-60031, 61000"; returns @text. */
const char *hcl_ports_text(const hcl_where *w, char *text, size_t size);
/* From the handlers of the server thread only. */
int hcl_conn_send(hcl_conn *conn, uint16_t type, const void *data,
                  uint32_t len);
void hcl_conn_close_later(hcl_conn *conn);

/*
 * Handlers (root.c, mail.c), called on the server thread. Nonzero closes the
 * connection. _gone: the connection ends. _tick: about ten times a second.
 */
int hcl_root_on_hello(hcl_conn *conn, const uint8_t *data, uint32_t len);
void hcl_root_on_gone(hcl_conn *conn);
/* Does a session wait to answer it? */
bool hcl_root_holds(const hcl_conn *conn);
void hcl_root_tick(uint64_t now);
int hcl_mail_on_frame(hcl_conn *conn, const uint8_t *data, uint32_t len);

/* Client side. A descriptor, or -1 with *@err an errno. */
int hcl_net_connect(const char *ip, uint32_t port, uint64_t deadline,
                    int *err);
int hcl_net_send(int fd, uint16_t type, const void *head, uint32_t head_len,
                 const void *data, uint32_t len, uint64_t deadline);
/* *@data is allocated. 0, -ETIMEDOUT, -ECONNRESET, -EPROTO, -ENOMEM. */
int hcl_net_recv(int fd, uint16_t *type, void **data, uint32_t *len,
                 uint64_t deadline);

#endif /* HCCL_NET_H */
