# SPDX-License-Identifier: MIT
"""Writes pprof files as other tools do, with stacks and inlined calls, without code of ntprof."""
import gzip

from protobuf import field, varint


class ForeignFile:
    def __init__(self, *types):
        """Each type a name and a unit."""
        self.texts = [""]
        self.body = b""
        self.functions = {}
        self.locations = {}
        for name, unit in types:
            self.body += field(1, field(1, self.text(name)) + field(2, self.text(unit)))

    def text(self, value):
        if value not in self.texts:
            self.texts.append(value)
        return self.texts.index(value)

    def function(self, name):
        if name not in self.functions:
            self.functions[name] = len(self.functions) + 1
            self.body += field(5, field(1, self.functions[name]) + field(2, self.text(name)) +
                               field(3, self.text(name)))
        return self.functions[name]

    def location(self, place):
        """Functions inlined in each other, innermost first, with commas."""
        if place not in self.locations:
            self.locations[place] = at = len(self.locations) + 1
            lines = [field(4, field(1, self.function(name)) + field(2, at))
                     for name in place.split(",")]
            self.body += field(4, field(1, at) + field(3, 0x1000 * at) + b"".join(lines))
        return self.locations[place]

    def sample(self, stack, *values, **labels):
        """A stack of locations, the leaf first."""
        ids = b"".join(varint(self.location(place)) for place in stack)
        told = b"".join(field(3, field(1, self.text(key)) + field(2, self.text(text))) for key, text in labels.items())
        self.body += field(2, field(1, ids) + field(2, b"".join(map(varint, values))) + told)

    def period(self, name, unit, number):
        """What is sampled, and every how many of the unit."""
        self.body += field(11, field(1, self.text(name)) + field(2, self.text(unit))) + field(12, number)

    def texts_of(self, **fields):
        """Fields that are numbers of strings."""
        numbers = {"drop_frames": 7, "keep_frames": 8}
        for name, value in fields.items():
            self.body += field(numbers[name], self.text(value))

    def write(self, path):
        path.write_bytes(gzip.compress(self.body + b"".join(field(6, text.encode()) for text in self.texts)))
