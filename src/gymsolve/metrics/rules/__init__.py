"""The rules, by topic, in the order in which their findings are explained: environment first.

A rule is a pure function of a run's history and settings. It says what it needs, when it fires, what the
likeliest cause is, which settings to change and what that should do to which metric.
"""

from gymsolve.metrics.rules.archive import ARCHIVE
from gymsolve.metrics.rules.critic import CRITIC
from gymsolve.metrics.rules.curiosity import CURIOSITY
from gymsolve.metrics.rules.environment import ENVIRONMENT
from gymsolve.metrics.rules.episodes import EPISODES
from gymsolve.metrics.rules.evaluation import EVALUATION
from gymsolve.metrics.rules.exploration import EXPLORATION
from gymsolve.metrics.rules.faults import FAULTS
from gymsolve.metrics.rules.first_policy import FIRST_POLICY
from gymsolve.metrics.rules.network import NETWORK
from gymsolve.metrics.rules.policy import POLICY
from gymsolve.metrics.rules.progress import PROGRESS
from gymsolve.metrics.rules.rule import Rule
from gymsolve.metrics.rules.speed import SPEED
from gymsolve.metrics.rules.tasks import TASKS

__all__ = ["RULES", "Rule"]

RULES: tuple[Rule, ...] = (
    *FAULTS,
    *ENVIRONMENT,
    *EPISODES,
    *POLICY,
    *FIRST_POLICY,
    *CURIOSITY,
    *TASKS,
    *ARCHIVE,
    *EXPLORATION,
    *CRITIC,
    *NETWORK,
    *PROGRESS,
    *EVALUATION,
    *SPEED,
)
