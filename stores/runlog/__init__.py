"""What every store's run log shares: how runs, batches, counts and totals are written and read."""
