from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecstore import ConfigurationError
from vecstore.prompting import Message, Template, answer, assistant, system, text_of, user

ASKED = [user("hello")]


# --- templates --------------------------------------------------------------------------------


def test_a_template_says_which_places_it_lacks() -> None:
    with pytest.raises(ConfigurationError, match=r"no place \{query\} and \{text\}"):
        Template("the query is in the text", needs=["query", "text"])
    with pytest.raises(ConfigurationError, match=r"write needs=\['query'\]"):
        Template("{query}", needs="query")
    with pytest.raises(ConfigurationError, match="is a text, not None"):
        Template(None, needs=[])  # type: ignore[arg-type]


def test_places_take_texts_and_all_of_them() -> None:
    template = Template("{a} {b}", needs=["a", "b"])
    with pytest.raises(TypeError, match=r"\{b\} takes a text, not nothing"):
        template.fill(a="x")
    with pytest.raises(TypeError, match=r"\{b\} takes a text, not a value of type int"):
        template.fill(a="x", b=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"no place \{c\}; it has \{a\}, \{b\}"):
        template.fill(a="x", b="y", c="z")
    with pytest.raises(TypeError, match="it has none"):
        Template("text", needs=[]).fill(c="z")


def test_other_braces_are_text() -> None:
    text = '{"json": {a}, {{b}}, {unknown}, {}, {a'
    assert Template(text, needs=["a"]).fill(a="1") == '{"json": 1, {{b}}, {unknown}, {}, {a'
    assert Template("{ab}{a}", needs=["a", "ab"]).fill(a="1", ab="2") == "21"
    assert Template("a.b {a.b} {axb}", needs=["a.b"]).fill(**{"a.b": r"\1\g<0>"}) == (
        r"a.b \1\g<0> {axb}"
    )


@given(st.text(), st.text(), st.text(), st.text())
def test_what_is_filled_in_is_not_read_again(one: str, two: str, before: str, after: str) -> None:
    text = f"{before}{{one}}|{{two}}{after}"
    filled = Template(text, needs=["one", "two"]).fill(one=f"{one}{{two}}", two=f"{two}{{one}}")
    expected = [f"{one}{{two}}", f"{two}{{one}}"]
    pieces = text.replace("{one}", "\0").replace("{two}", "\1")
    assert filled == "".join(
        expected[0] if piece == "\0" else expected[1] if piece == "\1" else piece
        for piece in pieces
    ) or {"\0", "\1"} & {*before, *after}


# --- messages ---------------------------------------------------------------------------------


def test_messages_are_the_dicts_that_every_sdk_takes() -> None:
    assert [one["role"] for one in (system("a"), user("b"), assistant("c"))] == [
        "system",
        "user",
        "assistant",
    ]
    called: Message = {"role": "assistant", "tool_calls": [{"id": "1"}]}
    assert text_of(called) == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a", "a"),
        (None, ""),
        (
            [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}],
            "a\nb",
        ),
        ([{"type": "text", "text": 5}, "c", None], ""),
        (7, ""),
    ],
)
def test_what_a_message_says(content: Any, said: str) -> None:
    assert text_of({"role": "user", "content": content}) == said


# --- models -----------------------------------------------------------------------------------


def test_a_model_gets_the_messages_and_answers_in_any_number_of_pieces() -> None:
    seen = []

    def model(messages: list[Message]) -> str:
        seen.append(messages)
        return "hi"

    assert answer(model, ASKED) == "hi"
    assert seen == [ASKED]
    assert answer(lambda messages: (piece for piece in ("a", "", "b")), ASKED) == "ab"
    assert answer(lambda messages: [], ASKED) == ""


async def _awaited(messages: list[Message]) -> str:
    return "hi"


async def _yielded(messages: list[Message]) -> Any:
    yield "hi"


@pytest.mark.parametrize("model", [_awaited, _yielded])
def test_a_model_that_has_to_be_awaited_is_refused(model: Any) -> None:
    with pytest.raises(ConfigurationError, match="the model is asynchronous"):
        answer(model, ASKED)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "returned None"),
        (5, "type int"),
        (b"hi", "type bytes"),
        ({"text": "hi"}, "type dict"),
        (["hi", None], "yielded None"),
    ],
)
def test_what_is_no_text_is_refused(given: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        answer(lambda messages: given, ASKED)


def test_what_the_model_raises_is_passed_on() -> None:
    def fails(messages: list[Message]) -> str:
        raise TimeoutError("too slow")

    with pytest.raises(TimeoutError, match="too slow"):
        answer(fails, ASKED)
