/* SPDX-License-Identifier: Apache-2.0 */
/* acl_rt_allocator.h: descriptors can be made, registering is refused. */
#include "acl_priv.h"

#include <stdlib.h>

typedef struct desc {
    aclrtAllocator obj;
    aclrtAllocatorAllocFunc alloc;
    aclrtAllocatorFreeFunc free;
    aclrtAllocatorAllocAdviseFunc advise;
    aclrtAllocatorGetAddrFromBlockFunc addr;
} desc;

ACL_EXPORT aclrtAllocatorDesc aclrtAllocatorCreateDesc(void)
{
    return calloc(1, sizeof(desc));
}

ACL_EXPORT aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc allocatorDesc)
{
    CHECK_PTR(allocatorDesc);
    free(allocatorDesc);
    return ACL_SUCCESS;
}

#define SETTER(name, type, arg, field)                                  \
ACL_EXPORT aclError name(aclrtAllocatorDesc allocatorDesc, type arg)    \
{                                                                       \
    CHECK_PTR(allocatorDesc);                                           \
    CHECK_PTR(arg);                                                     \
    ((desc *)allocatorDesc)->field = arg;                               \
    return ACL_SUCCESS;                                                 \
}

SETTER(aclrtAllocatorSetObjToDesc, aclrtAllocator, allocator, obj)
SETTER(aclrtAllocatorSetAllocFuncToDesc, aclrtAllocatorAllocFunc, func, alloc)
SETTER(aclrtAllocatorSetFreeFuncToDesc, aclrtAllocatorFreeFunc, func, free)
SETTER(aclrtAllocatorSetAllocAdviseFuncToDesc, aclrtAllocatorAllocAdviseFunc,
       func, advise)
SETTER(aclrtAllocatorSetGetAddrFromBlockFuncToDesc,
       aclrtAllocatorGetAddrFromBlockFunc, func, addr)

ACL_EXPORT aclError aclrtAllocatorRegister(aclrtStream stream,
                                           aclrtAllocatorDesc allocatorDesc)
{
    aclError rc;

    CHECK_PTR(allocatorDesc);
    return stream_need(__func__, stream, &rc)
           ? FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "streams take no memory "
                  "from an allocator of the caller") : rc;
}

ACL_EXPORT aclError aclrtAllocatorUnregister(aclrtStream stream)
{
    aclError rc;

    return stream_need(__func__, stream, &rc)
           ? FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "no allocator is "
                  "registered for the stream") : rc;
}

ACL_EXPORT aclError aclrtAllocatorGetByStream(
    aclrtStream stream, aclrtAllocatorDesc *allocatorDesc,
    aclrtAllocator *allocator, aclrtAllocatorAllocFunc *allocFunc,
    aclrtAllocatorFreeFunc *freeFunc,
    aclrtAllocatorAllocAdviseFunc *allocAdviseFunc,
    aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc)
{
    aclError rc;

    (void)allocatorDesc;
    (void)allocator;
    (void)allocFunc;
    (void)freeFunc;
    (void)allocAdviseFunc;
    (void)getAddrFromBlockFunc;
    return stream_need(__func__, stream, &rc)
           ? FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "no allocator is "
                  "registered for the stream") : rc;
}
