"""Several seeds of one configuration: which commands train them, and one verdict over what came out.

Each seed is `gymsolve train … --seed N`, so any of them can be repeated, resumed and stopped by itself;
`seed_processes.py` runs them.
"""

import os
import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.answers import Answer
from gymsolve.errors import CodeRefusedError, UsageError
from gymsolve.jobs.seed_processes import Work
from gymsolve.jobs.start import flag_words, setting_words
from gymsolve.runs.groups import Group, create_group, find_group
from gymsolve.runs.refs import best_reward, needed_reward
from gymsolve.runs.run import Run
from gymsolve.runs.trust import are_trusted_words, trust_words

if TYPE_CHECKING:
    from gymsolve.training.planning.plan import Plan

STOPPED = ("interrupt", "terminated", "stop file")
"""Reasons of a run's end after which no further seed begins."""


@dataclass(frozen=True)
class SeedResult(Answer):
    """What became of one seed."""

    seed: int
    run: str | None
    """None if it never began."""
    status: str
    """That of its run, or `not begun`."""
    reason: str | None
    solved: bool
    env_steps: int
    seconds: float
    best_reward: float | None
    final_reward: float | None
    """Mean reward of its last evaluation."""
    solved_after: int | None
    """Environment steps of the evaluation that proved it solved."""

    @property
    def has_ended(self) -> bool:
        """It was solved, or its budget is spent: nobody stopped it and nothing broke."""
        return self.status in ("solved", "finished") and self.reason not in STOPPED


@dataclass(frozen=True)
class SeedsVerdict(Answer):
    """All seeds of a configuration as one result."""

    group: str
    name: str
    seeds: tuple[int, ...]
    runs: list[SeedResult]
    threshold: float | None
    solved: int
    """How many seeds are solved."""
    judged: int
    """How many have a last evaluation, which the next four are about."""
    mean: float | None
    iqm: float | None
    """Interquartile mean."""
    low: float | None
    high: float | None
    """Ends of its 95 % bootstrap interval; None below three seeds."""
    steps_to_solve: dict[str, float] | None
    """Median, smallest and largest number of steps of the solved seeds."""
    seconds: float
    """From the first start to the last end, as a clock shows it."""
    reason: str | None = None
    """Why not all of them ran to their end, if so: `interrupt`, `hangup`, `terminated`, `stop file` or
    `failed`."""
    success_needed: float | None = None
    """Share of successes that counts as solved, where that decides (`solved_by`) and not the return."""


# ------------------------------------------------------------------------------------- what to do


def jobs_at_once(threads: int, seeds: int) -> int:
    """How many seeds train at once: as many as there are cores for them; each keeps about one busy."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(seeds, cores // max(1, threads)))


def plan_group(  # noqa: PLR0913 - the options of `gymsolve train`
    plan: "Plan",
    env: str,
    settings: Mapping[str, Any],
    seeds: Sequence[int],
    *,
    start_from: str | None = None,
    track: str | None = None,
    steps: int | str | None = None,
    profile: bool = False,
    runs_dir: Path | str | None = None,
) -> Group:
    """Write down a group of seeds; what was measured for the plan holds for all of them."""
    if len(set(seeds)) < 2:
        raise UsageError(f"{len(set(seeds))} is no number of seeds to compare.", where="--seeds")
    chosen = dict(settings)
    measured = [path for path, source in plan.resolved.provenance.items() if source.startswith("auto:")]
    stored = plan.config.model_dump(mode="json")
    chosen |= {path: _lookup(stored, path) for path in measured}
    if plan.config.threads == 0 and jobs_at_once(1, len(seeds)) > 1:
        chosen["threads"] = 1  # the others have the other cores
    words = [*setting_words(chosen), *flag_words("--steps", steps), *flag_words("--from", start_from)]
    words += [*flag_words("--track", track), *(["--profile"] if profile else [])]
    words += flag_words("--runs-dir", runs_dir)
    return create_group(runs_dir, name=plan.resolved.name, seeds=seeds, words=[env, *words])


def started_work(group: Group) -> list[Work]:
    """Train every seed of a new group."""
    return [_beginning(group, seed) for seed in group.seeds]


def resumed_work(
    ref: str, words: Sequence[str], runs_dir: Path | str | None, *, trust: bool = False
) -> tuple[Group, list[Work]]:
    """Go on with a group: unfinished seeds resume, those that never began begin; `words` change settings.

    Seeds that have ended by themselves go on only where there are changes. A group from elsewhere begins no
    seed unless the user trusts it.
    """
    group = find_group(ref, runs_dir)
    begun, work = group.runs(), []
    changes = [word for word in words if word not in ("--fresh-optimizer", "--trust")]
    for seed in group.seeds:
        run = begun.get(seed)
        if run is None:
            _require_trust(group, trust)
            work.append(Work(seed, (*_beginning(group, seed).words, *changes)))
            continue
        now = run.summary()
        if now.status == "running":
            raise UsageError(
                f"{group.ref} is being trained: seed {seed} is running.",
                hint=f"Stop it first with: gymsolve stop {group.ref}",
            )
        if changes or now.status not in ("solved", "finished") or now.reason in STOPPED:
            work.append(Work(seed, ("resume", str(run.path), *words)))
    return group, work


def _require_trust(group: Group, trust: bool) -> None:
    if are_trusted_words(group.id, group.words):
        return
    if not trust:
        raise CodeRefusedError(
            f"{group.ref} would run 'gymsolve train {shlex.join(group.words)}' for seeds that have not begun,"
            " and it was not made here.",
            hint="If you know where it comes from: --trust, once.",
        )
    trust_words(group.id, group.words)


def _beginning(group: Group, seed: int) -> Work:
    return Work(seed, ("train", *group.words, "--seed", str(seed)))


def _lookup(config: dict[str, Any], path: str) -> Any:
    node: Any = config
    for key in path.split("."):
        node = node[key]
    return node


# ------------------------------------------------------------------------------------ what came out


def judge_seeds(group: Group, *, seconds: float = 0.0, reason: str | None = None) -> SeedsVerdict:
    """The verdict over all seeds, from what their runs have written."""
    from gymsolve.view.report.seeds import FEWEST, interquartile_mean, seed_interval

    begun = group.runs()
    results = [_result(seed, begun.get(seed)) for seed in group.seeds]
    finals = [one.final_reward for one in results if one.final_reward is not None]
    steps = [one.solved_after for one in results if one.solved_after is not None]
    low, high = seed_interval(finals) if len(finals) >= FEWEST else (None, None)
    spread = {"median": statistics.median(steps), "min": min(steps), "max": max(steps)} if steps else None
    return SeedsVerdict(
        group=group.id,
        name=group.name,
        seeds=group.seeds,
        runs=results,
        threshold=next((bar for run in begun.values() if (bar := needed_reward(run)) is not None), None),
        solved=sum(one.solved for one in results),
        judged=len(finals),
        mean=statistics.fmean(finals) if finals else None,
        iqm=interquartile_mean(finals) if finals else None,
        low=low,
        high=high,
        steps_to_solve=spread,
        seconds=seconds,
        reason=reason,
        success_needed=next(map(_success_needed, begun.values()), None),
    )


def _success_needed(run: Run) -> float | None:
    config = run.config_json()["config"]
    return config.get("solved_at") if config.get("solved_by") == "success_rate" else None


def _result(seed: int, run: Run | None) -> SeedResult:
    if run is None:
        return SeedResult(seed, None, "not begun", None, False, 0, 0.0, None, None, None)
    summary, rows = run.summary(), run.read_metrics().rows
    judged = [row for row in rows if row.get("eval/mean_reward") == row.get("eval/mean_reward", "")]
    proof = [row["env_steps"] for row in judged if row.get("solved") == 1.0]
    return SeedResult(
        seed=seed,
        run=run.id,
        status=summary.status,
        reason=summary.reason,
        solved=bool((summary.result or {}).get("solved")),
        env_steps=summary.env_steps,
        seconds=max((row.get("time/elapsed", 0.0) for row in rows), default=0.0),
        best_reward=best_reward(run),
        final_reward=judged[-1]["eval/mean_reward"] if judged else None,
        solved_after=int(proof[0]) if proof else None,
    )
