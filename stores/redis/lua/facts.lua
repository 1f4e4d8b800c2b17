-- The rows of the threads ARGV names, in its order.
local rows = {}
for i = 1, #ARGV do rows[i] = row_of(ARGV[i]) end
return rows
