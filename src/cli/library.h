/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens libaliquot.so in this command, to check that it loads and which real driver it finds, by
 * the same search as in programs.
 */
#ifndef ALIQUOT_CLI_LIBRARY_H
#define ALIQUOT_CLI_LIBRARY_H

#include "interpose/doctor.h"
#include "machine/cards.h"
#include "machine/installation.h"

struct own_library {
        __typeof__(aliquot_doctor_apis) *apis;
        __typeof__(aliquot_doctor_api) *api;
        __typeof__(aliquot_doctor_row) *row;
        __typeof__(aliquot_doctor_door) *door;
        __typeof__(aliquot_doctor_unknown) *unknown;
};

/* Loads Aliquot's library, which stays open until the command ends. */
int library_load(const struct installation *own, struct own_library *ret, struct error *err);

/* Returns the properties of "cuda" or "nvml". False: the library has no such API. */
bool library_api(const struct own_library *library, const char *name, struct doctor_api *ret);

/* Lists the cards, from the NVML library that ours has opened. Its functions are called without
 * hooks, so even a command inside a session sees the whole cards. -ENOENT: no NVML on this machine.
 * -EIO: NVML does not work. */
int library_cards(const struct own_library *library, struct cards *ret, struct error *err);

#endif
