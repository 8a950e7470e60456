"""For the reference: docstrings as the reader of the site's generator takes them.

Roles of reStructuredText become code, linked where the site has a place for it; a section of one
example is read as what it is, where the reader knows ``Examples`` alone.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`(~?)\.?([^`]+)`")
_EXAMPLE = re.compile(r"^Example:$", re.MULTILINE)
_LITERAL = re.compile(r"::$", re.MULTILINE)


class Roles(griffe.Extension):
    """Rewrites the docstring of each object when it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one."""
        if obj.docstring is not None:
            text = _ROLE.sub(_shown, obj.docstring.value)
            obj.docstring.value = _EXAMPLE.sub("Examples:", _LITERAL.sub(":", text))


def _shown(match: re.Match[str]) -> str:
    short, path = match.groups()
    shown = path.rpartition(".")[2] if short else path
    if "." not in path:
        return f"`{shown}`"
    return f'<autoref optional identifier="{path}"><code>{shown}</code></autoref>'
