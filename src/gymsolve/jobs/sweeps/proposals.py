"""Optuna proposes configurations; its journal file keeps them.

A proposal is a function of the journal and of the scores so far: each one is drawn by a fresh sampler in a
draft of the study, made possible (`recipes/search/fitting.py`), and only then entered into the journal. So a
resumed sweep proposes what an uninterrupted one would have, and the journal holds what was trained.
"""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.errors import GymsolveError, MissingExtraError, RunDamagedError
from gymsolve.jobs.sweeps.ladder import Standing
from gymsolve.jobs.sweeps.stored import Sampler, Sweep
from gymsolve.recipes.search.check import setting_at
from gymsolve.recipes.search.fitting import draw_values, fit_values
from gymsolve.recipes.search.space import Dimension
from gymsolve.runs.files import explain_os_error
from gymsolve.text import setting

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial
    from optuna.trial import Trial as OptunaTrial

_WARM_UP = 10
"""Configurations that are spread evenly before a sampler has enough to learn from."""
_MOST_DRAWS = 50
_SETTINGS, _OUTSIDE = "settings", "outside"


@dataclass(frozen=True)
class Configuration:
    """A configuration in the journal."""

    number: int
    values: dict[str, Any]
    """The settings that differ from the recipe, by path."""


def require_optuna() -> None:
    """Refuse to go on without the optional packages."""
    try:
        import cmaes  # noqa: F401
        import optuna  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of(error.name or "optuna", "sweep") from error


class Journal:
    """The study of a sweep in its journal file, which one process writes."""

    def __init__(self, sweep: Sweep, *, reading: bool = False) -> None:
        require_optuna()
        from optuna import create_study
        from optuna.logging import ERROR, set_verbosity
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        set_verbosity(ERROR)
        self.sweep = sweep
        self.is_empty = reading and not sweep.journal.exists()
        if self.is_empty:
            return
        if (
            not reading
        ):  # the sweep's own lock is held: a lock file in the way is of a process that was killed
            Path(f"{sweep.journal}.lock").unlink(missing_ok=True)
        with _faults(sweep.journal):
            storage = JournalStorage(JournalFileBackend(str(sweep.journal)))
            self.study: Study = create_study(
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
            draft = _Draft(self.sweep, trials, standings, attempt)
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
        from optuna.trial import TrialState, create_trial

        dimensions = [each for each in self.sweep.space if each.path in values]
        params = {_name(each): _param(each, each.domain.nearest(values[each.path])) for each in dimensions}
        with _faults(self.sweep.journal):
            self.study.add_trial(
                create_trial(
                    state=TrialState.RUNNING,
                    params=params,
                    distributions={_name(each): _distribution(each) for each in dimensions},
                    user_attrs={_SETTINGS: settings, _OUTSIDE: list(outside)},
                    system_attrs=attributes,
                )
            )
        return Configuration(self._trials()[-1].number, settings)

    def report(self, standing: Standing) -> None:
        """Show the scores of a configuration in the journal, for Optuna's dashboard."""
        from optuna.trial import Trial

        frozen = self._trials()[standing.number]
        if frozen.state.is_finished():
            return
        with _faults(self.sweep.journal):
            trial = Trial(self.study, frozen._trial_id)
            for level, score in enumerate(standing.scores):
                if level not in frozen.intermediate_values and math.isfinite(score):
                    trial.report(score, level)

    def close_trials(self, standings: Mapping[int, Standing]) -> None:
        """Write how each configuration ended, once the search is over."""
        from optuna.trial import TrialState

        for trial in self._trials():
            standing = standings.get(trial.number)
            if trial.state.is_finished() or standing is None:
                continue
            self.report(standing)
            state, value = _state(standing, len(self.sweep.levels))
            with _faults(self.sweep.journal):
                if state == TrialState.RUNNING:
                    state = TrialState.FAIL
                self.study.tell(trial.number, value if state == TrialState.COMPLETE else None, state)


class _Draft:
    """One draw by a fresh sampler that knows all scores so far."""

    def __init__(
        self, sweep: Sweep, trials: "list[FrozenTrial]", standings: Mapping[int, Standing], attempt: int
    ) -> None:
        from optuna import create_study

        known = sum(bool(standing.scores) for standing in standings.values())
        name: Sampler = sweep.sampler
        if name in ("tpe", "gp", "cmaes") and known < min(_WARM_UP, max(3, sweep.trials // 3)):
            name = "qmc"
        if attempt:
            name = "random"  # what was drawn first was impossible
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # samplers call themselves experimental
            study = create_study(
                direction="maximize", sampler=_sampler(name, sweep.seed, len(trials), attempt)
            )
            if name == "qmc":
                study.add_trial(_middle(sweep))
                for _ in range(len(trials)):
                    _suggest(study.ask(), sweep.space[0])  # the sequence goes on where the journal ends
            else:
                study.add_trials(list(_history(sweep, trials, standings, pruning=name == "tpe")))
            trial = study.ask()
            self.values = draw_values(sweep.space, sweep.config, lambda each: _suggest(trial, each))
            self.attributes: dict[str, Any] = dict(study.trials[-1].system_attrs)


def _sampler(name: Sampler, seed: int, drawn: int, attempt: int) -> Any:
    from optuna import samplers

    own = (seed * 1_000_003 + drawn * 1009 + attempt) % 2**32
    kinds: dict[str, Any] = {
        "tpe": lambda: samplers.TPESampler(seed=own, n_startup_trials=1, multivariate=True, group=True),
        "random": lambda: samplers.RandomSampler(seed=own),
        "qmc": lambda: samplers.QMCSampler(seed=seed, scramble=True, warn_independent_sampling=False),
        "gp": lambda: samplers.GPSampler(seed=own, n_startup_trials=1),
        "cmaes": lambda: samplers.CmaEsSampler(seed=own, n_startup_trials=1, warn_independent_sampling=False),
    }
    return kinds[name]()


def _history(
    sweep: Sweep, trials: "list[FrozenTrial]", standings: Mapping[int, Standing], *, pruning: bool
) -> "Iterator[FrozenTrial]":
    """What a sampler may learn from: every configuration with its newest score, or as one that trains."""
    from optuna.trial import TrialState, create_trial

    scores = [s for each in standings.values() for s in each.scores if math.isfinite(s)]
    worst = min(scores, default=0.0)
    for trial in trials:
        standing = standings.get(trial.number, Standing(trial.number))
        if trial.user_attrs[_OUTSIDE]:
            continue  # the recipe has values that the space lacks
        if standing.broken:
            standing = Standing(standing.number, (worst,))
        state, value = _state(standing, len(sweep.levels) if pruning else 0)
        yield create_trial(
            state=state,
            value=value if state == TrialState.COMPLETE else None,
            params=trial.params,
            distributions=trial.distributions,
            intermediate_values={level: s for level, s in enumerate(standing.scores) if math.isfinite(s)},
            system_attrs=trial.system_attrs,
        )


def _state(standing: Standing, levels: int) -> tuple[Any, float | None]:
    """The state of a configuration in Optuna's words: pruned where it rests below the last level."""
    from optuna.trial import TrialState

    if standing.broken or not all(map(math.isfinite, standing.scores)):
        return TrialState.FAIL, None
    if not standing.scores:
        return TrialState.RUNNING, None
    state = TrialState.COMPLETE if standing.level >= levels else TrialState.PRUNED
    return state, standing.scores[-1]


def _middle(sweep: Sweep) -> "FrozenTrial":
    """A trial with every dimension: the sequence of points takes its dimensions from the first trial."""
    from optuna.trial import create_trial

    params = {_name(each): _param(each, each.domain.choices[0] if each.domain.choices else each.domain.low)
              for each in sweep.space}  # fmt: skip
    return create_trial(
        value=0.0, params=params, distributions={_name(e): _distribution(e) for e in sweep.space}
    )


def importances(
    sweep: Sweep, configurations: Sequence[Configuration], scores: Mapping[int, float]
) -> dict[str, float]:
    """The share of each setting in the differences between scores; of settings that always count."""
    from optuna import create_study
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
    from optuna.trial import create_trial

    always = [each for each in sweep.space if not each.when]
    tried = [each for each in configurations if each.values and each.number in scores]
    study = create_study(direction="maximize")
    for each in tried:
        params = {_name(d): _param(d, d.domain.nearest(each.values[d.path])) for d in always}
        spread = {_name(d): _distribution(d) for d in always}
        study.add_trial(create_trial(value=scores[each.number], params=params, distributions=spread))
    if len({scores[each.number] for each in tried}) < 2:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shares = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    names = {_name(each): each.path for each in always}
    return {names[name]: float(share) for name, share in shares.items()}


def _recipe(sweep: Sweep) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The recipe's own values within the space, and the paths of those that lie outside."""
    outside: list[str] = []

    def draw(dimension: Dimension) -> Any:
        own = setting_at(sweep.config, dimension.path)
        if dimension.domain.drawn_for(own) is None:
            outside.append(dimension.path)
        return dimension.domain.nearest(own)

    return draw_values(sweep.space, sweep.config, draw), tuple(outside)


# ---------------------------------------------------------------------- dimensions in Optuna's words


def _name(dimension: Dimension) -> str:
    names = {"one_minus_log": "1-{}", "pow2": "log2({})"}
    return names.get(dimension.domain.kind, "{}").format(dimension.path)


def _param(dimension: Dimension, drawn: Any) -> Any:
    """A number or choice as Optuna stores it."""
    domain = dimension.domain
    if domain.kind == "choice":
        return _labels(dimension)[list(domain.choices).index(drawn)]
    if domain.kind == "pow2":
        return round(math.log2(drawn))
    return round(drawn) if domain.kind in ("int", "logint") else float(drawn)


def _drawn(dimension: Dimension, param: Any) -> Any:
    domain = dimension.domain
    if domain.kind == "choice":
        return domain.choices[_labels(dimension).index(param)]
    return 2**param if domain.kind == "pow2" else param


def _labels(dimension: Dimension) -> list[str]:
    return [setting(choice) for choice in dimension.domain.choices]


def _distribution(dimension: Dimension) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    domain = dimension.domain
    if domain.kind == "choice":
        return CategoricalDistribution(tuple(_labels(dimension)))
    if domain.kind == "pow2":
        return IntDistribution(round(math.log2(domain.low)), round(math.log2(domain.high)))
    if domain.kind in ("int", "logint"):
        return IntDistribution(int(domain.low), int(domain.high), log=domain.kind == "logint")
    return FloatDistribution(domain.low, domain.high, log=domain.kind != "range")


def _suggest(trial: "OptunaTrial", dimension: Dimension) -> Any:
    return _drawn(dimension, trial._suggest(_name(dimension), _distribution(dimension)))


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Turn a fault of the disk, or a journal that is none, into one sentence."""
    try:
        yield
    except OSError as error:
        raise explain_os_error(error, path) from error
    except (ValueError, KeyError, TypeError, AssertionError) as error:  # Optuna raises all of them
        raise RunDamagedError("the journal cannot be read.", where=str(path)) from error
