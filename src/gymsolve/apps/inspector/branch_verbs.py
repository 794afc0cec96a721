"""Verbs of the inspector's page about branches: a forced action, a person who acts, other checkpoints."""

from typing import Any

from gymsolve.apps.inspector.branching import Forced, branch_off, require_checkpoint, same_question
from gymsolve.apps.inspector.checkpoint_diff import compare_episodes
from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.apps.inspector.session import Desk, teller, text_in, whole_in
from gymsolve.apps.inspector.takeover import Hand
from gymsolve.apps.play.keys import keys_in, levels_in
from gymsolve.errors import UsageError
from gymsolve.runs.inspections import Inspection, open_inspection

_MOST_CHECKPOINTS = 8
_HAND = "hand"


def branch(desk: Desk, message: dict[str, Any]) -> None:
    """Force `action` (in the policy's units) in `step` of `episode`, and play on."""
    given = message.get("action")
    if not isinstance(given, list):
        raise UsageError("the action is a list of numbers.", where="action")
    _tell_branch(desk, _episode(desk, message), {whole_in(message, "step", 0): tuple(given)})


def hand_over(desk: Desk, message: dict[str, Any]) -> None:
    """Let a person act from `step` of `episode` on: one step per `press`, until `give_back`."""
    parent = _episode(desk, message)
    examiner = desk.examiner(parent.facts["checkpoint"])
    require_checkpoint(examiner, parent)
    hand = Hand(examiner, parent, whole_in(message, "step", 0))
    desk.keep(_HAND, hand)
    desk.tell("done", hand.picture(), hand=hand.to_json(), controls=hand.controls.to_json())


def press(desk: Desk, message: dict[str, Any]) -> None:
    """One step with the keys that are `pressed`, and sliders at `levels`."""
    hand = _hand(desk)
    hand.press(keys_in(message), levels_in(message))
    desk.tell("done", hand.picture(), hand=hand.to_json())


def give_back(desk: Desk, message: dict[str, Any]) -> None:
    """Let the policy go on from the person's last step; with `drop`, discard those steps."""
    hand = _hand(desk)
    desk.keep(_HAND, None)
    if message.get("drop") is True or not hand.forced:
        desk.tell("done")
    else:
        _tell_branch(desk, hand.parent, hand.forced)


def compare_checkpoints(desk: Desk, message: dict[str, Any]) -> None:
    """Play the seed of `episode` under each of `checkpoints`, and report where they first disagree."""
    parent, names = _episode(desk, message), message.get("checkpoints")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError("checkpoints are a list of names.", where="checkpoints")
    others = [name for name in dict.fromkeys(names) if name != parent.facts["checkpoint"]]
    if not 1 <= len(others) <= _MOST_CHECKPOINTS:
        raise UsageError(f"choose 1 to {_MOST_CHECKPOINTS} other checkpoints.", where="checkpoints")
    wanted = same_question(desk.examiner(parent.facts["checkpoint"]), parent, {})
    played: list[InspectedEpisode] = []
    for name in (parent.facts["checkpoint"], *others):
        inspection = desk.examiner(name).inspect(wanted, teller(desk))
        if inspection.facts["state"] != "whole":
            raise UsageError("it was stopped before the end.", hint="Compare again.")
        played.append(InspectedEpisode(inspection))
    desk.tell("done", compared=compare_episodes(played))


def _tell_branch(desk: Desk, parent: Inspection, forced: Forced) -> None:
    examiner = desk.examiner(parent.facts["checkpoint"])
    pair = branch_off(examiner, parent, forced, teller(desk))
    if pair.child.facts["state"] != "whole":
        raise UsageError("the branch was stopped before its end.", hint="Branch again.")
    desk.tell("done", branch=pair.to_json(), episode=pair.child.stored.summary())


def _episode(desk: Desk, message: dict[str, Any]) -> Inspection:
    inspection = open_inspection(desk.run, text_in(message, "episode") or "")
    if inspection.facts["state"] == "playing":
        raise UsageError("the episode is still being played.", hint="Wait for its end, or stop it.")
    return inspection


def _hand(desk: Desk) -> Hand:
    hand = desk.kept.get(_HAND)
    if not isinstance(hand, Hand):
        raise UsageError("nobody has taken over.", hint="Take over first.")
    return hand
