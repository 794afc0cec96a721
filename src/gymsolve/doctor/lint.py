"""Settings that cannot work well, found before anything is trained.

Nothing here is an error: a user may have reasons. `gymsolve.settings.config` refuses impossible settings.
"""

import math
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace

from gymsolve.doctor.rules.rule import Change
from gymsolve.recipes import validate
from gymsolve.runs.run import Run
from gymsolve.settings.algorithms import PolicyGradientSettings
from gymsolve.settings.config import (
    A2CConfig,
    PPOConfig,
    ReinforceConfig,
    ReplayConfig,
    TrainConfig,
)
from gymsolve.settings.schedules import Progress, Schedule
from gymsolve.spec import EnvSpec
from gymsolve.text import plural

_Rollouts = PPOConfig | A2CConfig | ReinforceConfig
_FEW_UPDATES = 10
_SMALL_MINIBATCH = 16
_PICTURE = 36
"""An image with at least so many pixels on each side counts as a screen."""
_SHORT_ROLLOUT = 16
"""Shorter rollouts are not advised: their advantages depend too much on the critic."""
_FEW_EPISODES = 5
_POTENTIALS = ("hill_energy",)
"""Wrappers whose reward leaves the task unchanged, provided that both use the same discount."""
_SHORT_HORIZON = 20.0
"""The critic does not see the end of episodes that are this many times longer than gamma's horizon."""
_LOW_GAMMA = 0.8
"""With a lower gamma a reward five steps away counts for less than a third."""
_LONGEST_TASK = 10_000
"""Longer limits, such as an emulator's, only stop episodes that hang: tasks end long before."""


@dataclass(frozen=True)
class Finding:
    """One doubtful setting, and changes to try."""

    id: str
    where: str
    text: str
    changes: tuple[Change, ...] = ()

    def without(self, decided: Container[str]) -> "Finding":
        """The finding without changes of settings that a remedy has decided already."""
        return replace(self, changes=tuple(change for change in self.changes if change.path not in decided))

    def __str__(self) -> str:
        fix = " ".join(f"--set {change.path}={_word(change.new)}" for change in self.changes)
        return f"{self.where}: {self.text}" + (f"; try {fix}" if fix else "")


def lint(config: TrainConfig, spec: EnvSpec | None = None) -> list[Finding]:
    """Doubts about the settings, and about how they fit the environment's spaces where these are known."""
    findings = [finding for check in _OF_CONFIG for finding in check(config)]
    if spec is None or spec.max_episode_steps is None:
        findings += _blind(config)
    if spec is not None:
        findings += [finding for look in _OF_SPEC for finding in look(config, spec)]
    return findings


def doubts_of(run: Run) -> list[str]:
    """Doubts about the settings of a stored run, whose environment is not known yet."""
    return [str(doubt) for doubt in lint(validate(run.config_json()["config"], f"{run.id}/config.json"))]


def _doubt(name: str, path: str, text: str, old: object, new: object) -> Finding:
    """A finding about one setting, with a value to try."""
    return Finding(name, path, text, (Change(path, old, new),))


def _batch(config: TrainConfig) -> int:
    return config.env.num_envs * config.algo.num_steps


def _uneven_minibatches(config: TrainConfig) -> Iterator[Finding]:
    algo, batch = config.algo, _batch(config)
    if batch % algo.minibatches:
        divisor = max(d for d in range(1, algo.minibatches) if batch % d == 0)
        text = f"a rollout of {batch} steps cannot be cut into {algo.minibatches} equal minibatches"
        yield _doubt("uneven_minibatches", "algo.num_minibatches", text, algo.minibatches, divisor)


def _small_minibatches(config: TrainConfig) -> Iterator[Finding]:
    algo, batch = config.algo, _batch(config)
    if algo.minibatches > 1 and batch // algo.minibatches < _SMALL_MINIBATCH <= batch:
        text = f"minibatches of {batch // algo.minibatches} steps make noisy gradients"
        larger = max(1, batch // 64)
        yield _doubt("small_minibatches", "algo.num_minibatches", text, algo.minibatches, larger)


def _few_updates(config: TrainConfig) -> Iterator[Finding]:
    batch, budget = _batch(config), config.env_budget
    if batch * _FEW_UPDATES > budget:
        steps = budget // (_FEW_UPDATES * config.env.num_envs)
        updates = plural(math.ceil(budget / batch), "update")
        # Where rollouts are short already, or hardly longer than they should be, the budget is too small.
        if steps < _SHORT_ROLLOUT or config.algo.num_steps < 2 * steps:
            enough = config.steps * 2 * _FEW_UPDATES * batch // max(1, budget)
            text = f"rollouts have {batch} steps, so a budget of {budget} gives no more than {updates}"
            yield _doubt("few_updates", "steps", text, config.steps, enough)
            return
        text = f"a rollout takes {batch} of {budget} steps, so there will be no more than {updates}"
        yield _doubt("few_updates", "algo.num_steps", text, config.algo.num_steps, steps)


def _odd_rates(config: TrainConfig) -> Iterator[Finding]:
    algo = config.algo
    highest = _highest(algo.learning_rate, config.steps)
    if highest > 0.02 and algo.optimizer.name in ("adam", "adamw"):
        text = f"{highest:g} is far above what {algo.optimizer.name} usually bears (1e-4 to 3e-3)"
        yield _doubt("rate_high", "algo.learning_rate", text, highest, 3e-4)
    if highest < 1e-6:
        text = f"at {highest:g} nothing will be learned within the budget"
        yield _doubt("rate_low", "algo.learning_rate", text, highest, 3e-4)
    if isinstance(algo, PolicyGradientSettings) and _highest(algo.ent_coef, config.steps) >= 0.5:
        text = "an entropy bonus this large usually outweighs the reward"
        yield _doubt("bonus_high", "algo.ent_coef", text, _highest(algo.ent_coef, config.steps), 0.01)


def _no_learning(config: TrainConfig) -> Iterator[Finding]:
    algo = config.algo
    if algo.clipping is not None and _highest(algo.clipping, config.steps) < 0.01:
        text = "with so small a limit nearly every gradient is clipped away"
        yield _doubt("clip_closed", "algo.clip_coef", text, _highest(algo.clipping, config.steps), 0.2)
    if isinstance(algo, ReplayConfig) and algo.learning_starts >= config.env_budget:
        starts, budget = algo.learning_starts, config.env_budget
        text = f"the first gradient step waits for {starts} steps, and the budget has {budget}"
        yield _doubt("never_starts", "algo.learning_starts", text, starts, budget // 20)
    if not isinstance(algo, PPOConfig | A2CConfig | ReinforceConfig):
        return
    if algo.has_critic and _highest(algo.vf_coef, config.steps) == 0.0:
        yield _doubt(
            "values_untrained", "algo.vf_coef", "the value function is used but not trained", 0.0, 0.5
        )


def _few_episodes(config: TrainConfig) -> Iterator[Finding]:
    if config.eval.steps is None and config.eval.episodes < _FEW_EPISODES:
        text = f"the mean of {config.eval.episodes} is mostly luck, and `best` goes by it"
        yield _doubt("few_episodes", "eval.episodes", text, config.eval.episodes, 20)


def _rare_evaluations(config: TrainConfig) -> Iterator[Finding]:
    if config.eval_every > config.steps // 2:
        text = f"at one in {config.eval_every} of {config.steps} steps `best` has hardly a choice"
        yield _doubt("rare_evaluations", "eval.every", text, config.eval.every, max(1, config.steps // 20))


def _other_discount(config: TrainConfig) -> Iterator[Finding]:
    learned = _values(config.algo.gamma, config.steps)
    for wrapper in config.env.wrappers:
        paid = wrapper.options.get("gamma", 0.99)
        if wrapper.name in _POTENTIALS and learned != {paid}:
            text = (
                f"{wrapper.name} pays with a discount of {paid:g}: with another one it changes what is best"
            )
            yield _doubt("other_discount", "algo.gamma", text, max(learned), paid)


def _blind(config: TrainConfig) -> Iterator[Finding]:
    """A gamma that is too low for nearly any task; where the length of episodes is known, `_short_sight` goes
    by that."""
    gamma = _highest(config.algo.gamma, config.steps)
    if gamma < _LOW_GAMMA:
        ahead = plural(round(1.0 / (1.0 - gamma)), "step")
        text = f"{gamma:g} looks about {ahead} ahead: what is rewarded later is out of sight"
        yield _doubt("short_sight", "algo.gamma", text, gamma, 0.99)


def _short_sight(config: TrainConfig, spec: EnvSpec) -> Iterator[Finding]:
    gamma, limit = _highest(config.algo.gamma, config.steps), spec.max_episode_steps
    if limit is None or limit > _LONGEST_TASK or gamma >= 1.0:
        return
    horizon = 1.0 / (1.0 - gamma)
    if limit > round(_SHORT_HORIZON * horizon):
        fitting = round(1.0 - 2.0 / limit, 4)
        text = (
            f"{gamma:g} looks about {plural(round(horizon), 'step')} ahead, episodes last up to {limit}: "
            "what is rewarded only at the end is out of sight"
        )
        yield _doubt("short_sight", "algo.gamma", text, gamma, min(0.999, fitting))


def _no_motion(config: TrainConfig, spec: EnvSpec) -> Iterator[Finding]:
    names = {wrapper.name for wrapper in config.env.wrappers}
    # Smaller images are maps rather than screens; derived recipes do not stack them either.
    images = any(
        entry.kind == "image" and entry.shape[0] in (1, 3) and min(entry.shape[1:]) >= _PICTURE
        for entry in spec.obs.values()
    )
    if images and config.env.frame_stack == 1 and not any("stack" in name for name in names):
        yield _doubt(
            "no_motion", "env.frame_stack", "a single image does not show how fast anything moves", 1, 4
        )


def _odd_box(config: TrainConfig, spec: EnvSpec) -> Iterator[Finding]:
    action = spec.action
    if action.kind == "box" and not action.bounded:
        text = "the action space has infinite bounds: actions pass unscaled, their size is a guess"
        yield Finding("unbounded_actions", "env", text)


def _raw_numbers(config: TrainConfig, spec: EnvSpec) -> Iterator[Finding]:
    if config.net.normalize_obs != "none":
        return
    for name, entry in spec.obs.items():
        sizes = [abs(bound) for bound in (*entry.low, *entry.high)]
        if entry.kind == "vector" and sizes and max(sizes) < 1e6 and max(sizes) > 100.0:
            text = f"entry '{name}' of the observation reaches {max(sizes):g}, and nothing scales it"
            yield _doubt("raw_numbers", "net.normalize_obs", text, "none", "running")


def _shared_lessons(config: TrainConfig) -> Iterator[Finding]:
    archive, tasks = config.explore.archive, config.net.tasks
    taught = archive is not None and archive.learn_from != "nothing"
    if taught and config.env.tasks and tasks.input and tasks.heads == "shared":
        text = (
            "what the archive teaches of one task is also done in tasks that have found nothing, and they "
            "may stop looking around"
        )
        yield _doubt("shared_lessons", "net.tasks.heads", text, "shared", "each")


def _highest(schedule: Schedule, steps: int) -> float:
    """The largest value over the run, at its ends and where the schedule bends."""
    return max(_values(schedule, steps))


def _values(schedule: Schedule, steps: int) -> set[float]:
    return {schedule.at(Progress(int(share * steps / 20), steps)) for share in range(21)}


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if value is None else str(value)


_OF_CONFIG: tuple[Callable[[TrainConfig], Iterator[Finding]], ...] = (
    _uneven_minibatches,
    _small_minibatches,
    _few_updates,
    _odd_rates,
    _no_learning,
    _few_episodes,
    _rare_evaluations,
    _other_discount,
    _shared_lessons,
)
_OF_SPEC: tuple[Callable[[TrainConfig, EnvSpec], Iterator[Finding]], ...] = (
    _short_sight,
    _no_motion,
    _odd_box,
    _raw_numbers,
)
