/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the mappings of a process, /proc/PID/maps (proc(5)), one whole line at a time.
 *
 * A path in that file can be far longer than PATH_MAX (nested folders made with relative names),
 * and the owner of the mapped file chooses every character of it except the newline. A reader that
 * splits a long line would take the later parts for lines, with whatever numbers the path contains.
 *
 *      scoped_maps struct maps maps = { 0 };
 *
 *      rc = maps_open(&maps, "self");
 *      while (rc == 0 && maps_next(&maps))
 *              ... maps.inode, maps.path ...
 *
 *      rc = maps_find(session->slots, &file)      // which file this process maps at an address
 *      rc = maps_has("4711", &file, "slots")      // whether another process maps that file
 *
 * One line at a time is on the heap.
 */
#ifndef ALIQUOT_COMMON_MAPS_H
#define ALIQUOT_COMMON_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Identifies a file by the numbers in /proc/PID/maps. stat() may report another device number for
 * it (btrfs, overlayfs). */
struct maps_file {
        uint64_t device, inode;
};

struct maps {
        FILE *file;
        char *line;
        size_t room;
        /* The mapping that maps_next() found. It is always of a file; other mappings are
         * skipped. */
        uint64_t begin, end; /* addresses */
        uint64_t device, inode;
        const char *path; /* part of `line`; ends in " (deleted)" if the file was deleted */
};

/* Opens the list of mappings of process `pid`, a number or "self". Returns 0, or a negative errno
 * if the list cannot be read. */
int maps_open(struct maps *ret, const char *pid);

/* Reads up to the next mapping of a file. False: the end, or the rest cannot be read (then
 * ferror(maps->file) is set). */
bool maps_next(struct maps *maps);

/* Whether the last part of the mapped file's path is `name`, even if the file was deleted. */
bool maps_is_named(const struct maps *maps, const char *name);

/* Finds the file that this process maps at `address`. -ENOENT: no file is mapped there. */
int maps_find(const void *address, struct maps_file *ret);

/* Whether the process `pid` maps `file` under the file name `name`. 1: yes; 0: no; -errno: unknown.
 * That process can make this call block (aside.h). */
int maps_has(const char *pid, const struct maps_file *file, const char *name);

/* Closes the list. A struct of all zeroes is allowed. */
void maps_close(struct maps *maps);

#define scoped_maps __attribute__((cleanup(maps_close)))

#endif
