/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/executable.h"
#include "common/scoped.h"
#include "common/text.h"

#define SCRIPT_DEPTH 5u /* the same limit as in the kernel */
#define LINE_BYTES 256u /* the kernel reads as much of the first line */

static const char *base_name(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* Returns 0, or -errno if this file cannot be executed. */
static int try_file(const char *path)
{
        struct stat st;

        if (stat(path, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        if (!S_ISREG(st.st_mode))
                return -EACCES;
        return access(path, X_OK) < 0 ? -errno : 0;
}

static int status_of(int code, const char *command, struct error *err)
{
        errno = -code;
        if (code == -ENOENT || code == -ENOTDIR) {
                fail(err, code, "%s: %m; check the name and PATH", text_shown(command));
                return STATUS_NOT_FOUND;
        }
        fail(err, code, "%s cannot be executed: %m", text_shown(command));
        return STATUS_CANNOT_RUN;
}

static int search_path(const char *command, char ret[PATH_MAX], struct error *err)
{
        const char *at = getenv("PATH");
        int code = -ENOENT;

        for (at = at ? at : "/bin:/usr/bin"; at;) {
                size_t length = strcspn(at, ":");
                int rc = text_put(ret, PATH_MAX, NULL, "%.*s%s%s", (int)length, at,
                                  length ? "/" : "", command);

                if (rc == 0)
                        rc = try_file(ret);
                if (rc == 0)
                        return 0;
                /* As in a shell, a file that exists but may not be executed determines the
                 * error. */
                if (rc == -EACCES)
                        code = rc;
                at = at[length] ? at + length + 1 : NULL;
        }
        return status_of(code, command, err);
}

static int find_file(const char *command, char ret[PATH_MAX], struct error *err)
{
        int rc;

        if (!command[0])
                return status_of(-ENOENT, command, err);
        if (!strchr(command, '/'))
                return search_path(command, ret, err);
        rc = text_put(ret, PATH_MAX, NULL, "%s", command);
        if (rc == 0)
                rc = try_file(ret);
        return rc < 0 ? status_of(rc, command, err) : 0;
}

/* Returns the next word of a line, terminated, and moves `*line` behind it. */
static char *next_word(char **line)
{
        char *word = *line + strspn(*line, " \t");
        size_t length = strcspn(word, " \t");

        *line = word + length + (word[length] != '\0');
        word[length] = '\0';
        return word;
}

/* Returns the name of the program that `env` will execute: the first word after its options and
 * variables. */
static const char *read_env(char *rest)
{
        char *word = rest + strspn(rest, " \t");

        /* without -S, env gets the rest of the line as a single word */
        if (strncmp(word, "-S", 2) != 0)
                return word[0] == '-' || strchr(word, '=') ? "" : word;
        rest = word + 2;
        for (word = next_word(&rest); word[0]; word = next_word(&rest)) {
                if (strcmp(word, "-u") == 0 || strcmp(word, "-C") == 0)
                        next_word(&rest);
                else if (word[0] != '-' && !strchr(word, '='))
                        break;
        }
        return word;
}

bool target_read_shebang(const char *line, char ret[PATH_MAX])
{
        char copy[LINE_BYTES + 1];
        char *rest = copy;
        const char *program, *wanted = "";

        if (text_put(copy, sizeof(copy), NULL, "%s", line) < 0)
                return false;
        copy[strcspn(copy, "\n")] = '\0';
        for (size_t end = strlen(copy); end && strchr(" \t\r", copy[end - 1]); end--)
                copy[end - 1] = '\0';
        program = next_word(&rest);
        if (strcmp(base_name(program), "env") == 0)
                wanted = read_env(rest);
        if (wanted[0])
                return text_put(ret, PATH_MAX, NULL, "%s", wanted) == 0;
        /* the kernel searches no PATH, so a name without "/" is in the present folder */
        return program[0] && text_put(ret, PATH_MAX, NULL, "%s%s", strchr(program, '/') ? "" : "./",
                                      program) == 0;
}

/* Returns whether executing the file raises privileges, which makes the loader ignore
 * LD_PRELOAD. */
static bool raises_privileges(int fd)
{
        struct statvfs mount;
        struct stat st;

        if (fstat(fd, &st) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
            (fstatvfs(fd, &mount) == 0 && (mount.f_flag & ST_NOSUID)))
                return false;
        if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
                return true;
        if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
                return true;
        return geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static int refuse_program(struct error *err, const char *path, const char *why)
{
        fail(err, -ENOTSUP, "%s %s", path, why);
        return STATUS_REFUSED;
}

static int judge_program(const char *path, int fd, const struct executable *file, struct error *err)
{
        const char *loader = base_name(file->interpreter);

        if (!file->is_native)
                return refuse_program(
                        err, path,
                        file->bits == 64
                                ? "is for another kind of machine; use a build for this one"
                                : "is a 32-bit program; use a 64-bit build of it");
        if (!file->is_program)
                return refuse_program(err, path, "is no program");
        if (!file->interpreter[0])
                return refuse_program(
                        err, path,
                        "is statically linked, so its GPU calls cannot be limited; link it "
                        "dynamically");
        if (strncmp(loader, "ld-musl", 7) == 0)
                return refuse_program(
                        err, path,
                        "is linked with musl, which can load neither our library nor the "
                        "driver; use a glibc build of it");
        if (strncmp(loader, "ld-linux", 8) != 0)
                return refuse_program(err, path,
                                      "does not use glibc's loader; use a glibc build of it");
        if (raises_privileges(fd))
                return refuse_program(
                        err, path,
                        "raises its privileges (setuid, setgid or file capabilities), so the "
                        "loader would ignore our library; put aliquot run behind it: sudo "
                        "aliquot run ...");
        return 0;
}

/* Checks a file. For a script, sets `next` to the file to check next; for an ELF program that can
 * be limited, to "". */
static int inspect_file(const char *path, char next[PATH_MAX], struct error *err)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        char line[LINE_BYTES + 1] = "";
        char interpreter[PATH_MAX];
        struct executable file;
        int rc;

        next[0] = '\0';
        if (fd < 0) {
                fail(err, -errno, "%s cannot be read: %m; whether it can be limited is unknown",
                     path);
                return STATUS_REFUSED;
        }
        rc = executable_inspect(fd, &file, err);
        if (rc == 0)
                return judge_program(path, fd, &file, err);
        if (rc != -ENOEXEC) {
                wrap(err, "%s", path);
                return STATUS_REFUSED;
        }
        /* a file without "#!" is a shell script: POSIX requires that of execvp() for a file that
         * cannot be executed */
        if (pread(fd, line, LINE_BYTES, 0) < 2 || strncmp(line, "#!", 2) != 0)
                return find_file("/bin/sh", next, err);
        if (!target_read_shebang(line + 2, interpreter))
                return refuse_program(err, path, "names no interpreter behind its #!");
        rc = find_file(interpreter, next, err);
        if (rc != 0) {
                wrap(err, "%s: its interpreter", path);
                return STATUS_CANNOT_RUN;
        }
        return 0;
}

int target_find(const char *command, struct target *ret, struct error *err)
{
        static struct target target;
        char path[PATH_MAX], next[PATH_MAX];
        int rc = find_file(command, target.path, err);

        if (rc != 0)
                return rc;
        memcpy(path, target.path, strlen(target.path) + 1);
        for (unsigned depth = 0; depth <= SCRIPT_DEPTH; depth++) {
                rc = inspect_file(path, next, err);
                if (rc != 0)
                        return rc;
                if (!next[0]) {
                        *ret = target;
                        return 0;
                }
                memcpy(path, next, strlen(next) + 1);
        }
        return refuse_program(err, target.path,
                              "is a script of a script, deeper than the kernel goes");
}
