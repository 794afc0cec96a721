"""Algorithms of the user's own on the torch engine: the checks before one is built, and its policies."""

from typing import Any

from gymsolve.errors import CodeRefusedError, ConfigError
from gymsolve.experience.learner import Learner
from gymsolve.nn.network import Network, is_ours, path_of
from gymsolve.own_faults import blaming, require_takes
from gymsolve.registry import ALGORITHMS, POLICIES, lookup
from gymsolve.seeding import generator
from gymsolve.settings.config import TrainConfig
from gymsolve.spec import EnvSpec

_WHERE = "algo.name"
_METHODS = {
    "__init__": ("self", "config", "policy", "auxiliaries"),
    "update": ("self", "rollout", "progress", "rng"),
    "credit": ("self", "rollout", "progress"),
    "prepare": ("self", "progress"),
    "state": ("self",),
    "load": ("self", "arrays", "state"),
}


def find_algorithm(name: str) -> type[Any]:
    """The class of an algorithm, ours or the user's own; refuse what is no learner."""
    kind: Any = lookup(ALGORITHMS, name, _WHERE)
    ours: type[Any] = kind
    if name in ALGORITHMS:
        return ours
    if not (isinstance(kind, type) and issubclass(kind, Learner)):
        hint = "Derive it from one of gymsolve.algos, such as gymsolve.algos.ppo.PPO."
        raise ConfigError(f"{name} is no class of gymsolve's learners.", where=_WHERE, hint=hint)
    if kind.update is Learner.update:
        hint = "Define update(self, rollout, progress, rng), which returns metrics by name."
        raise ConfigError(f"{name} has no update.", where=_WHERE, hint=hint)
    if "policy_type" not in dir(kind) or not issubclass(kind.policy_type, Network):
        hint = "Derive it from gymsolve.algos.policy_gradient.PolicyGradient, or say `policy_type = Policy`."
        raise ConfigError(f"{name} names no policy.", where=_WHERE, hint=hint)
    for method, arguments in _METHODS.items():
        require_takes(getattr(kind, method), f"{name}.{method}", _WHERE, arguments)
    return kind


def make_policy(config: TrainConfig, spec: EnvSpec) -> Any:
    """The networks that an algorithm learns, with first weights."""
    kind, name = find_algorithm(config.algo.name), config.algo.name
    rng = generator(config.seed, "init")
    if name in ALGORITHMS:
        return kind.make_policy(spec, config.net, rng)
    with blaming(name, _WHERE, "its policy_type"):
        return kind.policy_type(spec, config.net, rng)


def find_policy(kind: str, config: TrainConfig) -> type[Network]:
    """The class of a saved policy: ours, or the `policy_type` of the run's own algorithm."""
    if kind in POLICIES:
        ours: type[Network] = lookup(POLICIES, kind, "policy.safetensors")
        return ours
    if ":" in config.algo.name:
        own: type[Network] = find_algorithm(config.algo.name).policy_type
        if not is_ours(own) and path_of(own) == kind:
            return own
    raise CodeRefusedError(
        f"these weights are those of a {kind[:80]!r}, which the algorithm of their run ({config.algo.name}) "
        "does not name as its policy_type.",
        where="policy.safetensors",
        hint="Load them with their run: its settings say what is imported.",
    )
