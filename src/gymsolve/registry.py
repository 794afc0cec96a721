"""Names that recipes may use, and where the code behind each one lives.

Plain tables of `module:attribute` strings: listing a name imports nothing, and using it imports one module. A
name with a colon in it is itself such a path, so recipes can use code of their own.
"""

import importlib
from collections.abc import Callable
from typing import Any

from gymsolve.errors import ConfigError, did_you_mean
from gymsolve.own_faults import import_own

ALGORITHMS = {
    "ppo": "gymsolve.algos.ppo:PPO",
    "a2c": "gymsolve.algos.a2c:A2C",
    "reinforce": "gymsolve.algos.reinforce:Reinforce",
    "pqn": "gymsolve.algos.pqn:PQN",
    "dqn": "gymsolve.algos.dqn:DQN",
    "sac": "gymsolve.algos.sac:SAC",
    "td3": "gymsolve.algos.td3:TD3",
    "tqc": "gymsolve.algos.tqc:TQC",
}

FOREIGN_ALGORITHMS = frozenset(
    {"acer", "acktr", "ars", "c51", "crossq", "ddpg", "ddqn", "dreamer", "her", "impala", "muzero"}
    | {"ppo_lstm", "qrdqn", "rainbow", "trpo"}
)
"""Algorithms of other libraries, which are no misspellings of ours."""

_HOME = "gymsolve.extensions"
EXTENSIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "scaler": (lambda config: config.algo.scales_rewards, f"{_HOME}.scaling:ScalingSetup"),
    "curriculum": (lambda config: config.curriculum.stages, f"{_HOME}.curriculum.curriculum:CurriculumSetup"),
    "archive": (lambda config: config.explore.archive, f"{_HOME}.archive.build:ArchiveSetup"),
    "explore": (lambda config: config.explore.asked, f"{_HOME}.exploration.needs:ExplorationSetup"),
    "imitate": (lambda config: config.imitate, f"{_HOME}.imitation.cloning:ImitationSetup"),
}
"""Extensions in the order in which training calls them: a test of the settings, and the place of its `Setup`.

The names are those of the extensions' state in checkpoints.
"""

POLICIES = {
    "actor_critic": "gymsolve.nn.policy:Policy",
    "q": "gymsolve.nn.q_policy:QPolicy",
    "squashed": "gymsolve.nn.squashed_policy:SquashedPolicy",
    "deterministic": "gymsolve.nn.deterministic_policy:DeterministicPolicy",
}
"""Networks on torch that policy files can hold, by the kind in the file."""

TRACKERS = {
    "csv": "gymsolve.metrics.trackers.csv:CsvSink",
    "tensorboard": "gymsolve.metrics.trackers.tensorboard:TensorBoardSink",
    "trackio": "gymsolve.metrics.trackers.trackio:TrackioSink",
    "wandb": "gymsolve.metrics.trackers.wandb:WandbSink",
}

VIDEOS = {
    "while training": "gymsolve.apps.video.follower:Follower",
    "at the end": "gymsolve.apps.video.automatic:leave_videos",
}
"""The code that records a run's videos; `training` lies below it and imports it by these names."""

WRAPPERS = {
    "action_noise": "gymsolve.envs.wrappers.actions:ActionNoise",
    "atari": "gymsolve.envs.families.atari.wrapper:Atari",
    "atari_actions": "gymsolve.envs.families.atari.actions:AtariActions",
    "atari_objects": "gymsolve.envs.families.atari.ram:AtariObjects",
    "atari_ram": "gymsolve.envs.families.atari.ram:AtariRam",
    "button_actions": "gymsolve.envs.families.retro.buttons:ButtonActions",
    "clip_reward": "gymsolve.envs.wrappers.rewards:ClipReward",
    "crop": "gymsolve.envs.wrappers.images:Crop",
    "dark_background": "gymsolve.envs.families.retro.pictures:DarkBackground",
    "discrete_actions": "gymsolve.envs.wrappers.actions:DiscreteActions",
    "discrete_encoder": "gymsolve.envs.wrappers.observations:DiscreteEncoder",
    "episodic_life": "gymsolve.envs.families.atari.lives:EpisodicLife",
    "episodic_point": "gymsolve.envs.families.atari.lives:EpisodicPoint",
    "doom_axes": "gymsolve.envs.families.vizdoom.buttons:DoomAxes",
    "doom_buttons": "gymsolve.envs.families.vizdoom.buttons:DoomButtons",
    "doom_events": "gymsolve.envs.families.vizdoom.events:DoomEvents",
    "elapsed": "gymsolve.envs.wrappers.rewards:Elapsed",
    "flatten": "gymsolve.envs.wrappers.images:Flatten",
    "emulator_skip": "gymsolve.envs.families.retro.skipping:EmulatorSkip",
    "frame_skip": "gymsolve.envs.wrappers.actions:FrameSkip",
    "grayscale": "gymsolve.envs.wrappers.images:Grayscale",
    "grid_codes": "gymsolve.envs.families.minigrid.wrappers:GridCodes",
    "hill_energy": "gymsolve.envs.families.classic_control.shapers:HillEnergy",
    "image_range": "gymsolve.envs.wrappers.images:ImageRange",
    "keep_elements": "gymsolve.envs.wrappers.observations:KeepElements",
    "mission_words": "gymsolve.envs.families.minigrid.wrappers:MissionWords",
    "observation_noise": "gymsolve.envs.wrappers.observations:ObservationNoise",
    "pixels": "gymsolve.envs.wrappers.pixels:Pixels",
    "platformer": "gymsolve.envs.families.retro.platformer:Platformer",
    "pole_centring": "gymsolve.envs.families.classic_control.shapers:PoleCentring",
    "previous_actions": "gymsolve.envs.wrappers.actions:PreviousActions",
    "randomize": "gymsolve.envs.wrappers.randomize:Randomize",
    "rescale": "gymsolve.envs.wrappers.observations:RescaleObservation",
    "resize": "gymsolve.envs.wrappers.images:Resize",
    "reward_components": "gymsolve.envs.wrappers.components:RewardComponents",
    "same_layouts": "gymsolve.envs.wrappers.randomize:SameLayouts",
    "scale_reward": "gymsolve.envs.wrappers.rewards:ScaleReward",
    "sticky_actions": "gymsolve.envs.wrappers.actions:StickyActions",
    "time_limit": "gymsolve.envs.wrappers.rewards:TimeLimit",
    "watch": "gymsolve.envs.wrappers.watch:Watch",
}

IMAGE_WRAPPERS = frozenset({"atari", "resize"})
"""Wrappers that need the extra `images`."""


def lookup(table: dict[str, str], name: str, where: str) -> Any:
    """The object a name stands for; unknown names get a suggestion."""
    if name in table:
        return load(table[name], where)
    if ":" in name:
        return load_own(name, where)
    hint = did_you_mean(name, table) or f"Known: {', '.join(sorted(table))}."
    raise ConfigError(f"unknown name {name!r}.", where=where, hint=hint)


def load(path: str, where: str) -> Any:
    """Import `module:attribute` of gymsolve itself."""
    module_name, _, attribute = path.partition(":")
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except ImportError as error:
        raise ConfigError(f"cannot import {path!r}: {error}.", where=where) from error


def load_own(path: str, where: str) -> Any:
    """Import `module:attribute` of the user's own."""
    module_name, _, attribute = path.partition(":")
    module = import_own(path, where)
    try:
        return getattr(module, attribute)
    except AttributeError as error:
        classes = [name for name, thing in vars(module).items() if isinstance(thing, type)]
        message = f"the module {module_name!r} has no {attribute!r} ({module.__file__ or 'a folder'})."
        raise ConfigError(message, where=where, hint=did_you_mean(attribute, classes)) from error
