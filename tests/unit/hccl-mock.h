/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HCCL_MOCK_H
#define HCCL_MOCK_H

#include "acl/acl_rt.h"
#include "hw/atlas350/sqe.h"

#define MOCK_CARDS 4

/* Objects (memory blocks, ids, queues, segments, streams) that are not freed yet. */
extern int mock_live;
/* aclrtSetDevice less aclrtResetDevice. */
extern int mock_sets[MOCK_CARDS];
/* So many more attempts to end a segment find it in use. */
extern int mock_segments_busy;
/* Notifies that are left. */
extern int mock_notifies;

void mock_device(int device);        /* of the calling thread; -1: none */
const a350_sqe *mock_last(aclrtStream stream);
int mock_pushed(aclrtStream stream);
/* Called before an entry is taken, NULL: nothing is; what ended the stream. */
extern void (*mock_on_push)(void);
int mock_failed(aclrtStream stream);
const char *mock_error_code(void);

#endif /* HCCL_MOCK_H */
