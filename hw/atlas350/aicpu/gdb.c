/*
 * GDB server of a card's AICPU cores: packets and commands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All-stop: a debugger that comes stops all cores of the card, and whenever
 * one stops the others do. Thread n is core n - 1. The machine around the card
 * goes on, and so do the card's queues and engines.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "gdb.h"

#define PACKET_MAX      16384
#define POINTS_MAX      64
#define LIBRARIES_MAX   256
#define SIG_INT         2
#define SIG_TRAP        5

typedef struct Point {
    char kind;                   /* Z packet: '0'..'4' */
    uint64_t addr, len;
} Point;

struct A350Gdb {
    A350Cluster *cl;
    const A350GdbOps *ops;
    void *opaque;
    bool connected, no_ack;
    bool running;                /* a stop reply is owed */
    bool interrupted;            /* by the user, not by a core */
    unsigned thread;             /* of register commands: core number */
    unsigned list;               /* position of qsThreadInfo */
    Point point[POINTS_MAX];
    unsigned num_points;
    uint64_t solib_brk;          /* where the dynamic linker tells of changes */

    enum { IDLE, BODY, SUM1, SUM2 } state;
    char in[PACKET_MAX + 1];
    size_t in_len;
    uint8_t sum, got;
    bool overflow;
    GString *out;                /* reply being made */
    GString *last;               /* frame that may be asked for again */
};

static const char help_text[] =
    "cores         what each core does\n"
    "libraries     libraries in the card's memory, as add-symbol-file lines\n"
    "help          this list\n";

/* ---- frames ---- */

static void send_frame(A350Gdb *g)
{
    uint8_t sum = 0;
    gsize i;

    g_string_assign(g->last, "$");
    for (i = 0; i < g->out->len; i++) {
        sum += g->out->str[i];
    }
    g_string_append_len(g->last, g->out->str, g->out->len);
    g_string_append_printf(g->last, "#%02x", sum);
    g->ops->write(g->opaque, g->last->str, g->last->len);
}

static void reply(A350Gdb *g, const char *text)
{
    g_string_assign(g->out, text);
}

static void put_hex(A350Gdb *g, const void *p, size_t len)
{
    const uint8_t *b = p;

    while (len--) {
        g_string_append_printf(g->out, "%02x", *b++);
    }
}

/* Reads pairs of hex digits; returns the bytes got. */
static size_t get_hex(const char *s, uint8_t *buf, size_t max)
{
    size_t n = 0;

    while (n < max && g_ascii_isxdigit(s[0]) && g_ascii_isxdigit(s[1])) {
        buf[n++] = g_ascii_xdigit_value(s[0]) << 4 | g_ascii_xdigit_value(s[1]);
        s += 2;
    }
    return n;
}

/* A hex number, moving *s behind it. */
static uint64_t number(const char **s)
{
    char *end;
    uint64_t v = g_ascii_strtoull(*s, &end, 16);

    *s = end;
    return v;
}

/* ---- stopping ---- */

static A350Core *core_of(A350Gdb *g, unsigned n)
{
    return g->cl->core[n].core;
}

static void stop_reply(A350Gdb *g, unsigned core, A350CoreExit why)
{
    A350DebugInfo d = a350_core_debug_info(core_of(g, core));
    static const char *const watch[] = { "", "watch", "rwatch", "awatch" };
    unsigned i;

    g_string_printf(g->out, "T%02xthread:%x;", g->interrupted ? SIG_INT
                                                              : SIG_TRAP,
                    core + 1);
    if (why == A350_EXIT_DEBUG && d.kind != A350_DEBUG_BREAK) {
        g_string_append_printf(g->out, "%s:%" PRIx64 ";", watch[d.kind],
                               d.addr);
    } else if (why == A350_EXIT_HALT) {
        g_string_append(g->out, "library:;");
    } else if (why == A350_EXIT_DEBUG) {
        const char *kind = d.addr == g->solib_brk ? "library" : "swbreak";

        for (i = 0; i < g->num_points; i++) {
            if (g->point[i].addr == d.addr && g->point[i].kind <= '1') {
                kind = g->point[i].kind == '1' ? "hwbreak" : "swbreak";
            }
        }
        g_string_append_printf(g->out, "%s:;", kind);
    }
    g->thread = core;
    g->interrupted = false;
}

/* Reports the first core that has something to report; false: none has. */
static bool report_event(A350Gdb *g)
{
    A350Cluster *cl = g->cl;
    unsigned i;

    for (i = 0; i < cl->num_cores; i++) {
        A350ClusterCore *cc = &cl->core[i];
        bool event;

        qemu_mutex_lock(&cl->lock);
        event = cc->event;
        cc->event = false;
        qemu_mutex_unlock(&cl->lock);
        if (event) {
            g->running = false;
            stop_reply(g, i, cc->why);
            return true;
        }
    }
    return false;
}

void a350_gdb_poll(A350Gdb *g)
{
    if (!g->connected || !g->running) {
        return;
    }
    a350_cluster_debug_stop(g->cl);
    if (report_event(g)) {
        send_frame(g);
    }
}

static void interrupt(A350Gdb *g)
{
    if (!g->running) {
        return;
    }
    a350_cluster_debug_stop(g->cl);
    if (!report_event(g)) {
        g->running = false;
        g->interrupted = true;
        stop_reply(g, g->thread, A350_EXIT_KICK);
    }
    send_frame(g);
}

static uint64_t load64(A350Gdb *g, uint64_t addr)
{
    const void *p = a350_core_mem(core_of(g, 0), addr, 8);

    return p ? ldq_le_p(p) : 0;
}

/*
 * The dynamic linker calls r_debug.r_brk when libraries come and go: a
 * breakpoint of ours there makes GDB read the list again.
 */
static void watch_libraries(A350Gdb *g, bool on)
{
    uint64_t r_debug = qatomic_read(&g->cl->r_debug);
    uint64_t brk = on && r_debug ? load64(g, r_debug + 16) : 0;
    unsigned i;

    if (brk == g->solib_brk) {
        return;
    }
    for (i = 0; i < g->cl->num_cores; i++) {
        if (g->solib_brk) {
            a350_core_del_break(core_of(g, i), g->solib_brk);
        }
        if (brk && !a350_core_add_break(core_of(g, i), brk)) {
            brk = 0;
        }
    }
    g->solib_brk = brk;
}

/* Lets cores go; a stop that was not reported yet is reported instead. */
static bool resume(A350Gdb *g, unsigned go, unsigned step)
{
    if (report_event(g)) {
        return true;
    }
    watch_libraries(g, true);
    g->running = true;
    a350_cluster_debug_resume(g->cl, go, step);
    return false;
}

static unsigned all_cores(A350Gdb *g)
{
    return (1u << g->cl->num_cores) - 1;
}

/* "vCont;s:2;c": the first action that fits a thread is its. */
static bool vcont(A350Gdb *g, const char *p)
{
    unsigned go = 0, step = 0, left = all_cores(g), mask;

    while (*p == ';') {
        char action = *++p;

        p++;
        if (action == 'C' || action == 'S') {
            number(&p);
        }
        mask = all_cores(g);
        if (*p == ':') {
            uint64_t t;

            p++;
            if (g_str_has_prefix(p, "-1")) {
                p += 2;
            } else {
                t = number(&p);
                mask = t >= 1 && t <= g->cl->num_cores ? 1u << (t - 1) : 0;
            }
        }
        mask &= left;
        left &= ~mask;
        if (action == 's' || action == 'S') {
            step |= mask;
        } else {
            go |= mask;
        }
    }
    return resume(g, go, step);
}

/* ---- registers and memory ---- */

static void read_registers(A350Gdb *g)
{
    A350CoreState s;
    uint64_t val;
    unsigned i, size;

    a350_core_get_state(core_of(g, g->thread), &s);
    reply(g, "");
    for (i = 0; i < A350_GDB_NUM_REGS; i++) {
        size = a350_gdb_get_reg(&s, i, &val);
        val = cpu_to_le64(val);
        put_hex(g, &val, size);
    }
}

static void write_registers(A350Gdb *g, const char *p)
{
    A350CoreState s;
    unsigned i, size;

    a350_core_get_state(core_of(g, g->thread), &s);
    for (i = 0; i < A350_GDB_NUM_REGS; i++) {
        uint64_t val = 0;

        size = a350_gdb_get_reg(&s, i, &val);
        val = 0;
        if (get_hex(p, (uint8_t *)&val, size) != size) {
            break;
        }
        p += 2 * size;
        a350_gdb_set_reg(&s, i, le64_to_cpu(val));
    }
    reply(g, a350_core_set_state(core_of(g, g->thread), &s) ? "OK" : "E22");
}

static void read_register(A350Gdb *g, const char *p)
{
    A350CoreState s;
    uint64_t val;
    unsigned size;

    a350_core_get_state(core_of(g, g->thread), &s);
    size = a350_gdb_get_reg(&s, number(&p), &val);
    val = cpu_to_le64(val);
    reply(g, size ? "" : "E14");
    put_hex(g, &val, size);
}

static void write_register(A350Gdb *g, const char *p)
{
    A350CoreState s;
    uint64_t n = number(&p), val = 0;

    a350_core_get_state(core_of(g, g->thread), &s);
    if (*p++ != '=' || !get_hex(p, (uint8_t *)&val, 8) ||
        n >= A350_GDB_NUM_REGS ||
        !a350_gdb_set_reg(&s, n, le64_to_cpu(val)) ||
        !a350_core_set_state(core_of(g, g->thread), &s)) {
        reply(g, "E22");
        return;
    }
    reply(g, "OK");
}

static void read_memory(A350Gdb *g, const char *p)
{
    uint64_t addr = number(&p), len = *p == ',' ? (p++, number(&p)) : 0, i;
    const uint8_t *m;

    len = MIN(len, PACKET_MAX / 2);
    reply(g, "");
    for (i = 0; i < len; i++) {
        m = a350_core_mem(core_of(g, 0), addr + i, 1);
        if (!m) {
            break;               /* what there is up to here */
        }
        put_hex(g, m, 1);
    }
    if (!i) {
        reply(g, "E14");
    }
}

static void write_memory(A350Gdb *g, const char *p)
{
    uint64_t addr = number(&p), len = *p == ',' ? (p++, number(&p)) : 0;
    uint8_t *m = a350_core_mem_rw(core_of(g, 0), addr, MAX(len, 1));
    unsigned i;

    if (*p++ != ':' || !m || strlen(p) / 2 < len) {
        reply(g, "E14");
        return;
    }
    get_hex(p, m, len);
    for (i = 0; i < g->cl->num_cores; i++) {
        a350_core_invalidate(core_of(g, i));
    }
    reply(g, "OK");
}

/* ---- breakpoints and watchpoints ---- */

static void del_point(A350Gdb *g, const Point *pt)
{
    static const A350DebugKind kind[] = {
        A350_DEBUG_WATCH_W, A350_DEBUG_WATCH_R, A350_DEBUG_WATCH_A,
    };
    unsigned i;

    for (i = 0; i < g->cl->num_cores; i++) {
        if (pt->kind <= '1') {
            a350_core_del_break(core_of(g, i), pt->addr);
        } else {
            a350_core_del_watch(core_of(g, i), kind[pt->kind - '2'], pt->addr,
                                pt->len);
        }
    }
}

static bool add_point(A350Gdb *g, const Point *pt)
{
    static const A350DebugKind kind[] = {
        A350_DEBUG_WATCH_W, A350_DEBUG_WATCH_R, A350_DEBUG_WATCH_A,
    };
    unsigned i;
    bool ok = true;

    for (i = 0; i < g->cl->num_cores; i++) {
        ok &= pt->kind <= '1'
            ? a350_core_add_break(core_of(g, i), pt->addr)
            : a350_core_add_watch(core_of(g, i), kind[pt->kind - '2'],
                                  pt->addr, pt->len);
    }
    if (!ok) {
        del_point(g, pt);
    }
    return ok;
}

static void change_point(A350Gdb *g, char what, const char *p)
{
    Point pt = { .kind = *p++ };
    unsigned i;

    if (pt.kind < '0' || pt.kind > '4' || *p++ != ',') {
        reply(g, "");
        return;
    }
    pt.addr = number(&p);
    pt.len = *p == ',' ? (p++, number(&p)) : 1;
    for (i = 0; i < g->num_points; i++) {
        if (!memcmp(&g->point[i], &pt, sizeof(pt))) {
            break;
        }
    }
    if (what == 'Z' && i == g->num_points) {
        if (i == POINTS_MAX || !add_point(g, &pt)) {
            reply(g, "E28");
            return;
        }
        g->point[g->num_points++] = pt;
    } else if (what == 'z' && i < g->num_points) {
        del_point(g, &pt);
        g->point[i] = g->point[--g->num_points];
    }
    reply(g, "OK");
}

static void drop_points(A350Gdb *g)
{
    while (g->num_points) {
        del_point(g, &g->point[--g->num_points]);
    }
}

/* ---- libraries: the runtime's struct r_debug ---- */

static char *load_name(A350Gdb *g, uint64_t addr)
{
    GString *s = g_string_new(NULL);
    const char *p;

    while (s->len < 255 && (p = a350_core_mem(core_of(g, 0), addr, 1)) && *p) {
        /* What is special in XML or a terminal does not belong in a name. */
        g_string_append_c(s, strchr("<>&\"'", *p) || *p < ' ' ? '_' : *p);
        addr++;
    }
    return g_string_free(s, false);
}

/*
 * Calls @fn for each library of each namespace. link.h: r_debug is r_version
 * r_map r_brk r_state r_ldbase, from version 2 on also r_next; link_map is
 * l_addr l_name l_ld l_next.
 */
static void each_library(A350Gdb *g, GString *out,
                         void (*fn)(GString *, uint64_t, const char *))
{
    uint64_t r_debug = qatomic_read(&g->cl->r_debug), map;
    unsigned n = 0;

    while (r_debug && n++ < LIBRARIES_MAX) {
        map = load64(g, r_debug + 8);
        for (; map && n < LIBRARIES_MAX; n++, map = load64(g, map + 24)) {
            g_autofree char *name = load_name(g, load64(g, map + 8));

            if (*name) {
                fn(out, load64(g, map), name);
            }
        }
        r_debug = (uint32_t)load64(g, r_debug) >= 2 ? load64(g, r_debug + 40)
                                                    : 0;
    }
}

static void library_line(GString *out, uint64_t base, const char *name)
{
    const char *slash = strrchr(name, '/');

    g_string_append_printf(out, "add-symbol-file %s -o 0x%" PRIx64 "   # %s\n",
                           slash ? slash + 1 : name, base, name);
}

static void library_xml(GString *out, uint64_t base, const char *name)
{
    g_string_append_printf(out, "<library name=\"%s\"><segment address=\"0x%"
                           PRIx64 "\"/></library>", name, base);
}

static void core_lines(A350Gdb *g, GString *out)
{
    unsigned i;

    for (i = 0; i < g->cl->num_cores; i++) {
        A350ClusterCore *cc = &g->cl->core[i];

        g_string_append_printf(out, "core %u: %s%s%s\n", i, cc->running
                               ? "runs kernel " : cc->wfi ? "idle"
                               : cc->locked_up ? "locked up" : "firmware",
                               cc->running ? cc->kernel : "",
                               cc->abort ? ", being ended" : "");
    }
}

static void monitor_command(A350Gdb *g, const char *hex)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char cmd[64] = "";

    cmd[get_hex(hex, (uint8_t *)cmd, sizeof(cmd) - 1)] = '\0';
    if (!strcmp(cmd, "cores")) {
        core_lines(g, text);
    } else if (!strcmp(cmd, "libraries")) {
        each_library(g, text, library_line);
        if (!text->len) {
            g_string_append(text, "the firmware has not told where its "
                            "libraries are\n");
        }
    } else {
        g_string_append(text, help_text);
    }
    reply(g, "");
    put_hex(g, text->str, text->len);
}

/* ---- queries ---- */

/* Part "OFFSET,LENGTH" of a document. */
static void part(A350Gdb *g, const char *text, const char *range)
{
    size_t off = number(&range), len = *range == ',' ? (range++,
                                                        number(&range)) : 0;
    size_t size = strlen(text);

    len = MIN(len, PACKET_MAX - 16);
    off = MIN(off, size);
    reply(g, size - off > len ? "m" : "l");
    for (; len && off < size; len--, off++) {
        if (strchr("#$}*", text[off])) {
            g_string_append_c(g->out, '}');
            g_string_append_c(g->out, text[off] ^ 0x20);
        } else {
            g_string_append_c(g->out, text[off]);
        }
    }
}

static void transfer(A350Gdb *g, const char *p)
{
    g_autoptr(GString) s = g_string_new(NULL);
    unsigned i;

    if (strstart(p, "features:read:target.xml:", &p)) {
        part(g, a350_gdb_target_xml(), p);
    } else if (strstart(p, "threads:read::", &p)) {
        g_string_append(s, "<?xml version=\"1.0\"?><threads>");
        for (i = 0; i < g->cl->num_cores; i++) {
            g_string_append_printf(s, "<thread id=\"%x\" core=\"%u\" "
                                   "name=\"core%u\"/>", i + 1, i, i);
        }
        g_string_append(s, "</threads>");
        part(g, s->str, p);
    } else if (strstart(p, "libraries:read::", &p)) {
        g_string_append(s, "<library-list>");
        each_library(g, s, library_xml);
        g_string_append(s, "</library-list>");
        part(g, s->str, p);
    } else {
        reply(g, "");
    }
}

static void thread_list(A350Gdb *g, bool first)
{
    g->list = first ? 0 : g->list;
    if (g->list < g->cl->num_cores) {
        g_string_printf(g->out, "m%x", ++g->list);
    } else {
        reply(g, "l");
    }
}

static void extra_info(A350Gdb *g, const char *p)
{
    uint64_t n = number(&p) - 1;
    g_autofree char *text = NULL;

    if (n >= g->cl->num_cores) {
        reply(g, "E03");
        return;
    }
    text = g_strdup_printf("core %u%s%s", (unsigned)n,
                           g->cl->core[n].running ? ", kernel " : "",
                           g->cl->core[n].running ? g->cl->core[n].kernel
                                                  : "");
    reply(g, "");
    put_hex(g, text, strlen(text));
}

static void query(A350Gdb *g, const char *p)
{
    if (strstart(p, "Supported", NULL)) {
        g_string_printf(g->out, "PacketSize=%x;QStartNoAckMode+;"
                        "qXfer:features:read+;qXfer:threads:read+;"
                        "qXfer:libraries:read+;swbreak+;hwbreak+;"
                        "vContSupported+", PACKET_MAX);
    } else if (strstart(p, "Xfer:", &p)) {
        transfer(g, p);
    } else if (!strcmp(p, "fThreadInfo") || !strcmp(p, "sThreadInfo")) {
        thread_list(g, *p == 'f');
    } else if (strstart(p, "ThreadExtraInfo,", &p)) {
        extra_info(g, p);
    } else if (!strcmp(p, "C")) {
        g_string_printf(g->out, "QC%x", g->thread + 1);
    } else if (strstart(p, "Attached", NULL)) {
        reply(g, "1");
    } else if (strstart(p, "Rcmd,", &p)) {
        monitor_command(g, p);
    } else if (!strcmp(p, "Offsets") || strstart(p, "Symbol", NULL)) {
        reply(g, strstart(p, "Symbol", NULL) ? "OK" : "");
    } else {
        reply(g, "");
    }
}

/* ---- commands ---- */

static void select_thread(A350Gdb *g, const char *p)
{
    char op = *p++;
    uint64_t t = *p == '-' ? 0 : number(&p);

    if (t > g->cl->num_cores) {
        reply(g, "E03");
        return;
    }
    if (op == 'g' && t) {
        g->thread = t - 1;
    }
    reply(g, "OK");
}

static void thread_alive(A350Gdb *g, const char *p)
{
    uint64_t t = number(&p);

    reply(g, t >= 1 && t <= g->cl->num_cores ? "OK" : "E03");
}

static void detach(A350Gdb *g)
{
    drop_points(g);
    watch_libraries(g, false);
    g->running = false;
    a350_cluster_debug_resume(g->cl, all_cores(g), 0);
}

static bool v_packet(A350Gdb *g, const char *p)
{
    if (!strcmp(p, "Cont?")) {
        reply(g, "vCont;c;C;s;S");
    } else if (strstart(p, "Cont", &p)) {
        return vcont(g, p);
    } else {
        reply(g, "");
    }
    return true;
}

/* Old resume packets: [addr] or signal[;addr]; addresses are not used. */
static bool old_resume(A350Gdb *g, char op)
{
    bool step = op == 's' || op == 'S';
    unsigned one = 1u << g->thread;

    return resume(g, step ? 0 : all_cores(g), step ? one : 0);
}

/* Executes a packet; false: its reply comes later. */
static bool command(A350Gdb *g, const char *p)
{
    switch (*p++) {
    case '?':
        stop_reply(g, g->thread, A350_EXIT_KICK);
        return true;
    case 'g':
        read_registers(g);
        return true;
    case 'G':
        write_registers(g, p);
        return true;
    case 'p':
        read_register(g, p);
        return true;
    case 'P':
        write_register(g, p);
        return true;
    case 'm':
        read_memory(g, p);
        return true;
    case 'M':
        write_memory(g, p);
        return true;
    case 'Z':
    case 'z':
        change_point(g, p[-1], p);
        return true;
    case 'c':
    case 'C':
    case 's':
    case 'S':
        return old_resume(g, p[-1]);
    case 'v':
        return v_packet(g, p);
    case 'q':
        query(g, p);
        return true;
    case 'Q':
        g->no_ack |= !strcmp(p, "StartNoAckMode");
        reply(g, g->no_ack ? "OK" : "");
        return true;
    case 'H':
        select_thread(g, p);
        return true;
    case 'T':
        thread_alive(g, p);
        return true;
    case 'D':
        detach(g);
        reply(g, "OK");
        return true;
    case 'k':
        detach(g);
        return false;
    }
    reply(g, "");
    return true;
}

/* ---- input ---- */

static void packet_done(A350Gdb *g)
{
    if (g->sum != g->got || g->overflow) {
        g->ops->write(g->opaque, "-", 1);
        return;
    }
    if (!g->no_ack) {
        g->ops->write(g->opaque, "+", 1);
    }
    g->in[g->in_len] = '\0';
    if (g->running) {
        return;                  /* only an interrupt is legal now */
    }
    if (command(g, g->in)) {
        send_frame(g);
    }
}

static void input_byte(A350Gdb *g, char ch)
{
    switch (g->state) {
    case IDLE:
        if (ch == '$') {
            g->state = BODY;
            g->in_len = g->sum = 0;
            g->overflow = false;
        } else if (ch == 3) {
            interrupt(g);
        } else if (ch == '-') {
            g->ops->write(g->opaque, g->last->str, g->last->len);
        }
        return;
    case BODY:
        if (ch == '#') {
            g->state = SUM1;
            return;
        }
        g->sum += ch;
        if (g->in_len < PACKET_MAX) {
            g->in[g->in_len++] = ch;
        } else {
            g->overflow = true;
        }
        return;
    case SUM1:
        g->got = g_ascii_xdigit_value(ch) << 4;
        g->state = SUM2;
        return;
    case SUM2:
        g->got |= g_ascii_xdigit_value(ch) & 15;
        g->state = IDLE;
        packet_done(g);
    }
}

void a350_gdb_input(A350Gdb *g, const char *buf, size_t len)
{
    while (len--) {
        input_byte(g, *buf++);
    }
}

static void set_debugged(A350Gdb *g, bool debugged)
{
    qemu_mutex_lock(&g->cl->lock);
    g->cl->debugged = debugged;
    qemu_mutex_unlock(&g->cl->lock);
}

void a350_gdb_connect(A350Gdb *g)
{
    g->connected = true;
    g->no_ack = g->running = g->interrupted = false;
    g->state = IDLE;
    g->thread = 0;
    g_string_truncate(g->last, 0);
    set_debugged(g, true);
    a350_cluster_debug_stop(g->cl);
}

void a350_gdb_disconnect(A350Gdb *g)
{
    if (g->connected) {
        g->connected = false;
        set_debugged(g, false);
        a350_cluster_debug_stop(g->cl);
        detach(g);
    }
}

static void core_event(void *opaque)
{
    A350Gdb *g = opaque;

    g->ops->wake(g->opaque);
}

A350Gdb *a350_gdb_new(A350Cluster *cl, const A350GdbOps *ops, void *opaque)
{
    A350Gdb *g = g_new0(A350Gdb, 1);

    g->cl = cl;
    g->ops = ops;
    g->opaque = opaque;
    g->out = g_string_new(NULL);
    g->last = g_string_new(NULL);
    qemu_mutex_lock(&cl->lock);
    cl->debug_hook = core_event;
    cl->debug_opaque = g;
    qemu_mutex_unlock(&cl->lock);
    return g;
}

void a350_gdb_free(A350Gdb *g)
{
    if (!g) {
        return;
    }
    a350_gdb_disconnect(g);
    qemu_mutex_lock(&g->cl->lock);
    g->cl->debug_hook = NULL;
    qemu_mutex_unlock(&g->cl->lock);
    g_string_free(g->out, true);
    g_string_free(g->last, true);
    g_free(g);
}
