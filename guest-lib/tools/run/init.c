/*
 * First process of atlas350-run's guest: loads modules, mounts the host's
 * root, hands the cards to VFIO, runs the program, reports how it ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Statically linked, it is /init of the initramfs. Whatever fails is reported
 * as one line over the port (proto.h), or on the console while there is none.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "proto.h"

#define ROOT        "/newroot"
#define PCI_DEVICES "/sys/bus/pci/devices"

static int port = -1;

static struct {
    char *text;                  /* what the words below point into */
    char **argv, **envp;         /* end with NULL */
    int argc, envc;
    const char *cwd;
    int cards;                   /* how many must be there */
    bool any_device;             /* they are not atlas350 but of any kind */
    bool pty;
    uint16_t rows, cols;
} job;

/* ---- the port ---- */

static bool write_all(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        p += n;
        len -= (size_t)n;
    }
    return true;
}

static void send_frame(enum run_frame type, const void *data, uint32_t len)
{
    static uint8_t frame[5 + RUN_FRAME_MAX];

    run_frame_header(frame, type, len);
    memcpy(frame + 5, data, len);
    write_all(port, frame, 5 + len);
}

static void stage(const char *what)
{
    char line[256];

    if (port >= 0) {
        send_frame(RUN_STAGE, what, (uint32_t)strlen(what));
        return;
    }
    snprintf(line, sizeof(line), RUN_STAGE_MARK "%s\n", what);
    write_all(2, line, strlen(line));
}

static void send_kernel_log(void)
{
    static char log[1 << 18];
    int len = klogctl(3, log, sizeof(log)); /* SYSLOG_ACTION_READ_ALL */
    int pos = 0;

    while (port >= 0 && pos < len) {
        int n = len - pos > 32768 ? 32768 : len - pos;

        send_frame(RUN_KLOG, log + pos, (uint32_t)n);
        pos += n;
    }
}

static _Noreturn void power_off(void)
{
    sync();
    if (port >= 0) {
        /* The host ends the machine; what is in the port's ring arrives. */
        pause();
    }
    reboot(RB_POWER_OFF);
    for (;;) {
        pause();
    }
}

static _Noreturn void fail(const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (port >= 0) {
        send_kernel_log();
        send_frame(RUN_FAIL, text, (uint32_t)strlen(text));
    } else {
        char line[600];

        snprintf(line, sizeof(line), "atlas350-fail: %s\n", text);
        write_all(2, line, strlen(line));
    }
    power_off();
}

static bool read_all(void *data, size_t len)
{
    char *p = data;

    while (len) {
        ssize_t n = read(port, p, len);

        if (n <= 0) {
            if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
                continue;
            }
            return false;
        }
        p += n;
        len -= (size_t)n;
    }
    return true;
}

/* Reads one frame; the caller frees *data. */
static int read_frame(char **data, uint32_t *len)
{
    uint8_t head[5];

    if (!read_all(head, 5)) {
        return -1;
    }
    *len = run_frame_length(head);
    *data = malloc(*len + 1u);
    if (!*data || !read_all(*data, *len)) {
        return -1;
    }
    (*data)[*len] = 0;
    return head[0];
}

/* ---- small helpers ---- */

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok;

    if (fd < 0) {
        return false;
    }
    ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return ok;
}

static bool read_line(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

    if (fd >= 0) {
        close(fd);
    }
    buf[n > 0 ? n : 0] = 0;
    buf[strcspn(buf, "\n")] = 0;
    return n > 0;
}

static void must_mount(const char *what, const char *where, const char *type,
                       unsigned long flags, const char *opts)
{
    mkdir(where, 0755);
    if (mount(what, where, type, flags, opts)) {
        fail("guest: cannot mount %s on %s: %s", type, where, strerror(errno));
    }
}

/* /modules/list names one file a line, in the order they are needed. */
static void load_modules(void)
{
    char name[256];
    FILE *list = fopen("/modules/list", "re");

    if (!list) {
        fail("guest: the initramfs has no /modules/list");
    }
    while (fgets(name, sizeof(name), list)) {
        char path[300];
        int fd;

        name[strcspn(name, "\n")] = 0;
        snprintf(path, sizeof(path), "/modules/%s", name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) &&
                       errno != EEXIST)) {
            fail("guest: cannot load module %s: %s", name, strerror(errno));
        }
        close(fd);
    }
    fclose(list);
}

static bool try_port(void)
{
    DIR *dir = opendir("/sys/class/virtio-ports");
    struct dirent *e;

    while (dir && (e = readdir(dir))) {
        char path[300], name[64];

        snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name",
                 e->d_name);
        if (read_line(path, name, sizeof(name)) &&
            !strcmp(name, RUN_PORT_NAME)) {
            snprintf(path, sizeof(path), "/dev/%s", e->d_name);
            port = open(path, O_RDWR | O_CLOEXEC);
            break;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return port >= 0;
}

static void open_port(void)
{
    int tries;

    for (tries = 0; tries < 30000; tries++) {
        if (try_port()) {
            send_frame(RUN_HELLO, "", 0);
            return;
        }
        usleep(1000);
    }
    fail("guest: no virtio-serial port named " RUN_PORT_NAME " in 30 s");
}

/* ---- the job ---- */

static void job_line(char *line)
{
    char *value = strchr(line, '=');

    if (!value) {
        return;
    }
    *value++ = 0;
    if (!strcmp(line, "arg")) {
        job.argv[job.argc++] = value;
    } else if (!strcmp(line, "env")) {
        job.envp[job.envc++] = value;
    } else if (!strcmp(line, "cwd")) {
        job.cwd = value;
    } else if (!strcmp(line, "cards")) {
        job.cards = atoi(value);
    } else if (!strcmp(line, "any")) {
        job.any_device = atoi(value);
    } else if (!strcmp(line, "pty")) {
        job.pty = atoi(value);
    } else if (!strcmp(line, "time")) {
        struct timespec t = { .tv_sec = atoll(value) };

        clock_settime(CLOCK_REALTIME, &t);
    } else if (!strcmp(line, "rows")) {
        job.rows = (uint16_t)atoi(value);
    } else if (!strcmp(line, "cols")) {
        job.cols = (uint16_t)atoi(value);
    }
}

static void read_job(void)
{
    uint32_t len, pos = 0, lines = 1;

    if (read_frame(&job.text, &len) != RUN_JOB) {
        fail("guest: the launcher sent no job");
    }
    for (uint32_t i = 0; i < len; i++) {
        lines += !job.text[i];
    }
    job.argv = calloc(lines + 1, sizeof(char *));
    job.envp = calloc(lines + 1, sizeof(char *));
    if (!job.argv || !job.envp) {
        fail("guest: out of memory for a job of %u words", lines);
    }
    while (pos < len) {
        uint32_t n = (uint32_t)strlen(job.text + pos);

        job_line(job.text + pos);
        pos += n + 1;
    }
    if (!job.argc || !job.cwd) {
        fail("guest: the launcher sent a job without program or directory");
    }
}

/* ---- root file system ---- */

static void loopback_up(void)
{
    struct ifreq ifr = { .ifr_name = "lo" };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    ifr.ifr_flags = IFF_UP | IFF_RUNNING;
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr)) {
        fail("guest: cannot bring up the loopback interface: %s",
             strerror(errno));
    }
    close(fd);
    /*
     * HCCL listens at one of these (HCCL_IF_BASE_PORT) and ranks with a rank
     * table look for it there: not for the caller's end of any connection.
     */
    write_file("/proc/sys/net/ipv4/ip_local_reserved_ports", "60000-60031");
}

static void mount_root(void)
{
    stage("mounting the host's root file system (9p)");
    must_mount("none", "/rw", "tmpfs", 0, "mode=755,size=90%");
    mkdir("/rw/upper", 0755);
    mkdir("/rw/work", 0755);
    must_mount("root", "/host", "9p", MS_RDONLY,
               "trans=virtio,version=9p2000.L,msize=512000,cache=loose");
    must_mount("none", ROOT, "overlay", 0,
               "lowerdir=/host,upperdir=/rw/upper,workdir=/rw/work");
    stage("mounting /proc, /sys, /dev in the new root");
    must_mount("none", ROOT "/proc", "proc", 0, "");
    must_mount("none", ROOT "/sys", "sysfs", 0, "");
    must_mount("none", ROOT "/dev", "devtmpfs", 0, "mode=755");
    must_mount("none", ROOT "/dev/pts", "devpts", 0,
               "newinstance,ptmxmode=0666,mode=620");
    must_mount("none", ROOT "/dev/shm", "tmpfs", 0, "mode=1777,size=90%");
    must_mount("none", ROOT "/run", "tmpfs", 0, "mode=755");
    /* devtmpfs has these only when something made them. */
    if (symlink("/proc/self/fd", ROOT "/dev/fd") ||
        symlink("/proc/self/fd/0", ROOT "/dev/stdin") ||
        symlink("/proc/self/fd/1", ROOT "/dev/stdout") ||
        symlink("/proc/self/fd/2", ROOT "/dev/stderr")) {
        stage("links in /dev exist already");
    }
    unlink(ROOT "/dev/ptmx");
    if (symlink("pts/ptmx", ROOT "/dev/ptmx")) {
        stage("/dev/ptmx exists already");
    }
    sethostname("atlas350", 8);
    loopback_up();
}

/* ---- cards ---- */

static bool has_entries(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    bool found = false;

    while (dir && !found && (e = readdir(dir))) {
        found = e->d_name[0] != '.';
    }
    if (dir) {
        closedir(dir);
    }
    return found;
}

static bool is_card(const char *bdf)
{
    char path[300], vendor[32], device[32], class[32];

    snprintf(path, sizeof(path), PCI_DEVICES "/%s/vendor", bdf);
    read_line(path, vendor, sizeof(vendor));
    snprintf(path, sizeof(path), PCI_DEVICES "/%s/device", bdf);
    read_line(path, device, sizeof(device));
    if (job.any_device) {
        /* Anything behind a root port; bus 0 is the machine's. */
        snprintf(path, sizeof(path), PCI_DEVICES "/%s/class", bdf);
        read_line(path, class, sizeof(class));
        return strncmp(bdf, "0000:00:", 8) && strncmp(class, "0x0604", 6);
    }
    return !strcmp(vendor, "0x19e5") && !strcmp(device, "0xd806");
}

static void bind_card(const char *bdf)
{
    char path[300], link[300], driver[300];
    ssize_t n;

    snprintf(path, sizeof(path), PCI_DEVICES "/%s/driver_override", bdf);
    write_file(path, "vfio-pci");
    snprintf(path, sizeof(path), PCI_DEVICES "/%s/driver/unbind", bdf);
    write_file(path, bdf);
    write_file("/sys/bus/pci/drivers_probe", bdf);
    snprintf(link, sizeof(link), PCI_DEVICES "/%s/driver", bdf);
    n = readlink(link, driver, sizeof(driver) - 1);
    driver[n > 0 ? n : 0] = 0;
    if (n <= 0 || strcmp(strrchr(driver, '/') + 1, "vfio-pci")) {
        fail("card %s: not bound to VFIO: driver is %s, wanted vfio-pci; the "
             "kernel log below says why", bdf,
             n > 0 ? strrchr(driver, '/') + 1 : "none");
    }
}

static void bind_cards(void)
{
    DIR *dir;
    struct dirent *e;
    int found = 0;

    if (!job.cards) {
        return;
    }
    stage("handing the cards to vfio-pci");
    dir = opendir(PCI_DEVICES);
    while (dir && (e = readdir(dir))) {
        if (e->d_name[0] == '.' || !is_card(e->d_name)) {
            continue;
        }
        if (!has_entries("/sys/kernel/iommu_groups")) {
            fail("card %s: no vIOMMU in the guest: /sys/kernel/iommu_groups is "
                 "empty; QEMU needs -device intel-iommu and the kernel "
                 "intel_iommu=on (an --append or --qemu-arg took it away?)",
                 e->d_name);
        }
        bind_card(e->d_name);
        found++;
    }
    if (dir) {
        closedir(dir);
    }
    if (!found) {
        fail("no card in the guest: its PCI bus shows 0 functions 19e5:d806, "
             "--cards asked for %d; look at QEMU's messages and arguments "
             "with --verbose", job.cards);
    }
    if (found != job.cards) {
        fail("%d of %d cards in the guest; look at the kernel log for PCI "
             "functions without room for their BARs, or give less --hbm",
             found, job.cards);
    }
}

/* ---- the program ---- */

/* A pipe end for the child and one for us; [0] in, [1] out, [2] err. */
struct streams {
    int child[3], ours[3];
};

static void open_streams(struct streams *s)
{
    int i, p[2];

    if (job.pty) {
        struct winsize ws = { .ws_row = job.rows, .ws_col = job.cols };
        int master = open(ROOT "/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
        int slave, off = 0, num;
        char path[64];

        if (master < 0 || ioctl(master, TIOCSPTLCK, &off) ||
            ioctl(master, TIOCGPTN, &num)) {
            fail("guest: no pseudo terminal: %s", strerror(errno));
        }
        ioctl(master, TIOCSWINSZ, &ws);
        snprintf(path, sizeof(path), ROOT "/dev/pts/%d", num);
        slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
        s->child[0] = s->child[1] = s->child[2] = slave;
        s->ours[0] = s->ours[1] = master;
        s->ours[2] = -1;
        return;
    }
    for (i = 0; i < 3; i++) {
        if (pipe2(p, O_CLOEXEC)) {
            fail("guest: no pipe: %s", strerror(errno));
        }
        s->child[i] = p[i != 0];
        s->ours[i] = p[i == 0];
    }
}

static _Noreturn void child(struct streams *s, int report)
{
    struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
    int err;

    setsid();
    dup2(s->child[0], 0);
    dup2(s->child[1], 1);
    dup2(s->child[2], 2);
    if (job.pty) {
        ioctl(0, TIOCSCTTY, 0);
    }
    setrlimit(RLIMIT_MEMLOCK, &unlimited);
    signal(SIGPIPE, SIG_DFL);
    umask(022);
    if (chroot(ROOT) || chdir(job.cwd)) {
        dprintf(report, "cannot enter directory %s: %s", job.cwd,
                strerror(errno));
        _exit(127);
    }
    environ = job.envp;
    execvp(job.argv[0], job.argv);
    err = errno;
    dprintf(report, "cannot run %s: %s", job.argv[0], strerror(err));
    _exit(err == ENOENT ? 127 : 126);
}

/* Moves what is there of one output stream; false at its end. */
static bool pump(int fd, enum run_frame type)
{
    char buf[16384];
    ssize_t n = read(fd, buf, sizeof(buf));

    if (n <= 0) {
        return n < 0 && (errno == EINTR || errno == EAGAIN);
    }
    send_frame(type, buf, (uint32_t)n);
    return true;
}

static struct {
    char *data;
    uint32_t len, pos;
} in;                            /* chunk of standard input being written */

static void from_host(struct streams *s)
{
    struct winsize ws = { 0 };
    char *data;
    uint32_t len;
    int type = read_frame(&data, &len);

    switch (type) {
    case RUN_STDIN:
        free(in.data);
        in.data = data;
        in.len = len;
        in.pos = 0;
        return;
    case RUN_STDIN_EOF:
        if (job.pty) {
            write_all(s->ours[0], "\004", 1);
        } else if (s->ours[0] >= 0) {
            close(s->ours[0]);
            s->ours[0] = -1;
        }
        break;
    case RUN_WINSIZE:
        if (job.pty && len == 4) {
            memcpy(&ws.ws_row, data, 2);
            memcpy(&ws.ws_col, data + 2, 2);
            ioctl(s->ours[1], TIOCSWINSZ, &ws);
        }
        break;
    default:
        power_off();
    }
    free(data);
}

static void to_stdin(struct streams *s)
{
    ssize_t n = write(s->ours[0], in.data + in.pos, in.len - in.pos);

    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        in.pos = in.len;         /* the program does not read any more */
    } else if (n > 0) {
        in.pos += (uint32_t)n;
    }
    if (in.pos == in.len) {
        free(in.data);
        in.data = NULL;
        send_frame(RUN_STDIN_DONE, "", 0);
    }
}

/* Waits for zombies; the status of @pid if it was among them. */
static bool reap(pid_t pid, int *status)
{
    bool seen = false;
    pid_t got;
    int st;

    while ((got = waitpid(-1, &st, WNOHANG)) > 0) {
        if (got == pid) {
            *status = st;
            seen = true;
        }
    }
    return seen;
}

/*
 * Carries the streams until the program has ended and its output is out. A
 * child it left in the background may hold the pipes open: what is there when
 * the program has ended is still taken, no more is waited for.
 */
static int carry(pid_t pid, struct streams *s)
{
    enum { PORT, OUT, ERR, IN };
    bool ended = false;
    int status = 0;

    for (;;) {
        struct pollfd fds[4] = {
            { .fd = port, .events = POLLIN },
            { .fd = s->ours[1], .events = POLLIN },
            { .fd = s->ours[2], .events = POLLIN },
            { .fd = in.data ? s->ours[0] : -1, .events = POLLOUT },
        };
        int n;

        n = poll(fds, 4, ended ? 0 : 100);
        if (!ended && reap(pid, &status)) {
            ended = true;
            continue;
        }
        if (ended && (n <= 0 || !((fds[OUT].revents | fds[ERR].revents) &
                                  POLLIN))) {
            return status;
        }
        if (fds[OUT].revents && !pump(s->ours[1], RUN_STDOUT)) {
            s->ours[1] = -1;
        }
        if (fds[ERR].revents && !pump(s->ours[2], RUN_STDERR)) {
            s->ours[2] = -1;
        }
        if (fds[IN].revents) {
            to_stdin(s);
        }
        if (fds[PORT].revents & POLLIN) {
            from_host(s);
        }
    }
}

static void on_child(int sig)
{
    (void)sig;                   /* only ends poll() early */
}

static int run_program(void)
{
    struct sigaction sa = { .sa_handler = on_child };
    struct streams s;
    char text[400];
    int report[2], status;
    ssize_t n;
    pid_t pid;

    open_streams(&s);
    if (pipe2(report, O_CLOEXEC)) {
        fail("guest: no pipe: %s", strerror(errno));
    }
    sigaction(SIGCHLD, &sa, NULL);
    signal(SIGPIPE, SIG_IGN);
    pid = fork();
    if (pid < 0) {
        fail("guest: cannot fork: %s", strerror(errno));
    }
    if (pid == 0) {
        child(&s, report[1]);
    }
    close(report[1]);
    close(s.child[0]);
    if (!job.pty) {
        close(s.child[1]);
        close(s.child[2]);
    }
    while ((n = read(report[0], text, sizeof(text) - 1)) < 0 &&
           errno == EINTR) {
    }
    close(report[0]);
    if (n > 0) {
        /* The program's name is wrong; nothing of the guest is to blame. */
        waitpid(pid, &status, 0);
        text[n] = 0;
        send_frame(RUN_STDERR, "atlas350-run: ", 14);
        send_frame(RUN_STDERR, text, (uint32_t)n);
        send_frame(RUN_STDERR, "\n", 1);
        return status;
    }
    send_frame(RUN_STARTED, "", 0);
    if (s.ours[0] >= 0 && !job.pty) {
        fcntl(s.ours[0], F_SETFL, O_NONBLOCK);
    }
    return carry(pid, &s);
}

int main(void)
{
    uint8_t out[4];
    int status;

    mount("none", "/dev", "devtmpfs", 0, "");
    mount("none", "/proc", "proc", 0, "");
    mount("none", "/sys", "sysfs", 0, "");
    stage("loading kernel modules");
    load_modules();
    stage("opening the port to the launcher");
    open_port();
    stage("receiving the job");
    read_job();
    mount_root();
    bind_cards();
    stage("starting the program");
    status = run_program();
    out[0] = (uint8_t)status;
    out[1] = (uint8_t)(status >> 8);
    out[2] = out[3] = 0;
    send_frame(RUN_EXIT, out, 4);
    power_off();
}
