/* SPDX-License-Identifier: MIT */
/* source_words.h - what other profilers call sources, for "did you mean". */
#ifndef RECORD_SOURCE_WORDS_H
#define RECORD_SOURCE_WORDS_H

#include "base/suggest.h"

extern const struct suggest_word source_words[];

/* Suggest the source whose name is most similar to an unknown name. */
void source_suggest(const char *name, struct suggestion *suggestion);

#endif
