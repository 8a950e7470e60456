"""The benchmarks: their harness on made-up calls, and each of them on the smallest data."""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import in_memory, others, page, results
from benchmarks.__main__ import BENCHMARKS, CLOSER_LOOKS
from benchmarks.data import random_data
from benchmarks.harness import Floor, Prepared, Row, Run, Table, sampled
from benchmarks.language import template
from benchmarks.others import Faiss, Peer, filled, missing
from benchmarks.overhead import SAME, Qdrant, overhead
from vecstore import parse

ROOT = Path(__file__).resolve().parent.parent


class _Absent(Peer):
    name, package, modules = "absent", "no-such-package", ("no_such_module_at_all",)


class _Broken(Peer):
    name, package, modules = "broken", "broken", ("json",)

    def __init__(self, data: Any, folder: Path) -> None:
        raise ValueError("an engine of another version")


def test_calls_take_turns() -> None:
    order: list[str] = []
    calls = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    samples = sampled(calls, least=3, most=3, seconds=0, failed={})
    assert order[-6:] == ["a", "b"] * 3
    assert [len(values) for values in samples.values()] == [3, 3]


def test_what_a_call_needs_is_made_anew_and_not_shared() -> None:
    made, used = [], []

    def prepare() -> int:
        made.append(len(made))
        return made[-1]

    sampled({"a": Prepared(prepare, used.append)}, least=3, most=3, seconds=0, failed={})
    assert used == made
    assert len(made) == len({*made}) >= 3


def test_a_peer_that_raises_is_named_and_our_own_error_is_not_hidden() -> None:
    run = Run(tiny=True, quiet=True)

    def broken() -> None:
        raise ValueError("no such operator")

    table = run.measure("parse", "x", {"vecstore": lambda: None, "peer": broken})
    assert table.skipped == {"peer": "ValueError: no such operator"}
    assert [row.name for row in table.rows] == ["vecstore"]
    with pytest.raises(ValueError, match="no such operator"):
        run.measure("parse", "x", {"vecstore": broken})


def test_ratios_are_of_medians_and_their_spread_is_that_of_the_rounds() -> None:
    rows = (Row("vecstore", (1.0, 2.0, 3.0)), Row("peer", (2.0, 8.0, 9.0)))
    table = Table("search", "x", "s", ("vecstore",), rows)
    assert table.ratio(rows[1]) == (4.0, 2.0, 4.0)
    assert table.ratio(rows[0]) == (1.0, 1.0, 1.0)


def test_floors_say_whether_they_are_met_and_pass_over_who_is_absent() -> None:
    run = Run(tiny=True, quiet=True)
    floors = [
        Floor("at most", "vecstore", "peer", 0.5),
        Floor("at least", "peer", "vecstore", 5.0, at_least=True),
        Floor("by itself", "vecstore", None, 0.6, parts=2),
        Floor("absent", "vecstore", "nobody", 1.0),
    ]
    samples = {"vecstore": [1.0], "peer": [4.0]}
    verdicts = run.keep("search", "x", "s", samples, floors=floors).verdicts
    assert [(one.text, one.value, one.met) for one in verdicts] == [
        ("at most", 0.25, True),
        ("at least", 4.0, False),
        ("by itself", 0.5, True),
    ]


def _run(ours: float, theirs: float, title: str = "x") -> Run:
    run = Run(tiny=True, quiet=True)
    samples = {"vecstore": [ours] * 5, "peer": [theirs] * 5}
    run.keep("search", title, "s", samples, x=(10.0, "documents"))
    return run


def test_a_run_is_read_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    run = _run(1.0, 2.0)
    run.keep("memory", "y", "bytes", {"vecstore": [1.0]}, floors=[Floor("f", "vecstore", None, 2)])
    file = tmp_path / "run.json"
    file.write_text(json.dumps(results.as_json(run, results.machine())), "utf-8")
    assert results.read(file) == run.tables


@pytest.mark.parametrize(
    ("ours", "theirs", "regression"),
    [
        (1.0, 2.0, False),
        (1.5, 2.0, True),
        (3.0, 6.0, False),  # all is slower: another moment, not our change
        (1.0, 1.0, True),  # all but ours is faster
    ],
)
def test_a_regression_is_ours_to_theirs(ours: float, theirs: float, regression: bool) -> None:
    (change,) = results.changes(_run(1.0, 2.0).tables, _run(ours, theirs).tables)
    assert change.is_regression is regression
    assert results.changes(_run(1.0, 2.0, "another").tables, _run(ours, theirs).tables) == []


def test_the_command_compares_with_an_earlier_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name, ours in (("old", 1.0), ("new", 2.0)):
        files.append(tmp_path / f"{name}.json")
        contents = results.as_json(_run(ours, 2.0), results.machine())
        files[-1].write_text(json.dumps(contents), "utf-8")
    old, new = map(str, files)
    assert command.main(["--from", new, "--compare", old]) == 1
    assert "SLOWER  2.00x to the others  vecstore: search: x" in capsys.readouterr().out
    assert command.main(["--from", old, "--compare", old]) == 0
    assert command.main(["--from", str(tmp_path / "missing.json")]) == 2
    files[0].write_text("[]", "utf-8")
    assert command.main(["--compare", old]) == 2
    assert command.main(["nonsense"]) == 2
    assert "'nonsense'; there are: parse," in capsys.readouterr().out


def test_a_missing_peer_is_skipped_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert missing(_Absent.modules, _Absent.package) == "not installed: pip install no-such-package"
    skipped: dict[str, str] = {}
    data = random_data(20, 4)
    with filled(data, (_Absent, _Broken), skipped) as ready:
        assert [*ready] == ["vecstore"]
        assert len(ready["vecstore"].search(data.queries[0], below=3)) == 3
    assert skipped == {
        "absent": "not installed: pip install no-such-package",
        "broken": "ValueError: an engine of another version",
    }
    run = Run(tiny=True)
    for title in ("x", "y"):
        run.keep("search", title, "s", {"vecstore": [1.0]}, skipped=skipped)
    shown = capsys.readouterr().out
    assert shown.count("skipped: absent (not installed: pip install no-such-package)") == 1


@pytest.mark.wide
def test_benchmarks_in_memory_run_without_any_peer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Tables of every kind, put into a page."""
    monkeypatch.setattr(in_memory, "PEERS", (_Absent,))
    monkeypatch.setattr(others, "PEERS", (_Absent,))
    monkeypatch.setattr(in_memory, "_data", lambda run: [(random_data(60, 8), True)])
    run = Run(tiny=True, quiet=True)
    in_memory.search(run)
    in_memory.ingest(run)
    in_memory.persistence(run)
    found = {table.benchmark for table in run.tables}
    assert found == {"search", "filtered", "batch", "ingest", "persistence"}
    assert next(table.x for table in run.tables if table.x) == (
        100,
        "% of the documents that the filter keeps",
    )
    shutil.copy(ROOT / "docs" / "benchmarks" / "index.md", tmp_path)
    target = tmp_path / "index.md"
    page.publish(target, run.tables, results.machine(), {})
    page.publish(target, run.tables, results.machine(), {})  # in the place of the first
    text = target.read_text("utf-8")
    assert text.count("### Search in memory") == text.count(page.BEGIN) == 1
    assert "absent: not installed: pip install no-such-package" in text
    target.write_text("no marks", "utf-8")
    with pytest.raises(ValueError, match="no place for figures"):
        page.publish(target, run.tables, results.machine(), {})


def test_peers_find_what_we_find() -> None:
    pytest.importorskip("faiss")
    data = random_data(200, 8)
    with filled(data, (Faiss,)) as ready:
        ours, theirs = ready["vecstore"], ready[Faiss.name]
        for query in data.queries[:5]:
            for below in (None, 50, 3):
                assert ours.search(query, below) == theirs.search(query, below)


def test_ranks_keep_a_share_of_the_rows() -> None:
    data = random_data(1_000, 4)
    assert sorted(data.ranks) == list(range(1_000))
    assert [data.kept(percent) for percent in (100, 10, 0.1, 0.01)] == [1_000, 100, 1, 1]
    assert np.allclose(np.linalg.norm(data.vectors, axis=1), 1)


@pytest.mark.parametrize("name", ["parse", "compile", "evaluate", "startup"])
def test_a_benchmark_runs(name: str) -> None:
    run = Run(tiny=True, quiet=True)
    BENCHMARKS[name](run)
    assert run.tables
    for table in run.tables:
        assert table.rows[0].samples
        # Peers may be absent, and what is ours may not.
        assert not [who for who in table.skipped if who.startswith("vecstore,")]
        assert not [why for why in table.skipped.values() if "not installed" not in why]


@pytest.mark.parametrize("module", CLOSER_LOOKS.values())
def test_a_closer_look_can_be_imported(module: str) -> None:
    assert callable(import_module(f"benchmarks.{module}").run)


def test_the_raw_client_is_asked_for_the_same() -> None:
    run = Run(tiny=True, quiet=True)
    overhead(run, [Qdrant])
    titles = " ".join(table.title for table in run.tables)
    for what in ("search,", "search, 10 % kept", "IN with 10 values", "get", "add", "delete"):
        assert what in titles
    assert all({"vecstore", SAME} <= {row.name for row in table.rows} for table in run.tables)


@pytest.mark.parametrize("comparisons", [6, 60])
def test_texts_hold_as_many_comparisons_as_they_say(comparisons: int) -> None:
    tree = parse(template("vecstore", comparisons) % 2020)
    assert sum(1 for node in tree.walk() if node.op.value not in ("and", "or")) == comparisons
