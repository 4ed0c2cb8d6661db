/* SPDX-License-Identifier: MIT */
/*
 * opener.h - files that a reader asks for, which the command opens by its own rules:
 * regular ELF files and nothing else, so that a process that was taken over reads no
 * secrets.
 */
#ifndef SYMBOLS_CLIENT_OPENER_H
#define SYMBOLS_CLIENT_OPENER_H

#include "sandbox/wire.h"
#include "symbols/client/download.h"

/* opener - for the files of one image. */
struct opener {
    int fd;           /* of the image; or -1 */
    uint64_t device;  /* of the image: no file is taken for its own debug file */
    uint64_t inode;   /* 0: unknown */
    const char *root; /* "" or the folder that stands for "/" there */
    const char *path; /* for progress */
    struct sym_download *download; /* NULL: no servers */
    unsigned int downloads;        /* that were asked for */
    uint64_t key;         /* base/time_limit.h: of the file that was asked for last */
    const char *cache;    /* folder of unpacked sections; NULL: none */
    int last_fd;          /* with a cache, what was opened or downloaded last; or -1 */
    uint64_t last_key;    /* of last_fd, as key */
    uint64_t unpacked_ns; /* processor time that unpacking for one answer took */
    uint64_t asked_ns;    /* time that the command took for all others than downloads */
    bool late;            /* a limit was reached: the reader gets no more answers */
};

/* Answer a REPLY_OPEN, REPLY_DOWNLOAD or REPLY_UNPACKED: receive its parameters, and
 * send the file or a negative errno. Returns false if reply is none of them, its
 * parameters are invalid, or earlier ones took too much time: then late is set. */
bool opener_answer(struct opener *opener, struct wire *wire, uint64_t reply);

/* Close the file that was sent last. */
void opener_close_last(struct opener *opener);

#endif
