/* SPDX-License-Identifier: MIT */
/* options.c - reads options, and reports those that are refused. */
#include "base/options.h"
#include "base/number.h"
#include "cli/cmd.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    LETTERS_BYTES = 160, /* two leading flags, and up to 3 bytes for each letter */
    LETTER_MAX = 255,
};

/* Make the option string of getopt_long from the table of options. */
static void
list_letters(const struct options_syntax *syntax, char *letters)
{
    /* "-" returns words in order whatever POSIXLY_CORRECT says; "+" stops at the first
     * word. */
    char *end = stpcpy(letters, syntax->program ? "+:" : "-:");

    for (const struct option *known = syntax->known; known->name != NULL; known++) {
        if (known->val <= LETTER_MAX && end < letters + LETTERS_BYTES - 4) {
            *end++ = (char)known->val;
            end = stpcpy(end, known->has_arg == no_argument         ? ""
                              : known->has_arg == required_argument ? ":"
                                                                    : "::");
        }
    }
    *end = '\0';
}

static bool
is_known(const struct options_syntax *syntax, int value)
{
    const struct option *known = syntax->known;

    while (known->name != NULL && known->val != value) {
        known++;
    }
    return known->name != NULL;
}

/* Whether the word abbreviates several long options. */
static bool
is_ambiguous(const struct options_syntax *syntax, const char *word)
{
    const size_t size = strcspn(word, "=");
    size_t count = 0;

    for (const struct option *known = syntax->known; known->name != NULL; known++) {
        count += size > 2 && strncmp(known->name, word + 2, size - 2) == 0;
    }
    return count > 1;
}

/* Report a refused word. Returns false, so that callers can return its value. */
static bool
refuse(const struct options_syntax *syntax, const char *word, const char *why)
{
    char advice[120];

    snprintf(advice, sizeof(advice), "%s; see: ntprof help %s", why, syntax->command);
    return cmd_refuse(syntax->command, word, advice);
}

/* Report a word that getopt_long refused; opterr is 0, so it printed nothing itself. */
static bool
refuse_option(const struct options_syntax *syntax, int answer, const char *word)
{
    const char letter[] = {'-', (char)optopt, '\0'};

    if (answer == ':') {
        return refuse(syntax, word, "needs a value");
    }
    if (optopt != 0 && is_known(syntax, optopt)) {
        return refuse(syntax, word, "takes no value");
    }
    if (optopt == 0 && is_ambiguous(syntax, word)) {
        return refuse(syntax, word, "short for more than one option");
    }
    if (optopt == 'g' || strncmp(word, "--call-graph", strlen("--call-graph")) == 0) {
        return refuse(syntax, optopt != 0 ? letter : word,
                      CMD_PLACES_NOT_CALLERS ": leave it out");
    }
    /* The letter may be one of several in its word, so report only the letter. */
    return refuse(syntax, optopt != 0 ? letter : word, "no such option");
}

static bool
add_word(const struct options_syntax *syntax, struct options_words *words, char *word)
{
    if (words->count < syntax->words_max) {
        /* This overwrites only words that were read: none of them was before this
         * place. */
        words->list[words->count++] = word;
        return true;
    }
    return syntax->words_too_many != NULL
               ? cmd_refuse(syntax->command, word, syntax->words_too_many)
               : refuse(syntax, word, "only options are taken here");
}

/* Add the words after all options. */
static bool
add_rest(const struct options_syntax *syntax, int argc, char **argv,
         struct options_words *words)
{
    if (syntax->program) {
        *words = (struct options_words){argv + optind, (size_t)(argc - optind)};
        return true;
    }
    for (; optind < argc; optind++) {
        if (!add_word(syntax, words, argv[optind])) {
            return false;
        }
    }
    return true;
}

/* Handle one answer of getopt_long. Returns false with *exit_status set. */
static bool
take(const struct options_syntax *syntax, int answer, void *arguments,
     struct options_words *words, char **argv, int *exit_status)
{
    *exit_status = CMD_FAILED;
    switch (answer) {
    case 1: /* not an option */
        return add_word(syntax, words, optarg);
    case OPTION_HELP:
        *exit_status = cmd_print_help(syntax->command) ? CMD_OK : CMD_FAILED;
        return false;
    case ':':
    case '?':
        return refuse_option(syntax, answer, argv[optind - 1]);
    default:
        return syntax->set(arguments, answer, optarg);
    }
}

bool
options_take(const struct options_syntax *syntax, int argc, char **argv,
             void *arguments, struct options_words *words, int *exit_status)
{
    char letters[LETTERS_BYTES];
    int answer;

    list_letters(syntax, letters);
    *words = (struct options_words){argv + 1, 0};
    optind = 0; /* glibc: restart, even after another getopt */
    opterr = 0;
    while ((answer = getopt_long(argc, argv, letters, syntax->known, NULL)) != -1) {
        if (!take(syntax, answer, arguments, words, argv, exit_status)) {
            return false;
        }
    }
    *exit_status = CMD_FAILED;
    return add_rest(syntax, argc, argv, words);
}

/* --json is the only option. */
static bool
set_json(void *json, int option, char *value)
{
    (void)option;
    (void)value;
    *(bool *)json = true;
    return true;
}

bool
options_take_json(const char *command, int argc, char **argv, bool *json,
                  int *exit_status)
{
    static const struct option known[] = {
        {"json", no_argument, NULL, OPTION_OWN}, OPTION_HELP_ROW, {0}};
    const struct options_syntax syntax = {
        .command = command, .known = known, .set = set_json};
    struct options_words words;

    return options_take(&syntax, argc, argv, json, &words, exit_status);
}

bool
options_count(const char *command, const char *option, const char *value,
              const char *zero, size_t *count)
{
    char allowed[80];
    uint64_t number;

    if (!number_parse_count(value, &number) || number > SIZE_MAX) {
        snprintf(allowed, sizeof(allowed), "allowed are 0 (%s), 1, 2 and so on", zero);
        return cmd_refuse_value(command, option, value, allowed);
    }
    *count = (size_t)number;
    return true;
}

bool
options_time(const char *command, const char *option, const char *value,
             const struct options_times *times, uint64_t *ns)
{
    uint64_t time_ns;

    if (!number_parse_seconds(value, &time_ns) || time_ns < times->min_ns ||
        time_ns > times->max_ns) {
        return cmd_refuse_value(command, option, value, times->refusal);
    }
    *ns = time_ns;
    return true;
}
