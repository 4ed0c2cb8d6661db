/* SPDX-License-Identifier: MIT */
/* doctor_json.c - what ntprof doctor found out, as JSON. */
#include "base/json.h"
#include "doctor/doctor.h"

#include <stdio.h>
#include <string.h>

/* Names of NTPROF_CAUSE_..., by number. */
static const char *const causes[] = {
    "",           "perf_event_paranoid",
    "capability", "user namespace",
    "seccomp",    "kernel",
    "machine",    "locked memory",
    "open files", "memory",
    "busy",       "owner",
    "other",
};

static const char *
cause_name(uint32_t cause)
{
    return cause < sizeof(causes) / sizeof(causes[0]) ? causes[cause] : "other";
}

static void
put_backends(struct buffer *json, const struct doctor *doctor)
{
    json_begin(json, "backends", '[');
    for (size_t i = 0; i < doctor->backend_count; i++) {
        const ntprof_backend_info *const info = &doctor->backends[i];

        buffer_append_text(json, "\n  {");
        json_put_text_member(json, "name", info->name);
        json_put_bool_member(json, "usable", info->usable);
        json_put_bool_member(json, "watches", info->watches);
        json_put_bool_member(json, "kernel", info->kernel);
        json_put_bool_member(json, "global", info->global);
        json_put_text_member(json, "reason", info->reason);
        json_put_text_member(json, "remedy", info->remedy);
        json_put_text_member(json, "error",
                             info->error != 0 ? strerrorname_np((int)info->error) : "");
        json_put_text_member(json, "cause", cause_name(info->cause));
        json_end_member(json, '}');
    }
    json_end_member(json, ']');
}

static void
put_commands(struct buffer *json, const struct doctor *doctor)
{
    json_begin(json, "commands", '[');
    for (size_t i = 0; i < DOCTOR_COMMANDS; i++) {
        const struct doctor_command *const command = &doctor->commands[i];

        buffer_append_text(json, "\n  {");
        json_put_text_member(json, "name", command->name);
        json_put_text_member(json, "backend",
                             command->backend != NULL ? command->backend : "");
        json_put_text_member(json, command->backend != NULL ? "scope" : "reason",
                             command->what);
        json_end_member(json, '}');
    }
    json_end_member(json, ']');
}

/* Put the words of a text as an array. */
static void
put_words(struct buffer *json, const char *key, const char *words)
{
    char word[64];

    json_begin(json, key, '[');
    while (*words != '\0') {
        const size_t length = strcspn(words, " ");

        snprintf(word, sizeof(word), "%.*s", (int)length, words);
        json_put_text_element(json, word);
        words += length + (words[length] == ' ');
    }
    json_end_member(json, ']');
}

static void
put_sources(struct buffer *json, const struct doctor *doctor)
{
    json_begin(json, "source_groups", '[');
    for (size_t i = 0; i < doctor->group_count; i++) {
        const struct doctor_sources *const group = &doctor->groups[i];

        buffer_append_text(json, "\n  {");
        json_put_text_member(json, "backend",
                             group->reason[0] == '\0' ? doctor->backend : "");
        json_put_text_member(json, "reason", group->reason);
        put_words(json, "names", group->names);
        json_end_member(json, '}');
    }
    json_end_member(json, ']');
}

static void
put_facts(struct buffer *json, const struct machine_facts *facts)
{
    json_begin(json, "facts", '[');
    for (size_t i = 0; i < facts->count; i++) {
        buffer_append_text(json, "\n  {");
        json_put_text_member(json, "name", facts->list[i].name);
        json_put_text_member(json, "value", facts->list[i].value);
        json_put_text_member(json, "meaning", facts->list[i].meaning);
        json_end_member(json, '}');
    }
    json_end_member(json, ']');
}

static void
put_advice(struct buffer *json, const struct doctor *doctor)
{
    json_begin(json, "advice", '[');
    for (const struct advice *advice = advice_list; advice->subject != NULL; advice++) {
        buffer_append_text(json, "\n  {");
        json_put_text_member(json, "subject", advice->subject);
        json_put_bool_member(json, "applies",
                             advice_applies(advice, doctor->container));
        json_begin(json, "lines", '[');
        for (size_t i = 0; advice->lines[i] != NULL; i += 2) {
            buffer_append_text(json, "{");
            json_put_text_member(json, "line", advice->lines[i]);
            json_put_text_member(json, "meaning", advice->lines[i + 1]);
            json_end_member(json, '}');
        }
        json_end_member(json, ']');
        json_end_member(json, '}');
    }
    json_end_member(json, ']');
}

void
doctor_print_json(const struct doctor *doctor)
{
    struct buffer json = {0};

    buffer_append_text(&json, "{");
    json_put_text_member(&json, "schema", "ntprof.doctor");
    json_put_number_member(&json, "version", 1);
    put_backends(&json, doctor);
    put_commands(&json, doctor);
    put_sources(&json, doctor);
    put_facts(&json, &doctor->facts);
    put_advice(&json, doctor);
    json_put_number_member(&json, "sources_supported", doctor->sources_supported);
    json_put_number_member(&json, "sources", doctor->sources);
    json_put_text_member(&json, "failure", doctor->failure);
    json_put_bool_member(&json, "works", doctor->works);
    json_end(&json, '}');
    buffer_append_text(&json, "\n");
    (void)json_finish(&json, stdout);
}
