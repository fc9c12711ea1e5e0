/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event streams in turns: how much all of them together get in one turn of the loop, and in which
 * order. api_events.c is compiled in; HTTP, the database and the node are the test's: a trail of
 * `trail` events, all of the node itself, and readers who count what they get. Turns are the
 * test's too.
 */
#include "daemon/api/api_events.c" // NOLINT(bugprone-suspicious-include)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define STREAMS 128u
#define TRAIL 36622

struct http_connection {
        int64_t heard; /* the last event, and as many: the trail begins with 1 */
        bool is_deaf, is_ended;
        http_gone *gone;
        void *gone_context;
};

static struct http_connection readers[STREAMS + 1];
static int64_t trail;
static unsigned walks; /* questions to the database */
static const char *since;
static struct http_api api;

/* -- In place of HTTP, the database and the node ---------------------------------------------- */

void http_stream(struct http_exchange *exchange, const char *type, http_gone *gone, void *context)
{
        exchange->connection->gone = gone;
        exchange->connection->gone_context = context;
}

void http_connection_end(struct http_connection *connection)
{
        connection->is_ended = true;
        connection->gone(connection->gone_context);
}

bool http_send(struct http_connection *connection, const char *text, size_t length)
{
        long long id;

        if (sscanf(text, "id: %lld\n", &id) == 1) {
                assert_int_equal(id, connection->heard + 1);
                connection->heard = id;
        }
        return true;
}

bool http_has_room(struct http_connection *connection)
{
        return !connection->is_deaf;
}

void http_reply(struct http_exchange *exchange, unsigned status, const char *type, const char *body,
                size_t length)
{
        fail_msg("an answer of %u", status);
}

int database_events(struct database *database, const struct event_query *query,
                    int (*each)(const struct database_event *event, void *context), void *context,
                    struct error *err)
{
        int64_t id = query->id;

        walks++;
        for (unsigned i = 0; i < query->most && id < trail; i++) {
                const struct database_event event = { .id = ++id, .type = "gpu-here" };

                if (each(&event, context) < 0)
                        return -EPIPE;
        }
        return 0;
}

int database_event_range(struct database *database, int64_t *ret_oldest, int64_t *ret_latest,
                         struct error *err)
{
        *ret_oldest = 1;
        *ret_latest = trail;
        return 0;
}

struct database *node_database(struct node *node)
{
        return NULL;
}

void node_listen(struct node *node, node_listener *listener, void *context)
{
}

void api_query_begin(struct api_call *call, struct api_query *ret)
{
        *ret = (struct api_query){ 0 };
}

bool api_query_next(struct api_call *call, struct api_query *query)
{
        if (query->name || !since)
                return false;
        query->name = "since";
        query->value = since;
        return true;
}

bool api_whole(const char *text, uint64_t most, uint64_t *ret)
{
        *ret = strtoull(text, NULL, 10);
        return true;
}

void api_query_refuse(struct api_call *call, struct api_query *query, const char *expected)
{
        fail_msg("%s", expected);
}

void api_refuse(struct api_call *call, unsigned status, const char *type, const char *field,
                const char *format, ...)
{
        fail_msg("%s", format);
}

const char *api_time(uint64_t ns, char ret[API_TIME_BYTES])
{
        snprintf(ret, API_TIME_BYTES, "now");
        return ret;
}

/* -- The stories ------------------------------------------------------------------------------ */

static int begin(void **state)
{
        memset(readers, 0, sizeof(readers));
        trail = TRAIL;
        api.options.base = event_base_new();
        api.subscribers = api_subscribers_new(&api);
        return api.subscribers ? 0 : -1;
}

static int end(void **state)
{
        while (!TAILQ_EMPTY(&api.subscribers->list))
                http_connection_end(TAILQ_FIRST(&api.subscribers->list)->connection);
        api_subscribers_free(api.subscribers);
        event_base_free(api.options.base);
        return 0;
}

/* `from`: as ?since= has it; NULL: it is not said. */
static struct http_connection *listen_from(unsigned i, const char *from)
{
        struct request request = { .method = "GET" };
        struct http_exchange exchange = { .connection = &readers[i], .request = &request };
        struct api_call call = { .api = &api, .exchange = &exchange, .caller.sees_all = true };

        since = from;
        readers[i].heard = from ? strtoll(from, NULL, 10) : trail;
        api_get_events(&call);
        return &readers[i];
}

static void turn(void)
{
        on_clock(-1, 0, api.subscribers);
}

static void happen(unsigned count)
{
        while (count--) {
                const struct database_event event = { .id = ++trail, .type = "gpu-here" };

                on_event(&event, api.subscribers);
        }
}

static int64_t heard_by_all(void)
{
        int64_t sum = 0;

        for (unsigned i = 0; i < STREAMS; i++)
                sum += readers[i].heard;
        return sum;
}

static void test_all_streams_together_get_a_bounded_number_of_events_a_turn(void **state)
{
        for (unsigned i = 0; i < STREAMS; i++)
                listen_from(i, "0");
        for (unsigned i = 0; i < 100; i++) {
                int64_t before = heard_by_all();

                walks = 0;
                turn();
                assert_in_range(heard_by_all() - before, 1, TURN_EVENTS + BATCH);
                assert_in_range(walks, 1, TURN_EVENTS + BATCH);
        }
}

static void test_no_stream_gets_more_than_a_batch_ahead_of_another(void **state)
{
        for (unsigned i = 0; i < STREAMS; i++)
                listen_from(i, "0");
        for (unsigned i = 0; i < 200; i++) {
                int64_t least = INT64_MAX, most = 0;

                turn();
                for (unsigned j = 0; j < STREAMS; j++) {
                        least = readers[j].heard < least ? readers[j].heard : least;
                        most = readers[j].heard > most ? readers[j].heard : most;
                }
                assert_in_range(most - least, 0, BATCH);
        }
}

static void test_what_happens_now_goes_by_the_same_bound(void **state)
{
        for (unsigned i = 0; i < STREAMS; i++)
                listen_from(i, NULL);
        happen(50);
        assert_int_equal(heard_by_all(), (int64_t)STREAMS * TRAIL); /* nothing before the turn */
        turn();
        assert_in_range(heard_by_all() - (int64_t)STREAMS * TRAIL, 1, TURN_EVENTS + BATCH);
        for (unsigned i = 0; i < 50 * STREAMS; i++)
                turn();
        assert_int_equal(heard_by_all(), (int64_t)STREAMS * trail);
        /* Who is not behind asks for nothing. */
        walks = 0;
        turn();
        assert_int_equal(walks, 0);
}

static void test_a_new_stream_hears_of_now_while_others_read_of_before(void **state)
{
        struct http_connection *mine;

        for (unsigned i = 0; i < STREAMS; i++)
                listen_from(i, "0");
        mine = listen_from(STREAMS, NULL);
        happen(1);
        for (unsigned i = 0; i < STREAMS && mine->heard < trail; i++)
                turn();
        assert_int_equal(mine->heard, trail);
        assert_true(heard_by_all() < (int64_t)STREAMS * TRAIL);
}

static void test_a_number_yet_to_come_begins_with_the_next_event(void **state)
{
        struct http_connection *mine = listen_from(0, "99999999");

        mine->heard = trail;
        happen(3);
        turn();
        assert_int_equal(mine->heard, trail);
}

static void test_who_takes_nothing_while_much_happens_is_cut_off(void **state)
{
        struct http_connection *deaf = listen_from(0, "0"), *slow = listen_from(1, "0");

        deaf->is_deaf = slow->is_deaf = true;
        turn();
        happen(UNREAD_MAX);
        turn();
        assert_false(deaf->is_ended || slow->is_ended);
        slow->is_deaf = false;
        turn();
        happen(1);
        turn();
        assert_true(deaf->is_ended);
        assert_false(slow->is_ended);
        assert_int_equal(api.subscribers->count, 1);
}

#define story(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_all_streams_together_get_a_bounded_number_of_events_a_turn),
                story(test_no_stream_gets_more_than_a_batch_ahead_of_another),
                story(test_what_happens_now_goes_by_the_same_bound),
                story(test_a_new_stream_hears_of_now_while_others_read_of_before),
                story(test_a_number_yet_to_come_begins_with_the_next_event),
                story(test_who_takes_nothing_while_much_happens_is_cut_off),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
