/* SPDX-License-Identifier: MIT */
/* hal/bpf/btf.c - a walk through the kernel's types, whose sizes differ by kind. */
#include "hal/bpf/btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0xEB9F, KERNEL_BYTES_MAX = 1 << 28 };

/* Kinds by their numbers: headers older than the kernel do not name them. */
enum { KIND_FLOAT = 16, KIND_DECL_TAG = 17, KIND_TYPE_TAG = 18, KIND_ENUM64 = 19 };

struct types {
    const uint8_t *at;
    const uint8_t *end;
    const char *strings;
    size_t string_bytes; /* the last one 0 */
};

/* Bytes behind a type's common part; SIZE_MAX for a kind that is not known. */
static size_t
bytes_behind(const struct btf_type *type)
{
    const size_t count = BTF_INFO_VLEN(type->info);

    switch (BTF_INFO_KIND(type->info)) {
    case BTF_KIND_INT:
        return sizeof(uint32_t);
    case BTF_KIND_ARRAY:
        return sizeof(struct btf_array);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        return count * sizeof(struct btf_member);
    case BTF_KIND_ENUM:
        return count * sizeof(struct btf_enum);
    case BTF_KIND_FUNC_PROTO:
        return count * sizeof(struct btf_param);
    case BTF_KIND_VAR:
        return sizeof(struct btf_var);
    case BTF_KIND_DATASEC:
        return count * sizeof(struct btf_var_secinfo);
    case KIND_DECL_TAG:
        return sizeof(uint32_t);
    case KIND_ENUM64:
        return count * 3 * sizeof(uint32_t);
    case BTF_KIND_PTR:
    case BTF_KIND_FWD:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_FUNC:
    case KIND_FLOAT:
    case KIND_TYPE_TAG:
        return 0;
    default:
        return SIZE_MAX;
    }
}

/* Where types and strings are, if they are within the bytes. */
static bool
types_open(struct types *types, const void *bytes, size_t size)
{
    struct btf_header header;
    size_t rest;

    if (size < sizeof(header)) {
        return false;
    }
    memcpy(&header, bytes, sizeof(header));
    if (header.magic != MAGIC || header.hdr_len < sizeof(header) ||
        header.hdr_len > size) {
        return false;
    }
    rest = size - header.hdr_len;
    if (header.type_off > rest || header.type_len > rest - header.type_off ||
        header.str_off > rest || header.str_len > rest - header.str_off ||
        header.str_len == 0) {
        return false;
    }
    types->at = (const uint8_t *)bytes + header.hdr_len + header.type_off;
    types->end = types->at + header.type_len;
    types->strings = (const char *)bytes + header.hdr_len + header.str_off;
    types->string_bytes = header.str_len;
    return types->strings[types->string_bytes - 1] == 0;
}

static bool
is_function(const struct types *types, const struct btf_type *type, const char *name)
{
    return BTF_INFO_KIND(type->info) == BTF_KIND_FUNC &&
           type->name_off < types->string_bytes &&
           strcmp(types->strings + type->name_off, name) == 0;
}

int
bpf_btf_find_function(const void *bytes, size_t size, const char *name)
{
    struct types types;

    if (!types_open(&types, bytes, size)) {
        return -EBADMSG;
    }
    for (int number = 1; types.at < types.end; number++) {
        const size_t left = (size_t)(types.end - types.at);
        struct btf_type type;
        size_t behind;

        if (left < sizeof(type)) {
            return -EBADMSG;
        }
        memcpy(&type, types.at, sizeof(type));
        if (is_function(&types, &type, name)) {
            return number;
        }
        behind = bytes_behind(&type);
        if (behind > left - sizeof(type)) {
            return -EBADMSG;
        }
        types.at += sizeof(type) + behind;
    }
    return -ENOENT;
}

/* All of a file of this size; NULL if it cannot be had. */
static void *
read_all(int fd, size_t size)
{
    uint8_t *const bytes = malloc(size);
    size_t done = 0;

    while (bytes != NULL && done < size) {
        const ssize_t got = read(fd, bytes + done, size - done);

        if (got <= 0) {
            free(bytes);
            return NULL;
        }
        done += (size_t)got;
    }
    return bytes;
}

int
bpf_btf_find_in_kernel(const char *name)
{
    const int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
    struct stat file;
    void *bytes = NULL;
    int result = -ENOENT;

    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &file) == 0 && file.st_size > 0 && file.st_size <= KERNEL_BYTES_MAX) {
        bytes = read_all(fd, (size_t)file.st_size);
    }
    if (bytes != NULL) {
        result = bpf_btf_find_function(bytes, (size_t)file.st_size, name);
    }
    free(bytes);
    close(fd);
    return result;
}
