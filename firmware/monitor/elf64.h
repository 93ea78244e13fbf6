/*
 * Atlas 350 firmware: the few ELF and process-start facts the monitor needs.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the System V ABI; the host's <elf.h> is not freestanding.
 */
#ifndef A350_ELF64_H
#define A350_ELF64_H

#include <stdint.h>

typedef struct {
    uint8_t e_ident[16];
    uint16_t e_type, e_machine;
    uint32_t e_version;
    uint64_t e_entry, e_phoff, e_shoff;
    uint32_t e_flags;
    uint16_t e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx;
} Elf64_Ehdr;

typedef struct {
    uint32_t p_type, p_flags;
    uint64_t p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align;
} Elf64_Phdr;

enum {
    PT_LOAD = 1,
    AT_NULL = 0, AT_PHDR = 3, AT_PHENT = 4, AT_PHNUM = 5, AT_PAGESZ = 6,
    AT_BASE = 7, AT_FLAGS = 8, AT_ENTRY = 9, AT_UID = 11, AT_EUID = 12,
    AT_GID = 13, AT_EGID = 14, AT_HWCAP = 16, AT_CLKTCK = 17, AT_SECURE = 23,
    AT_RANDOM = 25, AT_EXECFN = 31,
};

#endif /* A350_ELF64_H */
