/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal, with ncurses (screen.h).
 *
 * The view draws whole grids, and ncurses sends what changed. Signal handlers only set a variable
 * and write to a pipe, which screen_wait() polls together with the terminal. So no signal is lost
 * between a check of the variable and the wait. screen_close() restores the former handlers of the
 * signals.
 */
#include "cli/top/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* defined here, because the header would otherwise define its own default */
#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "cli/top/keys.h"
#include "common/text.h"

#define ESCAPE_MILLISECONDS 25
#define ESCAPE_CODE 27
#define DELETE_CODE 127
#define CONTROL(letter) ((letter)&0x1f)

static bool has_colour;

/* -- Signals ---------------------------------------------------------------------------------- */

static const int ends[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
#define ENDS (sizeof(ends) / sizeof(ends[0]))

/* Written by signal handlers only. The pipe wakes the waiting thread, whenever the signal
 * arrives. */
static volatile sig_atomic_t ended_by, was_stopped;
static int wakes[2] = { -1, -1 };

static struct sigaction before[ENDS];

static void wake_screen(void)
{
        int saved = errno;

        if (write(wakes[1], "", 1) < 0)
                errno = 0; /* the pipe is full, so the waiting thread wakes up anyway */
        errno = saved;
}

static void on_end(int number)
{
        ended_by = number;
        wake_screen();
}

static void on_continue(int number)
{
        was_stopped = 1;
        wake_screen();
}

/* Sets the signal handlers. Signals that are ignored stay ignored, for example under nohup. */
static int take_signals(struct error *err)
{
        const struct sigaction go_on = { .sa_handler = on_continue };
        const struct sigaction end = { .sa_handler = on_end };

        if (pipe2(wakes, O_CLOEXEC | O_NONBLOCK) < 0)
                return fail(err, -errno, "pipe: %m");
        for (unsigned i = 0; i < ENDS; i++) {
                sigaction(ends[i], NULL, &before[i]);
                if (before[i].sa_handler != SIG_IGN)
                        sigaction(ends[i], &end, NULL);
        }
        sigaction(SIGCONT, &go_on, NULL);
        return 0;
}

static void leave_signals(void)
{
        signal(SIGCONT, SIG_DFL);
        for (unsigned i = 0; i < ENDS; i++)
                sigaction(ends[i], &before[i], NULL);
        close(wakes[0]);
        close(wakes[1]);
}

int screen_signal(void)
{
        return ended_by;
}

/* -- The terminal ----------------------------------------------------------------------------- */

static void begin_colours(void)
{
        static const short colour[] = { [GRID_GREEN] = COLOR_GREEN,
                                        [GRID_YELLOW] = COLOR_YELLOW,
                                        [GRID_RED] = COLOR_RED,
                                        [GRID_CYAN] = COLOR_CYAN };
        const char *no_colour = getenv("NO_COLOR");

        if ((no_colour && no_colour[0]) || !has_colors())
                return;
        start_color();
        use_default_colors();
        for (int i = GRID_GREEN; i <= GRID_CYAN; i++)
                init_pair((short)i, colour[i], -1);
        has_colour = true;
}

int screen_open(struct error *err)
{
        const char *term = getenv("TERM");
        int rc;

        if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
                return fail(err, -ENOTTY, "this is no terminal; --once prints one frame as text");
        rc = take_signals(err);
        if (rc < 0)
                return rc;
        if (!newterm(NULL, stdout, stdin)) {
                leave_signals();
                return fail(err, -ENOTTY,
                            "TERM=%s: no such terminal is known here; --once prints one frame",
                            text_shown(term ? term : ""));
        }
        begin_colours();
        cbreak();
        noecho();
        nonl();
        keypad(stdscr, TRUE);
        nodelay(stdscr, TRUE);
        set_escdelay(ESCAPE_MILLISECONDS);
        curs_set(0);
        return 0;
}

void screen_close(void)
{
        endwin();
        leave_signals();
}

void screen_size(int *ret_rows, int *ret_columns)
{
        getmaxyx(stdscr, *ret_rows, *ret_columns);
}

static attr_t attributes_of(uint8_t looks)
{
        attr_t attributes = A_NORMAL;

        if (looks & GRID_BOLD)
                attributes |= A_BOLD;
        if (looks & GRID_TITLE)
                attributes |= A_UNDERLINE;
        if (looks & GRID_SELECTED)
                attributes |= A_REVERSE;
        else if (looks & GRID_DIM)
                attributes |= A_DIM;
        return attributes;
}

void screen_show(const struct grid *grid)
{
        for (int row = 0; row < grid->rows; row++) {
                for (int column = 0; column < grid->columns; column++) {
                        const struct grid_cell *cell = grid_at(grid, row, column);
                        wchar_t text[2] = { (wchar_t)cell->character, 0 };
                        short colour = has_colour ? cell->looks & GRID_COLOUR : 0;
                        cchar_t out;

                        if (!cell->character)
                                continue;
                        setcchar(&out, text, attributes_of(cell->looks), colour, NULL);
                        mvadd_wch(row, column, &out);
                }
        }
        refresh();
}

static int key_of(int code)
{
        switch (code) {
        case KEY_UP:
                return KEY_OF_UP;
        case KEY_DOWN:
                return KEY_OF_DOWN;
        case KEY_PPAGE:
                return KEY_OF_PAGE_UP;
        case KEY_NPAGE:
                return KEY_OF_PAGE_DOWN;
        case KEY_HOME:
                return KEY_OF_HOME;
        case KEY_END:
                return KEY_OF_END;
        case KEY_ENTER:
        case '\r':
        case '\n':
                return KEY_OF_ENTER;
        case ESCAPE_CODE:
                return KEY_OF_ESCAPE;
        case KEY_BACKSPACE:
        case DELETE_CODE:
        case '\b':
                return KEY_OF_ERASE;
        case CONTROL('u'):
                return KEY_OF_ERASE_LINE;
        case KEY_F(1):
                return KEY_OF_HELP;
        case KEY_RESIZE:
                return SCREEN_RESIZED;
        default:
                return code >= ' ' && code <= '~' ? code : SCREEN_NOTHING;
        }
}

/* Restores the terminal after another program changed it. */
static void take_back(void)
{
        was_stopped = 0;
        reset_prog_mode();
        clearok(curscr, TRUE);
}

/* Returns the event other than a key that ended the wait; SCREEN_NOTHING: none. */
static int heed_signals(const struct pollfd *input)
{
        char bytes[64];

        while (read(wakes[0], bytes, sizeof(bytes)) > 0)
                ;
        if (ended_by)
                return SCREEN_ENDED;
        if (input->revents & (POLLHUP | POLLERR | POLLNVAL))
                return SCREEN_GONE;
        if (!was_stopped)
                return SCREEN_NOTHING;
        take_back();
        return SCREEN_RESIZED;
}

int screen_wait(int milliseconds)
{
        struct pollfd wait[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
                                  { .fd = wakes[0], .events = POLLIN } };
        int code = getch(); /* may be the rest of a longer escape sequence */

        if (code == ERR) {
                int woken;

                poll(wait, 2, milliseconds);
                woken = heed_signals(&wait[0]);
                if (woken != SCREEN_NOTHING)
                        return woken;
                code = getch(); /* also after a signal, which may have changed the size */
        }
        return code == ERR ? SCREEN_NOTHING : key_of(code);
}
