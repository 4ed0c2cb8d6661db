/* SPDX-License-Identifier: MIT */
/* file_kind.c - files of other profilers and other kinds, by their first bytes. */
#include "profile/file_kind.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CONVERT "; make it pprof first: go tool pprof -proto -output NEW PROGRAM FILE"
#define WITHOUT_DEBUG CONVERT ", or ask the server for it again without ?debug=1"
#define ONLY_PPROF "; ntprof reads pprof files, such as it writes"

struct known {
    const char *bytes;
    size_t size; /* 0: bytes is a text */
    const char *what;
};

/* Numbers at the start of a file may be in either byte order, so both are listed. */
static const struct known kinds[] = {
    {"PK\003\004", 4, "a zip file, not a profile; unpack it first"},
    {"\x28\xb5\x2f\xfd", 4,
     "a zstd file, not a profile; unpack it first: zstd -d FILE"},
    {"\xfd"
     "7zXZ",
     5, "an xz file, not a profile; unpack it first: xz -d FILE"},
    {"BZh", 0, "a bzip2 file, not a profile; unpack it first: bzip2 -d FILE"},
    {"\x04\x22\x4d\x18", 4, "an lz4 file, not a profile; unpack it first: lz4 -d FILE"},
    {"\x7f"
     "ELF",
     4, "a program or library (ELF file), not a profile"},
    {"MZ", 0, "a program of Windows, not a profile"},
    {"!<arch>\n", 0, "an archive of object files, not a profile"},
    {"PERFILE2", 0, "a file of perf record, not a profile; read it with perf report"},
    {"2ELIFREP", 0,
     "a file of perf record, of another kind of processor, not a profile; read it with "
     "perf report"},
    {"# To display the perf.data header", 0,
     "what perf report printed, not a profile" ONLY_PPROF},
    {"# ========\n# captured on", 0,
     "what perf script printed, not a profile" ONLY_PPROF},
    {"heap profile:", 0, "a heap profile as text, of gperftools or Go" WITHOUT_DEBUG},
    {"heap_v2/", 0, "a heap profile as text, of jemalloc or gperftools" CONVERT},
    {"--- heapz", 0, "a heap profile as text" CONVERT},
    {"--- growthz", 0, "a heap profile as text" CONVERT},
    {"--- contention", 0,
     "a contention profile as text, of gperftools, Java or Go" WITHOUT_DEBUG},
    {"--- mutex", 0, "a mutex profile as text, of Go" WITHOUT_DEBUG},
    {"--- threadz", 0, "a thread profile as text" CONVERT},
    {"--- Thread", 0, "a thread profile as text" CONVERT},
    {"goroutine profile:", 0, "a goroutine profile as text, of Go" WITHOUT_DEBUG},
    {"threadcreate profile:", 0, "a thread profile as text, of Go" WITHOUT_DEBUG},
    {"gmon", 0,
     "a file of gprof (gmon.out), not a profile of ntprof; read it with "
     "gprof"},
    {"# callgrind format", 0,
     "a file of callgrind, not a profile; read it with callgrind_annotate"},
    {"version: 1\ncreator: callgrind", 0,
     "a file of callgrind, not a profile; read it with callgrind_annotate"},
    {"desc: ", 0,
     "a file of cachegrind or massif, not a profile; read it with cg_annotate or "
     "ms_print"},
    {"FLR\0", 4, "a Java flight recording, not a profile; read it with jfr print"},
    {"JAVA PROFILE ", 0, "a heap dump of Java, not a profile"},
    {"Nettrace", 0, "a trace of .NET, not a profile; read it with dotnet-trace"},
    {"SQLite format 3", 0,
     "a database; if it is a store of ntprof, name it as sqlite:FILE"},
    {"gcda", 0,
     "counts of gcc's -fprofile-generate, not a profile; read it with "
     "gcov"},
    {"adcg", 0,
     "counts of gcc's -fprofile-generate, or a file for -fauto-profile, "
     "not a profile"},
    {"\x81rforpl\xff", 8,
     "counts of clang's -fprofile-generate, not a profile; read it with llvm-profdata"},
    {"\xfflprofr\x81", 8,
     "counts of clang's -fprofile-generate, not a profile; read it with llvm-profdata"},
    {"\xfflprofi\x81", 8,
     "a file of llvm-profdata, not a profile; read it with llvm-profdata show"},
    {"\xfb\xe9", 2,
     "a file of Python's cProfile, not a profile of ntprof; read it "
     "with python3 -m pstats"},
    {"\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16, "a CPU profile of gperftools" CONVERT},
    {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\3", 16, "a CPU profile of gperftools" CONVERT},
    {"\0\0\0\0\3\0\0\0", 8, "a CPU profile of gperftools" CONVERT},
    {"\0\0\0\0\0\0\0\3", 8, "a CPU profile of gperftools" CONVERT},
};

const char *
file_kind_known(const void *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const size_t length =
            kinds[i].size > 0 ? kinds[i].size : strlen(kinds[i].bytes);

        if (size >= length && memcmp(bytes, kinds[i].bytes, length) == 0) {
            return kinds[i].what;
        }
    }
    return NULL;
}

/* --- text --- */

/* text - the first bytes of a file, terminated. */
struct text {
    char bytes[FILE_KIND_BYTES + 1];
    char line[FILE_KIND_BYTES + 1]; /* the first one that says something */
};

static bool
is_text(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)bytes[i];

        if (byte == 0x7f || (byte < ' ' && strchr("\t\n\r\f\033", byte) == NULL) ||
            byte == 0) {
            return false;
        }
    }
    return size > 0;
}

/* Copy the first line that is neither blank nor a comment. */
static void
find_line(struct text *text)
{
    const char *at = text->bytes;

    while (*at != '\0' && (isspace((unsigned char)*at) || *at == '#')) {
        at += isspace((unsigned char)*at) ? 1 : strcspn(at, "\n");
    }
    memcpy(text->line, at, strcspn(at, "\r\n"));
}

static bool
text_has(const struct text *text, const char *words)
{
    return strstr(text->bytes, words) != NULL;
}

static const char *
guess_json(const struct text *text)
{
    if (text_has(text, "\"ntprof.")) {
        return "JSON that ntprof printed, not a profile; use the file that it was made "
               "from";
    }
    if (text_has(text, "speedscope")) {
        return "a file of speedscope (JSON), not a pprof file" ONLY_PPROF;
    }
    if (text_has(text, "\"traceEvents\"") || text_has(text, "\"ph\"")) {
        return "a trace of Chrome (JSON), not a profile" ONLY_PPROF;
    }
    if (text_has(text, "\"nodes\"") || text_has(text, "\"callFrame\"")) {
        return "a CPU profile of Chrome or Node.js (JSON), not a pprof file" ONLY_PPROF;
    }
    if (text_has(text, "preprocessedProfileVersion") || text_has(text, "\"meta\"")) {
        return "a profile of the Firefox Profiler (JSON), not a pprof file" ONLY_PPROF;
    }
    return "a JSON file, not a profile" ONLY_PPROF;
}

/* Whether a line is one of folded stacks: a blank and a number end it, as in
 * "main;work 12". */
static bool
is_folded(const char *line)
{
    const char *const number = strrchr(line, ' ');

    return number != NULL && number > line && number[1] != '\0' &&
           number[1 + strspn(number + 1, "0123456789")] == '\0' &&
           (strchr(line, ';') != NULL || strchr(line, ' ') == number);
}

/* Whether a line is one of perf script: one of its words is a time in seconds, as in
 * "node 41 [001] 12.345678: 250000 cycles:". */
static bool
is_perf_script(const char *line)
{
    for (const char *at = strchr(line, '.'); at != NULL; at = strchr(at + 1, '.')) {
        const size_t digits = strspn(at + 1, "0123456789");

        if (at > line && isdigit((unsigned char)at[-1]) && digits >= 6 &&
            at[1 + digits] == ':') {
            return true;
        }
    }
    return false;
}

static const char *
guess_lines(const struct text *text)
{
    const char *const line = text->line;

    if (is_perf_script(line)) {
        return "what perf script printed, not a profile" ONLY_PPROF;
    }
    if (is_folded(line)) {
        return "folded stacks as text, not a pprof file" ONLY_PPROF;
    }
    if (strncmp(line, "Flat profile:", 13) == 0) {
        return "what gprof printed, not a profile" ONLY_PPROF;
    }
    if (strncmp(line, "share ", 6) == 0 || strncmp(line, "samples,share,", 14) == 0) {
        return "what ntprof report printed, not a profile; use the file that it was "
               "made from";
    }
    if (strncmp(line, "events: ", 8) == 0 || text_has(text, "\nevents: ")) {
        return "a file of callgrind, not a profile; read it with callgrind_annotate";
    }
    return "a text file, not a profile" ONLY_PPROF;
}

const char *
file_kind_guess(const void *bytes, size_t size)
{
    struct text text = {{0}, {0}};

    size = size < FILE_KIND_BYTES ? size : FILE_KIND_BYTES;
    if (!is_text(bytes, size)) {
        return NULL;
    }
    memcpy(text.bytes, bytes, size);
    find_line(&text);
    switch (text.line[0]) {
    case '{':
    case '[':
        return guess_json(&text);
    case '<':
        return text_has(&text, "<svg")
                   ? "a picture (SVG), not a profile; use the file that "
                     "it was made from"
                   : "a page or XML file, not a profile; use the file "
                     "that it was made from";
    default:
        return guess_lines(&text);
    }
}
