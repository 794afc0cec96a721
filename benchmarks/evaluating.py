"""The cost of a step of evaluation in steps of training, for every recipe: `python -m benchmarks.evaluating`.

Each recipe trains for some seconds without evaluating; then its policy plays evaluation episodes. Both run on
the same machine one after the other, so their ratio says more than their seconds. With the recipe's settings,
the ratio bounds the share of the time that evaluations take. Results are stored one by one: an interrupted
measurement goes on where it was.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import gymsolve
from benchmarks.machine import IDLE, CpuWatch
from benchmarks.store import OURS, Record, Store, load_runs
from gymsolve.recipes import list_recipes, resolve

RESULTS = Path(__file__).parent / "results"
MOST = 0.25
"""Share of the time that evaluations should take at most, besides the one that proves a run solved."""
_WORKER = "import sys; from benchmarks.evaluating import work; work(*sys.argv[1:])"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluating", description=__doc__)
    parser.add_argument("recipes", nargs="*", help="ENV:VARIANT; by default the first of each environment")
    parser.add_argument("--seconds", type=float, default=20.0, help="training time of each (default 20)")
    parser.add_argument("--again", action="store_true", help="measure again what is stored")
    given = parser.parse_args()
    store = Store(RESULTS, "evaluating")
    stored = {run["case"] for run in load_runs(store.path)["runs"] if "error" not in run}
    for name in given.recipes or _first_variants():
        if name in stored and not given.again:
            continue
        watch = CpuWatch()
        record = _measure(name, given.seconds)
        others = round(watch.others_share(), 3)
        record |= {"others": others, "noisy": others > IDLE}
        store.add({"case": name, "tool": OURS, "round": 0, **record})
        print(json.dumps({"recipe": name, **record}), flush=True)
    return 0


def _first_variants() -> list[str]:
    first: dict[str, str] = {}
    for recipe in list_recipes():
        first.setdefault(recipe.env_id, recipe.name)
    return list(first.values())


def _measure(name: str, seconds: float) -> Record:
    """Each in a process of its own: some environments are one per process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _WORKER, name, str(seconds), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1][-300:]}
    record: Record = json.loads(done.stdout.splitlines()[-1])
    return record


def work(name: str, seconds: str, folder: str) -> None:
    """Train and evaluate; print microseconds per step of both, and their ratio."""
    settings = {"max_seconds": float(seconds), "eval.warmup": 10**12, "video.enabled": False}
    run = gymsolve.train(name, settings, runs_dir=folder).run
    rows = [row for row in run.read_metrics().rows if "time/elapsed" in row]
    first = rows[0] if len(rows) > 1 else {"time/elapsed": 0.0, "env_steps": 0}
    last = rows[-1]
    training = (last["time/elapsed"] - first["time/elapsed"]) / (last["env_steps"] - first["env_steps"])
    result = gymsolve.evaluate(f"{run.path}@last", episodes=run.config_json()["config"]["eval"]["episodes"])
    evaluating = result.seconds / result.env_steps
    record = {
        "training_us": round(training * 1e6, 2),
        "evaluating_us": round(evaluating * 1e6, 2),
        "cost": round(evaluating / training, 3),
        "mean_ep_length": round(result.env_steps / len(result.episodes), 1),
    }
    print(json.dumps(record))


def is_limited(record: Record) -> bool:
    """Are evaluations of this recipe put off until training has earned them?"""
    return resolve(record["case"]).config.eval.greatest_share is not None


def most_time(record: Record) -> float:
    """Upper bound of the share of the time that evaluations take with the recipe as it is now.

    With a cadence of its own and no limit, the share of the routine evaluations: failed proofs come on top.
    """
    config = resolve(record["case"]).config
    share = config.eval.greatest_share
    if share is None:
        steps = config.eval.episodes * record["mean_ep_length"]
        evaluating = record["cost"] * steps / config.to_env_steps(config.eval_every)
    else:
        evaluating = record["cost"] / config.eval.cost * share / (1.0 - share)
    return float(evaluating / (1.0 + evaluating))


if __name__ == "__main__":
    sys.exit(main())
