-- SPDX-License-Identifier: MIT
-- What the trained interpreter is measured with, which is other work: floating point, queens, objects.
local scale = tonumber(arg[1]) or 1

local function spectral(n)
  local u, v = {}, {}
  for i = 1, n do u[i] = 1 end
  local function a(i, j) return 1 / ((i + j) * (i + j + 1) / 2 + i + 1) end
  for _ = 1, 2 do
    for i = 1, n do
      local sum = 0
      for j = 1, n do sum = sum + a(i - 1, j - 1) * u[j] end
      v[i] = sum
    end
    for i = 1, n do
      local sum = 0
      for j = 1, n do sum = sum + a(j - 1, i - 1) * v[j] end
      u[i] = sum
    end
  end
  return u[1]
end

local function queens(n)
  local columns, found = {}, 0
  local function place(row)
    if row > n then found = found + 1 return end
    for column = 1, n do
      local free = true
      for above = 1, row - 1 do
        local taken = columns[above]
        if taken == column or math.abs(taken - column) == row - above then free = false break end
      end
      if free then columns[row] = column place(row + 1) end
    end
  end
  place(1)
  return found
end

local Account = {}
Account.__index = Account
function Account.new(balance) return setmetatable({balance = balance}, Account) end
function Account:deposit(amount) self.balance = self.balance + amount end

local total = 0
for _ = 1, scale do
  total = total + spectral(100) + queens(7)
  local accounts = {}
  for i = 1, 2000 do accounts[i] = Account.new(i) end
  for round = 1, 10 do
    for i = 1, #accounts do accounts[i]:deposit(round) end
  end
  for i = 1, #accounts do total = total + accounts[i].balance end
  local text = {}
  for i = 1, 5000 do text[#text + 1] = tostring(i) end
  total = total + #table.concat(text):reverse():upper()
end
print(string.format("%.6f", total))
