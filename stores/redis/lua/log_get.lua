-- The run ARGV[1], with its row.
return rows_of_runs({ ARGV[1] })
