"""What a curriculum does to a training, between two rollouts: other copies, a master checkpoint, an event."""

from typing import Any

from gymsolve.experience.rollout import Rollout
from gymsolve.extensions.curriculum.curriculum import Curriculum
from gymsolve.extensions.curriculum.ladder import Move
from gymsolve.runs.run import Run
from gymsolve.runs.stage_checkpoints import mark_stage
from gymsolve.text import number, plural
from gymsolve.training.checkpoint import save
from gymsolve.training.observer import Observer
from gymsolve.training.trainer import Trainer

_OF_GOAL = ("rollout/ep_rew", "rollout/ep_shaped", "rollout/success")
"""How metrics of training begin that evaluation is compared with."""


def advance_curriculum(trainer: Trainer, rollout: Rollout) -> dict[str, Any] | None:
    """Take a rollout that was learned from into the curriculum; what moved, if there was reason to move."""
    curriculum, credit = trainer.curriculum, trainer.algorithm.newest
    assert curriculum is not None
    if credit is None:  # lessons from an archive stood in for the update
        credit = trainer.algorithm.credit(rollout, trainer.progress)
    tasks = rollout.task_numbers
    assert tasks is not None
    learned = credit.rows
    curriculum.hear(rollout.episodes, rollout.tasks, tasks[learned], credit.advantages[learned])
    before = curriculum.copies
    move = curriculum.advance(trainer.taken)
    if curriculum.copies != before:
        trainer.reassign(curriculum.copies)
    if move is None:
        return None
    facts = _facts(curriculum, move, trainer.counters.env_steps)
    curriculum.history.append(facts)
    if move.kind == "promoted":
        curriculum.masters[curriculum.stages[move.before]] = trainer.counters.env_steps
    return facts


def finish_stage(trainer: Trainer, run: Run, observer: Observer, facts: dict[str, Any]) -> None:
    """Save the master checkpoint of the stage that ended, and tell the move.

    It holds the state after the change, so a resume goes on with the next stage; and it says which evaluation
    is to come, so that a resume makes up for it.
    """
    save(trainer, run, "stage")
    _tell_move(trainer, run, facts)
    observer.event(facts["kind"], facts)


def episode_metrics(trainer: Trainer) -> dict[str, float]:
    """Metrics of training episodes; of a curriculum, returns and successes are those of its last stage.

    Evaluation and the threshold are about that stage, and rules compare them.
    """
    told = trainer.window.metrics()
    if trainer.curriculum is None:
        return told
    goal = trainer.window.tasks[trainer.curriculum.stages[-1]].metrics()
    kept = {name: value for name, value in told.items() if not name.startswith(_OF_GOAL)}
    return kept | {name: value for name, value in goal.items() if name.startswith(_OF_GOAL)}


def repair_stage_events(trainer: Trainer, run: Run) -> None:
    """Let pointers and events say what the restored state says: a kill may have come between the writes."""
    curriculum = trainer.curriculum
    if curriculum is None:
        return
    kinds = ("promoted", "demoted")
    told = [(one["kind"], one.get("env_steps")) for one in run.read_events().rows if one["kind"] in kinds]
    for facts in curriculum.history:
        if (facts["kind"], facts["env_steps"]) not in told:
            _tell_move(trainer, run, facts)
    for stage, step in curriculum.masters.items():
        mark_stage(run, stage, str(step))


def _tell_move(trainer: Trainer, run: Run, facts: dict[str, Any]) -> None:
    if facts["kind"] == "promoted":
        mark_stage(run, facts["stage"], str(facts["env_steps"]))
    run.append_event(facts["kind"], **{key: value for key, value in facts.items() if key != "kind"})


def _facts(curriculum: Curriculum, move: Move, env_steps: int) -> dict[str, Any]:
    """A move as events store it."""
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


def _in_words(curriculum: Curriculum, move: Move, before: str, after: str) -> str:
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
