/* SPDX-License-Identifier: MIT */
/* windows.c - writes the condition, and binds its parameters in the same order. */
#include "store/sqlite/windows.h"

/* The first parameter that is a label; those after it are, too. */
enum { FIRST_LABEL = 4 };

void
windows_put_condition(struct buffer *sql, const struct store_selection *selection)
{
    buffer_append_text(sql, "end_ns > ?1 AND (?2 = 0 OR start_ns < ?2) AND (?3 IS NULL "
                            "OR host.name GLOB ?3)");
    /* A line break is before and behind each label (join_labels), and so of the
     * boot. */
    for (size_t i = 0; i < selection->label_count; i++) {
        buffer_print(sql,
                     " AND instr(origin.labels || 'boot=' || origin.boot || char(10), "
                     "?%zu) > 0",
                     FIRST_LABEL + i);
    }
}

void
windows_bind(struct database *store, sqlite3_stmt *statement,
             const struct store_selection *selection)
{
    struct buffer label = {0};

    database_bind(store, statement, 1, (uint64_t)selection->since_ns);
    database_bind(store, statement, 2, (uint64_t)selection->until_ns);
    database_bind_text(store, statement, 3, selection->host);
    for (size_t i = 0; i < selection->label_count; i++) {
        label.size = 0;
        buffer_print(&label, "\n%s\n", selection->labels[i]);
        if (buffer_text(&label) == NULL) {
            database_fail(store, "out of memory");
            break;
        }
        database_bind_text(store, statement, FIRST_LABEL + (int)i, buffer_text(&label));
    }
    buffer_finish(&label);
}
