/* SPDX-License-Identifier: MIT */
/*
 * dwarf_qualify.c - finds the entries that contain a function's, and makes names.
 *
 * A container is an entry that can contain a function's: a namespace, type or function.
 * In DWARF an entry has no reference to its parent. So at the first question about a
 * unit all its entries are walked once, and its containers are kept, sorted by address
 * in memory and each with its parent.
 */
#include "symbols/reader/dwarf_qualify.h"

#include "base/buffer.h"
#include "symbols/border/demangle.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Limits for forged files; real code needs about ten of the first two. */
enum { DEPTH_MAX = 64, LINKS_MAX = 16, TYPE_DEPTH_MAX = 8 };

/* How many entries below one, at whatever depth, are searched for its parameters or
 * members. All other functions of a unit may be nested in one. */
enum { ENTRIES_MAX = 256 };

#define NAME_BYTES_MAX (UINT32_C(1) << 15)

bool
sym_dwarf_has_scopes(uint64_t language)
{
    switch (language) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case 0x2b: /* C++17 and C++20, which dwarf.h of elfutils 0.188 does not know */
    case 0x2c:
    case DW_LANG_ObjC_plus_plus:
    case DW_LANG_D:
    case DW_LANG_Rust:
        return true;
    default:
        return false;
    }
}

void
sym_dwarf_find_declaration(Dwarf_Die *entry)
{
    static const unsigned int links[] = {DW_AT_abstract_origin, DW_AT_specification};

    for (int i = 0; i < LINKS_MAX; i++) {
        Dwarf_Attribute found;
        Dwarf_Die next;
        bool any = false;

        for (size_t k = 0; k < 2 && !any; k++) {
            any = dwarf_attr(entry, links[k], &found) != NULL &&
                  dwarf_formref_die(&found, &next) != NULL;
        }
        if (!any) {
            return;
        }
        *entry = next;
    }
}

/* --- containers --- */

static bool
is_container(int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_subprogram:
        return true;
    default:
        return false;
    }
}

/* containers_walk - the context of add_container. */
struct containers_walk {
    struct sym_dwarf_unit *unit;
    struct sym_budget *budget;
};

/* A sym_dwarf_visit: add the entry if it is a container. Scopes are indexes of
 * containers. Returns false if memory or the budget ran out. */
static bool
add_container(void *context, Dwarf_Die *entry, int tag, uint32_t scope,
              uint32_t *child_scope)
{
    struct containers_walk *const walk = context;
    struct sym_dwarf_unit *const unit = walk->unit;
    struct sym_dwarf_container *larger;

    if (!is_container(tag)) {
        return true;
    }
    larger = sym_budget_grow(walk->budget, unit->containers, unit->container_count,
                             &unit->container_room, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    unit->containers = larger;
    *child_scope = (uint32_t)unit->container_count++;
    unit->containers[*child_scope] =
        (struct sym_dwarf_container){(uintptr_t)entry->addr, scope};
    return true;
}

/* Read the containers of the unit, once, from the entries that have its functions. A
 * skeleton whose split unit was found has no others but its root: there are no
 * containers for a declaration in it. On failure the unit has none. */
static void
read_containers(struct sym_dwarf_unit *unit, const Dwarf_Die *declaration,
                struct sym_budget *budget)
{
    struct containers_walk walk = {.unit = unit, .budget = budget};
    const struct sym_dwarf_abbreviations *abbreviations;

    if (unit->containers_sought || declaration->cu != unit->functions.cu) {
        return;
    }
    unit->containers_sought = true;
    abbreviations = sym_dwarf_unit_abbreviations(unit, budget);
    if (abbreviations == NULL ||
        !sym_dwarf_walk(abbreviations, &unit->functions, SYM_DWARF_NO_SCOPE,
                        add_container, &walk)) {
        unit->container_count = 0;
    }
}

/* Return the container that is this entry, or NULL. */
static const struct sym_dwarf_container *
find_container(const struct sym_dwarf_unit *unit, const Dwarf_Die *entry)
{
    const uint64_t wanted = (uintptr_t)entry->addr;
    const size_t at = sym_count_below(unit->containers, unit->container_count,
                                      sizeof(*unit->containers), wanted);

    return at < unit->container_count && unit->containers[at].entry == wanted
               ? &unit->containers[at]
               : NULL;
}

/* Replace a container by its parent. Returns false if it is none or has no parent. */
static bool
find_parent(const struct sym_dwarf_unit *unit, Dwarf_Die *entry)
{
    const struct sym_dwarf_container *const found = find_container(unit, entry);

    if (found == NULL || found->parent == SYM_DWARF_NO_SCOPE) {
        return false;
    }
    *entry = (Dwarf_Die){
        .addr = (void *)(uintptr_t)unit->containers[found->parent].entry,
        .cu = entry->cu,
    };
    return true;
}

bool
sym_dwarf_find_parent(struct sym_dwarf_unit *unit, const Dwarf_Die *declaration,
                      struct sym_budget *budget, Dwarf_Die *parent)
{
    read_containers(unit, declaration, budget);
    *parent = *declaration;
    return find_parent(unit, parent);
}

/* --- text --- */

/* Append text to a name, unless the name would be longer than NAME_BYTES_MAX. */
static void
add_text(struct buffer *text, const char *more)
{
    if (text->size + strlen(more) < NAME_BYTES_MAX) {
        buffer_append(text, more, strlen(more));
    }
}

/* Return the name of an entry, or of its abstract origin or specification; or NULL. */
static const char *
name_of(Dwarf_Die *entry)
{
    Dwarf_Attribute found;

    return sym_dwarf_text(dwarf_attr_integrate(entry, DW_AT_name, &found));
}

/* Find the type of an entry, or of its abstract origin or specification. Returns false
 * if there is none: void. */
static bool
find_type(Dwarf_Die *entry, Dwarf_Die *type)
{
    Dwarf_Attribute found;

    return dwarf_attr_integrate(entry, DW_AT_type, &found) != NULL &&
           dwarf_formref_die(&found, type) != NULL;
}

/* What a pointer, reference or qualified type appends to the name of the type that it
 * is made from; NULL for other tags. */
static const char *
sign_of(int tag)
{
    switch (tag) {
    case DW_TAG_pointer_type:
        return "*";
    case DW_TAG_reference_type:
        return "&";
    case DW_TAG_rvalue_reference_type:
        return "&&";
    case DW_TAG_const_type:
        return " const";
    case DW_TAG_volatile_type:
        return " volatile";
    default:
        return NULL;
    }
}

/* Append the type of an entry as it is written in C++; "..." for a type without a name,
 * such as an array or a function. */
static void
add_type(struct buffer *text, Dwarf_Die *entry)
{
    const char *signs[TYPE_DEPTH_MAX];
    size_t count = 0;
    Dwarf_Die at = *entry;
    bool any = find_type(&at, &at);

    while (any && count < TYPE_DEPTH_MAX && sign_of(dwarf_tag(&at)) != NULL) {
        signs[count++] = sign_of(dwarf_tag(&at));
        any = find_type(&at, &at);
    }
    if (count > 0 && strcmp(signs[count - 1], " const") == 0) {
        add_text(text, "const ");
        count--;
    }
    add_text(text, !any ? "void" : name_of(&at) != NULL ? name_of(&at) : "...");
    while (count > 0) {
        add_text(text, signs[--count]);
    }
}

/* The scopes that the visits below get: of children of the entry, and of others. */
enum { CHILD, DEEPER };

/* parameters_walk - what a visit adds parameters to. */
struct parameters_walk {
    struct buffer *text;
    bool any;
    size_t left; /* entries that may still be visited */
};

/* A sym_dwarf_visit: append the type of a child that is a parameter, but not of this.
 * Ends the walk after walk->left entries. */
static bool
add_parameter(void *context, Dwarf_Die *entry, int tag, uint32_t scope,
              uint32_t *child_scope)
{
    struct parameters_walk *const walk = context;
    Dwarf_Attribute found;

    *child_scope = DEEPER;
    if (scope == CHILD && tag == DW_TAG_formal_parameter &&
        dwarf_attr_integrate(entry, DW_AT_artificial, &found) == NULL) {
        add_text(walk->text, walk->any ? ", " : "");
        add_type(walk->text, entry);
        walk->any = true;
    }
    return --walk->left > 0;
}

/* Append the types of a function's parameters, such as "(int, const char*)", without
 * those that the compiler added, such as this. */
static void
add_parameters(struct buffer *text, const struct sym_dwarf_abbreviations *abbreviations,
               const Dwarf_Die *function)
{
    struct parameters_walk walk = {.text = text, .left = ENTRIES_MAX};

    add_text(text, "(");
    (void)sym_dwarf_walk(abbreviations, function, CHILD, add_parameter, &walk);
    add_text(text, ")");
}

/* operator_walk - what a visit finds an operator() with. */
struct operator_walk {
    Dwarf_Die function;
    bool found;
    size_t left; /* entries that may still be visited */
};

/* A sym_dwarf_visit: end at a child that is an operator(). */
static bool
is_call_operator(void *context, Dwarf_Die *entry, int tag, uint32_t scope,
                 uint32_t *child_scope)
{
    struct operator_walk *const walk = context;
    const char *const name =
        scope == CHILD && tag == DW_TAG_subprogram ? name_of(entry) : NULL;

    *child_scope = DEEPER;
    walk->found = name != NULL && strcmp(name, "operator()") == 0;
    walk->function = *entry;
    return !walk->found && --walk->left > 0;
}

/* Find the member operator() of a type. A nameless type that has one is a lambda's. */
static bool
find_call_operator(const struct sym_dwarf_abbreviations *abbreviations,
                   const Dwarf_Die *type, Dwarf_Die *function)
{
    struct operator_walk walk = {.left = ENTRIES_MAX};

    (void)sym_dwarf_walk(abbreviations, type, CHILD, is_call_operator, &walk);
    *function = walk.function;
    return walk.found;
}

/* Append what stands for the name of a container that has none. */
static void
add_unnamed(struct buffer *text, const struct sym_dwarf_abbreviations *abbreviations,
            Dwarf_Die *entry)
{
    Dwarf_Die function;

    switch (dwarf_tag(entry)) {
    case DW_TAG_namespace:
        add_text(text, "(anonymous namespace)");
        break;
    case DW_TAG_union_type:
        add_text(text, "<unnamed union>");
        break;
    case DW_TAG_enumeration_type:
        add_text(text, "<unnamed enum>");
        break;
    default: /* a structure, class or function; only lambdas are told apart */
        if (find_call_operator(abbreviations, entry, &function)) {
            add_text(text, "<lambda");
            add_parameters(text, abbreviations, &function);
            add_text(text, ">");
        } else {
            add_text(text, "<unnamed struct>");
        }
        break;
    }
}

/* The demangled linkage name of a function, which is qualified already: a string for
 * free(), or NULL if there is no linkage name. */
static char *
demangled(Dwarf_Die *entry)
{
    Dwarf_Attribute found;
    const char *const name =
        sym_dwarf_text(dwarf_attr_integrate(entry, DW_AT_linkage_name, &found));

    return name == NULL ? NULL : sym_demangle_plain(name);
}

/* Append the name of a container as a qualifier, without "::". */
static void
add_container_text(struct buffer *text,
                   const struct sym_dwarf_abbreviations *abbreviations,
                   Dwarf_Die *entry)
{
    const bool is_function = dwarf_tag(entry) == DW_TAG_subprogram;
    char *const whole = is_function ? demangled(entry) : NULL;
    const char *const name = whole != NULL ? whole : name_of(entry);

    if (name != NULL) {
        add_text(text, name);
    } else {
        add_unnamed(text, abbreviations, entry);
    }
    if (is_function && whole == NULL) {
        add_parameters(text, abbreviations, entry);
    }
    free(whole);
}

/* The index in chain, innermost first, of the outermost container to write: the first
 * function with a linkage name, which is qualified already, or else the last. */
static size_t
find_outermost(Dwarf_Die *chain, size_t depth)
{
    for (size_t i = 0; i + 1 < depth; i++) {
        char *const whole =
            dwarf_tag(&chain[i]) == DW_TAG_subprogram ? demangled(&chain[i]) : NULL;

        free(whole);
        if (whole != NULL) {
            return i;
        }
    }
    return depth - 1;
}

/* Whether a declaration is that of a C function in a namespace, whose name is never
 * qualified: a C++ function there would have a linkage name. */
static bool
is_of_c(Dwarf_Die *declaration, Dwarf_Die *parent)
{
    return dwarf_tag(parent) == DW_TAG_namespace &&
           dwarf_hasattr(declaration, DW_AT_external);
}

char *
sym_dwarf_qualify(struct sym_dwarf_unit *unit, Dwarf_Die *declaration, const char *name,
                  struct sym_budget *budget)
{
    const struct sym_dwarf_abbreviations *abbreviations;
    struct buffer text = {0};
    Dwarf_Die chain[DEPTH_MAX];
    Dwarf_Die at = *declaration;
    size_t depth = 0;

    read_containers(unit, declaration, budget);
    while (depth < DEPTH_MAX && find_parent(unit, &at)) {
        chain[depth++] = at;
        if (dwarf_tag(&at) == DW_TAG_subprogram) {
            sym_dwarf_find_declaration(&at);
        }
    }
    abbreviations = sym_dwarf_unit_abbreviations(unit, budget);
    if (abbreviations == NULL || depth == 0 || is_of_c(declaration, &chain[0])) {
        return NULL;
    }
    for (size_t i = find_outermost(chain, depth) + 1; i > 0; i--) {
        add_container_text(&text, abbreviations, &chain[i - 1]);
        add_text(&text, "::");
    }
    add_text(&text, name);
    buffer_append(&text, "", 1);
    if (text.failed || !sym_budget_take(budget, text.size)) {
        buffer_finish(&text);
        return NULL;
    }
    return (char *)text.data;
}
