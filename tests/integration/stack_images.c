/* SPDX-License-Identifier: MIT */
#include "stack_images.h"

#include "sandbox/process.h"
#include "symbols/client/unwind.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES_MAX = 256, MAPPINGS_MAX = 1024 };

/* image - a file with code, or the vdso. */
struct image {
    char path[512];
    struct sym_image *symbols; /* NULL: not an ELF file */
};

static struct image images[IMAGES_MAX];
static uint32_t image_count;
static struct stack_mapping mappings[MAPPINGS_MAX]; /* in order, not overlapping */
static size_t mapping_count;
static struct stack_rules *rules;
static unsigned long rows_asked;

int
stack_images_init(void)
{
    if (sandbox_prepare() != 0) {
        return -1;
    }
    rules = stack_rules_create();
    return rules == NULL ? -1 : 0;
}

void
stack_images_finish(void)
{
    for (uint32_t i = 0; i < image_count; i++) {
        sym_image_close(images[i].symbols);
    }
    stack_rules_delete(rules);
    sandbox_finish();
}

static uint32_t
find_image(const char *path)
{
    uint32_t i = 0;
    int fd;

    while (i < image_count && strcmp(images[i].path, path) != 0) {
        i++;
    }
    if (i < image_count) {
        return i;
    }
    if (image_count == IMAGES_MAX) {
        fprintf(stderr, "more than %d images\n", IMAGES_MAX);
        exit(2);
    }
    image_count++;
    snprintf(images[i].path, sizeof(images[i].path), "%s", path);
    if (strcmp(path, "[vdso]") == 0) {
        images[i].symbols = sym_image_open_vdso(NULL);
    } else if ((fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
        images[i].symbols = sym_image_open(fd, path, "", NULL);
    }
    return i;
}

/* Remove what is mapped between two addresses, which cover what they touch. Returns
 * where a mapping of start belongs. */
static size_t
remove_overlapping(uint64_t start, uint64_t end)
{
    size_t first = 0;
    size_t last;

    while (first < mapping_count && mappings[first].end <= start) {
        first++;
    }
    for (last = first; last < mapping_count && mappings[last].start < end; last++) {
    }
    memmove(&mappings[first], &mappings[last],
            (mapping_count - last) * sizeof(mappings[0]));
    mapping_count -= last - first;
    return first;
}

void
stack_images_map(uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
    const size_t place = remove_overlapping(start, end);
    struct stack_mapping *const mapping = &mappings[place];

    if (mapping_count == MAPPINGS_MAX) {
        fprintf(stderr, "more than %d mappings\n", MAPPINGS_MAX);
        exit(2);
    }
    memmove(mapping + 1, mapping, (mapping_count - place) * sizeof(*mapping));
    mapping_count++;
    *mapping = (struct stack_mapping){start, end, start, find_image(path), false};
    mapping->anonymous = images[mapping->image].symbols == NULL;
    if (!mapping->anonymous) {
        mapping->address = sym_image_place_address(images[mapping->image].symbols,
                                                   offset, end - start);
    }
}

void
stack_images_unmap_all(void)
{
    mapping_count = 0;
}

const struct stack_mapping *
stack_images_mapping(uint64_t address)
{
    return stack_mapping_find(mappings, mapping_count, address);
}

const char *
stack_images_path(uint32_t image)
{
    return image == STACK_NO_IMAGE ? "none" : images[image].path;
}

void
stack_images_walk(struct stack_sample *sample, struct stack_walked *walked)
{
    sample->mappings = mappings;
    sample->mapping_count = mapping_count;
    while (!stack_walk(sample, rules, walked)) {
        struct sym_unwind_answer answer;

        if (sym_image_unwind(images[walked->image].symbols, &walked->address, 1,
                             &answer) == 0) {
            fprintf(stderr, "no unwind rows of %s\n", images[walked->image].path);
            exit(2);
        }
        rows_asked++;
        stack_rules_add(rules, walked->image, answer.rows, answer.count);
    }
}

unsigned long
stack_images_rows_asked(void)
{
    return rows_asked;
}

size_t
stack_images_row_count(void)
{
    return stack_rules_count(rules);
}
