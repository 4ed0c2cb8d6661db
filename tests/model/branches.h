/* SPDX-License-Identifier: MIT */
/*
 * branches.h - the branches of the model: what a run of random calls must have come
 * through, in each version and word size that has it.
 *
 * One line each: name, first and last version, words, and the rule. Where the model
 * counts on from a name to the one on the next line, a comment at the name's user says
 * so.
 */
#ifndef TESTS_MODEL_BRANCHES_H
#define TESTS_MODEL_BRANCHES_H

/* The newest version, defects mended, comes after all that NT had. */
enum { MODEL_NEWEST = 1810 };

/* Which word sizes have a branch. */
enum model_words {
    MODEL_ANY,
    MODEL_X86,
    MODEL_X64, /* Wow64 or not */
    MODEL_WOW64,
    MODEL_PLAIN, /* not Wow64 */
    /* those where a region can reach into kernel space: not the newest's x86 */
    MODEL_KERNEL
};

/* clang-format off */
#define MODEL_BRANCHES(X)                                                              \
    /* rules: create-310, create-351 */                                                \
    X(CREATE_SEVEN_NOT_THERE, 351, 1810, ANY, "create-351, seven arguments")           \
    X(CREATE_NINE_NOT_THERE, 310, 350, ANY, "create-310, nine or ten arguments")       \
    X(CREATE_TEN_NOT_THERE, 351, 600, ANY, "create-351, ten arguments")                \
    /* rule: halted-calls */                                                           \
    X(CREATE_HALTED, 310, 1803, ANY, "halted-calls, create")                           \
    X(OPEN_HALTED, 310, 1803, ANY, "halted-calls, open")                               \
    X(CLOSE_HALTED, 310, 1803, ANY, "halted-calls, close")                             \
    X(DUPLICATE_HALTED, 310, 1803, ANY, "halted-calls, duplicate")                     \
    X(QUERY_OBJECT_HALTED, 310, 1803, ANY, "halted-calls, query object")               \
    X(START_HALTED, 310, 1803, ANY, "halted-calls, start")                             \
    X(STOP_HALTED, 310, 1803, ANY, "halted-calls, stop")                               \
    X(QUERY_HALTED, 310, 1803, ANY, "halted-calls, query interval")                    \
    X(SET_HALTED, 310, 1803, ANY, "halted-calls, set interval")                        \
    /* rules: create-32-bit-parameters, create-buffer-size-zero */                     \
    /* rule: create-buffer-size-zero-old */                                            \
    X(CREATE_WIDE_PARAMETER, 310, 1810, X86, "create-32-bit-parameters")               \
    X(CREATE_WIDE_AFFINITY, 351, 1810, X86, "create-32-bit-parameters, Affinity")      \
    X(CREATE_NO_BUFFER, 404, 1810, ANY, "create-buffer-size-zero")                     \
    X(CREATE_NO_BUFFER_OLD, 310, 400, ANY, "create-buffer-size-zero-old")              \
    /* rules: create-segment, create-segment-bucket, create-segment-division */        \
    /* rules: create-segment-short-buffer, create-segment-short-buffer-old */          \
    /* rules: create-segment-none, create-segment-global */                            \
    X(CREATE_SEGMENT, 310, 1810, X86, "create-segment")                                \
    X(CREATE_SEGMENT_DIVIDES, 310, 400, X86, "create-segment-division")                \
    X(CREATE_SEGMENT_SHORT_OLD, 404, 502, X86, "create-segment-short-buffer-old")      \
    X(CREATE_SEGMENT_SHORT, 600, 1810, X86, "create-segment-short-buffer")             \
    X(CREATE_SEGMENT_BUCKET_0, 310, 1810, X86, "create-segment-bucket, t = 0")         \
    X(CREATE_SEGMENT_BUCKET_1, 310, 1810, X86, "create-segment-bucket, t = 1")         \
    X(CREATE_SEGMENT_BUCKET_4, 310, 1810, X86, "create-segment-bucket, t = 2 to 4")    \
    X(CREATE_SEGMENT_BUCKET_MORE, 310, 1810, X86, "create-segment-bucket, t above 4")  \
    X(CREATE_NO_SEGMENT, 310, 1810, ANY, "create-segment-none")                        \
    X(CREATE_SEGMENT_GLOBAL, 310, 1810, X86, "create-segment-global")                  \
    X(CREATE_SEGMENT_ZERO_GLOBAL, 310, 1810, X86, "create-segment-global, segment 0")  \
    /* rules: create-bucket-range, create-buffer-too-small */                          \
    /* rules: create-buffer-too-small-defect, create-buffer-partial-counter */         \
    X(CREATE_BUCKET_SMALL, 310, 1810, ANY, "create-bucket-range, below")               \
    X(CREATE_BUCKET_LARGE, 310, 1810, ANY, "create-bucket-range, above")               \
    X(CREATE_BUFFER_SMALL, 1703, 1810, ANY, "create-buffer-too-small")                 \
    X(CREATE_PARTIAL_COUNTER, 1703, 1810, ANY, "create-buffer-partial-counter")        \
    X(CREATE_BUFFER_SMALL_OLD, 310, 1607, ANY, "create-buffer-too-small-defect, fails") \
    X(CREATE_BUFFER_SMALL_PASSES, 310, 1607, ANY, "create-buffer-too-small-defect")    \
    /* rules: create-region-wraps, create-region-width, create-region-ends-below-top */ \
    /* rule: create-region-empty */                                                    \
    X(CREATE_WRAPS, 310, 1810, ANY, "create-region-wraps")                             \
    X(CREATE_ENDS_AT_TOP, 310, 1810, ANY, "create-region-wraps, exactly")              \
    X(CREATE_ENDS_BELOW_TOP, 310, 1810, ANY, "create-region-ends-below-top")           \
    X(CREATE_EMPTY_REGION, 310, 1810, ANY, "create-region-empty")                      \
    /* rules: create-source-unsupported, create-source-unchecked */                    \
    X(CREATE_SOURCE_UNSUPPORTED, 602, 1810, ANY, "create-source-unsupported")          \
    X(CREATE_SOURCE_UNCHECKED, 351, 601, ANY, "create-source-unchecked")               \
    /* rules: create-handle-pointer, create-buffer-alignment, create-buffer-pointer */ \
    /* rules: create-affinity-alignment, create-affinity-pointer */                    \
    X(CREATE_HANDLE_UNALIGNED, 310, 1810, ANY, "create-handle-pointer, unaligned")     \
    X(CREATE_HANDLE_NOT_USER, 310, 1810, ANY, "create-handle-pointer, not user")       \
    X(CREATE_HANDLE_NOT_WRITABLE, 310, 1810, ANY, "create-handle-pointer")             \
    X(CREATE_BUFFER_UNALIGNED, 310, 1810, ANY, "create-buffer-alignment")              \
    X(CREATE_BUFFER_NOT_USER, 310, 1810, ANY, "create-buffer-pointer, not user")       \
    X(CREATE_BUFFER_NOT_WRITABLE, 310, 1810, ANY, "create-buffer-pointer")             \
    X(CREATE_ARRAY_UNALIGNED, 601, 1810, ANY, "create-affinity-alignment")             \
    X(CREATE_ARRAY_NOT_USER, 601, 1810, ANY, "create-affinity-pointer, not user")      \
    X(CREATE_ARRAY_NOT_READABLE, 601, 1810, ANY, "create-affinity-pointer")            \
    /* rules: create-affinity-contents, create-affinity-none, create-affinity-zero */  \
    /* rules: create-affinity-all-ones, create-affinity-current-group */               \
    /* rules: create-affinity-unchecked, create-wow64-affinity */                      \
    X(CREATE_GROUP_NOT_THERE, 601, 1810, ANY, "create-affinity-contents, group")       \
    X(CREATE_MASK_EMPTY, 601, 1810, ANY, "create-affinity-contents, empty mask; -zero") \
    X(CREATE_MASK_INACTIVE, 601, 1810, ANY, "create-affinity-contents, inactive")      \
    X(CREATE_RESERVED, 601, 1810, ANY, "create-affinity-contents, Reserved")           \
    X(CREATE_AFFINITY_NONE, 601, 1810, ANY, "create-affinity-none")                    \
    X(CREATE_AFFINITY_ALL, 601, 1810, PLAIN, "create-affinity-all-ones")               \
    X(CREATE_AFFINITY_GROUP, 601, 1810, ANY, "create-affinity-current-group")          \
    X(CREATE_AFFINITY_UNCHECKED, 351, 600, ANY, "create-affinity-unchecked")           \
    X(CREATE_WOW64_SOME, 601, 1810, WOW64, "create-wow64-affinity, some")              \
    X(CREATE_WOW64_ALL, 601, 1810, WOW64, "create-wow64-affinity, all active")         \
    X(CREATE_WOW64_NOT_ALL, 601, 1810, WOW64, "create-wow64-affinity, not all active") \
    /* rules: create-process-handle, create-process-type, create-process-access */     \
    X(CREATE_PROCESS_HANDLE, 310, 1810, ANY, "create-process-handle")                  \
    X(CREATE_PROCESS_TYPE, 310, 1810, ANY, "create-process-type")                      \
    X(CREATE_PROCESS_ACCESS, 310, 1810, ANY, "create-process-access")                  \
    /* rules: create-global-privilege, create-global-kernel, create-kernel-caller */   \
    /* rules: create-restricted, create-unrestricted, create-kernel-space */           \
    X(CREATE_PRIVILEGE, 310, 1810, ANY, "create-global-privilege")                     \
    X(CREATE_GLOBAL_KERNEL, 310, 1810, KERNEL, "create-global-kernel")                    \
    X(CREATE_GLOBAL_BY_KERNEL, 310, 1810, ANY, "create-kernel-caller, privilege")      \
    X(CREATE_RESTRICTED_REACHES, 603, 1810, KERNEL, "create-restricted, begins below")    \
    X(CREATE_RESTRICTED_WITHIN, 603, 1810, KERNEL, "create-restricted")                   \
    X(CREATE_RESTRICTED_OTHER_RULE, 603, 1810, KERNEL, "create-restricted, other rule")   \
    X(CREATE_RESTRICTED_BY_KERNEL, 603, 1810, KERNEL, "create-kernel-caller, restricted") \
    X(CREATE_UNRESTRICTED, 310, 602, ANY, "create-unrestricted")                       \
    X(CREATE_BY_KERNEL, 310, 1810, ANY, "create-kernel-caller")                        \
    /* rules: create-no-memory, create-handle-fault */                                 \
    X(CREATE_NO_MEMORY, 310, 1810, ANY, "create-no-memory")                            \
    X(CREATE_HANDLE_FAULT, 310, 1810, ANY, "create-handle-fault")                      \
    /* rules: handle-process, handle-process-missing, handle-process-denied */         \
    /* rule: handle-process-pointers */                                                \
    X(OPEN_POINTER, 310, 1810, ANY, "handle-process-pointers")                         \
    X(OPEN_NOBODY, 310, 1810, ANY, "handle-process-missing")                           \
    X(OPEN_DENIED, 310, 1810, ANY, "handle-process-denied")                            \
    X(OPEN_HANDLE_FAULT, 310, 1810, ANY, "create-handle-fault, of a process")          \
    /* rules: close-not-open, close-pseudo-handle, close-last-stops, close-not-last */ \
    X(CLOSE_STOPS, 310, 1810, ANY, "close-last-stops")                                 \
    X(CLOSE_NOT_LAST, 310, 1810, ANY, "close-not-last")                                \
    X(CLOSE_PSEUDO, 310, 1810, ANY, "close-pseudo-handle")                             \
    X(CLOSE_NOT_OPEN, 310, 1810, ANY, "close-not-open")                                \
    /* rules: duplicate-handle, duplicate-access, duplicate-process, duplicate-pseudo */ \
    /* rules: duplicate-process-handle, duplicate-source-handle, duplicate-options */  \
    /* rules: duplicate-close-source, duplicate-pointer */                             \
    X(DUPLICATE_POINTER, 310, 1810, ANY, "duplicate-pointer")                          \
    X(DUPLICATE_OPTIONS, 310, 1810, ANY, "duplicate-options")                          \
    X(DUPLICATE_PROCESS_HANDLE, 310, 1810, ANY, "duplicate-process-handle")            \
    X(DUPLICATE_PROCESS_TYPE, 310, 1810, ANY, "duplicate-process-handle, type")        \
    X(DUPLICATE_PROCESS_ACCESS, 310, 1810, ANY, "duplicate-process-handle, access")    \
    X(DUPLICATE_FOREIGN, 310, 1810, ANY, "duplicate-process")                          \
    X(DUPLICATE_SOURCE, 310, 1810, ANY, "duplicate-source-handle")                     \
    X(DUPLICATE_PSEUDO, 310, 1810, ANY, "duplicate-pseudo")                            \
    X(DUPLICATE_ACCESS, 310, 1810, ANY, "duplicate-access")                            \
    X(DUPLICATE_HANDLE_FAULT, 310, 1810, ANY, "create-handle-fault, of a duplicate")   \
    X(DUPLICATE_CLOSES, 310, 1810, ANY, "duplicate-close-source")                      \
    X(DUPLICATE_FAILS_AND_CLOSES, 310, 1810, ANY, "duplicate-close-source, failing")   \
    /* rules: query-object-basic, query-object-class, query-object-handle */           \
    /* rules: query-object-length, query-object-name, query-object-pointers */         \
    X(QUERY_OBJECT_UNALIGNED, 310, 1810, ANY, "query-object-pointers, unaligned")      \
    X(QUERY_OBJECT_POINTER, 310, 1810, ANY, "query-object-pointers")                   \
    X(QUERY_OBJECT_CLASS, 310, 1810, ANY, "query-object-class")                        \
    X(QUERY_OBJECT_HANDLE, 310, 1810, ANY, "query-object-handle")                      \
    X(QUERY_OBJECT_LENGTH, 310, 1810, ANY, "query-object-length")                      \
    X(QUERY_OBJECT_NAME, 310, 1810, ANY, "query-object-name")                          \
    /* rules: start-handle, start-twice, start-no-memory, start-limit-none */          \
    /* rule: handle-pseudo-type */                                                     \
    X(RUN_HANDLE, 310, 1810, ANY, "start-handle; stop-handle")                         \
    X(RUN_PSEUDO, 310, 1810, ANY, "handle-pseudo-type")                                \
    X(RUN_TYPE, 310, 1810, ANY, "start-handle; stop-handle, type")                     \
    X(RUN_ACCESS, 310, 1810, ANY, "start-handle; stop-handle, access")                 \
    X(START_TWICE, 310, 1810, ANY, "start-twice")                                      \
    X(START_MANY, 310, 1810, ANY, "start-limit-none: more than 8")                     \
    X(START_NO_MEMORY, 310, 1810, ANY, "start-no-memory")                              \
    /* rules: start-mdl-limit, start-lock, start-lock-whole, start-lock-needed */      \
    /* rule: start-map */                                                              \
    X(START_MDL_LIMIT, 310, 1810, ANY, "start-mdl-limit")                              \
    X(START_AT_MDL_LIMIT, 310, 1810, ANY, "start-mdl-limit, just not")                 \
    X(START_LOCKS_NOTHING, 310, 400, ANY, "create-buffer-size-zero-old, start")        \
    X(START_LOCK_FAILS, 310, 1810, ANY, "start-lock, quota")                           \
    X(START_LOCK_FAULT, 310, 1810, ANY, "start-lock, fault")                           \
    X(START_MAP_FAILS, 310, 1810, ANY, "start-map")                                    \
    X(START_NEEDS_NOTHING, 1810, 1810, ANY, "start-lock-needed, nothing")               \
    X(START_LOCKS_NEEDED, 1810, 1810, ANY, "start-lock-needed")                        \
    /* rules: start-affinity-mask, start-affinity-inactive */                          \
    /* rule: start-affinity-inactive-all */                                            \
    X(START_AFFINITY_ZERO, 310, 600, ANY, "start-affinity-mask, 0")                    \
    X(START_AFFINITY_MASK, 351, 600, ANY, "start-affinity-mask")                       \
    X(START_AFFINITY_INACTIVE, 351, 400, ANY, "start-affinity-inactive")               \
    X(START_AFFINITY_INACTIVE_ALL, 404, 600, ANY, "start-affinity-inactive-all")       \
    /* rules: start-source-unsupported, start-hal-fails, start-source-shared */        \
    /* rules: start-process-gone, start-source-narrowed */                             \
    X(START_SOURCE_UNSUPPORTED, 351, 601, ANY, "start-source-unsupported")             \
    X(START_HAL_UNSUPPORTED, 602, 1810, ANY, "start-hal-fails, unsupported since")         \
    X(START_HAL_FAILS, 310, 1810, ANY, "start-hal-fails")                              \
    X(START_SHARES, 310, 1810, ANY, "start-source-shared")                             \
    X(START_PROCESS_GONE, 310, 1810, ANY, "start-process-gone")                        \
    X(STOP_NOT_STARTED, 310, 1810, ANY, "stop-not-started")                            \
    X(PROCESS_GONE_WHILE_STARTED, 310, 1810, ANY, "process-gone")                      \
    /* rules: hit-index, hit-region, hit-all-match, hit-region-end-inside */           \
    X(HIT_END_INSIDE, 602, 1803, ANY, "hit-region-end-inside")                         \
    X(HIT_END_OUTSIDE, 310, 601, ANY, "hit-region, before 6.2")                        \
    X(HIT_END_OUTSIDE_AGAIN, 1809, 1810, ANY, "hit-region, from 1809")                 \
    X(HIT_SEVERAL, 310, 1810, ANY, "hit-all-match")                                    \
    X(HIT_OUTSIDE, 310, 1810, ANY, "hit-statistics, outside")                               \
    X(HIT_GLOBAL, 310, 1810, ANY, "hit-all-match, of all processes")                   \
    X(HIT_KERNEL, 310, 1810, X64, "hit-all-match, kernel address")                   \
    X(HIT_COUNTER_WRAPS, 310, 1810, ANY, "hit-atomic, wraps")                          \
    X(HIT_UNMAPPED, 310, 1810, ANY, "start-lock-holds")                                \
    /* rules: hit-segment, hit-behind-counters, hit-bug-check, hit-corruption */       \
    /* rule: hit-halted */                                                             \
    X(HIT_SEGMENT, 310, 1810, X86, "hit-segment")                                      \
    X(HIT_SEGMENT_LINEAR, 310, 1810, ANY, "hit-segment, at its linear address")        \
    X(HIT_OTHER_SEGMENT, 310, 1810, X86, "hit-segment, another selector")              \
    X(HIT_BUG_CHECK, 310, 1803, ANY, "hit-bug-check")                                  \
    X(HIT_CORRUPTION, 310, 1803, ANY, "hit-corruption")                                \
    X(HIT_HALT_IN_SEGMENT, 310, 1803, X86, "hit-behind-counters, in a segment")        \
    X(HIT_HALT_ALONE, 310, 1803, ANY, "hit-behind-counters, alone")                    \
    X(HIT_HALT_COUNTS_OTHERS, 310, 1803, ANY, "hit-behind-counters, counts in others") \
    X(HIT_HALTED, 310, 1803, ANY, "hit-halted")                                        \
    /* rules: interval-310, interval-351, query-alignment, query-pointer */            \
    /* rules: query-unsupported, query-alignment-fixup, query-late-fault */            \
    /* rule: query-no-privilege */                                                     \
    X(INTERVAL_OLD_NOT_THERE, 351, 1810, ANY, "interval-351")                          \
    X(INTERVAL_NOT_THERE, 310, 350, ANY, "interval-310")                               \
    X(QUERY_UNALIGNED, 310, 1810, ANY, "query-alignment")                              \
    X(QUERY_POINTER, 310, 1810, ANY, "query-pointer")                                  \
    X(QUERY_LATE_FAULT, 310, 1810, ANY, "query-late-fault")                            \
    X(QUERY_UNPRIVILEGED, 310, 1810, ANY, "query-no-privilege")                        \
    X(QUERY_UNSUPPORTED, 351, 1810, ANY, "query-unsupported")                          \
    X(QUERY_FIXUP_SET, 351, 1810, ANY, "query-alignment-fixup, set")                   \
    X(QUERY_FIXUP_UNSET, 351, 1810, ANY, "query-alignment-fixup, not set")             \
    /* rules: set-privilege, set-no-privilege, set-always-succeeds, set-clamps */      \
    X(SET_PRIVILEGE, 602, 1810, ANY, "set-privilege")                                  \
    X(SET_UNPRIVILEGED, 310, 601, ANY, "set-no-privilege")                             \
    X(SET_BY_KERNEL, 310, 1810, ANY, "set-privilege, kernel-mode caller")              \
    X(SET_UNKNOWN, 351, 1810, ANY, "set-always-succeeds")                              \
    X(SET_TIME_SMALL, 310, 1809, ANY, "set-clamps, time, below")                       \
    X(SET_TIME_LARGE, 310, 1809, ANY, "set-clamps, time, above")                       \
    X(SET_COUNTER_SMALL, 351, 1809, ANY, "set-clamps, counters")                       \
    X(SET_HAL_SMALL, 351, 1810, ANY, "set-clamps, below")                             \
    X(SET_HAL_LARGE, 351, 1810, ANY, "set-clamps, above")                             \
    X(START_LIMIT, 0, 0, ANY, "start-limit: a scenario of its own")
/* clang-format on */

#define MODEL_BRANCH_NAME(name, first, last, words, rule) MODEL_##name,
enum model_branch { MODEL_BRANCHES(MODEL_BRANCH_NAME) MODEL_BRANCH_COUNT };
#undef MODEL_BRANCH_NAME

#endif
