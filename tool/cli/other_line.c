/* SPDX-License-Identifier: MIT */
/* other_line.c - makes the command line that is proposed for one that starts with
 * options. */
#include "base/buffer.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/other_words.h"

#include <stdbool.h>
#include <string.h>

/* Return whether a shell needs no quotation marks around a word. */
static bool
is_plain(const char *word)
{
    return word[0] != '\0' &&
           word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789_-+=./,:@%")] == '\0';
}

/* Append each word after a blank, escaped for a message, and in single quotes where a
 * shell needs them. A word that contains a single quote gets none: whoever types the
 * line has to quote it. */
static void
put_words(struct buffer *line, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        const bool plain = is_plain(argv[i]) || strchr(argv[i], '\'') != NULL;

        buffer_append_text(line, plain ? " " : " '");
        text_escape(line, argv[i]);
        buffer_append_text(line, plain ? "" : "'");
    }
}

/* Guess by the form of an option whether the next word is its value: of a long option
 * without "=", or of a letter that is known to have a value. */
static bool
takes_next(const char *option)
{
    return option[1] == '-' ? strchr(option, '=') == NULL
                            : option[1] != '\0' && option[2] == '\0' &&
                                  strchr("FecCopdG", option[1]) != NULL;
}

/* Return whether the options at the start of argv contain -LETTER or --NAME, which may
 * be followed by more characters, such as a value. */
static bool
has_option(int argc, char **argv, char letter, const char *name)
{
    for (int i = 0; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
        if (argv[i][1] == letter ||
            (argv[i][1] == '-' && strncmp(argv[i] + 2, name, strlen(name)) == 0)) {
            return true;
        }
        /* Pass its value. */
        i += takes_next(argv[i]) && i + 1 < argc && argv[i + 1][0] != '-';
    }
    return false;
}

/* Return whether a word asks for all processors, which ntprof system profiles
 * anyway. */
static bool
is_all(const char *word)
{
    return strcmp(word, "-a") == 0 || strcmp(word, "--all-cpus") == 0 ||
           strcmp(word, "--all") == 0;
}

/* Append the command line that the words may stand for, which name no command: attach
 * and top with -p, system with -a, or else run. */
static void
put_line(struct buffer *line, int argc, char **argv)
{
    int kept = 0;

    if (has_option(argc, argv, 'p', "pid")) {
        buffer_append_text(line, "ntprof attach");
        put_words(line, argc, argv);
        buffer_append_text(line, ", or to look at it now: ntprof top");
        put_words(line, argc, argv);
        return;
    }
    if (!has_option(argc, argv, 'a', "all")) {
        buffer_append_text(line, "ntprof run");
        put_words(line, argc, argv);
        return;
    }
    for (int i = 0; i < argc; i++) {
        if (!is_all(argv[i])) {
            argv[kept++] = argv[i];
        }
    }
    buffer_append_text(line, "ntprof system");
    put_words(line, kept, argv);
}

int
other_refuse_options(int argc, char **argv, int command)
{
    struct buffer line = {0};
    const char *text;
    char shown[80];

    text_show(shown, sizeof(shown), argv[0]);
    if (command > 0) {
        buffer_append_text(&line, "ntprof");
        put_words(&line, 1, argv + command);
        put_words(&line, command, argv);
        put_words(&line, argc - command - 1, argv + command + 1);
    } else {
        put_line(&line, argc, argv);
    }
    text = buffer_text(&line);
    cmd_fail(NULL, "%s: options stand behind a command: %s", shown,
             text != NULL ? text : "ntprof run OPTIONS -- COMMAND");
    buffer_finish(&line);
    return CMD_FAILED;
}
