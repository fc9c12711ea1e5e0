/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types and constants of NVML, the NVIDIA Management Library, as of CUDA 13.0.
 *
 * The file has only names, values and layouts on which a program and libnvidia-ml.so.1 must agree,
 * so that the build needs no NVML package. The names are the library's, so they do not follow the
 * project's style. In a struct whose first member is `version`, the caller must set it to the
 * constant of the same name without `_t` (nvmlMemory_v2 for nvmlMemory_v2_t). The constant encodes
 * the struct's size and version number, so NVML gives a changed layout a new struct name (_v1,
 * _v2). The exception is nvmlGpmMetricsGet_t: its array grows with each release while its version
 * stays 1.
 *
 * Where a real nvml.h is installed, tools/check-abi.py compares sizes, offsets and values with it.
 * Any difference is a bug of this file.
 */
#pragma once

#include <stddef.h>

/* The version of NVML, buffer sizes, and the macro for the `version` member of structs. */

#define NVML_API_VERSION 13
#define NVML_API_VERSION_STR "13"
#define NVML_VALUE_NOT_AVAILABLE (-1)
#define NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE 32
#define NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE 16
#define NVML_DEVICE_UUID_ASCII_LEN 41
#define NVML_DEVICE_UUID_BINARY_LEN 16
#define NVML_PERF_MODES_BUFFER_SIZE 2048
#define NVML_DEVICE_HOSTNAME_BUFFER_SIZE 64
#define NVML_GSP_FIRMWARE_VERSION_BUF_SIZE 0x40
#define NVML_GRID_LICENSE_BUFFER_SIZE 128
#define NVML_VGPU_NAME_BUFFER_SIZE 64
#define NVML_INIT_FLAG_NO_GPUS 1
#define NVML_INIT_FLAG_NO_ATTACH 2
#define NVML_DEVICE_INFOROM_VERSION_BUFFER_SIZE 16
#define NVML_DEVICE_UUID_BUFFER_SIZE 80
#define NVML_DEVICE_UUID_V2_BUFFER_SIZE 96
#define NVML_DEVICE_PART_NUMBER_BUFFER_SIZE 80
#define NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE 80
#define NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE 80
#define NVML_DEVICE_NAME_BUFFER_SIZE 64
#define NVML_DEVICE_NAME_V2_BUFFER_SIZE 96
#define NVML_DEVICE_SERIAL_BUFFER_SIZE 30
#define NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE 32
#define NVML_DEVICE_PCI_BUS_ID_FMT "%08X:%02X:%02X.0"
#define NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT "%04X:%02X:%02X.0"
#define NVML_STRUCT_VERSION(name, version) \
        ((unsigned int)(sizeof(nvml##name##_v##version##_t) | ((version) << 24)))

/* Opaque handles. */

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlGpuInstance_st *nvmlGpuInstance_t;
typedef struct nvmlUnit_st *nvmlUnit_t;
typedef struct nvmlEventSet_st *nvmlEventSet_t;
typedef struct nvmlSystemEventSet_st *nvmlSystemEventSet_t;
typedef struct nvmlComputeInstance_st *nvmlComputeInstance_t;
typedef struct nvmlGpmSample_st *nvmlGpmSample_t;

/* Results and values. */

#define nvmlFlagDefault 0x0
#define nvmlFlagForce 0x1

typedef enum nvmlValueType_enum {
        NVML_VALUE_TYPE_DOUBLE = 0,
        NVML_VALUE_TYPE_UNSIGNED_INT = 1,
        NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
        NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
        NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4,
        NVML_VALUE_TYPE_SIGNED_INT = 5,
        NVML_VALUE_TYPE_UNSIGNED_SHORT = 6,
        NVML_VALUE_TYPE_COUNT = 7,
} nvmlValueType_t;

typedef union nvmlValue_st {
        double dVal;
        int siVal;
        unsigned int uiVal;
        unsigned long ulVal;
        unsigned long long ullVal;
        signed long long sllVal;
        unsigned short usVal;
} nvmlValue_t;

typedef enum nvmlEnableState_enum {
        NVML_FEATURE_DISABLED = 0,
        NVML_FEATURE_ENABLED = 1,
} nvmlEnableState_t;

typedef enum nvmlReturn_enum {
        NVML_SUCCESS = 0,
        NVML_ERROR_UNINITIALIZED = 1,
        NVML_ERROR_INVALID_ARGUMENT = 2,
        NVML_ERROR_NOT_SUPPORTED = 3,
        NVML_ERROR_NO_PERMISSION = 4,
        NVML_ERROR_ALREADY_INITIALIZED = 5,
        NVML_ERROR_NOT_FOUND = 6,
        NVML_ERROR_INSUFFICIENT_SIZE = 7,
        NVML_ERROR_INSUFFICIENT_POWER = 8,
        NVML_ERROR_DRIVER_NOT_LOADED = 9,
        NVML_ERROR_TIMEOUT = 10,
        NVML_ERROR_IRQ_ISSUE = 11,
        NVML_ERROR_LIBRARY_NOT_FOUND = 12,
        NVML_ERROR_FUNCTION_NOT_FOUND = 13,
        NVML_ERROR_CORRUPTED_INFOROM = 14,
        NVML_ERROR_GPU_IS_LOST = 15,
        NVML_ERROR_RESET_REQUIRED = 16,
        NVML_ERROR_OPERATING_SYSTEM = 17,
        NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
        NVML_ERROR_IN_USE = 19,
        NVML_ERROR_MEMORY = 20,
        NVML_ERROR_NO_DATA = 21,
        NVML_ERROR_VGPU_ECC_NOT_SUPPORTED = 22,
        NVML_ERROR_INSUFFICIENT_RESOURCES = 23,
        NVML_ERROR_FREQ_NOT_SUPPORTED = 24,
        NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
        NVML_ERROR_DEPRECATED = 26,
        NVML_ERROR_NOT_READY = 27,
        NVML_ERROR_GPU_NOT_FOUND = 28,
        NVML_ERROR_INVALID_STATE = 29,
        NVML_ERROR_RESET_TYPE_NOT_SUPPORTED = 30,
        NVML_ERROR_UNKNOWN = 999,
} nvmlReturn_t;

/* Identity of a device: PCI, UUID, brand, architecture. */

#define NVML_MAX_PHYSICAL_BRIDGE 128
#define NVML_DEVICE_ARCH_KEPLER 2
#define NVML_DEVICE_ARCH_MAXWELL 3
#define NVML_DEVICE_ARCH_PASCAL 4
#define NVML_DEVICE_ARCH_VOLTA 5
#define NVML_DEVICE_ARCH_TURING 6
#define NVML_DEVICE_ARCH_AMPERE 7
#define NVML_DEVICE_ARCH_ADA 8
#define NVML_DEVICE_ARCH_HOPPER 9
#define NVML_DEVICE_ARCH_BLACKWELL 10
#define NVML_DEVICE_ARCH_UNKNOWN 0xffffffff
#define NVML_BUS_TYPE_UNKNOWN 0
#define NVML_BUS_TYPE_PCI 1
#define NVML_BUS_TYPE_PCIE 2
#define NVML_BUS_TYPE_FPCI 3
#define NVML_BUS_TYPE_AGP 4
#define NVML_PCIE_LINK_MAX_SPEED_INVALID 0x0
#define NVML_PCIE_LINK_MAX_SPEED_2500MBPS 0x1
#define NVML_PCIE_LINK_MAX_SPEED_5000MBPS 0x2
#define NVML_PCIE_LINK_MAX_SPEED_8000MBPS 0x3
#define NVML_PCIE_LINK_MAX_SPEED_16000MBPS 0x4
#define NVML_PCIE_LINK_MAX_SPEED_32000MBPS 0x5
#define NVML_PCIE_LINK_MAX_SPEED_64000MBPS 0x6
#define NVML_PCIE_ATOMICS_CAP_FETCHADD32 0x1
#define NVML_PCIE_ATOMICS_CAP_FETCHADD64 0x2
#define NVML_PCIE_ATOMICS_CAP_SWAP32 0x4
#define NVML_PCIE_ATOMICS_CAP_SWAP64 0x8
#define NVML_PCIE_ATOMICS_CAP_CAS32 0x10
#define NVML_PCIE_ATOMICS_CAP_CAS64 0x20
#define NVML_PCIE_ATOMICS_CAP_CAS128 0x40
#define NVML_PCIE_ATOMICS_OPS_MAX 7
#define NVML_DEV_CAP_EGM (1 << 0)

typedef struct {
        unsigned int version;
        unsigned int domain;
        unsigned int bus;
        unsigned int device;
        unsigned int pciDeviceId;
        unsigned int pciSubSystemId;
        unsigned int baseClass;
        unsigned int subClass;
        char busId[32];
} nvmlPciInfoExt_v1_t;
typedef nvmlPciInfoExt_v1_t nvmlPciInfoExt_t;
#define nvmlPciInfoExt_v1 NVML_STRUCT_VERSION(PciInfoExt, 1)

typedef struct nvmlPciInfo_st {
        char busIdLegacy[16];
        unsigned int domain;
        unsigned int bus;
        unsigned int device;
        unsigned int pciDeviceId;
        unsigned int pciSubSystemId;
        char busId[32];
} nvmlPciInfo_t;

typedef struct nvmlDeviceAttributes_st {
        unsigned int multiprocessorCount;
        unsigned int sharedCopyEngineCount;
        unsigned int sharedDecoderCount;
        unsigned int sharedEncoderCount;
        unsigned int sharedJpegCount;
        unsigned int sharedOfaCount;
        unsigned int gpuInstanceSliceCount;
        unsigned int computeInstanceSliceCount;
        unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;

typedef enum {
        NVML_DEVICE_ADDRESSING_MODE_NONE = 0,
        NVML_DEVICE_ADDRESSING_MODE_HMM = 1,
        NVML_DEVICE_ADDRESSING_MODE_ATS = 2,
} nvmlDeviceAddressingModeType_t;

typedef struct {
        unsigned int version;
        unsigned int value;
} nvmlDeviceAddressingMode_v1_t;
typedef nvmlDeviceAddressingMode_v1_t nvmlDeviceAddressingMode_t;
#define nvmlDeviceAddressingMode_v1 NVML_STRUCT_VERSION(DeviceAddressingMode, 1)

typedef enum nvmlBridgeChipType_enum {
        NVML_BRIDGE_CHIP_PLX = 0,
        NVML_BRIDGE_CHIP_BRO4 = 1,
} nvmlBridgeChipType_t;

typedef struct nvmlBridgeChipInfo_st {
        nvmlBridgeChipType_t type;
        unsigned int fwVersion;
} nvmlBridgeChipInfo_t;

typedef struct nvmlBridgeChipHierarchy_st {
        unsigned char bridgeCount;
        nvmlBridgeChipInfo_t bridgeChipInfo[128];
} nvmlBridgeChipHierarchy_t;

typedef enum nvmlPcieUtilCounter_enum {
        NVML_PCIE_UTIL_TX_BYTES = 0,
        NVML_PCIE_UTIL_RX_BYTES = 1,
        NVML_PCIE_UTIL_COUNT = 2,
} nvmlPcieUtilCounter_t;

typedef enum {
        NVML_UUID_TYPE_NONE = 0,
        NVML_UUID_TYPE_ASCII = 1,
        NVML_UUID_TYPE_BINARY = 2,
} nvmlUUIDType_t;

typedef union {
        char str[41];
        unsigned char bytes[16];
} nvmlUUIDValue_t;

typedef struct {
        unsigned int version;
        unsigned int type;
        nvmlUUIDValue_t value;
} nvmlUUID_v1_t;
typedef nvmlUUID_v1_t nvmlUUID_t;
#define nvmlUUID_v1 NVML_STRUCT_VERSION(UUID, 1)

typedef struct {
        unsigned int version;
        unsigned long long value;
} nvmlPdi_v1_t;
typedef nvmlPdi_v1_t nvmlPdi_t;
#define nvmlPdi_v1 NVML_STRUCT_VERSION(Pdi, 1)

typedef enum nvmlBrandType_enum {
        NVML_BRAND_UNKNOWN = 0,
        NVML_BRAND_QUADRO = 1,
        NVML_BRAND_TESLA = 2,
        NVML_BRAND_NVS = 3,
        NVML_BRAND_GRID = 4,
        NVML_BRAND_GEFORCE = 5,
        NVML_BRAND_TITAN = 6,
        NVML_BRAND_NVIDIA_VAPPS = 7,
        NVML_BRAND_NVIDIA_VPC = 8,
        NVML_BRAND_NVIDIA_VCS = 9,
        NVML_BRAND_NVIDIA_VWS = 10,
        NVML_BRAND_NVIDIA_CLOUD_GAMING = 11,
        NVML_BRAND_NVIDIA_VGAMING = 11,
        NVML_BRAND_QUADRO_RTX = 12,
        NVML_BRAND_NVIDIA_RTX = 13,
        NVML_BRAND_NVIDIA = 14,
        NVML_BRAND_GEFORCE_RTX = 15,
        NVML_BRAND_TITAN_RTX = 16,
        NVML_BRAND_COUNT = 18,
} nvmlBrandType_t;

typedef enum nvmlDriverModel_enum {
        NVML_DRIVER_WDDM = 0,
        NVML_DRIVER_WDM = 1,
        NVML_DRIVER_MCDM = 2,
} nvmlDriverModel_t;

typedef enum nvmlInforomObject_enum {
        NVML_INFOROM_OEM = 0,
        NVML_INFOROM_ECC = 1,
        NVML_INFOROM_POWER = 2,
        NVML_INFOROM_DEN = 3,
        NVML_INFOROM_COUNT = 4,
} nvmlInforomObject_t;

typedef struct {
        unsigned int version;
        unsigned char ibGuid[16];
        unsigned char rackGuid[16];
        unsigned char chassisPhysicalSlotNumber;
        unsigned char computeSlotIndex;
        unsigned char nodeIndex;
        unsigned char peerType;
        unsigned char moduleId;
} nvmlPlatformInfo_v1_t;
#define nvmlPlatformInfo_v1 NVML_STRUCT_VERSION(PlatformInfo, 1)

typedef struct {
        unsigned int version;
        unsigned char ibGuid[16];
        unsigned char chassisSerialNumber[16];
        unsigned char slotNumber;
        unsigned char trayIndex;
        unsigned char hostId;
        unsigned char peerType;
        unsigned char moduleId;
} nvmlPlatformInfo_v2_t;
typedef nvmlPlatformInfo_v2_t nvmlPlatformInfo_t;
#define nvmlPlatformInfo_v2 NVML_STRUCT_VERSION(PlatformInfo, 2)

typedef struct {
        char value[64];
} nvmlHostname_v1_t;

typedef unsigned int nvmlDeviceArchitecture_t;
typedef unsigned int nvmlBusType_t;

typedef struct nvmlHwbcEntry_st {
        unsigned int hwbcId;
        char firmwareVersion[32];
} nvmlHwbcEntry_t;

typedef enum nvmlPcieLinkState_enum {
        NVML_PCIE_LINK_KEEP = 0,
        NVML_PCIE_LINK_SHUT_DOWN = 1,
} nvmlPcieLinkState_t;

typedef struct {
        unsigned int version;
        char branch[80];
} nvmlSystemDriverBranchInfo_v1_t;
typedef nvmlSystemDriverBranchInfo_v1_t nvmlSystemDriverBranchInfo_t;
#define nvmlSystemDriverBranchInfo_v1 NVML_STRUCT_VERSION(SystemDriverBranchInfo, 1)

typedef struct nvmlExcludedDeviceInfo_st {
        nvmlPciInfo_t pciInfo;
        char uuid[80];
} nvmlExcludedDeviceInfo_t;

typedef struct {
        unsigned int version;
        unsigned int capMask;
} nvmlDeviceCapabilities_v1_t;
typedef nvmlDeviceCapabilities_v1_t nvmlDeviceCapabilities_t;
#define nvmlDeviceCapabilities_v1 NVML_STRUCT_VERSION(DeviceCapabilities, 1)

/* Memory, utilization and the processes that use them. */

#define NVML_MAX_GPU_UTILIZATIONS 8

typedef struct nvmlUtilization_st {
        unsigned int gpu;
        unsigned int memory;
} nvmlUtilization_t;

typedef struct nvmlMemory_st {
        unsigned long long total;
        unsigned long long free;
        unsigned long long used;
} nvmlMemory_t;

typedef struct nvmlMemory_v2_st {
        unsigned int version;
        unsigned long long total;
        unsigned long long reserved;
        unsigned long long free;
        unsigned long long used;
} nvmlMemory_v2_t;
#define nvmlMemory_v2 NVML_STRUCT_VERSION(Memory, 2)

typedef struct nvmlBAR1Memory_st {
        unsigned long long bar1Total;
        unsigned long long bar1Free;
        unsigned long long bar1Used;
} nvmlBAR1Memory_t;

typedef struct nvmlProcessInfo_v1_st {
        unsigned int pid;
        unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;

typedef struct nvmlProcessInfo_v2_st {
        unsigned int pid;
        unsigned long long usedGpuMemory;
        unsigned int gpuInstanceId;
        unsigned int computeInstanceId;
} nvmlProcessInfo_v2_t;
typedef nvmlProcessInfo_v2_t nvmlProcessInfo_t;

typedef struct {
        unsigned int pid;
        unsigned long long usedGpuMemory;
        unsigned int gpuInstanceId;
        unsigned int computeInstanceId;
        unsigned long long usedGpuCcProtectedMemory;
} nvmlProcessDetail_v1_t;

typedef struct {
        unsigned int version;
        unsigned int mode;
        unsigned int numProcArrayEntries;
        nvmlProcessDetail_v1_t *procArray;
} nvmlProcessDetailList_v1_t;
typedef nvmlProcessDetailList_v1_t nvmlProcessDetailList_t;
#define nvmlProcessDetailList_v1 NVML_STRUCT_VERSION(ProcessDetailList, 1)

typedef enum nvmlSamplingType_enum {
        NVML_TOTAL_POWER_SAMPLES = 0,
        NVML_GPU_UTILIZATION_SAMPLES = 1,
        NVML_MEMORY_UTILIZATION_SAMPLES = 2,
        NVML_ENC_UTILIZATION_SAMPLES = 3,
        NVML_DEC_UTILIZATION_SAMPLES = 4,
        NVML_PROCESSOR_CLK_SAMPLES = 5,
        NVML_MEMORY_CLK_SAMPLES = 6,
        NVML_MODULE_POWER_SAMPLES = 7,
        NVML_JPG_UTILIZATION_SAMPLES = 8,
        NVML_OFA_UTILIZATION_SAMPLES = 9,
        NVML_SAMPLINGTYPE_COUNT = 10,
} nvmlSamplingType_t;

typedef struct nvmlSample_st {
        unsigned long long timeStamp;
        nvmlValue_t sampleValue;
} nvmlSample_t;

typedef enum nvmlComputeMode_enum {
        NVML_COMPUTEMODE_DEFAULT = 0,
        NVML_COMPUTEMODE_EXCLUSIVE_THREAD = 1,
        NVML_COMPUTEMODE_PROHIBITED = 2,
        NVML_COMPUTEMODE_EXCLUSIVE_PROCESS = 3,
        NVML_COMPUTEMODE_COUNT = 4,
} nvmlComputeMode_t;

typedef enum nvmlRestrictedAPI_enum {
        NVML_RESTRICTED_API_SET_APPLICATION_CLOCKS = 0,
        NVML_RESTRICTED_API_SET_AUTO_BOOSTED_CLOCKS = 1,
        NVML_RESTRICTED_API_COUNT = 2,
} nvmlRestrictedAPI_t;

typedef struct nvmlProcessUtilizationSample_st {
        unsigned int pid;
        unsigned long long timeStamp;
        unsigned int smUtil;
        unsigned int memUtil;
        unsigned int encUtil;
        unsigned int decUtil;
} nvmlProcessUtilizationSample_t;

typedef struct {
        unsigned long long timeStamp;
        unsigned int pid;
        unsigned int smUtil;
        unsigned int memUtil;
        unsigned int encUtil;
        unsigned int decUtil;
        unsigned int jpgUtil;
        unsigned int ofaUtil;
} nvmlProcessUtilizationInfo_v1_t;

typedef struct {
        unsigned int version;
        unsigned int processSamplesCount;
        unsigned long long lastSeenTimeStamp;
        nvmlProcessUtilizationInfo_v1_t *procUtilArray;
} nvmlProcessesUtilizationInfo_v1_t;
typedef nvmlProcessesUtilizationInfo_v1_t nvmlProcessesUtilizationInfo_t;
#define nvmlProcessesUtilizationInfo_v1 NVML_STRUCT_VERSION(ProcessesUtilizationInfo, 1)

typedef enum nvmlGpuUtilizationDomainId_t {
        NVML_GPU_UTILIZATION_DOMAIN_GPU = 0,
        NVML_GPU_UTILIZATION_DOMAIN_FB = 1,
        NVML_GPU_UTILIZATION_DOMAIN_VID = 2,
        NVML_GPU_UTILIZATION_DOMAIN_BUS = 3,
} nvmlGpuUtilizationDomainId_t;

typedef struct nvmlGpuDynamicPstatesInfo_st {
        unsigned int flags;
        struct {
                unsigned int bIsPresent;
                unsigned int percentage;
                unsigned int incThreshold;
                unsigned int decThreshold;
        } utilization[8];
} nvmlGpuDynamicPstatesInfo_t;

typedef struct nvmlAccountingStats_st {
        unsigned int gpuUtilization;
        unsigned int memoryUtilization;
        unsigned long long maxMemoryUsage;
        unsigned long long time;
        unsigned long long startTime;
        unsigned int isRunning;
        unsigned int reserved[5];
} nvmlAccountingStats_t;

/* Errors in memory: ECC, retirement, remapping. */

#define NVML_SINGLE_BIT_ECC NVML_MEMORY_ERROR_TYPE_CORRECTED
#define NVML_DOUBLE_BIT_ECC NVML_MEMORY_ERROR_TYPE_UNCORRECTED

typedef struct nvmlEccErrorCounts_st {
        unsigned long long l1Cache;
        unsigned long long l2Cache;
        unsigned long long deviceMemory;
        unsigned long long registerFile;
} nvmlEccErrorCounts_t;

typedef struct {
        unsigned int version;
        unsigned int bChannelRepairPending;
        unsigned int bTpcRepairPending;
} nvmlRepairStatus_v1_t;
typedef nvmlRepairStatus_v1_t nvmlRepairStatus_t;
#define nvmlRepairStatus_v1 NVML_STRUCT_VERSION(RepairStatus, 1)

typedef struct nvmlRowRemapperHistogramValues_st {
        unsigned int max;
        unsigned int high;
        unsigned int partial;
        unsigned int low;
        unsigned int none;
} nvmlRowRemapperHistogramValues_t;

typedef struct {
        unsigned int version;
        nvmlEnableState_t encryptionState;
} nvmlDramEncryptionInfo_v1_t;
typedef nvmlDramEncryptionInfo_v1_t nvmlDramEncryptionInfo_t;
#define nvmlDramEncryptionInfo_v1 NVML_STRUCT_VERSION(DramEncryptionInfo, 1)

typedef enum nvmlMemoryErrorType_enum {
        NVML_MEMORY_ERROR_TYPE_CORRECTED = 0,
        NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1,
        NVML_MEMORY_ERROR_TYPE_COUNT = 2,
} nvmlMemoryErrorType_t;

typedef enum nvmlEccCounterType_enum {
        NVML_VOLATILE_ECC = 0,
        NVML_AGGREGATE_ECC = 1,
        NVML_ECC_COUNTER_TYPE_COUNT = 2,
} nvmlEccCounterType_t;

typedef enum nvmlMemoryLocation_enum {
        NVML_MEMORY_LOCATION_L1_CACHE = 0,
        NVML_MEMORY_LOCATION_L2_CACHE = 1,
        NVML_MEMORY_LOCATION_DRAM = 2,
        NVML_MEMORY_LOCATION_DEVICE_MEMORY = 2,
        NVML_MEMORY_LOCATION_REGISTER_FILE = 3,
        NVML_MEMORY_LOCATION_TEXTURE_MEMORY = 4,
        NVML_MEMORY_LOCATION_TEXTURE_SHM = 5,
        NVML_MEMORY_LOCATION_CBU = 6,
        NVML_MEMORY_LOCATION_SRAM = 7,
        NVML_MEMORY_LOCATION_COUNT = 8,
} nvmlMemoryLocation_t;

typedef enum nvmlPageRetirementCause_enum {
        NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS = 0,
        NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR = 1,
        NVML_PAGE_RETIREMENT_CAUSE_COUNT = 2,
} nvmlPageRetirementCause_t;

typedef struct {
        unsigned int version;
        unsigned long long aggregateUncParity;
        unsigned long long aggregateUncSecDed;
        unsigned long long aggregateCor;
        unsigned long long volatileUncParity;
        unsigned long long volatileUncSecDed;
        unsigned long long volatileCor;
        unsigned long long aggregateUncBucketL2;
        unsigned long long aggregateUncBucketSm;
        unsigned long long aggregateUncBucketPcie;
        unsigned long long aggregateUncBucketMcu;
        unsigned long long aggregateUncBucketOther;
        unsigned int bThresholdExceeded;
} nvmlEccSramErrorStatus_v1_t;
typedef nvmlEccSramErrorStatus_v1_t nvmlEccSramErrorStatus_t;
#define nvmlEccSramErrorStatus_v1 NVML_STRUCT_VERSION(EccSramErrorStatus, 1)

typedef struct {
        unsigned int unit;
        unsigned int location;
        unsigned int sublocation;
        unsigned int extlocation;
        unsigned int address;
        unsigned int isParity;
        unsigned int count;
} nvmlEccSramUniqueUncorrectedErrorEntry_v1_t;

typedef struct {
        unsigned int version;
        unsigned int entryCount;
        nvmlEccSramUniqueUncorrectedErrorEntry_v1_t *entries;
} nvmlEccSramUniqueUncorrectedErrorCounts_v1_t;
typedef nvmlEccSramUniqueUncorrectedErrorCounts_v1_t nvmlEccSramUniqueUncorrectedErrorCounts_t;
#define nvmlEccSramUniqueUncorrectedErrorCounts_v1 \
        NVML_STRUCT_VERSION(EccSramUniqueUncorrectedErrorCounts, 1)

/* Clocks, power, heat, fans. */

#define NVML_MAX_THERMAL_SENSORS_PER_GPU 3
#define MAX_CLK_DOMAINS 32
#define NVML_MAX_GPU_PERF_PSTATES 16
#define NVML_POWER_MIZER_MODE_ADAPTIVE 0
#define NVML_POWER_MIZER_MODE_PREFER_MAXIMUM_PERFORMANCE 1
#define NVML_POWER_MIZER_MODE_AUTO 2
#define NVML_POWER_MIZER_MODE_PREFER_CONSISTENT_PERFORMANCE 3
#define NVML_FAN_POLICY_TEMPERATURE_CONTINOUS_SW 0
#define NVML_FAN_POLICY_MANUAL 1
#define NVML_POWER_SOURCE_AC 0x0
#define NVML_POWER_SOURCE_BATTERY 0x1
#define NVML_POWER_SOURCE_UNDERSIZED 0x2
#define NVML_ADAPTIVE_CLOCKING_INFO_STATUS_DISABLED 0x0
#define NVML_ADAPTIVE_CLOCKING_INFO_STATUS_ENABLED 0x1
#define NVML_POWER_SCOPE_GPU 0u
#define NVML_POWER_SCOPE_MODULE 1u
#define NVML_POWER_SCOPE_MEMORY 2u
#define nvmlClocksEventReasonGpuIdle 0x1ll
#define nvmlClocksEventReasonApplicationsClocksSetting 0x2ll
#define nvmlClocksThrottleReasonUserDefinedClocks nvmlClocksEventReasonApplicationsClocksSetting
#define nvmlClocksEventReasonSwPowerCap 0x4ll
#define nvmlClocksThrottleReasonHwSlowdown 0x8ll
#define nvmlClocksEventReasonSyncBoost 0x10ll
#define nvmlClocksEventReasonSwThermalSlowdown 0x20ll
#define nvmlClocksThrottleReasonHwThermalSlowdown 0x40ll
#define nvmlClocksThrottleReasonHwPowerBrakeSlowdown 0x80ll
#define nvmlClocksEventReasonDisplayClockSetting 0x100ll
#define nvmlClocksEventReasonNone 0x0ll
#define nvmlClocksEventReasonAll                                                              \
        (nvmlClocksThrottleReasonNone | nvmlClocksEventReasonGpuIdle |                        \
         nvmlClocksEventReasonApplicationsClocksSetting | nvmlClocksEventReasonSwPowerCap |   \
         nvmlClocksThrottleReasonHwSlowdown | nvmlClocksEventReasonSyncBoost |                \
         nvmlClocksEventReasonSwThermalSlowdown | nvmlClocksThrottleReasonHwThermalSlowdown | \
         nvmlClocksThrottleReasonHwPowerBrakeSlowdown | nvmlClocksEventReasonDisplayClockSetting)
#define nvmlClocksThrottleReasonGpuIdle nvmlClocksEventReasonGpuIdle
#define nvmlClocksThrottleReasonApplicationsClocksSetting \
        nvmlClocksEventReasonApplicationsClocksSetting
#define nvmlClocksThrottleReasonSyncBoost nvmlClocksEventReasonSyncBoost
#define nvmlClocksThrottleReasonSwPowerCap nvmlClocksEventReasonSwPowerCap
#define nvmlClocksThrottleReasonSwThermalSlowdown nvmlClocksEventReasonSwThermalSlowdown
#define nvmlClocksThrottleReasonDisplayClockSetting nvmlClocksEventReasonDisplayClockSetting
#define nvmlClocksThrottleReasonNone nvmlClocksEventReasonNone
#define nvmlClocksThrottleReasonAll nvmlClocksEventReasonAll
#define NVML_255_MASK_BITS_PER_ELEM 32
#define NVML_255_MASK_NUM_ELEMS 8
#define NVML_WORKLOAD_POWER_MAX_PROFILES 255
#define NVML_POWER_SMOOTHING_MAX_NUM_PROFILES 5
#define NVML_POWER_SMOOTHING_NUM_PROFILE_PARAMS 4
#define NVML_POWER_SMOOTHING_ADMIN_OVERRIDE_NOT_SET 0xffffffffu
#define NVML_POWER_SMOOTHING_PROFILE_PARAM_PERCENT_TMP_FLOOR 0
#define NVML_POWER_SMOOTHING_PROFILE_PARAM_RAMP_UP_RATE 1
#define NVML_POWER_SMOOTHING_PROFILE_PARAM_RAMP_DOWN_RATE 2
#define NVML_POWER_SMOOTHING_PROFILE_PARAM_RAMP_DOWN_HYSTERESIS 3

typedef enum nvmlPerfPolicyType_enum {
        NVML_PERF_POLICY_POWER = 0,
        NVML_PERF_POLICY_THERMAL = 1,
        NVML_PERF_POLICY_SYNC_BOOST = 2,
        NVML_PERF_POLICY_BOARD_LIMIT = 3,
        NVML_PERF_POLICY_LOW_UTILIZATION = 4,
        NVML_PERF_POLICY_RELIABILITY = 5,
        NVML_PERF_POLICY_TOTAL_APP_CLOCKS = 10,
        NVML_PERF_POLICY_TOTAL_BASE_CLOCKS = 11,
        NVML_PERF_POLICY_COUNT = 12,
} nvmlPerfPolicyType_t;

typedef struct nvmlViolationTime_st {
        unsigned long long referenceTime;
        unsigned long long violationTime;
} nvmlViolationTime_t;

typedef enum {
        NVML_THERMAL_TARGET_NONE = 0,
        NVML_THERMAL_TARGET_GPU = 1,
        NVML_THERMAL_TARGET_MEMORY = 2,
        NVML_THERMAL_TARGET_POWER_SUPPLY = 4,
        NVML_THERMAL_TARGET_BOARD = 8,
        NVML_THERMAL_TARGET_VCD_BOARD = 9,
        NVML_THERMAL_TARGET_VCD_INLET = 10,
        NVML_THERMAL_TARGET_VCD_OUTLET = 11,
        NVML_THERMAL_TARGET_ALL = 15,
        NVML_THERMAL_TARGET_UNKNOWN = -1,
} nvmlThermalTarget_t;

typedef enum {
        NVML_THERMAL_CONTROLLER_NONE = 0,
        NVML_THERMAL_CONTROLLER_GPU_INTERNAL = 1,
        NVML_THERMAL_CONTROLLER_ADM1032 = 2,
        NVML_THERMAL_CONTROLLER_ADT7461 = 3,
        NVML_THERMAL_CONTROLLER_MAX6649 = 4,
        NVML_THERMAL_CONTROLLER_MAX1617 = 5,
        NVML_THERMAL_CONTROLLER_LM99 = 6,
        NVML_THERMAL_CONTROLLER_LM89 = 7,
        NVML_THERMAL_CONTROLLER_LM64 = 8,
        NVML_THERMAL_CONTROLLER_G781 = 9,
        NVML_THERMAL_CONTROLLER_ADT7473 = 10,
        NVML_THERMAL_CONTROLLER_SBMAX6649 = 11,
        NVML_THERMAL_CONTROLLER_VBIOSEVT = 12,
        NVML_THERMAL_CONTROLLER_OS = 13,
        NVML_THERMAL_CONTROLLER_NVSYSCON_CANOAS = 14,
        NVML_THERMAL_CONTROLLER_NVSYSCON_E551 = 15,
        NVML_THERMAL_CONTROLLER_MAX6649R = 16,
        NVML_THERMAL_CONTROLLER_ADT7473S = 17,
        NVML_THERMAL_CONTROLLER_UNKNOWN = -1,
} nvmlThermalController_t;

typedef struct {
        unsigned int count;
        struct {
                nvmlThermalController_t controller;
                int defaultMinTemp;
                int defaultMaxTemp;
                int currentTemp;
                nvmlThermalTarget_t target;
        } sensor[3];
} nvmlGpuThermalSettings_t;

typedef enum nvmlCoolerControl_enum {
        NVML_THERMAL_COOLER_SIGNAL_NONE = 0,
        NVML_THERMAL_COOLER_SIGNAL_TOGGLE = 1,
        NVML_THERMAL_COOLER_SIGNAL_VARIABLE = 2,
        NVML_THERMAL_COOLER_SIGNAL_COUNT = 3,
} nvmlCoolerControl_t;

typedef enum nvmlCoolerTarget_enum {
        NVML_THERMAL_COOLER_TARGET_NONE = 1 << 0,
        NVML_THERMAL_COOLER_TARGET_GPU = 1 << 1,
        NVML_THERMAL_COOLER_TARGET_MEMORY = 1 << 2,
        NVML_THERMAL_COOLER_TARGET_POWER_SUPPLY = 1 << 3,
        NVML_THERMAL_COOLER_TARGET_GPU_RELATED = 14,
} nvmlCoolerTarget_t;

typedef struct {
        unsigned int version;
        unsigned int index;
        nvmlCoolerControl_t signalType;
        nvmlCoolerTarget_t target;
} nvmlCoolerInfo_v1_t;
typedef nvmlCoolerInfo_v1_t nvmlCoolerInfo_t;
#define nvmlCoolerInfo_v1 NVML_STRUCT_VERSION(CoolerInfo, 1)

typedef enum nvmlTemperatureThresholds_enum {
        NVML_TEMPERATURE_THRESHOLD_SHUTDOWN = 0,
        NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1,
        NVML_TEMPERATURE_THRESHOLD_MEM_MAX = 2,
        NVML_TEMPERATURE_THRESHOLD_GPU_MAX = 3,
        NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MIN = 4,
        NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_CURR = 5,
        NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MAX = 6,
        NVML_TEMPERATURE_THRESHOLD_GPS_CURR = 7,
        NVML_TEMPERATURE_THRESHOLD_COUNT = 8,
} nvmlTemperatureThresholds_t;

typedef enum nvmlTemperatureSensors_enum {
        NVML_TEMPERATURE_GPU = 0,
        NVML_TEMPERATURE_COUNT = 1,
} nvmlTemperatureSensors_t;

typedef struct {
        unsigned int version;
        int marginTemperature;
} nvmlMarginTemperature_v1_t;
typedef nvmlMarginTemperature_v1_t nvmlMarginTemperature_t;
#define nvmlMarginTemperature_v1 NVML_STRUCT_VERSION(MarginTemperature, 1)

typedef struct nvmlClkMonFaultInfo_struct {
        unsigned int clkApiDomain;
        unsigned int clkDomainFaultMask;
} nvmlClkMonFaultInfo_t;

typedef struct nvmlClkMonStatus_status {
        unsigned int bGlobalStatus;
        unsigned int clkMonListSize;
        nvmlClkMonFaultInfo_t clkMonList[32];
} nvmlClkMonStatus_t;

typedef enum nvmlClockType_enum {
        NVML_CLOCK_GRAPHICS = 0,
        NVML_CLOCK_SM = 1,
        NVML_CLOCK_MEM = 2,
        NVML_CLOCK_VIDEO = 3,
        NVML_CLOCK_COUNT = 4,
} nvmlClockType_t;

typedef enum nvmlClockId_enum {
        NVML_CLOCK_ID_CURRENT = 0,
        NVML_CLOCK_ID_APP_CLOCK_TARGET = 1,
        NVML_CLOCK_ID_APP_CLOCK_DEFAULT = 2,
        NVML_CLOCK_ID_CUSTOMER_BOOST_MAX = 3,
        NVML_CLOCK_ID_COUNT = 4,
} nvmlClockId_t;

typedef enum nvmlPStates_enum {
        NVML_PSTATE_0 = 0,
        NVML_PSTATE_1 = 1,
        NVML_PSTATE_2 = 2,
        NVML_PSTATE_3 = 3,
        NVML_PSTATE_4 = 4,
        NVML_PSTATE_5 = 5,
        NVML_PSTATE_6 = 6,
        NVML_PSTATE_7 = 7,
        NVML_PSTATE_8 = 8,
        NVML_PSTATE_9 = 9,
        NVML_PSTATE_10 = 10,
        NVML_PSTATE_11 = 11,
        NVML_PSTATE_12 = 12,
        NVML_PSTATE_13 = 13,
        NVML_PSTATE_14 = 14,
        NVML_PSTATE_15 = 15,
        NVML_PSTATE_UNKNOWN = 32,
} nvmlPstates_t;

typedef struct {
        unsigned int version;
        nvmlClockType_t type;
        nvmlPstates_t pstate;
        int clockOffsetMHz;
        int minClockOffsetMHz;
        int maxClockOffsetMHz;
} nvmlClockOffset_v1_t;
typedef nvmlClockOffset_v1_t nvmlClockOffset_t;
#define nvmlClockOffset_v1 NVML_STRUCT_VERSION(ClockOffset, 1)

typedef struct {
        unsigned int version;
        unsigned int fan;
        unsigned int speed;
} nvmlFanSpeedInfo_v1_t;
typedef nvmlFanSpeedInfo_v1_t nvmlFanSpeedInfo_t;
#define nvmlFanSpeedInfo_v1 NVML_STRUCT_VERSION(FanSpeedInfo, 1)

typedef struct {
        unsigned int version;
        char str[2048];
} nvmlDevicePerfModes_v1_t;
typedef nvmlDevicePerfModes_v1_t nvmlDevicePerfModes_t;
#define nvmlDevicePerfModes_v1 NVML_STRUCT_VERSION(DevicePerfModes, 1)

typedef struct {
        unsigned int version;
        char str[2048];
} nvmlDeviceCurrentClockFreqs_v1_t;
typedef nvmlDeviceCurrentClockFreqs_v1_t nvmlDeviceCurrentClockFreqs_t;
#define nvmlDeviceCurrentClockFreqs_v1 NVML_STRUCT_VERSION(DeviceCurrentClockFreqs, 1)

typedef struct {
        unsigned int currentMode;
        unsigned int mode;
        unsigned int supportedPowerMizerModes;
} nvmlDevicePowerMizerModes_v1_t;

typedef enum nvmlGom_enum {
        NVML_GOM_ALL_ON = 0,
        NVML_GOM_COMPUTE = 1,
        NVML_GOM_LOW_DP = 2,
} nvmlGpuOperationMode_t;

typedef unsigned int nvmlFanControlPolicy_t;
typedef unsigned int nvmlPowerSource_t;
typedef unsigned char nvmlPowerScopeType_t;

typedef struct {
        unsigned int version;
        nvmlPowerScopeType_t powerScope;
        unsigned int powerValueMw;
} nvmlPowerValue_v2_t;
#define nvmlPowerValue_v2 NVML_STRUCT_VERSION(PowerValue, 2)

typedef enum nvmlDeviceGpuRecoveryAction_s {
        NVML_GPU_RECOVERY_ACTION_NONE = 0,
        NVML_GPU_RECOVERY_ACTION_GPU_RESET = 1,
        NVML_GPU_RECOVERY_ACTION_NODE_REBOOT = 2,
        NVML_GPU_RECOVERY_ACTION_DRAIN_P2P = 3,
        NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET = 4,
} nvmlDeviceGpuRecoveryAction_t;

typedef struct {
        unsigned int version;
        nvmlTemperatureSensors_t sensorType;
        int temperature;
} nvmlTemperature_v1_t;
typedef nvmlTemperature_v1_t nvmlTemperature_t;
#define nvmlTemperature_v1 NVML_STRUCT_VERSION(Temperature, 1)

__extension__ typedef enum nvmlClockLimitId_enum {
        NVML_CLOCK_LIMIT_ID_RANGE_START = 0xffffff00,
        NVML_CLOCK_LIMIT_ID_TDP = 0xffffff01,
        NVML_CLOCK_LIMIT_ID_UNLIMITED = 0xffffff02,
} nvmlClockLimitId_t;

typedef struct {
        unsigned int mask[8];
} nvmlMask255_t;

typedef enum {
        NVML_POWER_PROFILE_MAX_P = 0,
        NVML_POWER_PROFILE_MAX_Q = 1,
        NVML_POWER_PROFILE_COMPUTE = 2,
        NVML_POWER_PROFILE_MEMORY_BOUND = 3,
        NVML_POWER_PROFILE_NETWORK = 4,
        NVML_POWER_PROFILE_BALANCED = 5,
        NVML_POWER_PROFILE_LLM_INFERENCE = 6,
        NVML_POWER_PROFILE_LLM_TRAINING = 7,
        NVML_POWER_PROFILE_RBM = 8,
        NVML_POWER_PROFILE_DCPCIE = 9,
        NVML_POWER_PROFILE_HMMA_SPARSE = 10,
        NVML_POWER_PROFILE_HMMA_DENSE = 11,
        NVML_POWER_PROFILE_SYNC_BALANCED = 12,
        NVML_POWER_PROFILE_HPC = 13,
        NVML_POWER_PROFILE_MIG = 14,
        NVML_POWER_PROFILE_MAX = 15,
} nvmlPowerProfileType_t;

typedef struct {
        unsigned int version;
        unsigned int profileId;
        unsigned int priority;
        nvmlMask255_t conflictingMask;
} nvmlWorkloadPowerProfileInfo_v1_t;
typedef nvmlWorkloadPowerProfileInfo_v1_t nvmlWorkloadPowerProfileInfo_t;
#define nvmlWorkloadPowerProfileInfo_v1 NVML_STRUCT_VERSION(WorkloadPowerProfileInfo, 1)

typedef struct {
        unsigned int version;
        nvmlMask255_t perfProfilesMask;
        nvmlWorkloadPowerProfileInfo_t perfProfile[255];
} nvmlWorkloadPowerProfileProfilesInfo_v1_t;
typedef nvmlWorkloadPowerProfileProfilesInfo_v1_t nvmlWorkloadPowerProfileProfilesInfo_t;
#define nvmlWorkloadPowerProfileProfilesInfo_v1 \
        NVML_STRUCT_VERSION(WorkloadPowerProfileProfilesInfo, 1)

typedef struct {
        unsigned int version;
        nvmlMask255_t perfProfilesMask;
        nvmlMask255_t requestedProfilesMask;
        nvmlMask255_t enforcedProfilesMask;
} nvmlWorkloadPowerProfileCurrentProfiles_v1_t;
typedef nvmlWorkloadPowerProfileCurrentProfiles_v1_t nvmlWorkloadPowerProfileCurrentProfiles_t;
#define nvmlWorkloadPowerProfileCurrentProfiles_v1 \
        NVML_STRUCT_VERSION(WorkloadPowerProfileCurrentProfiles, 1)

typedef struct {
        unsigned int version;
        nvmlMask255_t requestedProfilesMask;
} nvmlWorkloadPowerProfileRequestedProfiles_v1_t;
typedef nvmlWorkloadPowerProfileRequestedProfiles_v1_t nvmlWorkloadPowerProfileRequestedProfiles_t;
#define nvmlWorkloadPowerProfileRequestedProfiles_v1 \
        NVML_STRUCT_VERSION(WorkloadPowerProfileRequestedProfiles, 1)

typedef struct {
        unsigned int version;
        unsigned int profileId;
        unsigned int paramId;
        double value;
} nvmlPowerSmoothingProfile_v1_t;
typedef nvmlPowerSmoothingProfile_v1_t nvmlPowerSmoothingProfile_t;
#define nvmlPowerSmoothingProfile_v1 NVML_STRUCT_VERSION(PowerSmoothingProfile, 1)

typedef struct {
        unsigned int version;
        nvmlEnableState_t state;
} nvmlPowerSmoothingState_v1_t;
typedef nvmlPowerSmoothingState_v1_t nvmlPowerSmoothingState_t;
#define nvmlPowerSmoothingState_v1 NVML_STRUCT_VERSION(PowerSmoothingState, 1)

/* NVLink, topology, fabric, C2C. */

#define NVML_NVLINK_MAX_LINKS 18
#define NVML_TOPOLOGY_CPU NVML_TOPOLOGY_NODE
#define NVML_NVLINK_LOW_POWER_THRESHOLD_UNIT_100US 0x0
#define NVML_NVLINK_LOW_POWER_THRESHOLD_UNIT_50US 0x1
#define NVML_NVLINK_POWER_STATE_HIGH_SPEED 0x0
#define NVML_NVLINK_POWER_STATE_LOW 0x1
#define NVML_NVLINK_LOW_POWER_THRESHOLD_MIN 0x1
#define NVML_NVLINK_LOW_POWER_THRESHOLD_MAX 0x1fff
#define NVML_NVLINK_LOW_POWER_THRESHOLD_RESET 0xffffffff
#define NVML_NVLINK_LOW_POWER_THRESHOLD_DEFAULT NVML_NVLINK_LOW_POWER_THRESHOLD_RESET
#define NVML_C2C_POWER_STATE_FULL_POWER 0
#define NVML_C2C_POWER_STATE_LOW_POWER 1
#define NVML_GPU_FABRIC_UUID_LEN 16
#define NVML_GPU_FABRIC_STATE_NOT_SUPPORTED 0
#define NVML_GPU_FABRIC_STATE_NOT_STARTED 1
#define NVML_GPU_FABRIC_STATE_IN_PROGRESS 2
#define NVML_GPU_FABRIC_STATE_COMPLETED 3
#define NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_NOT_SUPPORTED 0
#define NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_TRUE 1
#define NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_FALSE 2
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW 0
#define NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_DEGRADED_BW 0x3
#define NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_RECOVERY_NOT_SUPPORTED 0
#define NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_RECOVERY_TRUE 1
#define NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_RECOVERY_FALSE 2
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_RECOVERY 2
#define NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_ROUTE_RECOVERY 0x3
#define NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_UNHEALTHY_NOT_SUPPORTED 0
#define NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_UNHEALTHY_TRUE 1
#define NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_UNHEALTHY_FALSE 2
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY 4
#define NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_ROUTE_UNHEALTHY 0x3
#define NVML_GPU_FABRIC_HEALTH_MASK_ACCESS_TIMEOUT_RECOVERY_NOT_SUPPORTED 0
#define NVML_GPU_FABRIC_HEALTH_MASK_ACCESS_TIMEOUT_RECOVERY_TRUE 1
#define NVML_GPU_FABRIC_HEALTH_MASK_ACCESS_TIMEOUT_RECOVERY_FALSE 2
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY 6
#define NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_ACCESS_TIMEOUT_RECOVERY 0x3
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NOT_SUPPORTED 0
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NONE 1
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCORRECT_SYSGUID 2
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCORRECT_CHASSIS_SN 3
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NO_PARTITION 4
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INSUFFICIENT_NVLINKS 5
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCOMPATIBLE_GPU_FW 6
#define NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INVALID_LOCATION 7
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION 8
#define NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_INCORRECT_CONFIGURATION 0xf
#define NVML_GPU_FABRIC_HEALTH_SUMMARY_NOT_SUPPORTED 0
#define NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY 1
#define NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY 2
#define NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY 3
#define NVML_AFFINITY_SCOPE_NODE 0
#define NVML_AFFINITY_SCOPE_SOCKET 1
#define NVML_NVLINK_BER_MANTISSA_SHIFT 8
#define NVML_NVLINK_BER_MANTISSA_WIDTH 0xf
#define NVML_NVLINK_BER_EXP_SHIFT 0
#define NVML_NVLINK_BER_EXP_WIDTH 0xff
#define NVML_NVLINK_STATE_INACTIVE 0x0
#define NVML_NVLINK_STATE_ACTIVE 0x1
#define NVML_NVLINK_STATE_SLEEP 0x2
#define NVML_NVLINK_TOTAL_SUPPORTED_BW_MODES 23
#define NVML_NVLINK_FIRMWARE_UCODE_TYPE_MSE 0x1
#define NVML_NVLINK_FIRMWARE_UCODE_TYPE_NETIR 0x2
#define NVML_NVLINK_FIRMWARE_UCODE_TYPE_NETIR_UPHY 0x3
#define NVML_NVLINK_FIRMWARE_UCODE_TYPE_NETIR_CLN 0x4
#define NVML_NVLINK_FIRMWARE_UCODE_TYPE_NETIR_DLN 0x5
#define NVML_NVLINK_FIRMWARE_VERSION_LENGTH 100

typedef struct {
        unsigned int isC2cEnabled;
} nvmlC2cModeInfo_v1_t;
#define nvmlC2cModeInfo_v1 NVML_STRUCT_VERSION(C2cModeInfo, 1)

typedef enum nvmlNvLinkUtilizationCountUnits_enum {
        NVML_NVLINK_COUNTER_UNIT_CYCLES = 0,
        NVML_NVLINK_COUNTER_UNIT_PACKETS = 1,
        NVML_NVLINK_COUNTER_UNIT_BYTES = 2,
        NVML_NVLINK_COUNTER_UNIT_RESERVED = 3,
        NVML_NVLINK_COUNTER_UNIT_COUNT = 4,
} nvmlNvLinkUtilizationCountUnits_t;

typedef enum nvmlNvLinkUtilizationCountPktTypes_enum {
        NVML_NVLINK_COUNTER_PKTFILTER_NOP = 0x1,
        NVML_NVLINK_COUNTER_PKTFILTER_READ = 0x2,
        NVML_NVLINK_COUNTER_PKTFILTER_WRITE = 0x4,
        NVML_NVLINK_COUNTER_PKTFILTER_RATOM = 0x8,
        NVML_NVLINK_COUNTER_PKTFILTER_NRATOM = 0x10,
        NVML_NVLINK_COUNTER_PKTFILTER_FLUSH = 0x20,
        NVML_NVLINK_COUNTER_PKTFILTER_RESPDATA = 0x40,
        NVML_NVLINK_COUNTER_PKTFILTER_RESPNODATA = 0x80,
        NVML_NVLINK_COUNTER_PKTFILTER_ALL = 0xff,
} nvmlNvLinkUtilizationCountPktTypes_t;

typedef struct nvmlNvLinkUtilizationControl_st {
        nvmlNvLinkUtilizationCountUnits_t units;
        nvmlNvLinkUtilizationCountPktTypes_t pktfilter;
} nvmlNvLinkUtilizationControl_t;

typedef enum nvmlNvLinkCapability_enum {
        NVML_NVLINK_CAP_P2P_SUPPORTED = 0,
        NVML_NVLINK_CAP_SYSMEM_ACCESS = 1,
        NVML_NVLINK_CAP_P2P_ATOMICS = 2,
        NVML_NVLINK_CAP_SYSMEM_ATOMICS = 3,
        NVML_NVLINK_CAP_SLI_BRIDGE = 4,
        NVML_NVLINK_CAP_VALID = 5,
        NVML_NVLINK_CAP_COUNT = 6,
} nvmlNvLinkCapability_t;

typedef enum nvmlNvLinkErrorCounter_enum {
        NVML_NVLINK_ERROR_DL_REPLAY = 0,
        NVML_NVLINK_ERROR_DL_RECOVERY = 1,
        NVML_NVLINK_ERROR_DL_CRC_FLIT = 2,
        NVML_NVLINK_ERROR_DL_CRC_DATA = 3,
        NVML_NVLINK_ERROR_DL_ECC_DATA = 4,
        NVML_NVLINK_ERROR_COUNT = 5,
} nvmlNvLinkErrorCounter_t;

typedef enum nvmlIntNvLinkDeviceType_enum {
        NVML_NVLINK_DEVICE_TYPE_GPU = 0x0,
        NVML_NVLINK_DEVICE_TYPE_IBMNPU = 0x1,
        NVML_NVLINK_DEVICE_TYPE_SWITCH = 0x2,
        NVML_NVLINK_DEVICE_TYPE_UNKNOWN = 0xff,
} nvmlIntNvLinkDeviceType_t;

typedef enum nvmlGpuLevel_enum {
        NVML_TOPOLOGY_INTERNAL = 0,
        NVML_TOPOLOGY_SINGLE = 10,
        NVML_TOPOLOGY_MULTIPLE = 20,
        NVML_TOPOLOGY_HOSTBRIDGE = 30,
        NVML_TOPOLOGY_NODE = 40,
        NVML_TOPOLOGY_SYSTEM = 50,
} nvmlGpuTopologyLevel_t;

typedef enum nvmlGpuP2PStatus_enum {
        NVML_P2P_STATUS_OK = 0,
        NVML_P2P_STATUS_CHIPSET_NOT_SUPPORED = 1,
        NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED = 1,
        NVML_P2P_STATUS_GPU_NOT_SUPPORTED = 2,
        NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED = 3,
        NVML_P2P_STATUS_DISABLED_BY_REGKEY = 4,
        NVML_P2P_STATUS_NOT_SUPPORTED = 5,
        NVML_P2P_STATUS_UNKNOWN = 6,
} nvmlGpuP2PStatus_t;

typedef enum nvmlGpuP2PCapsIndex_enum {
        NVML_P2P_CAPS_INDEX_READ = 0,
        NVML_P2P_CAPS_INDEX_WRITE = 1,
        NVML_P2P_CAPS_INDEX_NVLINK = 2,
        NVML_P2P_CAPS_INDEX_ATOMICS = 3,
        NVML_P2P_CAPS_INDEX_PCI = 4,
        NVML_P2P_CAPS_INDEX_PROP = 4,
        NVML_P2P_CAPS_INDEX_UNKNOWN = 5,
} nvmlGpuP2PCapsIndex_t;

typedef enum nvmlNvlinkVersion_enum {
        NVML_NVLINK_VERSION_INVALID = 0,
        NVML_NVLINK_VERSION_1_0 = 1,
        NVML_NVLINK_VERSION_2_0 = 2,
        NVML_NVLINK_VERSION_2_2 = 3,
        NVML_NVLINK_VERSION_3_0 = 4,
        NVML_NVLINK_VERSION_3_1 = 5,
        NVML_NVLINK_VERSION_4_0 = 6,
        NVML_NVLINK_VERSION_5_0 = 7,
} nvmlNvlinkVersion_t;

typedef struct nvmlNvLinkPowerThres_st {
        unsigned int lowPwrThreshold;
} nvmlNvLinkPowerThres_t;

typedef unsigned char nvmlGpuFabricState_t;

typedef struct {
        unsigned char clusterUuid[16];
        nvmlReturn_t status;
        unsigned int cliqueId;
        nvmlGpuFabricState_t state;
} nvmlGpuFabricInfo_t;

typedef struct {
        unsigned int version;
        unsigned char clusterUuid[16];
        nvmlReturn_t status;
        unsigned int cliqueId;
        nvmlGpuFabricState_t state;
        unsigned int healthMask;
} nvmlGpuFabricInfo_v2_t;
#define nvmlGpuFabricInfo_v2 NVML_STRUCT_VERSION(GpuFabricInfo, 2)

typedef struct {
        unsigned int version;
        unsigned char clusterUuid[16];
        nvmlReturn_t status;
        unsigned int cliqueId;
        nvmlGpuFabricState_t state;
        unsigned int healthMask;
        unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;
typedef nvmlGpuFabricInfo_v3_t nvmlGpuFabricInfoV_t;
#define nvmlGpuFabricInfo_v3 NVML_STRUCT_VERSION(GpuFabricInfo, 3)

typedef unsigned int nvmlAffinityScope_t;

typedef struct {
        unsigned int version;
        unsigned char bwModes[23];
        unsigned char totalBwModes;
} nvmlNvlinkSupportedBwModes_v1_t;
typedef nvmlNvlinkSupportedBwModes_v1_t nvmlNvlinkSupportedBwModes_t;
#define nvmlNvlinkSupportedBwModes_v1 NVML_STRUCT_VERSION(NvlinkSupportedBwModes, 1)

typedef struct {
        unsigned int version;
        unsigned int bIsBest;
        unsigned char bwMode;
} nvmlNvlinkGetBwMode_v1_t;
typedef nvmlNvlinkGetBwMode_v1_t nvmlNvlinkGetBwMode_t;
#define nvmlNvlinkGetBwMode_v1 NVML_STRUCT_VERSION(NvlinkGetBwMode, 1)

typedef struct {
        unsigned int version;
        unsigned int bSetBest;
        unsigned char bwMode;
} nvmlNvlinkSetBwMode_v1_t;
typedef nvmlNvlinkSetBwMode_v1_t nvmlNvlinkSetBwMode_t;
#define nvmlNvlinkSetBwMode_v1 NVML_STRUCT_VERSION(NvlinkSetBwMode, 1)

typedef struct {
        unsigned int version;
        unsigned int isNvleEnabled;
} nvmlNvLinkInfo_v1_t;
#define nvmlNvLinkInfo_v1 NVML_STRUCT_VERSION(NvLinkInfo, 1)

typedef struct {
        unsigned char ucodeType;
        unsigned int major;
        unsigned int minor;
        unsigned int subMinor;
} nvmlNvlinkFirmwareVersion_t;

typedef struct {
        nvmlNvlinkFirmwareVersion_t firmwareVersion[100];
        unsigned int numValidEntries;
} nvmlNvlinkFirmwareInfo_t;

typedef struct {
        unsigned int version;
        unsigned int isNvleEnabled;
        nvmlNvlinkFirmwareInfo_t firmwareInfo;
} nvmlNvLinkInfo_v2_t;
typedef nvmlNvLinkInfo_v2_t nvmlNvLinkInfo_t;
#define nvmlNvLinkInfo_v2 NVML_STRUCT_VERSION(NvLinkInfo, 2)

/* Events. */

#define nvmlEventTypeNone 0x0ll
#define nvmlEventTypeSingleBitEccError 0x1ll
#define nvmlEventTypeDoubleBitEccError 0x2ll
#define nvmlEventTypePState 0x4ll
#define nvmlEventTypeXidCriticalError 0x8ll
#define nvmlEventTypeClock 0x10ll
#define nvmlEventTypePowerSourceChange 0x80ll
#define nvmlEventMigConfigChange 0x100ll
#define nvmlEventTypeSingleBitEccErrorStorm 0x200ll
#define nvmlEventTypeDramRetirementEvent 0x400ll
#define nvmlEventTypeDramRetirementFailure 0x800ll
#define nvmlEventTypeNonFatalPoisonError 0x1000ll
#define nvmlEventTypeFatalPoisonError 0x2000ll
#define nvmlEventTypeGpuUnavailableError 0x4000ll
#define nvmlEventTypeGpuRecoveryAction 0x8000ll
#define nvmlEventTypeAll                                                                       \
        (nvmlEventTypeNone | nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError | \
         nvmlEventTypePState | nvmlEventTypeClock | nvmlEventTypeXidCriticalError |            \
         nvmlEventTypePowerSourceChange | nvmlEventMigConfigChange |                           \
         nvmlEventTypeSingleBitEccErrorStorm | nvmlEventTypeDramRetirementEvent |              \
         nvmlEventTypeDramRetirementFailure | nvmlEventTypeNonFatalPoisonError |               \
         nvmlEventTypeFatalPoisonError | nvmlEventTypeGpuUnavailableError |                    \
         nvmlEventTypeGpuRecoveryAction)
#define nvmlSystemEventTypeGpuDriverUnbind 0x1ll
#define nvmlSystemEventTypeGpuDriverBind 0x2ll
#define nvmlSystemEventTypeCount 2

typedef struct nvmlEventData_st {
        nvmlDevice_t device;
        unsigned long long eventType;
        unsigned long long eventData;
        unsigned int gpuInstanceId;
        unsigned int computeInstanceId;
} nvmlEventData_t;

typedef struct {
        unsigned int version;
        nvmlSystemEventSet_t set;
} nvmlSystemEventSetCreateRequest_v1_t;
typedef nvmlSystemEventSetCreateRequest_v1_t nvmlSystemEventSetCreateRequest_t;
#define nvmlSystemEventSetCreateRequest_v1 NVML_STRUCT_VERSION(SystemEventSetCreateRequest, 1)

typedef struct {
        unsigned int version;
        nvmlSystemEventSet_t set;
} nvmlSystemEventSetFreeRequest_v1_t;
typedef nvmlSystemEventSetFreeRequest_v1_t nvmlSystemEventSetFreeRequest_t;
#define nvmlSystemEventSetFreeRequest_v1 NVML_STRUCT_VERSION(SystemEventSetFreeRequest, 1)

typedef struct {
        unsigned int version;
        unsigned long long eventTypes;
        nvmlSystemEventSet_t set;
} nvmlSystemRegisterEventRequest_v1_t;
typedef nvmlSystemRegisterEventRequest_v1_t nvmlSystemRegisterEventRequest_t;
#define nvmlSystemRegisterEventRequest_v1 NVML_STRUCT_VERSION(SystemRegisterEventRequest, 1)

typedef struct {
        unsigned long long eventType;
        unsigned int gpuId;
} nvmlSystemEventData_v1_t;

typedef struct {
        unsigned int version;
        unsigned int timeoutms;
        nvmlSystemEventSet_t set;
        nvmlSystemEventData_v1_t *data;
        unsigned int dataSize;
        unsigned int numEvent;
} nvmlSystemEventSetWaitRequest_v1_t;
typedef nvmlSystemEventSetWaitRequest_v1_t nvmlSystemEventSetWaitRequest_t;
#define nvmlSystemEventSetWaitRequest_v1 NVML_STRUCT_VERSION(SystemEventSetWaitRequest, 1)

/* Instances of a divided GPU (MIG). */

#define INVALID_GPU_INSTANCE_PROFILE_ID 0xffffffff
#define INVALID_GPU_INSTANCE_ID 0xffffffff
#define NVML_DEVICE_MIG_DISABLE 0x0
#define NVML_DEVICE_MIG_ENABLE 0x1
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE 0x0
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE 0x1
#define NVML_GPU_INSTANCE_PROFILE_3_SLICE 0x2
#define NVML_GPU_INSTANCE_PROFILE_4_SLICE 0x3
#define NVML_GPU_INSTANCE_PROFILE_7_SLICE 0x4
#define NVML_GPU_INSTANCE_PROFILE_8_SLICE 0x5
#define NVML_GPU_INSTANCE_PROFILE_6_SLICE 0x6
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1 0x7
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1 0x8
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2 0x9
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX 0xa
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX 0xb
#define NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX 0xc
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME 0xd
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME 0xe
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME 0xf
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME 0x10
#define NVML_GPU_INSTANCE_PROFILE_COUNT 0x11
#define NVML_GPU_INSTANCE_PROFILE_CAPS_P2P 0x1
#define NVML_GPU_INTSTANCE_PROFILE_CAPS_P2P 0x1
#define NVML_GPU_INSTANCE_PROFILE_CAPS_GFX 0x2
#define NVML_COMPUTE_INSTANCE_PROFILE_CAPS_GFX 0x1
#define NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE 0x0
#define NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE 0x1
#define NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE 0x2
#define NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE 0x3
#define NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE 0x4
#define NVML_COMPUTE_INSTANCE_PROFILE_8_SLICE 0x5
#define NVML_COMPUTE_INSTANCE_PROFILE_6_SLICE 0x6
#define NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1 0x7
#define NVML_COMPUTE_INSTANCE_PROFILE_COUNT 0x8
#define NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED 0x0
#define NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT 0x1

typedef struct nvmlGpuInstancePlacement_st {
        unsigned int start;
        unsigned int size;
} nvmlGpuInstancePlacement_t;

typedef struct nvmlGpuInstanceProfileInfo_st {
        unsigned int id;
        unsigned int isP2pSupported;
        unsigned int sliceCount;
        unsigned int instanceCount;
        unsigned int multiprocessorCount;
        unsigned int copyEngineCount;
        unsigned int decoderCount;
        unsigned int encoderCount;
        unsigned int jpegCount;
        unsigned int ofaCount;
        unsigned long long memorySizeMB;
} nvmlGpuInstanceProfileInfo_t;

typedef struct nvmlGpuInstanceProfileInfo_v2_st {
        unsigned int version;
        unsigned int id;
        unsigned int isP2pSupported;
        unsigned int sliceCount;
        unsigned int instanceCount;
        unsigned int multiprocessorCount;
        unsigned int copyEngineCount;
        unsigned int decoderCount;
        unsigned int encoderCount;
        unsigned int jpegCount;
        unsigned int ofaCount;
        unsigned long long memorySizeMB;
        char name[96];
} nvmlGpuInstanceProfileInfo_v2_t;
#define nvmlGpuInstanceProfileInfo_v2 NVML_STRUCT_VERSION(GpuInstanceProfileInfo, 2)

typedef struct nvmlGpuInstanceProfileInfo_v3_st {
        unsigned int version;
        unsigned int id;
        unsigned int sliceCount;
        unsigned int instanceCount;
        unsigned int multiprocessorCount;
        unsigned int copyEngineCount;
        unsigned int decoderCount;
        unsigned int encoderCount;
        unsigned int jpegCount;
        unsigned int ofaCount;
        unsigned long long memorySizeMB;
        char name[96];
        unsigned int capabilities;
} nvmlGpuInstanceProfileInfo_v3_t;
#define nvmlGpuInstanceProfileInfo_v3 NVML_STRUCT_VERSION(GpuInstanceProfileInfo, 3)

typedef struct nvmlGpuInstanceInfo_st {
        nvmlDevice_t device;
        unsigned int id;
        unsigned int profileId;
        nvmlGpuInstancePlacement_t placement;
} nvmlGpuInstanceInfo_t;

typedef struct nvmlComputeInstancePlacement_st {
        unsigned int start;
        unsigned int size;
} nvmlComputeInstancePlacement_t;

typedef struct nvmlComputeInstanceProfileInfo_st {
        unsigned int id;
        unsigned int sliceCount;
        unsigned int instanceCount;
        unsigned int multiprocessorCount;
        unsigned int sharedCopyEngineCount;
        unsigned int sharedDecoderCount;
        unsigned int sharedEncoderCount;
        unsigned int sharedJpegCount;
        unsigned int sharedOfaCount;
} nvmlComputeInstanceProfileInfo_t;

typedef struct nvmlComputeInstanceProfileInfo_v2_st {
        unsigned int version;
        unsigned int id;
        unsigned int sliceCount;
        unsigned int instanceCount;
        unsigned int multiprocessorCount;
        unsigned int sharedCopyEngineCount;
        unsigned int sharedDecoderCount;
        unsigned int sharedEncoderCount;
        unsigned int sharedJpegCount;
        unsigned int sharedOfaCount;
        char name[96];
} nvmlComputeInstanceProfileInfo_v2_t;
#define nvmlComputeInstanceProfileInfo_v2 NVML_STRUCT_VERSION(ComputeInstanceProfileInfo, 2)

typedef struct nvmlComputeInstanceProfileInfo_v3_st {
        unsigned int version;
        unsigned int id;
        unsigned int sliceCount;
        unsigned int instanceCount;
        unsigned int multiprocessorCount;
        unsigned int sharedCopyEngineCount;
        unsigned int sharedDecoderCount;
        unsigned int sharedEncoderCount;
        unsigned int sharedJpegCount;
        unsigned int sharedOfaCount;
        char name[96];
        unsigned int capabilities;
} nvmlComputeInstanceProfileInfo_v3_t;
#define nvmlComputeInstanceProfileInfo_v3 NVML_STRUCT_VERSION(ComputeInstanceProfileInfo, 3)

typedef struct nvmlComputeInstanceInfo_st {
        nvmlDevice_t device;
        nvmlGpuInstance_t gpuInstance;
        unsigned int id;
        unsigned int profileId;
        nvmlComputeInstancePlacement_t placement;
} nvmlComputeInstanceInfo_t;

/* Virtual GPUs and their licences. */

#define NVML_GRID_LICENSE_EXPIRY_NOT_AVAILABLE 0
#define NVML_GRID_LICENSE_EXPIRY_INVALID 1
#define NVML_GRID_LICENSE_EXPIRY_VALID 2
#define NVML_GRID_LICENSE_EXPIRY_NOT_APPLICABLE 3
#define NVML_GRID_LICENSE_EXPIRY_PERMANENT 4
#define NVML_GRID_LICENSE_FEATURE_MAX_COUNT 3
#define NVML_INVALID_VGPU_PLACEMENT_ID 0xffff
#define NVML_VGPU_VIRTUALIZATION_CAP_MIGRATION_NO 0x0
#define NVML_VGPU_VIRTUALIZATION_CAP_MIGRATION_YES 0x1
#define NVML_VGPU_PGPU_VIRTUALIZATION_CAP_MIGRATION_NO 0x0
#define NVML_VGPU_PGPU_VIRTUALIZATION_CAP_MIGRATION_YES 0x1
#define NVML_VGPU_PGPU_HETEROGENEOUS_MODE 0
#define NVML_VGPU_PGPU_HOMOGENEOUS_MODE 1
#define NVML_VGPU_SCHEDULER_POLICY_UNKNOWN 0
#define NVML_VGPU_SCHEDULER_POLICY_BEST_EFFORT 1
#define NVML_VGPU_SCHEDULER_POLICY_EQUAL_SHARE 2
#define NVML_VGPU_SCHEDULER_POLICY_FIXED_SHARE 3
#define NVML_SUPPORTED_VGPU_SCHEDULER_POLICY_COUNT 3
#define NVML_SCHEDULER_SW_MAX_LOG_ENTRIES 200
#define NVML_VGPU_SCHEDULER_ARR_DEFAULT 0
#define NVML_VGPU_SCHEDULER_ARR_DISABLE 1
#define NVML_VGPU_SCHEDULER_ARR_ENABLE 2
#define NVML_VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS 1
#define NVML_GRID_LICENSE_STATE_UNKNOWN 0
#define NVML_GRID_LICENSE_STATE_UNINITIALIZED 1
#define NVML_GRID_LICENSE_STATE_UNLICENSED_UNRESTRICTED 2
#define NVML_GRID_LICENSE_STATE_UNLICENSED_RESTRICTED 3
#define NVML_GRID_LICENSE_STATE_UNLICENSED 4
#define NVML_GRID_LICENSE_STATE_LICENSED 5

typedef enum nvmlGpuVirtualizationMode {
        NVML_GPU_VIRTUALIZATION_MODE_NONE = 0,
        NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH = 1,
        NVML_GPU_VIRTUALIZATION_MODE_VGPU = 2,
        NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU = 3,
        NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA = 4,
} nvmlGpuVirtualizationMode_t;

typedef enum nvmlHostVgpuMode_enum {
        NVML_HOST_VGPU_MODE_NON_SRIOV = 0,
        NVML_HOST_VGPU_MODE_SRIOV = 1,
} nvmlHostVgpuMode_t;

typedef enum nvmlVgpuVmIdType {
        NVML_VGPU_VM_ID_DOMAIN_ID = 0,
        NVML_VGPU_VM_ID_UUID = 1,
} nvmlVgpuVmIdType_t;

typedef enum nvmlVgpuGuestInfoState_enum {
        NVML_VGPU_INSTANCE_GUEST_INFO_STATE_UNINITIALIZED = 0,
        NVML_VGPU_INSTANCE_GUEST_INFO_STATE_INITIALIZED = 1,
} nvmlVgpuGuestInfoState_t;

typedef enum {
        NVML_GRID_LICENSE_FEATURE_CODE_UNKNOWN = 0,
        NVML_GRID_LICENSE_FEATURE_CODE_VGPU = 1,
        NVML_GRID_LICENSE_FEATURE_CODE_NVIDIA_RTX = 2,
        NVML_GRID_LICENSE_FEATURE_CODE_VWORKSTATION = 2,
        NVML_GRID_LICENSE_FEATURE_CODE_GAMING = 3,
        NVML_GRID_LICENSE_FEATURE_CODE_COMPUTE = 4,
} nvmlGridLicenseFeatureCode_t;

typedef enum nvmlVgpuCapability_enum {
        NVML_VGPU_CAP_NVLINK_P2P = 0,
        NVML_VGPU_CAP_GPUDIRECT = 1,
        NVML_VGPU_CAP_MULTI_VGPU_EXCLUSIVE = 2,
        NVML_VGPU_CAP_EXCLUSIVE_TYPE = 3,
        NVML_VGPU_CAP_EXCLUSIVE_SIZE = 4,
        NVML_VGPU_CAP_COUNT = 5,
} nvmlVgpuCapability_t;

typedef enum nvmlVgpuDriverCapability_enum {
        NVML_VGPU_DRIVER_CAP_HETEROGENEOUS_MULTI_VGPU = 0,
        NVML_VGPU_DRIVER_CAP_WARM_UPDATE = 1,
        NVML_VGPU_DRIVER_CAP_COUNT = 2,
} nvmlVgpuDriverCapability_t;

typedef enum nvmlDeviceVgpuCapability_enum {
        NVML_DEVICE_VGPU_CAP_FRACTIONAL_MULTI_VGPU = 0,
        NVML_DEVICE_VGPU_CAP_HETEROGENEOUS_TIMESLICE_PROFILES = 1,
        NVML_DEVICE_VGPU_CAP_HETEROGENEOUS_TIMESLICE_SIZES = 2,
        NVML_DEVICE_VGPU_CAP_READ_DEVICE_BUFFER_BW = 3,
        NVML_DEVICE_VGPU_CAP_WRITE_DEVICE_BUFFER_BW = 4,
        NVML_DEVICE_VGPU_CAP_DEVICE_STREAMING = 5,
        NVML_DEVICE_VGPU_CAP_MINI_QUARTER_GPU = 6,
        NVML_DEVICE_VGPU_CAP_COMPUTE_MEDIA_ENGINE_GPU = 7,
        NVML_DEVICE_VGPU_CAP_WARM_UPDATE = 8,
        NVML_DEVICE_VGPU_CAP_HOMOGENEOUS_PLACEMENTS = 9,
        NVML_DEVICE_VGPU_CAP_MIG_TIMESLICING_SUPPORTED = 10,
        NVML_DEVICE_VGPU_CAP_MIG_TIMESLICING_ENABLED = 11,
        NVML_DEVICE_VGPU_CAP_COUNT = 12,
} nvmlDeviceVgpuCapability_t;

typedef unsigned int nvmlVgpuTypeId_t;
typedef unsigned int nvmlVgpuInstance_t;

typedef struct {
        unsigned int version;
        unsigned int mode;
} nvmlVgpuHeterogeneousMode_v1_t;
typedef nvmlVgpuHeterogeneousMode_v1_t nvmlVgpuHeterogeneousMode_t;
#define nvmlVgpuHeterogeneousMode_v1 NVML_STRUCT_VERSION(VgpuHeterogeneousMode, 1)

typedef struct {
        unsigned int version;
        unsigned int placementId;
} nvmlVgpuPlacementId_v1_t;
typedef nvmlVgpuPlacementId_v1_t nvmlVgpuPlacementId_t;
#define nvmlVgpuPlacementId_v1 NVML_STRUCT_VERSION(VgpuPlacementId, 1)

typedef struct {
        unsigned int version;
        unsigned int placementSize;
        unsigned int count;
        unsigned int *placementIds;
} nvmlVgpuPlacementList_v1_t;
#define nvmlVgpuPlacementList_v1 NVML_STRUCT_VERSION(VgpuPlacementList, 1)

typedef struct {
        unsigned int version;
        unsigned int placementSize;
        unsigned int count;
        unsigned int *placementIds;
        unsigned int mode;
} nvmlVgpuPlacementList_v2_t;
typedef nvmlVgpuPlacementList_v2_t nvmlVgpuPlacementList_t;
#define nvmlVgpuPlacementList_v2 NVML_STRUCT_VERSION(VgpuPlacementList, 2)

typedef struct {
        unsigned int version;
        unsigned long long bar1Size;
} nvmlVgpuTypeBar1Info_v1_t;
typedef nvmlVgpuTypeBar1Info_v1_t nvmlVgpuTypeBar1Info_t;
#define nvmlVgpuTypeBar1Info_v1 NVML_STRUCT_VERSION(VgpuTypeBar1Info, 1)

typedef struct nvmlVgpuInstanceUtilizationSample_st {
        nvmlVgpuInstance_t vgpuInstance;
        unsigned long long timeStamp;
        nvmlValue_t smUtil;
        nvmlValue_t memUtil;
        nvmlValue_t encUtil;
        nvmlValue_t decUtil;
} nvmlVgpuInstanceUtilizationSample_t;

typedef struct {
        unsigned long long timeStamp;
        nvmlVgpuInstance_t vgpuInstance;
        nvmlValue_t smUtil;
        nvmlValue_t memUtil;
        nvmlValue_t encUtil;
        nvmlValue_t decUtil;
        nvmlValue_t jpgUtil;
        nvmlValue_t ofaUtil;
} nvmlVgpuInstanceUtilizationInfo_v1_t;

typedef struct {
        unsigned int version;
        nvmlValueType_t sampleValType;
        unsigned int vgpuInstanceCount;
        unsigned long long lastSeenTimeStamp;
        nvmlVgpuInstanceUtilizationInfo_v1_t *vgpuUtilArray;
} nvmlVgpuInstancesUtilizationInfo_v1_t;
typedef nvmlVgpuInstancesUtilizationInfo_v1_t nvmlVgpuInstancesUtilizationInfo_t;
#define nvmlVgpuInstancesUtilizationInfo_v1 NVML_STRUCT_VERSION(VgpuInstancesUtilizationInfo, 1)

typedef struct nvmlVgpuProcessUtilizationSample_st {
        nvmlVgpuInstance_t vgpuInstance;
        unsigned int pid;
        char processName[64];
        unsigned long long timeStamp;
        unsigned int smUtil;
        unsigned int memUtil;
        unsigned int encUtil;
        unsigned int decUtil;
} nvmlVgpuProcessUtilizationSample_t;

typedef struct {
        char processName[64];
        unsigned long long timeStamp;
        nvmlVgpuInstance_t vgpuInstance;
        unsigned int pid;
        unsigned int smUtil;
        unsigned int memUtil;
        unsigned int encUtil;
        unsigned int decUtil;
        unsigned int jpgUtil;
        unsigned int ofaUtil;
} nvmlVgpuProcessUtilizationInfo_v1_t;

typedef struct {
        unsigned int version;
        unsigned int vgpuProcessCount;
        unsigned long long lastSeenTimeStamp;
        nvmlVgpuProcessUtilizationInfo_v1_t *vgpuProcUtilArray;
} nvmlVgpuProcessesUtilizationInfo_v1_t;
typedef nvmlVgpuProcessesUtilizationInfo_v1_t nvmlVgpuProcessesUtilizationInfo_t;
#define nvmlVgpuProcessesUtilizationInfo_v1 NVML_STRUCT_VERSION(VgpuProcessesUtilizationInfo, 1)

typedef struct {
        unsigned int version;
        unsigned long long size;
} nvmlVgpuRuntimeState_v1_t;
typedef nvmlVgpuRuntimeState_v1_t nvmlVgpuRuntimeState_t;
#define nvmlVgpuRuntimeState_v1 NVML_STRUCT_VERSION(VgpuRuntimeState, 1)

typedef union {
        struct {
                unsigned int avgFactor;
                unsigned int timeslice;
        } vgpuSchedDataWithARR;
        struct {
                unsigned int timeslice;
        } vgpuSchedData;
} nvmlVgpuSchedulerParams_t;

typedef struct nvmlVgpuSchedulerLogEntries_st {
        unsigned long long timestamp;
        unsigned long long timeRunTotal;
        unsigned long long timeRun;
        unsigned int swRunlistId;
        unsigned long long targetTimeSlice;
        unsigned long long cumulativePreemptionTime;
} nvmlVgpuSchedulerLogEntry_t;

typedef struct nvmlVgpuSchedulerLog_st {
        unsigned int engineId;
        unsigned int schedulerPolicy;
        unsigned int arrMode;
        nvmlVgpuSchedulerParams_t schedulerParams;
        unsigned int entriesCount;
        nvmlVgpuSchedulerLogEntry_t logEntries[200];
} nvmlVgpuSchedulerLog_t;

typedef struct nvmlVgpuSchedulerGetState_st {
        unsigned int schedulerPolicy;
        unsigned int arrMode;
        nvmlVgpuSchedulerParams_t schedulerParams;
} nvmlVgpuSchedulerGetState_t;

typedef union {
        struct {
                unsigned int avgFactor;
                unsigned int frequency;
        } vgpuSchedDataWithARR;
        struct {
                unsigned int timeslice;
        } vgpuSchedData;
} nvmlVgpuSchedulerSetParams_t;

typedef struct nvmlVgpuSchedulerSetState_st {
        unsigned int schedulerPolicy;
        unsigned int enableARRMode;
        nvmlVgpuSchedulerSetParams_t schedulerParams;
} nvmlVgpuSchedulerSetState_t;

typedef struct nvmlVgpuSchedulerCapabilities_st {
        unsigned int supportedSchedulers[3];
        unsigned int maxTimeslice;
        unsigned int minTimeslice;
        unsigned int isArrModeSupported;
        unsigned int maxFrequencyForARR;
        unsigned int minFrequencyForARR;
        unsigned int maxAvgFactorForARR;
        unsigned int minAvgFactorForARR;
} nvmlVgpuSchedulerCapabilities_t;

typedef struct nvmlVgpuLicenseExpiry_st {
        unsigned int year;
        unsigned short month;
        unsigned short day;
        unsigned short hour;
        unsigned short min;
        unsigned short sec;
        unsigned char status;
} nvmlVgpuLicenseExpiry_t;

typedef struct nvmlVgpuLicenseInfo_st {
        unsigned char isLicensed;
        nvmlVgpuLicenseExpiry_t licenseExpiry;
        unsigned int currentState;
} nvmlVgpuLicenseInfo_t;

typedef struct nvmlGridLicenseExpiry_st {
        unsigned int year;
        unsigned short month;
        unsigned short day;
        unsigned short hour;
        unsigned short min;
        unsigned short sec;
        unsigned char status;
} nvmlGridLicenseExpiry_t;

typedef struct nvmlGridLicensableFeature_st {
        nvmlGridLicenseFeatureCode_t featureCode;
        unsigned int featureState;
        char licenseInfo[128];
        char productName[128];
        unsigned int featureEnabled;
        nvmlGridLicenseExpiry_t licenseExpiry;
} nvmlGridLicensableFeature_t;

typedef struct nvmlGridLicensableFeatures_st {
        int isGridLicenseSupported;
        unsigned int licensableFeaturesCount;
        nvmlGridLicensableFeature_t gridLicensableFeatures[3];
} nvmlGridLicensableFeatures_t;

typedef struct {
        unsigned int version;
        unsigned int vgpuCount;
        nvmlVgpuTypeId_t *vgpuTypeIds;
} nvmlVgpuTypeIdInfo_v1_t;
typedef nvmlVgpuTypeIdInfo_v1_t nvmlVgpuTypeIdInfo_t;
#define nvmlVgpuTypeIdInfo_v1 NVML_STRUCT_VERSION(VgpuTypeIdInfo, 1)

typedef struct {
        unsigned int version;
        nvmlVgpuTypeId_t vgpuTypeId;
        unsigned int maxInstancePerGI;
} nvmlVgpuTypeMaxInstance_v1_t;
typedef nvmlVgpuTypeMaxInstance_v1_t nvmlVgpuTypeMaxInstance_t;
#define nvmlVgpuTypeMaxInstance_v1 NVML_STRUCT_VERSION(VgpuTypeMaxInstance, 1)

typedef struct {
        unsigned int version;
        unsigned int vgpuCount;
        nvmlVgpuInstance_t *vgpuInstances;
} nvmlActiveVgpuInstanceInfo_v1_t;
typedef nvmlActiveVgpuInstanceInfo_v1_t nvmlActiveVgpuInstanceInfo_t;
#define nvmlActiveVgpuInstanceInfo_v1 NVML_STRUCT_VERSION(ActiveVgpuInstanceInfo, 1)

typedef struct {
        unsigned int version;
        unsigned int engineId;
        unsigned int schedulerPolicy;
        unsigned int enableARRMode;
        nvmlVgpuSchedulerSetParams_t schedulerParams;
} nvmlVgpuSchedulerState_v1_t;
typedef nvmlVgpuSchedulerState_v1_t nvmlVgpuSchedulerState_t;
#define nvmlVgpuSchedulerState_v1 NVML_STRUCT_VERSION(VgpuSchedulerState, 1)

typedef struct {
        unsigned int version;
        unsigned int engineId;
        unsigned int schedulerPolicy;
        unsigned int arrMode;
        nvmlVgpuSchedulerParams_t schedulerParams;
} nvmlVgpuSchedulerStateInfo_v1_t;
typedef nvmlVgpuSchedulerStateInfo_v1_t nvmlVgpuSchedulerStateInfo_t;
#define nvmlVgpuSchedulerStateInfo_v1 NVML_STRUCT_VERSION(VgpuSchedulerStateInfo, 1)

typedef struct {
        unsigned int version;
        unsigned int engineId;
        unsigned int schedulerPolicy;
        unsigned int arrMode;
        nvmlVgpuSchedulerParams_t schedulerParams;
        unsigned int entriesCount;
        nvmlVgpuSchedulerLogEntry_t logEntries[200];
} nvmlVgpuSchedulerLogInfo_v1_t;
typedef nvmlVgpuSchedulerLogInfo_v1_t nvmlVgpuSchedulerLogInfo_t;
#define nvmlVgpuSchedulerLogInfo_v1 NVML_STRUCT_VERSION(VgpuSchedulerLogInfo, 1)

typedef struct {
        unsigned int version;
        nvmlVgpuTypeId_t vgpuTypeId;
        unsigned int count;
        unsigned int *placementIds;
        unsigned int placementSize;
} nvmlVgpuCreatablePlacementInfo_v1_t;
typedef nvmlVgpuCreatablePlacementInfo_v1_t nvmlVgpuCreatablePlacementInfo_t;
#define nvmlVgpuCreatablePlacementInfo_v1 NVML_STRUCT_VERSION(VgpuCreatablePlacementInfo, 1)

typedef struct nvmlVgpuVersion_st {
        unsigned int minVersion;
        unsigned int maxVersion;
} nvmlVgpuVersion_t;

typedef struct nvmlVgpuMetadata_st {
        unsigned int version;
        unsigned int revision;
        nvmlVgpuGuestInfoState_t guestInfoState;
        char guestDriverVersion[80];
        char hostDriverVersion[80];
        unsigned int reserved[6];
        unsigned int vgpuVirtualizationCaps;
        unsigned int guestVgpuVersion;
        unsigned int opaqueDataSize;
        char opaqueData[4];
} nvmlVgpuMetadata_t;

typedef struct nvmlVgpuPgpuMetadata_st {
        unsigned int version;
        unsigned int revision;
        char hostDriverVersion[80];
        unsigned int pgpuVirtualizationCaps;
        unsigned int reserved[5];
        nvmlVgpuVersion_t hostSupportedVgpuRange;
        unsigned int opaqueDataSize;
        char opaqueData[4];
} nvmlVgpuPgpuMetadata_t;

typedef enum nvmlVgpuVmCompatibility_enum {
        NVML_VGPU_VM_COMPATIBILITY_NONE = 0x0,
        NVML_VGPU_VM_COMPATIBILITY_COLD = 0x1,
        NVML_VGPU_VM_COMPATIBILITY_HIBERNATE = 0x2,
        NVML_VGPU_VM_COMPATIBILITY_SLEEP = 0x4,
        NVML_VGPU_VM_COMPATIBILITY_LIVE = 0x8,
} nvmlVgpuVmCompatibility_t;

__extension__ typedef enum nvmlVgpuPgpuCompatibilityLimitCode_enum {
        NVML_VGPU_COMPATIBILITY_LIMIT_NONE = 0x0,
        NVML_VGPU_COMPATIBILITY_LIMIT_HOST_DRIVER = 0x1,
        NVML_VGPU_COMPATIBILITY_LIMIT_GUEST_DRIVER = 0x2,
        NVML_VGPU_COMPATIBILITY_LIMIT_GPU = 0x4,
        NVML_VGPU_COMPATIBILITY_LIMIT_OTHER = 0x80000000,
} nvmlVgpuPgpuCompatibilityLimitCode_t;

typedef struct nvmlVgpuPgpuCompatibility_st {
        nvmlVgpuVmCompatibility_t vgpuVmCompatibility;
        nvmlVgpuPgpuCompatibilityLimitCode_t compatibilityLimitCode;
} nvmlVgpuPgpuCompatibility_t;

/* Encoder and frame buffer capture sessions. */

#define NVML_NVFBC_SESSION_FLAG_DIFFMAP_ENABLED 0x1
#define NVML_NVFBC_SESSION_FLAG_CLASSIFICATIONMAP_ENABLED 0x2
#define NVML_NVFBC_SESSION_FLAG_CAPTURE_WITH_WAIT_NO_WAIT 0x4
#define NVML_NVFBC_SESSION_FLAG_CAPTURE_WITH_WAIT_INFINITE 0x8
#define NVML_NVFBC_SESSION_FLAG_CAPTURE_WITH_WAIT_TIMEOUT 0x10

typedef enum nvmlEncoderQueryType_enum {
        NVML_ENCODER_QUERY_H264 = 0x0,
        NVML_ENCODER_QUERY_HEVC = 0x1,
        NVML_ENCODER_QUERY_AV1 = 0x2,
        NVML_ENCODER_QUERY_UNKNOWN = 0xff,
} nvmlEncoderType_t;

typedef struct nvmlEncoderSessionInfo_st {
        unsigned int sessionId;
        unsigned int pid;
        nvmlVgpuInstance_t vgpuInstance;
        nvmlEncoderType_t codecType;
        unsigned int hResolution;
        unsigned int vResolution;
        unsigned int averageFps;
        unsigned int averageLatency;
} nvmlEncoderSessionInfo_t;

typedef enum nvmlFBCSessionType_enum {
        NVML_FBC_SESSION_TYPE_UNKNOWN = 0,
        NVML_FBC_SESSION_TYPE_TOSYS = 1,
        NVML_FBC_SESSION_TYPE_CUDA = 2,
        NVML_FBC_SESSION_TYPE_VID = 3,
        NVML_FBC_SESSION_TYPE_HWENC = 4,
} nvmlFBCSessionType_t;

typedef struct nvmlFBCStats_st {
        unsigned int sessionsCount;
        unsigned int averageFPS;
        unsigned int averageLatency;
} nvmlFBCStats_t;

typedef struct nvmlFBCSessionInfo_st {
        unsigned int sessionId;
        unsigned int pid;
        nvmlVgpuInstance_t vgpuInstance;
        unsigned int displayOrdinal;
        nvmlFBCSessionType_t sessionType;
        unsigned int sessionFlags;
        unsigned int hMaxResolution;
        unsigned int vMaxResolution;
        unsigned int hResolution;
        unsigned int vResolution;
        unsigned int averageFPS;
        unsigned int averageLatency;
} nvmlFBCSessionInfo_t;

/* Confidential computing. */

#define NVML_CC_SYSTEM_CPU_CAPS_NONE 0
#define NVML_CC_SYSTEM_CPU_CAPS_AMD_SEV 1
#define NVML_CC_SYSTEM_CPU_CAPS_INTEL_TDX 2
#define NVML_CC_SYSTEM_CPU_CAPS_AMD_SEV_SNP 3
#define NVML_CC_SYSTEM_CPU_CAPS_AMD_SNP_VTOM 4
#define NVML_CC_SYSTEM_GPUS_CC_NOT_CAPABLE 0
#define NVML_CC_SYSTEM_GPUS_CC_CAPABLE 1
#define NVML_CC_SYSTEM_DEVTOOLS_MODE_OFF 0
#define NVML_CC_SYSTEM_DEVTOOLS_MODE_ON 1
#define NVML_CC_SYSTEM_ENVIRONMENT_UNAVAILABLE 0
#define NVML_CC_SYSTEM_ENVIRONMENT_SIM 1
#define NVML_CC_SYSTEM_ENVIRONMENT_PROD 2
#define NVML_CC_SYSTEM_FEATURE_DISABLED 0
#define NVML_CC_SYSTEM_FEATURE_ENABLED 1
#define NVML_CC_SYSTEM_MULTIGPU_NONE 0
#define NVML_CC_SYSTEM_MULTIGPU_PROTECTED_PCIE 1
#define NVML_CC_SYSTEM_MULTIGPU_NVLE 2
#define NVML_CC_ACCEPTING_CLIENT_REQUESTS_FALSE 0
#define NVML_CC_ACCEPTING_CLIENT_REQUESTS_TRUE 1
#define NVML_GPU_CERT_CHAIN_SIZE 0x1000
#define NVML_GPU_ATTESTATION_CERT_CHAIN_SIZE 0x1400
#define NVML_CC_GPU_CEC_NONCE_SIZE 0x20
#define NVML_CC_GPU_ATTESTATION_REPORT_SIZE 0x2000
#define NVML_CC_GPU_CEC_ATTESTATION_REPORT_SIZE 0x1000
#define NVML_CC_CEC_ATTESTATION_REPORT_NOT_PRESENT 0
#define NVML_CC_CEC_ATTESTATION_REPORT_PRESENT 1
#define NVML_CC_KEY_ROTATION_THRESHOLD_ATTACKER_ADVANTAGE_MIN 50
#define NVML_CC_KEY_ROTATION_THRESHOLD_ATTACKER_ADVANTAGE_MAX 65

typedef struct nvmlConfComputeSystemCaps_st {
        unsigned int cpuCaps;
        unsigned int gpusCaps;
} nvmlConfComputeSystemCaps_t;

typedef struct nvmlConfComputeSystemState_st {
        unsigned int environment;
        unsigned int ccFeature;
        unsigned int devToolsMode;
} nvmlConfComputeSystemState_t;

typedef struct {
        unsigned int version;
        unsigned int environment;
        unsigned int ccFeature;
        unsigned int devToolsMode;
        unsigned int multiGpuMode;
} nvmlSystemConfComputeSettings_v1_t;
typedef nvmlSystemConfComputeSettings_v1_t nvmlSystemConfComputeSettings_t;
#define nvmlSystemConfComputeSettings_v1 NVML_STRUCT_VERSION(SystemConfComputeSettings, 1)

typedef struct nvmlConfComputeMemSizeInfo_st {
        unsigned long long protectedMemSizeKib;
        unsigned long long unprotectedMemSizeKib;
} nvmlConfComputeMemSizeInfo_t;

typedef struct nvmlConfComputeGpuCertificate_st {
        unsigned int certChainSize;
        unsigned int attestationCertChainSize;
        unsigned char certChain[4096];
        unsigned char attestationCertChain[5120];
} nvmlConfComputeGpuCertificate_t;

typedef struct nvmlConfComputeGpuAttestationReport_st {
        unsigned int isCecAttestationReportPresent;
        unsigned int attestationReportSize;
        unsigned int cecAttestationReportSize;
        unsigned char nonce[32];
        unsigned char attestationReport[8192];
        unsigned char cecAttestationReport[4096];
} nvmlConfComputeGpuAttestationReport_t;

typedef struct nvmlConfComputeSetKeyRotationThresholdInfo_st {
        unsigned int version;
        unsigned long long maxAttackerAdvantage;
} nvmlConfComputeSetKeyRotationThresholdInfo_v1_t;
#define nvmlConfComputeSetKeyRotationThresholdInfo_v1 \
        NVML_STRUCT_VERSION(ConfComputeSetKeyRotationThresholdInfo, 1)

typedef nvmlConfComputeSetKeyRotationThresholdInfo_v1_t
        nvmlConfComputeSetKeyRotationThresholdInfo_t;

typedef struct nvmlConfComputeGetKeyRotationThresholdInfo_st {
        unsigned int version;
        unsigned long long attackerAdvantage;
} nvmlConfComputeGetKeyRotationThresholdInfo_v1_t;
#define nvmlConfComputeGetKeyRotationThresholdInfo_v1 \
        NVML_STRUCT_VERSION(ConfComputeGetKeyRotationThresholdInfo, 1)

typedef nvmlConfComputeGetKeyRotationThresholdInfo_v1_t
        nvmlConfComputeGetKeyRotationThresholdInfo_t;

/* Units: the chassis of S-class systems. */

typedef enum nvmlFanState_enum {
        NVML_FAN_NORMAL = 0,
        NVML_FAN_FAILED = 1,
} nvmlFanState_t;

typedef enum nvmlLedColor_enum {
        NVML_LED_COLOR_GREEN = 0,
        NVML_LED_COLOR_AMBER = 1,
} nvmlLedColor_t;

typedef struct nvmlLedState_st {
        char cause[256];
        nvmlLedColor_t color;
} nvmlLedState_t;

typedef struct nvmlUnitInfo_st {
        char name[96];
        char id[96];
        char serial[96];
        char firmwareVersion[96];
} nvmlUnitInfo_t;

typedef struct nvmlPSUInfo_st {
        char state[256];
        unsigned int current;
        unsigned int voltage;
        unsigned int power;
} nvmlPSUInfo_t;

typedef struct nvmlUnitFanInfo_st {
        unsigned int speed;
        nvmlFanState_t state;
} nvmlUnitFanInfo_t;

typedef struct nvmlUnitFanSpeeds_st {
        nvmlUnitFanInfo_t fans[24];
        unsigned int count;
} nvmlUnitFanSpeeds_t;

/* Performance metrics and registers. */

#define NVML_PRM_DATA_MAX_SIZE 496
#define NVML_GPM_METRICS_GET_VERSION 1
#define NVML_GPM_SUPPORT_VERSION 1

typedef enum nvmlDetachGpuState_enum {
        NVML_DETACH_GPU_KEEP = 0,
        NVML_DETACH_GPU_REMOVE = 1,
} nvmlDetachGpuState_t;

typedef struct {
        unsigned int dataSize;
        unsigned int status;
        union {
                unsigned char inData[496];
                unsigned char outData[496];
        };
} nvmlPRMTLV_v1_t;

typedef enum {
        NVML_GPM_METRIC_GRAPHICS_UTIL = 1,
        NVML_GPM_METRIC_SM_UTIL = 2,
        NVML_GPM_METRIC_SM_OCCUPANCY = 3,
        NVML_GPM_METRIC_INTEGER_UTIL = 4,
        NVML_GPM_METRIC_ANY_TENSOR_UTIL = 5,
        NVML_GPM_METRIC_DFMA_TENSOR_UTIL = 6,
        NVML_GPM_METRIC_HMMA_TENSOR_UTIL = 7,
        NVML_GPM_METRIC_IMMA_TENSOR_UTIL = 9,
        NVML_GPM_METRIC_DRAM_BW_UTIL = 10,
        NVML_GPM_METRIC_FP64_UTIL = 11,
        NVML_GPM_METRIC_FP32_UTIL = 12,
        NVML_GPM_METRIC_FP16_UTIL = 13,
        NVML_GPM_METRIC_PCIE_TX_PER_SEC = 20,
        NVML_GPM_METRIC_PCIE_RX_PER_SEC = 21,
        NVML_GPM_METRIC_NVDEC_0_UTIL = 30,
        NVML_GPM_METRIC_NVDEC_1_UTIL = 31,
        NVML_GPM_METRIC_NVDEC_2_UTIL = 32,
        NVML_GPM_METRIC_NVDEC_3_UTIL = 33,
        NVML_GPM_METRIC_NVDEC_4_UTIL = 34,
        NVML_GPM_METRIC_NVDEC_5_UTIL = 35,
        NVML_GPM_METRIC_NVDEC_6_UTIL = 36,
        NVML_GPM_METRIC_NVDEC_7_UTIL = 37,
        NVML_GPM_METRIC_NVJPG_0_UTIL = 40,
        NVML_GPM_METRIC_NVJPG_1_UTIL = 41,
        NVML_GPM_METRIC_NVJPG_2_UTIL = 42,
        NVML_GPM_METRIC_NVJPG_3_UTIL = 43,
        NVML_GPM_METRIC_NVJPG_4_UTIL = 44,
        NVML_GPM_METRIC_NVJPG_5_UTIL = 45,
        NVML_GPM_METRIC_NVJPG_6_UTIL = 46,
        NVML_GPM_METRIC_NVJPG_7_UTIL = 47,
        NVML_GPM_METRIC_NVOFA_0_UTIL = 50,
        NVML_GPM_METRIC_NVOFA_1_UTIL = 51,
        NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC = 60,
        NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC = 61,
        NVML_GPM_METRIC_NVLINK_L0_RX_PER_SEC = 62,
        NVML_GPM_METRIC_NVLINK_L0_TX_PER_SEC = 63,
        NVML_GPM_METRIC_NVLINK_L1_RX_PER_SEC = 64,
        NVML_GPM_METRIC_NVLINK_L1_TX_PER_SEC = 65,
        NVML_GPM_METRIC_NVLINK_L2_RX_PER_SEC = 66,
        NVML_GPM_METRIC_NVLINK_L2_TX_PER_SEC = 67,
        NVML_GPM_METRIC_NVLINK_L3_RX_PER_SEC = 68,
        NVML_GPM_METRIC_NVLINK_L3_TX_PER_SEC = 69,
        NVML_GPM_METRIC_NVLINK_L4_RX_PER_SEC = 70,
        NVML_GPM_METRIC_NVLINK_L4_TX_PER_SEC = 71,
        NVML_GPM_METRIC_NVLINK_L5_RX_PER_SEC = 72,
        NVML_GPM_METRIC_NVLINK_L5_TX_PER_SEC = 73,
        NVML_GPM_METRIC_NVLINK_L6_RX_PER_SEC = 74,
        NVML_GPM_METRIC_NVLINK_L6_TX_PER_SEC = 75,
        NVML_GPM_METRIC_NVLINK_L7_RX_PER_SEC = 76,
        NVML_GPM_METRIC_NVLINK_L7_TX_PER_SEC = 77,
        NVML_GPM_METRIC_NVLINK_L8_RX_PER_SEC = 78,
        NVML_GPM_METRIC_NVLINK_L8_TX_PER_SEC = 79,
        NVML_GPM_METRIC_NVLINK_L9_RX_PER_SEC = 80,
        NVML_GPM_METRIC_NVLINK_L9_TX_PER_SEC = 81,
        NVML_GPM_METRIC_NVLINK_L10_RX_PER_SEC = 82,
        NVML_GPM_METRIC_NVLINK_L10_TX_PER_SEC = 83,
        NVML_GPM_METRIC_NVLINK_L11_RX_PER_SEC = 84,
        NVML_GPM_METRIC_NVLINK_L11_TX_PER_SEC = 85,
        NVML_GPM_METRIC_NVLINK_L12_RX_PER_SEC = 86,
        NVML_GPM_METRIC_NVLINK_L12_TX_PER_SEC = 87,
        NVML_GPM_METRIC_NVLINK_L13_RX_PER_SEC = 88,
        NVML_GPM_METRIC_NVLINK_L13_TX_PER_SEC = 89,
        NVML_GPM_METRIC_NVLINK_L14_RX_PER_SEC = 90,
        NVML_GPM_METRIC_NVLINK_L14_TX_PER_SEC = 91,
        NVML_GPM_METRIC_NVLINK_L15_RX_PER_SEC = 92,
        NVML_GPM_METRIC_NVLINK_L15_TX_PER_SEC = 93,
        NVML_GPM_METRIC_NVLINK_L16_RX_PER_SEC = 94,
        NVML_GPM_METRIC_NVLINK_L16_TX_PER_SEC = 95,
        NVML_GPM_METRIC_NVLINK_L17_RX_PER_SEC = 96,
        NVML_GPM_METRIC_NVLINK_L17_TX_PER_SEC = 97,
        NVML_GPM_METRIC_C2C_TOTAL_TX_PER_SEC = 100,
        NVML_GPM_METRIC_C2C_TOTAL_RX_PER_SEC = 101,
        NVML_GPM_METRIC_C2C_DATA_TX_PER_SEC = 102,
        NVML_GPM_METRIC_C2C_DATA_RX_PER_SEC = 103,
        NVML_GPM_METRIC_C2C_LINK0_TOTAL_TX_PER_SEC = 104,
        NVML_GPM_METRIC_C2C_LINK0_TOTAL_RX_PER_SEC = 105,
        NVML_GPM_METRIC_C2C_LINK0_DATA_TX_PER_SEC = 106,
        NVML_GPM_METRIC_C2C_LINK0_DATA_RX_PER_SEC = 107,
        NVML_GPM_METRIC_C2C_LINK1_TOTAL_TX_PER_SEC = 108,
        NVML_GPM_METRIC_C2C_LINK1_TOTAL_RX_PER_SEC = 109,
        NVML_GPM_METRIC_C2C_LINK1_DATA_TX_PER_SEC = 110,
        NVML_GPM_METRIC_C2C_LINK1_DATA_RX_PER_SEC = 111,
        NVML_GPM_METRIC_C2C_LINK2_TOTAL_TX_PER_SEC = 112,
        NVML_GPM_METRIC_C2C_LINK2_TOTAL_RX_PER_SEC = 113,
        NVML_GPM_METRIC_C2C_LINK2_DATA_TX_PER_SEC = 114,
        NVML_GPM_METRIC_C2C_LINK2_DATA_RX_PER_SEC = 115,
        NVML_GPM_METRIC_C2C_LINK3_TOTAL_TX_PER_SEC = 116,
        NVML_GPM_METRIC_C2C_LINK3_TOTAL_RX_PER_SEC = 117,
        NVML_GPM_METRIC_C2C_LINK3_DATA_TX_PER_SEC = 118,
        NVML_GPM_METRIC_C2C_LINK3_DATA_RX_PER_SEC = 119,
        NVML_GPM_METRIC_C2C_LINK4_TOTAL_TX_PER_SEC = 120,
        NVML_GPM_METRIC_C2C_LINK4_TOTAL_RX_PER_SEC = 121,
        NVML_GPM_METRIC_C2C_LINK4_DATA_TX_PER_SEC = 122,
        NVML_GPM_METRIC_C2C_LINK4_DATA_RX_PER_SEC = 123,
        NVML_GPM_METRIC_C2C_LINK5_TOTAL_TX_PER_SEC = 124,
        NVML_GPM_METRIC_C2C_LINK5_TOTAL_RX_PER_SEC = 125,
        NVML_GPM_METRIC_C2C_LINK5_DATA_TX_PER_SEC = 126,
        NVML_GPM_METRIC_C2C_LINK5_DATA_RX_PER_SEC = 127,
        NVML_GPM_METRIC_C2C_LINK6_TOTAL_TX_PER_SEC = 128,
        NVML_GPM_METRIC_C2C_LINK6_TOTAL_RX_PER_SEC = 129,
        NVML_GPM_METRIC_C2C_LINK6_DATA_TX_PER_SEC = 130,
        NVML_GPM_METRIC_C2C_LINK6_DATA_RX_PER_SEC = 131,
        NVML_GPM_METRIC_C2C_LINK7_TOTAL_TX_PER_SEC = 132,
        NVML_GPM_METRIC_C2C_LINK7_TOTAL_RX_PER_SEC = 133,
        NVML_GPM_METRIC_C2C_LINK7_DATA_TX_PER_SEC = 134,
        NVML_GPM_METRIC_C2C_LINK7_DATA_RX_PER_SEC = 135,
        NVML_GPM_METRIC_C2C_LINK8_TOTAL_TX_PER_SEC = 136,
        NVML_GPM_METRIC_C2C_LINK8_TOTAL_RX_PER_SEC = 137,
        NVML_GPM_METRIC_C2C_LINK8_DATA_TX_PER_SEC = 138,
        NVML_GPM_METRIC_C2C_LINK8_DATA_RX_PER_SEC = 139,
        NVML_GPM_METRIC_C2C_LINK9_TOTAL_TX_PER_SEC = 140,
        NVML_GPM_METRIC_C2C_LINK9_TOTAL_RX_PER_SEC = 141,
        NVML_GPM_METRIC_C2C_LINK9_DATA_TX_PER_SEC = 142,
        NVML_GPM_METRIC_C2C_LINK9_DATA_RX_PER_SEC = 143,
        NVML_GPM_METRIC_C2C_LINK10_TOTAL_TX_PER_SEC = 144,
        NVML_GPM_METRIC_C2C_LINK10_TOTAL_RX_PER_SEC = 145,
        NVML_GPM_METRIC_C2C_LINK10_DATA_TX_PER_SEC = 146,
        NVML_GPM_METRIC_C2C_LINK10_DATA_RX_PER_SEC = 147,
        NVML_GPM_METRIC_C2C_LINK11_TOTAL_TX_PER_SEC = 148,
        NVML_GPM_METRIC_C2C_LINK11_TOTAL_RX_PER_SEC = 149,
        NVML_GPM_METRIC_C2C_LINK11_DATA_TX_PER_SEC = 150,
        NVML_GPM_METRIC_C2C_LINK11_DATA_RX_PER_SEC = 151,
        NVML_GPM_METRIC_C2C_LINK12_TOTAL_TX_PER_SEC = 152,
        NVML_GPM_METRIC_C2C_LINK12_TOTAL_RX_PER_SEC = 153,
        NVML_GPM_METRIC_C2C_LINK12_DATA_TX_PER_SEC = 154,
        NVML_GPM_METRIC_C2C_LINK12_DATA_RX_PER_SEC = 155,
        NVML_GPM_METRIC_C2C_LINK13_TOTAL_TX_PER_SEC = 156,
        NVML_GPM_METRIC_C2C_LINK13_TOTAL_RX_PER_SEC = 157,
        NVML_GPM_METRIC_C2C_LINK13_DATA_TX_PER_SEC = 158,
        NVML_GPM_METRIC_C2C_LINK13_DATA_RX_PER_SEC = 159,
        NVML_GPM_METRIC_HOSTMEM_CACHE_HIT = 160,
        NVML_GPM_METRIC_HOSTMEM_CACHE_MISS = 161,
        NVML_GPM_METRIC_PEERMEM_CACHE_HIT = 162,
        NVML_GPM_METRIC_PEERMEM_CACHE_MISS = 163,
        NVML_GPM_METRIC_DRAM_CACHE_HIT = 164,
        NVML_GPM_METRIC_DRAM_CACHE_MISS = 165,
        NVML_GPM_METRIC_NVENC_0_UTIL = 166,
        NVML_GPM_METRIC_NVENC_1_UTIL = 167,
        NVML_GPM_METRIC_NVENC_2_UTIL = 168,
        NVML_GPM_METRIC_NVENC_3_UTIL = 169,
        NVML_GPM_METRIC_GR0_CTXSW_CYCLES_ELAPSED = 170,
        NVML_GPM_METRIC_GR0_CTXSW_CYCLES_ACTIVE = 171,
        NVML_GPM_METRIC_GR0_CTXSW_REQUESTS = 172,
        NVML_GPM_METRIC_GR0_CTXSW_CYCLES_PER_REQ = 173,
        NVML_GPM_METRIC_GR0_CTXSW_ACTIVE_PCT = 174,
        NVML_GPM_METRIC_GR1_CTXSW_CYCLES_ELAPSED = 175,
        NVML_GPM_METRIC_GR1_CTXSW_CYCLES_ACTIVE = 176,
        NVML_GPM_METRIC_GR1_CTXSW_REQUESTS = 177,
        NVML_GPM_METRIC_GR1_CTXSW_CYCLES_PER_REQ = 178,
        NVML_GPM_METRIC_GR1_CTXSW_ACTIVE_PCT = 179,
        NVML_GPM_METRIC_GR2_CTXSW_CYCLES_ELAPSED = 180,
        NVML_GPM_METRIC_GR2_CTXSW_CYCLES_ACTIVE = 181,
        NVML_GPM_METRIC_GR2_CTXSW_REQUESTS = 182,
        NVML_GPM_METRIC_GR2_CTXSW_CYCLES_PER_REQ = 183,
        NVML_GPM_METRIC_GR2_CTXSW_ACTIVE_PCT = 184,
        NVML_GPM_METRIC_GR3_CTXSW_CYCLES_ELAPSED = 185,
        NVML_GPM_METRIC_GR3_CTXSW_CYCLES_ACTIVE = 186,
        NVML_GPM_METRIC_GR3_CTXSW_REQUESTS = 187,
        NVML_GPM_METRIC_GR3_CTXSW_CYCLES_PER_REQ = 188,
        NVML_GPM_METRIC_GR3_CTXSW_ACTIVE_PCT = 189,
        NVML_GPM_METRIC_GR4_CTXSW_CYCLES_ELAPSED = 190,
        NVML_GPM_METRIC_GR4_CTXSW_CYCLES_ACTIVE = 191,
        NVML_GPM_METRIC_GR4_CTXSW_REQUESTS = 192,
        NVML_GPM_METRIC_GR4_CTXSW_CYCLES_PER_REQ = 193,
        NVML_GPM_METRIC_GR4_CTXSW_ACTIVE_PCT = 194,
        NVML_GPM_METRIC_GR5_CTXSW_CYCLES_ELAPSED = 195,
        NVML_GPM_METRIC_GR5_CTXSW_CYCLES_ACTIVE = 196,
        NVML_GPM_METRIC_GR5_CTXSW_REQUESTS = 197,
        NVML_GPM_METRIC_GR5_CTXSW_CYCLES_PER_REQ = 198,
        NVML_GPM_METRIC_GR5_CTXSW_ACTIVE_PCT = 199,
        NVML_GPM_METRIC_GR6_CTXSW_CYCLES_ELAPSED = 200,
        NVML_GPM_METRIC_GR6_CTXSW_CYCLES_ACTIVE = 201,
        NVML_GPM_METRIC_GR6_CTXSW_REQUESTS = 202,
        NVML_GPM_METRIC_GR6_CTXSW_CYCLES_PER_REQ = 203,
        NVML_GPM_METRIC_GR6_CTXSW_ACTIVE_PCT = 204,
        NVML_GPM_METRIC_GR7_CTXSW_CYCLES_ELAPSED = 205,
        NVML_GPM_METRIC_GR7_CTXSW_CYCLES_ACTIVE = 206,
        NVML_GPM_METRIC_GR7_CTXSW_REQUESTS = 207,
        NVML_GPM_METRIC_GR7_CTXSW_CYCLES_PER_REQ = 208,
        NVML_GPM_METRIC_GR7_CTXSW_ACTIVE_PCT = 209,
        NVML_GPM_METRIC_MAX = 210,
} nvmlGpmMetricId_t;

typedef struct {
        unsigned int metricId;
        nvmlReturn_t nvmlReturn;
        double value;
        struct {
                char *shortName;
                char *longName;
                char *unit;
        } metricInfo;
} nvmlGpmMetric_t;

typedef struct {
        unsigned int version;
        unsigned int numMetrics;
        nvmlGpmSample_t sample1;
        nvmlGpmSample_t sample2;
        nvmlGpmMetric_t metrics[NVML_GPM_METRIC_MAX];
} nvmlGpmMetricsGet_t;

typedef struct {
        unsigned int version;
        unsigned int isSupportedDevice;
} nvmlGpmSupport_t;

/*
 * Numbers of fields that nvmlDeviceGetFieldValues() reads. The numbers 251 to 273 changed between
 * CUDA 12.9 and 13.0, and a request does not show which are meant. So request these only if the
 * version of the library is known.
 */

#define NVML_FI_DEV_ECC_CURRENT 1
#define NVML_FI_DEV_ECC_PENDING 2
#define NVML_FI_DEV_ECC_SBE_VOL_TOTAL 3
#define NVML_FI_DEV_ECC_DBE_VOL_TOTAL 4
#define NVML_FI_DEV_ECC_SBE_AGG_TOTAL 5
#define NVML_FI_DEV_ECC_DBE_AGG_TOTAL 6
#define NVML_FI_DEV_ECC_SBE_VOL_L1 7
#define NVML_FI_DEV_ECC_DBE_VOL_L1 8
#define NVML_FI_DEV_ECC_SBE_VOL_L2 9
#define NVML_FI_DEV_ECC_DBE_VOL_L2 10
#define NVML_FI_DEV_ECC_SBE_VOL_DEV 11
#define NVML_FI_DEV_ECC_DBE_VOL_DEV 12
#define NVML_FI_DEV_ECC_SBE_VOL_REG 13
#define NVML_FI_DEV_ECC_DBE_VOL_REG 14
#define NVML_FI_DEV_ECC_SBE_VOL_TEX 15
#define NVML_FI_DEV_ECC_DBE_VOL_TEX 16
#define NVML_FI_DEV_ECC_DBE_VOL_CBU 17
#define NVML_FI_DEV_ECC_SBE_AGG_L1 18
#define NVML_FI_DEV_ECC_DBE_AGG_L1 19
#define NVML_FI_DEV_ECC_SBE_AGG_L2 20
#define NVML_FI_DEV_ECC_DBE_AGG_L2 21
#define NVML_FI_DEV_ECC_SBE_AGG_DEV 22
#define NVML_FI_DEV_ECC_DBE_AGG_DEV 23
#define NVML_FI_DEV_ECC_SBE_AGG_REG 24
#define NVML_FI_DEV_ECC_DBE_AGG_REG 25
#define NVML_FI_DEV_ECC_SBE_AGG_TEX 26
#define NVML_FI_DEV_ECC_DBE_AGG_TEX 27
#define NVML_FI_DEV_ECC_DBE_AGG_CBU 28
#define NVML_FI_DEV_RETIRED_SBE 29
#define NVML_FI_DEV_RETIRED_DBE 30
#define NVML_FI_DEV_RETIRED_PENDING 31
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L0 32
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L1 33
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L2 34
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L3 35
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L4 36
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L5 37
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL 38
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L0 39
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L1 40
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L2 41
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L3 42
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L4 43
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L5 44
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL 45
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L0 46
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L1 47
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L2 48
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L3 49
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L4 50
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L5 51
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL 52
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L0 53
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L1 54
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L2 55
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L3 56
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L4 57
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L5 58
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL 59
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L0 60
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L1 61
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L2 62
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L3 63
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L4 64
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L5 65
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_TOTAL 66
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L0 67
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L1 68
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L2 69
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L3 70
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L4 71
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L5 72
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_TOTAL 73
#define NVML_FI_DEV_PERF_POLICY_POWER 74
#define NVML_FI_DEV_PERF_POLICY_THERMAL 75
#define NVML_FI_DEV_PERF_POLICY_SYNC_BOOST 76
#define NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT 77
#define NVML_FI_DEV_PERF_POLICY_LOW_UTILIZATION 78
#define NVML_FI_DEV_PERF_POLICY_RELIABILITY 79
#define NVML_FI_DEV_PERF_POLICY_TOTAL_APP_CLOCKS 80
#define NVML_FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS 81
#define NVML_FI_DEV_MEMORY_TEMP 82
#define NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION 83
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_L0 84
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_L1 85
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_L2 86
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_L3 87
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_L4 88
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_L5 89
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON 90
#define NVML_FI_DEV_NVLINK_LINK_COUNT 91
#define NVML_FI_DEV_RETIRED_PENDING_SBE 92
#define NVML_FI_DEV_RETIRED_PENDING_DBE 93
#define NVML_FI_DEV_PCIE_REPLAY_COUNTER 94
#define NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER 95
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L6 96
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L7 97
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L8 98
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L9 99
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L10 100
#define NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L11 101
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L6 102
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L7 103
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L8 104
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L9 105
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L10 106
#define NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L11 107
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L6 108
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L7 109
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L8 110
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L9 111
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L10 112
#define NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L11 113
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L6 114
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L7 115
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L8 116
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L9 117
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L10 118
#define NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L11 119
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L6 120
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L7 121
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L8 122
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L9 123
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L10 124
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L11 125
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L6 126
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L7 127
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L8 128
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L9 129
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L10 130
#define NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L11 131
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_L6 132
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_L7 133
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_L8 134
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_L9 135
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_L10 136
#define NVML_FI_DEV_NVLINK_SPEED_MBPS_L11 137
#define NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX 138
#define NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX 139
#define NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_TX 140
#define NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX 141
#define NVML_FI_DEV_REMAPPED_COR 142
#define NVML_FI_DEV_REMAPPED_UNC 143
#define NVML_FI_DEV_REMAPPED_PENDING 144
#define NVML_FI_DEV_REMAPPED_FAILURE 145
#define NVML_FI_DEV_NVLINK_REMOTE_NVLINK_ID 146
#define NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT 147
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L0 148
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L1 149
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L2 150
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L3 151
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L4 152
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L5 153
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L6 154
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L7 155
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L8 156
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L9 157
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L10 158
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L11 159
#define NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL 160
#define NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY 161
#define NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY 162
#define NVML_FI_DEV_NVLINK_ERROR_DL_CRC 163
#define NVML_FI_DEV_NVLINK_GET_SPEED 164
#define NVML_FI_DEV_NVLINK_GET_STATE 165
#define NVML_FI_DEV_NVLINK_GET_VERSION 166
#define NVML_FI_DEV_NVLINK_GET_POWER_STATE 167
#define NVML_FI_DEV_NVLINK_GET_POWER_THRESHOLD 168
#define NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER 169
#define NVML_FI_DEV_C2C_LINK_COUNT 170
#define NVML_FI_DEV_C2C_LINK_GET_STATUS 171
#define NVML_FI_DEV_C2C_LINK_GET_MAX_BW 172
#define NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS 173
#define NVML_FI_DEV_PCIE_COUNT_NAKS_RECEIVED 174
#define NVML_FI_DEV_PCIE_COUNT_RECEIVER_ERROR 175
#define NVML_FI_DEV_PCIE_COUNT_BAD_TLP 176
#define NVML_FI_DEV_PCIE_COUNT_NAKS_SENT 177
#define NVML_FI_DEV_PCIE_COUNT_BAD_DLLP 178
#define NVML_FI_DEV_PCIE_COUNT_NON_FATAL_ERROR 179
#define NVML_FI_DEV_PCIE_COUNT_FATAL_ERROR 180
#define NVML_FI_DEV_PCIE_COUNT_UNSUPPORTED_REQ 181
#define NVML_FI_DEV_PCIE_COUNT_LCRC_ERROR 182
#define NVML_FI_DEV_PCIE_COUNT_LANE_ERROR 183
#define NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED 184
#define NVML_FI_DEV_POWER_AVERAGE 185
#define NVML_FI_DEV_POWER_INSTANT 186
#define NVML_FI_DEV_POWER_MIN_LIMIT 187
#define NVML_FI_DEV_POWER_MAX_LIMIT 188
#define NVML_FI_DEV_POWER_DEFAULT_LIMIT 189
#define NVML_FI_DEV_POWER_CURRENT_LIMIT 190
#define NVML_FI_DEV_ENERGY 191
#define NVML_FI_DEV_POWER_REQUESTED_LIMIT 192
#define NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT 193
#define NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT 194
#define NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT 195
#define NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT 196
#define NVML_FI_DEV_PCIE_COUNT_TX_BYTES 197
#define NVML_FI_DEV_PCIE_COUNT_RX_BYTES 198
#define NVML_FI_DEV_IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE 199
#define NVML_FI_DEV_NVLINK_GET_POWER_THRESHOLD_MAX 200
#define NVML_FI_DEV_NVLINK_COUNT_XMIT_PACKETS 201
#define NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES 202
#define NVML_FI_DEV_NVLINK_COUNT_RCV_PACKETS 203
#define NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES 204
#define NVML_FI_DEV_NVLINK_COUNT_VL15_DROPPED 205
#define NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS 206
#define NVML_FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS 207
#define NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS 208
#define NVML_FI_DEV_NVLINK_COUNT_RCV_REMOTE_ERRORS 209
#define NVML_FI_DEV_NVLINK_COUNT_RCV_GENERAL_ERRORS 210
#define NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS 211
#define NVML_FI_DEV_NVLINK_COUNT_XMIT_DISCARDS 212
#define NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS 213
#define NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS 214
#define NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS 215
#define NVML_FI_DEV_NVLINK_COUNT_RAW_BER_LANE0 216
#define NVML_FI_DEV_NVLINK_COUNT_RAW_BER_LANE1 217
#define NVML_FI_DEV_NVLINK_COUNT_RAW_BER 218
#define NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS 219
#define NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER 220
#define NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS 221
#define NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER 222
#define NVML_FI_DEV_NVLINK_GET_POWER_THRESHOLD_MIN 223
#define NVML_FI_DEV_NVLINK_GET_POWER_THRESHOLD_UNITS 224
#define NVML_FI_DEV_NVLINK_GET_POWER_THRESHOLD_SUPPORTED 225
#define NVML_FI_DEV_RESET_STATUS 226
#define NVML_FI_DEV_DRAIN_AND_RESET_STATUS 227
#define NVML_FI_DEV_PCIE_OUTBOUND_ATOMICS_MASK 228
#define NVML_FI_DEV_PCIE_INBOUND_ATOMICS_MASK 229
#define NVML_FI_DEV_GET_GPU_RECOVERY_ACTION 230
#define NVML_FI_DEV_C2C_LINK_ERROR_INTR 231
#define NVML_FI_DEV_C2C_LINK_ERROR_REPLAY 232
#define NVML_FI_DEV_C2C_LINK_ERROR_REPLAY_B2B 233
#define NVML_FI_DEV_C2C_LINK_POWER_STATE 234
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_0 235
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_1 236
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_2 237
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_3 238
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_4 239
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_5 240
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_6 241
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_7 242
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_8 243
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_9 244
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_10 245
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_11 246
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_12 247
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_13 248
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_14 249
#define NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_15 250
#define NVML_FI_PWR_SMOOTHING_ENABLED 251
#define NVML_FI_PWR_SMOOTHING_PRIV_LVL 252
#define NVML_FI_PWR_SMOOTHING_IMM_RAMP_DOWN_ENABLED 253
#define NVML_FI_PWR_SMOOTHING_APPLIED_TMP_CEIL 254
#define NVML_FI_PWR_SMOOTHING_APPLIED_TMP_FLOOR 255
#define NVML_FI_PWR_SMOOTHING_MAX_PERCENT_TMP_FLOOR_SETTING 256
#define NVML_FI_PWR_SMOOTHING_MIN_PERCENT_TMP_FLOOR_SETTING 257
#define NVML_FI_PWR_SMOOTHING_HW_CIRCUITRY_PERCENT_LIFETIME_REMAINING 258
#define NVML_FI_PWR_SMOOTHING_MAX_NUM_PRESET_PROFILES 259
#define NVML_FI_PWR_SMOOTHING_PROFILE_PERCENT_TMP_FLOOR 260
#define NVML_FI_PWR_SMOOTHING_PROFILE_RAMP_UP_RATE 261
#define NVML_FI_PWR_SMOOTHING_PROFILE_RAMP_DOWN_RATE 262
#define NVML_FI_PWR_SMOOTHING_PROFILE_RAMP_DOWN_HYST_VAL 263
#define NVML_FI_PWR_SMOOTHING_ACTIVE_PRESET_PROFILE 264
#define NVML_FI_PWR_SMOOTHING_ADMIN_OVERRIDE_PERCENT_TMP_FLOOR 265
#define NVML_FI_PWR_SMOOTHING_ADMIN_OVERRIDE_RAMP_UP_RATE 266
#define NVML_FI_PWR_SMOOTHING_ADMIN_OVERRIDE_RAMP_DOWN_RATE 267
#define NVML_FI_PWR_SMOOTHING_ADMIN_OVERRIDE_RAMP_DOWN_HYST_VAL 268
#define NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP NVML_FI_DEV_PERF_POLICY_POWER
#define NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST NVML_FI_DEV_PERF_POLICY_SYNC_BOOST
#define NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN 269
#define NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN 270
#define NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN 271
#define NVML_FI_DEV_POWER_SYNC_BALANCING_FREQ 272
#define NVML_FI_DEV_POWER_SYNC_BALANCING_AF 273
#define NVML_FI_MAX 274

typedef struct nvmlFieldValue_st {
        unsigned int fieldId;
        unsigned int scopeId;
        long long timestamp;
        long long latencyUsec;
        nvmlValueType_t valueType;
        nvmlReturn_t nvmlReturn;
        nvmlValue_t value;
} nvmlFieldValue_t;
