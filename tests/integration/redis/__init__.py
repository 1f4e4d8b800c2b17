"""The savers of the Redis store on real servers."""
