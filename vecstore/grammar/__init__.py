"""The text language of filters: ``filter.lark`` describes it, ``parser.py`` reads it.

The standard library alone: the grammar is read by way of the tables in ``tables.py``, which
`make grammar` writes.
"""
