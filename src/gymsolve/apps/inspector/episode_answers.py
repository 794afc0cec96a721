"""Plays an episode of a run in a process of its own, as the inspector does, and gives it step by step.

The episode is stored in the run: another page of its table is read, not played again, and people find it in
the inspector.
"""

from dataclasses import dataclass
from typing import Any

from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.apps.review.review_text import shown_states
from gymsolve.errors import UsageError
from gymsolve.jobs.calls import call_command
from gymsolve.jobs.request import flag_words
from gymsolve.runs import Run
from gymsolve.runs.inspections import open_inspection
from gymsolve.spec import Array
from gymsolve.view.pictures import frame_sheet

_MOST_PARTS = 8
_HOW: dict[bool | None, list[str]] = {None: [], True: ["--sample"], False: ["--likeliest"]}


@dataclass(frozen=True)
class EpisodeWish:
    """The episode to play."""

    checkpoint: str | None = None
    seed: int | None = None
    sample: bool | None = None
    """Sample actions or take the likeliest; None does as the run's own evaluations."""
    task: str | None = None
    steps: int | None = None
    """The most steps; a longer episode is cut."""
    camera: bool = True


@dataclass(frozen=True)
class Seen:
    """One entry of the network's input in a state: numbers, or channels of a picture [C, H, W]."""

    entry: str
    given: Array
    taken: Array | None = None
    """The numbers as the network scales them; None for pictures."""

    @property
    def is_picture(self) -> bool:
        return self.given.ndim == 3


def open_episode(run: Run, wish: EpisodeWish) -> InspectedEpisode:
    """Play one whole episode, unless it is there already."""
    ref = f"{run.path}@{wish.checkpoint}" if wish.checkpoint else str(run.path)
    words = ["inspect", ref, *flag_words("--seed", wish.seed), *flag_words("--task", wish.task)]
    words += [*flag_words("--steps", wish.steps), *_HOW[wish.sample]]
    words += [] if wish.camera else ["--no-camera"]
    return read_episode(run, call_command(words)["episode"])


def read_episode(run: Run, name: str) -> InspectedEpisode:
    """A stored episode by the name of its folder."""
    episode = InspectedEpisode(open_inspection(run, name))
    if not len(episode):
        raise UsageError("the episode has no step yet.", where="episode")
    return episode


def episode_rows(episode: InspectedEpisode, first: int, last: int) -> list[dict[str, Any]]:
    """Action, probability, reward, return and value of each step."""
    count = len(episode)
    if first >= count:
        raise UsageError(f"the episode has {count} steps; there is no step {first}.", where="first_step")
    sure = episode.likelihoods
    sureness = "p" if episode.spec.action.nvec else "density"  # of a box
    columns = {sureness: sure, "reward": episode.rewards, "return": episode.column("raw_return")}
    columns |= {"value": episode.values, **dict(list(episode.components.items())[:_MOST_PARTS])}
    labels = episode.labels
    return [
        {"step": step, "action": labels[step]}
        | {name: float(column[step]) for name, column in columns.items()}
        for step in range(first, min(count, last + 1))
    ]


def contact_sheet(episode: InspectedEpisode, most: int) -> tuple[bytes, list[int]]:
    """A PNG with pictures of some states side by side, and these states; empty without a camera."""
    frames = [(state, episode.stored.read_frame(state)) for state in shown_states(episode, most)]
    kept = [(state, encoded) for state, encoded in frames if encoded]
    sheet = frame_sheet([(f"state {state}", encoded) for state, encoded in kept]) if kept else b""
    return sheet, [state for state, _ in kept]


def seen_at(episode: InspectedEpisode, state: int) -> list[Seen]:
    """The network's input in a state, entry by entry."""
    observed, scaled = episode.observation(state), episode.seen
    return [
        Seen(entry, values[0], None if entry not in scaled else scaled[entry][state])
        for entry, values in observed.items()
    ]
