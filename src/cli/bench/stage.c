/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench/stage_parts.h"
#include "cli/client.h"
#include "cli/options.h"
#include "common/atomic.h"
#include "common/reserve.h"
#include "common/text.h"
#include "common/units.h"

#define SESSION_BYTES (UINT64_C(1) << 30)
#define LOOK_NS 500000
#define LOOKS_WITHOUT_PROGRESS 240000u /* 2 minutes without progress: the run hangs */
#define MICRO_PERCENT_PER_PPM 100u
/* How much longer than the run the sessions stay, if this process cannot remove them. */
#define REST_NS (300 * UINT64_C(1000000000))

const char *stage_name(const struct stage *stage, unsigned at, char ret[STAGE_NAME_BYTES])
{
        snprintf(ret, STAGE_NAME_BYTES, "bench-%d-%u", (int)getpid(), at + 1);
        return ret;
}

/* -- Opening ---------------------------------------------------------------------------------- */

static void keep_signals(sigset_t *ret_kept, sigset_t *ret_before)
{
        sigemptyset(ret_kept);
        sigaddset(ret_kept, SIGINT);
        sigaddset(ret_kept, SIGTERM);
        sigaddset(ret_kept, SIGHUP);
        sigaddset(ret_kept, SIGQUIT);
        sigaddset(ret_kept, SIGCHLD);
        sigprocmask(SIG_BLOCK, ret_kept, ret_before);
}

static int make_folder(struct stage *stage, struct error *err)
{
        const char *places[] = { getenv("TMPDIR"), "/dev/shm", "/tmp" };

        for (unsigned i = places[0] && places[0][0] ? 0 : 1; i < 3; i++) {
                snprintf(stage->folder, sizeof(stage->folder), "%s/aliquot-bench-XXXXXX",
                         places[i]);
                if (mkdtemp(stage->folder))
                        return 0;
        }
        fail(err, -errno, "%s: %m", stage->folder);
        stage->folder[0] = '\0';
        return err->code;
}

static bool has_key(const char *spec, const char *key)
{
        size_t length = strlen(key);

        for (; *spec; spec += strcspn(spec, ","), spec += *spec == ',') {
                if (strncmp(spec, key, length) == 0 && spec[length] == '=')
                        return true;
        }
        return false;
}

/* Completes the spec of the simulated node: its own state folder, and virtual time that begins when
 * all programs have started. What the spec already contains is kept. */
static int complete_spec(struct stage *stage, unsigned programs, struct error *err)
{
        const char *spec = stage->flags.sim_spec ? stage->flags.sim_spec : getenv("ALIQUOT_SIM");
        struct text text;

        if (!spec)
                spec = "";
        if (spec[0] == '@' || spec[0] == '/')
                return fail(err, -EINVAL, "--sim=%s: expected the words themselves, no file",
                            text_shown(spec));
        text_begin(&text, stage->spec, sizeof(stage->spec));
        text_add(&text, "%s%s", spec, spec[0] ? "," : "");
        stage->has_own_state = has_key(spec, "state");
        if (!stage->has_own_state)
                text_add(&text, "state=%s/sim,", stage->folder);
        if (!has_key(spec, "clock"))
                text_add(&text, "clock=virtual,");
        if (!has_key(spec, "begin_with"))
                text_add(&text, "begin_with=%u", programs);
        if (text.is_cut)
                return fail(err, -EINVAL, "--sim=%s: too long", text_shown(spec));
        stage->flags.sim_spec = stage->spec;
        return 0;
}

static bool is_simulated(const struct stage *stage)
{
        return stage->flags.is_sim || (getenv("ALIQUOT_SIM") && !getenv("ALIQUOT_REAL_LIBNVML"));
}

static int choose_gpu(struct stage *stage, unsigned programs, struct error *err)
{
        struct cli_request *request = &stage->request;
        const struct settings_gpu *gpu;
        int rc = request_open_driver(&stage->flags, request, err);

        if (rc == 0)
                rc = request_resolve(request, err);
        if (rc == 0 && (!request->has_cards || request->gpus.count < 1))
                rc = fail(err, -ENODEV, "there is no GPU");
        if (rc < 0 && stage->has_own_state && !request->has_cards)
                return fail(err, rc,
                            "--sim: this node does not start, see above; leave state= "
                            "out, and bench has one of its own");
        if (rc < 0 && !request->is_sim)
                wrap(err, "no GPU to measure (--sim uses a simulated one)");
        if (rc == 0 && (request->selection.count > 1 || stage->flags.any_gpus))
                rc = fail(err, -EINVAL, "--gpu: expected one GPU, by its index or UUID");
        if (rc < 0)
                return rc;
        gpu = &request->gpus.gpu[request->selection.count ? request->selection.at[0] : 0];
        uuid_format(gpu->uuid, gpu->is_instance, stage->uuid);
        stage->session_bytes = gpu->card_bytes / (programs + 1);
        if (stage->session_bytes > SESSION_BYTES)
                stage->session_bytes = SESSION_BYTES;
        return 0;
}

static int open_own(struct stage *stage, struct error *err)
{
        char path[STORE_PATH_BYTES];
        int rc = text_put(path, sizeof(path), err, "%s/run", stage->folder);

        if (rc == 0)
                rc = store_find(&stage->store, path, true, err);
        return rc < 0 ? rc : stage_start_daemon(stage, err);
}

static int open_theirs(struct stage *stage, struct error *err)
{
        int rc = options_find_store(&stage->store, err);

        if (rc == 0)
                rc = client_find(&stage->store, err);
        if (rc == 0)
                rc = fail(err, CLIENT_AWAY, "--daemon: none serves %s; start aliquotd",
                          stage->store.path);
        return rc < 0 ? rc : 0;
}

int stage_open(struct stage *stage, const struct mix *mix, struct error *err)
{
        sigset_t kept;
        int rc;

        keep_signals(&kept, &stage->mask);
        if (!client_is_built)
                return fail(err, CLIENT_AWAY,
                            "a daemon is needed, and this aliquot was built without libcurl or "
                            "jansson, so it cannot ask one");
        rc = make_folder(stage, err);
        if (rc == 0 && is_simulated(stage)) {
                stage->flags.is_sim = true;
                if (!stage->is_daemon_theirs)
                        rc = complete_spec(stage, mix->count, err);
                else
                        rc = text_put(stage->spec, sizeof(stage->spec), err, "%s",
                                      stage->flags.sim_spec ? stage->flags.sim_spec
                                                            : getenv("ALIQUOT_SIM"));
        }
        if (rc == 0)
                rc = request_read(&stage->flags, true, &stage->request, err);
        if (rc == 0)
                rc = choose_gpu(stage, mix->count, err);
        if (rc == 0 && !stage->request.own.load[0])
                rc = fail(err, -ENOENT, "aliquot-load is not installed beside %s; install it again",
                          stage->request.own.library);
        if (rc < 0)
                return rc;
        return stage->is_daemon_theirs ? open_theirs(stage, err) : open_own(stage, err);
}

/* -- Playing ---------------------------------------------------------------------------------- */

static const char *percent_of(uint32_t ppm, char ret[SIZE_TEXT_BYTES])
{
        const struct size size = { 0, ppm * MICRO_PERCENT_PER_PPM };

        return size_canonical(&size, ret);
}

static int make_session(struct stage *stage, const struct record *record, unsigned at,
                        struct error *err)
{
        const struct mix_session *session = &record->mix.session[at];
        char name[STAGE_NAME_BYTES], cap[SIZE_TEXT_BYTES], guarantee[SIZE_TEXT_BYTES];
        struct client_share share = { .memory_bytes = stage->session_bytes };
        struct client_wish wish = { .name = stage_name(stage, at, name),
                                    .share_count = 1,
                                    .share = &share,
                                    .has_ttl = true,
                                    .ttl_ns = record->samples * record->period_ns + REST_NS,
                                    .priority = mix_class_names[session->class],
                                    .weight = session->weight };
        int rc;

        memcpy(share.uuid, stage->uuid, sizeof(share.uuid));
        if (session->cap_ppm < MIX_WHOLE_PPM)
                wish.compute = percent_of(session->cap_ppm, cap);
        if (session->guarantee_ppm)
                wish.guarantee = percent_of(session->guarantee_ppm, guarantee);
        rc = client_create(&stage->store, &wish, err);
        if (rc < 0)
                return wrap(err, "%s", session->word);
        stage->session_count = at + 1;
        return 0;
}

static int make_page(struct stage *stage, const struct record *record, struct error *err)
{
        int fd, rc = text_put(stage->page_path, sizeof(stage->page_path), err, "%s/samples",
                              stage->folder);
        void *at = MAP_FAILED;

        if (rc < 0)
                return rc;
        stage->page_bytes = load_page_bytes(record->mix.count, record->samples);
        fd = open(stage->page_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 && ftruncate(fd, (off_t)stage->page_bytes) == 0 &&
            reserve_bytes(fd, 0, stage->page_bytes) == 0)
                at = mmap(NULL, stage->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        rc = at == MAP_FAILED ? fail(err, -errno, "%s: %m", stage->page_path) : 0;
        if (fd >= 0)
                close(fd);
        if (rc < 0)
                return rc;
        stage->page = at;
        stage->page->period_ns = record->period_ns;
        stage->page->programs = record->mix.count;
        stage->page->samples = record->samples;
        return 0;
}

static int change_cap(struct stage *stage, const struct mix *mix, unsigned at, struct error *err)
{
        static struct client_session seen;
        struct load_row *row = &stage->page->row[at];
        uint32_t made = load_relaxed(&row->changed);
        char name[STAGE_NAME_BYTES], cap[SIZE_TEXT_BYTES];
        const struct client_wish wish = { .compute = percent_of(
                                                  mix->session[at].change[made].cap_ppm, cap) };
        int rc = client_show(&stage->store, stage_name(stage, at, name), &seen, err);

        if (rc >= 0)
                rc = client_change(&stage->store, &seen, &wish, err);
        store_release(&row->changed, made + 1);
        return rc < 0 ? rc : 0;
}

static int make_changes(struct stage *stage, const struct mix *mix, struct error *err)
{
        for (unsigned i = 0; i < mix->count; i++) {
                struct load_row *row = &stage->page->row[i];

                if (load_acquire(&row->asked) > load_relaxed(&row->changed) &&
                    load_relaxed(&row->changed) < mix->session[i].change_count) {
                        int rc = change_cap(stage, mix, i, err);

                        if (rc < 0)
                                return wrap(err, "%s", mix->session[i].word);
                }
        }
        return 0;
}

/* Returns whether a program is or was stopped: then it got less than it could have had. */
static bool stood_still(int status)
{
        return WIFSTOPPED(status) || WIFCONTINUED(status);
}

/* Reaps programs that have ended. An error if a program ended too early or was stopped. */
static int reap_programs(struct stage *stage, const struct record *record, struct error *err)
{
        char name[STAGE_NAME_BYTES], said[256];

        for (unsigned i = 0; i < record->mix.count; i++) {
                const char *word = record->mix.session[i].word;
                int status;

                if (stage->has_ended[i] ||
                    waitpid(stage->program[i], &status, WNOHANG | WUNTRACED | WCONTINUED) !=
                            stage->program[i])
                        continue;
                if (stood_still(status))
                        return fail(err, -EIO,
                                    "%s: its program was stopped; what it had of the "
                                    "GPU is no result",
                                    word);
                stage->has_ended[i] = true;
                stage->program[i] = 0;
                if (load_acquire(&stage->page->row[i].sampled) == record->samples)
                        continue;
                stage_read_log(stage, stage_name(stage, i, name), said);
                return fail(err, -EIO, "%s: its program ended early%s%s", word, said[0] ? ": " : "",
                            said);
        }
        return 0;
}

/* Checks that the daemon runs: without it, the promises are not kept. */
static int watch_daemon(struct stage *stage, struct error *err)
{
        char said[256];
        int status;

        if (!stage->daemon ||
            waitpid(stage->daemon, &status, WNOHANG | WUNTRACED | WCONTINUED) != stage->daemon)
                return 0;
        if (stood_still(status))
                return fail(err, -EIO,
                            "aliquotd was stopped; what sessions had of the GPU is no "
                            "result");
        stage->daemon = 0;
        stage_read_log(stage, "aliquotd", said);
        return fail(err, -EIO, "aliquotd ended early%s%s", said[0] ? ": " : "", said);
}

static uint64_t progress(const struct stage *stage, unsigned programs)
{
        uint64_t sum = load_relaxed(&stage->page->ready);

        for (unsigned i = 0; i < programs; i++)
                sum += load_relaxed(&stage->page->row[i].sampled) + stage->has_ended[i];
        return sum;
}

static bool have_all_ended(const struct stage *stage, unsigned programs)
{
        for (unsigned i = 0; i < programs; i++) {
                if (!stage->has_ended[i])
                        return false;
        }
        return true;
}

/* Watches the programs until all have ended. */
static int attend(struct stage *stage, const struct record *record, struct error *err)
{
        const struct timespec pause = { .tv_nsec = LOOK_NS };
        uint64_t before = 0;
        unsigned idle = 0;
        sigset_t kept;
        int rc = 0;

        keep_signals(&kept, NULL);
        while (rc == 0 && !have_all_ended(stage, record->mix.count)) {
                int number = sigtimedwait(&kept, NULL, &pause);

                if (number > 0 && number != SIGCHLD) {
                        stage->signal = number;
                        return fail(err, -EINTR, "%s", strsignal(number));
                }
                rc = make_changes(stage, &record->mix, err);
                if (rc == 0)
                        rc = reap_programs(stage, record, err);
                if (rc == 0)
                        rc = watch_daemon(stage, err);
                idle = progress(stage, record->mix.count) == before ? idle + 1 : 0;
                before = progress(stage, record->mix.count);
                if (rc == 0 && idle > LOOKS_WITHOUT_PROGRESS)
                        rc = fail(err, -ETIMEDOUT, "the programs make no progress");
        }
        return rc;
}

static void fill_in(const struct stage *stage, struct record *record)
{
        const struct cards *cards = &stage->request.cards;
        char uuid[UUID_TEXT_BYTES];

        for (unsigned i = 0; i < cards->count; i++) {
                const struct card *card = &cards->card[i];

                if (strcmp(uuid_format(card->uuid, card->is_instance, uuid), stage->uuid) == 0)
                        text_put(record->gpu, sizeof(record->gpu), NULL, "%s%.64s",
                                 stage->request.is_sim ? "simulated " : "", card->name);
        }
        text_put(record->clock, sizeof(record->clock), NULL, "%s",
                 stage->request.is_sim && strstr(stage->spec, "clock=virtual") ? "virtual"
                                                                               : "real");
        record->judge = load_acquire(&stage->page->row[0].judge);
        memcpy(record->sample, stage->page->sample,
               (size_t)record->mix.count * record->samples * sizeof(*record->sample));
}

int stage_play(struct stage *stage, struct record *record, struct error *err)
{
        int rc = make_page(stage, record, err);

        for (unsigned i = 0; rc == 0 && i < record->mix.count; i++)
                rc = make_session(stage, record, i, err);
        for (unsigned i = 0; rc == 0 && i < record->mix.count; i++)
                rc = stage_start_program(stage, &record->mix, i, err);
        if (rc == 0)
                rc = attend(stage, record, err);
        if (rc < 0)
                return rc;
        record->sample =
                calloc((size_t)MIX_SESSIONS * (record->samples + 1), sizeof(*record->sample));
        if (!record->sample)
                return fail(err, -ENOMEM, "out of memory");
        fill_in(stage, record);
        return 0;
}

/* -- The end ---------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
        return remove(path);
}

void stage_end(struct stage *stage)
{
        char name[STAGE_NAME_BYTES];

        for (unsigned i = 0; i < MIX_SESSIONS; i++)
                stage_end_process(stage->program[i], SIGKILL);
        for (unsigned i = 0; stage->is_daemon_theirs && i < stage->session_count; i++)
                client_remove(&stage->store, stage_name(stage, i, name), true, NULL);
        stage_end_process(stage->daemon, SIGTERM);
        if (stage->page)
                munmap(stage->page, stage->page_bytes);
        if (stage->folder[0])
                nftw(stage->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        sigprocmask(SIG_SETMASK, &stage->mask, NULL);
}
