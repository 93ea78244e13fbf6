/*
 * atlas350-run: runs a program in a virtual machine with Atlas 350 cards.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The launcher starts QEMU as its child, with the guest's port (proto.h) and
 * the serial console as sockets, and carries frames until the guest reports an
 * exit. Whatever way it ends, the child is ended by its process id; should the
 * launcher itself be killed, the kernel ends the child (PR_SET_PDEATHSIG).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "proto.h"
#include "run.h"

#define MAX_ARGS 512
#define LOG_KEEP (1u << 18)      /* last part of the console that is kept */

struct buffer {
    char *data;
    size_t len, room;
};

static struct {
    struct run_options o;
    struct run_paths p;
    const char *accel;
    char *argv[MAX_ARGS];
    int argc;
    pid_t qemu;
    int port, console, qmp, signals; /* our ends */
    bool hello, started, failed;
    char stage[256];
    int64_t t0;
    struct buffer frame;         /* bytes of the port not taken yet */
    struct buffer line;          /* console line being received */
    struct buffer log;           /* console or kernel log */
    bool stdin_open, stdin_busy;
    struct termios saved;
    bool raw;
} run;

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static void append(struct buffer *b, const void *data, size_t len)
{
    if (b->len + len > b->room) {
        b->room = (b->len + len) * 2;
        b->data = realloc(b->data, b->room);
        if (!b->data) {
            run_die("out of memory (%zu bytes)", b->room);
        }
    }
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

static void keep_log(const void *data, size_t len)
{
    append(&run.log, data, len);
    if (run.log.len > 2 * LOG_KEEP) {
        memmove(run.log.data, run.log.data + run.log.len - LOG_KEEP, LOG_KEEP);
        run.log.len = LOG_KEEP;
    }
}

static _Noreturn void finish(int status);
static int64_t deadline(void);
static void too_late(void);

/* Waits until @fd takes data; signals and times still end the launcher. */
static void write_wait(int fd)
{
    struct pollfd pfd = { .fd = fd, .events = POLLOUT };
    const struct timespec zero = { 0 };
    sigset_t set;
    int sig;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    while (run.qemu > 0 && poll(&pfd, 1, 100) == 0) {
        sig = sigtimedwait(&set, NULL, &zero);
        if (sig > 0) {
            finish(128 + sig);
        }
        if (deadline() <= now_ms()) {
            too_late();
        }
    }
}

static void write_all(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len) {
        ssize_t n;

        write_wait(fd);
        n = write(fd, p, len < PIPE_BUF ? len : PIPE_BUF);
        if (n < 0 && errno == EAGAIN) {
            continue;
        }
        if (n < 0 && errno == EPIPE && fd == 1) {
            finish(128 + SIGPIPE); /* as the program would have ended */
        }
        if (n < 0 && errno != EINTR) {
            return;
        }
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        }
    }
}

static void set_stage(const char *text, size_t len)
{
    snprintf(run.stage, sizeof(run.stage), "%.*s", (int)len, text);
    if (run.o.verbose) {
        fprintf(stderr, "atlas350-run: %6.2f s %s\n",
                (double)(now_ms() - run.t0) / 1000, run.stage);
    }
}

/* ---- QEMU's command line ---- */

static void arg(char *text)
{
    if (run.argc == MAX_ARGS - 1) {
        run_die("more than %d arguments for QEMU", MAX_ARGS);
    }
    run.argv[run.argc++] = text;
}

static void option(const char *name, char *value)
{
    arg((char *)name);
    arg(value);
}

/* QEMU's options double commas inside values. */
static char *quote_commas(const char *text)
{
    char *out = run_alloc(2 * strlen(text) + 1), *p = out;

    for (; *text; text++) {
        *p++ = *text;
        if (*text == ',') {
            *p++ = ',';
        }
    }
    return out;
}

static void card_options(int i)
{
    const struct run_options *o = &run.o;
    char *dev, *more;

    option("-device", run_format("pcie-root-port,id=port%d,chassis=%d,slot=%d,"
                                 "bus=pcie.0,addr=0x%x", i, i + 1, i + 1,
                                 i + 4));
    dev = run_format("%s,id=card%d,bus=port%d", o->device, i, i);
#define MORE(...) do { char *t = run_format(__VA_ARGS__); \
        more = run_format("%s,%s", dev, t); free(t); free(dev); dev = more; \
    } while (0)
    if (RUN_IS_CARD(o->device) && !strstr(o->device, ",num-sq=")) {
        MORE("num-sq=%d", RUN_NUM_SQ);
    }
    if (o->hbm) {
        MORE("hbm-size=%s", o->hbm);
    }
    if (o->aicpu_cores) {
        MORE("aicpu-cores=%s", o->aicpu_cores);
    }
    if (run.p.firmware) {
        MORE("firmware=%s", quote_commas(run.p.firmware));
    }
    if (o->log && !strcmp(o->log, "-")) {
        option("-chardev", run_format("file,id=log%d,path=/dev/stderr,"
                                      "append=on", i));
        MORE("log=log%d", i);
    } else if (o->log) {
        option("-chardev", run_format("file,id=log%d,path=%s.%d", i,
                                      quote_commas(o->log), i));
        MORE("log=log%d", i);
    }
#undef MORE
    option("-device", dev);
}

static void kernel_options(int initrd)
{
    option("-kernel", run.p.kernel);
    option("-initrd", run_format("/proc/self/fd/%d", initrd));
    option("-append", run_format(
        "console=ttyS0 %s panic=-1 intel_iommu=on,sm_off tsc=reliable "
        "no_timer_check clocksource=tsc mitigations=off nokaslr "
        "random.trust_cpu=on cryptomgr.notests nmi_watchdog=0 audit=0 "
        "selinux=0 apparmor=0 iomem=relaxed %s",
        run.o.verbose ? "loglevel=7" : "quiet loglevel=3",
        run.o.append ? run.o.append : ""));
}

/* Places in the list of descriptors that QEMU inherits. */
enum { FD_INITRD, FD_PORT, FD_CONSOLE, FD_QMP, FD_COUNT };

static void build_command(const int fds[FD_COUNT])
{
    const struct run_options *o = &run.o;
    bool kvm = !strcmp(run.accel, "kvm");
    int i;

    arg(run.p.qemu);
    arg("-nodefaults");
    arg("-no-user-config");
    arg("-no-reboot");
    /* Debian's QEMU source has no firmware; these packages have it. */
    option("-L", "/usr/share/seabios");
    option("-L", "/usr/share/qemu");
    option("-display", "none");
    option("-machine", kvm ? "q35,kernel-irqchip=split,smm=off,usb=off"
                           : "q35,smm=off,usb=off");
    option("-accel", kvm ? "kvm" : "tcg,thread=multi");
    option("-cpu", "max");
    option("-m", run_format("%s", o->mem));
    option("-smp", run_format("%d", o->smp));
    kernel_options(fds[FD_INITRD]);
    option("-device", "intel-iommu,intremap=on,aw-bits=48");
    option("-chardev", run_format("socket,id=console,fd=%d",
                                  fds[FD_CONSOLE]));
    option("-serial", "chardev:console");
    option("-chardev", run_format("socket,id=port,fd=%d", fds[FD_PORT]));
    option("-chardev", run_format("socket,id=qmp,fd=%d", fds[FD_QMP]));
    option("-mon", "chardev=qmp,mode=control");
    option("-device", "virtio-serial-pci,max_ports=2,addr=0x2");
    option("-device", "virtserialport,chardev=port,name=" RUN_PORT_NAME);
    option("-fsdev", "local,id=root,path=/,security_model=none,readonly=on,"
                     "multidevs=remap");
    option("-device", "virtio-9p-pci,fsdev=root,mount_tag=root,addr=0x3");
    for (i = 0; i < o->cards; i++) {
        card_options(i);
    }
    for (i = 0; i < o->num_qemu_args; i++) {
        arg(o->qemu_args[i]);
    }
}

static void show_command(FILE *f)
{
    int i;

    for (i = 0; i < run.argc; i++) {
        const char *p = run.argv[i];
        bool plain = *p && !p[strcspn(p, " \t\n'\"`\\$&|;<>()*?[]{}~#!")];

        fprintf(f, "%s%s", i ? " " : "", plain ? p : "'");
        for (; !plain && *p; p++) {
            fputs(*p == '\'' ? "'\\''" : (char[]){ *p, 0 }, f);
        }
        fputs(plain ? "" : "'", f);
    }
    fputc('\n', f);
}

/* ---- the child ---- */

static void start_qemu(const int fds[FD_COUNT])
{
    pid_t parent = getpid();
    sigset_t none;
    int i;

    run.qemu = fork();
    if (run.qemu < 0) {
        run_die("cannot fork: %s", strerror(errno));
    }
    if (run.qemu > 0) {
        return;
    }
    /* A Ctrl-C is for the launcher, which ends QEMU in order. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(RUN_STATUS_VM);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (i = 0; i < FD_COUNT; i++) {
        fcntl(fds[i], F_SETFD, 0);
    }
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(2, 1);
    execv(run.p.qemu, run.argv);
    fprintf(stderr, "atlas350-run: cannot run %s: %s\n", run.p.qemu,
            strerror(errno));
    _exit(RUN_STATUS_VM);
}

/* Ends QEMU: asked first, so that it can write its logs out. */
static void end_qemu(void)
{
    static const char quit[] = "{\"execute\":\"qmp_capabilities\"}"
                               "{\"execute\":\"quit\"}\n";
    int64_t until = now_ms() + 3000;
    struct timespec nap = { .tv_nsec = 2000000 };

    if (run.qemu <= 0) {
        return;
    }
    if (write(run.qmp, quit, sizeof(quit) - 1) < 0) {
        kill(run.qemu, SIGTERM);
    }
    while (waitpid(run.qemu, NULL, WNOHANG) == 0) {
        if (now_ms() > until) {
            kill(run.qemu, SIGKILL);
            waitpid(run.qemu, NULL, 0);
            break;
        }
        nanosleep(&nap, NULL);
    }
    run.qemu = 0;
}

static void raw_terminal(void)
{
    struct termios raw;

    if (!run.o.shell || tcgetattr(0, &run.saved)) {
        return;
    }
    raw = run.saved;
    cfmakeraw(&raw);
    run.raw = !tcsetattr(0, TCSANOW, &raw);
}

static void restore_terminal(void)
{
    if (run.raw) {
        tcsetattr(0, TCSANOW, &run.saved);
        run.raw = false;
    }
}

static void print_log(const char *title)
{
    /* --verbose has shown it as it came. */
    if (run.log.len && !run.o.verbose) {
        fprintf(stderr, "---- %s ----\n", title);
        fwrite(run.log.data, 1, run.log.len, stderr);
        fputs(run.log.data[run.log.len - 1] == '\n' ? "----\n" : "\n----\n",
              stderr);
    }
}

static _Noreturn void finish(int status)
{
    end_qemu();
    restore_terminal();
    exit(status);
}

/* One line that says why, after what the machine has said. */
static _Noreturn void machine_failed(const char *why)
{
    end_qemu();
    restore_terminal();
    print_log("the guest's console and kernel log");
    run_die("%s", why);
}

/* ---- the job ---- */

static void job_put(struct buffer *b, const char *key, const char *value)
{
    append(b, key, strlen(key));
    append(b, "=", 1);
    append(b, value, strlen(value) + 1);
}

static void job_number(struct buffer *b, const char *key, long n)
{
    char text[32];

    snprintf(text, sizeof(text), "%ld", n);
    job_put(b, key, text);
}

/* Variables that describe the caller's session, not his work. */
static bool env_filtered(const char *var)
{
    static const char *const names[] = {
        "DISPLAY", "WAYLAND_", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_SESSION",
        "DBUS_", "SSH_", "SUDO_", "LD_PRELOAD=", "LD_LIBRARY_PATH=", "PATH=",
        "ASCEND_HOME_PATH=", "ASCEND_OPP_PATH=", "USER=", "LOGNAME=", "PWD=",
        "OLDPWD=", "_=", "MAKEFLAGS=", "MFLAGS=", "MAKELEVEL=",
        "ATLAS350_IN_GUEST=",
    };
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strncmp(var, names[i], strlen(names[i]))) {
            return true;
        }
    }
    return false;
}

static void job_env(struct buffer *b)
{
    extern char **environ;
    const char *path = getenv("PATH"), *libs = getenv("LD_LIBRARY_PATH");
    const char *sdk = run.p.prefix;
    char **e;

    for (e = environ; *e; e++) {
        if (!env_filtered(*e)) {
            job_put(b, "env", *e);
        }
    }
    job_put(b, "env", run_format("ASCEND_HOME_PATH=%s", sdk));
    job_put(b, "env", run_format("ASCEND_OPP_PATH=%s/opp", sdk));
    job_put(b, "env", run_format("LD_LIBRARY_PATH=%s/lib64%s%s", sdk,
                                 libs ? ":" : "", libs ? libs : ""));
    job_put(b, "env", run_format("PATH=%s/bin:%s", sdk, path ? path :
                                 "/usr/local/bin:/usr/bin:/bin"));
    job_put(b, "env", "USER=root");
    job_put(b, "env", "ATLAS350_IN_GUEST=1");
}

static void send_frame(enum run_frame type, const void *data, size_t len)
{
    uint8_t head[5];

    run_frame_header(head, type, (uint32_t)len);
    write_all(run.port, head, 5);
    write_all(run.port, data, len);
}

static void send_job(void)
{
    struct buffer b = { 0 };
    struct winsize ws = { 0 };
    char *cwd = getcwd(NULL, 0);
    char **a;

    if (!cwd) {
        run_die("cannot tell the working directory: %s", strerror(errno));
    }
    job_put(&b, "cwd", cwd);
    job_number(&b, "cards", run.o.cards);
    job_number(&b, "any", strcmp(run.o.device, "atlas350") != 0);
    job_number(&b, "pty", run.o.shell);
    job_number(&b, "time", (long)time(NULL));
    if (run.o.shell && !ioctl(0, TIOCGWINSZ, &ws)) {
        job_number(&b, "rows", ws.ws_row);
        job_number(&b, "cols", ws.ws_col);
    }
    for (a = run.o.program; *a; a++) {
        job_put(&b, "arg", *a);
    }
    job_env(&b);
    send_frame(RUN_JOB, b.data, b.len);
    free(b.data);
    free(cwd);
}

/* ---- what arrives ---- */

static void guest_exit(const uint8_t *data, size_t len)
{
    int status = len >= 2 ? data[0] | data[1] << 8 : 0xff00;

    finish(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static void take_frame(int type, const char *data, size_t len)
{
    switch (type) {
    case RUN_HELLO:
        run.hello = true;
        send_job();
        break;
    case RUN_STAGE:
        set_stage(data, len);
        break;
    case RUN_STARTED:
        run.started = true;
        set_stage("program running", 15);
        run.stdin_open = true;
        raw_terminal();
        break;
    case RUN_STDOUT:
        write_all(1, data, len);
        break;
    case RUN_STDERR:
        write_all(2, data, len);
        break;
    case RUN_STDIN_DONE:
        run.stdin_busy = false;
        break;
    case RUN_KLOG:
        if (!run.o.verbose) {
            keep_log(data, len);
        }
        break;
    case RUN_FAIL:
        machine_failed(run_format("%.*s", (int)len, data));
    case RUN_EXIT:
        guest_exit((const uint8_t *)data, len);
        break;
    default:
        machine_failed(run_format("the guest sent a frame of unknown type %d",
                                  type));
    }
}

static void from_port(void)
{
    char chunk[65536];
    ssize_t n = read(run.port, chunk, sizeof(chunk));
    size_t pos = 0;

    if (n <= 0) {
        return;                  /* QEMU has ended: SIGCHLD tells how */
    }
    append(&run.frame, chunk, (size_t)n);
    while (run.frame.len - pos >= 5) {
        const uint8_t *head = (uint8_t *)run.frame.data + pos;
        uint32_t len = run_frame_length(head);

        if (len > RUN_FRAME_MAX) {
            machine_failed("the guest sent a frame that is too long");
        }
        if (run.frame.len - pos < 5 + (size_t)len) {
            break;
        }
        take_frame(head[0], (char *)head + 5, len);
        pos += 5 + (size_t)len;
    }
    memmove(run.frame.data, run.frame.data + pos, run.frame.len - pos);
    run.frame.len -= pos;
}

static void console_line(char *line)
{
    char *mark = strstr(line, RUN_STAGE_MARK);

    if (mark) {
        set_stage(mark + strlen(RUN_STAGE_MARK), strlen(mark) -
                  strlen(RUN_STAGE_MARK));
    }
    mark = strstr(line, "atlas350-fail: ");
    if (mark) {
        machine_failed(run_format("%s", mark + strlen("atlas350-fail: ")));
    }
}

static void from_console(void)
{
    char chunk[4096];
    ssize_t n = read(run.console, chunk, sizeof(chunk));
    ssize_t i;

    if (n <= 0) {
        return;
    }
    keep_log(chunk, (size_t)n);
    if (run.o.verbose) {
        write_all(2, chunk, (size_t)n);
    }
    for (i = 0; i < n; i++) {
        if (chunk[i] != '\n' && chunk[i] != '\r') {
            append(&run.line, &chunk[i], 1);
        } else if (run.line.len) {
            append(&run.line, "", 1);
            run.line.len = 0;
            console_line(run.line.data);
        }
    }
}

static void from_stdin(void)
{
    char chunk[RUN_STDIN_CHUNK];
    ssize_t n;

    if (isatty(0) && tcgetpgrp(0) != getpgrp()) {
        /* Started in the background: the terminal is not ours to read. */
        run.stdin_open = false;
        return;
    }
    n = read(0, chunk, sizeof(chunk));
    if (n > 0) {
        run.stdin_busy = true;
        send_frame(RUN_STDIN, chunk, (size_t)n);
    } else if (n == 0 || errno != EINTR) {
        run.stdin_open = false;
        send_frame(RUN_STDIN_EOF, "", 0);
    }
}

static void qemu_ended(void)
{
    int status;

    if (waitpid(run.qemu, &status, WNOHANG) != run.qemu) {
        return;
    }
    run.qemu = 0;
    from_console();
    if (WIFSIGNALED(status)) {
        machine_failed(run_format("QEMU was ended by signal %d (%s) while: %s",
                                  WTERMSIG(status), strsignal(WTERMSIG(status)),
                                  run.stage));
    }
    if (WEXITSTATUS(status) && !run.log.len) {
        machine_failed(run_format("QEMU did not start (exit code %d); the line "
                                  "above says why", WEXITSTATUS(status)));
    }
    if (WEXITSTATUS(status)) {
        machine_failed(run_format("QEMU ended with code %d while: %s; its "
                                  "message stands above", WEXITSTATUS(status),
                                  run.stage));
    }
    machine_failed(run_format("the guest went down while: %s", run.stage));
}

static void from_signals(void)
{
    struct signalfd_siginfo info;
    struct winsize ws;
    uint16_t size[2];

    if (read(run.signals, &info, sizeof(info)) != sizeof(info)) {
        return;
    }
    switch (info.ssi_signo) {
    case SIGCHLD:
        qemu_ended();
        break;
    case SIGWINCH:
        if (run.started && run.o.shell && !ioctl(0, TIOCGWINSZ, &ws)) {
            size[0] = ws.ws_row;
            size[1] = ws.ws_col;
            send_frame(RUN_WINSIZE, size, 4);
        }
        break;
    default:
        finish(128 + (int)info.ssi_signo);
    }
}

/* ---- main loop ---- */

static int64_t deadline(void)
{
    static int64_t start;

    if (!run.started) {
        return run.t0 + run.o.boot_timeout * 1000ll;
    }
    if (!start) {
        start = now_ms();
    }
    return run.o.timeout ? start + run.o.timeout * 1000ll : INT64_MAX;
}

static void too_late(void)
{
    if (run.started) {
        end_qemu();
        restore_terminal();
        fprintf(stderr, "atlas350-run: %s did not end within %d s (--timeout)\n",
                run.o.program[0], run.o.timeout);
        exit(RUN_STATUS_TIME);
    }
    machine_failed(run_format("the guest did not come up within %d s "
                              "(--boot-timeout); it was: %s",
                              run.o.boot_timeout, run.stage));
}

static _Noreturn void loop(void)
{
    for (;;) {
        int64_t left = deadline() - now_ms();
        struct pollfd fds[] = {
            { .fd = run.signals, .events = POLLIN },
            { .fd = run.port, .events = POLLIN },
            { .fd = run.console, .events = POLLIN },
            { .fd = run.stdin_open && !run.stdin_busy ? 0 : -1,
              .events = POLLIN },
        };

        if (left <= 0) {
            too_late();
        }
        if (poll(fds, 4, left > 1000 ? 1000 : (int)left) < 0) {
            continue;
        }
        /* The port first: an exit code in it beats QEMU's end. */
        if (fds[1].revents & POLLIN) {
            from_port();
        }
        if (fds[2].revents & POLLIN) {
            from_console();
        }
        if (fds[3].revents) {
            from_stdin();
        }
        if (fds[0].revents) {
            from_signals();
        }
    }
}

static void block_signals(void)
{
    static const int sigs[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT,
                                SIGWINCH };
    sigset_t set;
    size_t i;

    sigemptyset(&set);
    for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
        sigaddset(&set, sigs[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    run.signals = signalfd(-1, &set, SFD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
}

/* A pair of connected sockets: one end for QEMU, the other returned. */
static int connect_qemu(int *theirs)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
        run_die("cannot make a socket pair: %s", strerror(errno));
    }
    *theirs = pair[1];
    return pair[0];
}

int main(int argc, char **argv)
{
    int fds[FD_COUNT], i;
    const char *why;

    run_options_parse(argc, argv, &run.o);
    run_paths_find(&run.o, &run.p);
    run.accel = run_accel(run.o.accel, &why);
    run.t0 = now_ms();
    fds[FD_INITRD] = run_initramfs(&run.p);
    run.port = connect_qemu(&fds[FD_PORT]);
    run.console = connect_qemu(&fds[FD_CONSOLE]);
    run.qmp = connect_qemu(&fds[FD_QMP]);
    build_command(fds);
    if (run.o.show_command) {
        show_command(stdout);
        return 0;
    }
    if (run.o.verbose) {
        if (why) {
            fprintf(stderr, "atlas350-run: tcg, because %s\n", why);
        }
        show_command(stderr);
    }
    set_stage("loading the kernel (nothing heard from it yet)", 46);
    block_signals();
    start_qemu(fds);
    for (i = 0; i < FD_COUNT; i++) {
        close(fds[i]);
    }
    loop();
}
