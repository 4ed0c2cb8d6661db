#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks JSON against the subset of JSON Schema that docs/schema uses.

usage: validate_schema.py SCHEMA FILE...

An unknown keyword is an error, so that the schema cannot say more than is checked.
"""
import json
import re
import sys

NOTES = {"$schema", "$defs", "title", "description"}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}


def resolve(root, reference):
    node = root
    for part in reference.removeprefix("#/").split("/"):
        node = node[part]
    return node


def check_object(value, schema, root, place):
    for name in schema.get("required", []):
        if name not in value:
            yield f"{place}: {name} is missing"
    known = schema.get("properties", {})
    extra = schema.get("additionalProperties", True)
    for name, member in value.items():
        if name in known:
            yield from check(member, known[name], root, f"{place}.{name}")
        elif extra is False:
            yield f"{place}: {name} is not in the schema"
        elif extra is not True:
            yield from check(member, extra, root, f"{place}.{name}")


def check(value, schema, root, place="$"):
    """Yields what is wrong, in words."""
    for key, wanted in schema.items():
        if key in NOTES or key in ("required", "properties", "additionalProperties"):
            continue
        if key == "$ref":
            yield from check(value, resolve(root, wanted), root, place)
        elif key == "type":
            if not TYPES[wanted](value):
                yield f"{place}: {value!r} is no {wanted}"
                return
        elif key == "const":
            if value != wanted or type(value) is not type(wanted):
                yield f"{place}: {value!r} is not {wanted!r}"
        elif key == "enum":
            if value not in wanted:
                yield f"{place}: {value!r} is none of {wanted}"
        elif key == "minimum":
            if value < wanted:
                yield f"{place}: {value!r} is below {wanted}"
        elif key == "maximum":
            if value > wanted:
                yield f"{place}: {value!r} is above {wanted}"
        elif key == "pattern":
            if not re.search(wanted, value):
                yield f"{place}: {value!r} does not match {wanted}"
        elif key == "items":
            for index, item in enumerate(value):
                yield from check(item, wanted, root, f"{place}[{index}]")
        else:
            raise ValueError(f"{place}: keyword {key} is not supported here")
    if isinstance(value, dict):
        yield from check_object(value, schema, root, place)


def main():
    schema = json.load(open(sys.argv[1], encoding="utf-8"))
    wrong = 0
    for path in sys.argv[2:]:
        with sys.stdin if path == "-" else open(path, encoding="utf-8") as file:
            for error in check(json.load(file), schema, schema):
                print(f"{path}: {error}")
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
