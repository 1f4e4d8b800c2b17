"""Benchmarks: each compares contenders on the same data, in one run, as ratios."""
