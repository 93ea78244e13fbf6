/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the libraries above acl (hcomm, hccl, hixl) may use of its inside.
 * Not installed. All functions are exported by libacl_rt.so and may be called
 * from any thread.
 */
#ifndef A350_ACL_INTERNAL_H
#define A350_ACL_INTERNAL_H

#include "a350_card.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct a350_stream a350_stream;

/*
 * The stream behind a handle; NULL handle: the default stream of the calling
 * thread's context. Returns NULL, and sets the error text, for a stale or
 * foreign handle or when there is no context.
 */
A350_API a350_stream *a350_stream_from_handle(aclrtStream stream);
A350_API aclrtStream a350_stream_handle(a350_stream *s);
A350_API a350_card *a350_stream_card(a350_stream *s);
A350_API uint32_t a350_stream_sq_id(a350_stream *s);
/* User device id the stream belongs to. */
A350_API int32_t a350_stream_device(a350_stream *s);

/*
 * Submits entries to a stream, in order, contiguous. While the stream is being
 * captured they are recorded instead. Task numbers are overwritten. Returns an
 * aclError (the stream's own error when it has stopped on failure).
 * @what: static text that names the operation in error messages.
 * @mark: where they are, if not NULL; it stays as it is while captured.
 */
typedef struct a350_stream_mark {
    const void *queue;
    uint64_t seq;
} a350_stream_mark;
A350_API aclError a350_stream_push(a350_stream *s, const a350_sqe *sqe,
                                   unsigned n, const char *what,
                                   a350_stream_mark *mark);
/* Is all up to @mark done, or dropped? Also if @mark is all zero. */
A350_API bool a350_stream_passed(a350_stream *s, const a350_stream_mark *mark);

/*
 * Ends the stream's work with an error: waiters get @code at once with @text
 * as the reason, queued entries are dropped. For an error of another queue
 * (an AICPU_TS thread) on whose notify the stream waits. May be called from
 * the completion thread.
 */
A350_API void a350_stream_fail(a350_stream *s, aclError code,
                               const char *text);
/* The same, and what is queued is dropped by the card before it returns. */
A350_API void a350_stream_end(a350_stream *s, aclError code,
                              const char *text);

/*
 * Called on the completion thread for each failed entry of the stream, with
 * its published code; for what waits elsewhere for this stream's work. Must
 * not block. Registering the same pair again changes nothing; it ends with
 * the stream.
 */
typedef void a350_stream_error_fn(void *opaque, aclError code);
A350_API int a350_stream_on_error(a350_stream *s, a350_stream_error_fn *fn,
                                  void *opaque);

/*
 * Called once, before the stream is gone, when nothing is queued on it any
 * more; the last registered runs first.
 */
typedef void a350_stream_destroy_fn(void *opaque, aclrtStream stream);
A350_API int a350_stream_on_destroy(a350_stream *s, a350_stream_destroy_fn *fn,
                                    void *opaque);
A350_API void a350_stream_off_destroy(a350_stream *s,
                                      a350_stream_destroy_fn *fn, void *opaque);

/* Card and user device id of the calling thread's context; NULL / -1: none. */
A350_API a350_card *a350_current_card(void);
A350_API int32_t a350_current_device(void);
/* The card of user device @dev if this process has it open, else NULL. */
A350_API a350_card *a350_device_card(int32_t dev);
/* User device id that owns device address @ptr, -1 for host memory. */
A350_API int32_t a350_device_of(const void *ptr);

/*
 * Called when a device is reset (count 0) or the process ends, before its
 * streams and memory are freed; the last registered runs first.
 */
typedef void a350_device_reset_fn(void *opaque, int32_t device);
A350_API int a350_on_device_reset(a350_device_reset_fn *fn, void *opaque);

/*
 * Host memory that the card may address: true when [ptr, ptr + len) lies in
 * one aclrtMallocHost block or one registered range.
 */
A350_API bool a350_host_is_pinned(const void *ptr, size_t len);

/*
 * The recent error text of the calling thread (aclGetRecentErrMsg). @code is
 * a published number such as "EI0002" (NULL keeps the text plain). A later
 * call replaces the text; use a350_append_error to add what an upper layer
 * knows to the reason that a lower one gave.
 */
A350_API void a350_set_error(const char *code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
A350_API void a350_append_error(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
/* Text without reading it away; "" if none. */
A350_API const char *a350_peek_error(void);

/*
 * Meaning of a failed queue entry: the published aclError of
 * spec/api/env-and-errors.md §4 and one line of text (exception record, first
 * error). For hcomm's own queues too. Not from the completion thread.
 */
A350_API aclError a350_explain_error(a350_sq *sq, const a350_sq_error *err,
                                     char *text, size_t len);
/* The code alone; from any thread. */
A350_API aclError a350_error_code(const a350_sq_error *err);

/* Log line of the library (ASCEND_GLOBAL_LOG_LEVEL; 0 debug .. 3 error). */
A350_API void a350_log_host(int level, const char *module, const char *fmt,
                            ...) __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif

#endif /* A350_ACL_INTERNAL_H */
