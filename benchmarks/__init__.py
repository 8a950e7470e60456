"""Benchmarks, printed as ratios within one run: ``make bench``, or ``make bench ARGS="search"``."""
