/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/charge/import.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/cuda/charge/orphan.h"
#include "shim/cuda/charge/reserve.h"
#include "shim/cuda/state/imports.h"
#include "shim/cuda/stream/access.h"
#include "store/liveness.h"

#define CHARGING_SLEEP_NS 20000

/* Flag bits of a name. NAMED: set in every name, so a name is not 0. STATED: the program states the
 * memory's size. */
#define NAMED UINT64_C(1)
#define STATED UINT64_C(2)

enum import_state {
        IMPORT_SETTLED,  /* charged, or does not need a charge yet */
        IMPORT_WAITING,  /* not charged: another process of the session is */
        IMPORT_CHARGING, /* a thread of this process is about to charge it */
};

/* Imported memory with one name, or without a name. Guarded by imports_lock. */
struct memory_import {
        struct table_link link; /* key: the name; 0: none */
        uint64_t references;
        uint64_t number; /* key of the charge, in SPACE_IMPORT */
        uint64_t bytes;  /* the greatest size so far */
        /* CHARGE_NO_DEVICE until this process was charged, or found that another process is
         * charged. */
        int row;
        enum import_state state;
        void *charge_lock; /* lock of the charged process, or NULL; always NULL in IMPORT_WAITING */
        void *hold_lock;   /* lock of an importing process, or NULL */
};

/* Finds an import by the address or handle that the driver gave for it. Guarded by imports_lock. */
struct import_handle {
        struct table_link link; /* key: the address or handle */
        enum charge_space space;
        struct memory_import *import;
};

/* Memory of this process that it made shareable. Guarded by imports_lock. */
struct memory_export {
        struct table_link link; /* key: that of the charge */
        enum charge_space space;
        uint64_t name;
        void *charge_lock;
};

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

/* Gets the inode behind a descriptor. False for device files: all descriptors of one have the same
 * inode, so the inode identifies no memory. */
static bool stat_import(int fd, struct stat *ret)
{
        int saved = errno;
        bool is_good = fstat(fd, ret) == 0 && !S_ISCHR(ret->st_mode);

        errno = saved;
        return is_good;
}

uint64_t import_name_fd(int fd)
{
        struct stat status;

        if (!stat_import(fd, &status))
                return 0;
        return mix(mix(2, status.st_dev), status.st_ino) | NAMED | STATED;
}

uint64_t import_bytes_known(uint64_t name)
{
        uint64_t bytes = 0;

        if (!name || !load_relaxed(&shared_state.exports_live))
                return 0;
        lock_take(&shared_state.imports_lock);
        for (struct memory_export *own = table_each(&shared_state.exports, NULL); own && !bytes;
             own = table_each(&shared_state.exports, own)) {
                if (own->name == name)
                        bytes = charge_held(own->space, own->link.key);
        }
        lock_drop(&shared_state.imports_lock);
        return bytes;
}

/* Returns the name that the charged process locks: it includes the size if the program states
 * it. */
static uint64_t charge_name(uint64_t name, uint64_t bytes)
{
        return name & STATED ? mix(name, bytes) : name;
}

static void unlock_name(void *lock)
{
        if (lock)
                liveness_unlock(lock);
}

static void set_state(struct memory_import *import, enum import_state next)
{
        if (import->state == IMPORT_WAITING)
                add_relaxed(&shared_state.imports_uncharged, -1u);
        import->state = next;
        if (next == IMPORT_WAITING)
                add_relaxed(&shared_state.imports_uncharged, 1u);
}

/* Adds a new import without references. NULL: out of memory. The caller holds imports_lock. */
static struct memory_import *import_make(uint64_t name)
{
        struct memory_import *import = table_make(&shared_state.imports, sizeof(*import));

        if (!import)
                return NULL;
        import->link.key = name;
        import->row = CHARGE_NO_DEVICE;
        import->number = ++shared_state.imports_last_id;
        import->hold_lock = name ? name_hold(name) : NULL;
        table_put(&shared_state.imports, import);
        return import;
}

/* Returns the import `name` with one more reference; creates it if needed. NULL: out of memory. */
static struct memory_import *hold_import(uint64_t name)
{
        struct memory_import *import;

        lock_take(&shared_state.imports_lock);
        import = name ? table_find(&shared_state.imports, name) : NULL;
        if (!import)
                import = import_make(name);
        if (import)
                import->references++;
        lock_drop(&shared_state.imports_lock);
        return import;
}

/* Whether the driver reports the memory's size, so that the first charge is final. */
static bool is_told(const struct memory_import *import)
{
        return import->link.key && !(import->link.key & STATED);
}

/* Whether the caller must charge the import. Waits while another thread of this process charges it;
 * if that charge is refused, the next waiting thread tries. If true, sets `ret->import` and
 * `ret->was_waiting`, and sets `place->row` to the row of the charge that exists already. */
static bool is_mine_to_charge(struct memory_import *import, struct import_growth *ret,
                              struct place *place)
{
        for (;;) {
                bool is_charged, is_busy;

                lock_take(&shared_state.imports_lock);
                is_charged = import->row >= 0 && (import->bytes >= ret->bytes || is_told(import));
                is_busy = import->state == IMPORT_CHARGING;
                if (!is_charged && !is_busy) {
                        ret->import = import;
                        ret->was_waiting = import->state == IMPORT_WAITING;
                        set_state(import, IMPORT_CHARGING);
                        if (import->row >= 0)
                                place->row = import->row;
                }
                lock_drop(&shared_state.imports_lock);
                if (is_charged || !is_busy)
                        return !is_charged;
                access_sleep_ns(CHARGING_SLEEP_NS);
        }
}

CUresult import_grow(struct import_growth *ret, struct memory_import *import, struct place place,
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
        if (import->link.key)
                ret->charge_lock = name_lock(charge_name(import->link.key, bytes), &is_free);
        ret->is_charged = is_free || !import->hold_lock;
        held = charge_held(SPACE_IMPORT, import->number);
        rc = reserve_at(&ret->more, place, ret->is_charged ? bytes - held : 0);
        return rc == CUDA_SUCCESS ? rc : import_settle(ret, rc);
}

CUresult import_settle(struct import_growth *growth, CUresult rc)
{
        struct memory_import *import = growth->import;
        struct charge charge = { .device = CHARGE_NO_DEVICE };
        void *old_lock = NULL;

        if (!import)
                return rc;
        lock_take(&shared_state.imports_lock);
        if (rc == CUDA_SUCCESS) {
                old_lock = import->charge_lock;
                if (growth->more.is_reserved)
                        import->row = growth->more.device;
                import->bytes = growth->bytes;
                charge_take(&charge, SPACE_IMPORT, import->number);
                if (growth->is_charged)
                        charge_join(&growth->more, &charge);
                growth->more.owner = 0;
                charge_mark_unseen(&growth->more);
                charge_keep(&growth->more, SPACE_IMPORT, import->number);
                import->charge_lock = growth->is_charged ? growth->charge_lock : NULL;
                set_state(import, growth->is_charged ? IMPORT_SETTLED : IMPORT_WAITING);
        } else {
                charge_drop(&growth->more);
                /* before the state changes, so that no other process takes this one for charged */
                unlock_name(growth->charge_lock);
                set_state(import, growth->was_waiting ? IMPORT_WAITING : IMPORT_SETTLED);
        }
        charge_drop(&charge);
        lock_drop(&shared_state.imports_lock);
        /* After charge_drop(): the next process that is charged then finds the room. */
        unlock_name(old_lock);
        growth->import = NULL;
        return rc;
}

CUresult import_begin(struct memory_import **ret, uint64_t name, struct place place, uint64_t bytes)
{
        struct import_growth growth;
        struct memory_import *import = place.row >= 0 ? hold_import(name) : NULL;
        CUresult rc = import_grow(&growth, import, place, bytes);

        rc = import_settle(&growth, rc);
        *ret = rc == CUDA_SUCCESS ? import : NULL;
        if (rc != CUDA_SUCCESS)
                import_end(import);
        return rc;
}

struct memory_import *import_announce(uint64_t name)
{
        return session_state() == SESSION_ACTIVE ? hold_import(name) : NULL;
}

/* Before the charge of freed memory is released: if other processes of the session still import the
 * memory, turns its charge and lock into an orphan. The caller holds imports_lock. */
static void give_up(uint64_t name, void **take_lock, struct charge *take_charge)
{
        if (!take_charge->bytes || !name_is_held(name))
                return;
        orphan_make(name, *take_lock, take_charge);
        *take_lock = NULL;
}

void import_end(struct memory_import *import)
{
        void *charge_lock = NULL;
        struct charge charge;

        if (!import)
                return;
        lock_take(&shared_state.imports_lock);
        if (--import->references == 0) {
                charge_lock = import->charge_lock;
                set_state(import, IMPORT_SETTLED);
                unlock_name(import->hold_lock);
                charge_take(&charge, SPACE_IMPORT, import->number);
                if (import->link.key)
                        give_up(import->link.key, &charge_lock, &charge);
                charge_drop(&charge);
                table_remove(&shared_state.imports, import);
                table_free(&shared_state.imports, import);
        }
        lock_drop(&shared_state.imports_lock);
        /* After charge_drop(): the next process that is charged then finds the room. */
        unlock_name(charge_lock);
}

void import_keep(struct memory_import *import, enum charge_space space, uint64_t key)
{
        struct import_handle *handle;

        if (!import)
                return;
        lock_take(&shared_state.imports_lock);
        handle = table_make(&shared_state.import_handles, sizeof(*handle));
        if (handle) { /* if out of memory, the import stays charged until the process ends */
                handle->link.key = key;
                handle->space = space;
                handle->import = import;
                table_put(&shared_state.import_handles, handle);
        }
        lock_drop(&shared_state.imports_lock);
}

/* Returns the handle stored under `space` and `key`, or NULL. The caller holds imports_lock. */
static struct import_handle *find_handle(enum charge_space space, uint64_t key)
{
        struct import_handle *handle = table_find(&shared_state.import_handles, key);

        while (handle && handle->space != space)
                handle = table_next(handle);
        return handle;
}

/* Returns the export stored under `space` and `key`, or NULL. The caller holds imports_lock. */
static struct memory_export *find_export(enum charge_space space, uint64_t key)
{
        struct memory_export *export = table_find(&shared_state.exports, key);

        while (export && export->space != space)
                export = table_next(export);
        return export;
}

struct memory_import *import_take(enum charge_space space, uint64_t key)
{
        struct memory_import *import = NULL;
        struct import_handle *handle;

        lock_take(&shared_state.imports_lock);
        handle = find_handle(space, key);
        if (handle) {
                import = handle->import;
                table_remove(&shared_state.import_handles, handle);
                table_free(&shared_state.import_handles, handle);
        }
        lock_drop(&shared_state.imports_lock);
        return import;
}

struct memory_import *import_find(enum charge_space space, uint64_t key)
{
        struct memory_import *import = NULL;
        struct import_handle *handle;

        lock_take(&shared_state.imports_lock);
        handle = find_handle(space, key);
        if (handle)
                import = handle->import;
        lock_drop(&shared_state.imports_lock);
        return import;
}

void import_export(uint64_t name, enum charge_space space, uint64_t key)
{
        struct memory_export *export;
        bool is_free, is_known;
        void *charge_lock;

        if (!name || session_state() != SESSION_ACTIVE)
                return;
        lock_take(&shared_state.imports_lock);
        /* Memory that is exported already has its lock. Imported memory that the program exports
         * again has no charge under `key`, because the charge is kept with the import. */
        is_known = find_export(space, key) || find_handle(space, key);
        lock_drop(&shared_state.imports_lock);
        if (is_known)
                return;
        charge_lock = name_lock(charge_name(name, charge_held(space, key)), &is_free);
        if (!charge_lock)
                return;
        lock_take(&shared_state.imports_lock);
        export = table_make(&shared_state.exports, sizeof(*export));
        if (export) {
                export->link.key = key;
                export->space = space;
                export->name = name;
                export->charge_lock = charge_lock;
                table_put(&shared_state.exports, export);
                add_relaxed(&shared_state.exports_live, 1u);
        }
        lock_drop(&shared_state.imports_lock);
        if (!export)
                unlock_name(charge_lock);
}

/* Returns this process's uncharged import of the memory `name`, or NULL. The caller holds
 * imports_lock. */
static struct memory_import *heir(uint64_t name, uint64_t bytes)
{
        struct memory_import *import = table_find(&shared_state.imports, name);
        bool is_heir = import && import->state == IMPORT_WAITING;

        return is_heir && (!(name & STATED) || import->bytes == bytes) ? import : NULL;
}

/* Gives the import the charge and the lock of the charged process. The caller holds
 * imports_lock. */
static void inherit(struct memory_import *import, struct charge *take_charge, void *charge_lock)
{
        charge_keep(take_charge, SPACE_IMPORT, import->number);
        import->charge_lock = charge_lock;
        set_state(import, IMPORT_SETTLED);
}

void import_unexport(enum charge_space space, uint64_t key, struct charge *charge)
{
        struct memory_import *import = NULL;
        struct memory_export *export;
        void *charge_lock = NULL;
        uint64_t name = 0;

        if (!load_relaxed(&shared_state.exports_live))
                return;
        lock_take(&shared_state.imports_lock);
        export = find_export(space, key);
        if (export) {
                charge_lock = export->charge_lock;
                name = export->name;
                import = heir(name, charge->bytes);
                table_remove(&shared_state.exports, export);
                table_free(&shared_state.exports, export);
                add_relaxed(&shared_state.exports_live, -1u);
        }
        if (import && charge->bytes) {
                /* The import takes over the charge, which therefore no longer ends with the
                 * context. It is not marked unseen: this process allocated the memory, so NVML
                 * counts it for this process even when only the import is left. */
                charge->owner = 0;
                inherit(import, charge, charge_lock);
                charge_lock = NULL;
        } else if (export) {
                give_up(name, &charge_lock, charge);
        }
        lock_drop(&shared_state.imports_lock);
        /* what remains in `charge` is for memory that no other process imports */
        unlock_name(charge_lock);
}

/* Takes the charge of some export of the context `owner`, and returns its key; 0: there is none.
 * Must take and put back the charges of other exports on the way, because the owner of a charge is
 * known only once the charge is taken. */
static uint64_t take_owned(uint32_t owner, enum charge_space *ret_space, struct charge *ret)
{
        uint64_t key = 0;

        lock_take(&shared_state.imports_lock);
        for (struct memory_export *export = table_each(&shared_state.exports, NULL); export && !key;
             export = table_each(&shared_state.exports, export)) {
                *ret_space = export->space;
                if (!charge_take(ret, *ret_space, export->link.key))
                        continue;
                if (ret->owner == owner)
                        key = export->link.key;
                else
                        charge_keep(ret, *ret_space, export->link.key);
        }
        lock_drop(&shared_state.imports_lock);
        return key;
}

void import_owner_gone(uint32_t owner)
{
        enum charge_space space;
        struct charge charge;
        uint64_t key;

        if (!owner || !load_relaxed(&shared_state.exports_live))
                return;
        while ((key = take_owned(owner, &space, &charge))) {
                import_unexport(space, key, &charge);
                charge_drop(&charge);
        }
}

/* Charges this process for the import if no other process of the session is charged any more. The
 * caller holds imports_lock. */
static void claim_import(struct memory_import *import)
{
        struct charge charge;
        bool is_free;
        void *lock = name_lock(charge_name(import->link.key, import->bytes), &is_free);

        if (!is_free)
                return;
        /* Forced, because the memory is on the card whether there is room in the limit or not. */
        if (charge_force(&charge, import->row, import->bytes)) {
                charge_mark_unseen(&charge);
                inherit(import, &charge, lock);
        } else {
                unlock_name(lock);
        }
}

void import_claim(int row)
{
        if (!load_relaxed(&shared_state.imports_uncharged))
                return;
        lock_take(&shared_state.imports_lock);
        for (struct memory_import *import = table_each(&shared_state.imports, NULL); import;
             import = table_each(&shared_state.imports, import)) {
                if (import->state == IMPORT_WAITING && (row < 0 || import->row == row))
                        claim_import(import);
        }
        lock_drop(&shared_state.imports_lock);
}
