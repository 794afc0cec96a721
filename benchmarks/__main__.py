"""The benchmark: `python -m benchmarks [PART …]`, or `gymsolve bench`, or `make bench`.

Run it on an idle machine. Without a part it measures all of them, which takes hours; `--quick` only
shows, within minutes, that everything works, and keeps its results apart.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.machine import describe_machine
from benchmarks.page import targets_of, write_page
from benchmarks.parts import PARTS
from benchmarks.peers import known_peers
from benchmarks.stepping import CASES, env_of
from benchmarks.throughput import Options, load_tasks

HERE = Path(__file__).parent


def main() -> int:
    options, parts, as_json = _read()
    try:
        for name in parts:
            print(f"== {name}", file=sys.stderr, flush=True)
            PARTS[name](options)
    except KeyboardInterrupt:
        print("interrupted; what was measured is kept", file=sys.stderr)
        return 130
    finally:
        page = write_page(options.results)
    if as_json:
        found = {p.stem: json.loads(p.read_text()) for p in sorted(options.results.glob("*.json"))}
        print(json.dumps({"machine": describe_machine(), "results": found}, ensure_ascii=False))
    else:
        print(f"{targets_of(options.results)}\nAll figures: {page}")
    return 0


def _read() -> tuple[Options, list[str], bool]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all by default")
    parser.add_argument("--tasks", nargs="+", action="extend", default=[], help="environment ids")
    parser.add_argument("--peers", nargs="+", action="extend", default=[], help="names of peers.json")
    parser.add_argument("--repeats", type=int, help="rounds of throughput, micro, growth (default 5)")
    parser.add_argument("--seeds", type=int, help="of the time to solve (default 5)")
    parser.add_argument("--quick", action="store_true", help="tiny runs: does everything work?")
    parser.add_argument("--page", action="store_true", help="only make the page from the results there are")
    parser.add_argument("--results", type=Path, help="where results go")
    parser.add_argument("--json", action="store_true", help="print all results as one JSON object")
    given = parser.parse_args()
    for word, known in _unknown(given):
        parser.error(f"{word!r} is not among {', '.join(known)}")
    standard = 1 if given.quick else 5
    options = Options(
        results=given.results or HERE / (".quick" if given.quick else "results"),
        tasks=tuple(given.tasks),
        peers=tuple(given.peers),
        repeats=given.repeats or standard,
        seeds=given.seeds or standard,
        quick=given.quick,
    )
    chosen = [] if given.page else given.parts or list(PARTS)
    return options, chosen, given.json


def _unknown(given: argparse.Namespace) -> list[tuple[str, list[str]]]:
    tasks = dict.fromkeys([*load_tasks(), *map(env_of, CASES)])
    asked = {"parts": PARTS, "tasks": tasks, "peers": known_peers()}
    return [
        (word, list(known))
        for name, known in asked.items()
        for word in vars(given)[name]
        if word not in known
    ]


if __name__ == "__main__":
    sys.exit(main())
