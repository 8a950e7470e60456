"""The interpreter of Weaviate's rules held to Weaviate, and the server of our build to its promises."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engines.rows import EngineRefused
from tests.engines.weaviate import Property, WeaviateRows, WeaviateServerRows
from tests.engines.weaviate_server import (
    CannotBuild,
    PortTaken,
    WeaviateServer,
    build_server,
    built_server,
    running_weaviate,
    started,
    version_of,
)

PROPERTIES = [
    Property("title", "text"),
    Property("lower", "text", tokenization="lowercase"),
    Property("spaced", "text", tokenization="whitespace"),
    Property("whole", "text", tokenization="field"),
    Property("tags", "text[]", tokenization="field"),
    Property("words", "text[]"),
    Property("year", "int"),
    Property("years", "int[]"),
    Property("score", "number"),
    Property("scores", "number[]"),
    Property("flag", "boolean"),
    Property("flags", "boolean[]"),
    Property("day", "date"),
]
TEXTS = [
    *("a", "A", "b", "the", "hello world", "Hello, World!", "a-b", " a", "a ", "  ", "", "é", "z", "~"),
    *('["k"]="a"', '["k"]', "ﬀ", "中文", "😀", "\uffff", "\u3000a", "a\x00b", "\x1fa", "a\nb", "*", "a?"),
    "x" * 300,
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "text": TEXTS,
    "int": [0, 1, -1, 7, 2**53 - 1, -(2**53), 2**31, 10**15],
    "number": [0.0, -0.0, 1.0, -1.5, 0.1, 1e300, -1e-300, 5e-324, 2.0**53],
    "boolean": [True, False],
    "date": ["2024-01-01T00:00:00Z", "2024-01-01T01:00:00+01:00", "1969-12-31T23:59:59.5Z"],
}
ORDERINGS = ("GreaterThan", "GreaterThanEqual", "LessThan", "LessThanEqual")


def document(draw: random.Random) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for prop in PROPERTIES:
        values = VALUES[prop.data_type.removesuffix("[]")]
        if draw.random() < 0.3:
            continue
        if prop.data_type.endswith("[]"):
            held[prop.name] = [draw.choice(values) for _ in range(draw.randrange(4))]
        else:
            held[prop.name] = draw.choice(values)
    return held


def tree(draw: random.Random, depth: int) -> dict[str, Any]:
    if depth and draw.random() < 0.5:
        operator = draw.choice(("And", "Or", "Not"))
        count = 1 if operator == "Not" else draw.randrange(1, 4)
        return {"operator": operator, "operands": [tree(draw, depth - 1) for _ in range(count)]}
    prop = draw.choice(PROPERTIES)
    base = prop.data_type.removesuffix("[]")
    operators = ["Equal", "NotEqual", "IsNull"]
    operators += [] if base == "boolean" else ORDERINGS
    operators += ["ContainsAny", "ContainsAll", "ContainsNone"] if base != "date" else []
    operator = draw.choice(operators)
    if operator == "IsNull":
        return {"path": [prop.name], "operator": operator, "valueBoolean": draw.random() < 0.5}
    field, values = f"value{base.capitalize()}", VALUES[base]
    if operator.startswith("Contains"):
        several = [draw.choice(values) for _ in range(draw.randrange(1, 4))]
        return {"path": [prop.name], "operator": operator, f"{field}Array": several}
    return {"path": [prop.name], "operator": operator, field: draw.choice(values)}


@pytest.mark.servers
def test_what_the_rules_answer_the_server_answers(weaviate_address: Any) -> None:
    """Random trees of every operator on every type; the rules may refuse more, and answer the same."""
    draw = random.Random(2026)
    differences: list[Any] = []
    compared = 0
    with (
        WeaviateRows(PROPERTIES, index_null_state=True, contains_on_scalars=True) as rules,
        WeaviateServerRows(
            weaviate_address.url,
            PROPERTIES,
            index_null_state=True,
            api_key=weaviate_address.api_key,
        ) as server,
    ):
        for _ in range(3):
            rows = {f"d{number}": document(draw) for number in range(60)}
            rules.load(rows)
            server.load(rows)
            for _ in range(500):
                where = tree(draw, draw.randrange(3))
                try:
                    expected = rules.select(where)
                except EngineRefused:
                    continue
                try:
                    found = server.select(where)
                except EngineRefused as error:
                    differences.append((where, "refused", str(error)[-200:]))
                    continue
                compared += 1
                if found != expected:
                    extra, lacking = found - expected, expected - found
                    differences.append(
                        (
                            where,
                            [rows[id] for id in [*extra][:1]],
                            [rows[id] for id in [*lacking][:1]],
                        )
                    )
    assert not differences, (len(differences), differences[:3])
    assert compared > 1_000


@pytest.mark.servers
def test_a_server_of_our_build_is_killed_and_started_again_with_its_data(
    weaviate_address: Any,
) -> None:
    with running_weaviate() as server:
        before = version_of(server.address)
        properties = [Property("year", "int")]
        address = server.address
        rows = WeaviateServerRows(address.url, properties, api_key=address.api_key)
        rows.load({"a": {"year": 1}, "b": {"year": 2}})
        server.kill()
        server.start()
        where = {"path": ["year"], "operator": "Equal", "valueInt": 2}
        assert rows.select(where) == {"b"}
        rows.close()
        assert version_of(address) == before


def test_without_go_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECSTORE_SERVERS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert built_server() is None
    with pytest.raises(CannotBuild, match="no Go"):
        build_server()


def test_a_server_that_does_not_start_tells_its_log(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho no room left\nexit 1\n")
    program.chmod(0o700)
    server = WeaviateServer(program, tmp_path / "data")
    with pytest.raises(RuntimeError, match="no room left"):
        server.start()


def test_a_server_whose_port_is_taken_is_started_on_others(tmp_path: Path) -> None:
    program = tmp_path / "program"
    asked = tmp_path / "asked"
    program.write_text(
        f'#!/bin/sh\necho "$GRPC_PORT" >> {asked}\necho bind: address already in use\nexit 1\n'
    )
    program.chmod(0o700)
    with pytest.raises(PortTaken, match="already in use"):
        started(WeaviateServer(program, tmp_path / "data"))
    ports = asked.read_text().split()
    assert len(set(ports)) == len(ports) == 5
    assert all(10_000 < int(port) < 30_000 for port in ports)


def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    # What reads from the pipe comes to its end when nobody has the other one open any more.
    script = (
        "import subprocess, sys\n"
        "from tests.engines import weaviate_server\n"
        "subprocess.Popen([sys.executable, weaviate_server.__file__, '--run', 'sleep', '600'],"
        f" stdin=subprocess.PIPE, pass_fds=[{writer}], start_new_session=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", script], pass_fds=[writer], env=environment, check=True)
    os.close(writer)
    with open(reader, "rb") as pipe:
        assert pipe.read() == b""
