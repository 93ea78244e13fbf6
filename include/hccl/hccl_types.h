/*
 * HCCL: result codes, data types and the communicator configuration.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Names, values and layouts: spec/api/hccl-control-plane.md §2, §3 and
 * Appendix A. C++11 and later, C11.
 */
#ifndef HCCL_TYPES_H
#define HCCL_TYPES_H

#include <stdint.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What every HCCL call returns. HcommResult (int32_t) has the same values.
 */
typedef enum {
    HCCL_SUCCESS = 0,
    HCCL_E_PARA = 1,                 /* a value out of its range */
    HCCL_E_PTR = 2,                  /* a null pointer or a null handle */
    HCCL_E_MEMORY = 3,
    HCCL_E_INTERNAL = 4,
    HCCL_E_NOT_SUPPORT = 5,          /* this card or this build cannot */
    HCCL_E_NOT_FOUND = 6,            /* no such tag, thread, channel, rank */
    HCCL_E_UNAVAIL = 7,              /* a limit is reached */
    HCCL_E_SYSCALL = 8,
    HCCL_E_TIMEOUT = 9,
    HCCL_E_OPEN_FILE_FAILURE = 10,
    HCCL_E_TCP_CONNECT = 11,
    HCCL_E_ROCE_CONNECT = 12,
    HCCL_E_TCP_TRANSFER = 13,
    HCCL_E_ROCE_TRANSFER = 14,
    HCCL_E_RUNTIME = 15,             /* an acl call failed inside */
    HCCL_E_DRV = 16,
    HCCL_E_PROFILING = 17,
    HCCL_E_CCE = 18,
    HCCL_E_NETWORK = 19,
    HCCL_E_AGAIN = 20,               /* in use, try later */
    HCCL_E_REMOTE = 21,
    HCCL_E_SUSPENDING = 22,
    HCCL_E_OPRETRY_FAIL = 23,
    HCCL_E_OOM = 24,
    HCCL_E_IN_STATUS = 1041,
    HCCL_E_RESERVED = 1042
} HcclResult;

/* A communicator; belongs to the device it was created on. */
typedef void *HcclComm;
typedef void *HcclConn;
typedef void *HcclCommSymWindow;

typedef enum {
    HCCL_REDUCE_SUM = 0,
    HCCL_REDUCE_PROD = 1,
    HCCL_REDUCE_MAX = 2,
    HCCL_REDUCE_MIN = 3,
    HCCL_REDUCE_RESERVED = 255
} HcclReduceOp;

/* 13 is a hole. HCCL_DATA_TYPE_RESERVED serves as an array bound. */
typedef enum {
    HCCL_DATA_TYPE_INT8 = 0,
    HCCL_DATA_TYPE_INT16 = 1,
    HCCL_DATA_TYPE_INT32 = 2,
    HCCL_DATA_TYPE_FP16 = 3,
    HCCL_DATA_TYPE_FP32 = 4,
    HCCL_DATA_TYPE_INT64 = 5,
    HCCL_DATA_TYPE_UINT64 = 6,
    HCCL_DATA_TYPE_UINT8 = 7,
    HCCL_DATA_TYPE_UINT16 = 8,
    HCCL_DATA_TYPE_UINT32 = 9,
    HCCL_DATA_TYPE_FP64 = 10,
    HCCL_DATA_TYPE_BFP16 = 11,
    HCCL_DATA_TYPE_INT128 = 12,
    HCCL_DATA_TYPE_HIF8 = 14,
    HCCL_DATA_TYPE_FP8E4M3 = 15,
    HCCL_DATA_TYPE_FP8E5M2 = 16,
    HCCL_DATA_TYPE_FP8E8M0 = 17,
    HCCL_DATA_TYPE_RESERVED = 255
} HcclDataType;

typedef enum {
    HCCL_DETERMINISTIC = 0,
    HCCL_CONFIG_RESERVED = 1
} HcclConfig;

typedef union HcclConfigValue {
    int32_t value;
} HcclConfigValue;

typedef enum {
    HCCL_SEND = 0,
    HCCL_RECV = 1,
    HCCL_SEND_RECV_RESERVED = 2
} HcclSendRecvType;

/* 19 is a hole. */
typedef enum {
    HCCL_CMD_INVALID = 0,
    HCCL_CMD_BROADCAST = 1,
    HCCL_CMD_ALLREDUCE = 2,
    HCCL_CMD_REDUCE = 3,
    HCCL_CMD_SEND = 4,
    HCCL_CMD_RECEIVE = 5,
    HCCL_CMD_ALLGATHER = 6,
    HCCL_CMD_REDUCE_SCATTER = 7,
    HCCL_CMD_ALLTOALLV = 8,
    HCCL_CMD_ALLTOALLVC = 9,
    HCCL_CMD_ALLTOALL = 10,
    HCCL_CMD_GATHER = 11,
    HCCL_CMD_SCATTER = 12,
    HCCL_CMD_BATCH_SEND_RECV = 13,
    HCCL_CMD_BATCH_PUT = 14,
    HCCL_CMD_BATCH_GET = 15,
    HCCL_CMD_ALLGATHER_V = 16,
    HCCL_CMD_REDUCE_SCATTER_V = 17,
    HCCL_CMD_BATCH_WRITE = 18,
    HCCL_CMD_HALF_ALLTOALLV = 20,
    HCCL_CMD_ALL = 21,
    HCCL_CMD_FINALIZE = 100,
    HCCL_CMD_INTER_GROUP_SYNC = 101,
    HCCL_CMD_INIT = 102,
    HCCL_CMD_BARRIER = 103,
    HCCL_CMD_MAX = 104
} HcclCMDType;

typedef enum {
    HCCL_COMM_STATUS_READY = 0,
    HCCL_COMM_STATUS_SUSPENDING = 1,
    HCCL_COMM_STATUS_INVALID = 254,
    HCCL_COMM_STATUS_RESERVED = 255
} HcclCommStatus;

typedef enum {
    HCCL_COMM_STATE_PHASE_INVALID = -1,
    HCCL_COMM_STATE_PHASE_DESTROY_PRE = 0,
    HCCL_COMM_STATE_PHASE_DESTROY_POST = 1,
    HCCL_COMM_STATE_PHASE_RESUME_PRE = 2,
    HCCL_COMM_STATE_PHASE_RESUME_POST = 3
} HcclCommStatePhase;

/* Feature X is supported if HcclGetCommConfigCapability() > X. */
typedef enum {
    HCCL_COMM_CONFIG_BUFFER_SIZE = 0,
    HCCL_COMM_CONFIG_DETERMINISTIC = 1,
    HCCL_COMM_CONFIG_COMM_NAME = 2,
    HCCL_COMM_CONFIG_OP_EXPANSION_MODE = 3,
    HCCL_COMM_CONFIG_SUPPORT_INIT_BY_ENV = 4,
    HCCL_COMM_CONFIG_WORLD_RANKID = 5,
    HCCL_COMM_CONFIG_JOBID = 6,
    HCCL_COMM_CONFIG_ACLGRAPH_ZEROCOPY_ENABLE = 7,
    HCCL_COMM_CONFIG_EXEC_TIMEOUT = 8,
    HCCL_COMM_CONFIG_ALGO = 9,
    HCCL_COMM_CONFIG_RETRY = 10,
    HCCL_COMM_CONFIG_BUFFER_NAME = 11,
    HCCL_COMM_CONFIG_RESERVED
} HcclCommConfigCapability;

/*
 * Constants. C++ gets typed constants, which a program's own namespaces may
 * shadow; C needs macros, because they bound arrays below.
 */
#ifdef __cplusplus
const uint32_t HCCL_ROOT_INFO_BYTES = 4108;
const uint32_t COMM_NAME_MAX_LENGTH = 128;
const uint32_t BUFFER_NAME_MAX_LENGTH = 128;
const uint32_t UDI_MAX_LENGTH = 128;
const uint32_t HCCL_COMM_ALGO_MAX_LENGTH = 1600;
const uint32_t HCCL_COMM_RETRY_ENABLE_MAX_LENGTH = 50;
const uint32_t HCCL_COMM_RETRY_PARAMS_MAX_LENGTH = 128;
const uint32_t HCCL_COMM_CONFIG_INFO_BYTES = 24;
const uint32_t HCCL_COMM_CONFIG_MAGIC_WORD = 0xf0f0f0f0;
const uint32_t HCCL_COMM_CONFIG_VERSION = 11;
const uint32_t HCCL_COMM_DEFAULT_BUFFSIZE = 200;         /* MiB */
const uint32_t HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET = 0xffffffff;
const uint32_t HCCL_COMM_DEFAULT_DETERMINISTIC = 0;
const uint32_t HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET = 0xffffffff;
const uint32_t HCCL_COMM_DEFAULT_OP_EXPANSION_MODE = 0;
const uint32_t HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET = 0xffffffff;
const uint32_t HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET = 0xffffffff;
const int32_t HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET = -1; /* 0xffffffff */
const uint32_t HCCL_COMM_QOS_CONFIG_NOT_SET = 0xffffffff;
const uint32_t HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET = 0xffffffff;
const uint64_t HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE = 16ULL;
#else
#define HCCL_ROOT_INFO_BYTES                    4108U
#define COMM_NAME_MAX_LENGTH                    128U
#define BUFFER_NAME_MAX_LENGTH                  128U
#define UDI_MAX_LENGTH                          128U
#define HCCL_COMM_ALGO_MAX_LENGTH               1600U
#define HCCL_COMM_RETRY_ENABLE_MAX_LENGTH       50U
#define HCCL_COMM_RETRY_PARAMS_MAX_LENGTH       128U
#define HCCL_COMM_CONFIG_INFO_BYTES             24U
#define HCCL_COMM_CONFIG_MAGIC_WORD             0xf0f0f0f0U
#define HCCL_COMM_CONFIG_VERSION                11U
#define HCCL_COMM_DEFAULT_BUFFSIZE              200U
#define HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET       0xffffffffU
#define HCCL_COMM_DEFAULT_DETERMINISTIC         0U
#define HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET  0xffffffffU
#define HCCL_COMM_DEFAULT_OP_EXPANSION_MODE     0U
#define HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET  0xffffffffU
#define HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET  0xffffffffU
#define HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET    (-1)
#define HCCL_COMM_QOS_CONFIG_NOT_SET            0xffffffffU
#define HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET       0xffffffffU
#define HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE    16ULL
#endif

/*
 * What the root tells the other ranks: opaque, position-independent, to be
 * sent as HCCL_ROOT_INFO_BYTES bytes by any means. Begins with the text of
 * the root's address.
 */
typedef struct HcclRootInfoDef {
    char internal[HCCL_ROOT_INFO_BYTES];
} HcclRootInfo;

/*
 * Configuration of a communicator. Fill it with HcclCommConfigInit(), then
 * change what matters; a NOT_SET value leaves the choice to the environment.
 * All ranks give the same values. Fields marked (-) are accepted and have no
 * effect on this card.
 */
typedef struct HcclCommConfigDef {
    char reserved[HCCL_COMM_CONFIG_INFO_BYTES]; /* size, magic, version */
    uint32_t hcclBufferSize;         /* MiB, >= 1; twice this is allocated */
    uint32_t hcclDeterministic;      /* (-) reductions always are */
    char hcclCommName[COMM_NAME_MAX_LENGTH];    /* unique per device */
    char hcclUdi[UDI_MAX_LENGTH];    /* free text for messages */
    uint32_t hcclOpExpansionMode;    /* 0 default, 2 AICPU_TS, 6 taken as 2 */
    uint32_t hcclRdmaTrafficClass;   /* (-) 0..255, multiple of 4 */
    uint32_t hcclRdmaServiceLevel;   /* (-) 0..7 */
    uint32_t hcclWorldRankID;        /* (-) */
    uint64_t hcclJobID;              /* (-) */
    uint8_t aclGraphZeroCopyEnable;  /* (-) */
    int32_t hcclExecTimeOut;         /* (-) s */
    char hcclAlgo[HCCL_COMM_ALGO_MAX_LENGTH];
    char hcclRetryEnable[HCCL_COMM_RETRY_ENABLE_MAX_LENGTH];    /* (-) */
    char hcclRetryParams[HCCL_COMM_RETRY_PARAMS_MAX_LENGTH];    /* (-) */
    char hcclBufferName[BUFFER_NAME_MAX_LENGTH];                /* (-) */
    uint32_t hcclQos;                /* (-) */
    uint64_t hcclSymWinMaxMemSizePerRank;                       /* (-) */
    uint32_t hcclChannelSqDepth;     /* entries of a channel's queue */
} HcclCommConfig;

/* One transfer of HcclBatchSendRecv; @count in elements. */
typedef struct HcclSendRecvItemDef {
    HcclSendRecvType sendRecvType;
    void *buf;
    uint64_t count;
    HcclDataType dataType;
    uint32_t remoteRank;
} HcclSendRecvItem;

#ifdef __cplusplus
}
#endif

#endif /* HCCL_TYPES_H */
