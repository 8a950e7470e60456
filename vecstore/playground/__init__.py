"""The playground: a page where a filter is typed, and all that becomes of it stands beside it.

``answer.py`` is what the page asks, in the browser (Python in WebAssembly) or on this machine;
``assets/`` is the page; ``server.py`` serves it to this machine alone.
"""
