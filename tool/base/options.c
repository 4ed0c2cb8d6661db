/* SPDX-License-Identifier: MIT */
/* options.c - reads options, and reports those that are refused. */
#include "base/options.h"
#include "base/message.h"
#include "base/number.h"
#include "base/suggest.h"
#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LETTERS_BYTES = 3 * OPTIONS_MAX + 8, /* letters with up to two colons; two flags */
    OPTION_NAME_BYTES = 40,
    FIRST_VALUE = 256, /* getopt_long returns it, and so on, for rows; above letters */
};

/* parser - the table of options in the form of getopt_long. */
struct parser {
    const struct options_syntax *syntax;
    void *arguments;
    struct option known[OPTIONS_MAX + 1]; /* by the index of rows */
    const struct options_row *rows[OPTIONS_MAX];
    size_t offsets[OPTIONS_MAX]; /* of the groups of rows */
    size_t count;
    char letters[LETTERS_BYTES];
};

static const struct options_row help_row = {.name = "help"};
static options_advise *advise;

void
options_set_adviser(options_advise *given)
{
    advise = given;
}

/* --- the table --- */

const struct options_row *
options_next(const struct options_syntax *syntax, struct options_cursor *cursor)
{
    while (syntax->groups[cursor->group].rows != NULL) {
        const struct options_row *const row =
            &syntax->groups[cursor->group].rows[cursor->row];

        if (row->name != NULL || row->help != NULL) {
            cursor->row++;
            return row;
        }
        cursor->group++;
        cursor->row = 0;
    }
    return NULL;
}

bool
options_has_no_value(const struct options_row *row)
{
    return row->value == NULL;
}

bool
options_value_is_optional(const struct options_row *row)
{
    return row->value != NULL && strncmp(row->value, "[=", 2) == 0;
}

/* Return the index of the row for which getopt_long returns a value, or the number of
 * rows if there is none. */
static size_t
find_row(const struct parser *parser, int value)
{
    size_t index = 0;

    while (index < parser->count && parser->known[index].val != value) {
        index++;
    }
    return index;
}

static void
add_row(struct parser *parser, const struct options_row *row, size_t offset)
{
    const size_t index = parser->count;
    const int has_arg = options_has_no_value(row)        ? no_argument
                        : options_value_is_optional(row) ? optional_argument
                                                         : required_argument;

    assert(index < OPTIONS_MAX);
    assert(row->letter == 0 || find_row(parser, row->letter) == index);
    parser->count++;
    parser->rows[index] = row;
    parser->offsets[index] = offset;
    parser->known[index] = (struct option){
        .name = row->name,
        .has_arg = has_arg,
        .val = row->letter != 0 ? row->letter : FIRST_VALUE + (int)index,
    };
    if (row->letter != 0) {
        static const char *const colons[] = {
            [no_argument] = "", [required_argument] = ":", [optional_argument] = "::"};
        char *const end = parser->letters + strlen(parser->letters);

        end[0] = row->letter;
        strcpy(end + 1, colons[has_arg]);
    }
}

static void
begin(struct parser *parser, const struct options_syntax *syntax, void *arguments)
{
    struct options_cursor cursor = {0};
    const struct options_row *row;

    *parser = (struct parser){.syntax = syntax, .arguments = arguments};
    /* "-" returns words in order whatever POSIXLY_CORRECT says; "+" stops at the first
     * word; ":" has getopt_long return ':' where a value is missing. */
    strcpy(parser->letters, syntax->program ? "+:" : "-:");
    while ((row = options_next(syntax, &cursor)) != NULL) {
        if (row->name != NULL) {
            add_row(parser, row, syntax->groups[cursor.group].offset);
        }
    }
    add_row(parser, &help_row, 0);
}

/* --- mistakes --- */

/* Whether the word abbreviates several long options. */
static bool
is_ambiguous(const struct parser *parser, const char *word)
{
    const size_t size = strcspn(word, "=");
    size_t count = 0;

    for (const struct option *known = parser->known; known->name != NULL; known++) {
        count += size > 2 && strncmp(known->name, word + 2, size - 2) == 0;
    }
    return count > 1;
}

/* Report a refused word. Returns false, so that callers can return its value. */
static bool
refuse_word(const struct options_syntax *syntax, const char *word, const char *why)
{
    char advice[400];

    snprintf(advice, sizeof(advice), "%s; see: ntprof help %s", why, syntax->command);
    return cmd_refuse(syntax->command, word, advice);
}

/* Report an unknown option, and suggest a similar one. */
static bool
refuse_unknown(const struct parser *parser, const char *word)
{
    const char *const instead =
        advise != NULL ? advise(parser->syntax->command, word) : NULL;
    const bool is_long = strncmp(word, "--", 2) == 0;
    struct suggestion suggestion;
    char why[120] = "no such option";

    if (instead != NULL) {
        return refuse_word(parser->syntax, word, instead);
    }
    suggest_begin(&suggestion, word, 0);
    if (is_long) {
        suggest_begin(&suggestion, word + 2, strcspn(word + 2, "="));
    }
    for (const struct option *known = parser->known; known->name != NULL; known++) {
        suggest_offer(&suggestion, known->name);
    }
    if (suggestion.best != NULL) {
        snprintf(why, sizeof(why), "no such option (did you mean --%s?)",
                 suggestion.best);
    }
    return refuse_word(parser->syntax, word, why);
}

/* Report a word that getopt_long refused by answer '?' or ':'; opterr is 0, so it
 * printed nothing itself. Of '?', optopt is an unknown letter, what getopt_long returns
 * for a long option that takes no value but has one, or 0. */
static bool
refuse_option(const struct parser *parser, int answer, const char *word)
{
    const char letter[] = {'-', (char)optopt, '\0'};

    if (answer == ':') {
        return refuse_word(parser->syntax, word, "needs a value");
    }
    if (optopt != 0 && find_row(parser, optopt) < parser->count) {
        return refuse_word(parser->syntax, word, "takes no value");
    }
    if (optopt == 0 && is_ambiguous(parser, word)) {
        return refuse_word(parser->syntax, word, "short for more than one option");
    }
    /* The letter may be one of several in its word, so report only the letter. */
    return refuse_unknown(parser, optopt != 0 ? letter : word);
}

/* Add a word that is no option. Returns false after an error line, if there are too
 * many. */
static bool
add_word(const struct options_syntax *syntax, struct options_words *words, char *word)
{
    if (words->count < syntax->words_max) {
        /* The list is in argv: this overwrites the word itself, or one before it that
         * was read. */
        words->list[words->count++] = word;
        return true;
    }
    return syntax->words_too_many != NULL
               ? cmd_refuse(syntax->command, word, syntax->words_too_many)
               : refuse_word(syntax, word, "only options are taken here");
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

/* Whether the value of an option looks like the next option, or like "--": -o --
 * COMMAND would write a file "--". Negative numbers do not. */
static bool
is_like_option(const char *word)
{
    return word[0] == '-' && (word[1] == '-' || isalpha((unsigned char)word[1]));
}

/* Report that the value of an option looks like an option. */
static bool
refuse_value(const struct options_syntax *syntax, const char *option, const char *value)
{
    char shown[80];
    char why[240];

    snprintf(
        why, sizeof(why),
        "needs a value before %s; one that starts with - is given as ./-x if it is a "
        "file, else as %s-x",
        text_show(shown, sizeof(shown), value), option[1] == '-' ? "--OPTION=" : "-O");
    return refuse_word(syntax, option, why);
}

/* --- what stands in a command line --- */

/* Hand an option that getopt_long found to its row. */
static bool
take_row(const struct parser *parser, int value, char **argv)
{
    const size_t index = find_row(parser, value);
    const struct options_given given = {.command = parser->syntax->command,
                                        .row = parser->rows[index],
                                        .value = optarg};

    /* The value may be a word of its own, after that of the option. */
    if (optarg != NULL && optarg == argv[optind - 1] && is_like_option(optarg)) {
        return refuse_value(parser->syntax, argv[optind - 2], optarg);
    }
    return given.row->take(
        (char *)parser->arguments + parser->offsets[index] + given.row->offset, &given);
}

/* Handle one answer of getopt_long. Returns false if the command must not run: after an
 * error line, or its help, for which *exit_status becomes CMD_OK. */
static bool
take_answer(const struct parser *parser, int answer, struct options_words *words,
            char **argv, int *exit_status)
{
    const struct options_syntax *const syntax = parser->syntax;

    if (answer == 1) { /* not an option */
        return add_word(syntax, words, optarg);
    }
    if (answer == ':' || answer == '?') {
        return refuse_option(parser, answer, argv[optind - 1]);
    }
    if (parser->rows[find_row(parser, answer)] == &help_row) {
        options_print_help(stdout, syntax);
        *exit_status = CMD_OK;
        return false;
    }
    return take_row(parser, answer, argv);
}

bool
options_take(const struct options_syntax *syntax, int argc, char **argv,
             void *arguments, struct options_words *words, int *exit_status)
{
    struct parser parser;
    int answer;

    begin(&parser, syntax, arguments);
    *words = (struct options_words){argv + 1, 0};
    *exit_status = CMD_FAILED;
    optind = 0; /* glibc: restart, even after another getopt */
    opterr = 0;
    while ((answer = getopt_long(argc, argv, parser.letters, parser.known, NULL)) !=
           -1) {
        if (!take_answer(&parser, answer, words, argv, exit_status)) {
            return false;
        }
    }
    return add_rest(syntax, argc, argv, words);
}

/* --- values --- */

bool
options_take_flag(void *into, const struct options_given *given)
{
    (void)given;
    *(bool *)into = true;
    return true;
}

bool
options_take_text(void *into, const struct options_given *given)
{
    *(const char **)into = given->value;
    return true;
}

bool
options_refuse(const struct options_given *given, const char *why)
{
    char option[OPTION_NAME_BYTES] = {'-', given->row->letter, '\0'};

    if (given->row->letter == 0) {
        snprintf(option, sizeof(option), "--%s", given->row->name);
    }
    return cmd_refuse_value(given->command, option, given->value, why);
}

static bool
take_count(size_t *count, const struct options_given *given, const char *zero)
{
    char allowed[80];
    uint64_t number;

    if (!number_parse_count(given->value, &number) || number > SIZE_MAX) {
        snprintf(allowed, sizeof(allowed), "allowed are 0 (%s), 1, 2 and so on", zero);
        return options_refuse(given, allowed);
    }
    *count = (size_t)number;
    return true;
}

bool
options_take_count_or_all(void *into, const struct options_given *given)
{
    return take_count(into, given, "all");
}

bool
options_take_count_or_none(void *into, const struct options_given *given)
{
    return take_count(into, given, "none");
}

bool
options_time(const struct options_given *given, const struct options_times *times,
             uint64_t *ns)
{
    uint64_t time_ns;

    if (!number_parse_seconds(given->value, &time_ns) || time_ns < times->min_ns ||
        time_ns > times->max_ns) {
        return options_refuse(given, times->refusal);
    }
    *ns = time_ns;
    return true;
}

bool
options_percent(const char *value, double *percent)
{
    char *end;

    *percent = strtod(value, &end);
    return end != value && (*end == '\0' || strcmp(end, "%") == 0) &&
           isfinite(*percent);
}
