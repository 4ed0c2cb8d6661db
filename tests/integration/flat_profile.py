# SPDX-License-Identifier: MIT
"""Writes profile files of known rows (docs/format.md), without code of ntprof; with stacks, too."""
import gzip

from protobuf import field, varint


class FlatProfile:
    """Images, and hits of sources time and page-faults in buckets of theirs.

    stacks: a half of the hits of each bucket has the caller first, the others second and that one first.
    """

    def __init__(self, bucket_bytes=4, stacks=False):
        self.bucket_bytes = bucket_bytes
        self.stacks = stacks
        self.texts = [b""]
        self.images = b""
        self.image_count = 0
        self.functions = b""
        self.function_count = 0
        self.locations = b""
        self.samples = []
        self.location_count = 0
        self.two = False  # are there hits of page-faults?

    def text(self, value):
        value = value.encode() if isinstance(value, str) else value
        if value not in self.texts:
            self.texts.append(value)
        return self.texts.index(value)

    def image(self, path, build_id, start, offset):
        self.image_count += 1
        self.images += field(3, field(1, self.image_count) + field(2, start) +
                             field(3, start + 0x100000) + field(4, offset) +
                             field(5, self.text(path)) + field(6, self.text(build_id)) +
                             field(7, 1))
        return self.image_count

    def function(self, name, file="", line=0, system_name=None):
        self.function_count += 1
        self.functions += field(5, field(1, self.function_count) + field(2, self.text(name)) +
                                field(3, self.text(system_name or name)) + field(4, self.text(file)) +
                                field(5, line))
        return self.function_count

    def location(self, image, address, function, line):
        self.location_count += 1
        named = field(4, field(1, function) + field(2, line)) if function else b""
        self.locations += field(4, field(1, self.location_count) + field(2, image) +
                                field(3, address) + named)
        return self.location_count

    def hits(self, image, address, count, function=0, line=0, source="time"):
        place = self.location(image, address, function, line)
        stack = (("stack", "whole"),) if self.stacks else ()
        labels = b"".join(
            field(3, field(1, self.text(key)) + field(2, self.text(value)))
            for key, value in (("source", source), ("process", "app"), *stack))
        labels += field(3, field(1, self.text("bucket_bytes")) +
                        field(3, self.bucket_bytes) + field(4, self.text("bytes")))
        self.two = self.two or source != "time"
        if self.stacks:
            first, second = (self.location(image, address, self.function(name), 0) for name in ("first", "second"))
            self.samples.append(([place, first], source, count // 2, labels))
            self.samples.append(([place, second, first], source, count - count // 2, labels))
        else:
            self.samples.append(([place], source, count, labels))

    def values(self, source, count):
        time = (count, count * 1000000) if source == "time" else (0, 0)
        more = (0 if source == "time" else count,) if self.two else ()
        return b"".join(map(varint, time + more))

    def write(self, path):
        comments = ["flat bucket profile, no call stacks", "ntprof.format 1", "ntprof.command app",
                    "ntprof.hal perf", "ntprof.limits ", "ntprof.gaps ",
                    f"ntprof.bucket_bytes {self.bucket_bytes}",
                    "ntprof.source time nt_name=ProfileTime unit=100ns column=0 kernel_included=1 "
                    "asked=10000 granted=10000 measured=10000"]
        columns = [("samples", "count"), ("cpu", "nanoseconds")]
        if self.two:
            columns += [("page-faults", "count")]
            comments += ["ntprof.source page-faults nt_name= unit=events column=2 kernel_included=1 "
                         "asked=1 granted=1 measured=1"]
        numbers = [self.text(comment) for comment in comments]
        types = b"".join(field(1, field(1, self.text(name)) + field(2, self.text(unit)))
                         for name, unit in columns)
        samples = b"".join(
            field(2, field(1, b"".join(map(varint, places))) + field(2, self.values(source, count)) + labels)
            for places, source, count, labels in self.samples if count > 0)
        body = types + samples + self.images + self.locations + self.functions
        body += field(11, field(1, self.text("cpu")) + field(2, self.text("nanoseconds")))
        body += field(12, 1000000) + b"".join(field(13, number) for number in numbers)
        body += b"".join(field(6, value) for value in self.texts)
        path.write_bytes(gzip.compress(body))
