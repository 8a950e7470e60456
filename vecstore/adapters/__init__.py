"""Stores of this library as those of frameworks; each module needs its framework."""
