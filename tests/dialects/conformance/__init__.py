"""The conformance suite of the kit, run on every engine there is.

One module for each dialect, one class for each engine under it. The classes are also what
``python -m tests.fuzz`` goes through for as long as one likes.
"""
