"""README.md of the results: made from the JSON files, never by hand."""

from pathlib import Path
from typing import Any

from benchmarks.peers import known_peers
from benchmarks.store import Record, load_runs
from benchmarks.tables import (
    archive_table,
    browser_table,
    cost_table,
    curiosity_table,
    evaluating_table,
    growth_tables,
    limit_table,
    markdown,
    micro_table,
    race_table,
    server_table,
    solve_tables,
    stepping_table,
    throughput_tables,
)
from benchmarks.targets import targets_table

__all__ = ["render_page", "targets_of", "write_page"]

NAMES = (
    *("throughput", "solve", "race", "recurrent", "limit", "micro", "growth", "cost", "stepping"),
    *("curiosity", "archive", "browser", "server", "crowd", "evaluating"),
)

_INTRO = """\
<!-- Made by `python -m benchmarks` from benchmarks/results; do not edit. -->

# Speed

Measured side by side on one machine. Every figure is a median with the range of its runs in brackets
(the middle half, for the time to solve). A run is called noisy when others used more than a tenth of the
machine before or during it. Ratios are taken within a round, in which every tool runs once.

## Run it again

On an idle machine, from a clone:

```sh
make bench                                          # everything: some hours
.venv/bin/gymsolve bench throughput race            # some parts
.venv/bin/gymsolve bench throughput --tasks CartPole-v1 --peers sb3 --repeats 5
.venv/bin/gymsolve bench --quick                    # does everything work? results are kept apart
```

A partial run replaces what it measures again and leaves the rest. Results are stored run by run, so that
an interrupted benchmark loses nothing. Peers are installed by the benchmark into virtual environments of
their own below `benchmarks/.peers`, as `benchmarks/peers.json` pins them.
"""

_ALIKE = """\
## What is alike, and what is not

Alike: algorithm (PPO), environments per tool, steps per rollout, minibatch size, epochs, discount, GAE,
clipping, entropy bonus, gradient clipping, learning rate, 64 × 64 tanh networks for policy and value, Nature
CNN for pixels, float32, CPU, the machine, the minute.

Not alike:

- gymsolve's side is a whole run: run directory, metrics, checkpoints (ten; Pong, whose 10,240 steps are the
  beginning of a training of millions, saves two). Its only evaluation is the final
  one, whose time is taken off; videos are off. Peers write nothing.
- Threads: peers compute small networks on one thread, which is best for them, and choose themselves for
  pixels. gymsolve always chooses itself.
- gymsolve steps environments with the backend that `env.backend` in `benchmarks/tasks.json` names, `auto`
  by default; classic control then steps by compiled rules. Peers use what they bring: Stable-Baselines3,
  SBX and Tianshou one environment after another, rejax its own compiled environments.
- "Without the environment" takes off what the tool's own environments need for as many steps, measured
  bare in the same process. It is not given where environments and learning overlap.
- The value loss of Stable-Baselines3 and SBX is twice gymsolve's; the cost is the same.
- SBX and rejax compile first: their clock starts afterwards, and the compilation counts as start-up.
  SBX has two networks of convolutions for pixels, all others share one.
- Tianshou, Sample Factory and rejax keep the clip range constant where the preset lets it fall, rejax the
  learning rate too. rejax clips gradients by value. Sample Factory needs Gymnasium 0.29 and so
  trains LunarLander-v2, its clock starts at the first update, and in several processes it collects while
  it learns. It takes no trajectories longer than a minibatch: on LunarLander they have 64 steps.
- Pong: Stable-Baselines3, SBX and Sample Factory use their usual Atari wrappers (no-ops, maximum over
  frames, lives, fire);
  Tianshou's own do not work with NumPy 2.4, so it gets Gymnasium's; gymsolve's preprocessing is what
  `benchmarks/tasks.json` says. From objects, Stable-Baselines3 gets the same eleven numbers from a wrapper
  (`benchmarks/workers/pong_objects.py`) and normalises them with its `VecNormalize`.
- Recurrent PPO: an LSTM of 64, then 64 tanh units, each for policy and value, nothing normalised, gradients
  through whole rollouts of 32 steps; both tools step Python's CartPole with its velocities hidden.
- Time to solve: gymsolve with its own recipe, Stable-Baselines3 with the zoo's preset and budget. Both are
  judged by gymsolve's rule at the same number of steps, and wait for it. Stable-Baselines3 is stopped
  after ten minutes on CartPole and five on LunarLander; a seed not solved by then counts as that long.
  The clock stops at the verdict: the videos that gymsolve makes afterwards are not in it.
"""

_SECTIONS = {
    "throughput": "## Throughput at identical hyperparameters\n",
    "solve": "## Time to solve\n\nMedian and middle half over seeds; ∞ is a seed that was not solved.\n",
    "race": "## CartPole to 500,000 steps, against a compiled loop\n",
    "recurrent": "## Recurrent PPO at identical hyperparameters\n",
    "limit": "## Share of the limit\n\nThe bound adds up the bare environment on all cores and the bare "
    "matrix products or convolutions\nof acting and learning (`benchmarks/limit.py`), measured before and "
    "after the training that it is compared with.\nShares are taken within a round; the other figures are "
    "those of the round with the highest bound.\n",
    "micro": "## The pieces\n\nFastest of many calls in one process; median and range over processes.\n",
    "growth": "## Growth\n\nCartPole unless said otherwise, 128 steps per rollout, minibatches of 64, "
    "4 epochs. `metrics` are further\nones in every record, as an environment with so many parts of its "
    "reward would have them.\n",
    "cost": "## What seeing costs\n\nCartPole at its recipe, 200,000 steps: processor time from the first "
    "step to the last file, beside the same\ntraining without measures, records, alerts, live table, "
    "tracker and report, at the same time on the other core.\nThe split is that of further runs, with a "
    "clock around each part.\n",
    "stepping": "## Bare stepping\n\nEnvironments through our contract (resets in the same step, books of "
    "episodes, checked numbers) beside the package's\nown fastest way. No policy acts. Both take turns in "
    "one process, with the same actions.\n",
    "curiosity": "## What curiosity costs\n\nPPO with a bonus for exploring beside the same without one, by "
    "engine; ratios within a round. The networks of\na bonus are torch's whatever the engine, so they cost "
    "more of the speed where everything else is quicker.\n",
    "browser": "## In the browser\n\nPages in this machine's own Chromium, on loopback.\n",
    "server": "## The server for agents\n\nFrom the start of the process to the first list of tools over "
    "standard input, and the memory by then, beside an\nempty server of the same package.\n",
    "crowd": "## A crowd at the server of pages\n\n200 clients ask `gymsolve web`, which has just begun, for "
    "the list of 2,000 runs, for one of a million records\nthat grows, and for all of its curves: for a "
    "minute, as fast as they are answered. 20 others send half a request.\nThen all leave at once.\n",
    "archive": "## What an archive costs\n\nThe bookkeeping of Go-Explore per step, by the number of cells: "
    "looking up, counting, drawing, replacing. No\nenvironment is stepped and no snapshot taken.\n",
    "evaluating": "## What evaluating costs\n\nThe first variant of every recipe trains for some seconds "
    "and is then evaluated: a step of evaluation in steps of\ntraining, and the share of the time that "
    "evaluations take at most with it, besides the one that proves a run solved; with a\ncadence of its own, "
    "that of routine evaluations alone (`python -m benchmarks.evaluating`).\n",
}


def write_page(folder: Path) -> Path:
    """`README.md` beside `results/`, or inside any other folder of results."""
    results = _load(folder)
    path = (folder.parent if folder.name == "results" else folder) / "README.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_page(results), encoding="utf-8")
    return path


def targets_of(folder: Path) -> str:
    """The table of targets alone."""
    return targets_table({name: part["runs"] for name, part in _load(folder).items()})


def _load(folder: Path) -> dict[str, dict[str, Any]]:
    return {name: load_runs(folder / f"{name}.json") for name in NAMES}


def render_page(results: dict[str, dict[str, Any]]) -> str:
    runs: dict[str, list[Record]] = {name: results[name]["runs"] for name in NAMES}
    bodies = {
        "throughput": throughput_tables(runs["throughput"]),
        "solve": solve_tables(runs["solve"]),
        "race": race_table(runs["race"]) if runs["race"] else "",
        "recurrent": throughput_tables(runs["recurrent"]),
        "limit": limit_table(runs["limit"]) if runs["limit"] else "",
        "micro": micro_table(runs["micro"]) if runs["micro"] else "",
        "growth": growth_tables(runs["growth"]),
        "cost": cost_table(runs["cost"]),
        "stepping": stepping_table(runs["stepping"]) if runs["stepping"] else "",
        "curiosity": curiosity_table(runs["curiosity"]),
        "browser": browser_table(runs["browser"]) if runs["browser"] else "",
        "server": server_table(runs["server"]) if runs["server"] else "",
        "crowd": browser_table(runs["crowd"]) if runs["crowd"] else "",
        "archive": archive_table(runs["archive"]),
        "evaluating": evaluating_table(runs["evaluating"]) if runs["evaluating"] else "",
    }
    parts = [_INTRO, "## Targets\n", targets_table(runs)]
    for name, title in _SECTIONS.items():
        parts += [title, bodies[name] or "Not measured yet.\n"]
    return "\n".join([*parts, _ALIKE, _machines(results)])


def _machines(results: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name in NAMES:
        for session, machine in sorted(results[name]["machines"].items()):
            versions = ", ".join(f"{key} {value}" for key, value in machine["versions"].items())
            facts = f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB"
            more = f"Python {machine['python']}, {versions}"
            commit = machine.get("commit") or "not recorded"  # as by versions of November 2026 and before
            rows.append((name, session, commit, facts, more, str(machine["load"])))
    pins = [(facts["title"], ", ".join(facts["packages"])) for facts in known_peers().values()]
    sessions = markdown(("part", "session (UTC)", "commit", "machine", "software", "load at the start"), rows)
    return f"## Machine and versions\n\n{sessions}\n{markdown(('peer', 'pinned'), pins)}"
