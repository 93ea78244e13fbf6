/*
 * Atlas 350 firmware monitor: the card's log.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mon.h"

static void emit(const char *text, uint64_t len)
{
    am_write(A350_AM_LOG_ADDR, (uintptr_t)text);
    am_write(A350_AM_LOG_LEN, len);
}

/* One record: the card ends a line at the newline. */
void log_text(int level, const char *text, uint64_t len)
{
    static const char newline[] = "\n";

    am_write(A350_AM_LOG_LEVEL, (uint64_t)level);
    emit(text, len);
    if (len == 0 || text[len - 1] != '\n') {
        am_write(A350_AM_LOG_LEVEL, (uint64_t)level);
        emit(newline, 1);
    }
}

void mon_log(int level, const char *f, ...)
{
    char buf[400];
    va_list ap;
    int n;

    va_start(ap, f);
    n = fmt_v(buf, sizeof(buf), f, ap);
    va_end(ap);
    log_text(level, buf, (uint64_t)n);
}

/* The firmware is of no more use: says why, for good. */
void mon_fail(unsigned why, const char *f, ...)
{
    va_list ap;
    int n;

    if (mon.failed) {
        return;
    }
    mon.failed = true;
    va_start(ap, f);
    n = fmt_v(mon.error, sizeof(mon.error), f, ap);
    va_end(ap);
    log_text(LOG_ERROR, mon.error, (uint64_t)n);
    am_write(A350_AM_FW_ERROR, (uintptr_t)mon.error);
    am_write(A350_AM_FW_STATUS, A350_FW_FAILED | (why & 0xff));
}

void line_flush(struct thread *t)
{
    if (t->line_len) {
        log_text(LOG_INFO, t->line, t->line_len);
        t->line_len = 0;
    }
}

/* Standard output: a log record per line, each thread collects its own. */
void line_put(struct thread *t, const char *text, uint64_t len)
{
    for (; len; len--, text++) {
        if (*text == '\n') {
            if (t->line_len == 0) {
                t->line[t->line_len++] = ' ';
            }
            line_flush(t);
            continue;
        }
        t->line[t->line_len++] = *text;
        if (t->line_len == LINE_MAX_LEN) {
            line_flush(t);
        }
    }
}
