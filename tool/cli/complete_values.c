/* SPDX-License-Identifier: MIT */
/* complete_values.c - prints what can be a value: what a table of options names, and
 * what its kinds in <> stand for. */
#include "cli/cmd.h"
#include "cli/complete.h"
#include "cli/store_actions.h"
#include "profile/group.h"
#include "record/offers.h"
#include "view/export/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* completed - the part of the value that was typed, and what its word has in front of
 * it. */
struct completed {
    const char *before;
    const char *value;
};

/* Print the words of a list, between which there are blanks, commas or both. */
static void
print_words(const struct completed *completed, const char *list)
{
    char word[64];

    while (*list != '\0') {
        const size_t length = strcspn(list, ", ");

        snprintf(word, sizeof(word), "%.*s", (int)length, list);
        complete_print(completed->before, word, /* meaning */ NULL);
        list += length;
        list += strspn(list, ", ");
    }
}

static void
print_commands(const struct completed *completed)
{
    for (const struct command *command = command_list; command->name != NULL;
         command++) {
        complete_print(completed->before, command->name, command->summary);
    }
}

static void
print_keys(const struct completed *completed, bool by_source)
{
    char list[300] = "";

    report_keys_list(list, sizeof(list), by_source);
    print_words(completed, list);
}

static void
print_all_keys(const struct completed *completed)
{
    print_keys(completed, true);
}

static void
print_compared_keys(const struct completed *completed)
{
    print_keys(completed, false);
}

static void
print_formats(const struct completed *completed)
{
    print_words(completed, export_format_names());
}

static void
print_store_actions(const struct completed *completed)
{
    for (const struct store_action *action = store_actions; action->name != NULL;
         action++) {
        complete_print(completed->before, action->name, /* meaning */ NULL);
    }
}

static void
print_offer(void *context, const char *value, const char *meaning)
{
    const struct completed *const completed = context;

    complete_print(completed->before, value, meaning);
}

/* Print what a kind such as <key> stands for, or ask the shell for it. */
static void
print_kind(struct completed *completed, const char *kind)
{
    static const struct {
        const char *kind;
        void (*print)(const struct completed *completed);
    } known[] = {
        {"<command>", print_commands},           {"<key>", print_all_keys},
        {"<compared-key>", print_compared_keys}, {"<format>", print_formats},
        {"<store-action>", print_store_actions},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(kind, known[i].kind) == 0) {
            known[i].print(completed);
            return;
        }
    }
    if (!offers_find(kind, completed->value, print_offer, completed)) {
        printf(":%.*s %zu\n", (int)strlen(kind) - 2, kind + 1, /* <file> and so on */
               strlen(completed->before));
    }
}

/* Print candidates of all kinds; kinds is changed. */
static void
print_kinds(struct completed *completed, char *kinds)
{
    char *kind;

    while ((kind = strsep(&kinds, " ")) != NULL) {
        if (kind[0] == '<') {
            print_kind(completed, kind);
        } else {
            complete_print(completed->before, kind, /* meaning */ NULL);
        }
    }
}

void
complete_values(const char *before, const char *value, const char *kinds)
{
    /* "," in front of kinds: the value is a list, whose last element is completed. */
    const bool is_list = kinds != NULL && kinds[0] == ',';
    const char *const comma = is_list ? strrchr(value, ',') : NULL;
    const int kept = comma != NULL ? (int)(comma - value) + 1 : 0;
    char *const each = kinds != NULL ? strdup(is_list ? kinds + 1 : kinds) : NULL;
    char *in_front;

    if (each != NULL && asprintf(&in_front, "%s%.*s", before, kept, value) >= 0) {
        print_kinds(&(struct completed){in_front, value + kept}, each);
        free(in_front);
    }
    free(each);
}
