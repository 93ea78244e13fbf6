/*
 * atlas350-run: is KVM there, and does it work?
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nested or filtered hypervisors offer a /dev/kvm whose processors lack what
 * every x86-64 kernel and C library use. Such a machine hangs or dies early,
 * so auto compares the features KVM passes with those of the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "run.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <linux/kvm.h>

/* Leaf 1 ECX: SSE3, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT. */
#define BASE_ECX ((1u << 0) | (1u << 9) | (1u << 13) | (1u << 19) | \
                  (1u << 20) | (1u << 23))
#define CPUID_ENTRIES 256

static const char *compare_features(int kvm)
{
    struct kvm_cpuid2 *have;
    unsigned a, b, c = 0, d, i;
    const char *why = "KVM lists no processor features";

    have = run_alloc(sizeof(*have) + CPUID_ENTRIES * sizeof(have->entries[0]));
    have->nent = CPUID_ENTRIES;
    if (ioctl(kvm, KVM_GET_SUPPORTED_CPUID, have)) {
        free(have);
        return "KVM does not tell its processor features";
    }
    __get_cpuid(1, &a, &b, &c, &d);
    for (i = 0; i < have->nent; i++) {
        if (have->entries[i].function == 1) {
            why = (c & BASE_ECX & ~have->entries[i].ecx)
                ? "KVM hides processor features that the host has (SSE3...)"
                : NULL;
        }
    }
    free(have);
    return why;
}

static const char *probe(void)
{
    int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    int vm;
    const char *why;

    if (kvm < 0) {
        return errno == ENOENT ? "no /dev/kvm" : "no access to /dev/kvm";
    }
    if (ioctl(kvm, KVM_GET_API_VERSION, 0) != 12) {
        close(kvm);
        return "/dev/kvm has an unknown version";
    }
    vm = ioctl(kvm, KVM_CREATE_VM, 0);
    why = vm < 0 ? "KVM cannot create a machine" : compare_features(kvm);
    if (vm >= 0) {
        close(vm);
    }
    close(kvm);
    return why;
}
#else
static const char *probe(void)
{
    return "the host is not x86-64";
}
#endif

const char *run_accel(const char *wanted, const char **why)
{
    *why = NULL;
    if (!strcmp(wanted, "tcg")) {
        return "tcg";
    }
    *why = probe();
    if (*why && !strcmp(wanted, "kvm")) {
        run_die("--accel kvm: %s; use --accel tcg", *why);
    }
    return *why ? "tcg" : "kvm";
}
