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

/* Two bits of a name: it is one; its size is stated. */
#define NAMED UINT64_C(1)
#define STATED UINT64_C(2)

/*
 * A node of state.imports: key = name (0: none), count = references, extent = bytes, the greatest
 * so far, row, value = the pin of its lock, or 0 without one, or WAITING or CHARGING; row =
 * CHARGE_NO_DEVICE until it was charged, or found to be somebody else's charge; id = number of its
 * charge; pin = of the lock of those who import. A node of state.import_keys: key = the driver's
 * handle, id = its space, value = the import. A node of state.exports: key = of the charge, id =
 * its space, value = the pin or 0.
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
        return (hash & ~STATED) | NAMED;
}

uint64_t import_name_fabric(const void *handle, size_t bytes)
{
        return import_name_bytes(handle, bytes) | STATED;
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
        return mix(mix(2, status.st_dev), status.st_ino) | NAMED | STATED;
}

uint64_t import_bytes_known(uint64_t name)
{
        uint64_t bytes = 0;

        if (!name || !load_relaxed(&state.exports_live))
                return 0;
        lock_take(&state.imports_lock);
        for (struct table_node *own = table_each(&state.exports, NULL); own && !bytes;
             own = table_each(&state.exports, own)) {
                if (own->extent == name)
                        bytes = charge_held((enum charge_space)own->id, own->key);
        }
        lock_drop(&state.imports_lock);
        return bytes;
}

/* What whoever is charged locks. */
static uint64_t charge_name(uint64_t name, uint64_t bytes)
{
        return name & STATED ? mix(name, bytes) : name;
}

static void unlock(uint64_t pin)
{
        if (pin > CHARGING)
                liveness_unlock((void *)(uintptr_t)pin);
}

static void set_value(struct table_node *import, uint64_t value)
{
        if (import->value == WAITING)
                add_relaxed(&state.imports_uncharged, -1u);
        import->value = value;
        if (value == WAITING)
                add_relaxed(&state.imports_uncharged, 1u);
}

/* Finds or makes the import; a new one has one reference and is nowhere yet. */
static struct table_node *hold(uint64_t name)
{
        struct table_node *node = NULL;
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

/* The driver tells the size: what was charged first is all of it. */
static bool is_told(const struct table_node *import)
{
        return import->key && !(import->key & STATED);
}

/* True: the caller is to charge it. Waits while another thread does: if that one is refused, the
 * next tries. `ret` and `place` are what the import was charged with until now, and where. */
static bool is_mine_to_charge(struct table_node *import, struct import_growth *ret,
                              struct place *place)
{
        for (;;) {
                bool is_charged, is_busy;

                lock_take(&state.imports_lock);
                is_charged = import->row >= 0 && (import->extent >= ret->bytes || is_told(import));
                is_busy = import->value == CHARGING;
                if (!is_charged && !is_busy) {
                        ret->import = import;
                        ret->before = import->value;
                        set_value(import, CHARGING);
                        if (import->row >= 0)
                                place->row = (int)import->row;
                }
                lock_drop(&state.imports_lock);
                if (is_charged || !is_busy)
                        return !is_charged;
                clock_sleep_ns(CHARGING_SLEEP_NS);
        }
}

CUresult import_grow(struct import_growth *ret, struct table_node *import, struct place place,
                     uint64_t bytes)
{
        bool is_free = true;
        uint64_t held;
        CUresult rc;

        *ret = (struct import_growth){ .bytes = bytes };
        if (place.row == SESSION_NO_ROW)
                return refusal(place);
        if (place.row < 0)
                return CUDA_SUCCESS;
        if (!import)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (!is_mine_to_charge(import, ret, &place))
                return CUDA_SUCCESS;
        if (import->key)
                ret->pin = key_of(name_lock(charge_name(import->key, bytes), &is_free));
        ret->is_charged = is_free || !import->pin;
        held = charge_held(SPACE_IMPORT, import->id);
        rc = reserve_at(&ret->more, place, ret->is_charged ? bytes - held : 0);
        return rc == CUDA_SUCCESS ? rc : import_settle(ret, rc);
}

CUresult import_settle(struct import_growth *growth, CUresult rc)
{
        struct table_node *import = growth->import;
        uint64_t pin = 0;
        struct charge charge = { .device = CHARGE_NO_DEVICE };

        if (!import)
                return rc;
        lock_take(&state.imports_lock);
        if (rc == CUDA_SUCCESS) {
                pin = growth->before;
                if (growth->more.is_reserved)
                        import->row = growth->more.device;
                import->extent = growth->bytes;
                charge_take(&charge, SPACE_IMPORT, import->id);
                if (growth->is_charged)
                        charge_join(&growth->more, &charge);
                growth->more.owner = 0;
                charge_keep(&growth->more, SPACE_IMPORT, import->id);
                set_value(import, growth->is_charged ? growth->pin : WAITING);
        } else {
                charge_drop(&growth->more);
                unlock(growth->pin); /* first: who is next must not find us charged */
                set_value(import, growth->before);
        }
        charge_drop(&charge);
        lock_drop(&state.imports_lock);
        unlock(pin); /* after the charge: the next to be charged finds the room */
        growth->import = NULL;
        return rc;
}

CUresult import_begin(struct table_node **ret, uint64_t name, struct place place, uint64_t bytes)
{
        struct import_growth growth;
        struct table_node *import = place.row >= 0 ? hold(name) : NULL;
        CUresult rc = import_grow(&growth, import, place, bytes);

        rc = import_settle(&growth, rc);
        *ret = rc == CUDA_SUCCESS ? import : NULL;
        if (rc != CUDA_SUCCESS)
                import_end(import);
        return rc;
}

struct table_node *import_announce(uint64_t name)
{
        return session_state() == SESSION_ACTIVE ? hold(name) : NULL;
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

void import_end(struct table_node *import)
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

void import_keep(struct table_node *import, enum charge_space space, uint64_t key)
{
        struct table_node *node;

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

static struct table_node *find_kind(const struct handle_table *table, uint64_t key,
                                    enum charge_space space)
{
        struct table_node *node = table_find(table, key);

        while (node && node->id != space)
                node = table_next(node);
        return node;
}

struct table_node *import_take(enum charge_space space, uint64_t key)
{
        struct table_node *import = NULL;
        struct table_node *node;

        lock_take(&state.imports_lock);
        node = find_kind(&state.import_keys, key, space);
        if (node) {
                import = (struct table_node *)(uintptr_t)node->value;
                table_remove(&state.import_keys, node);
                table_node_free(&state.import_keys, node);
        }
        lock_drop(&state.imports_lock);
        return import;
}

struct table_node *import_find(enum charge_space space, uint64_t key)
{
        struct table_node *node;

        lock_take(&state.imports_lock);
        node = find_kind(&state.import_keys, key, space);
        lock_drop(&state.imports_lock);
        return node ? (struct table_node *)(uintptr_t)node->value : NULL;
}

void import_export(uint64_t name, enum charge_space space, uint64_t key)
{
        bool is_free, is_known;
        struct table_node *node;
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
        pin = name_lock(charge_name(name, charge_held(space, key)), &is_free);
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
static struct table_node *heir(uint64_t name, uint64_t bytes)
{
        struct table_node *import = table_find(&state.imports, name);
        bool is_heir = import && import->value == WAITING;

        return is_heir && (!(name & STATED) || import->extent == bytes) ? import : NULL;
}

void import_unexport(enum charge_space space, uint64_t key, struct charge *charge)
{
        struct table_node *export = NULL;
        struct table_node *import = NULL;
        uint64_t name = 0;
        uint64_t pin = 0;

        if (!load_relaxed(&state.exports_live))
                return;
        lock_take(&state.imports_lock);
        export = find_kind(&state.exports, key, space);
        if (export) {
                pin = export->value;
                name = export->extent;
                import = heir(name, charge->bytes);
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
        for (struct table_node *export = table_each(&state.exports, NULL); export && !key;
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
static void claim(struct table_node *import)
{
        struct charge charge;
        bool is_free;
        void *pin = name_lock(charge_name(import->key, import->extent), &is_free);

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
        for (struct table_node *import = table_each(&state.imports, NULL); import;
             import = table_each(&state.imports, import)) {
                if (import->value == WAITING && (row < 0 || import->row == row))
                        claim(import);
        }
        lock_drop(&state.imports_lock);
}
