#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A file system of one program and perf maps, for command_hanging.py: hanging_files.py PROGRAM FOLDER. Once there is a
file FOLDER.hang it takes requests and answers none, so that no signal ends who waits; with FOLDER.hang-reads that is so
of reads."""
import errno
import os
import pathlib
import stat
import sys
import time

import fusepy

CONTENT = pathlib.Path(sys.argv[1]).read_bytes()


class Files(fusepy.Operations):
    def __call__(self, operation, *arguments):
        while os.path.exists(sys.argv[2] + ".hang") or (
                operation == "read" and os.path.exists(sys.argv[2] + ".hang-reads")):
            time.sleep(0.1)
        return super().__call__(operation, *arguments)

    def getattr(self, path, fh=None):
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
        if path.startswith(("/hanging", "/perf-")):
            return {"st_mode": stat.S_IFREG | 0o755, "st_nlink": 1, "st_size": len(CONTENT)}
        raise fusepy.FuseOSError(errno.ENOENT)

    def readdir(self, path, fh):
        return [".", ".."]

    def open(self, path, flags):
        return 3

    def read(self, path, size, offset, fh):
        return CONTENT[offset:offset + size]


fusepy.FUSE(Files(), sys.argv[2], foreground=True, ro=True, kernel_cache=True, allow_other=True, attr_timeout=0,
            entry_timeout=0)
