/* SPDX-License-Identifier: MIT */
/*
 * pprof_fields.h - field numbers of pprof's profile.proto, and our comments and labels.
 * Only pprof_encode.c and decode_*.c include it. docs/format.md describes them.
 */
#ifndef PROFILE_PPROF_FIELDS_H
#define PROFILE_PPROF_FIELDS_H

#include <string.h>

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_DROP_FRAMES = 7,
    PROFILE_KEEP_FRAMES = 8,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };

enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };

enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3, LABEL_NUM_UNIT = 4 };

enum {
    MAPPING_ID = 1,
    MAPPING_MEMORY_START = 2,
    MAPPING_MEMORY_LIMIT = 3,
    MAPPING_FILE_OFFSET = 4,
    MAPPING_FILENAME = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILENAMES = 8,
    MAPPING_HAS_LINE_NUMBERS = 9,
    MAPPING_HAS_INLINE_FRAMES = 10,
};

enum {
    LOCATION_ID = 1,
    LOCATION_MAPPING_ID = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4
};

enum { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };

enum {
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILENAME = 4,
    FUNCTION_START_LINE = 5,
    /* Of ntprof only; other readers ignore fields that they do not know. */
    FUNCTION_ADDRESS = 1000,
    FUNCTION_DEFINITION = 1001,
};

#define COMMENT_FLAT "flat bucket profile, no call stacks"
#define COMMENT_STACKS "bucket profile with call stacks"
#define COMMENT_FORMAT "ntprof.format"
#define COMMENT_COMMAND "ntprof.command"
#define COMMENT_HAL "ntprof.hal"
#define COMMENT_LIMITS "ntprof.limits"
#define COMMENT_GAPS "ntprof.gaps"
#define COMMENT_BUCKET_BYTES "ntprof.bucket_bytes"
#define COMMENT_BUCKET_LEAST "ntprof.bucket_least"
#define COMMENT_SOURCE "ntprof.source"
#define COMMENT_LABEL "ntprof.label"

#define LABEL_SOURCE "source"
#define LABEL_PROCESS "process"
#define LABEL_UNIT "unit"
#define LABEL_THREAD "thread"
#define LABEL_PID "pid"
#define LABEL_CPU "cpu"
#define LABEL_BUCKET_BYTES "bucket_bytes"
#define LABEL_INTERVAL "interval" /* of sources with several */
#define LABEL_STACK "stack"       /* how it ends, if there is one */

/* The first source of time has two columns: samples/count, followed by cpu/nanoseconds
 * or, of source wall, wall/nanoseconds. */
#define UNIT_100NS "100ns"
#define COLUMN_SAMPLES "samples"
#define COLUMN_CPU "cpu"
#define COLUMN_WALL "wall" /* of clocks that run while the program waits */

/* Return the column that has the time of a source's clock. */
static inline const char *
column_of_clock(const char *source)
{
    return strcmp(source, COLUMN_WALL) == 0 ? COLUMN_WALL : COLUMN_CPU;
}

#endif
