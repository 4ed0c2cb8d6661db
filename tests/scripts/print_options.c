/* SPDX-License-Identifier: MIT */
/*
 * print_options.c - the ntprof command with a getopt_long that prints the options which
 * it was asked to find, and ends. So scripts/check_options.py learns what each
 * subcommand really takes.
 *
 * usage: print-options COMMAND. A line for each option: letter or "-", long name or
 * "-", and 0, 1 or 2 as it takes no value, one, or one if it likes.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option *
long_name_of(const struct option *options, int letter)
{
    while (options->name != NULL && options->val != letter) {
        options++;
    }
    return options;
}

/* Is the value of an option a letter of the short ones? */
static int
is_letter(const char *letters, int value)
{
    return value > 0 && value < 0x80 && value != ':' && strchr(letters, value) != NULL;
}

static void
print_letters(const char *letters, const struct option *options)
{
    for (const char *at = letters + strspn(letters, "+-:"); *at != '\0';) {
        const size_t colons = strspn(at + 1, ":");
        const struct option *const twin = long_name_of(options, *at);

        printf("%c %s %zu\n", *at, twin->name != NULL ? twin->name : "-", colons);
        if (twin->name != NULL && twin->has_arg != (int)colons) {
            printf("%c %s %d\n", *at, twin->name, twin->has_arg);
        }
        at += 1 + colons;
    }
}

int
getopt_long(int argc, char *const *argv, const char *letters,
            const struct option *options, int *index)
{
    (void)argc;
    (void)argv;
    (void)index;
    print_letters(letters, options);
    for (const struct option *at = options; at->name != NULL; at++) {
        if (!is_letter(letters, at->val)) {
            printf("- %s %d\n", at->name, at->has_arg);
        }
    }
    exit(fflush(stdout) == 0 ? 0 : 1);
}
