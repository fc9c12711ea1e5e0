/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that several rows of nvml.names share.
 *
 * `function` is the name of the exported function that was called, for the fail= rules. Any thread.
 */
#ifndef ALIQUOT_SIM_NVML_GIVE_H
#define ALIQUOT_SIM_NVML_GIVE_H

#include "sim/nvml/nvml.h"

/* In clock.c. */
nvmlReturn_t current_give(const char *function, nvmlDevice_t handle, nvmlClockType_t type,
                          unsigned *ret_mhz);
nvmlReturn_t application_give(const char *function, nvmlDevice_t handle, nvmlClockType_t type,
                              unsigned *ret_mhz);
nvmlReturn_t state_give(const char *function, nvmlDevice_t handle, nvmlPstates_t *ret_state);
nvmlReturn_t reasons_give(const char *function, nvmlDevice_t handle,
                          unsigned long long *ret_reasons);
nvmlReturn_t all_reasons_give(const char *function, nvmlDevice_t handle,
                              unsigned long long *ret_reasons);

/* In device.c. */
nvmlReturn_t count_get(const char *function, unsigned *ret_count);
nvmlReturn_t handle_by_index(const char *function, unsigned index, nvmlDevice_t *ret_handle);
nvmlReturn_t handle_by_pci(const char *function, const char *text, nvmlDevice_t *ret_handle);

/* In ecc.c. */
nvmlReturn_t retired_give(const char *function, nvmlDevice_t handle,
                          nvmlPageRetirementCause_t cause, unsigned *ret_count);

/* In event.c. */
nvmlReturn_t event_wait(const char *function, nvmlEventSet_t set, nvmlEventData_t *ret_event,
                        unsigned timeout_ms, bool has_instance);

/* In identity.c. */
nvmlReturn_t pci_give(const char *function, nvmlDevice_t handle, nvmlPciInfo_t *ret_info,
                      bool has_long_id);
nvmlReturn_t text_give(const char *function, nvmlDevice_t handle, char *ret, unsigned length,
                       const char *text);
nvmlReturn_t none_give(const char *function, unsigned *ret_count);

/* In init.c. */
nvmlReturn_t init_as(const char *function);

/* In link.c. */
nvmlReturn_t affinity_give(const char *function, nvmlDevice_t handle, unsigned words,
                           unsigned long *ret_set, unsigned long members);

/* In mig.c. */
nvmlReturn_t attributes_give(const char *function, nvmlDevice_t handle,
                             nvmlDeviceAttributes_t *ret);

/* In process.c. */
nvmlReturn_t nobody_give(const char *function, nvmlDevice_t handle, unsigned *count);

/* In sample.c. */
nvmlReturn_t idle_give(const char *function, nvmlDevice_t handle, unsigned *ret_percent,
                       unsigned *ret_period_us);

#endif
