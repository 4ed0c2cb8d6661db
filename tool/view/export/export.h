/* SPDX-License-Identifier: MIT */
/*
 * export.h - a profile in the forms that other tools read.
 *
 * Names in a profile are hostile. Each form first has them escaped as in the report
 * (base/text.h), so that whoever prints them is safe, and then quotes them by its own
 * rules. In each form the hits add up to those of the profile, exactly; what a form
 * cannot hold is refused or reported, never changed.
 */
#ifndef VIEW_EXPORT_EXPORT_H
#define VIEW_EXPORT_EXPORT_H

#include "base/suggest.h"
#include "profile/profile.h"

#include <stdio.h>

struct listing_prefix; /* view/listing/listing.h */
struct flames;         /* view/export/flames.h */

struct export_options {
    const char *format;    /* its name, for messages; export_write sets it */
    size_t source;         /* index of the one that is shown, for forms of one source */
    const char *image;     /* of one image: a glob for match_image; NULL: most hits */
    size_t rows;           /* of openmetrics: functions with a series of their own */
    size_t listings;       /* of html: functions whose code is put in */
    const char *image_dir; /* as in annotator_settings */
    const struct listing_prefix *prefixes; /* of html: the same */
    size_t prefix_count;
    const struct flames *flames; /* of html, svg: of the stacks; NULL: there are none */
};

/* Messages of an export, for people; "" for none. */
struct export_messages {
    char error[512]; /* why it failed; names in it are escaped */
    char note[512];  /* what was left out */
};

/*
 * export_writer - write a profile to out in one format. Returns false if it fails, with
 * the reason in messages->error; if that is still "", memory ran out. Errors of out
 * itself are not reported: the caller checks ferror.
 */
typedef bool export_writer(FILE *out, const struct profile *profile,
                           const struct export_options *options,
                           struct export_messages *messages);

export_writer export_pprof, export_gmon, export_callgrind, export_speedscope,
    export_folded, export_json, export_csv, export_html, export_svg, export_openmetrics,
    export_llvm_profgen, export_llvm_sample, export_gcc_afdo, export_symbol_order,
    export_bolt, export_bolt_fdata;

struct export_format {
    const char *name;
    export_writer *write;
    uint64_t hits_max; /* the format cannot hold more hits of a source exactly */
    bool one_source;   /* has the hits of options->source only */
    bool one_image;    /* has the hits of options->image only */
    bool has_rows;     /* uses options->rows */
    bool has_stacks;   /* has stacks; others are of rows summed over them */
    bool has_flames;   /* the same, but uses options->flames */
    bool has_listings; /* uses options->listings and prefixes */
    bool reads_images; /* uses options->image_dir */
    bool unreadable;   /* binary: refused on a terminal */
};

/* The format with a name, or NULL. */
const struct export_format *export_format_find(const char *name);

/* Suggest the format whose name is most similar to an unknown name. */
void export_format_suggest(const char *name, struct suggestion *suggestion);

/* "pprof, gmon, ...", for messages. */
const char *export_format_names(void);

/* Write a profile in a format, after checking that the format can hold its hits.
 * Returns false as an export_writer does. */
bool export_write(FILE *out, const struct profile *profile,
                  const struct export_format *format,
                  const struct export_options *options,
                  struct export_messages *messages);

#endif
