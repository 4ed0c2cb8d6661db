/* SPDX-License-Identifier: MIT */
/*
 * relation.h - who calls a function, and what it calls: finds for the stack of a row
 * the caller or callee that its hits count for.
 *
 * What is chosen may be several functions; calls among them are of no concern. Of
 * several on a stack the outermost one counts, so that whatever calls itself has one
 * caller outside of itself. Functions of images that are skipped are passed over.
 */
#ifndef PROFILE_RELATION_H
#define PROFILE_RELATION_H

#include "profile/grouping.h"
#include "profile/identity.h"
#include "profile/stack_walk.h"

/* relation - which functions of a profile are chosen, and which are skipped. */
struct relation {
    enum report_relation_kind kind;
    bool inlined;  /* functions that were inlined are callers and callees too */
    bool *chosen;  /* by number */
    bool *skipped; /* by number; NULL: none is */
};

/* What the hits of a row count for. */
enum relation_found {
    RELATION_NONE,     /* no chosen function is on the stack */
    RELATION_FUNCTION, /* the function at hand of the walk */
    RELATION_ITSELF,   /* the chosen function has called nothing */
    RELATION_OUTERMOST /* nothing has called it, or is known to */
};

/* Match names. Returns false if memory runs out; finish must be called in any case. */
bool relation_init(struct relation *relation, const struct identities *identities,
                   const struct report_relation *of, bool inlined);
void relation_finish(struct relation *relation);

/* Find the caller or callee on the stack of a row. If it is a function, *walk is at it;
 * otherwise *walk is of no use. */
enum relation_found relation_find(const struct relation *relation,
                                  const struct profile *profile,
                                  const struct identities *identities,
                                  const struct profile_row *row,
                                  struct stack_walk *walk);

#endif
