"""Builds the bonus of a run, with networks drawn from the run's seed."""

import torch

from gymsolve.extensions.exploration.cells import Cells
from gymsolve.extensions.exploration.counts import Counts
from gymsolve.extensions.exploration.critic import Critic
from gymsolve.extensions.exploration.curiosity import Curiosity
from gymsolve.extensions.exploration.dynamics import ForwardModel, InverseModel
from gymsolve.extensions.exploration.inputs import Inputs
from gymsolve.extensions.exploration.nets import NetSetup
from gymsolve.extensions.exploration.novelty import Novelty
from gymsolve.extensions.exploration.rarity import Rarity
from gymsolve.extensions.exploration.rnd import NovelD, RandomDistillation
from gymsolve.extensions.exploration.visits import Episodic, Visits
from gymsolve.extensions.extension import Site
from gymsolve.seeding import generator
from gymsolve.settings.config import A2CConfig, PPOConfig
from gymsolve.spec import EnvSpec


def build_bonus(site: Site) -> Curiosity:
    """The bonus that the settings ask for."""
    config, envs = site.config, site.collector.envs
    spec, num_envs = envs.spec, envs.num_envs
    assert isinstance(config.algo, PPOConfig | A2CConfig)
    torch.set_num_threads(site.threads)
    device, rng = torch.device("cuda" if site.on_gpu else "cpu"), generator(config.seed, "bonus", 1)
    inputs = Inputs(spec, config.explore.entries, config.env.frame_stack, device)
    setup = NetSetup(config.explore, inputs, config.net.cnn, device, rng)
    with torch.random.fork_rng(devices=[]):  # torch's layers draw weights of their own first
        critic = Critic(setup)
        novelty = _novelty(setup, spec, num_envs)
    return Curiosity(config.explore, config.algo, novelty, critic, inputs, num_envs)


def _novelty(setup: NetSetup, spec: EnvSpec, num_envs: int) -> Novelty:
    settings, rng = setup.settings, setup.rng
    if settings.bonus == "counts":
        return Counts(Cells(settings, spec, rng))
    if settings.bonus == "episodic":
        return Episodic(Cells(settings, spec, rng), num_envs)
    if settings.bonus == "rarity":
        columns = [spec.watched.index(name) for name in settings.events]
        return Rarity(settings.events, columns, num_envs)
    if settings.bonus == "noveld":
        return NovelD(setup, Visits(Cells(settings, spec, rng), num_envs))
    if settings.bonus == "icm":
        return InverseModel(setup, spec.action)
    if settings.bonus == "forward":
        return ForwardModel(setup, spec.action)
    return RandomDistillation(setup)
