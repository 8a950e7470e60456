"""The filter language core: trees, values, text and dict forms, normalisation, evaluation.

Standard library only. Nothing here knows a parser, a dialect or a store.
"""
