"""References to runs and checkpoints: ids, parts of ids, paths, `@last`, `@best`, `RUN@120000`."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gymsolve.errors import CheckpointError, RunDamagedError, UnknownRunError, did_you_mean
from gymsolve.runs.checkpoints import list_checkpoints, pointed, read_meta
from gymsolve.runs.deleted import when_deleted
from gymsolve.runs.files import read_pointer
from gymsolve.runs.index import LAST, is_filter, list_runs, run_folders
from gymsolve.runs.labels import read_labels
from gymsolve.runs.loading import Checkpoint, load_checkpoint
from gymsolve.runs.run import RUN_ID, Run, open_run, slug
from gymsolve.runs.stage_checkpoints import STAGE
from gymsolve.runs.summary import RunSummary, holds_run, runs_folder, summarize

_BEST = "@best"
_SHOWN = 5


def split_ref(ref: str) -> tuple[str, str | None]:
    """Split `RUN@best`, `RUN@120000`, `RUN@stage-easy` or `@last@best`; a plain run has no checkpoint."""
    run, at, checkpoint = ref.rpartition("@")
    if not at or (not run and not checkpoint.replace("_", "").isdecimal()) or os.sep in checkpoint:
        return ref, None  # a plain run, `@last`, `@best:ENV`, or a path with an @ in it
    if not run:
        hint = f"Write RUN{ref} or {LAST}{ref}"
        raise UnknownRunError(f"'{ref}' names a checkpoint but no run.", hint=hint)
    staged = checkpoint.startswith(STAGE) and len(checkpoint) > len(STAGE)
    if staged or checkpoint in ("best", "last") or checkpoint.replace("_", "").isdecimal():
        return run, checkpoint
    near = did_you_mean(checkpoint, ("best", "last"))
    hint = near or "Use best, last, a number of env steps or stage-NAME."
    raise UnknownRunError(f"'{ref}': there is no checkpoint called '{checkpoint}'.", hint=hint)


def fix_ref(ref: str, base: Path | str | None = None) -> str:
    """The same `RUN[@CHECKPOINT]` by the run's path: `@last` and parts of ids name others when runs begin."""
    name, checkpoint = split_ref(ref)
    path = find_run(name, base).path.absolute()
    return str(path) if checkpoint is None else f"{path}@{checkpoint}"


def checkpoint_ref(run: Run, checkpoint: str | None) -> str | Run:
    """A reference to a checkpoint of a run; the run itself where no checkpoint is named."""
    if checkpoint is None:
        return run
    if os.sep in checkpoint:  # it would be part of a path
        raise UnknownRunError(f"run {run.id} has no checkpoint {checkpoint!r}.", hint="Use best or last.")
    return f"{run.path}@{checkpoint}"


def find_run(ref: str, base: Path | str | None = None) -> Run:
    """The run that `ref` names.

    `@last` is the run started or resumed most recently. `@best:ENV` is the run of that environment
    (or recipe name) whose best checkpoint has the highest mean reward, the newest of equals; plain
    `@best` means the environment of `@last`, as rewards of different ones do not compare. Anything
    else is a path, an id, the name that a person gave a run, or a part of an id that occurs in no
    other. `@last` and `@best` never name a trial of another run, and a part of an id does so only if
    it fits no other run.
    """
    folder = runs_folder(base)
    if ref == LAST:
        return _last(folder)
    if ref == _BEST or ref.startswith(_BEST + ":"):
        return _best(folder, ref.removeprefix(_BEST).removeprefix(":"))
    if ref.startswith("@"):
        raise UnknownRunError(f"'{ref}' names no run.", hint=f"Use {LAST}, {_BEST} or {_BEST}:ENV.")
    ids = sorted((path.name for path in run_folders(folder)), reverse=True)
    if ref in ids:
        return open_run(folder / ref)
    if ref and holds_run(Path(ref)):
        return open_run(ref)
    labelled = [name for name in ids if ref and read_labels(folder / name).label.lower() == ref.lower()]
    if len(labelled) == 1:
        return open_run(folder / labelled[0])
    part = slug(ref).lower()
    prefixed = [name for name in ids if part and name.lower().startswith(part)]
    matches = labelled or prefixed or [name for name in ids if part and part in name.lower()]
    if len(matches) > 1:
        matches = [name for name in matches if not summarize(folder / name).is_trial] or matches
    if len(matches) == 1:
        return open_run(folder / matches[0])
    if matches:
        more = f" and {len(matches) - _SHOWN} more" if len(matches) > _SHOWN else ""
        listed = f"{', '.join(matches[:_SHOWN])}{more}"
        raise UnknownRunError(f"'{ref}' fits {len(matches)} runs: {listed}.", hint="Write more of the id.")
    raise _unknown(ref, ids, folder)


def select_runs(
    words: Sequence[str], base: Path | str | None = None, limit: int | None = None, *, trials: bool = False
) -> list[Run]:
    """Runs that single words name, then runs that match all other words together (`list_runs`).

    Named runs keep the order of their words. Of the matching runs the newest `limit` follow, oldest first.
    """
    folder, named, query = runs_folder(base), [], []
    for word in words:
        if is_filter(word):
            query.append(word)
            continue
        try:
            named.append(find_run(split_ref(word)[0], folder))
        except UnknownRunError:
            if not list_runs(folder, word, 1, trials=trials):
                raise
            query.append(word)  # part of several ids, of a name or of a group
    fitting = list_runs(folder, " ".join(query), trials=trials) if query else []
    matches = [open_run(folder / run.id) for run in fitting if run.status != "damaged"][:limit]
    if query and not matches:
        message = f"no run in {folder} fits '{' '.join(query)}'."
        raise UnknownRunError(message, hint="List the runs with: gymsolve runs")
    return list({run.id: run for run in (*named, *reversed(matches))}.values())


def needed_reward(run: Run) -> float | None:
    """The mean reward at which a run counts as solved."""
    return choose_threshold(run.info(), run.config_json()["config"], lambda: run.read_events().rows)


def choose_threshold(
    info: Mapping[str, Any], config: Mapping[str, Any], events: Callable[[], Sequence[Mapping[str, Any]]]
) -> float | None:
    """`needed_reward` from the contents of a run's files; `events` are read only if necessary."""
    if config.get("solved_by", "return") != "return":
        return None
    bars = [config.get("solved_at"), (info.get("result") or {}).get("threshold")]
    if bars == [None, None]:
        bars += [row.get("threshold") for row in events() if row.get("kind") == "started"]
    return next((float(bar) for bar in bars if isinstance(bar, int | float)), None)


def best_reward(run: Run) -> float | None:
    """Mean evaluation reward of a run's best checkpoint; None when it has none that can be read."""
    name = pointed(run, "best")
    if name is None:
        return None
    try:
        metrics = read_meta(run, name)["eval"] or {}
    except (CheckpointError, UnknownRunError):
        return None
    reward = metrics.get("eval/mean_reward", metrics.get("mean_reward"))
    return float(reward) if reward is not None else None


def _last(folder: Path) -> Run:
    pointer = folder / LAST
    name = read_pointer(pointer)
    # A name, not a path: the pointer must not lead out of the folder.
    if name in {path.name for path in run_folders(folder)}:
        return open_run(folder / name)
    runs = list_runs(folder, limit=1, trials=False)  # the pointer is gone, or the run it names was deleted
    if not runs:
        raise _unknown(LAST, [], folder)
    return open_run(folder / runs[0].id)


def _best(folder: Path, env: str) -> Run:
    wanted = env or _readable(_last(folder).summary()).env_id
    best: tuple[float, Run] | None = None
    for summary in list_runs(folder, trials=False):
        if wanted in (summary.env_id, summary.name):
            run = Run((folder / summary.id).absolute())
            reward = best_reward(run)
            if reward is not None and (best is None or reward > best[0]):
                best = reward, run
    if best is None:
        raise UnknownRunError(
            f"no run of '{wanted}' in {folder} has an evaluated checkpoint.",
            hint=did_you_mean(wanted, {run.env_id for run in list_runs(folder)} - {wanted, ""})
            or "List the runs with: gymsolve runs",
        )
    return best[1]


def _readable(summary: RunSummary) -> RunSummary:
    if summary.status == "damaged":
        raise RunDamagedError(f"run {summary.id} cannot be read: {summary.reason}")
    return summary


def _unknown(ref: str, ids: list[str], folder: Path) -> UnknownRunError:
    if (day := when_deleted(folder, ref)) is not None:
        return UnknownRunError(f"run {ref} was deleted on {day}.", hint="List the runs with: gymsolve runs")
    if RUN_ID.fullmatch(ref):
        return UnknownRunError(
            f"no run in {folder} is called '{ref}'.", hint=f"If it was pushed: gymsolve pull {ref}"
        )
    if not ids:
        return UnknownRunError(
            f"there are no runs in {folder} yet, so '{ref}' names none.",
            hint="Start one with: gymsolve train CartPole-v1",
        )
    # People type a run without its time stamp, and without the digits at its end.
    tails = [name.split("-", 2)[-1] for name in ids]
    names = [*ids, *tails, *(tail.rpartition("-")[0] for tail in tails)]
    hint = did_you_mean(slug(ref), names) or "List the runs with: gymsolve runs"
    return UnknownRunError(f"no run in {folder} is called '{ref}'.", hint=hint)


def open_checkpoint(
    ref: str | Path | Run, runs_dir: Path | str | None, *, policy_only: bool = False
) -> tuple[Run, Checkpoint]:
    """The checkpoint that `ref` names; without a name the best one, and where there is none the last."""
    if isinstance(ref, Run):
        run, which = ref, None
    else:
        name, which = split_ref(str(ref))
        run = find_run(name, runs_dir)
    if not list_checkpoints(run):
        raise UnknownRunError(f"run {run.id} has no checkpoint yet.")
    judged = (run.path / "checkpoints" / "best").exists()
    return run, load_checkpoint(run, which or ("best" if judged else "last"), policy_only=policy_only)
