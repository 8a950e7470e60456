"""The filter language core: trees, values, text and dict forms, normalisation, evaluation.

Standard library only. Nothing here knows a parser, a dialect or a store.
"""

# What the methods of a tree do: with any part of the language these are there as well.
from vecstore.filter import evaluate, normalize, serial, tautology, text, two_valued

__all__ = ["evaluate", "normalize", "serial", "tautology", "text", "two_valued"]
