"""What is said to a model: messages, the function that answers them, and checked templates.

No model is owned here. Wherever one is needed, it is a function from messages to a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from inspect import isasyncgen
from typing import Any, Literal, NotRequired, Required, TypedDict

from vecstore.errors import ConfigurationError

__all__ = ["Complete", "Message", "Template", "answer", "assistant", "system", "text_of", "user"]


class Message(TypedDict):
    """A message as every provider's SDK takes it: a dict with ``role`` and ``content``.

    Keys and parts of the content that are not named here travel untouched.
    """

    role: Required[Literal["system", "user", "assistant", "tool"]]
    content: NotRequired[str | list[dict[str, Any]] | None]
    tool_calls: NotRequired[list[dict[str, Any]]]
    tool_call_id: NotRequired[str]
    name: NotRequired[str]


Complete = Callable[[list[Message]], str | Iterable[str]]
"""A model: takes messages, and returns the text or yields it in pieces.

Retries and timeouts are its own affair: it knows its provider.
"""


def system(text: str) -> Message:
    """A message of the role ``system``.

    Example:
        >>> system("Answer in one line.")
        {'role': 'system', 'content': 'Answer in one line.'}
    """
    return {"role": "system", "content": text}


def user(text: str) -> Message:
    """A message of the role ``user``.

    Example:
        >>> user("Which breads are sour?")
        {'role': 'user', 'content': 'Which breads are sour?'}
    """
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    """A message of the role ``assistant``.

    Example:
        >>> assistant("Rye.")
        {'role': 'assistant', 'content': 'Rye.'}
    """
    return {"role": "assistant", "content": text}


def text_of(message: Mapping[str, Any]) -> str:
    r"""What a message says in words: its text, or its parts that are texts, a line each.

    Images, tool calls and other parts count as nothing.

    Example:
        >>> text_of({"role": "user", "content": [{"type": "text", "text": "What is this?"}]})
        'What is this?'
        >>> text_of({"role": "assistant", "content": None})
        ''
    """
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return "\n".join([text for text in texts if isinstance(text, str)])


def answer(complete: Complete, messages: list[Message]) -> str:
    """The whole answer of a model, also where it comes in pieces.

    Raises:
        ConfigurationError: If what came is no text: a coroutine, or an SDK's own object.
            Whatever the model itself raises is passed on.

    Example:
        >>> answer(lambda messages: iter(["Rye", "."]), [user("Which breads are sour?")])
        'Rye.'
    """
    given: Any = complete(messages)
    if isinstance(given, str):
        return given
    if isinstance(given, Coroutine):
        given.close()
        raise _asynchronous("a coroutine")
    if isasyncgen(given):
        raise _asynchronous("an asynchronous generator")
    if isinstance(given, bytes | Mapping) or not isinstance(given, Iterable):
        raise ConfigurationError(
            f"a model is a function that returns its answer as a text, or yields it in pieces; "
            f"this one returned {_named(given)}: return the text inside of it"
        )
    pieces = []
    for piece in given:
        if not isinstance(piece, str):
            raise ConfigurationError(
                f"a model yields pieces of text; this one yielded {_named(piece)}: yield the text "
                "inside of it"
            )
        pieces.append(piece)
    return "".join(pieces)


def _asynchronous(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"the model is asynchronous: it returned {what} in place of a text; pass a function that "
        "returns the text itself"
    )


def _named(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


class Template:
    """A text with ``{places}``, checked when it is made and filled in one pass.

    Only the names in ``needs`` are places; every other brace is text, and so is whatever is
    filled in: a document that says ``{query}`` stays as it is.

    Args:
        text: The text.
        needs: The names of its places; each has to be there.

    Raises:
        ConfigurationError: If the text lacks a place, naming all that it lacks.

    Example:
        >>> template = Template(
        ...     "Answer {query} from {context}, as {json: true}.", needs=["query", "context"]
        ... )
        >>> template.fill(query="why?", context="{query}")
        'Answer why? from {query}, as {json: true}.'
    """

    __slots__ = ("_pattern", "needs", "text")

    def __init__(self, text: str, *, needs: Collection[str]) -> None:
        if not isinstance(text, str):
            raise ConfigurationError(f"a template is a text, not {_named(text)}")
        if isinstance(needs, str):
            raise ConfigurationError(f"needs is a list of names: write needs=[{needs!r}]")
        names = tuple(dict.fromkeys(needs))
        missing = [name for name in names if f"{{{name}}}" not in text]
        if missing:
            places = " and ".join(f"{{{name}}}" for name in missing)
            raise ConfigurationError(
                f"the template has no place {places}: put it where the text goes"
            )
        self.text = text
        self.needs = names
        listed = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        self._pattern = re.compile(rf"\{{({listed})\}}" if names else r"(?!)")

    def fill(self, **values: str) -> str:
        """The text with every place filled.

        Raises:
            TypeError: If a place is given no text, or there is none of that name.
        """
        for name in self.needs:
            if not isinstance(values.get(name), str):
                given = "nothing" if name not in values else _named(values[name])
                raise TypeError(f"the place {{{name}}} takes a text, not {given}")
        for name in values:
            if name not in self.needs:
                raise TypeError(
                    f"the template has no place {{{name}}}; it has "
                    + (", ".join(f"{{{known}}}" for known in self.needs) or "none")
                )
        return self._pattern.sub(lambda match: values[match[1]], self.text)

    def __repr__(self) -> str:
        return f"Template({self.text!r}, needs={list(self.needs)!r})"
