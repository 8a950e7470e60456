"""The command as a program: started anew, with pipes, signals and missing packages."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup

import vecstore
from tests.cli.conftest import Run
from vecstore.cli.app import Commands

COMMAND = [sys.executable, "-m", "vecstore.cli"]
ROOT = Path(__file__).resolve().parent.parent.parent


def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "TERM": "xterm"}
    environment.pop("PYTHONUNBUFFERED", None)  # under which everything is flushed at once
    return subprocess.Popen([*COMMAND, *arguments], env=environment, **{**streams, **options})


def test_the_console_script_is_this_command() -> None:
    script = Path(sys.executable).with_name("vecstore")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"vecstore {vecstore.__version__}\n"


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_the_command_says_what_to_install(missing: str) -> None:
    code = (
        "import sys; sys.argv = ['vecstore', '--version']; "
        f"sys.modules[{missing!r}] = None; from vecstore.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        f"vecstore: the command line needs {missing}, which is not installed.\n"
        "hint: pip install 'typer>=0.26,<0.29' 'rich>=13.8'  # the extra cli\n"
    )


def test_a_filter_command_loads_no_numpy_and_no_client() -> None:
    code = (
        "import sys; sys.argv = ['vecstore', 'compile', '-d', 'pgvector', 'a == 1']\n"
        "from vecstore.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "loaded = {'numpy', 'psycopg', 'qdrant_client', 'pymilvus', 'wordllama'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)


def test_an_answer_in_plain_text_loads_nothing_to_draw_with_and_no_other_command() -> None:
    code = (
        "import sys; sys.argv = ['vecstore', *{!r}]\n"
        "from vecstore.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "drawing = [name for name in sys.modules if name.startswith('rich.')]\n"
        "commands = [name for name in sys.modules if name.startswith('vecstore.cli.')]\n"
        "needless = ['vecstore.schema', 'vecstore.store', 'vecstore.document']\n"
        "assert not [*filter(sys.modules.get, needless)], sys.modules\n"
        "assert not set(drawing) - {{'rich._extension'}}, drawing\n"
        "known = {{'app', 'terminal', 'overview', 'settings', 'sources', 'filters'}}\n"
        "assert {{name.rpartition('.')[2] for name in commands}} <= known, commands"
    )
    for arguments in (["--help"], ["fmt", "a == 1"], ["compile", "-d", "pgvector", "a == 1"]):
        done = subprocess.run(
            [sys.executable, "-c", code.format(arguments)],
            cwd=ROOT, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert "compile" not in done.stdout


@pytest.mark.parametrize("width", [60, 80, 133])
def test_the_overview_is_what_typer_would_draw(
    run: Run, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    ours = run("--help").out
    monkeypatch.setattr(Commands, "format_help", TyperGroup.format_help)
    assert ours == run("--help").out


def test_the_overview_has_colours_where_they_are_seen(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run("--help").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = run("--help", color=True).out
    assert "\x1b[1;36mcompile" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("--help", color=True).out == plain


def test_the_overview_is_drawn_with_what_the_output_can_encode() -> None:
    done = subprocess.run(
        [*COMMAND, "--help"],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        check=True,
    )
    assert b"+- One filter ---" in done.stdout
    assert b"\\u" not in done.stdout


def test_a_slip_in_the_name_of_a_command_is_told_the_nearest(run: Run) -> None:
    assert "Did you mean 'compile'" in run("complie").err


def test_help_lists_every_command_and_each_has_an_example(run: Run) -> None:
    outcome = run("--help")
    assert outcome.code == 0
    for name in (
        "parse", "fmt", "check", "compile", "explain", "dialects", "grep", "index", "search", "demo",
        "stats",
    ):  # fmt: skip
        assert f" {name} " in outcome.out
        shown = run(name, "--help").out
        assert f"vecstore {name}" in shown.partition("Examples")[2]
        assert "--json" in shown
    assert "--install-completion" in outcome.out


def test_bench_hands_its_arguments_on(run: Run) -> None:
    done = subprocess.run([*COMMAND, "bench", "--quick", "x"], cwd=ROOT, capture_output=True)
    assert done.returncode == 2
    assert b"There is no benchmark 'x'; there are: parse," in done.stdout
    assert "vecstore bench --quick" in run("bench", "--help").out.partition("Examples")[2]


def test_bench_says_where_it_runs_when_the_package_is_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(vecstore, "__file__", str(tmp_path / "vecstore" / "__init__.py"))
    outcome = run("bench", "--quick")
    assert outcome.code == 2
    assert "make bench ARGS=--quick" in outcome.err


def test_a_wrong_command_line_is_code_2(run: Run) -> None:
    for arguments in ((), ("nonsense",), ("fmt", "--nonsense", "a == 1"), ("fmt", "a == 1", "b")):
        assert run(*arguments).code == 2
    assert "No such command" in run("nonsense").err


def test_completion_offers_dialects(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.run(
        COMMAND,
        cwd=ROOT,
        env={
            **os.environ,
            "_VECSTORE_COMPLETE": "complete_bash",
            "COMP_WORDS": "vecstore compile -d p",
            "COMP_CWORD": "3",
        },
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["pgvector", "pinecone"]


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_bytes(b'{"k": 1}\n' * 200_000)
    with start("grep", "k == 1", str(tmp_path / "docs.jsonl")) as grep:
        assert grep.stdout is not None
        assert grep.stderr is not None
        assert grep.stdout.readline() == b'{"k": 1}\n'
        grep.stdout.close()
        assert grep.stderr.read() == b""
    assert grep.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize(
    "arguments",
    [
        ("dialects",),
        pytest.param(("parse", "--json", "a == 1"), marks=pytest.mark.wide),
        pytest.param(("fmt", "a == 1"), marks=pytest.mark.wide),
    ],
)
def test_every_answer_without_a_reader_ends_alike(arguments: tuple[str, ...]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    with start(*arguments, stdout=theirs) as command:
        os.close(theirs)
        assert command.communicate()[1] == b""
    assert command.returncode == 128 + signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
@pytest.mark.parametrize(
    "arguments",
    [
        ("dialects",),
        pytest.param(("fmt", "a == 1"), marks=pytest.mark.wide),
        ("grep", "k == 1"),
    ],
)
def test_output_that_cannot_be_written_is_an_error(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full, start(*arguments, stdout=full) as command:
        _, err = command.communicate(b'{"k": 1}\n')
    assert command.returncode == 2
    assert err.startswith(b"error: ")
    assert err.endswith(b"No space left on device\n")


@pytest.mark.parametrize(
    ("filter", "code", "closing"),
    [
        ("a == 1", 0, ">&-"),
        ("a ==", 1, "2>&-"),
        pytest.param("a == 1", 0, "2>&-", marks=pytest.mark.wide),
        pytest.param("a ==", 1, ">&-", marks=pytest.mark.wide),
        pytest.param("a == 1", 0, ">&- 2>&-", marks=pytest.mark.wide),
        pytest.param("a ==", 1, ">&- 2>&-", marks=pytest.mark.wide),
    ],
)
def test_streams_may_be_closed(filter: str, code: int, closing: str) -> None:
    script = f'exec "$@" {closing}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *COMMAND, "check", filter], cwd=ROOT, capture_output=True
    )
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


def test_matches_of_an_endless_input_come_out_before_it_ends() -> None:
    # A terminal shows each line as soon as it is found.
    ours, theirs = pty.openpty()
    with start("grep", "k == 1", stdout=theirs) as grep:
        os.close(theirs)
        assert grep.stdin is not None
        grep.stdin.write(b'{"k": 1}\n')
        grep.stdin.flush()
        assert os.read(ours, 100) == b'{"k": 1}\r\n'
    assert grep.returncode == 0
    os.close(ours)


def test_ctrl_c_ends_without_a_traceback() -> None:
    def as_at_a_terminal() -> None:
        # Whoever runs the tests in the background has Ctrl-C ignored, and children inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with start("grep", "k == 1", preexec_fn=as_at_a_terminal) as grep:
        assert grep.stdin is not None
        assert grep.stderr is not None
        grep.stdin.write(b"no JSON\n")
        grep.stdin.flush()
        assert grep.stderr.readline()  # so it has begun to read
        grep.send_signal(signal.SIGINT)
        assert grep.stderr.read() == b""
    assert grep.returncode == 128 + signal.SIGINT


def test_output_that_cannot_be_encoded_is_escaped() -> None:
    done = subprocess.run(
        [*COMMAND, "fmt", "a == 'é'"],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a == '\\xe9'\n", b"")


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"text": "a"}\n' * 3, "utf-8")
    (tmp_path / "one.py").write_text("def embed(texts): return [[1.0] for _ in texts]\n", "utf-8")
    arguments = ["index", "docs.jsonl", "-e", "one:embed", "--force", "-o", "s.json"]
    with start(*arguments, cwd=tmp_path) as plain:
        out, err = plain.communicate()
    assert (plain.returncode, err) == (0, b"")
    assert out.startswith(b"3 documents")

    ours, theirs = pty.openpty()
    with start(*arguments, cwd=tmp_path, stderr=theirs) as shown:
        os.close(theirs)
        seen = b"".join(iter(lambda: _read(ours), b""))
    assert shown.returncode == 0
    os.close(ours)
    assert b"Embedding" in seen
    assert b"3/3" in seen


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other end was closed
        return b""


def test_the_embedder_leaves_logging_alone() -> None:
    code = (
        "import logging\n"
        "from vecstore.embedders.wordllama import WordLlamaEmbedder\n"
        "WordLlamaEmbedder().embed_query('bread')\n"
        "root = logging.getLogger()\n"
        "assert (root.handlers, root.level) == ([], logging.WARNING), (root.handlers, root.level)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_package_is_the_command_too() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "vecstore", "check", "a == 1"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert shown.stdout == "ok\n"
