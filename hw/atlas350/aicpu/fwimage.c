/*
 * AICPU firmware file: an ELF64 RISC-V executable
 * (include/hw/atlas350/aicpu.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The file is mapped, so that cards of one process, and processes, share the
 * pages of the archive.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qapi/error.h"
#include "elf.h"
#include "cluster.h"

#define FW_PHDR_MAX     32

typedef struct FwSegment {
    uint64_t sram_off, filesz, memsz;
    const uint8_t *data;
} FwSegment;

struct A350Firmware {
    GMappedFile *file;
    FwSegment seg[FW_PHDR_MAX];
    unsigned num_seg;
    uint64_t entry;
    const uint8_t *rom;
    uint64_t rom_size;
    char version[64];
};

/* The text of note A350 / 1, if it is among the notes of [p, p + len). */
static void find_version(A350Firmware *fw, const uint8_t *p, uint64_t len)
{
    while (len >= 12) {
        uint64_t namesz = ldl_le_p(p), descsz = ldl_le_p(p + 4);
        uint64_t name = 12, desc = name + ROUND_UP(namesz, 4);
        uint64_t end = desc + ROUND_UP(descsz, 4);

        if (end > len) {
            return;
        }
        if (ldl_le_p(p + 8) == A350_FW_NOTE_VERSION && namesz == 5 &&
            !memcmp(p + name, A350_FW_NOTE_NAME, 5)) {
            g_strlcpy(fw->version, (const char *)p + desc,
                      MIN(descsz + 1, sizeof(fw->version)));
            return;
        }
        p += end;
        len -= end;
    }
}

static bool add_load(A350Firmware *fw, const Elf64_Phdr *ph,
                     const uint8_t *base, unsigned n, Error **errp)
{
    FwSegment *s = &fw->seg[fw->num_seg];
    uint64_t addr = ph->p_paddr;

    if (addr == A350_AICPU_ROM) {
        if (fw->rom || ph->p_memsz > A350_AICPU_ROM_MAX ||
            ph->p_memsz != ph->p_filesz) {
            error_setg(errp, "segment %u: the archive must be one segment of "
                       "at most 0x%llx bytes, all of them in the file", n,
                       A350_AICPU_ROM_MAX);
            return false;
        }
        fw->rom = base + ph->p_offset;
        fw->rom_size = ph->p_filesz;
        return true;
    }
    if (addr < A350_AICPU_SRAM ||
        addr - A350_AICPU_SRAM > A350_AICPU_SRAM_SIZE ||
        ph->p_memsz > A350_AICPU_SRAM_SIZE - (addr - A350_AICPU_SRAM) ||
        ph->p_filesz > ph->p_memsz) {
        error_setg(errp, "segment %u at 0x%" PRIx64 " (0x%" PRIx64 " bytes) "
                   "lies neither in SRAM (0x%llx, 0x%llx bytes) nor at 0x%llx",
                   n, addr, (uint64_t)ph->p_memsz, A350_AICPU_SRAM,
                   A350_AICPU_SRAM_SIZE, A350_AICPU_ROM);
        return false;
    }
    s->sram_off = addr - A350_AICPU_SRAM;
    s->filesz = ph->p_filesz;
    s->memsz = ph->p_memsz;
    s->data = base + ph->p_offset;
    fw->num_seg++;
    return true;
}

static bool check_header(const Elf64_Ehdr *eh, uint64_t len, Error **errp)
{
    uint64_t table;

    if (memcmp(eh->e_ident, ELFMAG, SELFMAG) ||
        eh->e_ident[EI_CLASS] != ELFCLASS64 ||
        eh->e_ident[EI_DATA] != ELFDATA2LSB ||
        le16_to_cpu(eh->e_machine) != EM_RISCV) {
        error_setg(errp, "not a little-endian RISC-V ELF64 file");
        return false;
    }
    if (le16_to_cpu(eh->e_type) != ET_EXEC) {
        error_setg(errp, "ELF type is %u, an executable is %u",
                   le16_to_cpu(eh->e_type), ET_EXEC);
        return false;
    }
    table = (uint64_t)le16_to_cpu(eh->e_phnum) * sizeof(Elf64_Phdr);
    if (le16_to_cpu(eh->e_phentsize) != sizeof(Elf64_Phdr) || !table ||
        le16_to_cpu(eh->e_phnum) > FW_PHDR_MAX ||
        le64_to_cpu(eh->e_phoff) > len ||
        table > len - le64_to_cpu(eh->e_phoff)) {
        error_setg(errp, "bad program header table (%u entries of 1..%u)",
                   le16_to_cpu(eh->e_phnum), FW_PHDR_MAX);
        return false;
    }
    return true;
}

static bool parse(A350Firmware *fw, Error **errp)
{
    const uint8_t *base = (uint8_t *)g_mapped_file_get_contents(fw->file);
    uint64_t len = g_mapped_file_get_length(fw->file);
    Elf64_Ehdr eh;
    unsigned i;

    if (len < sizeof(eh)) {
        error_setg(errp, "too short for an ELF file (%" PRIu64 " bytes)", len);
        return false;
    }
    memcpy(&eh, base, sizeof(eh));
    if (!check_header(&eh, len, errp)) {
        return false;
    }
    for (i = 0; i < le16_to_cpu(eh.e_phnum); i++) {
        Elf64_Phdr ph;

        memcpy(&ph, base + le64_to_cpu(eh.e_phoff) + i * sizeof(ph),
               sizeof(ph));
        ph.p_type = le32_to_cpu(ph.p_type);
        ph.p_offset = le64_to_cpu(ph.p_offset);
        ph.p_paddr = le64_to_cpu(ph.p_paddr);
        ph.p_filesz = le64_to_cpu(ph.p_filesz);
        ph.p_memsz = le64_to_cpu(ph.p_memsz);
        if (ph.p_type != PT_LOAD && ph.p_type != PT_NOTE) {
            continue;
        }
        if (ph.p_offset > len || ph.p_filesz > len - ph.p_offset) {
            error_setg(errp, "segment %u ends behind the end of the file "
                       "(truncated?)", i);
            return false;
        }
        if (ph.p_type == PT_NOTE) {
            find_version(fw, base + ph.p_offset, ph.p_filesz);
        } else if (ph.p_memsz && !add_load(fw, &ph, base, i, errp)) {
            return false;
        }
    }
    fw->entry = le64_to_cpu(eh.e_entry);
    if (fw->entry - A350_AICPU_SRAM >= A350_AICPU_SRAM_SIZE ||
        (fw->entry & 1)) {
        error_setg(errp, "entry 0x%" PRIx64 " is not in SRAM", fw->entry);
        return false;
    }
    return true;
}

A350Firmware *a350_firmware_open(const char *path, Error **errp)
{
    A350Firmware *fw = g_new0(A350Firmware, 1);
    g_autoptr(GError) gerr = NULL;

    fw->file = g_mapped_file_new(path, false, &gerr);
    if (!fw->file) {
        error_setg(errp, "AICPU firmware: %s", gerr->message);
        g_free(fw);
        return NULL;
    }
    g_strlcpy(fw->version, "unknown", sizeof(fw->version));
    if (!parse(fw, errp)) {
        error_prepend(errp, "AICPU firmware '%s': ", path);
        a350_firmware_free(fw);
        return NULL;
    }
    return fw;
}

void a350_firmware_free(A350Firmware *fw)
{
    if (fw) {
        g_mapped_file_unref(fw->file);
        g_free(fw);
    }
}

uint64_t a350_firmware_entry(const A350Firmware *fw)
{
    return fw->entry;
}

const char *a350_firmware_version(const A350Firmware *fw)
{
    return fw->version;
}

const void *a350_firmware_rom(const A350Firmware *fw, uint64_t *size)
{
    *size = fw->rom_size;
    return fw->rom;
}

void a350_firmware_load_sram(const A350Firmware *fw, uint8_t *sram)
{
    unsigned i;

    memset(sram, 0, A350_AICPU_SRAM_SIZE);
    for (i = 0; i < fw->num_seg; i++) {
        memcpy(sram + fw->seg[i].sram_off, fw->seg[i].data,
               fw->seg[i].filesz);
    }
}
