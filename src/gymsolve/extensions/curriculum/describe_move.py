"""A change of stage as its event stores it, and as one sentence."""

from typing import Any, Protocol

from gymsolve.extensions.curriculum.ladder import Move
from gymsolve.text import number, plural


class _Staged(Protocol):
    stages: tuple[str, ...]
    by_success: bool


def describe_move(curriculum: _Staged, move: Move, env_steps: int) -> dict[str, Any]:
    """Fields of the event, `kind` among them."""
    before, after = curriculum.stages[move.before], curriculum.stages[move.after]
    return {
        "kind": move.kind,
        "env_steps": env_steps,
        "stage": before,
        "next": after,
        "by": move.by,
        "judged": curriculum.stages[move.judged],
        "achieved": move.mean,
        "bound": move.bound,
        "bar": move.bar,
        "episodes": move.episodes,
        "text": _in_words(curriculum, move, before, after),
    }


def _in_words(curriculum: _Staged, move: Move, before: str, after: str) -> str:
    what = "successes" if curriculum.by_success else "return"
    seen = "" if move.mean is None else f"{what} {number(move.mean)} over {plural(move.episodes, 'episode')}"
    if move.kind == "demoted":
        judged = curriculum.stages[move.judged]
        return f"back from {before} to {after}: {judged} has collapsed ({seen}, {_bar(move, 'below')})"
    if move.by == "steps":
        proven = f" ({seen})" if seen else ""
        return f"stage {before} is over, its steps are spent{proven}; now {after}"
    return f"stage {before} is done: {seen}, {_bar(move, 'at least')}; now {after}"


def _bar(move: Move, word: str) -> str:
    """What was proved, and what was needed."""
    assert move.bound is not None
    assert move.bar is not None
    return f"surely {word} {number(move.bound)}, {number(move.bar)} needed"
