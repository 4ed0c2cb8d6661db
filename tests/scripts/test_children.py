#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A test program that fails leaves no child behind, which would hold its output open."""
import subprocess
import sys

done = subprocess.run(sys.argv[1], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                      stderr=subprocess.STDOUT, timeout=60)  # until the pipe has no writer
sys.exit(0 if done.returncode == 1 else f"exit status {done.returncode}")
