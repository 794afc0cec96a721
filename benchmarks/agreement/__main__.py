"""`python -m benchmarks.agreement [ID …]`: compare EnvPool with the stock environments, and keep the table.

It takes some ten minutes; ids compare some and leave the rest of the table.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.agreement.compare import CHANCE, CLOSE, LIMIT, NEAR, STEPS, compare
from benchmarks.machine import describe_machine
from gymsolve.envs.families import families

RESULTS = Path(__file__).parents[1] / "results"
OTHERS = ("Blackjack-v1", "MiniGrid-Empty-8x8-v0", "Taxi-v4", "VizdoomBasic-v1")
"""Of these EnvPool has something of that name, or people ask for it; the table says why it does not serve."""
EPISODES = 96


def served() -> list[str]:
    """Ids that the backend trains."""
    return [env_id for family in families() for env_id in family.envpool]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agreement", description=__doc__)
    parser.add_argument("ids", nargs="*", help="environment ids; all by default")
    parser.add_argument(
        "--episodes", type=int, default=EPISODES, help=f"of each sample; {EPISODES} by default"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results go")
    given = parser.parse_args()
    path = given.results / "envpool.json"
    kept: dict[str, Any] = json.loads(path.read_text())["comparisons"] if path.is_file() else {}
    for env_id in given.ids or sorted({*served(), *OTHERS}):
        found = compare(env_id, given.episodes)
        print(f"{env_id}: {found.obstacle or 'equivalent'}", file=sys.stderr, flush=True)
        kept[env_id] = asdict(found)
        stored = {"machine": describe_machine(), "comparisons": dict(sorted(kept.items()))}
        path.write_text(json.dumps(stored, indent=1) + "\n")
        path.with_suffix(".md").write_text(_page(stored["comparisons"]))
    print(_page(kept))
    return 0


def _page(kept: dict[str, Any]) -> str:
    lines = [
        "<!-- Made by `python -m benchmarks.agreement`; do not edit. -->",
        "",
        "# EnvPool beside the stock environments",
        "",
        "EnvPool is another implementation of these environments. `env.backend=envpool` trains on those",
        "that are equivalent by this table, and says why not elsewhere; evaluation plays the stock version.",
        "",
        "- *drift*: both begin in one state and get the same actions; how far observations and rewards are",
        f"  apart after {NEAR} steps, relative to their size (at most {CLOSE:g}), and after {STEPS}.",
        "  The latter is not judged: robots that touch the ground amplify rounding errors.",
        "- *info*: what differs in `info` on these steps; the backend does not use it.",
        "- *starts*, *returns*, *lengths*: how likely samples as different as these are if both versions are",
        f"  alike (at least {CHANCE:g}): first observations, and whole episodes of up to {LIMIT} steps with",
        "  random actions and with actions that follow from the observation (the smaller of the two).",
        "",
        "Again: `python -m benchmarks.agreement`, or with ids for some of them.",
        "",
        "| environment | equivalent | drift | info | starts | returns | lengths | episodes |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *(_line(one) for one in kept.values()),
    ]
    return "\n".join(lines) + "\n"


def _line(one: dict[str, Any]) -> str:
    verdict = "yes" if one["obstacle"] is None else f"no: {one['obstacle']}"
    rarest = (min(one[kind].values(), default=None) for kind in ("returns", "lengths"))
    figures = (one["drift"], one["later"], one["starts"], *rarest)
    drift, later, starts, returns, lengths = ("–" if value is None else f"{value:.1g}" for value in figures)
    drifts = drift if one["drift"] is None else f"{drift}, {later}"
    count = one["episodes"] or "–"
    cells = [one["id"], verdict, drifts, one["info"] or "–", starts, returns, lengths, count]
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())
