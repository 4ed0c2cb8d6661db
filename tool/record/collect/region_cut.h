/* SPDX-License-Identifier: MIT */
/* region_cut.h - cuts mappings to the region that is counted in. */
#ifndef RECORD_COLLECT_REGION_CUT_H
#define RECORD_COLLECT_REGION_CUT_H

#include "record/collect/collectorp.h"

/* Reduce a mapping to its part in the region, if there is a region. Returns false,
 * without change, if they have no byte in common. */
bool region_cut(const struct collector_region *region, struct mapping *mapping);

#endif
