# SPDX-License-Identifier: MIT
"""Profiles with stacks for the tests of flame graphs."""
import profiles


class Stacks:
    """A profile with stacks: paths of functions, outermost first, with hits."""

    def __init__(self, sources=("time",), with_stacks=True):
        self.profile = profiles.Profile(sources)
        self.with_stacks = with_stacks
        self.images = {"": 0}
        self.functions, self.calls = {}, {}

    def place(self, name):
        """"name" or "image!name": image, address and function."""
        image, _, function = name.rpartition("!")
        image = "" if name.startswith("[") else image or "/usr/bin/app"
        if image not in self.images:
            start = 0x100000 * len(self.images)
            self.images[image] = self.profile.add_image(image, start, start + 0x100000, f"{len(self.images):04x}")
        if name not in self.functions:
            where = () if name.startswith("[") else ("app.c", 10 + len(self.functions))
            self.functions[name] = (self.profile.add_function(function, *where),
                                    0x100000 * self.images[image] + 0x40 * len(self.functions))
        number, address = self.functions[name]
        return self.images[image], address, number

    def call(self, name):
        if name not in self.calls:
            image, address, function = self.place(name)
            self.calls[name] = self.profile.add_call(image, 0 if name.startswith("[") else address + 16, function)
        return self.calls[name]

    def add_inlined(self, name, outer, *hits):
        """Hits of a function where it was inlined into another one, that nothing called."""
        image, address, function = self.place(outer)
        _, _, inlined = self.place(name)
        self.profile.add_bucket(image, address + 64, [inlined, function], 4, hits, stack=[])

    def add(self, path, *hits):
        image, address, function = self.place(path[-1])
        stack = [self.call(name) for name in path[-2::-1]]
        end = path[0] if path[0].startswith("[") else "whole"
        self.profile.add_bucket(image, address, function, 5, hits, stack=stack if self.with_stacks else None, end=end)

    def add_raw(self, path, hits):
        """Names of any bytes: (image, function), outermost first."""
        made = []
        for image, function in path:
            if (image, function) not in self.functions:
                start = 0x100000 * (len(self.functions) + 1)
                self.functions[image, function] = (self.profile.add_image(image, start, start + 0x100000), start,
                                                   self.profile.add_function(function, function, 7))
            made.append(self.functions[image, function])
        stack = [self.profile.add_call(image, address + 16, function) for image, address, function in made[-2::-1]]
        self.profile.add_bucket(*made[-1], 5, (hits,), stack=stack)


def known(scale=1, with_stacks=True):
    """20,000 hits: malloc 13,000 of three callers, recursion, a stack that is cut, and three rare functions.

    scale: of what eval has; idle has the rest.
    """
    stacks = Stacks(with_stacks=with_stacks)
    malloc = "/lib/libc.so.6!malloc"
    less = round(6000 * (1 - scale))
    stacks.add(["main", "parse", malloc], 4000)
    stacks.add(["main", "parse"], 2000)
    stacks.add(["main", "eval", "eval", malloc], 6000 - less)
    stacks.add(["main", "eval"], 1000)
    stacks.add(["[cut at 16 kB]", "worker", malloc], 3000)
    stacks.add(["main", "idle"], 3997 + less)
    for i in range(3):
        stacks.add(["main", f"rare_{i}"], 1)
    return stacks.profile
