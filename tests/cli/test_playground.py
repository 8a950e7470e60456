"""`vecstore playground` as a program: what it prints, whom it lets in, how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from vecstore.cli import playground
from vecstore.playground.server import PlaygroundServer

ROOT = Path(__file__).resolve().parent.parent.parent


def as_at_a_terminal() -> None:
    # Whoever runs the tests in the background has Ctrl-C ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "vecstore.cli", "playground", "--no-browser", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=as_at_a_terminal,
    )


def test_it_serves_until_ctrl_c() -> None:
    with started() as command:
        assert command.stdout is not None
        line = command.stdout.readline()
        (address,) = re.findall(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", line)
        assert command.stdout.readline() == "Ctrl-C ends it.\n"
        with urllib.request.urlopen(address, timeout=60) as page:
            assert b"vecstore playground" in page.read()
        bare = address[: address.index("/", 8) + 1]
        with pytest.raises(urllib.error.HTTPError, match="403") as refused:
            urllib.request.urlopen(bare, timeout=60)
        refused.value.close()
        command.send_signal(signal.SIGINT)
        out, err = command.communicate(timeout=60)
    assert (command.returncode, out, err) == (0, "", "")
    port = int(bare.rpartition(":")[2].rstrip("/"))
    with socket.socket() as again:  # nobody listens there any more
        assert again.connect_ex(("127.0.0.1", port)) != 0


def test_the_address_in_json() -> None:
    with started("--json") as command:
        assert command.stdout is not None
        address = json.loads(command.stdout.readline())["address"]
        with urllib.request.urlopen(address + "playground.js", timeout=60) as script:
            assert script.read()
        command.send_signal(signal.SIGINT)
        assert command.communicate(timeout=60) == ("", "")
    assert command.returncode == 0


def test_a_port_that_is_taken(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        outcome = run("playground", "--no-browser", "--port", port)
        told = run("playground", "--no-browser", "--port", port, "--json")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"port {port} cannot be used: Address already in use" in outcome.err
    assert "hint: leave --port away" in outcome.err
    assert told.json["error"]["hint"].startswith("leave --port away")
    assert run("playground", "--port", "65536").code == 2


@pytest.mark.parametrize(("opened", "says"), [(True, False), (False, True)])
def test_a_browser_is_opened_or_the_address_has_to_do(
    run: Run, monkeypatch: pytest.MonkeyPatch, opened: bool, says: bool
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(playground, "_opened", lambda address: asked.append(address) or opened)
    monkeypatch.setattr(PlaygroundServer, "serve_forever", lambda self: None)
    outcome = run("playground")
    assert (outcome.code, outcome.err) == (0, "")
    assert asked[0] in outcome.out
    assert ("There is no browser" in outcome.out) is says
    asked.clear()
    run("playground", "--no-browser")
    assert asked == []


def test_a_browser_inside_the_terminal_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("w3m"))
    assert playground._opened("http://127.0.0.1:1/x/") is False

    def none() -> None:
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "get", none)
    assert playground._opened("http://127.0.0.1:1/x/") is False


def test_help_has_an_example(run: Run) -> None:
    shown = run("playground", "--help").out
    assert "vecstore playground --port 8400" in shown.partition("Examples")[2]
