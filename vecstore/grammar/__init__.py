"""The text language of filters: ``filter.lark`` describes it, ``parser.py`` reads it.

Importing any of it is cheap: lark is loaded by the first text that is parsed.
"""
