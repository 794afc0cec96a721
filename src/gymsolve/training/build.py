"""Builds a trainer at step 0 from settings: environments, learner, collector and extensions."""

from contextlib import ExitStack

from gymsolve.doctor.alerts import AlertTracker
from gymsolve.doctor.rules.rule import Context
from gymsolve.envs.contract import Envs
from gymsolve.envs.make import make_envs, make_joined
from gymsolve.experience.collect import Collector
from gymsolve.experience.episodes import EpisodeWindow
from gymsolve.extensions.extension import EnvRequest, Extension, Setup, Site
from gymsolve.metrics.thresholds import find_threshold
from gymsolve.registry import EXTENSIONS, load
from gymsolve.seeding import RandomStreams
from gymsolve.settings.config import TrainConfig
from gymsolve.training.engines.choose import choose_engine
from gymsolve.training.health.probe import Probe
from gymsolve.training.planning.memory_need import require_memory, require_sane
from gymsolve.training.trainer import Trainer


def build_trainer(config: TrainConfig) -> Trainer:
    """A trainer at step 0."""
    require_sane(config)
    setups = _set_up(config)
    with ExitStack() as cleanup:
        envs = _make_envs(config, setups)
        cleanup.callback(envs.close)
        require_memory(config, envs.spec)
        for setup in setups.values():
            setup.check(envs.spec)
        engine = choose_engine(config, envs.spec)
        auxiliaries = [loss for setup in setups.values() for loss in setup.auxiliaries(envs.spec)]
        learner = engine.build(config, envs.spec, auxiliaries)
        if engine.measured:  # stored as a number: another number of threads sums in another order
            config = config.model_copy(update={"threads": engine.threads})
        collector = Collector(
            envs, learner.policy, config.algo.num_steps, config.seed, config.env.frame_stack
        )
        collector.keeps_ends = learner.keeps_ends
        extensions: dict[str, Extension] = {}
        for name, setup in setups.items():
            site = Site(config, collector, learner, extensions, engine.threads, engine.on_gpu)
            extension = setup.build(site)
            if extension is not None:
                extensions[name] = extension
        cleanup.pop_all()
    trainer = Trainer(
        config=config,
        collector=collector,
        engine=engine,
        learner=learner,
        threshold=find_threshold(config, envs.spec),
        streams=RandomStreams(config.seed, ("policy", "minibatch", "bonus")),
        alerts=AlertTracker(Context.of(config, envs.spec)),
        probe=Probe(learner.policy.spec),
        window=EpisodeWindow(tasks=envs.spec.tasks),
        extensions=extensions,
    )
    trainer.reassign_copies()
    trainer.counters.next_eval = max(config.eval_every, config.eval.warmup)
    trainer.counters.next_checkpoint = config.checkpoint_every
    return trainer


def _set_up(config: TrainConfig) -> dict[str, Setup]:
    """The extensions that the settings ask for, by name."""
    return {name: load(path, name)(config) for name, (asked, path) in EXTENSIONS.items() if asked(config)}


def _make_envs(config: TrainConfig, setups: dict[str, Setup]) -> Envs:
    """The environments that train, as extensions ask for them."""
    request = EnvRequest(config.env)
    for setup in setups.values():
        request = setup.ask(request)
    if request.task is None:
        return make_envs(request.env, "train", jumps=request.jumps)
    return make_joined(request.env, "train", task=request.task, jumps=request.jumps)
