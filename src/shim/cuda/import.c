/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/import.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "shim/cuda/orphan.h"
#include "shim/cuda/state.h"
#include "store/liveness.h"

/* Instead of a pin: somebody else of the session is charged; a thread of ours is about to be. */
#define WAITING UINT64_C(1)
#define CHARGING UINT64_C(2)

#define CHARGING_SLEEP_NS 20000

/*
 * A node of state.imports: key = name (0: none), count = references, extent = bytes, row, value =
 * the pin of its lock, or 0 without one, or WAITING or CHARGING; row = CHARGE_NO_DEVICE until it
 * was charged, or found to be somebody else's charge; id = number of its charge; pin = of the lock
 * of those who import. A node of state.import_keys: key = the driver's handle, id = its space,
 * value = the import. A node of state.exports: key = of the charge, id = its space, value = the pin
 * or 0.
 */

static uint64_t mix(uint64_t hash, uint64_t word)
{
        hash ^= word;
        hash *= UINT64_C(0xff51afd7ed558ccd);
        return hash ^ hash >> 32;
}

uint64_t import_name_bytes(const void *handle, size_t bytes)
{
        const unsigned char *at = handle;
        uint64_t hash = 1;
        uint64_t word;

        for (size_t i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
                memcpy(&word, at + i, sizeof(word));
                hash = mix(hash, word);
        }
        return hash | 1;
}

/* Descriptors of a device file all have its inode, so they say nothing. */
static bool describe(int fd, struct stat *ret)
{
        int saved = errno;
        bool is_good = fstat(fd, ret) == 0 && !S_ISCHR(ret->st_mode);

        errno = saved;
        return is_good;
}

uint64_t import_name_fd(int fd)
{
        struct stat status;

        if (!describe(fd, &status))
                return 0;
        return mix(mix(2, status.st_dev), status.st_ino) | 1;
}

uint64_t import_bytes_known(uint64_t name)
{
        uint64_t bytes = 0;

        if (!name || !load_relaxed(&state.exports_live))
                return 0;
        lock_take(&state.imports_lock);
        for (struct node *own = table_each(&state.exports, NULL); own && !bytes;
             own = table_each(&state.exports, own)) {
                if (own->extent == name)
                        bytes = charge_held((enum charge_space)own->id, own->key);
        }
        lock_drop(&state.imports_lock);
        return bytes;
}

static void unlock(uint64_t pin)
{
        if (pin > CHARGING)
                liveness_unlock((void *)(uintptr_t)pin);
}

static void set_value(struct node *import, uint64_t value)
{
        if (import->value == WAITING)
                add_relaxed(&state.imports_uncharged, -1u);
        import->value = value;
        if (value == WAITING)
                add_relaxed(&state.imports_uncharged, 1u);
}

/* Finds or makes the import; a new one has one reference and is nowhere yet. */
static struct node *hold(uint64_t name)
{
        struct node *node = NULL;
        bool is_new;

        lock_take(&state.imports_lock);
        if (name)
                node = table_find(&state.imports, name);
        is_new = !node;
        if (!node)
                node = table_node(&state.imports);
        if (node && is_new) {
                node->key = name;
                node->row = CHARGE_NO_DEVICE;
                node->id = ++state.imports_last_id;
                node->pin = name ? key_of(name_hold(name)) : 0;
                table_put(&state.imports, node);
        }
        if (node)
                node->count++;
        lock_drop(&state.imports_lock);
        return node;
}

/* True: the caller is to charge it. Waits while another thread does: if that one is refused, the
 * next tries. */
static bool is_mine_to_charge(struct node *import)
{
        for (;;) {
                bool is_charged, is_busy;

                lock_take(&state.imports_lock);
                is_charged = import->row >= 0;
                is_busy = import->value == CHARGING;
                if (!is_charged && !is_busy)
                        import->value = CHARGING;
                lock_drop(&state.imports_lock);
                if (is_charged || !is_busy)
                        return !is_charged;
                clock_sleep_ns(CHARGING_SLEEP_NS);
        }
}

/* A new import is charged, or waits for its turn. */
static CUresult charge_import(struct node *import, struct place place, uint64_t bytes)
{
        struct charge charge;
        bool is_free = true;
        void *pin = import->key ? name_lock(import->key, &is_free) : NULL;
        CUresult rc;

        is_free |= !import->pin;
        rc = reserve_at(&charge, place, is_free ? bytes : 0);
        if (rc != CUDA_SUCCESS) {
                unlock(key_of(pin));
                lock_take(&state.imports_lock);
                import->value = 0;
                lock_drop(&state.imports_lock);
                return rc;
        }
        charge.owner = 0;
        settle(&charge, rc, SPACE_IMPORT, import->id);
        lock_take(&state.imports_lock);
        import->extent = bytes;
        import->row = place.row;
        set_value(import, is_free ? key_of(pin) : WAITING);
        lock_drop(&state.imports_lock);
        return rc;
}

CUresult import_begin(struct node **ret, uint64_t name, struct place place, uint64_t bytes)
{
        struct node *import;
        CUresult rc = CUDA_SUCCESS;

        *ret = NULL;
        if (place.row == SESSION_NO_ROW)
                return refusal(place);
        if (place.row < 0)
                return CUDA_SUCCESS;
        import = hold(name);
        if (!import)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (is_mine_to_charge(import))
                rc = charge_import(import, place, bytes);
        if (rc == CUDA_SUCCESS)
                *ret = import;
        else
                import_end(import);
        return rc;
}

struct node *import_announce(uint64_t name)
{
        return name && session_state() == SESSION_ACTIVE ? hold(name) : NULL;
}

/* Under imports_lock: the memory is the driver's again, unless others of the session hold it: then
 * charge and lock stay. */
static void give_up(uint64_t name, uint64_t *take_pin, struct charge *take_charge)
{
        if (!take_charge->bytes || !name_is_held(name))
                return;
        orphan_make(name, *take_pin > CHARGING ? *take_pin : 0, take_charge);
        *take_pin = 0;
}

void import_end(struct node *import)
{
        struct charge charge;
        uint64_t pin = 0;

        if (!import)
                return;
        lock_take(&state.imports_lock);
        if (--import->count == 0) {
                pin = import->value;
                set_value(import, 0);
                unlock(import->pin);
                charge_take(&charge, SPACE_IMPORT, import->id);
                if (import->key)
                        give_up(import->key, &pin, &charge);
                charge_drop(&charge);
                table_remove(&state.imports, import);
                table_node_free(&state.imports, import);
        }
        lock_drop(&state.imports_lock);
        unlock(pin); /* after the charge: the next to be charged finds the room */
}

void import_keep(struct node *import, enum charge_space space, uint64_t key)
{
        struct node *node;

        if (!import)
                return;
        lock_take(&state.imports_lock);
        node = table_node(&state.import_keys);
        if (node) { /* without it the import stays charged until the process ends */
                node->key = key;
                node->id = space;
                node->value = key_of(import);
                table_put(&state.import_keys, node);
        }
        lock_drop(&state.imports_lock);
}

static struct node *find_kind(const struct table *table, uint64_t key, enum charge_space space)
{
        struct node *node = table_find(table, key);

        while (node && node->id != space)
                node = table_next(node);
        return node;
}

struct node *import_take(enum charge_space space, uint64_t key)
{
        struct node *import = NULL;
        struct node *node;

        lock_take(&state.imports_lock);
        node = find_kind(&state.import_keys, key, space);
        if (node) {
                import = (struct node *)(uintptr_t)node->value;
                table_remove(&state.import_keys, node);
                table_node_free(&state.import_keys, node);
        }
        lock_drop(&state.imports_lock);
        return import;
}

void import_export(uint64_t name, enum charge_space space, uint64_t key)
{
        bool is_free, is_known;
        struct node *node;
        void *pin;

        if (!name || session_state() != SESSION_ACTIVE)
                return;
        lock_take(&state.imports_lock);
        /* What was imported and is passed on is its importers' business: nothing of it is charged
         * here under `key`. */
        is_known =
                find_kind(&state.exports, key, space) || find_kind(&state.import_keys, key, space);
        lock_drop(&state.imports_lock);
        if (is_known)
                return;
        pin = name_lock(name, &is_free);
        if (!pin)
                return;
        lock_take(&state.imports_lock);
        node = table_node(&state.exports);
        if (node) {
                node->key = key;
                node->id = space;
                node->extent = name;
                node->value = key_of(pin);
                table_put(&state.exports, node);
                add_relaxed(&state.exports_live, 1u);
        }
        lock_drop(&state.imports_lock);
        if (!node)
                unlock(key_of(pin));
}

/* Under imports_lock: an import of the same memory, held by this process without a charge. */
static struct node *heir(uint64_t name)
{
        struct node *import = table_find(&state.imports, name);

        return import && import->value == WAITING ? import : NULL;
}

void import_unexport(enum charge_space space, uint64_t key, struct charge *charge)
{
        struct node *export = NULL;
        struct node *import = NULL;
        uint64_t name = 0;
        uint64_t pin = 0;

        if (!load_relaxed(&state.exports_live))
                return;
        lock_take(&state.imports_lock);
        export = find_kind(&state.exports, key, space);
        if (export) {
                pin = export->value;
                name = export->extent;
                import = heir(name);
                table_remove(&state.exports, export);
                table_node_free(&state.exports, export);
                add_relaxed(&state.exports_live, -1u);
        }
        if (import && charge->bytes) {
                set_value(import, pin);
                pin = 0;
                charge->owner = 0;
                charge_keep(charge, SPACE_IMPORT, import->id);
        } else if (export) {
                give_up(name, &pin, charge);
        }
        lock_drop(&state.imports_lock);
        unlock(pin); /* what is left of the charge is of memory that nobody else holds */
}

/* Takes the charge of an export of this context's; 0: there is none. Of others it looks too, since
 * only who takes a charge is told its owner. */
static uint64_t take_owned(uint32_t owner, enum charge_space *ret_space, struct charge *ret)
{
        uint64_t key = 0;

        lock_take(&state.imports_lock);
        for (struct node *export = table_each(&state.exports, NULL); export && !key;
             export = table_each(&state.exports, export)) {
                *ret_space = (enum charge_space) export->id;
                if (!charge_take(ret, *ret_space, export->key))
                        continue;
                if (ret->owner == owner)
                        key = export->key;
                else
                        charge_keep(ret, *ret_space, export->key);
        }
        lock_drop(&state.imports_lock);
        return key;
}

void import_owner_gone(uint32_t owner)
{
        enum charge_space space;
        struct charge charge;
        uint64_t key;

        if (!owner || !load_relaxed(&state.exports_live))
                return;
        while ((key = take_owned(owner, &space, &charge))) {
                import_unexport(space, key, &charge);
                charge_drop(&charge);
        }
}

/* Under imports_lock. */
static void claim(struct node *import)
{
        struct charge charge;
        bool is_free;
        void *pin = name_lock(import->key, &is_free);

        if (!is_free)
                return;
        /* The card holds it whether there is room or not. */
        if (!charge_force(&charge, (int)import->row, import->extent)) {
                unlock(key_of(pin));
                return;
        }
        charge_keep(&charge, SPACE_IMPORT, import->id);
        set_value(import, key_of(pin));
}

void import_claim(int row)
{
        if (!load_relaxed(&state.imports_uncharged))
                return;
        lock_take(&state.imports_lock);
        for (struct node *import = table_each(&state.imports, NULL); import;
             import = table_each(&state.imports, import)) {
                if (import->value == WAITING && (row < 0 || import->row == row))
                        claim(import);
        }
        lock_drop(&state.imports_lock);
}
