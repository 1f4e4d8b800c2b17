-- Whether a hold keeps a thread. ARGV: thread, the instant it is asked at.
return is_held(keys_of(ARGV[1]), ARGV[2]) and 1 or 0
