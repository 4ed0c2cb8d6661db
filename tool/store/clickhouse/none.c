/* SPDX-License-Identifier: MIT */
/* none.c - a build without libcurl has no stores on servers. */
#include "store/engine.h"

const struct store_engine *const store_clickhouse = NULL;
