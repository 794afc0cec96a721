"""What curiosity costs: PPO with and without RND or counts, on either engine, one after the other.

Plain PPO on small networks runs on the NumPy engine; the networks of a bonus are torch's on both. So there
are two ratios: within the torch engine, and within the NumPy engine, where everything else is quicker.
"""

from benchmarks.harness import measure, tell
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options, load_tasks, rates

__all__ = ["BONUSES", "measure_curiosity"]

BONUSES = ("none", "rnd", "counts")
_TASKS = ("CartPole-v1", "LunarLander-v3")


def measure_curiosity(options: Options) -> None:
    store, tasks = Store(options.results, "curiosity"), load_tasks()
    for number in range(options.repeats):
        for env_id in _TASKS[:1] if options.quick else _TASKS:
            for engine in ("numpy", "torch"):
                plain = 0.0
                for bonus in BONUSES:
                    task = dict(tasks[env_id])
                    if options.quick:
                        task["steps"] = 4 * task["num_envs"] * task["num_steps"]
                    job = {
                        "env_id": env_id,
                        "task": task,
                        "seed": number,
                        "set": {"engine": engine, "explore.bonus": bonus},
                        "more_metrics": 0,
                        "bare_env": False,
                        "patience": options.patience,
                    }
                    record = rates(measure(OURS, "gymsolve_worker.py", job, threads=None, timeout=900))
                    case = f"{env_id} {engine} {bonus}"
                    speed = record.get("steps_per_second")
                    plain = speed or plain if bonus == "none" else plain
                    share = speed / plain if speed and plain else None
                    store.add({"case": case, "round": number, "share_of_plain": share, **record})
                    told = (
                        f"{speed:,.0f} steps/s, {share:.0%} of plain"
                        if speed and share
                        else record.get("error")
                    )
                    tell(f"{case:32} {told}")
