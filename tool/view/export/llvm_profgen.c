/* SPDX-License-Identifier: MIT */
/*
 * llvm_profgen.c - the "unsymbolized profile" of llvm-profgen: ranges of addresses with
 * their hits, and no branches.
 *
 * The first line is the number of ranges; a range is FIRST-LAST:HITS, in
 * hexadecimal, and counts for each instruction that starts in it. It ends with the
 * number of branches.
 */
#include "view/export/export.h"

#include "base/text.h"
#include "view/export/debug_check.h"
#include "view/export/linked_code.h"
#include "view/export/messages.h"

#include <inttypes.h>

/* Check that the program has what llvm-profgen needs, if its file is there. Returns
 * false with the reason in messages->error. */
static bool
check_file(const struct linked_code *code, const struct export_options *options,
           struct export_messages *messages)
{
    struct debug_check check = {.remedy = "-g1 -fdebug-info-for-profiling"};
    char name[128];
    char why[300];

    linked_code_name(code, name, sizeof(name));
    if (code->file.image == NULL) {
        export_note(messages, options, "what %s was compiled with is not checked: %s",
                    name, text_show(why, sizeof(why), code->file.why));
        return true;
    }
    debug_check_code(&check, code);
    return linked_code_check_read(code, options, messages) &&
           debug_check_pass(&check, name, options, messages);
}

bool
export_llvm_profgen(FILE *out, const struct profile *profile,
                    const struct export_options *options,
                    struct export_messages *messages)
{
    struct linked_code code;
    const bool done =
        linked_code_take(&code, profile, options, LINKED_FILE_WANTED, messages) &&
        check_file(&code, options, messages);

    if (done) {
        fprintf(out, "%zu\n", code.count);
    }
    for (size_t i = 0; done && i < code.count && !ferror(out); i++) {
        const struct linked_bucket *const bucket = &code.buckets[i];

        fprintf(out, "%" PRIx64 "-%" PRIx64 ":%" PRIu64 "\n", bucket->address,
                bucket->address + code.bytes - 1, bucket->hits);
    }
    if (done) {
        fputs("0\n", out);
    }
    linked_code_finish(&code);
    return done;
}
