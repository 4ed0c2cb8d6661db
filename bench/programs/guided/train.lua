-- SPDX-License-Identifier: MIT
-- What the interpreter is trained with: sorting, closures, strings of words.
local scale = tonumber(arg[1]) or 1

local function words(n)
  local list = {}
  for i = 1, n do
    list[i] = string.format("%d-%s", (i * 7919) % 10007, ("w"):rep(i % 7))
  end
  return list
end

local function count(list)
  local seen = {}
  for _, word in ipairs(list) do
    local key = word:match("^(%d)")
    seen[key] = (seen[key] or 0) + 1
  end
  return seen
end

local function fib(n)
  return n < 2 and n or fib(n - 1) + fib(n - 2)
end

local total = 0
for _ = 1, scale do
  local list = words(20000)
  table.sort(list)
  for _, n in pairs(count(list)) do
    total = total + n
  end
  local sums = {}
  for i = 1, 20000 do
    local step = i % 13
    sums[i] = function(x) return x + step end
  end
  for i = 1, #sums do
    total = sums[i](total) % 1000003
  end
  total = total + fib(22)
  total = total + #table.concat(list, ","):gsub("%-w+", "")
end
print(total)
