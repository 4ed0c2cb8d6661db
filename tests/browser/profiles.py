# SPDX-License-Identifier: MIT
"""Profile files for the tests of pages, written byte by byte as docs/format.md has them."""
import gzip
import math
import random
import unicodedata

from protobuf import field, varint


def escape(name):
    """As docs/format.md has it, for names that were bytes."""
    out = []
    for character in name.decode("utf-8", "surrogateescape"):
        raw = character.encode("utf-8", "surrogateescape")
        code = ord(character)
        harmful = (code < 0x20 or 0x7f <= code < 0xa0 or 0xdc80 <= code <= 0xdcff or
                   unicodedata.category(character) in ("Cf", "Zl", "Zp") or
                   code in (0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2065, 0x2800, 0x3164, 0xffa0, 0xfffe, 0xffff) or
                   0x180b <= code <= 0x180f or 0xfe00 <= code <= 0xfe0f or 0xfff0 <= code <= 0xfff8 or
                   0xe0000 <= code <= 0xe0fff)
        out.append("".join(f"\\x{byte:02x}" for byte in raw) if harmful else character)
    return "".join(out).encode()


def word(name):
    return escape(name).replace(b" ", b"\\x20")


class Profile:
    """Put together by add_...; each gives the id that the others ask for."""

    def __init__(self, sources=("time",), command=b"./work --many", bucket_bytes=4):
        self.texts = {b"": 0}
        self.sources = [name if isinstance(name, bytes) else name.encode() for name in sources]
        self.bucket_bytes = bucket_bytes
        self.command = command
        self.time_ns = 1700000000123456789
        self.mappings, self.functions, self.locations, self.samples = [], [], [], []
        self.totals = [0] * len(sources)
        self.has_stacks = False

    def text(self, raw):
        raw = raw if isinstance(raw, bytes) else raw.encode()
        return self.texts.setdefault(escape(raw), len(self.texts))

    def add_image(self, path, start, limit, build_id="c0ffee"):
        number = len(self.mappings) + 1
        self.mappings.append(field(1, number) + field(2, start) + field(3, limit) + field(5, self.text(path)) +
                             field(6, self.text(build_id)) + field(7, 1) + field(8, 1) + field(9, 1) + field(10, 1))
        return number

    def add_function(self, name, file="", line=0, system_name=None):
        number = len(self.functions) + 1
        self.functions.append(field(1, number) + field(2, self.text(name)) +
                              field(3, self.text(name if system_name is None else system_name)) +
                              field(4, self.text(file)) + field(5, line))
        return number

    def add_call(self, image, address, function, line=0):
        """A place that calls, for stacks; image 0 and a function called so: how a stack ends."""
        number = len(self.locations) + 1
        chain = [function] if isinstance(function, int) else function
        lines = b"".join(field(4, field(1, each) + field(2, line)) for each in chain if each)
        mapped = field(2, image) if image else b""
        self.locations.append(field(1, number) + mapped + field(3, address) + lines)
        return number

    def add_bucket(self, image, address, function, line, hits, process="work", stack=None, end="whole"):
        """hits: one number a source. function: an id, 0 for none, or ids with the innermost first.

        stack: what add_call gave, the innermost first; with end, how it ends.
        """
        number = self.add_call(image, address, function, line)
        self.has_stacks = self.has_stacks or stack is not None
        for source, each in enumerate(hits):
            if each == 0:
                continue
            values = [0] * len(hits)
            values[source] = each
            labels = ((b"source", self.sources[source]), (b"process", process))
            if stack is not None:
                labels += ((b"stack", end),)
            self.samples.append(
                field(1, b"".join(map(varint, [number, *(stack or [])]))) + field(2, b"".join(map(varint, values))) +
                b"".join(field(3, field(1, self.text(key)) + field(2, self.text(value))) for key, value in labels) +
                field(3, field(1, self.text(b"bucket_bytes")) + field(3, self.bucket_bytes) +
                      field(4, self.text(b"bytes"))))
            self.totals[source] += each

    def _comments(self):
        yield b"bucket profile with call stacks" if self.has_stacks else b"flat bucket profile, no call stacks"
        yield b"ntprof.format 1"
        yield b"ntprof.command " + escape(self.command)
        yield b"ntprof.hal perf"
        yield b"ntprof.limits "
        yield b"ntprof.gaps "
        yield b"ntprof.bucket_bytes %d" % self.bucket_bytes
        for column, name in enumerate(self.sources):
            total = self.totals[column]
            yield (b"ntprof.source %s nt_name=%s unit=%s column=%d kernel_included=1 asked=10000 granted=10000 "
                   b"measured=10012 "
                   b"expected=%d taken=%d counted=%d outside=3 lost=4 throttled=0 missed=0 unfinished=0 excluded=0" %
                   (word(name), b"ProfileTime" if name == b"time" else b"", b"100ns" if name == b"time" else b"events",
                    column, total + 7, total + 3, total))

    def encode(self):
        types = [field(1, field(1, self.text(name)) + field(2, self.text(b"count"))) for name in self.sources]
        comments = [field(13, self.texts.setdefault(text, len(self.texts))) for text in self._comments()]
        body = [*types, *(field(2, each) for each in self.samples), *(field(3, each) for each in self.mappings),
                *(field(4, each) for each in self.locations), *(field(5, each) for each in self.functions),
                field(9, self.time_ns), field(10, 5012345678), *comments]
        texts = [field(6, text) for text in self.texts]
        return gzip.compress(b"".join(texts + body), 1)

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.encode())


SYLLABLES = ("ar bel cor dis eval frame gc hash init join key list map node obj parse queue read str tree "
             "update vec walk").split()


def make_name(number, chance):
    return "_".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) + f"_{number}"


def big(buckets=100_000, images=12, sources=("time", "page-faults"), seed=5):
    """Functions with hot and cold parts, over images of very different sizes, all buckets with hits."""
    chance = random.Random(seed)
    profile = Profile(sources)
    left = buckets
    for i in range(images):
        mine = left if i + 1 == images else max(1, left // 2)
        left -= mine
        start = 0xffffffff81000000 if i == 1 else 0x400000 + i * 0x1000
        path = "[kernel]" if i == 1 else "/usr/bin/large" if i == 0 else f"/usr/lib/libpart{i}.so.{i}"
        image = profile.add_image(path, start, start + mine * 64 + 0x10000, f"{i:040x}")
        address = start
        while mine > 0:
            size = min(mine, int(chance.paretovariate(1.1) * 6) % 400 + 1)
            number = len(profile.functions)
            function = profile.add_function(make_name(number, chance), f"src/part{i}/{SYLLABLES[number % 23]}.c",
                                            chance.randint(10, 900)) if chance.random() > 0.03 else 0
            heat = chance.paretovariate(0.9)
            peak = chance.random() * size
            for at in range(size):
                hits = 1 + int(heat * math.exp(-abs(at - peak) / (size / 6 + 1)) * chance.random() * 8)
                faults = int(chance.random() < 0.04)
                profile.add_bucket(image, address, function, 10 + at // 3 if function else 0,
                                   (hits, faults)[:len(sources)])
                address += 4 * (1 if chance.random() < 0.8 else chance.randint(2, 9))
            mine -= size
            address += chance.randint(0, 60) * 4
    return profile
