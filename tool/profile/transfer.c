/* SPDX-License-Identifier: MIT */
/*
 * transfer.c - sends and receives each table.
 *
 * Each table is sent as a count and its entries, in order; rows come last. So an entry
 * gets the index that it has at the sender, and entries refer to others by index. If an
 * entry gets another index, since it is there twice, the profile is refused.
 */
#include "profile/transfer.h"

#include <stdlib.h>
#include <string.h>

/* Limit for all strings of a profile together. */
#define NAME_BYTES_MAX (UINT64_C(2) << 30)

/* Limit for the entries of a table: their indexes are 32-bit numbers. */
#define ENTRIES_MAX UINT32_MAX

/* --- sending --- */

struct sender {
    const struct profile *profile;
    struct wire *wire;
    struct string_set sent;
};

static void
put_name(struct sender *sender, const char *name)
{
    wire_put_name(sender->wire, &sender->sent, name);
}

static void
put_double(struct wire *wire, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    wire_put(wire, bits);
}

static void
send_header(struct sender *sender)
{
    const struct profile *const profile = sender->profile;

    put_name(sender, profile->command);
    put_name(sender, profile->hal);
    put_name(sender, profile->limits);
    put_name(sender, profile->gaps);
    wire_put(sender->wire, profile->time_ns);
    wire_put(sender->wire, profile->duration_ns);
    wire_put(sender->wire, profile->bucket_bytes);
    wire_put(sender->wire, profile->bucket_least);
}

static void
send_sources(struct sender *sender)
{
    wire_put(sender->wire, sender->profile->source_count);
    for (size_t i = 0; i < sender->profile->source_count; i++) {
        const struct profile_source *const source = &sender->profile->sources[i];
        const uint64_t numbers[] = {
            source->kernel_included, source->user_left_out,  source->asked,
            source->granted,         source->expected,       source->taken,
            source->counted,         source->outside,        source->lost,
            source->throttled,       source->missed,         source->unfinished,
            source->excluded,        source->outside_kernel, source->stack_bytes,
            source->contexts,        source->contexts_max,
        };

        put_name(sender, source->name);
        put_name(sender, source->nt_name);
        put_name(sender, source->unit);
        put_double(sender->wire, source->measured);
        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
            wire_put(sender->wire, numbers[k]);
        }
    }
}

static void
send_images(struct sender *sender)
{
    wire_put(sender->wire, sender->profile->image_count);
    for (size_t i = 0; i < sender->profile->image_count; i++) {
        const struct profile_image *const image = &sender->profile->images[i];

        put_name(sender, image->path);
        put_name(sender, image->build_id);
        wire_put(sender->wire, image->start);
        wire_put(sender->wire, image->limit);
        wire_put(sender->wire, image->offset);
        wire_put(sender->wire, image->named);
    }
}

/* Send the functions and frames, but not the first ones, which every profile has. */
static void
send_functions(struct sender *sender)
{
    wire_put(sender->wire, sender->profile->function_count - 1);
    for (size_t i = 1; i < sender->profile->function_count; i++) {
        const struct profile_function *const function = &sender->profile->functions[i];

        put_name(sender, function->name);
        put_name(sender, function->system_name);
        put_name(sender, function->file);
        put_name(sender, function->definition);
        wire_put(sender->wire, function->start_line);
        wire_put(sender->wire, function->has_address);
        wire_put(sender->wire, function->address);
    }
    wire_put(sender->wire, sender->profile->frame_count - 1);
    for (size_t i = 1; i < sender->profile->frame_count; i++) {
        const struct profile_frame *const frame = &sender->profile->frames[i];

        wire_put(sender->wire, frame->function);
        wire_put(sender->wire, frame->line);
        wire_put(sender->wire, frame->caller);
    }
}

/* Send the calls and ends. An end's function is made from its name. */
static void
send_calls(struct sender *sender)
{
    wire_put(sender->wire, sender->profile->call_count - 1);
    for (size_t i = 1; i < sender->profile->call_count; i++) {
        const struct profile_call *const call = &sender->profile->calls[i];

        wire_put(sender->wire, call->end != NULL);
        if (call->end != NULL) {
            put_name(sender, call->end);
            continue;
        }
        wire_put(sender->wire, call->by_name);
        wire_put(sender->wire, call->address);
        wire_put(sender->wire, call->image);
        wire_put(sender->wire, call->function);
        wire_put(sender->wire, call->line);
        wire_put(sender->wire, call->inlined);
        wire_put(sender->wire, call->caller);
    }
}

static void
send_names(struct sender *sender, const char *const *names, size_t count)
{
    wire_put(sender->wire, count);
    for (size_t i = 0; i < count; i++) {
        put_name(sender, names[i]);
    }
}

static void
send_labels(struct sender *sender)
{
    wire_put(sender->wire, sender->profile->label_count);
    for (size_t i = 0; i < sender->profile->label_count; i++) {
        put_name(sender, sender->profile->labels[i].key);
        put_name(sender, sender->profile->labels[i].value);
    }
}

static void
send_rows(struct sender *sender)
{
    const struct profile *const profile = sender->profile;

    wire_put(sender->wire, profile->row_count);
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];
        const uint64_t keys[] = {
            row->address,    row->image,   row->function, row->line,
            row->caller,     row->process, row->unit,     row->thread,
            row->cpu_plus_1, row->pid,     row->stack,
        };

        wire_put(sender->wire, row->by_name);
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
            wire_put(sender->wire, keys[k]);
        }
        for (size_t k = 0; k < profile->source_count; k++) {
            wire_put(sender->wire, row->hits[k]);
        }
    }
}

void
profile_send(const struct profile *profile, struct wire *wire)
{
    struct sender sender = {.profile = profile, .wire = wire};

    send_header(&sender);
    send_sources(&sender);
    send_images(&sender);
    send_functions(&sender);
    send_calls(&sender);
    send_names(&sender, profile->processes, profile->process_count);
    send_names(&sender, profile->units + 1, profile->unit_count - 1);
    send_names(&sender, profile->threads + 1, profile->thread_count - 1);
    send_labels(&sender);
    send_rows(&sender);
    string_set_finish(&sender.sent);
}

/* --- receiving --- */

struct receiver {
    struct profile *profile;
    struct wire *wire;
    struct wire_names names;
};

static const char *
get_name(struct receiver *receiver)
{
    return wire_get_name(receiver->wire, &receiver->names, NAME_BYTES_MAX);
}

static bool
get_flag(struct receiver *receiver)
{
    return wire_get_most(receiver->wire, 1) != 0;
}

static uint32_t
get_number(struct receiver *receiver)
{
    return (uint32_t)wire_get_most(receiver->wire, UINT32_MAX);
}

static double
get_double(struct receiver *receiver)
{
    const uint64_t bits = wire_get(receiver->wire);
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Receive a text of the profile. Returns false if memory runs out. */
static bool
receive_text(struct receiver *receiver, char **text)
{
    free(*text);
    *text = strdup(get_name(receiver));
    return *text != NULL;
}

static bool
receive_header(struct receiver *receiver)
{
    struct profile *const profile = receiver->profile;
    const bool taken = receive_text(receiver, &profile->command) &&
                       receive_text(receiver, &profile->hal) &&
                       receive_text(receiver, &profile->limits) &&
                       receive_text(receiver, &profile->gaps);

    profile->time_ns = wire_get(receiver->wire);
    profile->duration_ns = wire_get(receiver->wire);
    profile->bucket_bytes = get_number(receiver);
    profile->bucket_least = get_number(receiver);
    return taken;
}

static bool
receive_source(struct receiver *receiver, uint32_t *index)
{
    struct wire *const wire = receiver->wire;
    struct profile_source source;

    source.name = get_name(receiver);
    source.nt_name = get_name(receiver);
    source.unit = get_name(receiver);
    source.measured = get_double(receiver);
    source.kernel_included = get_flag(receiver);
    source.user_left_out = get_flag(receiver);
    source.asked = wire_get(wire);
    source.granted = wire_get(wire);
    source.expected = wire_get(wire);
    source.taken = wire_get(wire);
    source.counted = wire_get(wire);
    source.outside = wire_get(wire);
    source.lost = wire_get(wire);
    source.throttled = wire_get(wire);
    source.missed = wire_get(wire);
    source.unfinished = wire_get(wire);
    source.excluded = wire_get(wire);
    source.outside_kernel = wire_get(wire);
    source.stack_bytes = wire_get(wire);
    source.contexts = wire_get(wire);
    source.contexts_max = wire_get(wire);
    return source.outside <= source.taken && source.outside_kernel <= source.outside &&
           profile_add_source(receiver->profile, &source, index);
}

static bool
receive_image(struct receiver *receiver, uint32_t *index)
{
    struct profile_image image;

    image.path = get_name(receiver);
    image.build_id = get_name(receiver);
    image.start = wire_get(receiver->wire);
    image.limit = wire_get(receiver->wire);
    image.offset = wire_get(receiver->wire);
    image.named = get_flag(receiver);
    return profile_add_image(receiver->profile, &image, index);
}

static bool
receive_function(struct receiver *receiver, uint32_t *index)
{
    struct profile_function function;

    function.name = get_name(receiver);
    function.system_name = get_name(receiver);
    function.file = get_name(receiver);
    function.definition = get_name(receiver);
    function.start_line = get_number(receiver);
    function.has_address = get_flag(receiver);
    function.address = wire_get(receiver->wire);
    return profile_add_function(receiver->profile, &function, index);
}

static bool
receive_frame(struct receiver *receiver, uint32_t *index)
{
    struct profile_frame frame;

    frame.function = get_number(receiver);
    frame.line = get_number(receiver);
    frame.caller = get_number(receiver);
    return profile_add_frame(receiver->profile, &frame, index);
}

static bool
receive_call(struct receiver *receiver, uint32_t *index)
{
    struct profile_call call = {0};

    const bool is_end = get_flag(receiver);

    if (is_end) {
        call.end = get_name(receiver);
        return profile_add_call(receiver->profile, &call, index);
    }
    call.by_name = get_flag(receiver);
    call.address = wire_get(receiver->wire);
    call.image = get_number(receiver);
    call.function = get_number(receiver);
    call.line = get_number(receiver);
    call.inlined = get_number(receiver);
    call.caller = get_number(receiver);
    return profile_add_call(receiver->profile, &call, index);
}

static bool
receive_process(struct receiver *receiver, uint32_t *index)
{
    return profile_add_process(receiver->profile, get_name(receiver), index);
}

static bool
receive_unit(struct receiver *receiver, uint32_t *index)
{
    return profile_add_unit(receiver->profile, get_name(receiver), index);
}

static bool
receive_thread(struct receiver *receiver, uint32_t *index)
{
    return profile_add_thread(receiver->profile, get_name(receiver), index);
}

/* Receive a label. One whose key is there already takes no new index, so that the next
 * label has a wrong one. */
static bool
receive_label(struct receiver *receiver, uint32_t *index)
{
    const char *const key = get_name(receiver);
    const char *const value = get_name(receiver);

    *index = (uint32_t)receiver->profile->label_count;
    return profile_set_label(receiver->profile, key, value);
}

static bool
receive_row(struct receiver *receiver, uint32_t *index)
{
    const bool by_name = get_flag(receiver);
    struct profile *const profile = receiver->profile;
    struct profile_place place;
    struct profile_row *row;

    place.address = wire_get(receiver->wire);
    place.image = get_number(receiver);
    place.function = get_number(receiver);
    place.line = get_number(receiver);
    place.caller = get_number(receiver);
    place.process = get_number(receiver);
    place.unit = get_number(receiver);
    place.thread = get_number(receiver);
    place.cpu_plus_1 = get_number(receiver);
    place.pid = get_number(receiver);
    place.stack = get_number(receiver);
    row = receiver->wire->failed ? NULL : profile_row_at(profile, &place, by_name);
    for (size_t i = 0; row != NULL && i < profile->source_count; i++) {
        row->hits[i] = wire_get(receiver->wire);
    }
    *index = row == NULL ? 0 : (uint32_t)(row - profile->rows);
    return row != NULL;
}

/* Receive a table. Its entries follow the first there entries, which every profile has.
 * Returns false if an entry is invalid or gets another index than at the sender. */
static bool
receive_table(struct receiver *receiver, size_t there,
              bool (*receive)(struct receiver *receiver, uint32_t *index))
{
    const uint64_t end = there + wire_get_most(receiver->wire, ENTRIES_MAX - there);

    for (uint64_t i = there; i < end && !receiver->wire->failed; i++) {
        uint32_t index;

        if (!receive(receiver, &index) || index != i) {
            return false;
        }
    }
    return !receiver->wire->failed;
}

struct profile *
profile_receive(struct wire *wire)
{
    struct receiver receiver = {.profile = profile_new(),
                                .wire = wire,
                                .names = {.bytes_left = NAME_BYTES_MAX}};
    /* 1: profile_new has made entry 0, which stands for none. */
    const bool received = receiver.profile != NULL && receive_header(&receiver) &&
                          receive_table(&receiver, 0, receive_source) &&
                          receive_table(&receiver, 0, receive_image) &&
                          receive_table(&receiver, 1, receive_function) &&
                          receive_table(&receiver, 1, receive_frame) &&
                          receive_table(&receiver, 1, receive_call) &&
                          receive_table(&receiver, 0, receive_process) &&
                          receive_table(&receiver, 1, receive_unit) &&
                          receive_table(&receiver, 1, receive_thread) &&
                          receive_table(&receiver, 0, receive_label) &&
                          receive_table(&receiver, 0, receive_row);

    wire_names_finish(&receiver.names);
    if (!received) {
        profile_delete(receiver.profile);
        return NULL;
    }
    return receiver.profile;
}
