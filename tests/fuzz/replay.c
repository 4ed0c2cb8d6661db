/* SPDX-License-Identifier: MIT */
/*
 * replay.c - runs a fuzz target over kept inputs, without a fuzzer: what was once found
 * stays mended, under every compiler and sanitizer.
 *
 *   replay FOLDER...   each file in it, and an empty input
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *
read_file(const char *path, size_t *size)
{
    FILE *const file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long end;

    if (file == NULL) {
        return NULL;
    }
    if (fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0) {
        rewind(file);
        /* One byte more, so that an empty file is no empty allocation; malloc, so that
         * a sanitizer sees reads past the end. */
        bytes = malloc((size_t)end + (end == 0));
        *size = bytes == NULL ? 0 : fread(bytes, 1, (size_t)end, file);
    }
    fclose(file);
    return bytes;
}

static int
replay_file(const char *folder, const char *name)
{
    char path[4096];
    size_t size;
    uint8_t *bytes;

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)) {
        return -1;
    }
    bytes = read_file(path, &size);
    if (bytes == NULL) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        return -1;
    }
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    return 0;
}

/* Returns the number of files, or -1. */
static int
replay_folder(const char *folder)
{
    DIR *const entries = opendir(folder);
    const struct dirent *entry;
    int files = 0;

    if (entries == NULL) {
        fprintf(stderr, "replay: cannot open %s\n", folder);
        return -1;
    }
    while (files >= 0 && (entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] != '.') {
            files = replay_file(folder, entry->d_name) == 0 ? files + 1 : -1;
        }
    }
    closedir(entries);
    return files;
}

int
main(int argc, char **argv)
{
    int files = 0;

    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        const int more = replay_folder(argv[i]);

        if (more <= 0) {
            fprintf(stderr, "replay: nothing replayed from %s\n", argv[i]);
            return 1;
        }
        files += more;
    }
    printf("replay: %d files\n", files);
    return 0;
}
