/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory held by several processes; see share.h. All changes are made under node.lock and then the
 * device's lock.
 *
 * An exported descriptor is an open file STATE_DIR/export-ID with a shared flock. The flock belongs
 * to the open file description, which is passed to other processes with the descriptor; the flock
 * ends with the last copy of the descriptor. If an exclusive flock succeeds, no process has such a
 * descriptor.
 */
#include "sim/node/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/scoped.h"
#include "sim/node/clock.h"
#include "sim/node/node_internal.h"

#define EXPORT_TEXT "aliquot-sim export %llu\n"

static void path_make(char *ret, size_t bytes, const char *what, uint64_t id)
{
        snprintf(ret, bytes, "%s/%s-%llu", life_state_dir(), what, (unsigned long long)id);
}

static struct node_object *object_find(struct sim_node *node, uint64_t id)
{
        for (unsigned i = 0; id && i < node->object_high; i++) {
                if (node->object[i].id == id)
                        return &node->object[i];
        }
        return NULL;
}

static struct sim_holder *holder_find(struct node_object *object, unsigned row, unsigned generation)
{
        for (unsigned i = 0; i < object->holder_count; i++) {
                if (object->holder[i].row == row && object->holder[i].generation == generation)
                        return &object->holder[i];
        }
        return NULL;
}

/* Finds another holder that can carry the object's bytes: one of the tag, or (tag < 0) one that
 * already carries them for its own tag. */
static struct sim_holder *heir_find(struct sim_node *node, struct node_object *object,
                                    const struct sim_holder *leaver, int tag)
{
        for (unsigned i = 0; i < object->holder_count; i++) {
                struct sim_holder *other = &object->holder[i];

                if (other == leaver)
                        continue;
                if (tag >= 0 ? node->row[other->row].tag == (unsigned)tag : other->is_carrying)
                        return other;
        }
        return NULL;
}

static bool is_exported(uint64_t id)
{
        char path[320];

        path_make(path, sizeof(path), "export", id);
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

static void object_end(struct node_object *object)
{
        char path[320];

        path_make(path, sizeof(path), "object", object->id);
        unlink(path);
        path_make(path, sizeof(path), "export", object->id);
        unlink(path);
        object->is_afloat = 0;
        object->id = 0;
}

/* Removes the bytes of a carrying holder from its column. The device's own count is not changed. */
static void column_take(struct sim_node *node, const struct node_object *object,
                        const struct sim_holder *holder)
{
        struct node_column *column = &node->column[object->device][holder->row];

        if (column->state == COLUMN_UNUSED)
                return;
        column->granted_bytes[holder->family] -= object->bytes;
        column->current_bytes -= object->bytes;
        if (holder->is_borrowed)
                column->borrowed_bytes -= object->bytes;
        if (column->state == COLUMN_LIVE)
                node->tag[node->row[holder->row].tag].column[object->device].current_bytes -=
                        object->bytes;
}

static void column_put(struct sim_node *node, const struct node_object *object,
                       struct sim_holder *holder)
{
        struct node_column *column = &node->column[object->device][holder->row];

        holder->is_carrying = 1;
        column->state = COLUMN_LIVE;
        column->seen_ns = sim_now_ns();
        column->granted_bytes[holder->family] += object->bytes;
        column->current_bytes += object->bytes;
        if (column->current_bytes > column->high_bytes)
                column->high_bytes = column->current_bytes;
        if (holder->is_borrowed)
                column->borrowed_bytes += object->bytes;
        node->tag[node->row[holder->row].tag].column[object->device].current_bytes += object->bytes;
}

/* Removes a holder. If it carried the object's bytes, another holder carries them from then on. The
 * caller holds the device's lock. */
static void holder_remove(struct sim_node *node, struct node_object *object,
                          struct sim_holder *leaver)
{
        struct node_device *device = &node->device[object->device];
        struct node_column *column = &node->column[object->device][leaver->row];

        if (leaver->is_carrying) {
                /* If the holder is dead and its column has drained, the device no longer counts the
                 * bytes. */
                bool is_drained = column->state == COLUMN_UNUSED ||
                                  node->row[leaver->row].generation != leaver->generation;
                bool is_physical = !leaver->is_borrowed;
                struct sim_holder *heir =
                        heir_find(node, object, leaver, (int)node->row[leaver->row].tag);

                if (!is_drained)
                        column_take(node, object, leaver);
                if (is_drained && is_physical)
                        device->used_bytes += object->bytes;
                if (heir) {
                        heir->family = FAMILY_IMPORT;
                        heir->is_borrowed = leaver->is_borrowed;
                        column_put(node, object, heir);
                } else if (is_physical) {
                        heir = heir_find(node, object, leaver, -1);
                        if (heir) {
                                heir->is_borrowed = 0;
                                node->column[object->device][heir->row].borrowed_bytes -=
                                        object->bytes;
                        } else if (is_exported(object->id)) {
                                object->is_afloat = 1;
                        } else {
                                device->used_bytes -= object->bytes;
                        }
                }
        }
        *leaver = object->holder[--object->holder_count];
}

/* Ends the object if it has no holders and no exported descriptors. Returns true if it ended. The
 * caller holds the device's lock. */
static bool object_end_if_unused(struct sim_node *node, struct node_object *object)
{
        if (object->holder_count > 0)
                return false;
        if (object->is_afloat) {
                if (is_exported(object->id))
                        return false;
                node->device[object->device].used_bytes -= object->bytes;
        }
        object_end(object);
        return true;
}

void share_settle(struct sim_node *node)
{
        for (unsigned i = 0; i < node->object_high; i++) {
                struct node_object *object = &node->object[i];

                if (!object->id)
                        continue;
                node_device_lock(node, object->device);
                for (unsigned h = 0; h < object->holder_count;) {
                        struct sim_holder *holder = &object->holder[h];

                        if (node->row[holder->row].generation == holder->generation &&
                            node_row_is_alive(node, holder->row)) {
                                h++;
                                continue;
                        }
                        life_settle_device(node, object->device, -1);
                        holder_remove(node, object, holder);
                }
                object_end_if_unused(node, object);
                node_device_unlock(node, object->device);
        }
}

/* Gives the backing file a name, with which other processes can open it. */
static bool backing_name(uint64_t id, int fd)
{
        static _Atomic uint32_t is_told;
        char path[320], source[64];

        path_make(path, sizeof(path), "object", id);
        snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
        if (linkat(AT_FDCWD, source, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
                return true;
        if (errno == EXDEV && !swap_acq_rel(&is_told, 1))
                fprintf(stderr,
                        "aliquot-sim: memory cannot be shared with other processes: the file "
                        "system of %s is too small to hold it\n",
                        life_state_dir());
        return false;
}

/* Returns an unused object entry, or NULL. The caller holds node.lock. */
static struct node_object *object_free(struct sim_node *node)
{
        struct node_object *object = node->object;

        while (object < &node->object[node->object_high] && object->id != 0)
                object++;
        if (object < &node->object[node->object_high])
                return object;
        if (node->object_high == NODE_OBJECTS || node_reserve(node, object, sizeof(*object)) < 0)
                return NULL;
        node->object_high++;
        return object;
}

/* Fills in an object, whose first holder is the calling process. The id is stored last, because
 * readers take an entry with an id as complete. */
static void object_begin(struct node_object *object, uint64_t id, const struct share_plan *plan)
{
        const struct node_row *row = node_self();

        memset(object, 0, sizeof(*object));
        object->bytes = plan->counted_bytes;
        object->offset = plan->offset;
        object->length = plan->length;
        object->device = plan->device;
        object->maker_row = (uint32_t)(row - node_get()->row);
        object->maker_generation = row->generation;
        object->holder_count = 1;
        object->holder[0] = (struct sim_holder){ .row = object->maker_row,
                                                 .generation = row->generation,
                                                 .references = 1,
                                                 .family = plan->family,
                                                 .is_carrying = 1 };
        object->id = id;
}

uint64_t share_make(const struct share_plan *plan)
{
        struct sim_node *node = node_get();
        struct node_object *object;
        uint64_t id = add_relaxed(&node->next_id, 1) + 1;
        char path[320];

        if (plan->length > 0 && (plan->fd < 0 || !backing_name(id, plan->fd)))
                return 0;
        node_lock(node);
        object = object_free(node);
        if (object)
                object_begin(object, id, plan);
        pthread_mutex_unlock(&node->lock);
        if (object)
                return id;
        path_make(path, sizeof(path), "object", id);
        unlink(path);
        return 0;
}

/* Adds this process as a holder. The caller holds node.lock and the device's lock. */
static enum share_result holder_add(struct sim_node *node, struct node_object *object)
{
        struct node_row *row = node_self();
        unsigned self = (unsigned)(row - node->row);
        struct sim_holder *holder = holder_find(object, self, row->generation);

        if (holder) {
                holder->references++;
                return SHARE_OK;
        }
        if (object->holder_count == NODE_HOLDERS)
                return SHARE_FULL;
        bool is_carried = heir_find(node, object, NULL, (int)row->tag) != NULL;
        holder = &object->holder[object->holder_count++];
        *holder = (struct sim_holder){ .row = self,
                                       .generation = row->generation,
                                       .references = 1,
                                       .family = FAMILY_IMPORT,
                                       .is_borrowed = !object->is_afloat };
        if (!is_carried) {
                struct node_tag_column *tag = &node->tag[row->tag].column[object->device];

                object->is_afloat = 0;
                if (tag->current_bytes + object->bytes > tag->high_bytes)
                        life_settle_device(node, object->device, (int)row->tag);
                column_put(node, object, holder);
                if (tag->current_bytes > tag->high_bytes)
                        tag->high_bytes = tag->current_bytes;
        }
        return SHARE_OK;
}

enum share_result share_open(uint64_t id, bool is_foreign_only, struct share_view *ret)
{
        struct sim_node *node = node_get();
        struct node_row *row = node_self();
        enum share_result result = SHARE_GONE;
        char path[320];

        path_make(path, sizeof(path), "object", id);
        scoped_fd int fd = open(path, O_RDWR | O_CLOEXEC);
        node_lock(node);
        share_settle(node);
        struct node_object *object = object_find(node, id);
        if (object && object->length > 0 && fd < 0)
                object = NULL;
        if (object && is_foreign_only && object->maker_row == (unsigned)(row - node->row) &&
            object->maker_generation == row->generation) {
                result = SHARE_OWN;
        } else if (object) {
                node_device_lock(node, object->device);
                result = holder_add(node, object);
                node_device_unlock(node, object->device);
        }
        if (result == SHARE_OK)
                *ret = (struct share_view){ .id = id,
                                            .length = object->length,
                                            .offset = object->offset,
                                            .device = object->device,
                                            .fd = steal_fd(&fd) };
        pthread_mutex_unlock(&node->lock);
        return result;
}

bool share_close(uint64_t id)
{
        struct sim_node *node = node_get();
        struct node_row *row = node_self();
        bool is_gone = true;

        node_lock(node);
        share_settle(node);
        struct node_object *object = object_find(node, id);
        if (object) {
                unsigned device = object->device;

                node_device_lock(node, device);
                struct sim_holder *holder =
                        holder_find(object, (unsigned)(row - node->row), row->generation);
                if (holder && --holder->references == 0)
                        holder_remove(node, object, holder);
                is_gone = object_end_if_unused(node, object);
                node_device_unlock(node, device);
        }
        pthread_mutex_unlock(&node->lock);
        return is_gone;
}

bool share_exists(uint64_t id)
{
        struct sim_node *node = node_get();

        node_lock(node);
        share_settle(node);
        bool is_found = object_find(node, id) != NULL;
        pthread_mutex_unlock(&node->lock);
        return is_found;
}

int share_descriptor(uint64_t id)
{
        char path[320], text[64];
        int length = snprintf(text, sizeof(text), EXPORT_TEXT, (unsigned long long)id);

        path_make(path, sizeof(path), "export", id);
        scoped_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || pwrite(fd, text, (size_t)length, 0) != length || flock(fd, LOCK_SH) < 0)
                return -1;
        return steal_fd(&fd);
}

uint64_t share_of_descriptor(int fd)
{
        char text[64];
        unsigned long long id;
        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

        if (n <= 0)
                return 0;
        text[n] = '\0';
        return sscanf(text, EXPORT_TEXT, &id) == 1 ? id : 0;
}
