"""The end of a stage: other copies, a checkpoint, an event; and what counts where a run has stages."""

from typing import Any

from gymsolve.experience.rollout import Rollout
from gymsolve.extensions.extension import Change
from gymsolve.runs.run import Run
from gymsolve.runs.stage_checkpoints import mark_stage
from gymsolve.training.checkpoint import save
from gymsolve.training.observer import Observer
from gymsolve.training.trainer import Trainer

_OF_GOAL = ("rollout/ep_rew", "rollout/ep_shaped", "rollout/success")
"""How the metrics of training begin that evaluation is compared with."""


def advance_stage(trainer: Trainer, rollout: Rollout) -> Change | None:
    """Take a rollout that was learned from into account; returns a change of stage, if there is one."""
    stages, learner = trainer.stages, trainer.learner
    if stages is None:
        return None
    credit = learner.newest
    if credit is None:  # lessons stood in for the update
        credit = learner.credit(rollout, trainer.progress)
    env_steps = trainer.counters.env_steps
    change = stages.advance(rollout, credit, taken=trainer.taken, env_steps=env_steps)
    trainer.reassign_copies()
    return change


def finish_stage(trainer: Trainer, run: Run, observer: Observer, change: Change) -> None:
    """Save the checkpoint of the stage that ended, and log the change.

    It holds the state after the change, so a resume goes on with the next stage; and it says which evaluation
    is to come, so that a resume makes up for it.
    """
    save(trainer, run, "stage")
    _log_change(run, change.facts)
    observer.event(change.kind, change.facts)


def episode_metrics(trainer: Trainer) -> dict[str, float]:
    """Metrics of training episodes; with stages, returns and successes are those of the last one.

    Evaluation and the threshold are about that stage, and rules compare them.
    """
    metrics = trainer.window.metrics()
    if trainer.stages is None:
        return metrics
    goal = trainer.window.tasks[trainer.stages.stages[-1]].metrics()
    others = {name: value for name, value in metrics.items() if not name.startswith(_OF_GOAL)}
    return others | {name: value for name, value in goal.items() if name.startswith(_OF_GOAL)}


def repair_stage_events(trainer: Trainer, run: Run) -> None:
    """Let pointers and events say what the restored state says: a kill may have come between the writes."""
    stages = trainer.stages
    if stages is None:
        return
    kinds = ("promoted", "demoted")
    events = [event for event in run.read_events().rows if event["kind"] in kinds]
    logged = {(event["kind"], event.get("env_steps")) for event in events}
    for facts in stages.history:
        if (facts["kind"], facts["env_steps"]) not in logged:
            _log_change(run, facts)
    for stage, step in stages.masters.items():
        mark_stage(run, stage, str(step))


def _log_change(run: Run, facts: dict[str, Any]) -> None:
    if facts["kind"] == "promoted":
        mark_stage(run, facts["stage"], str(facts["env_steps"]))
    run.append_event(facts["kind"], **{key: value for key, value in facts.items() if key != "kind"})
