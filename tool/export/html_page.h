/* SPDX-License-Identifier: MIT */
/*
 * html_page.h - the page of export --format html, without its data: made of page/ at
 * build time by scripts/make_page.py. For tool/export alone.
 */
#ifndef EXPORT_HTML_PAGE_H
#define EXPORT_HTML_PAGE_H

#include <stddef.h>

extern const unsigned char html_page_before[];
extern const size_t html_page_before_size;
extern const unsigned char html_page_after[];
extern const size_t html_page_after_size;

#endif
