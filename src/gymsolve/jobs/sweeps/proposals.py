"""Optuna proposes configurations; its journal file keeps them.

A proposal is a function of the journal and of the scores so far: each one is drawn by a fresh sampler in a
draft of the study, made possible (`recipes/search/fitting.py`), and only then entered into the journal. So a
resumed sweep proposes what an uninterrupted one would have, and the journal holds what was trained.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.errors import GymsolveError, RunDamagedError
from gymsolve.jobs.sweeps.drafts import OUTSIDE, Draft, state_of
from gymsolve.jobs.sweeps.ladder import Standing
from gymsolve.jobs.sweeps.optuna_space import distribution_of, load_optuna, name_of, to_param
from gymsolve.jobs.sweeps.stored import Sweep
from gymsolve.recipes.search.check import setting_at
from gymsolve.recipes.search.fitting import draw_values, fit_values
from gymsolve.recipes.search.space import Dimension
from gymsolve.runs.files import explain_os_error

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

_MOST_DRAWS = 50
_SETTINGS = "settings"


@dataclass(frozen=True)
class Configuration:
    """A configuration in the journal."""

    number: int
    values: dict[str, Any]
    """The settings that differ from the recipe, by path."""


class Journal:
    """The study of a sweep in its journal file, which one process writes."""

    def __init__(self, sweep: Sweep, *, reading: bool = False) -> None:
        self.optuna = optuna = load_optuna()
        self.sweep = sweep
        self.is_empty = reading and not sweep.journal.exists()
        if self.is_empty:
            return
        if (
            not reading
        ):  # the sweep's own lock is held: a lock file in the way is of a process that was killed
            Path(f"{sweep.journal}.lock").unlink(missing_ok=True)
        with _faults(sweep.journal):
            storage = optuna.storages.JournalStorage(
                optuna.storages.journal.JournalFileBackend(str(sweep.journal))
            )
            self.study: Study = optuna.create_study(
                storage=storage, study_name=sweep.id, direction="maximize", load_if_exists=True
            )

    def configurations(self) -> list[Configuration]:
        """All configurations in their order."""
        if self.is_empty:
            return []
        return [Configuration(trial.number, dict(trial.user_attrs[_SETTINGS])) for trial in self._trials()]

    def _trials(self) -> "list[FrozenTrial]":
        with _faults(self.sweep.journal):
            trials: list[FrozenTrial] = self.study.get_trials(deepcopy=False)
        if any(_SETTINGS not in trial.user_attrs for trial in trials):
            place, hint = str(self.sweep.journal), "Add trials with gymsolve alone."
            raise RunDamagedError("the journal holds trials of another program.", where=place, hint=hint)
        return trials

    def propose(self, standings: Mapping[int, Standing]) -> Configuration:
        """Enter the next configuration: first the recipe itself, then what the sampler thinks best."""
        trials = self._trials()
        if not trials:
            values, outside = _recipe(self.sweep)
            return self._enter(values, {}, {}, outside)
        for attempt in range(_MOST_DRAWS):
            draft = Draft(self.sweep, trials, standings, attempt)
            fitted = fit_values(self.sweep.space, self.sweep.config, draft.values)
            if fitted is not None:
                return self._enter(fitted, fitted, draft.attributes)
        raise GymsolveError(
            f"none of {_MOST_DRAWS} drawn configurations is possible with the other settings.",
            where=self.sweep.space[0].where,
            hint="Narrow the ranges, or raise --steps.",
        )

    def _enter(
        self,
        values: dict[str, Any],
        settings: dict[str, Any],
        attributes: dict[str, Any],
        outside: tuple[str, ...] = (),
    ) -> Configuration:
        """Add a trial with these values of the space and these settings beside the recipe's."""

        dimensions = [each for each in self.sweep.space if each.path in values]
        params = {
            name_of(each): to_param(each, each.domain.nearest(values[each.path])) for each in dimensions
        }
        with _faults(self.sweep.journal):
            self.study.add_trial(
                self.optuna.trial.create_trial(
                    state=self.optuna.trial.TrialState.RUNNING,
                    params=params,
                    distributions={name_of(each): distribution_of(each) for each in dimensions},
                    user_attrs={_SETTINGS: settings, OUTSIDE: list(outside)},
                    system_attrs=attributes,
                )
            )
        return Configuration(self._trials()[-1].number, settings)

    def report(self, standing: Standing) -> None:
        """Show the scores of a configuration in the journal, for Optuna's dashboard."""

        frozen = self._trials()[standing.number]
        if frozen.state.is_finished():
            return
        with _faults(self.sweep.journal):
            trial = self.optuna.trial.Trial(self.study, frozen._trial_id)
            for level, score in enumerate(standing.scores):
                if level not in frozen.intermediate_values and math.isfinite(score):
                    trial.report(score, level)

    def close_trials(self, standings: Mapping[int, Standing]) -> None:
        """Write how each configuration ended, once the search is over."""

        for trial in self._trials():
            standing = standings.get(trial.number)
            if trial.state.is_finished() or standing is None:
                continue
            self.report(standing)
            state, value = state_of(standing, len(self.sweep.levels))
            kinds = self.optuna.trial.TrialState
            state = kinds.FAIL if state == kinds.RUNNING else state
            with _faults(self.sweep.journal):
                self.study.tell(trial.number, value if state == kinds.COMPLETE else None, state)


def _recipe(sweep: Sweep) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The recipe's own values within the space, and the paths of those that lie outside."""
    outside: list[str] = []

    def draw(dimension: Dimension) -> Any:
        own = setting_at(sweep.config, dimension.path)
        if dimension.domain.drawn_for(own) is None:
            outside.append(dimension.path)
        return dimension.domain.nearest(own)

    return draw_values(sweep.space, sweep.config, draw), tuple(outside)


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Turn a fault of the disk, or a journal that is none, into one sentence."""
    try:
        yield
    except OSError as error:
        raise explain_os_error(error, path) from error
    except (ValueError, KeyError, TypeError, AssertionError) as error:  # Optuna raises all of them
        raise RunDamagedError("the journal cannot be read.", where=str(path)) from error
