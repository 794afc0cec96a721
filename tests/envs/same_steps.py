"""Two vectors of environments that should do the same."""

import numpy as np

from gymsolve.envs.contract import Step

__all__ = ["assert_same_step"]


def assert_same_step(one: Step, other: Step) -> None:
    """Equal in all that a policy or a statistic sees; last observations are compared where they matter."""
    assert one.obs.keys() == other.obs.keys()
    for key in one.obs:
        np.testing.assert_array_equal(one.obs[key], other.obs[key])
    np.testing.assert_array_equal(one.rewards, other.rewards)
    np.testing.assert_array_equal(one.terminated, other.terminated)
    np.testing.assert_array_equal(one.truncated, other.truncated)
    assert one.episodes == other.episodes
    assert (one.masks is None) == (other.masks is None)
    if one.masks is not None:
        np.testing.assert_array_equal(one.masks, other.masks)
