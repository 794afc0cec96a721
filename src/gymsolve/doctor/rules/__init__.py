"""The rules, by topic, in the order in which their findings are explained: environment first.

A rule is a pure function of a run's history and settings. It says what it needs, when it fires, what the
likeliest cause is, which settings to change and what that should do to which metric.
"""

from gymsolve.doctor.rules.archive import ARCHIVE
from gymsolve.doctor.rules.blind import BLIND
from gymsolve.doctor.rules.critic import CRITIC
from gymsolve.doctor.rules.curiosity import CURIOSITY
from gymsolve.doctor.rules.environment import ENVIRONMENT
from gymsolve.doctor.rules.episodes import EPISODES
from gymsolve.doctor.rules.evaluation import EVALUATION
from gymsolve.doctor.rules.exploration import EXPLORATION
from gymsolve.doctor.rules.faults import FAULTS
from gymsolve.doctor.rules.first_policy import FIRST_POLICY
from gymsolve.doctor.rules.network import NETWORK
from gymsolve.doctor.rules.off_policy import OFF_POLICY
from gymsolve.doctor.rules.policy import POLICY
from gymsolve.doctor.rules.progress import PROGRESS
from gymsolve.doctor.rules.rule import Rule
from gymsolve.doctor.rules.speed import SPEED
from gymsolve.doctor.rules.tasks import TASKS

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
    *OFF_POLICY,
    *NETWORK,
    *PROGRESS,
    *EVALUATION,
    *BLIND,
    *SPEED,
)
