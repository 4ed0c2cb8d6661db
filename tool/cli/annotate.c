/* SPDX-License-Identifier: MIT */
/* cli/annotate.c - ntprof annotate: source lines and instructions with their hits. */
#include "cli/annotate.h"
#include "base/number.h"
#include "cli/cmd.h"
#include "record/default_output.h"

#include <string.h>
#include <unistd.h>

static const char help[] =
    "Examples\n"
    "  ntprof annotate                          what is first in the report\n"
    "  ntprof annotate count_primes             a function: instructions and source\n"
    "  ntprof annotate 'mix inlined in *'       wherever a function was inlined\n"
    "  ntprof annotate --source parse.c:120     the lines around one\n"
    "  ntprof annotate libz.so.1+0x2f40 p.pb.gz   the code around an offset\n"
    "  ntprof annotate memcpy --image 'libc.so*'   where several have the name\n"
    "\n"
    "usage: ntprof annotate [options] [SYMBOL|FILE:LINE|IMAGE+OFFSET] [FILE]\n"
    "\n"
    "Hits of instructions that share a bucket stand in a bracket: they are of all of\n"
    "them together.\n";

/* Lines of context around those with hits, by default. */
enum { CONTEXT_DEFAULT = 5 };

/* --- options --- */

static bool
take_context(void *into, const struct options_given *given)
{
    uint64_t lines = UINT32_MAX;

    if (strcmp(given->value, "all") != 0 &&
        (!number_parse_count(given->value, &lines) || lines >= UINT32_MAX)) {
        return options_refuse(given, "allowed are 0, 1, 2 and so on, and all");
    }
    *(uint32_t *)into = (uint32_t)lines;
    return true;
}

static bool
take_view(void *into, const struct options_given *given)
{
    enum listing_view *const view = into;
    const enum listing_view wanted = strcmp(given->row->name, "asm") == 0
                                         ? LISTING_INSTRUCTIONS
                                         : LISTING_SOURCE_ONLY;

    if (*view != LISTING_BEST && *view != wanted) {
        return cmd_refuse("annotate", "--source, --asm", "only one of them");
    }
    *view = wanted;
    return true;
}

static bool
take_style(void *into, const struct options_given *given)
{
    bool *const intel = into;

    *intel = strcmp(given->value, "intel") == 0;
    return *intel || strcmp(given->value, "att") == 0 ||
           options_refuse(given, "allowed are att and intel");
}

static bool
take_objdump(void *into, const struct options_given *given)
{
    struct annotator_settings *const settings = into;

    settings->decoder = LISTING_DECODE_OBJDUMP;
    settings->objdump = given->value;
    return true;
}

#define INTO(take, member) OPTIONS_INTO(take, struct annotate_arguments, member)
#define FLAG(member) OPTIONS_FLAG(struct annotate_arguments, member)
#define TEXT(member) OPTIONS_TEXT(struct annotate_arguments, member)

static const struct options_row rows[] = {
    {"source", 0, NULL, "only source lines", NULL, INTO(take_view, view)},
    {"asm", 0, NULL, "instructions, also for a line", NULL, INTO(take_view, view)},
    {"image", 0, "GLOB",
     "only images whose path or file name matches, or whose build-id starts so",
     "<file>", TEXT(image)},
    {"image-dir", 0, "DIR", "look for programs and libraries in DIR first", "<folder>",
     TEXT(settings.image_dir)},
    {"source-dir", 0, "OLD=NEW",
     "sources compiled in OLD are in NEW; repeatable; NEW alone is for paths that have "
     "no OLD",
     "<folder>", INTO(source_dirs_take, dirs)},
    {"rows", 0, "N",
     "only the N lines with the most hits, and context; 0 for all (default)", NULL,
     INTO(options_take_count_or_all, rows)},
    {"context", 0, "N", "lines around those with hits (default 5), or all",
     "0 5 20 all", INTO(take_context, context)},
    {"bytes", 0, NULL, "of instructions, too", NULL, FLAG(bytes)},
    {"objdump", 0, "[=PROGRAM]", "have binutils' objdump disassemble", "<executable>",
     INTO(take_objdump, settings)},
    {"disassembler-style", 'M', "STYLE", "att (default) or intel", "att intel",
     INTO(take_style, settings.intel)},
    {"event", 'e', "SOURCE", "only hits of this source", "<source>", TEXT(source)},
    {"json", 0, NULL, "as JSON", NULL, FLAG(json)},
    {"debuginfod", 0, "[=URL]",
     "get debug files from servers; also if the variable DEBUGINFOD_URLS is set", NULL,
     INTO(names_take_debuginfod, names)},
    {"no-cache", 0, NULL, "unpack debug sections anew, and keep none for later", NULL,
     FLAG(names.no_cache)},
    {0},
};

const struct options_syntax cmd_annotate_options = {
    .command = "annotate",
    .help = help,
    .groups = {{rows, 0},
               {input_foreign_rows, offsetof(struct annotate_arguments, input)},
               {input_rows, offsetof(struct annotate_arguments, input)}},
    .words_max = 2,
    .words_too_many = "only one thing and one FILE can be annotated",
    .complete = {"<function> <profile>"},
};

/* Return whether text ends as file names of profiles do. */
static bool
is_profile_name(const char *text)
{
    static const char end[] = ".pb.gz";
    const size_t size = strlen(text);

    return size >= sizeof(end) && strcmp(text + size - strlen(end), end) == 0;
}

static bool
is_profile(const char *text)
{
    return is_profile_name(text) || store_is_url(text);
}

/* Return whether of two words the first is the file, as with other tools, and not what
 * is to be annotated: it looks like a profile and the other word does not, or it is a
 * file and the other word is none. */
static bool
is_file_first(char **words)
{
    if (is_profile(words[0]) != is_profile(words[1])) {
        return is_profile(words[0]);
    }
    return access(words[0], F_OK) == 0 && access(words[1], F_OK) != 0;
}

/* Set what is annotated and the file from the words. A single word is a file only if it
 * looks like a profile. */
static void
set_words(struct annotate_arguments *arguments, const struct options_words *words)
{
    const bool file_alone = words->count == 1 && is_profile(words->list[0]);
    /* as a number, the index of the word that says what is annotated */
    const bool swapped = words->count == 2 && is_file_first(words->list);

    arguments->what = words->count > 0 && !file_alone ? words->list[swapped] : NULL;
    arguments->file = file_alone         ? words->list[0]
                      : words->count > 1 ? words->list[!swapped]
                                         : CMD_FILE_DEFAULT;
}

int
cmd_annotate(int argc, char **argv)
{
    struct annotate_arguments arguments = {
        .context = CONTEXT_DEFAULT, .input.stacks = true, .settings.below = true};
    struct options_words words;
    int status;

    if (options_take(&cmd_annotate_options, argc, argv, &arguments, &words, &status)) {
        set_words(&arguments, &words);
        arguments.settings.prefixes = arguments.dirs.list;
        arguments.settings.prefix_count = arguments.dirs.count;
        status = annotate_file(&arguments);
    }
    source_dirs_finish(&arguments.dirs);
    return status;
}
