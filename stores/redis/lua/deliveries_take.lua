-- Puts a due delivery off and reads it; false where it is not due. ARGV: run, number, now, until.
local run, n = ARGV[1], ARGV[2]
local at = redis.call('ZSCORE', UNDELIVERED, n .. ':' .. run)
-- At `until` already: by the same call, whose answer was lost.
if not at or (tonumber(at) > tonumber(ARGV[3]) and tonumber(at) ~= tonumber(ARGV[4])) then
  return false
end
writes()
redis.call('ZADD', UNDELIVERED, ARGV[4], n .. ':' .. run)
return owed(run, n, ARGV[4])
