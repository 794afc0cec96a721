"""Name an environment, get a solved agent and an explanation.

    import gymsolve

    outcome = gymsolve.train("CartPole-v1")
    policy = gymsolve.load_policy(outcome.run)
    action = policy.act(observation)

A name is imported when it is first used: `import gymsolve` alone imports neither torch nor gymnasium.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymsolve.api import (
        delete_runs,
        evaluate,
        inspect,
        load_policy,
        open_run,
        rename_run,
        resume,
        tag_run,
        train,
        train_seeds,
    )

__all__ = [
    "__version__",
    "delete_runs",
    "evaluate",
    "inspect",
    "load_policy",
    "open_run",
    "rename_run",
    "resume",
    "tag_run",
    "train",
    "train_seeds",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'gymsolve' has no attribute {name!r}")
    from gymsolve import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return list(__all__)
