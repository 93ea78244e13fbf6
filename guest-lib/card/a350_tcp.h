/* SPDX-License-Identifier: Apache-2.0 */
/* What the TCP clients of the guest library share (not installed). */
#ifndef A350_TCP_H
#define A350_TCP_H

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Ends @fd and returns true if it is a TCP connection of a socket with
 * itself. Linux makes one when the port that nobody listens at is also the
 * one it picks for the caller's end: what the client sends comes back to it
 * as the server's answer. It ends by a reset, as a port in TIME_WAIT would
 * keep the real server from listening. To be taken as ECONNREFUSED.
 */
static inline bool a350_tcp_close_own(int fd)
{
    struct linger reset = { .l_onoff = 1 };
    struct sockaddr_storage here, there;
    socklen_t here_len = sizeof(here), there_len = sizeof(there);

    if (getsockname(fd, (struct sockaddr *)&here, &here_len) ||
        getpeername(fd, (struct sockaddr *)&there, &there_len) ||
        here_len != there_len || memcmp(&here, &there, here_len)) {
        return false;
    }
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
    return true;
}

#endif /* A350_TCP_H */
