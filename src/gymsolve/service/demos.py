"""Lists, describes and exports episodes that people played."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.answers import Answer
from gymsolve.errors import RunDamagedError
from gymsolve.runs.demos import find_demos, list_demos
from gymsolve.view.runs import RunsDir


@dataclass(frozen=True)
class ToldDemo(Answer):
    """An episode of a person, and the number of steps of each actor."""

    name: str
    path: str
    env_id: str | None
    run: str | None
    time: str | None
    length: int
    total_return: float
    end: str
    """`terminated`, `truncated` or `cut`."""
    seed: int | None
    acted: dict[str, int]
    """Steps of each actor."""
    against_policy: int | None
    """Steps in which a person took another action than the policy proposed; None without a policy."""
    action_names: list[str]


@dataclass(frozen=True)
class ExportedDemos(Answer):
    """A Minari dataset."""

    name: str
    path: str
    env_id: str
    episodes: int
    steps: int


def list_all(env_id: str | None = None, *, runs_dir: RunsDir = None) -> list[dict[str, Any]]:
    """All episodes of people, of one environment if it is named, oldest first."""
    return [demo.to_json() for demo in list_demos(runs_dir, env_id)]


def show(name: str, *, runs_dir: RunsDir = None) -> ToldDemo:
    """The newest episode whose name has this part."""
    import numpy as np

    from gymsolve.runs.episodes import read_actors

    demo = find_demos([name], runs_dir)[-1]
    if demo.facts["end"] == "damaged":
        raise RunDamagedError("the file is not an episode of a person.", where=str(demo.path))
    episode = read_actors(demo.path)
    who = np.array([], str) if episode.who is None else episode.who
    names, counts = np.unique(who, return_counts=True)
    against = None
    if episode.proposed is not None and episode.who is not None:
        other = (episode.proposed != episode.actions).reshape(len(episode.actions), -1).any(axis=1)
        against = int((other & (who == "person")).sum())
    facts = demo.facts
    return ToldDemo(
        name=demo.name,
        path=str(demo.path),
        env_id=facts.get("env_id"),
        run=facts.get("run"),
        time=facts.get("time"),
        length=len(episode.actions),
        total_return=float(facts.get("return", 0.0)),
        end=str(facts.get("end")),
        seed=facts.get("seed"),
        acted={str(actor): int(count) for actor, count in zip(names, counts, strict=True)},
        against_policy=against,
        action_names=[str(name) for name in facts["action_names"]],
    )


def export(
    names: list[str], dataset: str, *, out: Path | None = None, runs_dir: RunsDir = None
) -> ExportedDemos:
    """Make a Minari dataset of the episodes that these names or environments mean."""
    from gymsolve.envs.minari_dataset import export_demos

    return ExportedDemos(**export_demos(find_demos(names, runs_dir), dataset, out=out))
