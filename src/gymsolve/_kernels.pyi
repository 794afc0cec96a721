"""What `kernels.c`, `convolutions.c` and `classic.c` offer.

Arrays are written where it says so, and never kept, but for the buffers of a network and the arrays of
environments.
"""

from gymsolve.spec import Array

SOURCE: str
"""SHA-256 of the source this was built from."""
LANES: int
"""Floats in a vector."""

class Network:
    """Trunk, heads and their slopes over the flat buffers; `backward` is about the last pass."""

    def __init__(
        self,
        *,
        values: Array,
        grads: Array,
        trunk: Array,  # [towers, layers, 3] int64: place, inputs, outputs
        ends: Array,  # [2, 3] the same of the action head and of the value head
        blocks: Array,  # [blocks, 3] int64: row of the first matrix, dense input, count
        choices: Array,  # [parts] int64; empty for box actions
        rule: Array,  # [2, 16] nodes and weights of the entropy's quadrature
        dense: int,
        lookups: int,
        log_std: int,
        activation: int,
        squash: bool,
    ) -> None: ...
    def evaluate(
        self,
        dense: Array,
        lookups: Array | None,
        illegal: Array | None,
        actions: Array,
        log_probs: Array,
        entropy: Array,
        values: Array,
        /,
    ) -> None:
        """Fill the last three [B]."""

    def critic(self, dense: Array, lookups: Array | None, values: Array, /) -> None:
        """Fill the last [B]."""

    def act(
        self,
        dense: Array,
        lookups: Array | None,
        illegal: Array | None,
        noise: Array | None,
        actions: Array,
        log_probs: Array | None,
        values: Array | None,
        /,
    ) -> None:
        """Fill the last three; without noise the likeliest actions alone."""

    def backward(self, d_log_probs: Array | None, d_entropy: float, d_values: Array | None, /) -> None:
        """Fill the gradients that these slopes reach."""

class Classic:
    """Copies of a classic control environment over arrays that stay the same."""

    def __init__(
        self,
        *,
        name: str,
        state: Array,  # [variables, N] float64
        trig: Array,  # [functions, N] float64
        obs: Array,  # [N, entries] float32
        rewards: Array,  # [N] float64
        returns: Array,  # [N] float64
        lengths: Array,  # [N] int64
        terminated: Array,  # [N] bool
        truncated: Array,  # [N] bool
        limit: int,
        option: float,
    ) -> None: ...
    def advance(self, actions: Array, stage: int, /) -> None:
        """Move the state."""

    def settle(self) -> int:
        """Fill the rest from it; how many episodes ended."""

def ppo_loss(
    columns: Array,
    log_probs: Array,
    entropy: Array,
    values: Array,
    d_log_probs: Array,
    d_values: Array,
    standardize: bool,
    clip: float,
    vf_coef: float,
    huber_delta: float,
    clip_value: float,
    /,
) -> tuple[float, float, float, float, float, float]:
    """Fill the slopes; means of KL, gain, value loss, entropy, share clipped and ratio."""

def adam(
    values: Array,
    grads: Array,
    exp_avg: Array,
    exp_avg_sq: Array,
    factor: float,
    beta1: float,
    beta2: float,
    eps: float,
    rate: float,
    decay: float,
    shrink: float,
    /,
) -> None:
    """One step of the values along factor · grads + decay · values, after shrinking them."""

def convolve(
    geometry: Array,  # [layers, 6] int64: channels, height, width, outputs, kernel, stride
    x: Array,  # [B, C, H, W] uint8, of any strides
    weights: Array,
    biases: Array,
    kept: Array | None,  # [B, …]
    features: Array,  # [B, F]
    threads: int,
    fork: int,  # address of GOMP_parallel
    /,
) -> None:
    """Fill the features, and what the pass back needs."""

def convolve_back(
    geometry: Array,
    x: Array,
    turned: Array,
    kept: Array,
    features: Array,
    d_features: Array,
    d_weights: Array,  # [threads, …], laid out like the turned weights
    d_biases: Array,  # [threads, …]
    threads: int,
    fork: int,
    /,
) -> None:
    """Add to the slopes; every thread's pictures have slopes of their own."""
