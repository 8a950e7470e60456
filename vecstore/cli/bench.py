"""`vecstore bench`: the benchmarks of the repository, ours beside others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

import vecstore
from vecstore.cli.terminal import CommandError, expected_errors

BENCH_EXAMPLES = """
[bold]Examples[/]

  vecstore bench --quick                         # everything, in about two minutes

  vecstore bench search parse --json new.json

  vecstore bench search parse --compare new.json # later: exit code 1 when ours became slower
"""

_BLAS = frozenset({"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"})
"""They choose or trim kernels: another library than users run would be measured."""


def bench(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]... [OPTION]...",
            help="Which benchmarks, and options of [bold]python -m benchmarks[/]: --quick, "
            "--large, --clock cpu, --json FILE, --compare OLD.json, --publish, --from RUN.json.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Measure search, filters and stores beside other libraries, in a checkout of the project."""
    with expected_errors():
        root = Path(vecstore.__file__).resolve().parent.parent
        if not (root / "benchmarks" / "__main__.py").is_file():
            raise CommandError(
                "the benchmarks are part of the project's repository, not of the installed "
                "package\nhint: in a checkout: make bench ARGS=--quick"
            )
        environment = {name: value for name, value in os.environ.items() if name not in _BLAS}
        path = [str(root), *filter(None, [environment.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(path)
        command = [sys.executable, "-m", "benchmarks", *(arguments or [])]
        code = subprocess.run(command, env=environment).returncode
    raise typer.Exit(code)
