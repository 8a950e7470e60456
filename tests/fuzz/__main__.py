"""The command: rounds of random filters over random documents, engine after engine."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from random import SystemRandom

from tests.dialects import conformance
from tests.dialects.conformance.conformance import Conformance
from tests.fuzz.servers import running_servers
from vecstore import Expression, parse
from vecstore.testing import ConformanceError

DOCUMENTS = 150
FILTERS = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz until the time is up or something is found, which makes the exit status 1."""
    options = _options(arguments)
    suites = [suite for suite in conformance_suites() if options.engine in suite.__name__]
    if not suites:
        print(f"no engine is called {options.engine}; there are:")
        print("\n".join(suite.__name__ for suite in conformance_suites()))
        return 2
    print(f"seed {options.seed}; {', '.join(suite.__name__ for suite in suites)}")
    ends = time.monotonic() + 60 * options.minutes
    compared = 0
    with running_servers() as server, ExitStack() as engines:
        for suite in suites:
            engines.enter_context(suite.opened(server))
        for seed in range(options.seed, options.seed + options.rounds):
            for suite in suites:
                try:
                    compared += one_round(suite, seed)
                except ConformanceError as error:
                    print(f"\n{error}")
                    print(f"found by {suite.__name__} with seed {seed}; once more:")
                    print(
                        f"  python -m tests.fuzz --seed {seed} --rounds 1 --engine {suite.__name__}"
                    )
                    return 1
                if time.monotonic() > ends:
                    print(
                        f"{compared:,} filters compared, seeds {options.seed} to {seed}: all well"
                    )
                    return 0
    print(f"{compared:,} filters compared, {options.rounds} rounds: all well")
    return 0


def one_round(suite: type[Conformance], seed: int) -> int:
    """Some filters on some documents, all of them from the seed."""
    examiner = suite().examiner
    source = examiner.cases(seed)
    rows = source.rows(DOCUMENTS)
    trees = [source.filter(examiner.depth) for _ in range(FILTERS)]
    return examiner.compare(_round_trips(trees), rows)


def _round_trips(trees: Sequence[Expression]) -> Iterator[Expression]:
    """The filters as they come back from their text, which has to be what they were."""
    for tree in trees:
        text = tree.to_text()
        read = parse(text, limits=None)
        if read != tree or Expression.from_dict(tree.to_dict(), limits=None) != tree:
            raise ConformanceError(f"the filter does not survive its text or dict form: {text}")
        yield read


def conformance_suites() -> list[type[Conformance]]:
    """Every conformance class that pytest collects too."""
    folder = Path(conformance.__file__).parent
    modules = [
        import_module(f"{conformance.__name__}.{path.stem}")
        for path in sorted(folder.glob("test_*.py"))
    ]
    return [
        found
        for module in modules
        for name, found in vars(module).items()
        if name.startswith("Test") and issubclass(found, Conformance)
    ]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    option: Callable[..., argparse.Action] = parser.add_argument
    option("--minutes", type=float, default=5.0, help="how long to go on (5)")
    option("--seed", type=int, help="of the first round; by default another one every time")
    option("--rounds", type=int, default=10**9, help="most rounds, whose seeds count up")
    option("--engine", default="", help="only classes whose name has this in it: Milvus, Postgres")
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = SystemRandom().randrange(10**6)
    return options


if __name__ == "__main__":
    # An embedded server warns of what the machine lacks; there is nobody here to mend it.
    warnings.simplefilter("ignore")
    sys.exit(main())
