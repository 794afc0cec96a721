"""Plays episodes of a run in a process of its own, and gives one step by step."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.errors import UsageError
from gymsolve.service.answers import Answer
from gymsolve.service.calls import call_command
from gymsolve.service.runs import RunsDir
from gymsolve.service.start import flag_words

__all__ = ["PlayedEpisode", "play_episode"]

_LONGEST_VIDEO = 120


@dataclass(frozen=True)
class PlayedEpisode(Answer):
    """One episode, and some of its steps."""

    run: str
    checkpoint: str
    seed: int
    length: int
    total_return: float
    end: str
    """`terminated`, `truncated` or `cut`."""
    action_names: list[str]
    steps: list[dict[str, Any]]
    """Row t: what was done in step t, what it paid, the sum so far, what the critic expected before it."""
    video: str
    data: str


def play_episode(
    ref: str,
    *,
    seed: int | None = None,
    stochastic: bool = False,
    first: int = 0,
    last: int | None = None,
    runs_dir: RunsDir = None,
) -> PlayedEpisode:
    """Play one whole episode of `RUN[@CHECKPOINT]`; `first` and `last` choose the steps that are told."""
    from gymsolve.runs.episodes import load_episode  # NumPy

    words = ["record", ref, "--data", "--no-overlay", "--max-seconds", str(_LONGEST_VIDEO)]
    words += [*flag_words("--seed", seed), *flag_words("--runs-dir", runs_dir)]
    told = call_command([*words, *(["--stochastic"] if stochastic else [])])
    episode = load_episode(Path(told["episodes"][0]["data"]))
    length = int(episode.facts["length"])
    if first >= length:
        raise UsageError(f"the episode has {length} steps; there is no step {first}.", where="first_step")
    rows = [
        {
            "step": step,
            "action": episode.actions[step].tolist(),
            "reward": float(episode.rewards[step]),
            "return": float(episode.returns[step]),
            "value": float(episode.values[step]),
        }
        for step in range(first, length if last is None else min(length, last + 1))
    ]
    return PlayedEpisode(
        run=told["run"],
        checkpoint=told["checkpoint"],
        seed=told["seed"],
        length=length,
        total_return=float(episode.facts["return"]),
        end=episode.facts["end"],
        action_names=episode.facts.get("action_names", []),
        steps=rows,
        video=told["path"],
        data=told["episodes"][0]["data"],
    )
