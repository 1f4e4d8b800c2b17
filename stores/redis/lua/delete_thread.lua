-- Deletes a thread and all that is known of it. ARGV: thread.
discard(keys_of(ARGV[1]), ARGV[1])
return 1
