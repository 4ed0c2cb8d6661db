/* SPDX-License-Identifier: MIT */
/* walked.cc - as walked.c, in C++: exceptions, virtual calls, templates, strings. It
 * goes on until it is killed. */
#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct shape {
    virtual ~shape() = default;
    virtual int area(int depth) const = 0;
};

struct square : shape {
    int side;

    explicit square(int length) : side(length) {}
    int
    area(int depth) const override
    {
        if (depth == 0) {
            throw std::runtime_error("no depth is left at " + std::to_string(side));
        }
        return side * side;
    }
};

struct pair : shape {
    std::unique_ptr<shape> one;
    std::unique_ptr<shape> other;

    pair(std::unique_ptr<shape> first, std::unique_ptr<shape> second)
        : one(std::move(first)), other(std::move(second))
    {
    }
    int
    area(int depth) const override
    {
        const std::string kept(40, 'k'); /* destroyed by the exception */

        return one->area(depth - 1) + other->area(depth - 1) + (int)kept.size();
    }
};

static std::unique_ptr<shape>
make(int depth)
{
    if (depth == 0) {
        return std::make_unique<square>(3);
    }
    return std::make_unique<pair>(make(depth - 1), make(depth - 1));
}

int
main()
{
    std::map<std::string, int> seen;

    for (int round = 0;; round++) {
        const std::unique_ptr<shape> whole = make(4);
        std::vector<std::string> names;

        try {
            seen[std::to_string(round)] = whole->area(4 + (round % 2 > 0));
        } catch (const std::exception &error) {
            names.emplace_back(error.what());
        }
        for (int i = 0; i < 20; i++) {
            std::ostringstream text;

            text << i * 7 % 20 << ' ' << 1.5 * i;
            names.push_back(text.str());
        }
        std::sort(names.begin(), names.end(),
                  [](const auto &a, const auto &b) { return a.size() < b.size(); });
        if (seen.size() > 50) {
            seen.clear();
        }
    }
}
