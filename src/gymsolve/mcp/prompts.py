"""Texts for agents, from `texts/`: instructions of the server, prompts, a skill for agents with a shell."""

from dataclasses import dataclass
from pathlib import Path

_TEXTS = Path(__file__).parent / "texts"


@dataclass(frozen=True)
class Prompt:
    """A prompt with one argument, which stands in braces in `texts/<name>.md`."""

    name: str
    about: str
    argument: str
    argument_about: str


PROMPTS = (
    Prompt("solve", "Solve an environment", "env", "A recipe or a Gymnasium id"),
    Prompt("explain_run", "Explain a run", "run", "A run"),
    Prompt("why_not_learning", "Find out why a run does not learn", "run", "A run"),
    Prompt("next_tasks", "Propose the next learning tasks", "goal", "What the person wants to reach"),
    Prompt("night_shift", "Work unattended until morning", "goal", "What the person wants to reach"),
)


def read_text(name: str) -> str:
    """One of the texts, by the name of its file."""
    return (_TEXTS / f"{name}.md").read_text(encoding="utf-8")
