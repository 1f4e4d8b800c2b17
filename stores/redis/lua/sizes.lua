-- The bytes that each thread ARGV names takes up, every value counted.
local sizes = {}
for i = 1, #ARGV do
  sizes[i] = 0
  for _, key in ipairs(keys_of(ARGV[i])) do
    sizes[i] = sizes[i] + (redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) or 0)
  end
end
return sizes
