/* SPDX-License-Identifier: MIT */
/*
 * demangle.c - libiberty's demanglers behind bounds.
 *
 * A few hundred bytes of mangled name can stand for an output of exponential length, so
 * output goes through a callback that leaves by longjmp at a limit. That is sound as
 * the C++ demangler holds nothing but its stack while it prints; the Rust one may hold
 * one buffer for an identifier in punycode, which is lost then.
 */
#include "sym/sym.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* libiberty keeps some 60 bytes of stack for each byte of name, and recurses with it.
 */
#define MANGLED_BYTES_MAX 4096u
#define DEMANGLED_BYTES_MAX (UINT32_C(1) << 16)
#define EXPANDED_PARTS_MAX (1u << 15)

struct output {
    jmp_buf full;
    char *text;
    size_t size;
    size_t room;
    void *tree_memory;
};

static void
append(const char *piece, size_t size, void *context)
{
    struct output *output = context;

    if (size == 0) {
        return; /* then piece may be NULL */
    }
    if (size > DEMANGLED_BYTES_MAX - output->size) {
        longjmp(output->full, 1);
    }
    if (output->room - output->size <= size) {
        const size_t room = (output->size + size + 1) * 2;
        char *larger = realloc(output->text, room);

        if (larger == NULL) {
            longjmp(output->full, 1);
        }
        output->text = larger;
        output->room = room;
    }
    memcpy(output->text + output->size, piece, size);
    output->size += size;
    output->text[output->size] = '\0';
}

static bool
is_base_62(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * "FG" or "DG" and a number in base 62 bind so many lifetimes. libiberty counts them
 * one by one, also while it prints nothing, where no limit on output helps: eleven
 * digits would take for ever. Real numbers have one digit, and more than two are
 * refused.
 */
static bool
binds_too_many_lifetimes(const char *mangled)
{
    for (const char *at = mangled; *at != '\0'; at++) {
        size_t digits = 0;

        if ((at[0] != 'F' && at[0] != 'D') || at[1] != 'G') {
            continue;
        }
        while (is_base_62(at[2 + digits])) {
            digits++;
        }
        if (digits > 2 && at[2 + digits] == '_') {
            return true;
        }
    }
    return false;
}

/* The parts of a component, as its type has them; none for a leaf. */
static void
parts_of(const struct demangle_component *part,
         const struct demangle_component *parts[2])
{
    parts[0] = parts[1] = NULL;
    switch (part->type) {
    case DEMANGLE_COMPONENT_NAME:
    case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
    case DEMANGLE_COMPONENT_FUNCTION_PARAM:
    case DEMANGLE_COMPONENT_SUB_STD:
    case DEMANGLE_COMPONENT_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_OPERATOR:
    case DEMANGLE_COMPONENT_CHARACTER:
    case DEMANGLE_COMPONENT_NUMBER:
    case DEMANGLE_COMPONENT_UNNAMED_TYPE:
        break;
    case DEMANGLE_COMPONENT_CTOR:
        parts[0] = part->u.s_ctor.name;
        break;
    case DEMANGLE_COMPONENT_DTOR:
        parts[0] = part->u.s_dtor.name;
        break;
    case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
        parts[0] = part->u.s_extended_operator.name;
        break;
    case DEMANGLE_COMPONENT_FIXED_TYPE:
        parts[0] = part->u.s_fixed.length;
        break;
    case DEMANGLE_COMPONENT_LAMBDA:
    case DEMANGLE_COMPONENT_DEFAULT_ARG:
        parts[0] = part->u.s_unary_num.sub;
        break;
    default:
        parts[0] = part->u.s_binary.left;
        parts[1] = part->u.s_binary.right;
        break;
    }
}

/* Visits a component as often as it is referred to; false when the budget is used up.
 */
static bool
fits_budget(const struct demangle_component *part, unsigned int depth,
            unsigned int *budget)
{
    const struct demangle_component *parts[2];

    if (part == NULL) {
        return true;
    }
    if (depth == 0 || *budget == 0) {
        return false;
    }
    (*budget)--;
    parts_of(part, parts);
    return fits_budget(parts[0], depth - 1, budget) &&
           fits_budget(parts[1], depth - 1, budget);
}

/*
 * Before libiberty prints a pack expansion it searches the pattern for its pack, along
 * every path through what substitutions share: exponential, and without output. So such
 * names are printed only when all those paths together are short.
 */
static int
demangle_with_packs(const char *mangled, int options, struct output *output)
{
    unsigned int budget = EXPANDED_PARTS_MAX;
    struct demangle_component *tree =
        cplus_demangle_v3_components(mangled, options, &output->tree_memory);

    if (tree == NULL || !fits_budget(tree, DEMANGLE_RECURSION_LIMIT, &budget)) {
        return 0;
    }
    return cplus_demangle_print_callback(options, tree, append, output);
}

static int
demangle_any(const char *mangled, struct output *output)
{
    /* Its own limit on recursion refuses names from 1024 bytes on, and real ones are
     * longer. */
    const int options =
        DMGL_PARAMS | DMGL_ANSI |
        (strlen(mangled) * 2 < DEMANGLE_RECURSION_LIMIT ? 0 : DMGL_NO_RECURSE_LIMIT);

    if (mangled[0] != '_') {
        return 0;
    }
    if (!binds_too_many_lifetimes(mangled) &&
        rust_demangle_callback(mangled, DMGL_PARAMS | DMGL_ANSI, append, output) != 0) {
        return 1;
    }
    output->size = 0;
    if (strstr(mangled, "Dp") != NULL) {
        return demangle_with_packs(mangled, options, output);
    }
    return cplus_demangle_v3_callback(mangled, options, append, output);
}

char *
sym_demangle(const char *mangled)
{
    struct output *output;
    char *text;

    if (strnlen(mangled, MANGLED_BYTES_MAX + 1) > MANGLED_BYTES_MAX) {
        return NULL;
    }
    output = calloc(
        1, sizeof(*output)); /* not a local: it changes between setjmp and longjmp */
    if (output == NULL) {
        return NULL;
    }
    if (setjmp(output->full) != 0 || demangle_any(mangled, output) == 0 ||
        output->size == 0) {
        free(output->text);
        output->text = NULL;
    }
    text = output->text;
    free(output->tree_memory);
    free(output);
    return text;
}
