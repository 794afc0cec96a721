"""The JSON that every command prints with `--json`: the table behind `docs/json.md` and its tests.

Most commands print the record of a verb. Commands that train or film print facts of the training; their
records stand here, and a test compares them with the printed JSON.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gymsolve.answers import Answer, left_out
from gymsolve.doctor.findings import Findings
from gymsolve.doctor.fix import PlannedFix
from gymsolve.jobs.seeds import SeedsVerdict
from gymsolve.jobs.start import StartedRun
from gymsolve.jobs.sweeps.report import SweepReport
from gymsolve.jobs.trials import TriedFix
from gymsolve.service.demos import ExportedDemos, ToldDemo
from gymsolve.service.edit_runs import DeletedRuns, LabelledRun
from gymsolve.service.environments import CheckedEnv, TunedSpeed
from gymsolve.service.evaluation import Evaluation
from gymsolve.service.logbook import Logbook, WrittenEntry
from gymsolve.service.machine import Machine
from gymsolve.service.recipes import CheckedRecipes, FormattedRecipes, ListedRecipe, ShownRecipe
from gymsolve.service.report import WrittenReport
from gymsolve.service.share import PulledRun, PushedRun
from gymsolve.service.sweeps import ListedSweep, PlannedSweep, StoppedSweep, WrittenVariant
from gymsolve.view.comparing import Comparison
from gymsolve.view.runs import ListedRun, RunDetails, StopRequest


@dataclass(frozen=True)
class RaisedAlert(Answer):
    """An alert that fired."""

    id: str
    severity: str
    active: bool
    """It still held when the run ended."""
    count: int
    because: str | None
    """Id of the alert that explains it."""


@dataclass(frozen=True)
class EndedRun(Answer):
    """How a training ended."""

    run: str
    path: str
    status: str
    reason: str
    """Why it ended: `solved`, `steps`, `time`, `stop file`, `interrupt`, `terminated` or `hangup`."""
    solved: bool
    env_steps: int
    seconds: float
    mean_reward: float | None
    """Mean return of the best evaluation, if there was one."""
    threshold: float | None
    """Mean return that counts as solved; null where none is known, or where successes decide."""
    success_rate: float | None = left_out()
    """Share of successes in the best evaluation, where that decides (`solved_by`)."""
    success_threshold: float | None = left_out()
    alerts: tuple[RaisedAlert, ...] = ()
    """Causes first, the most urgent in front, then what follows from them."""
    nothing_to_do: str | None = left_out()
    """Why a resume found nothing to do, and so changed nothing."""
    profile: Mapping[str, Any] | None = left_out()
    """With `--profile`: seconds by phase, and the path of the sampled stacks."""


@dataclass(frozen=True)
class Fault(Answer):
    """The cause of a failure."""

    message: str
    """One sentence."""
    where: str | None
    """The setting, option or path that it is about."""
    hint: str | None
    """A way to fix it."""
    exit_code: int
    bad: Mapping[str, Any] | None = left_out()
    """The number that was not finite, and where it came from."""


@dataclass(frozen=True)
class Failure(Answer):
    """An error; every command may print it instead of its answer, whatever its exit code says."""

    error: Fault


FILM = {
    "path": "the video",
    "run": "",
    "checkpoint": "the newest one that it shows",
    "env_steps": "steps of that checkpoint",
    "policy_sha256": "of the weights; not in a progression",
    "return": "mean of the whole episodes; of the last clip in a progression",
    "episodes": "each with `return`, `length`, `end` and, with `--data`, `data`; not in a progression",
    "clips": "of a progression: each with `checkpoint`, `env_steps`, `return`, `length` and `end`",
    "complete": "false if an episode was cut",
    "cut_by": "what cut it; not in a progression",
    "seed": "",
    "deterministic": "false if actions were sampled",
    "fps": "frames per second",
    "seconds": "length of the video",
    "width": "",
    "height": "",
    "time": "when it was made",
    "recording_seconds": "how long that took",
}
"""The keys that `record` prints; `return` is a keyword of Python, so no record can have it as a field."""

Printed = tuple[str, Any]
"""When a command prints it, and its type: an annotation, or keys with their meanings."""

_PROMPT = {
    "run": "its id",
    "episode": "its name",
    "prompt": "the text",
    "text_bytes": "its size",
    "picture_bytes": "size of the contact sheet",
    "digest": "of what would be sent",
}
_ENDED: tuple[Printed, ...] = (("", EndedRun), ("with `--detach`", StartedRun))
_EPISODE = {
    "episode": "its name in the run's folder `inspections`",
    "path": "that folder",
    "run": "the run",
    "checkpoint": "whose weights played",
    "env_steps": "that they were trained for",
    "seed": "of the episode",
    "deterministic": "false where actions were sampled",
    "length": "its steps",
    "return": "the raw one",
    "end": "`terminated`, `truncated` or `cut`",
    "notes": "what has to be said of it",
}
ANSWERS: dict[str, tuple[Printed, ...]] = {
    "train": (*_ENDED, ("with `--seeds`", SeedsVerdict)),
    "resume": (*_ENDED, ("of `group:ID`", SeedsVerdict)),
    "fork": _ENDED,
    "eval": (("", Evaluation),),
    "record": (("", FILM),),
    "stop": (("", StopRequest),),
    "push": (("", PushedRun),),
    "pull": (("", PulledRun),),
    "runs list": (("", list[ListedRun]),),
    "runs show": (("", RunDetails),),
    "runs compare": (("", Comparison),),
    "runs rename": (("", LabelledRun),),
    "runs tag": (("", list[LabelledRun]),),
    "runs delete": (("", DeletedRuns),),
    "recipes list": (("", list[ListedRecipe]),),
    "recipes show": (("", ShownRecipe),),
    "recipes check": (("", CheckedRecipes),),
    "recipes format": (("", FormattedRecipes),),
    "roms list": (("", dict[str, list[str]]),),
    "roms import": (("", list[dict[str, str | None]]),),
    "roms state": (("", {"state": "its name", "path": "its file", "variables": "of the game's memory"}),),
    "demos list": (("", list[ToldDemo]),),
    "demos show": (("", ToldDemo),),
    "demos export": (("", ExportedDemos),),
    "inspect": (("", _EPISODE),),
    "review": (("", _PROMPT), ("with `--send`", {**_PROMPT, "review": "the answer, who gave it and when"})),
    "log list": (("", Logbook),),
    "log add": (("", WrittenEntry),),
    "diagnose": (("", Findings),),
    "report": (("", WrittenReport),),
    "fix": (("", TriedFix), ("with `--dry-run`, or where there is nothing to try", PlannedFix)),
    "check": (("", CheckedEnv),),
    "doctor": (("", Machine),),
    "bench": (("", {"machine": "what it was measured on", "results": "all figures, by part"}),),
    "tune-speed": (("", TunedSpeed),),
    "sweep start": (("", SweepReport), ("with `--dry-run`", PlannedSweep)),
    "sweep resume": (("", SweepReport),),
    "sweep list": (("", list[ListedSweep]),),
    "sweep show": (("", SweepReport),),
    "sweep stop": (("", StoppedSweep),),
    "sweep write": (("", WrittenVariant),),
}
"""The answers of each command, without the word gymsolve."""
