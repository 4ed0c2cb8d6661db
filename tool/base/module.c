/* SPDX-License-Identifier: MIT */
/*
 * module.c - loads modules, and knows those that were loaded: an interface that was set
 * once never changes.
 */
#include "base/module.h"

#include "base/command_log.h"
#include "base/embedded.h"
#include "base/headers_hash.h"
#include "base/installed.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Interfaces of modules that are linked in; the addresses of others are NULL. */
struct interface;
#define LINKED __attribute__((weak))
extern const struct interface ntprof_module_capstone LINKED;
extern const struct interface ntprof_module_clickhouse LINKED;
extern const struct interface ntprof_module_debuginfod LINKED;
extern const struct interface ntprof_module_display LINKED;
extern const struct interface ntprof_module_http LINKED;
extern const struct interface ntprof_module_reader LINKED;
extern const struct interface ntprof_module_sqlite LINKED;

/* known - the interface of a module, once it was asked for. */
struct known {
    const char *name;
    const void *interface; /* NULL: not loaded */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known modules[] = {
    {"capstone", &ntprof_module_capstone},
    {"clickhouse", &ntprof_module_clickhouse},
    {"debuginfod", &ntprof_module_debuginfod},
    {"display", &ntprof_module_display},
    {"http", &ntprof_module_http},
    {"reader", &ntprof_module_reader},
    {"sqlite", &ntprof_module_sqlite},
};

static struct known *
find_known(const char *name)
{
    struct known *known = modules;

    while (strcmp(known->name, name) != 0) {
        known++;
        assert(known < modules + sizeof(modules) / sizeof(modules[0]));
    }
    return known;
}

static const void *
fail_with(int error)
{
    errno = error;
    return NULL;
}

static const void *
refuse_missing(const struct module *module, char *why, size_t size)
{
    if (embedded_is_used()) {
        snprintf(why, size,
                 "the ntprof that is one file is without %s: use one that was built "
                 "without -Done_file=true, with %s installed",
                 module->library, module->headers);
    } else {
        snprintf(why, size,
                 "this ntprof is without %s (it has no module ntprof-%s.so): install "
                 "%s and build it again",
                 module->library, module->name, module->headers);
    }
    return fail_with(ENOENT);
}

#ifdef NTPROF_MODULES_LINKED

/* Refuse a module: in a build without separate modules, one that is not linked in does
 * not exist. */
static const void *
load(const struct module *module, char *why, size_t size)
{
    return refuse_missing(module, why, size);
}

#else

/* Explain why the loader failed: usually a library must be installed. */
static const void *
refuse_load(const struct module *module, char *why, size_t size)
{
    const char *const error = dlerror();
    const char *const said = error != NULL ? error : "it has no interface";

    COMMAND_LOG("module ntprof-%s.so: %s", module->name, said);
    if (strstr(said, "cannot open shared object file") != NULL) {
        snprintf(why, size, "install Debian's %s, which the module ntprof-%s.so needs",
                 module->package, module->name);
    } else {
        snprintf(why, size,
                 "install ntprof again: the module ntprof-%s.so cannot be loaded",
                 module->name);
    }
    return fail_with(ELIBACC);
}

/* Load a module's file and return the interface in it. Returns NULL with why and errno
 * if it cannot be loaded or was not built together with the command. */
static const void *
find_interface(const struct module *module, const char *path, char *why, size_t size)
{
    void *const file = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    char name[64];
    const char *hash;
    const void *interface;

    if (file == NULL) {
        return refuse_load(module, why, size);
    }
    snprintf(name, sizeof(name), "ntprof_headers_%s", module->name);
    hash = dlsym(file, name);
    if (hash == NULL || strcmp(hash, NTPROF_HEADERS_HASH) != 0) {
        snprintf(why, size,
                 "install ntprof again: the module ntprof-%s.so is of another build",
                 module->name);
        return fail_with(ELIBBAD);
    }
    snprintf(name, sizeof(name), "ntprof_module_%s", module->name);
    interface = dlsym(file, name);
    return interface != NULL ? interface : refuse_load(module, why, size);
}

/* Find the file of a module, load it, and return its interface. Returns NULL with why
 * and errno if the file is not there or cannot be loaded. */
static const void *
load(const struct module *module, char *why, size_t size)
{
    char name[64];
    char path[PATH_MAX];

    snprintf(name, sizeof(name), "ntprof-%s.so", module->name);
    switch (installed_find(name, "modules", path)) {
    case INSTALLED_MISSING:
        return refuse_missing(module, why, size);
    case INSTALLED_UNREADABLE:
        snprintf(why, size, "install ntprof again: the module %s cannot be read: %s",
                 name, strerror(errno));
        return fail_with(ELIBACC);
    case INSTALLED_UNTRUSTED:
        COMMAND_LOG("module %s: others may have put it there", path);
        snprintf(why, size,
                 "install ntprof again: others can write the module %s or a folder of "
                 "its path",
                 name);
        return fail_with(EPERM);
    case INSTALLED_FOUND:
        break;
    }
    COMMAND_LOG("module %s", path);
    return find_interface(module, path, why, size);
}

#endif

const void *
module_load(const struct module *module, char *why, size_t size)
{
    struct known *const known = find_known(module->name);
    const void *interface;

    pthread_mutex_lock(&lock);
    if (known->interface == NULL) {
        known->interface = load(module, why, size);
    }
    interface = known->interface;
    pthread_mutex_unlock(&lock);
    return interface;
}
