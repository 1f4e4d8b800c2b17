-- Of the threads ARGV names, those with an error on the head of one of their namespaces, by
-- position. A subgraph's counts no more once its root moved on.
local wanted = { __error__ = true }

local function newest(ids, above, below)
  return redis.call('ZREVRANGEBYLEX', ids, '(' .. below, '[' .. above, 'LIMIT', 0, 1)[1]
end

local function has_failed(k)
  local root = newest(k[3], 'c\0', 'c\0\255')
  root = root and string.sub(root, 3)
  local member = redis.call('ZRANGEBYLEX', k[3], '[c', '(d', 'LIMIT', 0, 1)[1]
  while member do
    local place = string.sub(member, 2)
    local prefix = string.sub(place, 1, separator_of(place))
    local behind = 'c' .. prefix .. '\255'
    local head = string.sub(newest(k[3], 'c' .. prefix, behind), #prefix + 2)
    if not (root and is_below(head, root)) and #writes_at(k, prefix, head, wanted) > 0 then
      return true
    end
    member = redis.call('ZRANGEBYLEX', k[3], '[' .. behind, '(d', 'LIMIT', 0, 1)[1]
  end
  return false
end

local failed = {}
for i = 1, #ARGV do
  local k = keys_of(ARGV[i])
  if is_sound(k) and has_failed(k) then failed[#failed + 1] = i end
end
return failed
