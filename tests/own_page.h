/* SPDX-License-Identifier: MIT */
/*
 * own_page.h - code at an address that no other process has code at.
 *
 * Some events are of all processes, and counts of them are exact only where nobody else
 * calls. Without random addresses, as tests run under sanitizers, every program's own
 * code is where that of others is.
 */
#ifndef TESTS_OWN_PAGE_H
#define TESTS_OWN_PAGE_H

/*
 * own_page_make - a copy of a page of code that runs anywhere, until the process ends;
 * its children have it too. A failure fails the test.
 */
const char *own_page_make(const char *code);

#endif
