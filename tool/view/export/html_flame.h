/* SPDX-License-Identifier: MIT */
/*
 * html_flame.h - flame graphs as the page of export --format html reads them
 * (page/flame_tree.js): JSON with columns as in html_data.h.
 *
 * Nodes are in pre-order; "up" is how far a node's caller is before it, "frame" the
 * number of its function plus 1, or 0 with "rest" functions that have too few hits, and
 * "self" its own hits, "old" those in the older profile.
 * Only tool/view/export includes it.
 */
#ifndef VIEW_EXPORT_HTML_FLAME_H
#define VIEW_EXPORT_HTML_FLAME_H

#include "base/buffer.h"
#include "view/export/flames.h"

/* Append flame graphs as one JSON object. Returns false if memory ran out. */
bool html_put_flames(struct buffer *json, const struct flames *flames);

#endif
