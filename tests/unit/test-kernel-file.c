/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors, package lists, tarballs and ELF files of kernels. */
#include "kernel_file.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int num, failed;
static char dir[64] = "/tmp/a350-kernel-file-XXXXXX", why[4096];

static void ok(int cond, const char *what)
{
    printf("%sok %d - %s%s%s\n", cond ? "" : "not ", ++num, what,
           cond ? "" : ": ", cond ? "" : why);
    failed += !cond;
}

static const char *path(const char *name)
{
    static char buf[4][256];
    static int i;

    i = (i + 1) % 4;
    snprintf(buf[i], sizeof(buf[i]), "%s/%s", dir, name);
    return buf[i];
}

static void put(const char *name, const void *data, size_t n)
{
    FILE *f = fopen(path(name), "wb");

    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) {
        printf("Bail out! cannot write %s\n", name);
        exit(1);
    }
}

static void puts_(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

static void descriptors(void)
{
    unsigned n;
    kdesc *d;

    puts_("k.json", "{ \"Op\": { \"opInfo\": { \"opKernelLib\": \"AICPUKernel\","
          " \"kernelSo\": \"libk.so\", \"functionName\": \"f\" } },"
          " \"Skip\": { \"x\": 1 }, \"Bare\": { \"opInfo\": {} } }");
    d = kdesc_load(path("k.json"), &n, why, sizeof(why));
    ok(d && n == 2 && !strcmp(d[0].op, "Op") && !strcmp(d[0].so, "libk.so") &&
       !strcmp(d[0].function, "f") && !strcmp(d[0].lib, "AICPUKernel") &&
       !strcmp(d[1].op, "Bare") && !*d[1].so, "a descriptor");
    kdesc_free(d, n);
    puts_("bad.json", "{\n \"Op\": {\n");
    ok(!kdesc_load(path("bad.json"), &n, why, sizeof(why)) &&
       strstr(why, "bad.json:"), "broken JSON names file and line");
    puts_("list.json", "[1]");
    ok(!kdesc_load(path("list.json"), &n, why, sizeof(why)), "not an object");
    ok(!kdesc_load(path("none.json"), &n, why, sizeof(why)) &&
       strstr(why, "none.json"), "no file");
}

#define ENTRY(n) "name:" n "\ninstall_path:2\noptional:true\n" \
                 "package_path:opp/k\nload_as_per_soc:false\n"

static void packages(void)
{
    kpackage p[4];

    ok(kpackages_parse(ENTRY("a.tar.gz") "\n" ENTRY("b.tar.gz"), p, 4, why,
                       sizeof(why)) == 2 && !strcmp(p[1].name, "b.tar.gz") &&
       p[0].install_path == 2 && p[0].optional && !p[0].per_soc &&
       !strcmp(p[0].path, "opp/k"), "two packages");
    ok(kpackages_parse("name:a\npackage_path:x\nload_as_per_soc:true\n"
                       "optional:false\ninstall_path:0\n", p, 4, why,
                       sizeof(why)) == 1 && p[0].per_soc, "keys in any order");
    ok(kpackages_parse(ENTRY("a") "name:b\n", p, 4, why, sizeof(why)) < 0,
       "an unfinished entry drops all");
    ok(kpackages_parse("name:a\ninstall_path:4\n", p, 4, why, sizeof(why)) < 0
       && strstr(why, "line 2"), "install_path 4");
    ok(kpackages_parse(ENTRY("a") "what:1\n", p, 4, why, sizeof(why)) < 0,
       "an unknown key");
    ok(kpackages_parse(ENTRY("a") ENTRY("b"), p, 1, why, sizeof(why)) < 0,
       "too many");
    ok(kpackages_parse("", p, 4, why, sizeof(why)) == 0, "empty");
}

/* A shared object by hand: one segment, a dynamic section, two needs. */
static size_t elf(uint8_t *out, unsigned machine, unsigned type)
{
    static const char str[] = "\0libdep.so\0libc.so.6";
    Elf64_Ehdr h = { .e_type = (Elf64_Half)type,
                     .e_machine = (Elf64_Half)machine, .e_phoff = 64,
                     .e_phnum = 2, .e_phentsize = sizeof(Elf64_Phdr) };
    Elf64_Phdr load = { .p_type = PT_LOAD, .p_vaddr = 0x10000,
                        .p_filesz = 512 };
    Elf64_Phdr dyn = { .p_type = PT_DYNAMIC, .p_offset = 256,
                       .p_vaddr = 0x10100, .p_filesz = 5 * 16 };
    Elf64_Dyn d[5] = {
        { DT_NEEDED, { 1 } }, { DT_NEEDED, { 11 } },
        { DT_STRTAB, { 0x10000 + 400 } }, { DT_STRSZ, { sizeof(str) } },
        { DT_NULL, { 0 } },
    };

    memset(out, 0, 512);
    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    memcpy(out, &h, sizeof(h));
    memcpy(out + 64, &load, sizeof(load));
    memcpy(out + 64 + sizeof(load), &dyn, sizeof(dyn));
    memcpy(out + 256, d, sizeof(d));
    memcpy(out + 400, str, sizeof(str));
    return 512;
}

static char needs[128];

static void need(void *opaque, const char *name)
{
    (void)opaque;
    strcat(strcat(needs, name), " ");
}

static void elves(void)
{
    uint8_t img[512];
    size_t n = elf(img, EM_RISCV, ET_DYN), i;

    ok(kelf_check(img, n, "x", why, sizeof(why)), "a RISC-V library");
    kelf_needed(img, n, need, NULL);
    ok(!strcmp(needs, "libdep.so libc.so.6 "), "what it needs");
    elf(img, EM_X86_64, ET_DYN);
    ok(!kelf_check(img, n, "x.so", why, sizeof(why)) && strstr(why, "x86-64"),
       "another machine is named");
    elf(img, EM_RISCV, ET_EXEC);
    ok(!kelf_check(img, n, "x.so", why, sizeof(why)), "an executable");
    ok(!kelf_check(img, 10, "x.so", why, sizeof(why)), "cut short");
    /* Rubbish must not be followed out of the image. */
    for (i = 0; i < 20000; i++) {
        elf(img, EM_RISCV, ET_DYN);
        img[(unsigned)rand() % n] = (uint8_t)rand();
        img[(unsigned)rand() % n] = (uint8_t)rand();
        needs[0] = '\0';
        kelf_needed(img, rand() % 2 ? n : (unsigned)rand() % n, need, NULL);
        needs[0] = '\0';
    }
    ok(1, "rubbish");
}

static void search(void)
{
    uint8_t img[512];
    char cmd[1024];
    kfiles k;
    kfile f;

    mkdtemp(dir) ? (void)0 : exit(1);
    descriptors();
    elf(img, EM_RISCV, ET_DYN);
    snprintf(cmd, sizeof(cmd), "mkdir -p %s/v/config %s/v/kernel %s/conf "
             "%s/opp/k %s/root/lib", dir, dir, dir, dir, dir);
    ok(system(cmd) == 0, "folders");
    puts_("v/config/k.json", "{}");
    ok(!kernel_find(path("v/config/k.json"), "libk.so", dir, &k, why,
                    sizeof(why)) && strstr(why, "/v/config/libk.so") &&
       strstr(why, "../kernel/libk.so") &&
       strstr(why, "ascend_package_load.ini"), "what was searched");
    put("v/kernel/libk.so", img, sizeof(img));
    put("v/kernel/libdep.so", img, sizeof(img));
    ok(kernel_find(path("v/config/k.json"), "libk.so", dir, &k, why,
                   sizeof(why)) && k.n == 2 && !strcmp(k.f[0].name, "libk.so")
       && !strcmp(k.f[1].name, "libdep.so"), "../kernel, with what it needs");
    kfiles_free(&k);
    put("root/lib/libp.so", img, sizeof(img));
    put("root/lib/libdep.so", img, sizeof(img));
    snprintf(cmd, sizeof(cmd), "tar -C %s -czf %s/opp/k/a.tar.gz root", dir,
             dir);
    ok(system(cmd) == 0, "tar");
    puts_("conf/ascend_package_load.ini", ENTRY("a.tar.gz"));
    ok(kernel_find(path("v/config/k.json"), "libp.so", dir, &k, why,
                   sizeof(why)) && k.n == 2 && k.f[0].size == 512 &&
       memcmp(k.f[0].data, img, 512) == 0, "from a package");
    kfiles_free(&k);
    ok(!ktar_find(path("opp/k/a.tar.gz"), "no.so", &f, why, sizeof(why)) &&
       !*why, "not in the package");
    puts_("opp/k/b.tar.gz", "this is no archive, although it is long enough "
          "to hold a header if it goes on and on and on");
    ok(!ktar_find(path("opp/k/none.tar.gz"), "x", &f, why, sizeof(why)) &&
       *why, "no archive");
    snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
    ok(system(cmd) == 0, "clean");
}

int main(void)
{
    printf("1..%d\n", 4 + 8 + 7 + 6);
    search();
    packages();
    elves();
    return failed != 0;
}
