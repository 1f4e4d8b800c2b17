-- Of the threads ARGV names, those with an interrupt on the head of one of their namespaces, by
-- position. A subgraph's question is over once its root moved on.
local function newest(ids, above, below)
  return redis.call('ZREVRANGEBYLEX', ids, '(' .. below, '[' .. above, 'LIMIT', 0, 1)[1]
end

-- Where the name of a namespace ends within a place.
local function name_of(place)
  return string.sub(place, 1, (string.find(place .. '\0', '%z[^\255]', 1)))
end

local function is_parked(ids)
  local root = newest(ids, 'c\0', 'c\0\255')
  root = root and string.sub(root, 3)
  local interrupt = newest(ids, 'x', 'y')
  while interrupt do
    local place = string.sub(interrupt, 2)
    local name = name_of(place)
    if newest(ids, 'c' .. name, 'c' .. name .. '\255') == 'c' .. place
      and not (root and is_below(string.sub(place, #name + 1), root)) then
      return true
    end
    interrupt = newest(ids, 'x', 'x' .. name)
  end
  return false
end

local parked = {}
for i = 1, #ARGV do
  local ids = BUCKET .. 'i:' .. ARGV[i]
  -- Interrupts come last in the ids: a thread without any is told by one look.
  local last = redis.pcall('ZREVRANGE', ids, 0, 0)[1]
  if last and string.byte(last) == 120 and is_sound(keys_of(ARGV[i])) and is_parked(ids) then
    parked[#parked + 1] = i
  end
end
return parked
