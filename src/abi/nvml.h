/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prototypes of NVML, the NVIDIA Management Library, as of CUDA 13.0, with all older versions of
 * each function.
 *
 * Each function has the name that libnvidia-ml.so.1 exports: no macro turns nvmlInit into
 * nvmlInit_v2. So a name without a suffix is the oldest form, and _v2, _v3, ... are later forms.
 * Parameters have no names, since callers and library only agree on the types.
 * nvmlInternalGetExportTable is missing: the library exports it, but no header declares its
 * parameters, so a call of it must be passed on unread.
 *
 * Beware of two old forms. nvmlDeviceGetPciInfo and its _v2 use the newest struct in the real
 * header, although they do not know its last member, busId. nvmlProcessInfo_v1_t has 16 bytes,
 * while the entries of _v2 and _v3 have 24, so step through such an array by the version of the
 * called function.
 *
 * Where a real nvml.h is installed, tools/check-abi.py compares the prototypes with it.
 */
#pragma once

#include "nvml_types.h"

/* Initialisation, shutdown, errors. */

nvmlReturn_t nvmlInit(void);
nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlInitWithFlags(unsigned int);
nvmlReturn_t nvmlShutdown(void);
const char *nvmlErrorString(nvmlReturn_t);

/* The system as a whole. */

nvmlReturn_t nvmlSystemGetDriverVersion(char *, unsigned int);
nvmlReturn_t nvmlSystemGetNVMLVersion(char *, unsigned int);
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *);
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *);
nvmlReturn_t nvmlSystemGetProcessName(unsigned int, char *, unsigned int);
nvmlReturn_t nvmlSystemGetHicVersion(unsigned int *, nvmlHwbcEntry_t *);
nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t *, unsigned int);
nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned int *);
nvmlReturn_t nvmlGetExcludedDeviceInfoByIndex(unsigned int, nvmlExcludedDeviceInfo_t *);
nvmlReturn_t nvmlGetBlacklistDeviceCount(unsigned int *);
nvmlReturn_t nvmlGetBlacklistDeviceInfoByIndex(unsigned int, nvmlExcludedDeviceInfo_t *);

/* Finding and identifying a device. */

nvmlReturn_t nvmlDeviceGetCount(unsigned int *);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *);
nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t, nvmlDeviceAttributes_t *);
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t, nvmlDeviceAttributes_t *);
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int, nvmlDevice_t *);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int, nvmlDevice_t *);
nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *, nvmlDevice_t *);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *, nvmlDevice_t *);
nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *, nvmlDevice_t *);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *, nvmlDevice_t *);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *, nvmlDevice_t *);
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t, char *, unsigned int);
nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t, nvmlBrandType_t *);
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t, char *, unsigned int);
nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t, nvmlDeviceAddressingMode_t *);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t, char *, unsigned int);
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t, char *, unsigned int);
nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t, nvmlInforomObject_t, char *, unsigned int);
nvmlReturn_t nvmlDeviceGetInforomImageVersion(nvmlDevice_t, char *, unsigned int);
nvmlReturn_t nvmlDeviceGetInforomConfigurationChecksum(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t);
nvmlReturn_t nvmlDeviceGetLastBBXFlushTime(nvmlDevice_t, unsigned long long *, unsigned long *);
nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t, nvmlEnableState_t *);
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t, nvmlEnableState_t *);
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t, nvmlEnableState_t *);
nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t, nvmlPciInfoExt_t *);
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t, nvmlPciInfo_t *);
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t, nvmlPciInfo_t *);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t, nvmlPciInfo_t *);
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t, int *, int *);
nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetDriverModel(nvmlDevice_t, nvmlDriverModel_t *, nvmlDriverModel_t *);
nvmlReturn_t nvmlDeviceGetDriverModel_v2(nvmlDevice_t, nvmlDriverModel_t *, nvmlDriverModel_t *);
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t, char *, unsigned int);
nvmlReturn_t nvmlDeviceGetBridgeChipInfo(nvmlDevice_t, nvmlBridgeChipHierarchy_t *);
nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t, nvmlDevice_t, int *);
nvmlReturn_t nvmlDeviceGetIrqNum(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetBusType(nvmlDevice_t, nvmlBusType_t *);
nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t, char *);
nvmlReturn_t nvmlDeviceGetGspFirmwareMode(nvmlDevice_t, unsigned int *, unsigned int *);
nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t, nvmlDeviceArchitecture_t *);
nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t, nvmlPlatformInfo_t *);
nvmlReturn_t nvmlDeviceGetPdi(nvmlDevice_t, nvmlPdi_t *);
nvmlReturn_t nvmlDeviceSetHostname_v1(nvmlDevice_t, nvmlHostname_v1_t *);
nvmlReturn_t nvmlDeviceGetHostname_v1(nvmlDevice_t, nvmlHostname_v1_t *);
nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t, nvmlEnableState_t);
nvmlReturn_t nvmlDeviceSetDriverModel(nvmlDevice_t, nvmlDriverModel_t, unsigned int);
nvmlReturn_t nvmlDeviceGetCapabilities(nvmlDevice_t, nvmlDeviceCapabilities_t *);

/* Memory, utilization and processes. */

nvmlReturn_t nvmlDeviceGetDynamicPstatesInfo(nvmlDevice_t, nvmlGpuDynamicPstatesInfo_t *);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t *);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t, nvmlMemory_v2_t *);
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t, nvmlComputeMode_t *);
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t, nvmlUtilization_t *);
nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t, unsigned int *, unsigned int *);
nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t, unsigned int *, unsigned int *);
nvmlReturn_t nvmlDeviceGetJpgUtilization(nvmlDevice_t, unsigned int *, unsigned int *);
nvmlReturn_t nvmlDeviceGetOfaUtilization(nvmlDevice_t, unsigned int *, unsigned int *);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t, unsigned int *,
                                                  nvmlProcessInfo_v1_t *);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t, unsigned int *,
                                                     nvmlProcessInfo_v2_t *);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t, unsigned int *,
                                                     nvmlProcessInfo_t *);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t, unsigned int *,
                                                   nvmlProcessInfo_v1_t *);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t, unsigned int *,
                                                      nvmlProcessInfo_v2_t *);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t, unsigned int *,
                                                      nvmlProcessInfo_t *);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t, unsigned int *,
                                                     nvmlProcessInfo_v1_t *);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t, unsigned int *,
                                                        nvmlProcessInfo_v2_t *);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t, unsigned int *,
                                                        nvmlProcessInfo_t *);
nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t, nvmlProcessDetailList_t *);
nvmlReturn_t nvmlDeviceGetAPIRestriction(nvmlDevice_t, nvmlRestrictedAPI_t, nvmlEnableState_t *);
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t, nvmlSamplingType_t, unsigned long long,
                                  nvmlValueType_t *, unsigned int *, nvmlSample_t *);
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t, nvmlBAR1Memory_t *);
nvmlReturn_t nvmlDeviceGetAccountingMode(nvmlDevice_t, nvmlEnableState_t *);
nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t, unsigned int, nvmlAccountingStats_t *);
nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t, unsigned int *, unsigned int *);
nvmlReturn_t nvmlDeviceGetAccountingBufferSize(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t, nvmlProcessUtilizationSample_t *,
                                             unsigned int *, unsigned long long);
nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t, nvmlProcessesUtilizationInfo_t *);
nvmlReturn_t nvmlDeviceSetComputeMode(nvmlDevice_t, nvmlComputeMode_t);
nvmlReturn_t nvmlDeviceSetAPIRestriction(nvmlDevice_t, nvmlRestrictedAPI_t, nvmlEnableState_t);
nvmlReturn_t nvmlDeviceSetAccountingMode(nvmlDevice_t, nvmlEnableState_t);
nvmlReturn_t nvmlDeviceClearAccountingPids(nvmlDevice_t);

/* Fields by number. */

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t, int, nvmlFieldValue_t *);
nvmlReturn_t nvmlDeviceClearFieldValues(nvmlDevice_t, int, nvmlFieldValue_t *);

/* Affinity and topology. */

nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned int, unsigned int *, nvmlDevice_t *);
nvmlReturn_t nvmlDeviceGetC2cModeInfoV(nvmlDevice_t, nvmlC2cModeInfo_v1_t *);
nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t, unsigned int, unsigned long *,
                                         nvmlAffinityScope_t);
nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t, unsigned int, unsigned long *,
                                                 nvmlAffinityScope_t);
nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t, unsigned int, unsigned long *);
nvmlReturn_t nvmlDeviceSetCpuAffinity(nvmlDevice_t);
nvmlReturn_t nvmlDeviceClearCpuAffinity(nvmlDevice_t);
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t, nvmlDevice_t,
                                                 nvmlGpuTopologyLevel_t *);
nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t, nvmlGpuTopologyLevel_t, unsigned int *,
                                              nvmlDevice_t *);
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t, nvmlDevice_t, nvmlGpuP2PCapsIndex_t,
                                    nvmlGpuP2PStatus_t *);

/* PCI Express. */

nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t, nvmlPcieUtilCounter_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetPcieSpeed(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceModifyDrainState(nvmlPciInfo_t *, nvmlEnableState_t);
nvmlReturn_t nvmlDeviceQueryDrainState(nvmlPciInfo_t *, nvmlEnableState_t *);
nvmlReturn_t nvmlDeviceRemoveGpu(nvmlPciInfo_t *);
nvmlReturn_t nvmlDeviceRemoveGpu_v2(nvmlPciInfo_t *, nvmlDetachGpuState_t, nvmlPcieLinkState_t);
nvmlReturn_t nvmlDeviceDiscoverGpus(nvmlPciInfo_t *);

/* Clocks. */

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t, nvmlClockType_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t, nvmlClockType_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetGpcClkVfOffset(nvmlDevice_t, int *);
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t, nvmlClockType_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t, nvmlClockType_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t, nvmlClockType_t, nvmlClockId_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t, nvmlClockType_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t, unsigned int *, unsigned int *);
nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t, unsigned int, unsigned int *,
                                                  unsigned int *);
nvmlReturn_t nvmlDeviceGetAutoBoostedClocksEnabled(nvmlDevice_t, nvmlEnableState_t *,
                                                   nvmlEnableState_t *);
nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t, nvmlPstates_t *);
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t, unsigned long long *);
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t, unsigned long long *);
nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t, unsigned long long *);
nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t, unsigned long long *);
nvmlReturn_t nvmlDeviceGetMemClkVfOffset(nvmlDevice_t, int *);
nvmlReturn_t nvmlDeviceGetMinMaxClockOfPState(nvmlDevice_t, nvmlClockType_t, nvmlPstates_t,
                                              unsigned int *, unsigned int *);
nvmlReturn_t nvmlDeviceGetSupportedPerformanceStates(nvmlDevice_t, nvmlPstates_t *, unsigned int);
nvmlReturn_t nvmlDeviceGetGpcClkMinMaxVfOffset(nvmlDevice_t, int *, int *);
nvmlReturn_t nvmlDeviceGetMemClkMinMaxVfOffset(nvmlDevice_t, int *, int *);
nvmlReturn_t nvmlDeviceGetClockOffsets(nvmlDevice_t, nvmlClockOffset_t *);
nvmlReturn_t nvmlDeviceSetClockOffsets(nvmlDevice_t, nvmlClockOffset_t *);
nvmlReturn_t nvmlDeviceGetPerformanceModes(nvmlDevice_t, nvmlDevicePerfModes_t *);
nvmlReturn_t nvmlDeviceGetCurrentClockFreqs(nvmlDevice_t, nvmlDeviceCurrentClockFreqs_t *);
nvmlReturn_t nvmlDeviceGetAdaptiveClockInfoStatus(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetClkMonStatus(nvmlDevice_t, nvmlClkMonStatus_t *);
nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t, unsigned int, unsigned int);
nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t);
nvmlReturn_t nvmlDeviceSetMemoryLockedClocks(nvmlDevice_t, unsigned int, unsigned int);
nvmlReturn_t nvmlDeviceResetMemoryLockedClocks(nvmlDevice_t);
nvmlReturn_t nvmlDeviceSetApplicationsClocks(nvmlDevice_t, unsigned int, unsigned int);
nvmlReturn_t nvmlDeviceResetApplicationsClocks(nvmlDevice_t);
nvmlReturn_t nvmlDeviceSetAutoBoostedClocksEnabled(nvmlDevice_t, nvmlEnableState_t);
nvmlReturn_t nvmlDeviceSetDefaultAutoBoostedClocksEnabled(nvmlDevice_t, nvmlEnableState_t,
                                                          unsigned int);
nvmlReturn_t nvmlDeviceSetGpcClkVfOffset(nvmlDevice_t, int);
nvmlReturn_t nvmlDeviceSetMemClkVfOffset(nvmlDevice_t, int);

/* Power, heat, fans. */

nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t, unsigned int, unsigned int *);
nvmlReturn_t nvmlDeviceGetFanSpeedRPM(nvmlDevice_t, nvmlFanSpeedInfo_t *);
nvmlReturn_t nvmlDeviceGetTargetFanSpeed(nvmlDevice_t, unsigned int, unsigned int *);
nvmlReturn_t nvmlDeviceGetMinMaxFanSpeed(nvmlDevice_t, unsigned int *, unsigned int *);
nvmlReturn_t nvmlDeviceGetFanControlPolicy_v2(nvmlDevice_t, unsigned int, nvmlFanControlPolicy_t *);
nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetCoolerInfo(nvmlDevice_t, nvmlCoolerInfo_t *);
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t, nvmlTemperature_t *);
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t, nvmlTemperatureThresholds_t,
                                               unsigned int *);
nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t, nvmlMarginTemperature_t *);
nvmlReturn_t nvmlDeviceGetThermalSettings(nvmlDevice_t, unsigned int, nvmlGpuThermalSettings_t *);
nvmlReturn_t nvmlDeviceGetPowerState(nvmlDevice_t, nvmlPstates_t *);
nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t, nvmlEnableState_t *);
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t, unsigned int *,
                                                          unsigned int *);
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetPowerMizerMode_v1(nvmlDevice_t, nvmlDevicePowerMizerModes_v1_t *);
nvmlReturn_t nvmlDeviceSetPowerMizerMode_v1(nvmlDevice_t, nvmlDevicePowerMizerModes_v1_t *);
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t, unsigned long long *);
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetGpuOperationMode(nvmlDevice_t, nvmlGpuOperationMode_t *,
                                           nvmlGpuOperationMode_t *);
nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t, nvmlPerfPolicyType_t,
                                          nvmlViolationTime_t *);
nvmlReturn_t nvmlDeviceGetPowerSource(nvmlDevice_t, nvmlPowerSource_t *);
nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t, unsigned int);
nvmlReturn_t nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t, nvmlPowerValue_v2_t *);
nvmlReturn_t nvmlDeviceSetDefaultFanSpeed_v2(nvmlDevice_t, unsigned int);
nvmlReturn_t nvmlDeviceSetFanControlPolicy(nvmlDevice_t, unsigned int, nvmlFanControlPolicy_t);
nvmlReturn_t nvmlDeviceSetTemperatureThreshold(nvmlDevice_t, nvmlTemperatureThresholds_t, int *);
nvmlReturn_t nvmlDeviceSetGpuOperationMode(nvmlDevice_t, nvmlGpuOperationMode_t);
nvmlReturn_t nvmlDeviceSetFanSpeed_v2(nvmlDevice_t, unsigned int, unsigned int);
nvmlReturn_t nvmlDeviceSetNvLinkDeviceLowPowerThreshold(nvmlDevice_t, nvmlNvLinkPowerThres_t *);
nvmlReturn_t
nvmlDeviceWorkloadPowerProfileGetProfilesInfo(nvmlDevice_t,
                                              nvmlWorkloadPowerProfileProfilesInfo_t *);
nvmlReturn_t
nvmlDeviceWorkloadPowerProfileGetCurrentProfiles(nvmlDevice_t,
                                                 nvmlWorkloadPowerProfileCurrentProfiles_t *);
nvmlReturn_t
nvmlDeviceWorkloadPowerProfileSetRequestedProfiles(nvmlDevice_t,
                                                   nvmlWorkloadPowerProfileRequestedProfiles_t *);
nvmlReturn_t
nvmlDeviceWorkloadPowerProfileClearRequestedProfiles(nvmlDevice_t,
                                                     nvmlWorkloadPowerProfileRequestedProfiles_t *);
nvmlReturn_t nvmlDevicePowerSmoothingActivatePresetProfile(nvmlDevice_t,
                                                           nvmlPowerSmoothingProfile_t *);
nvmlReturn_t nvmlDevicePowerSmoothingUpdatePresetProfileParam(nvmlDevice_t,
                                                              nvmlPowerSmoothingProfile_t *);
nvmlReturn_t nvmlDevicePowerSmoothingSetState(nvmlDevice_t, nvmlPowerSmoothingState_t *);

/* Errors in memory. */

nvmlReturn_t nvmlDeviceGetRepairStatus(nvmlDevice_t, nvmlRepairStatus_t *);
nvmlReturn_t nvmlDeviceGetDramEncryptionMode(nvmlDevice_t, nvmlDramEncryptionInfo_t *,
                                             nvmlDramEncryptionInfo_t *);
nvmlReturn_t nvmlDeviceSetDramEncryptionMode(nvmlDevice_t, const nvmlDramEncryptionInfo_t *);
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t, nvmlEnableState_t *, nvmlEnableState_t *);
nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t, nvmlEnableState_t *);
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                                         unsigned long long *);
nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t, nvmlMemoryErrorType_t,
                                            nvmlEccCounterType_t, nvmlEccErrorCounts_t *);
nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t, nvmlMemoryErrorType_t,
                                             nvmlEccCounterType_t, nvmlMemoryLocation_t,
                                             unsigned long long *);
nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t, nvmlEccSramErrorStatus_t *);
nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t, nvmlPageRetirementCause_t, unsigned int *,
                                       unsigned long long *);
nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t, nvmlPageRetirementCause_t, unsigned int *,
                                          unsigned long long *, unsigned long long *);
nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t, nvmlEnableState_t *);
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t, unsigned int *, unsigned int *, unsigned int *,
                                       unsigned int *);
nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t, nvmlRowRemapperHistogramValues_t *);
nvmlReturn_t nvmlDeviceSetEccMode(nvmlDevice_t, nvmlEnableState_t);
nvmlReturn_t nvmlDeviceClearEccErrorCounts(nvmlDevice_t, nvmlEccCounterType_t);
nvmlReturn_t
nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts(nvmlDevice_t,
                                                 nvmlEccSramUniqueUncorrectedErrorCounts_t *);

/* NVLink and fabric. */

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t, nvmlGpuFabricInfo_t *);
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t, nvmlGpuFabricInfoV_t *);
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t, unsigned int, nvmlEnableState_t *);
nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t, unsigned int, unsigned int *);
nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t, unsigned int, nvmlNvLinkCapability_t,
                                           unsigned int *);
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t, unsigned int, nvmlPciInfo_t *);
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t, unsigned int, nvmlPciInfo_t *);
nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t, unsigned int, nvmlNvLinkErrorCounter_t,
                                             unsigned long long *);
nvmlReturn_t nvmlDeviceResetNvLinkErrorCounters(nvmlDevice_t, unsigned int);
nvmlReturn_t nvmlDeviceSetNvLinkUtilizationControl(nvmlDevice_t, unsigned int, unsigned int,
                                                   nvmlNvLinkUtilizationControl_t *, unsigned int);
nvmlReturn_t nvmlDeviceGetNvLinkUtilizationControl(nvmlDevice_t, unsigned int, unsigned int,
                                                   nvmlNvLinkUtilizationControl_t *);
nvmlReturn_t nvmlDeviceGetNvLinkUtilizationCounter(nvmlDevice_t, unsigned int, unsigned int,
                                                   unsigned long long *, unsigned long long *);
nvmlReturn_t nvmlDeviceFreezeNvLinkUtilizationCounter(nvmlDevice_t, unsigned int, unsigned int,
                                                      nvmlEnableState_t);
nvmlReturn_t nvmlDeviceResetNvLinkUtilizationCounter(nvmlDevice_t, unsigned int, unsigned int);
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t, unsigned int,
                                                 nvmlIntNvLinkDeviceType_t *);
nvmlReturn_t nvmlSystemSetNvlinkBwMode(unsigned int);
nvmlReturn_t nvmlSystemGetNvlinkBwMode(unsigned int *);
nvmlReturn_t nvmlDeviceGetNvlinkSupportedBwModes(nvmlDevice_t, nvmlNvlinkSupportedBwModes_t *);
nvmlReturn_t nvmlDeviceGetNvlinkBwMode(nvmlDevice_t, nvmlNvlinkGetBwMode_t *);
nvmlReturn_t nvmlDeviceSetNvlinkBwMode(nvmlDevice_t, nvmlNvlinkSetBwMode_t *);
nvmlReturn_t nvmlDeviceGetNvLinkInfo(nvmlDevice_t, nvmlNvLinkInfo_t *);

/* Events. */

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *);
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t, unsigned long long, nvmlEventSet_t);
nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t, unsigned long long *);
nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t, nvmlEventData_t *, unsigned int);
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t, nvmlEventData_t *, unsigned int);
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t);
nvmlReturn_t nvmlSystemEventSetCreate(nvmlSystemEventSetCreateRequest_t *);
nvmlReturn_t nvmlSystemEventSetFree(nvmlSystemEventSetFreeRequest_t *);
nvmlReturn_t nvmlSystemRegisterEvents(nvmlSystemRegisterEventRequest_t *);
nvmlReturn_t nvmlSystemEventSetWait(nvmlSystemEventSetWaitRequest_t *);

/* Encoder and frame buffer capture sessions. */

nvmlReturn_t nvmlDeviceGetEncoderCapacity(nvmlDevice_t, nvmlEncoderType_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetEncoderStats(nvmlDevice_t, unsigned int *, unsigned int *,
                                       unsigned int *);
nvmlReturn_t nvmlDeviceGetEncoderSessions(nvmlDevice_t, unsigned int *, nvmlEncoderSessionInfo_t *);
nvmlReturn_t nvmlDeviceGetFBCStats(nvmlDevice_t, nvmlFBCStats_t *);
nvmlReturn_t nvmlDeviceGetFBCSessions(nvmlDevice_t, unsigned int *, nvmlFBCSessionInfo_t *);

/* Instances of a divided GPU (MIG). */

nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t, unsigned int, nvmlReturn_t *);
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t, unsigned int *, unsigned int *);
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t, unsigned int,
                                                 nvmlGpuInstanceProfileInfo_t *);
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t, unsigned int,
                                                  nvmlGpuInstanceProfileInfo_v2_t *);
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t, unsigned int,
                                                      nvmlGpuInstanceProfileInfo_v2_t *);
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t, unsigned int,
                                                        nvmlGpuInstancePlacement_t *,
                                                        unsigned int *);
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t, unsigned int,
                                                           nvmlGpuInstancePlacement_t *,
                                                           unsigned int *);
nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t, unsigned int, unsigned int *);
nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t, unsigned int, nvmlGpuInstance_t *);
nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t, unsigned int,
                                                      const nvmlGpuInstancePlacement_t *,
                                                      nvmlGpuInstance_t *);
nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t);
nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t, unsigned int, nvmlGpuInstance_t *,
                                       unsigned int *);
nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t, unsigned int, nvmlGpuInstance_t *);
nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t, nvmlGpuInstanceInfo_t *);
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t, unsigned int,
                                                          unsigned int,
                                                          nvmlComputeInstanceProfileInfo_t *);
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvmlGpuInstance_t, unsigned int,
                                                           unsigned int,
                                                           nvmlComputeInstanceProfileInfo_v2_t *);
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t, unsigned int,
                                                                unsigned int *);
nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(nvmlGpuInstance_t, unsigned int,
                                                                 nvmlComputeInstancePlacement_t *,
                                                                 unsigned int *);
nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t, unsigned int,
                                                  nvmlComputeInstance_t *);
nvmlReturn_t
nvmlGpuInstanceCreateComputeInstanceWithPlacement(nvmlGpuInstance_t, unsigned int,
                                                  const nvmlComputeInstancePlacement_t *,
                                                  nvmlComputeInstance_t *);
nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t);
nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t, unsigned int,
                                                nvmlComputeInstance_t *, unsigned int *);
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t, unsigned int,
                                                   nvmlComputeInstance_t *);
nvmlReturn_t nvmlComputeInstanceGetInfo(nvmlComputeInstance_t, nvmlComputeInstanceInfo_t *);
nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t, nvmlComputeInstanceInfo_t *);
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t, unsigned int, nvmlDevice_t *);
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t, nvmlDevice_t *);

/* Virtual GPUs and their licences. */

nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t, nvmlGpuVirtualizationMode_t *);
nvmlReturn_t nvmlDeviceGetHostVgpuMode(nvmlDevice_t, nvmlHostVgpuMode_t *);
nvmlReturn_t nvmlDeviceSetVirtualizationMode(nvmlDevice_t, nvmlGpuVirtualizationMode_t);
nvmlReturn_t nvmlDeviceGetVgpuHeterogeneousMode(nvmlDevice_t, nvmlVgpuHeterogeneousMode_t *);
nvmlReturn_t nvmlDeviceSetVgpuHeterogeneousMode(nvmlDevice_t, const nvmlVgpuHeterogeneousMode_t *);
nvmlReturn_t nvmlVgpuInstanceGetPlacementId(nvmlVgpuInstance_t, nvmlVgpuPlacementId_t *);
nvmlReturn_t nvmlDeviceGetVgpuTypeSupportedPlacements(nvmlDevice_t, nvmlVgpuTypeId_t,
                                                      nvmlVgpuPlacementList_t *);
nvmlReturn_t nvmlDeviceGetVgpuTypeCreatablePlacements(nvmlDevice_t, nvmlVgpuTypeId_t,
                                                      nvmlVgpuPlacementList_t *);
nvmlReturn_t nvmlVgpuTypeGetGspHeapSize(nvmlVgpuTypeId_t, unsigned long long *);
nvmlReturn_t nvmlVgpuTypeGetFbReservation(nvmlVgpuTypeId_t, unsigned long long *);
nvmlReturn_t nvmlVgpuInstanceGetRuntimeStateSize(nvmlVgpuInstance_t, nvmlVgpuRuntimeState_t *);
nvmlReturn_t nvmlDeviceSetVgpuCapabilities(nvmlDevice_t, nvmlDeviceVgpuCapability_t,
                                           nvmlEnableState_t);
nvmlReturn_t nvmlDeviceGetGridLicensableFeatures(nvmlDevice_t, nvmlGridLicensableFeatures_t *);
nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v2(nvmlDevice_t, nvmlGridLicensableFeatures_t *);
nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v3(nvmlDevice_t, nvmlGridLicensableFeatures_t *);
nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t, nvmlGridLicensableFeatures_t *);
nvmlReturn_t nvmlGetVgpuDriverCapabilities(nvmlVgpuDriverCapability_t, unsigned int *);
nvmlReturn_t nvmlDeviceGetVgpuCapabilities(nvmlDevice_t, nvmlDeviceVgpuCapability_t,
                                           unsigned int *);
nvmlReturn_t nvmlDeviceGetSupportedVgpus(nvmlDevice_t, unsigned int *, nvmlVgpuTypeId_t *);
nvmlReturn_t nvmlDeviceGetCreatableVgpus(nvmlDevice_t, unsigned int *, nvmlVgpuTypeId_t *);
nvmlReturn_t nvmlVgpuTypeGetClass(nvmlVgpuTypeId_t, char *, unsigned int *);
nvmlReturn_t nvmlVgpuTypeGetName(nvmlVgpuTypeId_t, char *, unsigned int *);
nvmlReturn_t nvmlVgpuTypeGetGpuInstanceProfileId(nvmlVgpuTypeId_t, unsigned int *);
nvmlReturn_t nvmlVgpuTypeGetDeviceID(nvmlVgpuTypeId_t, unsigned long long *, unsigned long long *);
nvmlReturn_t nvmlVgpuTypeGetFramebufferSize(nvmlVgpuTypeId_t, unsigned long long *);
nvmlReturn_t nvmlVgpuTypeGetNumDisplayHeads(nvmlVgpuTypeId_t, unsigned int *);
nvmlReturn_t nvmlVgpuTypeGetResolution(nvmlVgpuTypeId_t, unsigned int, unsigned int *,
                                       unsigned int *);
nvmlReturn_t nvmlVgpuTypeGetLicense(nvmlVgpuTypeId_t, char *, unsigned int);
nvmlReturn_t nvmlVgpuTypeGetFrameRateLimit(nvmlVgpuTypeId_t, unsigned int *);
nvmlReturn_t nvmlVgpuTypeGetMaxInstances(nvmlDevice_t, nvmlVgpuTypeId_t, unsigned int *);
nvmlReturn_t nvmlVgpuTypeGetMaxInstancesPerVm(nvmlVgpuTypeId_t, unsigned int *);
nvmlReturn_t nvmlVgpuTypeGetBAR1Info(nvmlVgpuTypeId_t, nvmlVgpuTypeBar1Info_t *);
nvmlReturn_t nvmlDeviceGetActiveVgpus(nvmlDevice_t, unsigned int *, nvmlVgpuInstance_t *);
nvmlReturn_t nvmlVgpuInstanceGetVmID(nvmlVgpuInstance_t, char *, unsigned int,
                                     nvmlVgpuVmIdType_t *);
nvmlReturn_t nvmlVgpuInstanceGetUUID(nvmlVgpuInstance_t, char *, unsigned int);
nvmlReturn_t nvmlVgpuInstanceGetVmDriverVersion(nvmlVgpuInstance_t, char *, unsigned int);
nvmlReturn_t nvmlVgpuInstanceGetFbUsage(nvmlVgpuInstance_t, unsigned long long *);
nvmlReturn_t nvmlVgpuInstanceGetLicenseStatus(nvmlVgpuInstance_t, unsigned int *);
nvmlReturn_t nvmlVgpuInstanceGetType(nvmlVgpuInstance_t, nvmlVgpuTypeId_t *);
nvmlReturn_t nvmlVgpuInstanceGetFrameRateLimit(nvmlVgpuInstance_t, unsigned int *);
nvmlReturn_t nvmlVgpuInstanceGetEccMode(nvmlVgpuInstance_t, nvmlEnableState_t *);
nvmlReturn_t nvmlVgpuInstanceGetEncoderCapacity(nvmlVgpuInstance_t, unsigned int *);
nvmlReturn_t nvmlVgpuInstanceSetEncoderCapacity(nvmlVgpuInstance_t, unsigned int);
nvmlReturn_t nvmlVgpuInstanceGetEncoderStats(nvmlVgpuInstance_t, unsigned int *, unsigned int *,
                                             unsigned int *);
nvmlReturn_t nvmlVgpuInstanceGetEncoderSessions(nvmlVgpuInstance_t, unsigned int *,
                                                nvmlEncoderSessionInfo_t *);
nvmlReturn_t nvmlVgpuInstanceGetFBCStats(nvmlVgpuInstance_t, nvmlFBCStats_t *);
nvmlReturn_t nvmlVgpuInstanceGetFBCSessions(nvmlVgpuInstance_t, unsigned int *,
                                            nvmlFBCSessionInfo_t *);
nvmlReturn_t nvmlVgpuInstanceGetGpuInstanceId(nvmlVgpuInstance_t, unsigned int *);
nvmlReturn_t nvmlVgpuInstanceGetGpuPciId(nvmlVgpuInstance_t, char *, unsigned int *);
nvmlReturn_t nvmlVgpuTypeGetCapabilities(nvmlVgpuTypeId_t, nvmlVgpuCapability_t, unsigned int *);
nvmlReturn_t nvmlVgpuInstanceGetMdevUUID(nvmlVgpuInstance_t, char *, unsigned int);
nvmlReturn_t nvmlGpuInstanceGetCreatableVgpus(nvmlGpuInstance_t, nvmlVgpuTypeIdInfo_t *);
nvmlReturn_t nvmlVgpuTypeGetMaxInstancesPerGpuInstance(nvmlVgpuTypeMaxInstance_t *);
nvmlReturn_t nvmlGpuInstanceGetActiveVgpus(nvmlGpuInstance_t, nvmlActiveVgpuInstanceInfo_t *);
nvmlReturn_t nvmlGpuInstanceSetVgpuSchedulerState(nvmlGpuInstance_t, nvmlVgpuSchedulerState_t *);
nvmlReturn_t nvmlGpuInstanceGetVgpuSchedulerState(nvmlGpuInstance_t,
                                                  nvmlVgpuSchedulerStateInfo_t *);
nvmlReturn_t nvmlGpuInstanceGetVgpuSchedulerLog(nvmlGpuInstance_t, nvmlVgpuSchedulerLogInfo_t *);
nvmlReturn_t nvmlGpuInstanceGetVgpuTypeCreatablePlacements(nvmlGpuInstance_t,
                                                           nvmlVgpuCreatablePlacementInfo_t *);
nvmlReturn_t nvmlGpuInstanceGetVgpuHeterogeneousMode(nvmlGpuInstance_t,
                                                     nvmlVgpuHeterogeneousMode_t *);
nvmlReturn_t nvmlGpuInstanceSetVgpuHeterogeneousMode(nvmlGpuInstance_t,
                                                     const nvmlVgpuHeterogeneousMode_t *);
nvmlReturn_t nvmlVgpuInstanceGetMetadata(nvmlVgpuInstance_t, nvmlVgpuMetadata_t *, unsigned int *);
nvmlReturn_t nvmlDeviceGetVgpuMetadata(nvmlDevice_t, nvmlVgpuPgpuMetadata_t *, unsigned int *);
nvmlReturn_t nvmlGetVgpuCompatibility(nvmlVgpuMetadata_t *, nvmlVgpuPgpuMetadata_t *,
                                      nvmlVgpuPgpuCompatibility_t *);
nvmlReturn_t nvmlDeviceGetPgpuMetadataString(nvmlDevice_t, char *, unsigned int *);
nvmlReturn_t nvmlDeviceGetVgpuSchedulerLog(nvmlDevice_t, nvmlVgpuSchedulerLog_t *);
nvmlReturn_t nvmlDeviceGetVgpuSchedulerState(nvmlDevice_t, nvmlVgpuSchedulerGetState_t *);
nvmlReturn_t nvmlDeviceGetVgpuSchedulerCapabilities(nvmlDevice_t,
                                                    nvmlVgpuSchedulerCapabilities_t *);
nvmlReturn_t nvmlDeviceSetVgpuSchedulerState(nvmlDevice_t, nvmlVgpuSchedulerSetState_t *);
nvmlReturn_t nvmlGetVgpuVersion(nvmlVgpuVersion_t *, nvmlVgpuVersion_t *);
nvmlReturn_t nvmlSetVgpuVersion(nvmlVgpuVersion_t *);
nvmlReturn_t nvmlDeviceGetVgpuUtilization(nvmlDevice_t, unsigned long long, nvmlValueType_t *,
                                          unsigned int *, nvmlVgpuInstanceUtilizationSample_t *);
nvmlReturn_t nvmlDeviceGetVgpuInstancesUtilizationInfo(nvmlDevice_t,
                                                       nvmlVgpuInstancesUtilizationInfo_t *);
nvmlReturn_t nvmlDeviceGetVgpuProcessUtilization(nvmlDevice_t, unsigned long long, unsigned int *,
                                                 nvmlVgpuProcessUtilizationSample_t *);
nvmlReturn_t nvmlDeviceGetVgpuProcessesUtilizationInfo(nvmlDevice_t,
                                                       nvmlVgpuProcessesUtilizationInfo_t *);
nvmlReturn_t nvmlVgpuInstanceGetAccountingMode(nvmlVgpuInstance_t, nvmlEnableState_t *);
nvmlReturn_t nvmlVgpuInstanceGetAccountingPids(nvmlVgpuInstance_t, unsigned int *, unsigned int *);
nvmlReturn_t nvmlVgpuInstanceGetAccountingStats(nvmlVgpuInstance_t, unsigned int,
                                                nvmlAccountingStats_t *);
nvmlReturn_t nvmlVgpuInstanceClearAccountingPids(nvmlVgpuInstance_t);
nvmlReturn_t nvmlVgpuInstanceGetLicenseInfo(nvmlVgpuInstance_t, nvmlVgpuLicenseInfo_t *);
nvmlReturn_t nvmlVgpuInstanceGetLicenseInfo_v2(nvmlVgpuInstance_t, nvmlVgpuLicenseInfo_t *);

/* Confidential computing. */

nvmlReturn_t nvmlSystemGetConfComputeCapabilities(nvmlConfComputeSystemCaps_t *);
nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *);
nvmlReturn_t nvmlDeviceGetConfComputeMemSizeInfo(nvmlDevice_t, nvmlConfComputeMemSizeInfo_t *);
nvmlReturn_t nvmlSystemGetConfComputeGpusReadyState(unsigned int *);
nvmlReturn_t nvmlDeviceGetConfComputeProtectedMemoryUsage(nvmlDevice_t, nvmlMemory_t *);
nvmlReturn_t nvmlDeviceGetConfComputeGpuCertificate(nvmlDevice_t,
                                                    nvmlConfComputeGpuCertificate_t *);
nvmlReturn_t nvmlDeviceGetConfComputeGpuAttestationReport(nvmlDevice_t,
                                                          nvmlConfComputeGpuAttestationReport_t *);
nvmlReturn_t
nvmlSystemGetConfComputeKeyRotationThresholdInfo(nvmlConfComputeGetKeyRotationThresholdInfo_t *);
nvmlReturn_t nvmlDeviceSetConfComputeUnprotectedMemSize(nvmlDevice_t, unsigned long long);
nvmlReturn_t nvmlSystemSetConfComputeGpusReadyState(unsigned int);
nvmlReturn_t
nvmlSystemSetConfComputeKeyRotationThresholdInfo(nvmlConfComputeSetKeyRotationThresholdInfo_t *);
nvmlReturn_t nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_t *);

/* Units: the chassis of S-class systems. */

nvmlReturn_t nvmlUnitGetCount(unsigned int *);
nvmlReturn_t nvmlUnitGetHandleByIndex(unsigned int, nvmlUnit_t *);
nvmlReturn_t nvmlUnitGetUnitInfo(nvmlUnit_t, nvmlUnitInfo_t *);
nvmlReturn_t nvmlUnitGetLedState(nvmlUnit_t, nvmlLedState_t *);
nvmlReturn_t nvmlUnitGetPsuInfo(nvmlUnit_t, nvmlPSUInfo_t *);
nvmlReturn_t nvmlUnitGetTemperature(nvmlUnit_t, unsigned int, unsigned int *);
nvmlReturn_t nvmlUnitGetFanSpeedInfo(nvmlUnit_t, nvmlUnitFanSpeeds_t *);
nvmlReturn_t nvmlUnitGetDevices(nvmlUnit_t, unsigned int *, nvmlDevice_t *);
nvmlReturn_t nvmlUnitSetLedState(nvmlUnit_t, nvmlLedColor_t);

/* Performance metrics and registers. */

nvmlReturn_t nvmlDeviceReadWritePRM_v1(nvmlDevice_t, nvmlPRMTLV_v1_t *);
nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *);
nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t);
nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *);
nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t, nvmlGpmSample_t);
nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t, unsigned int, nvmlGpmSample_t);
nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t, nvmlGpmSupport_t *);
nvmlReturn_t nvmlGpmQueryIfStreamingEnabled(nvmlDevice_t, unsigned int *);
nvmlReturn_t nvmlGpmSetStreamingEnabled(nvmlDevice_t, unsigned int);
