"""The process behind the inspector's page: it plays episodes and reports their growth to the page.

A page sends verbs, and every verb is a function in `VERBS`. Rows and pictures do not pass through here: the
server reads them from the run's files. Where a verb fails, the page gets the error and the session goes on.
"""

import sys
from typing import Any

from gymsolve.apps.inspector import branch_verbs
from gymsolve.apps.inspector.recorder import LONGEST, Question
from gymsolve.apps.inspector.session import Desk, Verb, tell_done, teller, text_in, whole_in
from gymsolve.apps.serve import Channel
from gymsolve.errors import GymsolveError, UsageError
from gymsolve.settings.config import Role

_MOST_EPISODES = 100


def serve(channel: Channel, request: dict[str, Any]) -> None:
    """Answer one page until it is gone."""
    desk = Desk(channel, request)
    try:
        message = {"type": "episodes", **request}
        while True:
            _answer(desk, message)
            message = desk.next_message()
    finally:
        desk.close()


def _answer(desk: Desk, message: dict[str, Any]) -> None:
    kind, desk.asked = message.get("type"), message.get("id")
    verb = VERBS.get(kind) if isinstance(kind, str) else None
    try:
        if verb is None:
            if kind in ("stop", "pause", "continue"):  # it came after the end
                return
            raise UsageError(f"the inspector has no verb {str(kind)[:40]!r}.")
        verb(desk, message)
    except GymsolveError as error:
        if verb is play_episodes:  # the terminal shows this error too, as for other commands
            sys.stderr.write(f"error: {error}\n")
        desk.tell("failed", verb=kind, text=error.message, hint=error.hint, where=error.where)


def play_episodes(desk: Desk, message: dict[str, Any]) -> None:
    """Play or find the episodes of `count` seeds from `seed` on, one after the other."""
    examiner = desk.examiner(text_in(message, "checkpoint"))
    count = whole_in(message, "count", 1)
    if not 1 <= count <= _MOST_EPISODES:
        raise UsageError(f"1 to {_MOST_EPISODES} episodes are inspected at a time.", where="count")
    first = whole_in(message, "seed", examiner.config.seed)
    for seed in range(first, first + count):
        question = ask(message, seed)
        inspection = examiner.stored(question) if not message.get("again") else None
        if inspection is None:
            inspection = examiner.play(question, teller(desk))
        tell_done(desk, inspection)
        if inspection.facts["state"] != "whole":
            break
    desk.tell("done")


def ask(message: dict[str, Any], seed: int) -> Question:
    """The question that a message asks."""
    role: Role = "train" if message.get("role") == "train" else "eval"
    steps = whole_in(message, "steps", LONGEST)
    likeliest, task = message.get("sampled") is not True, text_in(message, "task")
    return Question(seed=seed, deterministic=likeliest, role=role, steps=steps, task=task)


def look(desk: Desk, message: dict[str, Any]) -> None:
    """Look into the network."""
    from gymsolve.apps.inspector.look_verbs import look as look_into  # torch, which small policies need not

    look_into(desk, message)


VERBS: dict[str, Verb] = {
    "episodes": play_episodes,
    "branch": branch_verbs.branch,
    "hand": branch_verbs.hand_over,
    "press": branch_verbs.press,
    "give_back": branch_verbs.give_back,
    "across": branch_verbs.compare_checkpoints,
    "look": look,
}
"""The verbs of a page, by the `type` of its message."""
