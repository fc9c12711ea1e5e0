/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the mappings of a process, /proc/PID/maps (proc(5)), one whole line at a time.
 *
 * A path there can be far longer than PATH_MAX (nested folders made with relative names), and its
 * owner chooses every character except the newline. A reader that splits a line would take the
 * later parts for lines of their own, with whatever numbers are written there.
 *
 *      scoped_maps struct maps maps = { 0 };
 *
 *      rc = maps_open(&maps, "self");
 *      while (rc == 0 && maps_next(&maps))
 *              ... maps.inode, maps.path ...
 *
 *      rc = maps_find(session->slots, &file)           // a file of this process, by its address
 *      rc = maps_has("4711", &file, "slots")           // whether another process maps it
 *
 * Keeps one line on the heap.
 */
#ifndef ALIQUOT_COMMON_MAPS_H
#define ALIQUOT_COMMON_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A file as lists of mappings show it. stat() may report another device: btrfs, overlayfs. */
struct maps_file {
        uint64_t device, inode;
};

struct maps {
        FILE *file;
        char *line;
        size_t room;
        /* The mapping that maps_next() found: always of a file, since others have no inode. */
        uint64_t begin, end; /* addresses */
        uint64_t device, inode;
        const char *path; /* in `line`; ends in " (deleted)" if the file was */
};

/* `pid` is a number or "self". Returns 0, or a negative errno if the list cannot be read. */
int maps_open(struct maps *ret, const char *pid);

/* False at the end, and if the rest cannot be read: then ferror(maps->file) is set. */
bool maps_next(struct maps *maps);

/* Whether the mapped file has this name, deleted or not. */
bool maps_is_named(const struct maps *maps, const char *name);

/* The file that this process maps at `address`. -ENOENT: none. */
int maps_find(const void *address, struct maps_file *ret);

/* 1: the process maps that file by that name; 0: it does not; -errno: unknown. The target process
 * can make this call block (aside.h). */
int maps_has(const char *pid, const struct maps_file *file, const char *name);

/* Ends maps_open(); all zeroes are allowed. */
void maps_close(struct maps *maps);

#define scoped_maps __attribute__((cleanup(maps_close)))

#endif
