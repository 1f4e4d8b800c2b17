-- The metadata of the heads of the threads ARGV names, in its order; false where there is none.
local found = {}
for i = 1, #ARGV do
  local k = keys_of(ARGV[i])
  local newest = redis.pcall('ZREVRANGEBYLEX', k[3], '(j', '[i', 'LIMIT', 0, 1)[1]
  local packed = false
  if newest then
    local name = string.sub(newest, 2)
    local namespace = string.sub(name, separator_of(name) + 1)
    packed = redis.pcall('HGET', k[2], escaped(namespace) .. '\0' .. first_of(name))
  end
  found[i] = type(packed) == 'string' and cmsgpack.unpack(packed)[4] or false
end
return found
