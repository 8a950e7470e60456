"""``python -m vecstore.cli`` is the command `vecstore`."""

from vecstore.cli import main

main()
