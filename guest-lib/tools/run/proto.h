/*
 * What atlas350-run and the first process of its guest say to each other.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One virtio-serial port carries frames both ways: a type byte, a length of
 * four bytes in little-endian order, then that many bytes. Before the port is
 * there the guest tells its stage by console lines that begin with
 * RUN_STAGE_MARK.
 */
#ifndef A350_RUN_PROTO_H
#define A350_RUN_PROTO_H

#include <stdint.h>

#define RUN_PORT_NAME    "atlas350.run"
#define RUN_STAGE_MARK   "atlas350-stage: "
#define RUN_FRAME_MAX    65536u
#define RUN_STDIN_CHUNK  16384u

enum run_frame {
    /* to the guest */
    RUN_JOB = 1,        /* lines "key=value", each ended by a NUL: the program */
    RUN_STDIN,          /* at most RUN_STDIN_CHUNK; the next after STDIN_DONE */
    RUN_STDIN_EOF,
    RUN_WINSIZE,        /* rows and columns, two bytes each */
    /* to the host */
    RUN_HELLO = 32,     /* the port works */
    RUN_STAGE,          /* text: what is being done */
    RUN_STDOUT,
    RUN_STDERR,
    RUN_STDIN_DONE,     /* the last chunk has been taken */
    RUN_STARTED,        /* the program runs */
    RUN_EXIT,           /* wait status, four bytes; the last frame */
    RUN_FAIL,           /* text: why the program cannot be run; the last one */
    RUN_KLOG,           /* kernel log, before RUN_FAIL */
};

static inline void run_frame_header(uint8_t head[5], enum run_frame type,
                                    uint32_t len)
{
    head[0] = (uint8_t)type;
    head[1] = (uint8_t)len;
    head[2] = (uint8_t)(len >> 8);
    head[3] = (uint8_t)(len >> 16);
    head[4] = (uint8_t)(len >> 24);
}

static inline uint32_t run_frame_length(const uint8_t head[5])
{
    return head[1] | (uint32_t)head[2] << 8 | (uint32_t)head[3] << 16 |
           (uint32_t)head[4] << 24;
}

#endif
