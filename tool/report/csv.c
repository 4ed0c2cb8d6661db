/* SPDX-License-Identifier: MIT */
/*
 * csv.c - a report for spreadsheets and scripts: one header line, one line for each row
 * and source with hits, quoted as in RFC 4180, lines ended by a newline alone.
 */
#include "report/formats.h"

#include "util/text.h"

#include <inttypes.h>
#include <string.h>

/* Writes text, escaped already, as a field. */
static void
put_field(FILE *out, const char *text)
{
    if (strpbrk(text, "\",") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            fputc('"', out);
        }
        fputc(*text, out);
    }
    fputc('"', out);
}

/* Writes the scratch text as a field and the comma behind it. False: out of memory. */
static bool
put_scratch(FILE *out, struct buffer *scratch)
{
    if (buffer_text(scratch) == NULL) {
        return false;
    }
    put_field(out, (const char *)scratch->data);
    fputc(',', out);
    return true;
}

/* Escapes and writes a field. False: out of memory. */
static bool
put_text(FILE *out, struct buffer *scratch, const char *text)
{
    scratch->size = 0;
    text_escape(scratch, text != NULL ? text : "");
    return put_scratch(out, scratch);
}

static bool
put_name(FILE *out, struct buffer *scratch, const struct report_group *group)
{
    scratch->size = 0;
    report_group_name(group, scratch);
    return put_scratch(out, scratch);
}

static bool
put_record(FILE *out, struct buffer *scratch, const struct profile *profile,
           const struct report_groups *groups, const struct report_group *group,
           size_t source)
{
    const struct profile_image *image = group->image;
    const struct profile_function *function = group->function;
    const uint64_t hits = report_group_hits(groups, group, source);
    const uint64_t total = groups->totals[source];

    fprintf(out, "%" PRIu64 ",%.6f,", hits,
            total > 0 ? (double)hits / (double)total : 0);
    if (!put_text(out, scratch, profile->sources[source].name) ||
        !put_text(out, scratch, image != NULL ? image->path : "") ||
        !put_text(out, scratch, image != NULL ? image->build_id : "") ||
        !put_name(out, scratch, group) ||
        !put_text(out, scratch, function != NULL ? function->file : "")) {
        return false;
    }
    if (group->line > 0) {
        fprintf(out, "%" PRIu32, group->line);
    }
    fputc(',', out);
    if (group->has_address) {
        fprintf(out, "0x%" PRIx64, group->address);
    }
    fputc(',', out);
    scratch->size = 0;
    text_escape(scratch, group->process != NULL ? group->process : "");
    if (buffer_text(scratch) == NULL) {
        return false;
    }
    put_field(out, (const char *)scratch->data);
    fputc('\n', out);
    return true;
}

bool
report_print_csv(FILE *out, const struct profile *profile,
                 const struct report_groups *groups,
                 const struct report_options *options)
{
    const size_t shown = report_rows_shown(options, groups->count);
    struct buffer scratch = {0};
    bool done = true;

    fputs("samples,share,source,module,build_id,function,file,line,address,process\n",
          out);
    for (size_t i = 0; done && i < shown; i++) {
        const struct report_group *group = &groups->groups[i];

        for (size_t source = 0; done && source < profile->source_count; source++) {
            if (report_group_hits(groups, group, source) > 0) {
                done = put_record(out, &scratch, profile, groups, group, source);
            }
        }
    }
    buffer_finish(&scratch);
    return done;
}
