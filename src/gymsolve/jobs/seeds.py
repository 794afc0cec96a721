"""Several seeds of one configuration: the commands that train them, and one verdict over their results.

Each seed is `gymsolve train … --seed N`, so any of them can be repeated, resumed and stopped by itself;
`queue.py` works them off.
"""

import shlex
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.answers import Answer
from gymsolve.difference import median_interval
from gymsolve.errors import CodeRefusedError, UsageError
from gymsolve.jobs.local import LocalPlace, jobs_at_once
from gymsolve.jobs.place import Place
from gymsolve.jobs.queue import STOPPED, has_ended, jobs_under_way
from gymsolve.jobs.request import RunRequest, spell_settings
from gymsolve.recipes import parse_overrides
from gymsolve.runs.groups import Group, create_group
from gymsolve.runs.refs import best_reward, fix_ref, needed_reward
from gymsolve.runs.run import Run
from gymsolve.runs.trust import are_trusted_words, trust_words
from gymsolve.view.report.seeds import interquartile_mean

if TYPE_CHECKING:
    from gymsolve.training.planning.plan import Plan


@dataclass(frozen=True)
class SeedResult(Answer):
    """The result of one seed."""

    seed: int
    run: str | None
    """None if it never began."""
    status: str
    """The status of its run, or `not begun`, or `deleted`."""
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
    def can_go_on(self) -> bool:
        """True if a resume of its group trains it."""
        return not self.has_ended and self.status != "deleted"

    @property
    def has_ended(self) -> bool:
        """True if it was solved or has spent its budget: it was not stopped and nothing broke."""
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
    """How many have a last evaluation; mean, iqm, low and high are about these."""
    mean: float | None
    iqm: float | None
    """Interquartile mean."""
    low: float | None
    high: float | None
    """Ends of the exact 95 % interval of the median; None below six seeds, which have none."""
    steps_to_solve: dict[str, float] | None
    """Median, smallest and largest number of steps of the solved seeds."""
    seconds: float
    """From the first start to the last end, as a clock shows it."""
    reason: str | None = None
    """None if all of them ran to their end; else `interrupt`, `hangup`, `terminated`, `stop file` or
    `failed`."""
    success_needed: float | None = None
    """Share of successes that counts as solved; None where the return decides (`solved_by`)."""


# ------------------------------------------------------------------------------------- requests


def plan_group(plan: "Plan", request: RunRequest, runs_dir: Path | str | None = None) -> Group:
    """Store a group of seeds; values that were measured for the plan hold for all of them.

    So does the run that they begin with: by `@last`, a seed would find the one before it.
    """
    first, seeds = plan.config.seed, request.seeds or 1
    chosen = {path: value for path, value in parse_overrides(request.overrides).items() if path != "seed"}
    measured = [path for path, source in plan.resolved.provenance.items() if source.startswith("auto:")]
    stored = plan.config.model_dump(mode="json")
    chosen |= {path: _lookup(stored, path) for path in measured}
    if plan.config.imitate is not None:
        chosen = {path: value for path, value in chosen.items() if path.partition(".")[0] != "imitate"}
        chosen["imitate"] = stored["imitate"]
    if plan.config.threads == 0 and jobs_at_once(1, seeds) > 1:
        chosen["threads"] = 1  # the others have the other cores
    start_from = None if request.start_from is None else fix_ref(request.start_from, runs_dir)
    words = spell_settings(chosen)
    each = replace(request, overrides=words, seed=None, seeds=None, start_from=start_from, at_once=None)
    return create_group(
        runs_dir, name=plan.resolved.name, seeds=range(first, first + seeds), words=each.words()[1:]
    )


def group_place(group: Group, runs_dir: Path | str | None) -> LocalPlace:
    """The place where the seeds of a group train; a process that resumes it finds the running jobs."""
    return LocalPlace(group.path.with_suffix(".jobs"), runs_dir=runs_dir)


def begin_tasks(group: Group) -> dict[str, RunRequest]:
    """Requests for every seed of a new group."""
    return {str(seed): _begin(group, seed) for seed in group.seeds}


def resume_tasks(group: Group, change: RunRequest, place: Place) -> dict[str, RunRequest]:
    """Requests to resume a group with the changes of `change`: unfinished seeds resume, others begin.

    Seeds that have ended by themselves go on only where settings change. A group from elsewhere begins no
    seed unless the user trusts it.
    """
    begun, starting, tasks = group.runs(), jobs_under_way(place, group.id), dict[str, RunRequest]()
    plain = RunRequest(
        "resume", change.env_or_ref, fresh_optimizer=change.fresh_optimizer, trust=change.trust
    )
    deleted = group.deleted_seeds()
    for seed in group.seeds:
        run = begun.get(seed)
        if run is None and seed in deleted:
            continue  # it was trained, and a person did not want to keep it
        if run is None:
            _require_trust(group, change.trust)
            request = _begin(group, seed)
            _refuse_training(group, seed, request in starting)
            tasks[str(seed)] = _changed(request, change)
            continue
        now = run.summary()
        _refuse_training(group, seed, now.status == "running")
        if change != plain or not has_ended(now):
            tasks[str(seed)] = replace(change, env_or_ref=str(run.path))
    return tasks


def _refuse_training(group: Group, seed: int, trains: bool) -> None:
    if trains:
        raise UsageError(
            f"{group.ref} is being trained: seed {seed} is running.",
            hint=f"Stop it first with: gymsolve stop {group.ref}",
        )


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


def _begin(group: Group, seed: int) -> RunRequest:
    return replace(RunRequest.from_words(["train", *group.words]), seed=seed)


def _changed(request: RunRequest, change: RunRequest) -> RunRequest:
    """The request for a seed that never began, with the changes of a resume of its group."""
    return replace(
        request,
        overrides=request.overrides + change.overrides,
        steps=request.steps if change.steps is None else change.steps,
        max_seconds=request.max_seconds if change.max_seconds is None else change.max_seconds,
        track=request.track if change.track is None else change.track,
        profile=request.profile or change.profile,
    )


def _lookup(config: dict[str, Any], path: str) -> Any:
    node: Any = config
    for key in path.split("."):
        node = node[key]
    return node


# -------------------------------------------------------------------------------------- results


def judge_seeds(group: Group, *, seconds: float = 0.0, reason: str | None = None) -> SeedsVerdict:
    """The verdict over all seeds, from the files of their runs."""
    begun, deleted = group.runs(), group.deleted_seeds()
    missing = {seed: "deleted" if seed in deleted else "not begun" for seed in group.seeds}
    results = [_result(seed, begun.get(seed), missing[seed]) for seed in group.seeds]
    finals = [seed.final_reward for seed in results if seed.final_reward is not None]
    steps = [seed.solved_after for seed in results if seed.solved_after is not None]
    low, high = median_interval(finals) or (None, None)
    spread = {"median": statistics.median(steps), "min": min(steps), "max": max(steps)} if steps else None
    return SeedsVerdict(
        group=group.id,
        name=group.name,
        seeds=group.seeds,
        runs=results,
        threshold=next((bar for run in begun.values() if (bar := needed_reward(run)) is not None), None),
        solved=sum(seed.solved for seed in results),
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
    needed = config.get("solved_at") if config.get("solved_by") == "success_rate" else None
    return needed if isinstance(needed, int | float) else None


def _result(seed: int, run: Run | None, missing: str) -> SeedResult:
    if run is None:
        return SeedResult(seed, None, missing, None, False, 0, 0.0, None, None, None)
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
