/*
 * aicpu-run: runs AICPU programs without a machine around them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/host-utils.h"
#include "qemu/units.h"
#include <getopt.h>
#include "aicpu-run.h"

#define SECONDS_MAX 1000000000
#define HBM_MIN     (256 * MiB)
#define HBM_MAX     (128 * GiB)

static const char usage[] =
"usage: aicpu-run --tohost FILE.elf [--signature FILE]\n"
"       aicpu-run --linux FILE.elf [ARGUMENT...]\n"
"       aicpu-run --firmware FILE [--cores N] [--hbm SIZE] [--kernel SPEC]...\n"
"                 [--script FILE]\n"
"\n"
"  --tohost FILE     bare-metal program: machine mode, ends by a write to the\n"
"                    word at symbol tohost; 1 is a pass, another odd value is\n"
"                    twice the number of the failed test plus one\n"
"  --signature FILE  write begin_signature..end_signature as hex words there\n"
"  --linux FILE      static Linux program in user mode (few system calls)\n"
"  --firmware FILE   firmware image on the cores of a card without queues\n"
"  --cores N         1..7, default 2\n"
"  --hbm SIZE        a power of two from 256M to 128G, default 256M\n"
"  --kernel SPEC     LIBRARY[,NEEDED...]:FUNCTION[:ARGUMENTS]; LIBRARY is a\n"
"                    file, or rom/NAME for one in the firmware's archive;\n"
"                    ARGUMENTS is a file, or hex digits behind '='\n"
"  --script FILE     commands instead of kernels, one a line ('-': standard\n"
"                    input): load NAME FILE[,FILE...]; unload NAME; lookup\n"
"                    NAME FUNCTION; run or start NAME FUNCTION [args=ARGUMENTS]\n"
"                    [block=I/N] [type=N] [limit=SECONDS]; wait; stats. NAME\n"
"                    rom/FILE is the archive's, '.' the firmware itself\n"
"  --limit SECONDS   time limit of each kernel, default none\n"
"  --timeout SECONDS end what --firmware does with exit code 3 then, not\n"
"                    counting the wait for a debugger, default none; firmware\n"
"                    that is not up 60 s after its start fails by itself\n"
"  --gdb SOCKET      GDB server there; kernels start when a debugger came\n"
"  --parallel        all kernels at once instead of one after another\n"
"  --repeat N        run the list of kernels N times\n"
"  --max-insns N     give up after N instructions (--tohost), default 2000M\n"
"  --stats           print instructions and speed\n"
"\n"
"exit code: 0 pass, 1 failed, 2 could not start, 3 did not end\n";

static bool parse_size(const char *name, const char *text, uint64_t *val)
{
    if (qemu_strtosz(text, NULL, val) < 0 || !*val) {
        fprintf(stderr, "aicpu-run: %s '%s': a size like 256M is expected\n",
                name, text);
        return false;
    }
    return true;
}

/* As for the card: the firmware opens HBM to kernels by one PMP entry. */
static bool parse_hbm(RunOptions *o)
{
    if (!parse_size("--hbm", optarg, &o->hbm_size)) {
        return false;
    }
    if (!is_power_of_2(o->hbm_size) || o->hbm_size < HBM_MIN ||
        o->hbm_size > HBM_MAX) {
        fprintf(stderr, "aicpu-run: --hbm '%s': a power of two, 256M to 128G\n",
                optarg);
        return false;
    }
    return true;
}

static bool parse_seconds(const char *name, const char *text, double *val)
{
    if (qemu_strtod_finite(text, NULL, val) < 0 || *val < 0 ||
        *val > SECONDS_MAX) {
        fprintf(stderr, "aicpu-run: %s '%s': seconds, 0 to %d (0: none)\n",
                name, text, SECONDS_MAX);
        return false;
    }
    return true;
}

static bool parse_count(const char *name, const char *text, unsigned max,
                        unsigned *val)
{
    if (qemu_strtoui(text, NULL, 10, val) < 0 || *val < 1 || *val > max) {
        fprintf(stderr, "aicpu-run: %s '%s': 1 to %u\n", name, text, max);
        return false;
    }
    return true;
}

static bool parse_option(RunOptions *o, int opt)
{
    switch (opt) {
    case 't':
        o->tohost = optarg;
        return true;
    case 'l':
        o->linux_elf = optarg;
        return true;
    case 'f':
        o->firmware = optarg;
        return true;
    case 'd':
        o->gdb = optarg;
        return true;
    case 'g':
        o->signature = optarg;
        return true;
    case 'c':
        return parse_count("--cores", optarg, 7, &o->cores);
    case 'h':
        return parse_hbm(o);
    case 'm':
        return parse_size("--max-insns", optarg, &o->max_insns);
    case 'k':
        if (o->num_kernels == RUN_KERNELS_MAX) {
            fprintf(stderr, "aicpu-run: more than %d kernels\n",
                    RUN_KERNELS_MAX);
            return false;
        }
        o->kernel[o->num_kernels++] = optarg;
        return true;
    case 'i':
        return parse_seconds("--limit", optarg, &o->limit);
    case 'o':
        return parse_seconds("--timeout", optarg, &o->timeout);
    case 'r':
        return parse_count("--repeat", optarg, 1000000000, &o->repeat);
    case 'p':
        o->parallel = true;
        return true;
    case 's':
        o->stats = true;
        return true;
    case 'x':
        o->script = optarg;
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    static const struct option opts[] = {
        { "tohost", required_argument, NULL, 't' },
        { "linux", required_argument, NULL, 'l' },
        { "firmware", required_argument, NULL, 'f' },
        { "signature", required_argument, NULL, 'g' },
        { "gdb", required_argument, NULL, 'd' },
        { "cores", required_argument, NULL, 'c' },
        { "hbm", required_argument, NULL, 'h' },
        { "max-insns", required_argument, NULL, 'm' },
        { "kernel", required_argument, NULL, 'k' },
        { "limit", required_argument, NULL, 'i' },
        { "timeout", required_argument, NULL, 'o' },
        { "script", required_argument, NULL, 'x' },
        { "repeat", required_argument, NULL, 'r' },
        { "parallel", no_argument, NULL, 'p' },
        { "stats", no_argument, NULL, 's' },
        { NULL },
    };
    RunOptions o = { .cores = 2, .hbm_size = 256 << 20, .repeat = 1,
                     .max_insns = 2000000000 };
    int opt;

    while ((opt = getopt_long(argc, argv, "+", opts, NULL)) != -1) {
        if (!parse_option(&o, opt)) {
            fputs(usage, stderr);
            return RUN_USAGE;
        }
    }
    o.args = argv + optind;
    o.num_args = argc - optind;
    if (o.tohost) {
        return run_tohost(&o);
    }
    if (o.linux_elf) {
        return run_linux(&o);
    }
    if (o.firmware) {
        return run_firmware(&o);
    }
    fputs(usage, stderr);
    return RUN_USAGE;
}
