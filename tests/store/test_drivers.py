"""What stores share that call a database's client."""

from __future__ import annotations

import pytest

from vecstore.store.drivers import Secrets, has_passing_grpc_code, misfit, not_installed, refused

SECRET = "hunter2"


class Failed(Exception):
    """An error of a driver that shows what it was given in its repr alone."""

    def __init__(self, text: str, hidden: str = "") -> None:
        super().__init__(text)
        self.hidden = hidden

    def __repr__(self) -> str:
        return f"Failed({self.hidden!r})"


def test_a_secret_that_holds_another_one_leaves_nothing_of_itself() -> None:
    secrets = Secrets([SECRET, f"me:{SECRET}", None, ""])
    assert secrets.redacted(f"no user me:{SECRET}, {SECRET}") == "no user ***, ***"
    assert Secrets([]).redacted("as it was") == "as it was"


def test_a_secret_of_few_letters_leaves_words_whole() -> None:
    secrets = Secrets(["a", "pw!", "abc"])
    told = 'no table for a at me:a@host: password="a", pw!, abcd or abc'
    assert secrets.redacted(told) == (
        'no table for *** at me:***@host: password="***", ***, abcd or ***'
    )


@pytest.mark.parametrize("error", [Failed(f"wrong: {SECRET}"), Failed("wrong", SECRET)])
def test_an_error_that_tells_a_secret_is_no_cause(error: Exception) -> None:
    assert Secrets([SECRET]).safe_cause(error) is None
    assert Secrets(["other"]).safe_cause(error) is error


def test_a_refusal_tells_what_the_driver_said() -> None:
    secrets = Secrets([SECRET])
    error = refused(
        "Engine", "add", Failed(f" no {SECRET}\n"), secrets, retryable=True, hint="; go"
    )
    assert str(error) == "Engine refused add: no ***; go"
    assert (error.operation, error.retryable) == ("add", True)
    told = refused("Engine", "get", Failed("text"), secrets, retryable=False, told=f"its {SECRET}")
    assert str(told) == "Engine refused get: its ***"
    assert str(refused("Engine", "get", Failed(""), secrets, retryable=False)).endswith(": Failed")


def test_codes_of_grpc() -> None:
    import grpc

    class Answered(grpc.RpcError):
        def __init__(self, code: grpc.StatusCode) -> None:
            self.code = lambda: code

    assert has_passing_grpc_code(Answered(grpc.StatusCode.UNAVAILABLE))
    assert not has_passing_grpc_code(Answered(grpc.StatusCode.NOT_FOUND))
    assert not has_passing_grpc_code(ValueError("no code"))


def test_what_is_missing_and_what_does_not_fit() -> None:
    missing = not_installed("a store needs more", "qdrant", ImportError("none", name="client"))
    assert missing.name == "client"
    assert "a store needs more: pip install" in str(missing)
    fault = misfit("the table t", ["it has no column a", "it has no column b"], "; add them")
    assert str(fault) == (
        "the table t does not fit this store: it has no column a; it has no column b; add them"
    )
