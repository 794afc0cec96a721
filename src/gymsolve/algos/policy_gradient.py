"""Shared by the policy-gradient algorithms: an actor-critic policy, an optimizer, auxiliary losses."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gymsolve.algos.auxiliary import Auxiliary, trainable
from gymsolve.algos.optimizer import Optimizer
from gymsolve.experience.learner import Learner
from gymsolve.nn.init import Draws
from gymsolve.nn.policy import Policy
from gymsolve.parts import Part
from gymsolve.settings.config import NetConfig
from gymsolve.spec import EnvSpec


class PolicyGradient(Learner):
    """Owns the policy's optimizer; its update is each algorithm's own."""

    policy_type: ClassVar[type[Policy]] = Policy
    """The networks that it learns; an own algorithm may derive a class of its own."""
    policy: Policy
    optimizer: Optimizer

    def __init__(self, config: Any, policy: Policy, auxiliaries: Sequence[Auxiliary] = ()) -> None:
        self.policy, self.auxiliaries = policy, auxiliaries
        self.optimizer = Optimizer(config.optimizer, trainable(policy, auxiliaries))

    @classmethod
    def make_policy(cls, spec: EnvSpec, net: NetConfig, rng: Draws) -> Policy:
        """The networks that this kind of algorithm learns."""
        return cls.policy_type(spec, net, rng)

    @property
    def parts(self) -> Mapping[str, Part]:
        return {auxiliary.name: auxiliary for auxiliary in self.auxiliaries}
