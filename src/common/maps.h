/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings of a process: /proc/PID/maps (proc(5)), whole line by whole line.
 *
 * A path can be far longer than PATH_MAX there (folders in folders, made by relative names), and
 * its owner chooses every character of it but the line's end. A reader that takes a line in parts
 * would take the later ones for lines of their own, with whatever numbers are written there.
 *
 *      scoped_maps struct maps maps = { 0 };
 *
 *      rc = maps_open(&maps, "self");
 *      while (rc == 0 && maps_next(&maps))
 *              ... maps.inode, maps.path ...
 *
 *      rc = maps_find(session->slots, &file)           // a file of our own by its address,
 *      rc = maps_has("4711", &file, "slots")           // and whether another process has it
 *
 * Keeps one line on the heap.
 */
#ifndef ALIQUOT_COMMON_MAPS_H
#define ALIQUOT_COMMON_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A file as all lists of mappings tell it. stat() may tell another device: btrfs, overlayfs. */
struct maps_file {
        uint64_t device, inode;
};

struct maps {
        FILE *file;
        char *line;
        size_t room;
        /* The mapping that maps_next() came to: of a file, since others have no inode. */
        uint64_t begin, end; /* addresses */
        uint64_t device, inode;
        const char *path; /* in `line`; with " (deleted)" behind it where that is so */
};

/* `pid` is a number or "self". 0, or why it cannot be read. */
int maps_open(struct maps *ret, const char *pid);

/* False at the end, and where the rest cannot be read: then ferror(maps->file). */
bool maps_next(struct maps *maps);

/* Whether the mapped file has this name, deleted or not. */
bool maps_is_named(const struct maps *maps, const char *name);

/* The file that this process has mapped at `address`. -ENOENT: none. */
int maps_find(const void *address, struct maps_file *ret);

/* 1: the process has mapped that file by that name; 0: it has not; -errno: it cannot be told. It
 * can keep us waiting (aside.h). */
int maps_has(const char *pid, const struct maps_file *file, const char *name);

/* Closes mappings that were opened, or are all zeroes. */
void maps_close(struct maps *maps);

#define scoped_maps __attribute__((cleanup(maps_close)))

#endif
