"""Renames, tags and deletes runs: what every door calls."""

from collections.abc import Sequence
from dataclasses import dataclass

from gymsolve.answers import Answer
from gymsolve.errors import UsageError
from gymsolve.runs.deletion import delete_runs, plan_deletion
from gymsolve.runs.labelling import rename_run, tag_run
from gymsolve.runs.labels import checked_tags
from gymsolve.runs.refs import find_run, select_runs, split_ref
from gymsolve.view.runs import RunsDir


@dataclass(frozen=True)
class LabelledRun(Answer):
    """A run with its name and its tags."""

    run: str
    label: str
    """The name beside the id; empty for none."""
    tags: list[str]


@dataclass(frozen=True)
class DeletedRuns(Answer):
    """Runs that were deleted, or that would be."""

    runs: list[str]
    trials: list[str]
    """Trials of remedies for these runs, which go with them."""
    forks: list[str]
    """Runs that began from these, which stay."""
    bytes: int
    """Size of all their files."""


def rename(ref: str, label: str, runs_dir: RunsDir = None) -> LabelledRun:
    """Give a run a name beside its id, or take it away with an empty one."""
    run = find_run(split_ref(ref)[0], runs_dir)
    labels = rename_run(run, label)
    return LabelledRun(run.id, labels.label, list(labels.tags))


def tag(
    words: Sequence[str], add: Sequence[str] = (), remove: Sequence[str] = (), runs_dir: RunsDir = None
) -> list[LabelledRun]:
    """Add tags to the runs that words name, and remove others."""
    if not add and not remove:
        raise UsageError("no tag is given.", hint="Write: gymsolve runs tag RUN baseline")
    for tags in (add, remove):
        checked_tags(tags)  # before the first run is changed
    answers = []
    for run in select_runs(words, runs_dir):
        labels = tag_run(run, add, remove)
        answers.append(LabelledRun(run.id, labels.label, list(labels.tags)))
    return answers


def delete(words: Sequence[str], runs_dir: RunsDir = None, *, dry_run: bool = False) -> DeletedRuns:
    """Delete the runs that words name, with their trials; with `dry_run`, only say which."""
    deletion = plan_deletion(words, runs_dir)
    answer = DeletedRuns(
        [path.name for path in deletion.runs],
        [path.name for path in deletion.trials],
        list(deletion.forks),
        deletion.size(),
    )
    if not dry_run:
        delete_runs(deletion)
    return answer
