/* SPDX-License-Identifier: MIT */
/* none.c - a build without SQLite has no such stores. */
#include "store/engine.h"

const struct store_engine *const store_sqlite = NULL;
