-- Orders names as sorted sets do, byte by byte: Lua's own `<` goes by the server's locale.
local function is_below(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = string.byte(one, i), string.byte(other, i)
    if a ~= b then return a < b end
  end
  return #one < #other
end

-- How many members of a sorted set come up to and with a member of this score, there or not.
local function rank_behind(key, score, member)
  local rank = redis.call('ZRANK', key, member)
  if rank and tonumber(redis.call('ZSCORE', key, member)) == tonumber(score) then return rank + 1 end
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_below(redis.call('ZRANGE', key, middle, middle)[1], member) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end
