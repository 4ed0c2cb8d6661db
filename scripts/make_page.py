#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes of a page's HTML, CSS and JavaScript one C file with two strings: what comes before the data
and what comes after it.

usage: make_page.py OUTPUT.c NAME page.html page.css [MORE.html|MORE.css|SCRIPT.js]...

NAME is that of the page in C. A second page of HTML takes the place of @MORE@, and may have a form.

The page allows itself (Content-Security-Policy) its own style and its own script, by their hashes, and
nothing else: a name in a profile could not run or load anything even if it got out of its place.
"""
import base64
import hashlib
import pathlib
import re
import sys

LICENCE = re.compile(r"\A(?:<!--|/\*)\s*SPDX-License-Identifier: MIT\s*(?:-->|\*/)\n")
POLICY = ("default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'; "
          "form-action {form}; require-trusted-types-for 'script'; trusted-types 'none'")
HEAD = """/* SPDX-License-Identifier: MIT */
/* Made by scripts/make_page.py: do not edit. */
#include "view/export/html_page.h"
"""
TABLE = """
const struct html_page {name} = {{
    .before = before,
    .before_size = sizeof(before),
    .after = after,
    .after_size = sizeof(after),
    .policy = "{policy}; frame-ancestors 'none'",
}};
"""


def fail(text):
    sys.exit(f"make_page: {text}")


def read(path):
    return LICENCE.sub("", pathlib.Path(path).read_text(encoding="utf-8"))


def hash_of(text):
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def put(page, mark, text):
    if page.count(mark) != 1:
        fail(f"{mark} stands {page.count(mark)} times in the page, not once")
    return page.replace(mark, text)


def c_array(name, text):
    """As numbers: a string literal of this length is more than compilers must take."""
    data = text.encode("utf-8")
    lines = [",".join(str(byte) for byte in data[at:at + 24])
             for at in range(0, len(data), 24)]
    return f"\nstatic const unsigned char {name}[] = {{\n" + ",\n".join(lines) + "};\n"


def main():
    if len(sys.argv) < 6:
        fail("usage: make_page.py OUTPUT.c NAME page.html page.css [MORE.html|MORE.css|SCRIPT.js]...")
    texts = {".html": [], ".css": [], ".js": []}
    for path in sys.argv[3:]:
        texts[pathlib.Path(path).suffix].append(read(path))
    page, *more = texts[".html"]
    style, scripts = "".join(texts[".css"]), texts[".js"]
    page = put(page, "@MORE@\n", "".join(more))
    # One function: the scripts see each other, and nothing of them is the page's.
    script = "\"use strict\";\n(() => {\n" + "\n".join(scripts) + "})();\n"
    for name, text in (("style", style), ("script", script)):
        if re.search(rf"</{name}|<!--", text, re.I):
            fail(f"the {name} would end its own element")
    policy = POLICY.format(script=hash_of(script), style=hash_of(style), form="'self'" if more else "'none'")
    page = put(page, "@POLICY@", policy)
    page = put(page, "@STYLE@", style)
    page = put(page, "@SCRIPT@", script)
    if page.count("@DATA@") != 1:
        fail("@DATA@ does not stand once in the page")
    before, after = page.split("@DATA@")
    pathlib.Path(sys.argv[1]).write_text(
        HEAD + c_array("before", before) + c_array("after", after) +
        TABLE.format(name=sys.argv[2], policy=policy), encoding="utf-8")


if __name__ == "__main__":
    main()
