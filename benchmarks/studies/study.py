"""What a study is, how one of its trainings is made, and what is kept of it."""

import multiprocessing
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymsolve
from gymsolve.runs.run import Run
from gymsolve.runs.trust import buildable_settings
from gymsolve.settings.config import TrainConfig
from gymsolve.training.evaluation.evaluate import EvalResult, Evaluator

__all__ = ["Case", "Row", "Study", "evaluate_in", "mean_and_range", "newest_run", "train_case", "train_one"]

Row = dict[str, Any]
"""What is stored of a case: its key and figures."""


@dataclass(frozen=True)
class Case:
    """One training of a study."""

    study: str
    arm: str
    env: str
    seed: int
    steps: int

    @property
    def key(self) -> str:
        return f"{self.arm}/{self.env}/{self.seed}"

    def folder(self, root: Path) -> Path:
        """Where its run lies."""
        return root / self.study / self.key.replace("/", "__").replace(":", "-")


@dataclass(frozen=True)
class Study:
    """A question, how it is asked, and what the answers mean."""

    name: str
    title: str
    design: str
    cases: Callable[[Sequence[int]], list[Case]]
    """The trainings for these seeds, in the order in which they must be made."""
    run: Callable[[Case, Path], Row]
    """Makes one training; the folder is that of the whole study's runs."""
    page: Callable[[list[Row]], list[str]]
    """Lines of Markdown on the results, of which there is one at least."""
    seeds: int = 3
    note: str = ""
    """What a reader of the stored results must know, such as that the code has changed since."""


def train_case(study: Study, case: Case, root: Path) -> Row | None:
    """Make a case in a process of its own, so that what it changes ends with it; None if it failed."""
    shutil.rmtree(case.folder(root), ignore_errors=True)
    mine, theirs = multiprocessing.Pipe()
    worker = multiprocessing.get_context("fork").Process(
        target=_answer, args=(study, case, root, theirs), daemon=False
    )
    worker.start()
    theirs.close()
    try:
        found: Row = mine.recv()
    except EOFError:
        return None
    finally:
        worker.join()
    return {"arm": case.arm, "env": case.env, "seed": case.seed, "steps": case.steps, **found}


def _answer(study: Study, case: Case, root: Path, connection: Any) -> None:
    connection.send(study.run(case, root))


def train_one(
    case: Case, root: Path, settings: Mapping[str, Any], *, points: int = 10, start_from: str | None = None
) -> Row:
    """Train for exactly the steps of the case, judged at `points` equal distances; the curve and its mean."""
    fixed = {
        "eval.every": case.steps // points,
        "eval.stop_when_solved": False,
        "eval.max_seconds": 1e9,  # a busy machine must not change a result
        "video.enabled": False,
        "checkpoint.keep": 2,
    }
    outcome = gymsolve.train(
        case.env,
        fixed | dict(settings),
        seed=case.seed,
        steps=case.steps,
        start_from=start_from,
        runs_dir=case.folder(root),
    )
    rows = [row for row in outcome.run.read_metrics().rows if "eval/mean_reward" in row]
    curve = [[int(row["env_steps"]), round(float(row["eval/mean_reward"]), 4)] for row in rows]
    values = [value for step, value in curve if step > 0]
    found: Row = {"curve": curve, "mean_of_curve": round(sum(values) / len(values), 4), "last": values[-1]}
    rates = [row["eval/success_rate"] for row in rows if "eval/success_rate" in row]
    return found | ({"success_curve": rates} if rates else {})


def newest_run(folder: Path) -> Run:
    """The run of a case."""
    return gymsolve.open_run(sorted(path.parent for path in folder.glob("*/run.json"))[-1])


def evaluate_in(
    run: Run, which: str, change: Callable[[TrainConfig], TrainConfig], episodes: int
) -> EvalResult:
    """Fresh whole episodes of a run's policy in environments with other settings."""
    policy = gymsolve.load_policy(f"{run.path}@{which}").policy
    config, _ = buildable_settings(run)
    evaluator = Evaluator(change(config), None)
    try:
        return evaluator.play(policy, episodes, held_out=True)
    finally:
        evaluator.close()


def mean_and_range(values: Sequence[float]) -> str:
    """A mean with the smallest and the largest value."""
    if not values:
        return "–"
    mean = sum(values) / len(values)
    return f"{mean:.3g} ({min(values):.3g} to {max(values):.3g})" if len(values) > 1 else f"{mean:.3g}"
