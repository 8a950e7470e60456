"""Reading, compiling and evaluating filters, beside other libraries that read such texts."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.harness import Call, Floor, Prepared, Run
from benchmarks.others import missing
from vecstore import Expression, Op, get_dialect, parse

_COMPARISONS = (1, 6, 60)
SEEN = "vecstore, a text seen before"
BARE = "a bare `is` chain"
LARK = "lark LALR, inline transformer"
SQLGLOT = "sqlglot"
LANGCHAIN = "langchain query constructor"
LUQUM = "luqum"

# Five comparisons of one meaning in four languages; the sixth makes each text a new one.
_PARTS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "vecstore": (
        (
            "{n} >= %d",
            "country{n} == 'BG'",
            "place{n} IN ['a', 'b']",
            "score{n} < 0.5",
            "(tag{n} == 'red' OR size{n} != 3)",
        ),
        " AND ",
        "{}",
    ),
    SQLGLOT: (
        (
            "{n} >= %d",
            "country{n} = 'BG'",
            "place{n} IN ('a', 'b')",
            "score{n} < 0.5",
            "(tag{n} = 'red' OR size{n} <> 3)",
        ),
        " AND ",
        "{}",
    ),
    LANGCHAIN: (
        (
            'gte("{n}", %d)',
            'eq("country{n}", "BG")',
            'in("place{n}", ["a", "b"])',
            'lt("score{n}", 0.5)',
            'or(eq("tag{n}", "red"), ne("size{n}", 3))',
        ),
        ", ",
        "and({})",
    ),
    LUQUM: (
        (
            "{n}:[%d TO *]",
            'country{n}:"BG"',
            'place{n}:("a" OR "b")',
            "score{n}:<0.5",
            '(tag{n}:"red" OR -size{n}:3)',
        ),
        " AND ",
        "{}",
    ),
}
_WIDTH = 6  # comparisons in one round of the parts: the last part holds two


def template(language: str, comparisons: int) -> str:
    """A text with ``%d`` where a number makes it another one."""
    parts, between, around = _PARTS[language]
    if comparisons == 1:
        return parts[0].replace("{n}", "year")
    written = []
    for turn in range(comparisons // _WIDTH):
        for part in parts:
            text = part.replace("{n}", f"year{turn}" if part is parts[0] else str(turn))
            written.append(text if turn == 0 else text.replace("%d", "2020"))
    return around.replace("{}", between.join(written))


def _fresh(text: str, read: Callable[[str], Any]) -> Prepared:
    """Reads a text that nobody has seen before; making it is not timed."""
    numbers = itertools.count(1_000)
    return Prepared(lambda: text % next(numbers), read, most=5_000)


def _lark_readers() -> dict[str, Callable[[str], Any]]:
    """Our own grammar read by lark, without and with actions."""
    from lark import Lark, Transformer

    class Tuples(Transformer):  # type: ignore[misc,type-arg]
        """The least that a transformer can do: a tuple for each rule of the grammar."""

    for rule in (
        "start disjunction conjunction complement group comparison member not_member null not_null "
        "key square round scalar"
    ).split():
        setattr(Tuples, rule, lambda self, children, rule=rule: (rule, *children))

    def made(**more: Any) -> Any:
        return Lark.open_from_package(
            "vecstore.grammar", "filter.lark", parser="lalr", maybe_placeholders=False, **more
        )

    return {"lark LALR, bare": made().parse, LARK: made(transformer=Tuples()).parse}


def _sqlglot_reader() -> dict[str, Callable[[str], Any]]:
    import sqlglot

    return {SQLGLOT: sqlglot.condition}


def _langchain_reader() -> dict[str, Callable[[str], Any]]:
    from langchain_classic.chains.query_constructor.parser import get_parser

    return {LANGCHAIN: get_parser().parse}


def _luqum_reader() -> dict[str, Callable[[str], Any]]:
    from luqum.parser import parser

    return {LUQUM: parser.parse}


_READERS: Mapping[str, tuple[tuple[str, ...], str, Callable[[], dict[str, Callable[[str], Any]]]]]
_READERS = {
    LARK: (("lark",), "lark", _lark_readers),
    SQLGLOT: (("sqlglot",), "sqlglot[c]", _sqlglot_reader),
    LANGCHAIN: (("langchain_classic", "lark"), "langchain-classic lark", _langchain_reader),
    LUQUM: (("luqum",), "luqum", _luqum_reader),
}


def _readers(skipped: dict[str, str]) -> dict[str, Callable[[str], Any]]:
    readers: dict[str, Callable[[str], Any]] = {}
    for name, (modules, package, make) in _READERS.items():
        reason = missing(modules, package)
        if reason is None:
            try:
                readers |= make()
                continue
            except Exception as error:
                reason = f"{type(error).__name__}: {str(error)[:100]}"
        skipped[name] = reason
    return readers


def _sqlglot_note() -> dict[str, str]:
    try:
        from sqlglot import tokenizer_core  # type: ignore[attr-defined]
    except ImportError:
        return {}
    compiled = not str(getattr(tokenizer_core, "__file__", "")).endswith(".py")
    return {SQLGLOT: "compiled" if compiled else "plain Python"}


def parsing(run: Run) -> None:
    """A text that is new, in as many languages as there are readers."""
    skipped: dict[str, str] = {}
    readers = _readers(skipped)
    for comparisons in _COMPARISONS:
        ours = template("vecstore", comparisons)
        seen = ours % 7
        python = seen.replace(" AND ", " and ").replace(" OR ", " or ").replace(" IN ", " in ")
        calls: dict[str, Call] = {
            "vecstore": _fresh(ours, parse),
            SEEN: lambda seen=seen: parse(seen),
            "ast.parse, C": lambda python=python: ast.parse(python, mode="eval"),
        }
        for name, read in readers.items():
            text = template(name if name in _PARTS else "vecstore", comparisons)
            calls[name] = _fresh(text, read)
        floors = []
        if comparisons == 6:
            floors = [
                Floor("parse, lark with inline transformer", "vecstore", LARK, 0.25),
                Floor("parse, sqlglot", "vecstore", SQLGLOT, 0.5),
                Floor("parse, langchain", "vecstore", LANGCHAIN, 0.15),
                Floor("parse, a text seen before", SEEN, None, 0.5e-6),
            ]
        run.measure(
            "parse",
            f"comparisons: {comparisons}",
            calls,
            ours=("vecstore", SEEN),
            floors=floors,
            skipped=skipped,
            notes={"ast.parse, C": "the same as a Python expression", **_sqlglot_note()},
            x=(comparisons, "comparisons"),
        )


_SYMBOLS = {
    Op.EQ: "=", Op.NE: "<>", Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<=",
}  # fmt: skip


def bare_chain(tree: Expression, params: list[Any]) -> str:
    """SQL that looks like ours, without any check: about the least that a walk can cost."""
    op = tree.op
    if op is Op.AND or op is Op.OR:
        between = " AND " if op is Op.AND else " OR "
        return "(" + between.join([bare_chain(one, params) for one in tree.operands]) + ")"
    key, value = tree.operands
    params.append(key.path)
    if op is Op.IN:
        params.append(list(value.value))
        return "metadata #>> %s = ANY(%s)"
    params.append(value.value)
    return f"metadata #>> %s {_SYMBOLS[op]} %s"


def _translators(comparisons: int, skipped: dict[str, str]) -> dict[str, Call]:
    """Other libraries, from a tree of their own to the language of a database."""
    calls: dict[str, Call] = {}

    def add(names: str, modules: tuple[str, ...], package: str, make: Callable[[], Any]) -> None:
        reason = missing(modules, package)
        if reason is None:
            try:
                calls.update(make())
                return
            except Exception as error:
                reason = f"{type(error).__name__}: {str(error)[:100]}"
        skipped[names] = reason

    def langchain() -> dict[str, Call]:
        from langchain_classic.chains.query_constructor.parser import get_parser
        from langchain_community.query_constructors.pgvector import PGVectorTranslator
        from langchain_community.query_constructors.pinecone import PineconeTranslator

        # gt for gte, which the translator for pgvector does not take.
        text = (template(LANGCHAIN, comparisons) % 2020).replace("gte(", "gt(")
        tree = get_parser().parse(text)
        return {
            f"langchain {name}": lambda translator=translator: tree.accept(translator)
            for name, translator in (
                ("pgvector translator", PGVectorTranslator()),
                ("pinecone translator", PineconeTranslator()),
            )
        }

    def sqlglot() -> dict[str, Call]:
        from sqlglot import condition

        tree = condition(template(SQLGLOT, comparisons) % 2020)
        return {"sqlglot to PostgreSQL": lambda: tree.sql(dialect="postgres")}

    def luqum() -> dict[str, Call]:
        from luqum.elasticsearch import ElasticsearchQueryBuilder
        from luqum.parser import parser

        tree = parser.parse(template(LUQUM, comparisons) % 2020)
        build = ElasticsearchQueryBuilder()
        return {"luqum to Elasticsearch": lambda: build(tree)}

    add(
        "langchain translators",
        ("langchain_classic", "langchain_community", "lark"),
        "langchain-classic langchain-community lark",
        langchain,
    )
    add("sqlglot to PostgreSQL", ("sqlglot",), "sqlglot[c]", sqlglot)
    add("luqum to Elasticsearch", ("luqum",), "luqum", luqum)
    return calls


# Weaviate compiles only what a collection declares.
_OURS: dict[str, dict[str, Any]] = {
    "pgvector": {},
    "qdrant": {},
    "milvus": {"tags": "vecstore_tags"},
    "pinecone": {},
}


def compiling(run: Run) -> None:
    """From a tree to the query of a database; the tree is a new one each time."""
    for comparisons in _COMPARISONS:
        text = template("vecstore", comparisons)
        numbers = itertools.count(1_000)
        skipped: dict[str, str] = {}

        def fresh(
            use: Callable[[Expression], Any], text: str = text, numbers: Any = numbers
        ) -> Prepared:
            return Prepared(lambda: parse(text % next(numbers)), use, most=500)

        calls: dict[str, Call] = {
            f"vecstore to {name}": fresh(get_dialect(name)(**options).compile)
            for name, options in _OURS.items()
        }
        seen = parse(text % 7)
        again = "vecstore to pgvector, a tree seen before"
        kept = get_dialect("pgvector")()
        calls[again] = lambda seen=seen, kept=kept: kept.compile(seen)
        calls[BARE] = fresh(lambda tree: bare_chain(tree, []))
        calls |= _translators(comparisons, skipped)
        sql, pinecone = "vecstore to pgvector", "vecstore to pinecone"
        floors = []
        if comparisons == 60:
            floors = [
                Floor("compile to SQL, a bare chain", sql, BARE, 1.5),
                Floor("compile to a dict, a bare chain", pinecone, BARE, 1.5),
                Floor("compile to SQL, langchain", sql, "langchain pgvector translator", 0.25),
                Floor(
                    "compile to a dict, langchain", pinecone, "langchain pinecone translator", 0.25
                ),
                Floor("compile to SQL, sqlglot", sql, "sqlglot to PostgreSQL", 0.05),
            ]
        run.measure(
            "compile",
            f"comparisons: {comparisons}",
            calls,
            ours=(*[f"vecstore to {name}" for name in _OURS], again),
            floors=floors,
            skipped=skipped,
            notes={BARE: "no checks, not exact"},
            x=(comparisons, "comparisons"),
        )


def evaluating(run: Run) -> None:
    """One document held against a filter of six comparisons."""
    tree = parse(
        "field0 >= 0 AND NOT (tag0 == 'red' OR place0 IN ['a', 'b']) AND "
        "field1 >= 0 AND NOT (tag1 == 'red' OR place1 IN ['a', 'b'])"
    )
    document = {"field0": 5, "tag0": "blue", "place0": "c", "field1": 5, "tag1": "blue"}
    selected = tree.matcher()
    assert selected(document)
    assert _by_hand(document)
    matches = "vecstore, expression.matches"
    run.measure(
        "evaluate",
        "one document, comparisons: 6",
        {
            "vecstore": lambda: selected(document),
            matches: lambda: tree.matches(document),
            "Python written by hand": lambda: _by_hand(document),
        },
        ours=("vecstore", matches),
        notes={"vecstore": "a matcher kept"},
    )


def _by_hand(metadata: dict[str, Any]) -> bool:
    get = metadata.get
    return (
        get("field0", -1) >= 0
        and not (get("tag0") == "red" or get("place0") in ("a", "b"))
        and get("field1", -1) >= 0
        and not (get("tag1") == "red" or get("place1") in ("a", "b"))
    )
