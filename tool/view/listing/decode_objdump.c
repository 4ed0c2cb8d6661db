/* SPDX-License-Identifier: MIT */
/*
 * decode_objdump.c - decodes with binutils' objdump, a child process.
 *
 * The child gets only the bytes of the code, in a file without a name: it reads no
 * profiled file, gets no name, and runs without a shell. It may print anything and may
 * hang.
 */
#include "view/listing/decode_sync.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/whole_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CODE_FD = 3, /* descriptor in the child */
    CHILD_SECONDS = 30,
    OUTPUT_BYTES_EACH = 256, /* per byte of code; objdump prints less */
    OUTPUT_BYTES_MORE = 64 * 1024,
};

/* --- objdump's output --- */

static bool
is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Count the bytes in a text such as "48 89 e5 ", and move *at behind them. */
static size_t
count_bytes(char **at)
{
    size_t count = 0;

    while (is_hex((*at)[0]) && is_hex((*at)[1]) &&
           ((*at)[2] == ' ' || (*at)[2] == '\t' || (*at)[2] == '\0')) {
        count++;
        *at += 2;
        while (**at == ' ') {
            ++*at;
        }
    }
    return count;
}

/* Turn "jmp    0x10" into "jmp 0x10", without trailing blanks. */
static void
collapse_blanks(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++) {
        const char c = *from == '\t' ? ' ' : *from;

        if (c != ' ' || (to > text && to[-1] != ' ')) {
            *to++ = c;
        }
    }
    while (to > text && to[-1] == ' ') {
        to--;
    }
    *to = '\0';
}

/* Take a line " 401136:<tab>55 <tab>push %rbp"; other lines are skipped. Returns false
 * if take did. */
static bool
take_line(struct decode_sync *sync, char *line)
{
    const uint64_t here = sync->code->address + sync->at;
    char *at = NULL;
    uint64_t address;
    size_t size;

    while (*line == ' ') {
        line++;
    }
    if (!is_hex(*line) || sync->at >= sync->code->size) {
        return true;
    }
    errno = 0;
    address = strtoull(line, &at, 16);
    if (errno != 0 || at[0] != ':' || at[1] != '\t' || address != here) {
        return true;
    }
    at += 2;
    size = count_bytes(&at);
    if (size == 0 || size > sync->code->size - sync->at) {
        return true;
    }
    if (*at == '\t') {
        at++;
    }
    collapse_blanks(at);
    /* These are what objdump prints of bytes that it does not know. */
    return decode_sync_step(sync, size,
                            *at == '\0' || strstr(at, "(bad)") != NULL ||
                                    strncmp(at, ".byte", 5) == 0 ||
                                    strncmp(at, ".inst", 5) == 0
                                ? NULL
                                : at);
}

bool
decode_objdump_text(const struct decode_code *code, char *text, size_t size,
                    decode_take *take, void *context)
{
    struct decode_sync sync = {.code = code, .take = take, .context = context};
    char *const end = text + size;

    for (char *line = text; line < end;) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        char *const stop = newline != NULL ? newline : end;

        *stop = '\0';
        if (!take_line(&sync, line)) {
            return false;
        }
        line = stop + 1;
    }
    return decode_sync_end(&sync);
}

/* --- the child --- */

/* Return what objdump calls a machine; NULL if that is not known. */
static const char *
machine_name(const struct sym_code *kind)
{
    switch (kind->machine) {
    case EM_X86_64:
        return "i386:x86-64";
    case EM_386:
        return "i386";
    case EM_AARCH64:
        return "aarch64";
    case EM_ARM:
        return "arm";
    case EM_RISCV:
        return kind->wide ? "riscv:rv64" : "riscv:rv32";
    case EM_PPC64:
        return "powerpc:common64";
    case EM_S390:
        return "s390:64-bit";
    default:
        return NULL;
    }
}

/* pipes - descriptors of a child: its input, output and error messages. */
struct pipes {
    int code;
    int output[2];
    int errors;
};

static void
close_pipes(struct pipes *pipes)
{
    int *const fds[] = {&pipes->code, &pipes->output[0], &pipes->output[1],
                        &pipes->errors};

    for (size_t i = 0; i < 4; i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
        }
        *fds[i] = -1;
    }
}

/* Duplicate fd above the child's descriptors 0 to 3, since ntprof may have been started
 * with some of these closed. */
static int
move_above_child_fds(int fd)
{
    int lifted = fd;

    if (fd >= 0 && fd <= CODE_FD) {
        lifted = fcntl(fd, F_DUPFD_CLOEXEC, CODE_FD + 1);
        close(fd);
    }
    return lifted;
}

/* Open the descriptors of a child, and write the code. Returns false with errno set. */
static bool
open_pipes(const struct decode_code *code, struct pipes *pipes)
{
    *pipes = (struct pipes){-1, {-1, -1}, -1};
    pipes->code = move_above_child_fds(memfd_create("code", MFD_CLOEXEC));
    pipes->errors = move_above_child_fds(memfd_create("errors", MFD_CLOEXEC));
    if (pipe2(pipes->output, O_CLOEXEC) == 0) {
        pipes->output[0] = move_above_child_fds(pipes->output[0]);
        pipes->output[1] = move_above_child_fds(pipes->output[1]);
    }
    if (pipes->code >= 0 && pipes->errors >= 0 && pipes->output[0] >= 0 &&
        pipes->output[1] >= 0 &&
        whole_file_write(pipes->code, code->bytes, code->size)) {
        return true;
    }
    close_pipes(pipes);
    return false;
}

/* Start the child. Returns 0 or an errno. Its standard error is a file, so that nothing
 * has to read it while the child runs. */
static int
spawn(const struct decode_code *code, const char *machine, const struct pipes *pipes,
      pid_t *child)
{
    const char *const program = code->objdump != NULL ? code->objdump : "objdump";
    const char *const path = getenv("PATH");
    char environment_path[4096];
    char adjust[64];
    char option[64];
    posix_spawn_file_actions_t actions;
    char file[32];
    int error;

    snprintf(adjust, sizeof(adjust), "--adjust-vma=0x%" PRIx64, code->address);
    snprintf(option, sizeof(option), "-M%s", code->intel ? "intel" : "att");
    snprintf(file, sizeof(file), "/proc/self/fd/%d", CODE_FD);
    snprintf(environment_path, sizeof(environment_path), "PATH=%s",
             path != NULL ? path : "/usr/bin:/bin");
    const bool x86 = code->kind.machine == EM_X86_64 || code->kind.machine == EM_386;
    const char *const arguments[] = {program,
                                     "-D",
                                     "-b",
                                     "binary",
                                     "-m",
                                     machine,
                                     code->kind.big_endian ? "-EB" : "-EL",
                                     "--insn-width=16", /* all bytes in one line */
                                     adjust,
                                     file,
                                     x86 ? option : NULL,
                                     NULL};
    const char *const environment[] = {environment_path, "LC_ALL=C", NULL};

    error = posix_spawn_file_actions_init(&actions);
    if (error != 0) {
        return error;
    }
    error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    error = error != 0
                ? error
                : posix_spawn_file_actions_adddup2(&actions, pipes->output[1], 1);
    error = error != 0 ? error
                       : posix_spawn_file_actions_adddup2(&actions, pipes->errors, 2);
    error = error != 0
                ? error
                : posix_spawn_file_actions_adddup2(&actions, pipes->code, CODE_FD);
    if (error == 0) {
        error =
            posix_spawnp(child, program, &actions, NULL, (char **)(uintptr_t)arguments,
                         (char **)(uintptr_t)environment);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int64_t
now_ms(void)
{
    return (int64_t)(clock_now_ns() / 1000000);
}

/* Read the whole output within the time limit. Returns false if it takes too long, is
 * too large, or memory runs out. */
static bool
read_output(int fd, size_t limit, struct buffer *output)
{
    const int64_t deadline_ms = now_ms() + CHILD_SECONDS * 1000;

    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        const int64_t left_ms = deadline_ms - now_ms();
        uint8_t *room = buffer_reserve(output, 65536);
        ssize_t got;

        if (room == NULL || left_ms <= 0 || output->size > limit) {
            return false;
        }
        if (poll(&ready, 1, (int)left_ms) <= 0) {
            continue;
        }
        got = read(fd, room, 65536);
        if (got == 0) {
            return true;
        }
        if (got < 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
        output->size += got > 0 ? (size_t)got : 0;
    }
}

/* Read the first line of the child's error messages. */
static void
read_complaint(int fd, char *text, size_t size)
{
    const ssize_t got = pread(fd, text, size - 1, 0);

    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

/* Run the child and read its output. Returns false with the reason in why. */
static bool
run_objdump(const struct decode_code *code, const char *machine, struct pipes *pipes,
            struct buffer *output, char *why, size_t why_size)
{
    const size_t limit = code->size > SIZE_MAX / OUTPUT_BYTES_EACH - OUTPUT_BYTES_MORE
                             ? SIZE_MAX
                             : code->size * OUTPUT_BYTES_EACH + OUTPUT_BYTES_MORE;
    char complaint[200];
    pid_t child;
    int status = -1;
    int failed = spawn(code, machine, pipes, &child);
    bool complete;

    if (failed != 0) {
        snprintf(why, why_size, "cannot start %s: %s%s",
                 code->objdump != NULL ? code->objdump : "objdump", strerror(failed),
                 code->objdump != NULL ? "" : "; it is in the package binutils");
        return false;
    }
    close(pipes->output[1]);
    pipes->output[1] = -1;
    complete = read_output(pipes->output[0], limit, output);
    if (!complete) {
        kill(child, SIGKILL);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (complete && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return true;
    }
    read_complaint(pipes->errors, complaint, sizeof(complaint));
    snprintf(why, why_size, "%s failed: %s",
             code->objdump != NULL ? code->objdump : "objdump",
             !complete              ? "it took too long, or printed too much"
             : complaint[0] != '\0' ? complaint
                                    : "it did not say why");
    return false;
}

bool
decode_by_objdump(const struct decode_code *code, decode_take *take, void *context,
                  char *why, size_t why_size)
{
    const char *const machine = machine_name(&code->kind);
    struct buffer output = {0};
    struct pipes pipes;
    bool done = false;

    why[0] = '\0';
    if (machine == NULL) {
        snprintf(why, why_size, "what objdump calls machine %u is not known",
                 code->kind.machine);
        return false;
    }
    if (!open_pipes(code, &pipes)) {
        snprintf(why, why_size, "cannot hand code to objdump: %s", strerror(errno));
        return false;
    }
    done = run_objdump(code, machine, &pipes, &output, why, why_size);
    if (done && buffer_text(&output) != NULL) {
        done =
            decode_objdump_text(code, (char *)output.data, output.size, take, context);
    }
    close_pipes(&pipes);
    buffer_finish(&output);
    return done;
}
