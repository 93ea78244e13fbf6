/*
 * atlas350-run: command line, and where the things it needs lie.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static const char usage_text[] =
"usage: atlas350-run [OPTIONS] [--] PROGRAM [ARGS...]\n"
"       atlas350-run [OPTIONS] --shell\n"
"\n"
"Runs PROGRAM in a virtual machine with Atlas 350 cards. The machine's root is\n"
"this host's file system, read-only; what the program writes is gone with the\n"
"machine. Directory, environment, output and exit code are the program's.\n"
"\n"
"Cards:\n"
"  --cards N            number of cards, 0 to 16 [1]\n"
"  --hbm SIZE           memory of each card, a power of two from 256M to 128G\n"
"                       [4G]\n"
"  --aicpu-cores N      cores of each card [the card's default]\n"
"  --firmware FILE      firmware of the cards, or none [the SDK's]\n"
"  --log FILE           the cards' log, FILE.0 is card 0's; - is standard error\n"
"\n"
"Machine:\n"
"  --mem SIZE           memory, 128M or more [2G]\n"
"  --smp N              processors [2]\n"
"  --accel tcg|kvm|auto how processors are run; auto takes KVM if it works\n"
"                       [auto]\n"
"  --kernel FILE        kernel, bzImage or vmlinux [Debian's, of the SDK]\n"
"  --modules DIR        its modules, the directory with modules.dep\n"
"                       [lib/modules/VERSION beside the kernel's boot/]\n"
"  --append TEXT        more kernel command line\n"
"  --qemu FILE          QEMU with the card in it [the SDK's]\n"
"  --qemu-arg ARG       one more argument for QEMU; may be given repeatedly\n"
"\n"
"Running:\n"
"  --shell              an interactive shell in the machine\n"
"  --timeout SECONDS    ends the program after that time, exit code 124 [none]\n"
"  --boot-timeout SECONDS  how long the machine may take to come up [120]\n"
"  --verbose            stages, QEMU's command line, kernel log\n"
"  --dry-run            prints QEMU's command line and ends\n"
"  --help               this text\n"
"\n"
"Exit code: the program's; 128 + N if signal N ended it; 124 after --timeout;\n"
"125 if the machine or a card failed; 126 or 127 if PROGRAM cannot be run.\n"
"Variables: ATLAS350_QEMU and ATLAS350_KERNEL stand in for --qemu, --kernel.\n";

void run_die(const char *fmt, ...)
{
    va_list ap;

    fputs("atlas350-run: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(RUN_STATUS_VM);
}

void *run_alloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);

    if (!p) {
        run_die("out of memory (%zu bytes)", size);
    }
    return p;
}

char *run_format(const char *fmt, ...)
{
    char *text;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0) {
        run_die("out of memory");
    }
    va_end(ap);
    return text;
}

static int number(const char *option, const char *text, int low, int high)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(text, &end, 10);
    if (errno || end == text || *end || n < low || n > high) {
        run_die("--%s %s: not a number from %d to %d", option, text, low, high);
    }
    return (int)n;
}

/* A size in bytes from digits and a suffix, as QEMU reads it; 0 if it is none. */
static unsigned long long parse_size(const char *text)
{
    static const char units[] = "KMGT";
    unsigned long long n;
    const char *unit;
    char *end;

    errno = 0;
    n = strtoull(text, &end, 10);
    if (errno || end == text || *text == '-') {
        return 0;
    }
    if (!*end) {
        return n;
    }
    unit = strchr(units, *end & ~0x20);
    if (!unit || end[1] || n >> (63 - 10 * (unit - units + 1))) {
        return 0;
    }
    return n << (10 * (unit - units + 1));
}

/*
 * Checked here because QEMU would say less, or nothing: with too little memory
 * the guest's kernel dies before it can print.
 */
static const char *memory_size(const char *text)
{
    if (parse_size(text) < 128ull << 20) {
        run_die("--mem %s: not a size from 128M up, such as 2G", text);
    }
    return text;
}

static const char *hbm_size(const char *text)
{
    unsigned long long n = parse_size(text);

    if (n < 256ull << 20 || n > 128ull << 30 || (n & (n - 1))) {
        run_die("--hbm %s: not a power of two from 256M to 128G", text);
    }
    return text;
}

enum {
    OPT_HELP = 1, OPT_CARDS, OPT_HBM, OPT_CORES, OPT_FIRMWARE, OPT_LOG, OPT_MEM,
    OPT_SMP, OPT_ACCEL, OPT_KERNEL, OPT_MODULES, OPT_APPEND, OPT_QEMU,
    OPT_QEMU_ARG, OPT_SHELL, OPT_TIMEOUT, OPT_BOOT_TIMEOUT, OPT_VERBOSE,
    OPT_DRY_RUN, OPT_DEVICE,
};

static const struct option long_options[] = {
    { "help", no_argument, NULL, OPT_HELP },
    { "cards", required_argument, NULL, OPT_CARDS },
    { "hbm", required_argument, NULL, OPT_HBM },
    { "aicpu-cores", required_argument, NULL, OPT_CORES },
    { "firmware", required_argument, NULL, OPT_FIRMWARE },
    { "log", required_argument, NULL, OPT_LOG },
    { "mem", required_argument, NULL, OPT_MEM },
    { "smp", required_argument, NULL, OPT_SMP },
    { "accel", required_argument, NULL, OPT_ACCEL },
    { "kernel", required_argument, NULL, OPT_KERNEL },
    { "modules", required_argument, NULL, OPT_MODULES },
    { "append", required_argument, NULL, OPT_APPEND },
    { "qemu", required_argument, NULL, OPT_QEMU },
    { "qemu-arg", required_argument, NULL, OPT_QEMU_ARG },
    { "shell", no_argument, NULL, OPT_SHELL },
    { "timeout", required_argument, NULL, OPT_TIMEOUT },
    { "boot-timeout", required_argument, NULL, OPT_BOOT_TIMEOUT },
    { "verbose", no_argument, NULL, OPT_VERBOSE },
    { "dry-run", no_argument, NULL, OPT_DRY_RUN },
    /* Not in the help: another device model in the cards' place, for tests. */
    { "device", required_argument, NULL, OPT_DEVICE },
    { NULL, 0, NULL, 0 },
};

static void take_option(int opt, struct run_options *o)
{
    switch (opt) {
    case OPT_HELP:
        fputs(usage_text, stdout);
        exit(0);
    case OPT_CARDS:
        o->cards = number("cards", optarg, 0, RUN_CARDS_MAX);
        break;
    case OPT_HBM:
        o->hbm = hbm_size(optarg);
        break;
    case OPT_CORES:
        number("aicpu-cores", optarg, 1, 7);
        o->aicpu_cores = optarg;
        break;
    case OPT_FIRMWARE:
        o->firmware = optarg;
        break;
    case OPT_LOG:
        o->log = optarg;
        break;
    case OPT_MEM:
        o->mem = memory_size(optarg);
        break;
    case OPT_SMP:
        o->smp = number("smp", optarg, 1, 64);
        break;
    case OPT_ACCEL:
        if (strcmp(optarg, "tcg") && strcmp(optarg, "kvm") &&
            strcmp(optarg, "auto")) {
            run_die("--accel %s: one of tcg, kvm, auto", optarg);
        }
        o->accel = optarg;
        break;
    case OPT_KERNEL:
        o->kernel = optarg;
        break;
    case OPT_MODULES:
        o->modules = optarg;
        break;
    case OPT_APPEND:
        o->append = optarg;
        break;
    case OPT_QEMU:
        o->qemu = optarg;
        break;
    case OPT_QEMU_ARG:
        o->qemu_args[o->num_qemu_args++] = optarg;
        break;
    case OPT_SHELL:
        o->shell = true;
        break;
    case OPT_TIMEOUT:
        o->timeout = number("timeout", optarg, 1, INT_MAX);
        break;
    case OPT_BOOT_TIMEOUT:
        o->boot_timeout = number("boot-timeout", optarg, 1, INT_MAX);
        break;
    case OPT_VERBOSE:
        o->verbose = true;
        break;
    case OPT_DRY_RUN:
        o->show_command = true;
        break;
    case OPT_DEVICE:
        o->device = optarg;
        break;
    default:
        fputs("atlas350-run --help lists the options\n", stderr);
        exit(RUN_STATUS_VM);
    }
}

void run_options_parse(int argc, char **argv, struct run_options *o)
{
    static char *shell[] = { NULL, NULL };
    int opt;

    memset(o, 0, sizeof(*o));
    o->cards = 1;
    o->mem = "2G";
    o->smp = 2;
    o->accel = "auto";
    o->device = "atlas350";
    o->boot_timeout = 120;
    o->kernel = getenv("ATLAS350_KERNEL");
    o->qemu = getenv("ATLAS350_QEMU");
    o->qemu_args = run_alloc(sizeof(char *) * (size_t)argc);
    /* '+': options end at the program's name. */
    while ((opt = getopt_long(argc, argv, "+h", long_options, NULL)) != -1) {
        take_option(opt == 'h' ? OPT_HELP : opt, o);
    }
    o->program = argv + optind;
    if (o->shell && *o->program) {
        run_die("--shell takes no program (%s)", *o->program);
    }
    if (o->shell) {
        shell[0] = access("/bin/bash", X_OK) ? "/bin/sh" : "/bin/bash";
        o->program = shell;
    }
    if (!*o->program) {
        run_die("no program given; atlas350-run --help explains the use");
    }
}

static char *real(const char *path)
{
    return realpath(path, NULL);
}

static char *must_be_there(const char *what, const char *path, const char *how)
{
    char *found = real(path);

    if (!found || access(found, R_OK)) {
        run_die("%s %s: %s; %s", what, path, strerror(errno), how);
    }
    return found;
}

/* DIR/lib/modules/VERSION for DIR/boot/NAME-VERSION. */
static char *modules_beside(const char *kernel)
{
    const char *slash = strrchr(kernel, '/');
    const char *version = strchr(slash + 1, '-');
    char *dir, *found;

    if (!version) {
        return NULL;
    }
    dir = run_format("%.*s/../lib/modules/%s", (int)(slash - kernel), kernel,
                     version + 1);
    found = real(dir);
    free(dir);
    return found;
}

static void find_kernel(const struct run_options *o, struct run_paths *p)
{
    static const char *const names[] = { "vmlinux-*", "vmlinuz-*" };
    char *pattern;
    glob_t g;
    size_t i;

    if (o->kernel) {
        p->kernel = must_be_there("kernel", o->kernel,
                                  "give a bzImage or vmlinux by --kernel");
    }
    for (i = 0; i < 2 && !p->kernel; i++) {
        pattern = run_format("%s/share/atlas350/kernel/boot/%s", p->prefix,
                             names[i]);
        if (!glob(pattern, 0, NULL, &g) && g.gl_pathc) {
            p->kernel = real(g.gl_pathv[g.gl_pathc - 1]);
        }
        globfree(&g);
        free(pattern);
    }
    if (!p->kernel) {
        run_die("no guest kernel in %s/share/atlas350/kernel/boot; run "
                "`make sdk` or give one by --kernel", p->prefix);
    }
    p->modules = o->modules ? real(o->modules) : modules_beside(p->kernel);
    if (!p->modules) {
        run_die("no modules for the kernel %s; give their directory (the one "
                "with modules.dep) by --modules", p->kernel);
    }
}

static void find_qemu(const struct run_options *o, struct run_paths *p)
{
    char *path = o->qemu ? strdup(o->qemu)
                         : run_format("%s/bin/qemu-system-x86_64", p->prefix);

    if (access(path, X_OK)) {
        run_die("QEMU %s: %s; run `make qemu` or give one by --qemu", path,
                strerror(errno));
    }
    p->qemu = path;
}

/* QEMU would refuse it, too, but not say what to do. */
static void check_firmware(const char *path)
{
    unsigned char head[20] = { 0 };
    FILE *f = fopen(path, "re");
    bool whole = f && fread(head, 1, sizeof(head), f) == sizeof(head);
    int machine = head[18] | head[19] << 8;

    if (f) {
        fclose(f);
    }
    if (!whole || memcmp(head, "\177ELF", 4)) {
        run_die("firmware %s: not an ELF file; give the file that `make "
                "firmware` makes", path);
    }
    if (head[4] != 2 || head[5] != 1 || machine != 243) {
        run_die("firmware %s: %s-bit ELF for machine %d, the card's cores are "
                "64-bit RISC-V (243); give the file that `make firmware` makes",
                path, head[4] == 2 ? "64" : "32", machine);
    }
}

static void find_firmware(const struct run_options *o, struct run_paths *p)
{
    char *path = run_format("%s/firmware/atlas350-firmware.elf", p->prefix);

    if (o->firmware && !strcmp(o->firmware, "none")) {
        p->firmware = NULL;      /* a card whose cores do not start */
    } else if (o->firmware) {
        p->firmware = must_be_there("firmware", o->firmware,
                                    "give the file that `make firmware` makes");
    } else if (o->cards && RUN_IS_CARD(o->device)) {
        p->firmware = must_be_there("firmware", path,
                                    "run `make sdk` or give one by --firmware");
    }
    if (p->firmware) {
        check_firmware(p->firmware);
    }
    free(path);
}

void run_paths_find(const struct run_options *o, struct run_paths *p)
{
    char *self = real("/proc/self/exe"), *init;

    memset(p, 0, sizeof(*p));
    if (!self) {
        run_die("cannot read /proc/self/exe: %s", strerror(errno));
    }
    *strrchr(self, '/') = 0;
    p->prefix = run_format("%s/..", self);
    free(self);
    self = p->prefix;
    p->prefix = real(self);
    free(self);
    init = run_format("%s/share/atlas350/guest-init", p->prefix);
    p->init = must_be_there("guest's init", init, "run `make sdk`");
    free(init);
    find_qemu(o, p);
    find_kernel(o, p);
    find_firmware(o, p);
}
