"""Draws a configuration: in a draft of the study, by a fresh sampler that knows all scores so far."""

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gymsolve.jobs.sweeps.ladder import Standing
from gymsolve.jobs.sweeps.optuna_space import distribution_of, load_optuna, name_of, suggest_value, to_param
from gymsolve.jobs.sweeps.stored import Sampler, Sweep
from gymsolve.recipes.search.fitting import draw_values

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

_WARM_UP = 10
"""Configurations that are spread evenly before a sampler has enough to learn from."""
OUTSIDE = "outside"
"""The attribute of a trial that lists settings whose values lie outside of the space."""


class Draft:
    """One draw by a fresh sampler that knows all scores so far."""

    def __init__(
        self, sweep: Sweep, trials: "list[FrozenTrial]", standings: Mapping[int, Standing], attempt: int
    ) -> None:

        known = sum(bool(standing.scores) for standing in standings.values())
        name: Sampler = sweep.sampler
        if name in ("tpe", "gp", "cmaes") and known < min(_WARM_UP, max(3, sweep.trials // 3)):
            name = "qmc"
        if attempt:
            name = "random"  # what was drawn first was impossible
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # samplers call themselves experimental
            study = load_optuna().create_study(
                direction="maximize", sampler=_sampler(name, sweep.seed, len(trials), attempt)
            )
            if name == "qmc":
                study.add_trial(_middle(sweep))
                for _ in range(len(trials)):
                    suggest_value(study.ask(), sweep.space[0])  # the sequence goes on where the journal ends
            else:
                study.add_trials(list(_history(sweep, trials, standings, pruning=name == "tpe")))
            trial = study.ask()
            self.values = draw_values(sweep.space, sweep.config, lambda each: suggest_value(trial, each))
            self.attributes: dict[str, Any] = dict(study.trials[-1].system_attrs)


def _sampler(name: Sampler, seed: int, drawn: int, attempt: int) -> Any:

    own = (seed * 1_000_003 + drawn * 1009 + attempt) % 2**32
    kinds: dict[str, Any] = {
        "tpe": lambda: load_optuna().samplers.TPESampler(
            seed=own, n_startup_trials=1, multivariate=True, group=True
        ),
        "random": lambda: load_optuna().samplers.RandomSampler(seed=own),
        "qmc": lambda: load_optuna().samplers.QMCSampler(
            seed=seed, scramble=True, warn_independent_sampling=False
        ),
        "gp": lambda: load_optuna().samplers.GPSampler(seed=own, n_startup_trials=1),
        "cmaes": lambda: load_optuna().samplers.CmaEsSampler(
            seed=own, n_startup_trials=1, warn_independent_sampling=False
        ),
    }
    return kinds[name]()


def _history(
    sweep: Sweep, trials: "list[FrozenTrial]", standings: Mapping[int, Standing], *, pruning: bool
) -> "Iterator[FrozenTrial]":
    """Every configuration for a sampler to learn from: with its newest score, or as one that trains."""

    scores = [s for each in standings.values() for s in each.scores if math.isfinite(s)]
    worst = min(scores, default=0.0)
    for trial in trials:
        standing = standings.get(trial.number, Standing(trial.number))
        if trial.user_attrs[OUTSIDE]:
            continue  # the recipe has values that the space lacks
        if standing.broken:
            standing = Standing(standing.number, (worst,))
        state, value = state_of(standing, len(sweep.levels) if pruning else 0)
        yield load_optuna().trial.create_trial(
            state=state,
            value=value if state == load_optuna().trial.TrialState.COMPLETE else None,
            params=trial.params,
            distributions=trial.distributions,
            intermediate_values={level: s for level, s in enumerate(standing.scores) if math.isfinite(s)},
            system_attrs=trial.system_attrs,
        )


def state_of(standing: Standing, levels: int) -> tuple[Any, float | None]:
    """The state of a configuration in Optuna's words: pruned where it rests below the last level."""

    if standing.broken or not all(map(math.isfinite, standing.scores)):
        return load_optuna().trial.TrialState.FAIL, None
    if not standing.scores:
        return load_optuna().trial.TrialState.RUNNING, None
    state = (
        load_optuna().trial.TrialState.COMPLETE
        if standing.level >= levels
        else load_optuna().trial.TrialState.PRUNED
    )
    return state, standing.scores[-1]


def _middle(sweep: Sweep) -> Any:
    """A trial with every dimension: the sequence of points takes its dimensions from the first trial."""
    params = {name_of(each): to_param(each, each.domain.nearest(None)) for each in sweep.space}
    return load_optuna().trial.create_trial(
        value=0.0, params=params, distributions={name_of(e): distribution_of(e) for e in sweep.space}
    )


def importances(
    sweep: Sweep, configurations: Mapping[int, Mapping[str, Any]], scores: Mapping[int, float]
) -> dict[str, float]:
    """The share of each setting in the differences between scores; of settings that always count."""

    always = [each for each in sweep.space if not each.when]
    tried = {number: values for number, values in configurations.items() if values and number in scores}
    study = load_optuna().create_study(direction="maximize")
    for number, values in tried.items():
        params = {name_of(d): to_param(d, d.domain.nearest(values[d.path])) for d in always}
        spread = {name_of(d): distribution_of(d) for d in always}
        study.add_trial(
            load_optuna().trial.create_trial(value=scores[number], params=params, distributions=spread)
        )
    if len({scores[number] for number in tried}) < 2:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator = load_optuna().importance.PedAnovaImportanceEvaluator()
        shares = load_optuna().importance.get_param_importances(study, evaluator=evaluator)
    names = {name_of(each): each.path for each in always}
    return {names[name]: float(share) for name, share in shares.items()}
