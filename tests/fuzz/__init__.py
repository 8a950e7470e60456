"""Random filters on every engine, for as long as one likes: ``python -m tests.fuzz --help``."""
