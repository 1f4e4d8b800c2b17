"""Facts about a pool whose parts end at random."""
