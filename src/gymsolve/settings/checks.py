"""Checks that the sections of a config fit each other; each returns `setting: sentence`, or None."""

from typing import TYPE_CHECKING

from gymsolve.settings.algorithm_choice import OwnAlgoConfig
from gymsolve.settings.algorithms import ReinforceConfig
from gymsolve.settings.any_algorithm import ReplayConfig
from gymsolve.settings.continuous import ContinuousConfig, TQCConfig
from gymsolve.settings.network import QUANTILES

if TYPE_CHECKING:
    from gymsolve.settings.config import TrainConfig


def find_conflict(config: "TrainConfig") -> str | None:
    """The first setting that contradicts others, as `setting: sentence`; None where all fit."""
    return next((conflict for check in _CHECKS if (conflict := check(config)) is not None), None)


def _minibatches(config: "TrainConfig") -> str | None:
    env, algo = config.env, config.algo
    batch = env.num_envs * algo.num_steps
    if algo.minibatches <= batch:
        return None
    return (
        f"algo.num_minibatches: {algo.minibatches} minibatches cannot be cut from a rollout "
        f"of {batch} steps (env.num_envs {env.num_envs} × algo.num_steps {algo.num_steps})"
    )


def _memory(config: "TrainConfig") -> str | None:
    memory, steps, most = config.net.memory, config.algo.num_steps, config.most_minibatches
    if memory is None:
        return None
    longest = memory.longest(steps)
    if longest > steps:
        return (
            f"net.memory.sequence: sequences of {longest} steps cannot be cut from rollouts of {steps} "
            f"(algo.num_steps)"
        )
    if config.algo.minibatches > most:
        return (
            f"algo.num_minibatches: with memory, minibatches are made of whole sequences, and a rollout "
            f"may have only {most} of {longest} steps; use {most} or fewer, or a shorter "
            f"net.memory.sequence"
        )
    if config.net.batch_norm:
        return (
            "net.batch_norm: a network with net.memory has no batch norm, since its statistics "
            "would depend on what was remembered when; use net.layer_norm"
        )
    return None


def _tasks(config: "TrainConfig") -> str | None:
    names, copies, algo, net = config.env.tasks, config.env.num_envs, config.algo, config.net.tasks
    if names and isinstance(algo, ReinforceConfig) and algo.baseline == "mean":
        return "algo.baseline: returns of several tasks have no common mean; use algo.baseline=value"
    if names and net.heads == "each" and not net.input:
        return (
            "net.tasks.heads: a head for each task tells the policy which one it is; to hide it, use "
            "net.tasks.heads=shared"
        )
    if names and config.engine == "numpy":
        return "engine: the NumPy engine learns one task; use engine=torch for env.tasks"
    if copies < config.fewest_envs:
        return (
            f"env.tasks: {len(names)} tasks ({', '.join(names)}) need a copy each, and there are "
            f"{copies}; raise env.num_envs"
        )
    return None


def _curriculum(config: "TrainConfig") -> str | None:
    fault = config.curriculum.find_fault(config.env.tasks, config.solved_by, config.steps)
    if fault is not None:
        return f"curriculum.{fault}"
    if config.curriculum.stages and config.eval.start_fraction is not None:
        return (
            "eval.start_fraction: returns of a curriculum are those of whichever stages are played, and "
            "say nothing about the threshold; leave it out"
        )
    return None


def _action_values(config: "TrainConfig") -> str | None:
    name, net = config.algo.name, config.net
    if isinstance(config.algo, OwnAlgoConfig):
        return None  # nobody knows before its module is imported
    if net.duelling and not config.algo.values_actions:
        return f"net.duelling: {name} learns no action values; use algo.name=dqn or pqn"
    if config.algo.values_states:
        return None
    faults = {
        f"net.memory: {name} has no memory": net.memory is not None,
        f"net.normalize_values: {name} learns values in units of reward": net.normalize_values != "none",
        f"env.tasks: {name} learns one task": bool(config.env.tasks),
        f"explore.bonus: {name} learns from the task's rewards alone": config.explore.bonus != "none",
        f"explore.archive: {name} begins every episode at a reset": config.explore.archive is not None,
        f"imitate: {name} learns from its own steps alone": config.imitate is not None,
    }
    fault = next((fault for fault, present in faults.items() if present), None)
    return None if fault is None else f"{fault}; leave it out, or use algo.name=ppo"


def _critics(config: "TrainConfig") -> str | None:
    algo, net = config.algo, config.net
    if net.quantiles is not None and not isinstance(algo, TQCConfig):
        return f"net.quantiles: {algo.name} predicts values, not their distribution; use algo.name=tqc"
    if not isinstance(algo, ContinuousConfig):
        return None
    if net.batch_norm or net.dropout:
        wrong = "batch_norm" if net.batch_norm else "dropout"
        return f"net.{wrong}: the networks of {algo.name} have none; use net.layer_norm=true"
    if isinstance(algo, TQCConfig) and algo.drop_quantiles >= (there := net.quantiles or QUANTILES):
        return (
            f"algo.drop_quantiles: of {there} quantiles (net.quantiles) {algo.drop_quantiles} cannot be left "
            f"out; use {there - 1} or fewer"
        )
    return None


def _replay_buffer(config: "TrainConfig") -> str | None:
    env, algo = config.env, config.algo
    batch = env.num_envs * algo.num_steps
    if not isinstance(algo, ReplayConfig) or algo.buffer_size >= batch:
        return None
    return (
        f"algo.buffer_size: a rollout of {batch} steps (env.num_envs {env.num_envs} × "
        f"algo.num_steps {algo.num_steps}) does not fit into {algo.buffer_size}; use {batch} or more"
    )


def _success_rate(config: "TrainConfig") -> str | None:
    bar = config.solved_at
    if config.solved_by == "return" or (bar is not None and 0 < bar <= 1):
        return None
    return (
        "solved_at: with solved_by success_rate, give the share of successes that counts as solved, "
        "above 0 and up to 1"
    )


_CHECKS = (
    *(_minibatches, _memory, _tasks, _curriculum, _action_values, _critics, _replay_buffer),
    _success_rate,
)
