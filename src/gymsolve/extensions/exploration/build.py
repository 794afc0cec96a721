"""Settings → the bonus of a run, with networks drawn from the run's seed."""

import numpy as np
import torch

from gymsolve.extensions.exploration.cells import Cells
from gymsolve.extensions.exploration.counts import Counts
from gymsolve.extensions.exploration.critic import Critic
from gymsolve.extensions.exploration.curiosity import Curiosity
from gymsolve.extensions.exploration.dynamics import ForwardModel, InverseModel
from gymsolve.extensions.exploration.inputs import Inputs
from gymsolve.extensions.exploration.novelty import Novelty
from gymsolve.extensions.exploration.rarity import Rarity
from gymsolve.extensions.exploration.rnd import NovelD, RandomDistillation
from gymsolve.extensions.exploration.visits import Episodic, Visits
from gymsolve.extensions.extension import Site
from gymsolve.seeding import generator
from gymsolve.settings.config import A2CConfig, PPOConfig, TrainConfig
from gymsolve.spec import EnvSpec


def build_bonus(site: Site) -> Curiosity:
    """The bonus that the settings ask for."""
    config, envs = site.config, site.collector.envs
    spec, num_envs = envs.spec, envs.num_envs
    assert isinstance(config.algo, PPOConfig | A2CConfig)
    torch.set_num_threads(site.threads)
    device, rng = torch.device("cuda" if site.on_gpu else "cpu"), generator(config.seed, "bonus", 1)
    inputs = Inputs(spec, config.explore.entries, config.env.frame_stack, device)
    with torch.random.fork_rng(devices=[]):  # torch's layers draw weights of their own first
        critic = Critic(config.explore, inputs, config.net.cnn, device, rng)
        novelty = _novelty(config, spec, num_envs, inputs, device, rng)
    return Curiosity(config.explore, config.algo, novelty, critic, inputs, num_envs)


def _novelty(
    config: TrainConfig,
    spec: EnvSpec,
    num_envs: int,
    inputs: Inputs,
    device: torch.device,
    rng: np.random.Generator,
) -> Novelty:
    settings = config.explore
    if settings.bonus == "counts":
        return Counts(Cells(settings, spec, rng))
    if settings.bonus == "episodic":
        return Episodic(Visits(Cells(settings, spec, rng), num_envs))
    if settings.bonus == "rarity":
        columns = [spec.watched.index(name) for name in settings.events]
        return Rarity(settings.events, columns, num_envs)
    learned = settings, inputs, config.net.cnn, device, rng
    if settings.bonus == "noveld":
        return NovelD(*learned, Visits(Cells(settings, spec, rng), num_envs))
    if settings.bonus == "icm":
        return InverseModel(*learned, spec.action)
    if settings.bonus == "forward":
        return ForwardModel(*learned, spec.action)
    return RandomDistillation(*learned)
