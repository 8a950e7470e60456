"""``filter.lark`` -> ``vecstore/grammar/tables.py``: the grammar as tables that need no lark.

``make grammar`` writes the file. With ``--check`` nothing is written: the exit status says whether
the file is what would be written, and a test asks the same.

Lark reads the grammar and makes the LALR table. What comes out is numbered here, in an order that
depends on the grammar alone, so that the file changes only when the language does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lark import Lark
from lark.grammar import Rule
from lark.lexer import PatternStr
from lark.parsers.lalr_analysis import Shift

ROOT = Path(__file__).resolve().parent.parent
GRAMMAR = ROOT / "vecstore" / "grammar" / "filter.lark"
TABLES = ROOT / "vecstore" / "grammar" / "tables.py"

END = "$END"
STRANGER = "STRANGER"

# What the limits count: rules that nest; terminals that make a comparison or a test; and what ends
# a value of a list.
NESTING = ("complement", "group")
OPERATORS = ("COMPARISON", "IN", "NIN", "IS")
LISTS = ("square", "round")
VALUE = "scalar"

# Symbols that the parser asks for by name.
NAMED = (END, STRANGER, "NAME")

_HEAD = '''\
"""The grammar of ``filter.lark`` as tables. `make grammar` writes this file; do not edit it."""

from __future__ import annotations

# fmt: off
'''
_STATES = """
# A state is numbered by what has been taken when it is entered: below ENDED the end of the text,
# below OPENED a parenthesis or a NOT, below COMPARED the operator of a comparison or test, below
# LISTED the bracket of a list, below VALUED a literal."""
_RULES = """
# (nonterminal, how many symbols it is made of, what is done with their values); those below
# CLOSED close what an OPENED state has opened."""


class Reduction(NamedTuple):
    """A rule of the grammar, as the parser uses it."""

    target: str  # the nonterminal
    length: int  # how many symbols it is made of
    action: str  # what is made of their values: a name in meaning.py, or "" for nothing at all


class Terminals(NamedTuple):
    """The terminals of the grammar."""

    space: str
    patterns: dict[str, str]  # in the order in which they are tried
    keywords: dict[str, str]


Rows = dict[int, dict[str, tuple[Any, Any]]]


class Machine:
    """The LALR table with states numbered anew."""

    def __init__(self, lark: Lark) -> None:
        table = lark.parser.parser._parse_table
        (self.start,) = table.start_states.values()
        (self.final,) = table.end_states.values()
        self._rows = without_passes(table.states, self.final)
        classes = [{self.final}, *self._counted(lark.rules)]
        numbers = {state: number for number, state in enumerate(self._breadth_first())}
        order = sorted(
            numbers,
            key=lambda state: (
                next((i for i, one in enumerate(classes) if state in one), len(classes)),
                numbers[state],
            ),
        )
        self.numbers = {state: number for number, state in enumerate(order)}
        self.bounds = [sum(map(len, classes[: i + 1])) for i in range(len(classes))]
        actions = [action for state in order for action in self._rows[state].values()]
        used = {arg for kind, arg in actions if kind != Shift}
        rules = [rule for rule in lark.rules if rule in used]
        # Rules that close what is nested come first, in the order of the grammar all of them.
        rules.sort(key=lambda rule: rule.alias not in NESTING)
        self.closing = sum(rule.alias in NESTING for rule in rules)
        self.reductions = [reduction(rule) for rule in rules]
        self._rules = {rule: number for number, rule in enumerate(rules)}

    def rows(self) -> Iterator[dict[str, int]]:
        """For each state: symbol -> the state to go to, or ``~`` the number of a rule."""
        for state in self.numbers:
            yield {
                symbol: self.numbers[arg] if kind == Shift else ~self._rules[arg]
                for symbol, (kind, arg) in self._rows[state].items()
            }

    def _breadth_first(self) -> list[int]:
        order = [self.start]
        for state in order:
            for _, (kind, arg) in sorted(self._rows[state].items()):
                if kind == Shift and arg not in order:
                    order.append(arg)
        return order

    def _counted(self, rules: Iterable[Rule]) -> list[set[int]]:
        """States in which something has just been taken that limits count."""
        opened, listed, valued = set(), set(), set()
        for rule in rules:
            names = [symbol.name for symbol in rule.expansion]
            if rule.alias in NESTING:
                opened |= {s for s in self._after(names[0]) if names[1] in self._rows[s]}
            elif rule.origin.name in LISTS:
                listed |= {s for s in self._after(names[0]) if VALUE in self._rows[s]}
            elif rule.origin.name == VALUE:
                valued |= {
                    state
                    for state in self._after(names[-1])
                    if any(arg == rule for _, arg in self._rows[state].values())
                }
        compared = set().union(*(self._after(name) for name in OPERATORS))
        classes = [opened, compared, listed, valued]
        assert sum(map(len, classes)) == len(set().union(*classes))
        return classes

    def _after(self, terminal: str) -> set[int]:
        actions = (row[terminal] for row in self._rows.values() if terminal in row)
        return {arg for kind, arg in actions if kind == Shift}


def without_passes(table: Rows, final: int) -> Rows:
    """The table without reductions that do nothing, such as a conjunction of one negation.

    Where one would follow, the state before goes on at once as if it had been made. The end is
    taken like any other token, into the final state.
    """
    rows: Rows = {**table, final: {END: (Shift, final)}}
    for before, row in list(rows.items()):
        merged = dict(row)
        for symbol, (kind, state) in row.items():
            if kind == Shift and any(passes(action) for action in table[state].values()):
                number = len(rows)
                rows[number] = after_passes(before, state, {**table, final: rows[final]})
                merged[symbol] = (Shift, number)
        rows[before] = merged
    return rows


def after_passes(before: int, state: int, table: Rows) -> dict[str, tuple[Any, Any]]:
    """What a state does that was entered from another one, all reductions that pass made."""
    row: dict[str, tuple[Any, Any]] = {}
    waiting = [state]
    for one in waiting:
        for symbol, action in table[one].items():
            if passes(action):
                _, following = table[before][action[1].origin.name]
                if following not in waiting:
                    waiting.append(following)
            else:
                assert row.get(symbol, action) == action
                row[symbol] = action
    return row


def passes(action: tuple[Any, Any]) -> bool:
    """Whether it is a reduction that leaves a value as it is."""
    kind, rule = action
    return kind != Shift and len(rule.expansion) == 1 and not reduction(rule).action


def reduction(rule: Rule) -> Reduction:
    """What the parser does with a rule."""
    name, length = rule.origin.name, len(rule.expansion)
    assert length, "no rule of the grammar may be empty"
    if name.startswith("__"):  # lark's own, for (sign part)*: the parts in a list
        assert all(symbol.filter_out for symbol in rule.expansion[-2:-1])
        again = rule.expansion[0].name == name
        return Reduction(name, length, "more" if again else "first")
    if length == 1 and (rule.options.expand1 or name == "start"):
        return Reduction(name, length, "")
    if name == VALUE:
        return Reduction(name, length, rule.expansion[0].name.lower())
    return Reduction(name, length, rule.alias or name)


def terminals(lark: Lark, source: str) -> Terminals:
    """The regular expressions of terminals, and the words that are keywords.

    A terminal that is a fixed string of letters is a keyword: it stands wherever a name would that
    spells it, in any case.
    """
    keywords: dict[str, str] = {}
    patterns: dict[str, str] = {}
    signs: dict[str, str] = {}
    (space,) = [one.pattern.value for one in lark.terminals if one.name in lark.ignore_tokens]
    for terminal in lark.terminals:
        if terminal.name in lark.ignore_tokens:
            continue
        if type(terminal.pattern) is not PatternStr:
            patterns[terminal.name] = terminal.pattern.to_regexp()
        elif terminal.pattern.value.isalpha():
            keywords[terminal.pattern.value.upper()] = terminal.name
        else:
            signs[terminal.name] = re.escape(terminal.pattern.value)
    # Names first, since most tokens are; then as the grammar has them. `!=` is tried before `!`,
    # and `.5` before `.`.
    places = {name: place for place, name in enumerate(re.findall(r"(?m)^([A-Z_]+):", source))}
    names = sorted(patterns, key=lambda name: (name != "NAME", places[name]))
    names += sorted(signs, key=lambda name: (-len(signs[name]), places[name]))
    patterns |= signs
    return Terminals(space, {name: patterns[name] for name in names}, keywords)


def generated() -> str:
    """The text of ``tables.py``."""
    source = GRAMMAR.read_text("utf-8")
    lark = Lark(source, parser="lalr", lexer="basic", maybe_placeholders=False)
    machine, found = Machine(lark), terminals(lark, source)
    kinds = ["", *found.patterns, END, STRANGER, *sorted(found.keywords.values())]
    nonterminals = sorted({one.target for one in machine.reductions})
    numbers = {name: number for number, name in enumerate([*kinds, *nonterminals])}
    states = dict(
        zip(("ENDED", "OPENED", "COMPARED", "LISTED", "VALUED"), machine.bounds, strict=True)
    )
    states["START"] = machine.numbers[machine.start]
    lines = [
        _HEAD,
        "# White space between tokens.",
        f'SPACE = r"{found.space}"',
        "",
        "# Terminals that are no keywords, in the order in which they are tried.",
        "PATTERNS = {",
        *(line for name, pattern in found.patterns.items() for line in entry(name, pattern)),
        "}",
        "",
        "# Symbols by their number: terminals, then nonterminals.",
        "KINDS = (",
        *wrapped(f'"{name}",' for name in kinds),
        ")",
        "NONTERMINALS = (",
        *wrapped(f'"{name}",' for name in nonterminals),
        ")",
        *(f"{name.strip('$').upper()} = {numbers[name]}" for name in NAMED),
        "",
        "# What is a keyword where a name could stand, in any case of its ASCII letters.",
        "KEYWORDS = {",
        *wrapped(f'"{word}": {numbers[name]},' for word, name in sorted(found.keywords.items())),
        "}",
        f"LONGEST_KEYWORD = {max(map(len, found.keywords))}",
        _STATES,
        *(f"{name} = {number}" for name, number in states.items()),
        _RULES,
        f"CLOSED = {machine.closing}",
        "RULES = (",
        *wrapped(
            f'({numbers[one.target]}, {one.length}, "{one.action}"),' for one in machine.reductions
        ),
        ")",
        "",
        "# For each state: symbol -> the state to go to, or ~ the rule that is complete.",
        "STATES: tuple[dict[int, int], ...] = (",
    ]
    for row in machine.rows():
        actions = sorted((numbers[name], action) for name, action in row.items())
        joined = ", ".join(f"{number}: {action}" for number, action in actions)
        lines += wrapped(f"{one}," for one in f"{{{joined}}}".split(", "))
    return "\n".join([*lines, ")", ""])


def entry(name: str, pattern: str) -> list[str]:
    """A pattern in a dict of Python, in as many lines as it takes."""
    first, *more = raw(pattern, 78)
    lines = [f'    "{name}": {first}', *(f"    {line}" for line in more)]
    lines[-1] += ","
    return lines


def raw(pattern: str, width: int = 90) -> Iterator[str]:
    """A pattern as raw strings of Python, a line each."""
    pattern = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in pattern)
    while pattern:
        end = width
        while pattern[:end].endswith("\\"):
            end -= 1
        line, pattern = pattern[:end], pattern[end:]
        quotes = next(q for q in ('"', "'", '"""') if q not in line and line[-1] != q[0])
        yield f"r{quotes}{line}{quotes}"


def wrapped(words: Iterable[str], width: int = 100) -> Iterator[str]:
    """Words in indented lines."""
    line = "   "
    for word in words:
        if len(line) + 1 + len(word) > width:
            yield line
            line = "   "
        line += f" {word}"
    yield line


def main(arguments: list[str]) -> int:
    """Write the tables, or compare them."""
    text = generated()
    current = TABLES.read_text("utf-8") if TABLES.exists() else ""
    if current == text:
        print(f"{TABLES.relative_to(ROOT)} is what {GRAMMAR.relative_to(ROOT)} gives.")
    elif arguments == ["--check"]:
        print(f"{TABLES.relative_to(ROOT)} is out of date: make grammar")
        return 1
    else:
        TABLES.write_text(text, "utf-8")
        print(f"Wrote {TABLES.relative_to(ROOT)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
