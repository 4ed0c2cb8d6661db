/* SPDX-License-Identifier: MIT */
/*
 * config.c - fuzz target: a forged configuration file, and the same bytes as the text
 * of /proc/PID/cgroup.
 */
#include "daemon/config.h"
#include "record/collect/unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *
copy_text(const uint8_t *data, size_t size)
{
    char *const text = malloc(size + 1);

    if (text == NULL) {
        abort();
    }
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* Each word is an option: nothing in the file may become anything else. */
static void
check_config(const char *text)
{
    struct config config = {0};
    char error[80] = "";

    if (config_parse(&config, text, error, sizeof(error)) == (error[0] != '\0') ||
        config.count > CONFIG_LINES_MAX) {
        abort();
    }
    for (size_t i = 0; i < config.count; i++) {
        if (strncmp(config.words[i], "--", 2) != 0 ||
            strchr(config.words[i], '\n') != NULL) {
            abort();
        }
    }
    config_finish(&config);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *const text = copy_text(data, size);
    char unit[UNIT_BYTES];

    check_config(text);
    unit_of_path(text, unit);
    if (strchr(unit, '/') != NULL) {
        abort();
    }
    unit_of_cgroups(text, unit);
    if (strlen(unit) >= UNIT_BYTES) {
        abort();
    }
    free(text);
    return 0;
}
