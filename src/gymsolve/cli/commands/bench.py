"""`gymsolve bench`: run the benchmark of the clone that this command belongs to."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from gymsolve.cli.options import Json
from gymsolve.errors import UsageError

_PARTS = (
    "micro, limit, throughput, race, recurrent, solve, growth, cost, "
    "stepping, curiosity, browser, play, inspect, server, crowd, archive"
)


def bench(
    parts: Annotated[
        list[str] | None, Argument(metavar="PART", help=f"Any of {_PARTS}; all by default.")
    ] = None,
    tasks: Annotated[
        list[str] | None, Option("--tasks", metavar="ENV", help="Only this environment; repeatable.")
    ] = None,
    peers: Annotated[
        list[str] | None, Option("--peers", metavar="NAME", help="Compare with this tool only; repeatable.")
    ] = None,
    repeats: Annotated[int | None, Option("--repeats", min=1, help="Rounds; 5 by default.")] = None,
    seeds: Annotated[
        int | None, Option("--seeds", min=1, help="Seeds of the time to solve; 5 by default.")
    ] = None,
    quick: Annotated[bool, Option("--quick", help="Tiny runs that only show that everything works.")] = False,
    json: Json = False,
) -> int:
    """Compare speed with other tools on this machine; needs a clone and some hours without other work."""
    words = list(parts or ())
    for name, values in (("--tasks", tasks), ("--peers", peers)):
        words += [word for value in values or () for word in (name, value)]
    for name, count in (("--repeats", repeats), ("--seeds", seeds)):
        words += [] if count is None else [name, str(count)]
    words += ["--quick"] if quick else []
    words += ["--json"] if json else []
    return subprocess.run([sys.executable, "-m", "benchmarks", *words], cwd=_clone(), check=False).returncode


def _clone() -> Path:
    """The clone from which this package is installed in place."""
    root = Path(__file__).parents[4]
    if not (root / "benchmarks" / "__main__.py").is_file():
        raise UsageError(
            "the benchmark is part of the source tree, not of the installed package.",
            where="bench",
            hint="Clone the repository and run `make bench` there.",
        )
    return root
