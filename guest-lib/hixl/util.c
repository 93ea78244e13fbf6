/*
 * HIXL: time, names, error text, numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <arpa/inet.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "acl_internal.h"
#include "hx.h"

uint64_t hx_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

int hx_left_ms(uint64_t deadline)
{
    uint64_t now = hx_now_ms();

    if (now >= deadline) {
        return 0;
    }
    return deadline - now > INT_MAX ? INT_MAX : (int)(deadline - now);
}

static struct timespec deadline_spec(uint64_t deadline)
{
    const uint64_t most = hx_now_ms() + INT_MAX;
    const uint64_t d = deadline < most ? deadline : most;

    return (struct timespec){ .tv_sec = (time_t)(d / 1000),
                              .tv_nsec = (long)(d % 1000) * 1000000 };
}

bool hx_lock_until(pthread_mutex_t *m, uint64_t deadline)
{
    const struct timespec ts = deadline_spec(deadline);

#ifdef __SANITIZE_THREAD__
    /* TSan does not see pthread_mutex_clocklock (GCC 14). */
    while (pthread_mutex_trylock(m) != 0) {
        if (hx_left_ms(deadline) == 0) {
            return false;
        }
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    }
    (void)ts;
    return true;
#else
    return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &ts) == 0;
#endif
}

bool hx_wait_until(pthread_cond_t *c, pthread_mutex_t *m, uint64_t deadline)
{
    const struct timespec ts = deadline_spec(deadline);

    return pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &ts) == 0;
}

uint32_t hx_err(uint32_t code, const char *fmt, ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    a350_set_error(NULL, "%s", text);
    a350_log_host(3, "HIXL", "%s (code %u)", text, code);
    return code;
}

void hx_warn(const char *fmt, ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    a350_log_host(2, "HIXL", "%s", text);
}

void hx_put_le(uint8_t *p, uint64_t v, int bytes)
{
    int i;

    for (i = 0; i < bytes; i++) {
        p[i] = (uint8_t)(v >> (8 * i));
    }
}

uint64_t hx_get_le(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    int i;

    for (i = 0; i < bytes; i++) {
        v |= (uint64_t)p[i] << (8 * i);
    }
    return v;
}

/* A port, or 0 for "none": spec/api/hixl.md §2, "missing or <= 0". */
static bool parse_port(const char *s, uint16_t *port)
{
    char *end;
    long v = strtol(s, &end, 10);

    if (end == s || *end || v > 65535) {
        return false;
    }
    *port = v > 0 ? (uint16_t)v : 0;
    return true;
}

static bool set_ip(const char *ip, bool v6, hx_addr *a)
{
    struct sockaddr_in *in4 = (struct sockaddr_in *)&a->sa;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a->sa;
    char text[INET6_ADDRSTRLEN];

    if (v6) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(a->port);
        a->len = sizeof(*in6);
        if (inet_pton(AF_INET6, ip, &in6->sin6_addr) != 1) {
            return false;
        }
        inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
        snprintf(a->text, sizeof(a->text), "[%s]:%hu", text, a->port);
        return true;
    }
    in4->sin_family = AF_INET;
    in4->sin_port = htons(a->port);
    a->len = sizeof(*in4);
    if (inet_pton(AF_INET, ip, &in4->sin_addr) != 1) {
        return false;
    }
    inet_ntop(AF_INET, &in4->sin_addr, text, sizeof(text));
    snprintf(a->text, sizeof(a->text), "%s:%hu", text, a->port);
    return true;
}

bool hx_parse_name(const char *name, hx_addr *a)
{
    char copy[128], *ip = copy, *port = NULL, *p;
    bool v6 = false;

    memset(a, 0, sizeof(*a));
    if (!name || strlen(name) >= sizeof(copy)) {
        return false;
    }
    strcpy(copy, name);
    if (copy[0] == '[') {
        v6 = true;
        ip = copy + 1;
        p = strchr(ip, ']');
        if (!p || (p[1] && p[1] != ':')) {
            return false;
        }
        port = p[1] ? p + 2 : NULL;
        *p = '\0';
    } else {
        p = strchr(copy, ':');
        v6 = p && strchr(p + 1, ':');       /* a bare IPv6 address */
        if (p && !v6) {
            *p = '\0';
            port = p + 1;
        }
    }
    if (port && !parse_port(port, &a->port)) {
        return false;
    }
    return set_ip(ip, v6, a);
}

void hx_eid_text(const uint8_t eid[A350_EID_LEN], char text[33])
{
    int i;

    for (i = 0; i < A350_EID_LEN; i++) {
        sprintf(text + 2 * i, "%02x", eid[i]);
    }
}

bool hx_eid_parse(const char *text, uint8_t eid[A350_EID_LEN])
{
    static const char digits[] = "0123456789abcdef";
    const char *d;
    int i;

    if (strlen(text) != 2 * A350_EID_LEN) {
        return false;
    }
    memset(eid, 0, A350_EID_LEN);
    for (i = 0; i < 2 * A350_EID_LEN; i++) {
        d = strchr(digits, text[i] | (text[i] > '9' ? 0x20 : 0));
        if (!d || !*d) {
            return false;
        }
        eid[i / 2] = (uint8_t)(eid[i / 2] << 4 | (d - digits));
    }
    return true;
}
