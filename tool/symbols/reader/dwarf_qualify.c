/* SPDX-License-Identifier: MIT */
/*
 * dwarf_qualify.c - what functions are in.
 *
 * An entry does not say what it is in: the first time that it is asked of a unit, the
 * unit's entries are walked once, and those that others can be in are kept in order.
 */
#include "symbols/reader/dwarf_qualify.h"

#include "base/buffer.h"
#include "symbols/border/demangle.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Real code has some ten; deeper ones are forged. */
enum { DEPTH_MAX = 64, LINKS_MAX = 16, TYPE_DEPTH_MAX = 8 };

/* Entries below one, at whatever depth, among which its parameters or members are
 * looked for. A function may have all others of its unit in it. */
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

/* --- what contains what --- */

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

/* containers_walk - what a visit adds containers to. */
struct containers_walk {
    struct sym_dwarf_unit *unit;
    struct sym_budget *budget;
};

/* Adds the entry if it contains others. False: too much memory. */
static bool
add_container(void *context, Dwarf_Die *entry, int tag, uint32_t around,
              uint32_t *inside)
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
    *inside = (uint32_t)unit->container_count++;
    unit->containers[*inside] =
        (struct sym_dwarf_container){(uintptr_t)entry->addr, around};
    return true;
}

/* Of the entries that a declaration is among. A skeleton that has its other half has
 * none but its root. */
static void
read_containers(struct sym_dwarf_unit *unit, const Dwarf_Die *declaration,
                struct sym_budget *budget)
{
    struct containers_walk walk = {.unit = unit, .budget = budget};
    const struct sym_dwarf_shapes *shapes;

    if (unit->containers_sought || declaration->cu != unit->functions.cu) {
        return;
    }
    unit->containers_sought = true;
    shapes = sym_dwarf_unit_shapes(unit, budget);
    if (shapes == NULL || !sym_dwarf_walk(shapes, &unit->functions, SYM_DWARF_NO_SCOPE,
                                          add_container, &walk)) {
        unit->container_count = 0;
    }
}

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

/* What an entry that is a container is in. False: it is in none. */
static bool
find_around(const struct sym_dwarf_unit *unit, Dwarf_Die *entry)
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
sym_dwarf_find_around(struct sym_dwarf_unit *unit, const Dwarf_Die *declaration,
                      struct sym_budget *budget, Dwarf_Die *around)
{
    read_containers(unit, declaration, budget);
    *around = *declaration;
    return find_around(unit, around);
}

/* --- text --- */

static void
add_text(struct buffer *text, const char *more)
{
    if (text->size + strlen(more) < NAME_BYTES_MAX) {
        buffer_append(text, more, strlen(more));
    }
}

static const char *
name_of(Dwarf_Die *entry)
{
    Dwarf_Attribute found;

    return sym_dwarf_text(dwarf_attr_integrate(entry, DW_AT_name, &found));
}

static bool
find_type(Dwarf_Die *entry, Dwarf_Die *type)
{
    Dwarf_Attribute found;

    return dwarf_attr_integrate(entry, DW_AT_type, &found) != NULL &&
           dwarf_formref_die(&found, type) != NULL;
}

/* What stands behind the name of the type that one of these kinds is made from. */
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

/* The type of an entry, as people write it; arrays and functions are left out. */
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

/* What a walk over entries gives as around. */
enum { CHILD, DEEPER };

/* parameters_walk - what a visit adds parameters to. */
struct parameters_walk {
    struct buffer *text;
    bool any;
    size_t left; /* entries that may still be looked at */
};

static bool
add_parameter(void *context, Dwarf_Die *entry, int tag, uint32_t around,
              uint32_t *inside)
{
    struct parameters_walk *const walk = context;
    Dwarf_Attribute found;

    *inside = DEEPER;
    if (around == CHILD && tag == DW_TAG_formal_parameter &&
        dwarf_attr_integrate(entry, DW_AT_artificial, &found) == NULL) {
        add_text(walk->text, walk->any ? ", " : "");
        add_type(walk->text, entry);
        walk->any = true;
    }
    return --walk->left > 0;
}

/* "(int, const char*)", without what the compiler added. */
static void
add_parameters(struct buffer *text, const struct sym_dwarf_shapes *shapes,
               const Dwarf_Die *function)
{
    struct parameters_walk walk = {.text = text, .left = ENTRIES_MAX};

    add_text(text, "(");
    (void)sym_dwarf_walk(shapes, function, CHILD, add_parameter, &walk);
    add_text(text, ")");
}

/* operator_walk - what a visit finds an operator() with. */
struct operator_walk {
    Dwarf_Die function;
    bool found;
    size_t left; /* entries that may still be looked at */
};

static bool
is_call_operator(void *context, Dwarf_Die *entry, int tag, uint32_t around,
                 uint32_t *inside)
{
    struct operator_walk *const walk = context;
    const char *const name =
        around == CHILD && tag == DW_TAG_subprogram ? name_of(entry) : NULL;

    *inside = DEEPER;
    walk->found = name != NULL && strcmp(name, "operator()") == 0;
    walk->function = *entry;
    return !walk->found && --walk->left > 0;
}

/* g++ gives the types of lambdas no name: they have an operator(). */
static bool
find_call_operator(const struct sym_dwarf_shapes *shapes, const Dwarf_Die *type,
                   Dwarf_Die *function)
{
    struct operator_walk walk = {.left = ENTRIES_MAX};

    (void)sym_dwarf_walk(shapes, type, CHILD, is_call_operator, &walk);
    *function = walk.function;
    return walk.found;
}

static void
add_unnamed(struct buffer *text, const struct sym_dwarf_shapes *shapes,
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
    default:
        if (find_call_operator(shapes, entry, &function)) {
            add_text(text, "<lambda");
            add_parameters(text, shapes, &function);
            add_text(text, ">");
        } else {
            add_text(text, "<unnamed struct>");
        }
        break;
    }
}

/* The linkage name of a function for people, which is qualified; malloc'd or NULL. */
static char *
demangled(Dwarf_Die *entry)
{
    Dwarf_Attribute found;
    const char *const name =
        sym_dwarf_text(dwarf_attr_integrate(entry, DW_AT_linkage_name, &found));

    return name == NULL ? NULL : sym_demangle_plain(name);
}

/* Adds what an entry in it is qualified with. */
static void
add_container_text(struct buffer *text, const struct sym_dwarf_shapes *shapes,
                   Dwarf_Die *entry)
{
    const bool is_function = dwarf_tag(entry) == DW_TAG_subprogram;
    char *const whole = is_function ? demangled(entry) : NULL;
    const char *const name = whole != NULL ? whole : name_of(entry);

    if (name != NULL) {
        add_text(text, name);
    } else {
        add_unnamed(text, shapes, entry);
    }
    if (is_function && whole == NULL) {
        add_parameters(text, shapes, entry);
    }
    free(whole);
}

/* Which of the containers, from the innermost on, has all around it in its name. */
static size_t
find_whole(Dwarf_Die *chain, size_t depth)
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

/* A C function may be declared in a namespace. */
static bool
is_of_c(Dwarf_Die *declaration, Dwarf_Die *around)
{
    return dwarf_tag(around) == DW_TAG_namespace &&
           dwarf_hasattr(declaration, DW_AT_external);
}

char *
sym_dwarf_qualify(struct sym_dwarf_unit *unit, Dwarf_Die *declaration, const char *name,
                  struct sym_budget *budget)
{
    const struct sym_dwarf_shapes *shapes;
    struct buffer text = {0};
    Dwarf_Die chain[DEPTH_MAX];
    Dwarf_Die at = *declaration;
    size_t depth = 0;

    read_containers(unit, declaration, budget);
    while (depth < DEPTH_MAX && find_around(unit, &at)) {
        chain[depth++] = at;
        if (dwarf_tag(&at) == DW_TAG_subprogram) {
            sym_dwarf_find_declaration(&at);
        }
    }
    shapes = sym_dwarf_unit_shapes(unit, budget);
    if (shapes == NULL || depth == 0 || is_of_c(declaration, &chain[0])) {
        return NULL;
    }
    for (size_t i = find_whole(chain, depth) + 1; i > 0; i--) {
        add_container_text(&text, shapes, &chain[i - 1]);
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
