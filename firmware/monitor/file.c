/*
 * Atlas 350 firmware monitor: files.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Read-only files of the ROM's cpio archive ("newc", every file with its
 * absolute path less the leading slash), and images of kernel libraries that
 * the runtime makes in RAM. Each has an inode number of its own, by which
 * the dynamic linker tells libraries of the same name apart.
 */
#include "mon.h"

#define ROM ((const uint8_t *)A350_AICPU_ROM)

static uint64_t hex8(const uint8_t *p)
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++) {
        uint8_t c = p[i];

        v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return v;
}

static void rom_add(const char *name, const uint8_t *data, uint64_t size)
{
    struct file *f = &mon.rom[mon.rom_files];

    if (mon.rom_files == MAX_ROM_FILES) {
        return;
    }
    f->path[0] = '/';
    str_copy(f->path + 1, sizeof(f->path) - 1, name);
    f->data = data;
    f->size = size;
    f->ino = mon.next_ino++;
    f->used = true;
    mon.rom_files++;
}

/* cpio(5), "new ASCII format": 110-byte header, name and data padded to 4. */
static void rom_scan(uint64_t rom_size)
{
    uint64_t at = 0;

    while (at + 110 < rom_size && memcmp(ROM + at, "070701", 6) == 0) {
        uint64_t mode = hex8(ROM + at + 14), size = hex8(ROM + at + 54);
        uint64_t nlen = hex8(ROM + at + 94);
        const char *name = (const char *)ROM + at + 110;
        uint64_t data = (at + 110 + nlen + 3) & ~3ull;

        if (data + size > rom_size || strcmp(name, "TRAILER!!!") == 0) {
            return;
        }
        if ((mode & 0170000) == 0100000) {
            rom_add(name, ROM + data, size);
        }
        at = (data + size + 3) & ~3ull;
    }
}

void file_init(void)
{
    if (!mon.next_ino) {
        mon.next_ino = 2;
        rom_scan(am_read(A350_AM_ROM_SIZE));
    }
    memset(mon.fd, 0, sizeof(mon.fd));
    for (int i = 0; i < 3; i++) {
        mon.fd[i].kind = FD_CONSOLE;
    }
}

struct file *file_find(const char *path)
{
    for (unsigned i = 0; i < MAX_RAM_FILES; i++) {
        struct file *f = &mon.ram[i];

        if (f->used && (strcmp(f->path, path) == 0 ||
                        strcmp(f->alias, path) == 0)) {
            return f;
        }
    }
    for (unsigned i = 0; i < mon.rom_files; i++) {
        if (strcmp(mon.rom[i].path, path) == 0) {
            return &mon.rom[i];
        }
    }
    return NULL;
}

int64_t sys_file_new(struct thread *t, uint64_t path, uint64_t alias,
                     uint64_t size)
{
    struct file *f = NULL;
    uint64_t addr;
    int n;

    (void)t;
    for (unsigned i = 0; i < MAX_RAM_FILES && !f; i++) {
        f = mon.ram[i].used ? NULL : &mon.ram[i];
    }
    if (!f) {
        return -ENFILE;
    }
    n = user_str(f->path, sizeof(f->path), path);
    if (n < 0) {
        return n;
    }
    f->alias[0] = 0;
    n = alias ? user_str(f->alias, sizeof(f->alias), alias) : 0;
    if (n < 0) {
        return n;
    }
    if (file_find(f->path)) {
        return -EEXIST;
    }
    addr = page_alloc(size, PG_READ | PG_WRITE | PG_IMAGE);
    if (!addr) {
        return -ENOMEM;
    }
    f->data = (const uint8_t *)addr;
    f->size = size;
    f->ino = mon.next_ino++;
    f->ram = true;
    f->used = true;
    return (int64_t)addr;
}

int64_t sys_file_del(uint64_t path)
{
    char name[A350_KERNEL_PATH_MAX];
    struct file *f;
    int n = user_str(name, sizeof(name), path);

    if (n < 0) {
        return n;
    }
    f = file_find(name);
    if (!f || !f->ram) {
        return -ENOENT;
    }
    for (unsigned i = 0; i < MAX_FDS; i++) {
        if (mon.fd[i].kind == FD_FILE && mon.fd[i].file == f) {
            mon.fd[i].kind = FD_NULL;
        }
    }
    page_free((uint64_t)f->data, f->size);
    f->used = false;
    return 0;
}

/* The @index-th RAM file, in order of creation as far as slots allow. */
int64_t sys_file_get(uint64_t index, uint64_t out)
{
    struct file *f;

    if (index >= MAX_RAM_FILES) {
        return -ENOENT;
    }
    f = &mon.ram[index];
    if (!f->used) {
        return 0;
    }
    if (!user_put(out + offsetof(a350_fw_file, path), f->path,
                  sizeof(f->path)) ||
        !user_put(out + offsetof(a350_fw_file, addr), &f->data, 8) ||
        !user_put(out + offsetof(a350_fw_file, size), &f->size, 8) ||
        !user_put(out + offsetof(a350_fw_file, ino), &f->ino, 4)) {
        return -EFAULT;
    }
    return 1;
}

struct fd *fd_get(uint64_t fd)
{
    return fd < MAX_FDS && mon.fd[fd].kind != FD_FREE ? &mon.fd[fd] : NULL;
}

static int64_t fd_new(struct thread *t, uint8_t kind, struct file *f)
{
    for (int i = 3; i < MAX_FDS; i++) {
        if (mon.fd[i].kind == FD_FREE) {
            mon.fd[i] = (struct fd){ kind, f, 0, t->in_launch ? t : NULL };
            return i;
        }
    }
    return -ENFILE;
}

void file_close_owned(struct thread *t)
{
    for (int i = 3; i < MAX_FDS; i++) {
        if (mon.fd[i].kind != FD_FREE && mon.fd[i].owner == t) {
            mon.fd[i].kind = FD_FREE;
        }
    }
}

#define O_ACCMODE 3
#define O_CREAT   0100

int64_t sys_openat(struct thread *t, const uint64_t *a)
{
    static const struct {
        const char *path;
        uint8_t kind;
    } special[] = {
        { "/dev/null", FD_NULL }, { "/dev/zero", FD_ZERO },
        { "/dev/random", FD_RANDOM }, { "/dev/urandom", FD_RANDOM },
        { "/dev/stdout", FD_CONSOLE }, { "/dev/stderr", FD_CONSOLE },
        { "/dev/tty", FD_CONSOLE },
    };
    char path[A350_KERNEL_PATH_MAX];
    struct file *f;
    int n = user_str(path, sizeof(path), a[1]);

    if (n < 0) {
        return n;
    }
    for (unsigned i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
        if (strcmp(path, special[i].path) == 0) {
            return fd_new(t, special[i].kind, NULL);
        }
    }
    f = file_find(path);
    if (!f) {
        return (a[2] & O_CREAT) ? -EROFS : -ENOENT;
    }
    if (a[2] & O_ACCMODE) {
        return -EROFS;
    }
    return fd_new(t, FD_FILE, f);
}

int64_t sys_close(uint64_t fd)
{
    struct fd *d = fd_get(fd);

    if (!d) {
        return -EBADF;
    }
    if (fd > 2) {
        d->kind = FD_FREE;
    }
    return 0;
}

#define CALL_MAX    (64 * 1024)  /* one call may not hold the lock for ever; */
#define RANDOM_MAX  4096         /* random bytes take longer than others */

static int64_t read_random(uint64_t buf, uint64_t len)
{
    len = len > RANDOM_MAX ? RANDOM_MAX : len;
    for (uint64_t i = 0; i < len; i += 8) {
        uint64_t v = am_read(A350_AM_RANDOM);

        user_put(buf + i, &v, len - i < 8 ? len - i : 8);
    }
    return (int64_t)len;
}

int64_t sys_pread(uint64_t fd, uint64_t buf, uint64_t len, uint64_t pos)
{
    struct fd *d = fd_get(fd);

    if (!d) {
        return -EBADF;
    }
    if (!user_range(buf, len)) {
        return -EFAULT;
    }
    if (d->kind != FD_FILE && len > CALL_MAX) {
        len = CALL_MAX;
    }
    switch (d->kind) {
    case FD_ZERO:
        memset((void *)buf, 0, len);
        return (int64_t)len;
    case FD_RANDOM:
        return read_random(buf, len);
    case FD_FILE:
        if (pos >= d->file->size) {
            return 0;
        }
        if (len > d->file->size - pos) {
            len = d->file->size - pos;
        }
        memcpy((void *)buf, d->file->data + pos, len);
        return (int64_t)len;
    default:
        return 0;
    }
}

int64_t sys_read(uint64_t fd, uint64_t buf, uint64_t len)
{
    struct fd *d = fd_get(fd);
    int64_t n = d ? sys_pread(fd, buf, len, d->pos) : -EBADF;

    if (n > 0) {
        d->pos += (uint64_t)n;
    }
    return n;
}

int64_t sys_lseek(uint64_t fd, int64_t off, uint64_t whence)
{
    struct fd *d = fd_get(fd);
    int64_t base;

    if (!d) {
        return -EBADF;
    }
    if (d->kind != FD_FILE) {
        return -ESPIPE;
    }
    base = whence == 0 ? 0 : whence == 1 ? (int64_t)d->pos
                                         : (int64_t)d->file->size;
    if (whence > 2 || base + off < 0) {
        return -EINVAL;
    }
    d->pos = (uint64_t)(base + off);
    return (int64_t)d->pos;
}

/* struct stat of the generic 64-bit ABI. */
struct user_stat {
    uint64_t dev, ino;
    uint32_t mode, nlink, uid, gid;
    uint64_t rdev, pad1;
    int64_t size;
    int32_t blksize, pad2;
    int64_t blocks;
    uint64_t times[6];
    uint32_t unused[2];
};

static int64_t put_stat(const struct file *f, uint64_t out)
{
    struct user_stat st;

    memset(&st, 0, sizeof(st));
    st.dev = 1;
    st.nlink = 1;
    st.blksize = 4096;
    if (f) {
        st.ino = f->ino;
        st.mode = 0100555;
        st.size = (int64_t)f->size;
        st.blocks = (int64_t)(f->size + 511) / 512;
    } else {
        st.ino = 1;
        st.mode = 0020666;
        st.rdev = 0x501;
    }
    return user_put(out, &st, sizeof(st)) ? 0 : -EFAULT;
}

int64_t sys_fstat(uint64_t fd, uint64_t out)
{
    struct fd *d = fd_get(fd);

    if (!d) {
        return -EBADF;
    }
    return put_stat(d->kind == FD_FILE ? d->file : NULL, out);
}

int64_t sys_fstatat(uint64_t path, uint64_t out)
{
    char name[A350_KERNEL_PATH_MAX];
    int n = user_str(name, sizeof(name), path);
    struct file *f;

    if (n < 0) {
        return n;
    }
    f = file_find(name);
    return f ? put_stat(f, out) : -ENOENT;
}

int64_t sys_access(uint64_t path, uint64_t mode)
{
    char name[A350_KERNEL_PATH_MAX];
    int n = user_str(name, sizeof(name), path);

    if (n < 0) {
        return n;
    }
    if (!file_find(name)) {
        return -ENOENT;
    }
    return (mode & 2) ? -EROFS : 0;
}

int64_t sys_write(struct thread *t, uint64_t fd, uint64_t buf, uint64_t len)
{
    struct fd *d = fd_get(fd);

    if (!d) {
        return -EBADF;
    }
    if (!user_range(buf, len)) {
        return -EFAULT;
    }
    if (d->kind == FD_FILE) {
        return -EROFS;
    }
    if (d->kind == FD_CONSOLE) {
        len = len > CALL_MAX ? CALL_MAX : len;
        line_put(t, (const char *)buf, len);
    }
    return (int64_t)len;
}

int64_t sys_writev(struct thread *t, uint64_t fd, uint64_t iov, uint64_t n)
{
    int64_t total = 0;

    if (n > 1024) {
        return -EINVAL;
    }
    for (uint64_t i = 0; i < n && total < CALL_MAX; i++) {
        uint64_t v[2];
        int64_t r;

        if (!user_get(v, iov + i * 16, 16)) {
            return total ? total : -EFAULT;
        }
        r = v[1] ? sys_write(t, fd, v[0], v[1]) : 0;
        if (r < 0) {
            return total ? total : r;
        }
        total += r;
        if ((uint64_t)r < v[1]) {
            break;
        }
    }
    return total;
}
