/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host memory for the card: which mappings the kernel is asked for when
 * ranges overlap. The kernel is a byte for each page: mapping twice fails, and
 * unmapping goes by whole mappings, as VFIO type 1 v2 does.
 */
#include <sys/ioctl.h>
#define ioctl mock_ioctl
static int mock_ioctl(int fd, unsigned long request, ...);
#include "vfio.c"
#undef ioctl
#include "tap.h"

#define PAGES 16
#define BASE  0x10000000ul

static unsigned char page[PAGES];    /* number of its mapping, 0: none */
static unsigned next_map, unmaps;
static int refuse;                   /* pages of which this one is the last */

static int mock_ioctl(int fd, unsigned long request, ...)
{
    struct vfio_iommu_type1_dma_map *m;
    struct vfio_iommu_type1_dma_unmap *u;
    unsigned long i, first, last;
    va_list ap;
    void *arg;

    (void)fd;
    va_start(ap, request);
    arg = va_arg(ap, void *);
    va_end(ap);
    if (request == VFIO_IOMMU_MAP_DMA) {
        m = arg;
        first = (m->iova - BASE) / 4096;
        last = first + m->size / 4096;
        for (i = first; i < last; i++) {
            if (page[i] || (refuse && i == (unsigned long)refuse)) {
                errno = page[i] ? EEXIST : ENOMEM;
                return -1;
            }
        }
        next_map++;
        for (i = first; i < last; i++) {
            page[i] = (unsigned char)next_map;
        }
    } else if (request == VFIO_IOMMU_UNMAP_DMA) {
        u = arg;
        first = (u->iova - BASE) / 4096;
        last = first + u->size / 4096;
        if ((first && page[first - 1] == page[first]) ||
            (last < PAGES && page[last] && page[last] == page[last - 1])) {
            errno = EINVAL;
            return -1;
        }
        memset(page + first, 0, last - first);
        unmaps++;
    }
    return 0;
}

static int map(int first, int n)
{
    return a350_dma_map((void *)(BASE + 4096ul * (unsigned)first),
                        4096u * (unsigned)n);
}

static int unmap(int first, int n)
{
    return a350_dma_unmap((void *)(BASE + 4096ul * (unsigned)first),
                          4096u * (unsigned)n);
}

static bool mapped(const char *want)
{
    int i;

    for (i = 0; want[i]; i++) {
        if ((want[i] != '.') != (page[i] != 0)) {
            return false;
        }
    }
    return true;
}

int main(void)
{
    unsigned char before;

    container.fd = 100;
    ok(map(0, 2) == 0 && map(0, 2) == 0 && mapped("xx......"),
       "the same range twice");
    ok(unmap(0, 2) == 0 && mapped("xx......") && unmap(0, 2) == 0 &&
       mapped("........") && unmap(0, 2) == -EINVAL, "and twice unmapped");
    ok(map(2, 4) == 0 && map(0, 8) == 0 && mapped("xxxxxxxx."),
       "a range around another one");
    ok(unmap(2, 4) == 0 && mapped("xxxxxxxx.") && unmap(0, 8) == 0 &&
       mapped("........"), "inner, then outer");
    ok(map(0, 8) == 0 && map(2, 1) == 0 && unmap(0, 8) == 0 &&
       page[2] != 0, "outer first: the inner one stays reachable");
    before = page[2];
    ok(map(4, 2) == 0 && page[4] && page[2] && page[4] != before,
       "memory where nobody had any is mapped anew");
    ok(unmap(2, 1) == 0 && unmap(4, 2) == 0 && mapped("........"), "all gone");
    ok(map(1, 1) == 0 && map(5, 1) == 0, "two islands");
    refuse = 6;
    ok(map(0, 8) == -ENOMEM && mapped(".x...x.."),
       "a range that cannot be mapped in full leaves nothing");
    refuse = 0;
    ok(unmap(1, 1) == 0 && unmap(5, 1) == 0 && !maps && !ranges, "nothing left");
    container.fd = -1;
    ok(map(0, 4) == 0 && map(2, 4) == 0 && mapped("........"), "no container");
    container.fd = 100;
    ok(map_gaps(ranges->start, ranges->end) == 0 &&
       map_gaps(ranges->next->start, ranges->next->end) == 0 &&
       mapped("xxxxxx.."), "both are mapped when there is one");
    ok(unmap(0, 4) == 0 && unmap(2, 4) == 0 && mapped("........"), "unmapped");
    return done_testing();
}
