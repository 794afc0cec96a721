"""PQN and DQN against their formulas written out row by row, for every option that changes them."""

import copy

import numpy as np
import pytest
import torch

from gymsolve.experience.rollout import Rollout
from gymsolve.nn.q_policy import QPolicy
from gymsolve.settings.schedules import Progress
from probes import START, gather, make_algorithm, make_q_case, same_arrays

SGD = {"name": "sgd"}
GAMMA, LAM, RATE = 0.9, 0.8, 0.3
STEPS, ENVS = 12, 4
NETS = {"plain": {}, "duelling": {"duelling": True}, "scaled": {"normalize_obs": "running"}}


def collected(masked: bool = True, **net) -> tuple[Rollout, QPolicy]:
    envs, policy = make_q_case(masked, envs={"next_step": True}, **net)
    return gather(envs, policy, STEPS, keeps_ends=True), policy


def tensor(rows) -> torch.Tensor:
    return torch.from_numpy(np.stack(rows))


def worth(policy: QPolicy, obs, mask) -> torch.Tensor:
    """Values [choices] of the actions in one observation; -inf where illegal."""
    features = policy.actor(policy.encoder({"obs": tensor([obs])}))
    values = policy.q_head(features)[0]
    if policy.value_head is not None:
        values = policy.value_head(features)[0, 0] + values - values.mean()
    return values if mask is None else values.masked_fill(~torch.from_numpy(mask), -torch.inf)


def error(gap: torch.Tensor, huber: float | None) -> torch.Tensor:
    size = gap.abs()
    return 0.5 * gap**2 if huber is None or size <= huber else huber * (size - 0.5 * huber)


def descend(policy: QPolicy, loss: torch.Tensor, limit: float) -> None:
    parameters = list(policy.parameters())
    slopes = torch.autograd.grad(loss, parameters)
    norm = sum(float(slope.square().sum()) for slope in slopes) ** 0.5
    factor = min(1.0, limit / (norm + 1e-6)) if limit else 1.0
    with torch.no_grad():
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter -= RATE * factor * slope


def assert_close(policy: QPolicy, reference: QPolicy, before: QPolicy) -> None:
    moved = 0.0
    parameters = zip(policy.named_parameters(), reference.parameters(), before.parameters(), strict=True)
    for (name, mine), theirs, old in parameters:
        torch.testing.assert_close(
            mine, theirs, rtol=1e-4, atol=2e-6, msg=lambda m, name=name: f"{name}: {m}"
        )
        moved = max(moved, float((mine.detach() - old.detach()).abs().max()))
    assert moved > 1e-3  # or the comparison would prove nothing


# ------------------------------------------------------------------------------------- PQN


def lambda_return(policy: QPolicy, rollout: Rollout, t: int, n: int) -> float:
    """By its definition: one step, then a mixture of what the next state is worth and what came of it."""
    reward = float(rollout.rewards[t, n])
    if rollout.terminated[t, n]:
        return reward
    if rollout.truncated[t, n]:
        return reward + GAMMA * float(worth(policy, rollout.final_obs[t]["obs"][n], None).max())
    if t == STEPS - 1:
        last = worth(policy, rollout.last_obs["obs"][n], rollout.last_masks[n])
        return reward + GAMMA * float(last.max())
    following = float(worth(policy, rollout.obs["obs"][t + 1, n], rollout.masks[t + 1, n]).max())
    return reward + GAMMA * ((1 - LAM) * following + LAM * lambda_return(policy, rollout, t + 1, n))


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("huber", [None, 0.3])
@torch.no_grad()
def test_pqn(net, huber):
    rollout, policy = collected(**NETS[net])
    before, reference = copy.deepcopy(policy), copy.deepcopy(policy)
    losses = {} if huber is None else {"value_loss": "huber", "huber_delta": huber}
    options = {"gamma": GAMMA, "q_lambda": LAM, "num_epochs": 2, "num_minibatches": 3, "max_grad_norm": 0.5}
    algorithm = make_algorithm("pqn", policy, optimizer=SGD, learning_rate=RATE, **options, **losses)
    rows = [(t, n) for t, n in np.ndindex(STEPS, ENVS) if rollout.valid[t, n]]
    targets = [lambda_return(reference, rollout, t, n) for t, n in rows]
    credit = algorithm.credit(rollout, START)
    np.testing.assert_allclose([credit.targets["task"][row] for row in rows], targets, rtol=1e-4, atol=1e-5)
    rng = np.random.default_rng(3)
    with torch.enable_grad():
        algorithm.update(rollout, START, np.random.default_rng(3))
        for _ in range(2):
            for chunk in np.array_split(rng.permutation(len(rows)), 3):
                errors = []
                for i in chunk:
                    t, n = rows[i]
                    values = worth(reference, rollout.obs["obs"][t, n], rollout.masks[t, n])
                    errors.append(error(values[rollout.actions[t, n, 0]] - targets[i], huber))
                descend(reference, torch.stack(errors).mean(), 0.5)
    assert_close(policy, reference, before)


# ------------------------------------------------------------------------------------- DQN


def follow(
    rollout: Rollout, t: int, n: int, n_step: int
) -> tuple[float, float, np.ndarray, np.ndarray | None]:
    """Discounted rewards from a step on; discount, observation and legal actions of what followed."""
    total, factor = 0.0, 1.0
    for k in range(t, STEPS):
        total, factor = total + factor * float(rollout.rewards[k, n]), factor * GAMMA
        if rollout.done[k, n]:
            last = rollout.final_obs[k]["obs"][n]
            return total, 0.0 if rollout.terminated[k, n] else factor, last, None
        if k == STEPS - 1:
            break
        if k - t + 1 == n_step:
            return total, factor, rollout.obs["obs"][k + 1, n], rollout.masks[k + 1, n]
    return total, factor, rollout.last_obs["obs"][n], rollout.last_masks[n]


def draw(rollout: Rollout, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Uniform rows; those that were spent on a reset are drawn again."""
    size = STEPS * ENVS
    rows = rng.integers(0, size, count)
    while len(bad := [i for i in range(count) if not rollout.valid[divmod(int(rows[i]), ENVS)]]):
        rows[bad] = rng.integers(0, size, len(bad))
    return [divmod(int(row), ENVS) for row in rows]


OPTIONS = {
    "defaults": {},
    "single": {"double": False},
    "three_steps": {"n_step": 3},
    "long_returns": {"n_step": 50},
    "squared": {"value_loss": "mse"},
    "tight_huber": {"huber_delta": 0.2, "n_step": 2},
    "soft_target": {"target_every": 1, "tau": 0.3},
    "free_gradients": {"max_grad_norm": 0.0},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("net", NETS)
def test_dqn(net, options):
    given = {"n_step": 1, "double": True, "target_every": 2, "tau": 1.0, "max_grad_norm": 0.5, **options}
    rollout, policy = collected(**NETS[net])
    before, reference = copy.deepcopy(policy), copy.deepcopy(policy)
    target = copy.deepcopy(policy)
    settings = {"gamma": GAMMA, "learning_rate": RATE, "optimizer": SGD, "batch_size": 16, **given}
    algorithm = make_algorithm(
        "dqn", policy, learning_starts=0, gradient_steps=5 / STEPS, buffer_size=STEPS * ENVS, **settings
    )
    metrics = algorithm.update(rollout, START, np.random.default_rng(3))
    assert metrics["train/gradient_steps"] == 5.0
    huber = None if given.get("value_loss") == "mse" else given.get("huber_delta", 1.0)
    rng = np.random.default_rng(3)
    for step in range(1, 6):
        errors = []
        for t, n in draw(rollout, 16, rng):
            total, factor, last, mask = follow(rollout, t, n, given["n_step"])
            with torch.no_grad():
                judged = worth(target, last, mask)
                chosen = int((worth(reference, last, mask) if given["double"] else judged).argmax())
                goal = total + factor * float(judged[chosen])
            values = worth(reference, rollout.obs["obs"][t, n], rollout.masks[t, n])
            errors.append(error(values[rollout.actions[t, n, 0]] - goal, huber))
        descend(reference, torch.stack(errors).mean(), given["max_grad_norm"])
        if step % given["target_every"] == 0:
            with torch.no_grad():
                for slow, fast in zip(target.parameters(), reference.parameters(), strict=True):
                    slow.copy_((1 - given["tau"]) * slow + given["tau"] * fast)
    assert_close(policy, reference, before)
    for mine, theirs in zip(algorithm.target.policy.parameters(), target.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=2e-6)


def test_the_target_network_moves_at_exactly_the_right_gradient_step():
    rollout, policy = collected()
    algorithm = make_algorithm(
        *("dqn", policy), learning_starts=0, gradient_steps=1 / STEPS, target_every=3, buffer_size=1000
    )
    frozen = algorithm.target.arrays()
    for step in range(1, 10):
        algorithm.update(rollout, START, np.random.default_rng(step))
        assert algorithm.gradient_steps == step
        now = algorithm.target.arrays()
        if step % 3 == 0:
            assert same_arrays(now, policy.arrays() | {"epsilon": now["epsilon"]})
            frozen = now
        else:
            assert same_arrays(now, frozen)


def test_gradient_steps_are_counted_in_fractions_and_wait_for_the_buffer():
    rollout, policy = collected()
    learned = rollout.env_steps
    algorithm = make_algorithm(
        *("dqn", policy), learning_starts=2 * learned + 1, gradient_steps=0.125, buffer_size=10_000
    )
    taken = [algorithm.update(rollout, START, np.random.default_rng(0)) for _ in range(6)]
    # 12 steps × 1/8 are one and a half.
    assert [row["train/gradient_steps"] for row in taken] == [0, 0, 1, 2, 1, 2]
    assert "train/loss" not in taken[0]
    assert [row["replay/size"] for row in taken] == [learned * k for k in range(1, 7)]


def test_epsilon_follows_its_schedule():
    _, policy = collected()
    for name in ("pqn", "dqn"):
        algorithm = make_algorithm(name, policy, epsilon={"start": 1.0, "end": 0.0, "until": 0.5})
        for taken, expected in ((0, 1.0), (25, 0.5), (50, 0.0), (90, 0.0)):
            algorithm.prepare(Progress(taken, 100))
            assert float(policy.epsilon) == pytest.approx(expected)
