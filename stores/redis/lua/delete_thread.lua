-- Deletes a thread and all that is known of it. ARGV: thread, and where a hold is to keep it, the
-- instant it is asked at.
local k = keys_of(ARGV[1])
if ARGV[2] and is_held(k, ARGV[2]) then return 0 end
discard(k, ARGV[1])
return 1
