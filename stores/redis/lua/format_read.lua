-- KEYS[1]: how the names of the store's own keys begin. Answers the format that is recorded there,
-- as its fields in this order; nothing where none is; where the key is no record, what it is.
local key = KEYS[1] .. 'format'
local kind = redis.call('TYPE', key).ok
if kind == 'none' then return {} end
if kind ~= 'hash' then return { 'a ' .. kind, '', '' } end
return redis.call('HMGET', key, 'generation', 'compression', 'buckets')
