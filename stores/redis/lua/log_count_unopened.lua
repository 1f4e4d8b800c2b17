-- Adds to the totals. ARGV: an id of this call, then series and values. The id is kept as long as
-- the call may come again because its answer was lost.
writes()
if redis.call('SET', LOG .. 'once:' .. ARGV[1], 1, 'NX', 'PX', 600000) then
  add_to_totals(2, #ARGV)
end
return 1
