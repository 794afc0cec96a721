"""The alert on the error that ended a run: no record holds the error, so no rule can see it.

The training process makes the alert on a bad number from its error; readers make it from the `error` event.
All other alerts are made from the reason that `run.json` gives, also where the process left none.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.doctor.alerts import Alert, AlertTracker
from gymsolve.doctor.rules import RULES
from gymsolve.doctor.rules.remedies import all_of, set_to
from gymsolve.doctor.rules.remedy_limits import prescribe
from gymsolve.doctor.rules.rule import Context, Evidence, ProposedChange
from gymsolve.errors import BadNumber


@dataclass(frozen=True)
class Failure:
    """A way in which runs end before their time."""

    id: str
    words: re.Pattern[str]
    """Matches the text of its error."""
    title: str
    cause: str
    remedy: str
    """Advice for the time before the run is resumed."""


FAILURES = (
    Failure(
        "out_of_memory",
        re.compile(r"MemoryError|out of memory|cannot allocate memory|bad_alloc", re.IGNORECASE),
        "there was not enough memory",
        "rollouts, copies of the environment or the network need more memory than the machine has to give",
        "lower env.num_envs, algo.num_steps or env.frame_stack, or end other programs",
    ),
    Failure(
        "disk_full",
        re.compile(r"no space left|no room|disk is full|disk quota", re.IGNORECASE),
        "the disk was full",
        "checkpoints, videos and records need room where the runs are",
        "make room, or keep fewer checkpoints (checkpoint.keep)",
    ),
    Failure(
        "hang",
        re.compile(
            r"did not (?:return|answer|react)|has not returned|nothing has moved|timed out|TimeoutError",
            re.IGNORECASE,
        ),
        "the environment did not come back",
        "a step or a reset of the environment hangs, or takes far longer than usual",
        "look for what it waits for: `gymsolve check ENV` steps it alone",
    ),
    Failure(
        "worker_lost",
        re.compile(
            r"lost again and again|worker.* died|process of .* (?:was killed|ended by itself)"
            r"|evaluation process",
            re.IGNORECASE,
        ),
        "processes of the environment died",
        "native code of the environment crashes, or the system ended its processes for lack of memory",
        "try it in one process with env.backend=sync, which shows the error, or with fewer copies",
    ),
    Failure(
        "env_crashed",
        re.compile(r"^EnvFaultError"),
        "the environment's code failed",
        "the environment, or a wrapper around it, raised an error or broke Gymnasium's contract",
        "mend the environment; `--debug` shows the whole traceback",
    ),
    Failure(
        "killed",
        re.compile(r"without a word|process is gone"),
        "the process was ended from outside",
        "the system ran out of memory (`dmesg` tells), a batch system's time was up, the machine restarted, "
        "or somebody killed it",
        "give it more memory or time if it lacked them, or lower env.num_envs",
    ),
    Failure(
        "crashed",
        re.compile(""),
        "an error ended the run",
        "code of gymsolve, of a wrapper or of a library failed",
        "`--debug` shows the whole traceback",
    ),
)
"""The first one whose pattern matches an error gives it its name."""

_DEBUG = "With --debug you see the traceback."
"""The last sentence of errors of environments; the remedy says it too."""
_METRICS = {
    "observation": "obs/abs_max",
    "reward": "rollout/reward_mean",
    "action": "action/mean",
    "log_prob": "train/approx_kl",
    "value": "rollout/value_mean",
    "advantage": "rollout/advantage_mean",
    "gradient": "train/grad_norm",
}
"""The metric that would have shown the bad number."""
_CAUSES = {
    "observation": "the environment itself returned it",
    "reward": "the environment itself returned it, or rewards are too large to be scaled",
    "action": "the policy gave it to the environment: its weights, or what it sees, became too large",
    "log_prob": "the policy's weights, or what it sees, became too large",
    "value": "the value network's weights, or what it sees, became too large",
    "advantage": "rewards or values are too large for their sums",
}
_ENVIRONMENTS_OWN = ("observation", "reward")


def failure_alert(tracker: AlertTracker, text: str, bad: BadNumber | None) -> Alert:
    """`text` is the error in words; runs of older versions have nothing more."""
    rule = next(rule for rule in RULES if rule.id == "nonfinite")
    what = "loss" if bad is None else bad.what
    step = tracker.history.env_steps if bad is None or bad.env_steps is None else bad.env_steps
    judged = bad is not None and bad.role == "eval"
    metric = "eval/mean_reward" if judged else _METRICS.get(what, "train/loss")
    note = text if bad is None else _describe(bad)
    evidence = Evidence(metric, float("nan"), 0.0, "≠", note, meaning=what, bad=bad)
    return _ending(
        evidence,
        step,
        id=rule.id,
        signal=rule.signal,
        severity=rule.severity,
        title=rule.title,
        cause=_CAUSES.get(what, "the weights ran away: a learning rate far too high"),
        changes=prescribe(tracker.context, _remedy(what, tracker.context, evidence)).changes,
        effect="" if what in _ENVIRONMENTS_OWN else str(rule.effect),
    )


def crash_alert(
    tracker: AlertTracker, text: str, *, at: Mapping[str, Any] | None, run: str, saved: str
) -> Alert:
    """`text` is the error in words, `at` where in the user's code it arose, `saved` the newest checkpoint."""
    kind = next(failure for failure in FAILURES if failure.words.search(text))
    step = tracker.history.env_steps
    where, reason = "", text.removeprefix("EnvFaultError: ").removesuffix(_DEBUG).rstrip(". ")
    if at is not None and f"{Path(str(at.get('file'))).name}, line {at.get('line')}" not in text:
        where = f" ({at.get('file')}, line {at.get('line')}, in {at.get('function')})"
    start = f"checkpoint {saved}" if saved else "step 0, since there is no checkpoint"
    return _ending(
        Evidence("env_steps", float(step), float(step), "", f"{reason}{where}"),
        step,
        id=kind.id,
        signal=1,
        severity="error",
        title=kind.title,
        cause=kind.cause,
        changes=(),
        effect="",
        instead=f"{kind.remedy}; then `gymsolve resume {run}` goes on from {start}",
    )


def _ending(evidence: Evidence, step: int, **about: Any) -> Alert:
    """An alert that fired once, at the step at which the run ended."""
    spent: dict[str, Any] = {"share": 0.0, "steps": 0, "seconds": 0.0}
    return Alert(evidence=evidence, step=step, onset=step, active=True, count=1, ended=True, **spent, **about)


def bad_number_of(events: Iterable[dict[str, Any]]) -> BadNumber | None:
    """The bad number in the newest `error` event; None where the error was about something else."""
    errors = [event for event in events if event["kind"] == "error"]
    stored = errors[-1].get("bad") if errors else None
    return None if stored is None else BadNumber.from_json(stored)


def _describe(bad: BadNumber) -> str:
    whose = "" if bad.env is None else f" of environment {bad.env}"
    return f"{bad.number} in {bad.place}{whose}{bad.moment}"


def _remedy(what: str, context: Context, evidence: Evidence) -> list[ProposedChange]:
    if what in _ENVIRONMENTS_OWN:
        return []
    rule = next(rule for rule in RULES if rule.id == "nonfinite")
    if what in ("action", "log_prob", "value"):
        return all_of(set_to("net.normalize_obs", "running"), rule.remedy)(context, evidence)
    if what == "advantage":
        return set_to("algo.normalize_rewards", True)(context, evidence)
    return rule.remedy(context, evidence)
