-- The newest runs, with their rows. ARGV: how many, and the score and id of the run before (or none).
local first = ARGV[2] == '' and 0 or rank_behind(RUNS, ARGV[2], ARGV[3])
return rows_of_runs(redis.call('ZRANGE', RUNS, first, first + ARGV[1] - 1))
