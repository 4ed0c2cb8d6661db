/* SPDX-License-Identifier: MIT */
/* symbol_list.c - frees a list of symbols. */
#include "symbols/border/symbol_list.h"

#include <stdlib.h>

void
sym_symbol_list_finish(struct sym_symbol_list *list)
{
    free(list->items);
    free(list->strings);
    wire_names_finish(&list->names);
    *list = (struct sym_symbol_list){.count = 0};
}
