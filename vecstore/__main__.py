"""``python -m vecstore`` is the command `vecstore`."""

from vecstore.cli import main

main()
