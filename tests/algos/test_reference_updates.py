"""Each algorithm against its formula written out row by row, for every option that changes it."""

import copy

import numpy as np
import pytest
import torch

from gymsolve.experience.rollout import Rollout
from gymsolve.nn.policy import Policy
from probes import PPO_OPTIONS, START, evaluate_steps, gather, make_algorithm, make_case

SGD = {"name": "sgd"}
GAMMA, LAM = 0.9, 0.8


def collected(**net):
    envs, policy = make_case("multi_discrete", masked=True, envs={"next_step": True}, **net)
    return gather(envs, policy, 12), policy


def rows_of(rollout: Rollout) -> list[tuple[int, int]]:
    """Valid steps in the order of the flattened rollout."""
    return [(t, n) for t, n in np.ndindex(rollout.rewards.shape) if rollout.valid[t, n]]


def advantage(rollout: Rollout, t: int, n: int, lam: float = LAM) -> float:
    total = 0.0
    for k in range(t, rollout.vec_steps):
        future = 0.0 if rollout.terminated[k, n] else GAMMA * float(rollout.next_values[k, n])
        total += (GAMMA * lam) ** (k - t) * (
            float(rollout.rewards[k, n]) + future - float(rollout.values[k, n])
        )
        if rollout.done[k, n]:
            break
    return total


def evaluate(policy: Policy, rollout: Rollout, rows: list[tuple[int, int]]):
    obs = {"obs": torch.from_numpy(np.stack([rollout.obs["obs"][row] for row in rows]))}
    actions = torch.from_numpy(np.stack([rollout.actions[row] for row in rows]))
    masks = torch.from_numpy(np.stack([rollout.masks[row] for row in rows]))
    return evaluate_steps(policy, obs, actions, masks)[:3]


def descend(policy: Policy, loss: torch.Tensor, rate: float, limit: float) -> None:
    parameters = list(policy.parameters())
    slopes = torch.autograd.grad(loss, parameters, allow_unused=True)
    norm = sum(float(g.square().sum()) for g in slopes if g is not None) ** 0.5
    factor = min(1.0, limit / (norm + 1e-6)) if limit else 1.0
    with torch.no_grad():
        for parameter, slope in zip(parameters, slopes, strict=True):
            if slope is not None:
                parameter -= rate * factor * slope


def assert_same(policy: Policy, reference: Policy, before: Policy) -> None:
    moved = 0.0
    theirs = reference.state_dict()
    for (name, mine), old in zip(policy.state_dict().items(), before.state_dict().values(), strict=True):
        torch.testing.assert_close(
            mine, theirs[name], rtol=1e-4, atol=2e-6, msg=lambda m, name=name: f"{name}: {m}"
        )
        moved = max(moved, float((mine - old).abs().max()))
    assert moved > 1e-3  # or the comparison would prove nothing


def error(predicted: torch.Tensor, target: torch.Tensor, huber: float | None) -> torch.Tensor:
    gap = (predicted - target).abs()
    if huber is None:
        return 0.5 * gap**2
    return torch.where(gap < huber, 0.5 * gap**2, huber * (gap - 0.5 * huber))


@pytest.mark.parametrize("options", PPO_OPTIONS.values(), ids=PPO_OPTIONS)
@pytest.mark.parametrize("shared", [True, False])
def test_ppo(options, shared):
    given = {"num_epochs": 2, "num_minibatches": 3, "gamma": GAMMA, "gae_lambda": LAM, "learning_rate": 0.5}
    given = {**given, "clip_coef": 0.2, "ent_coef": 0.01, "vf_coef": 0.5, "max_grad_norm": 0.5, **options}
    rollout, policy = collected(shared=shared)
    before, reference = copy.deepcopy(policy), copy.deepcopy(policy)
    algorithm = make_algorithm("ppo", policy, optimizer=SGD, **given)
    algorithm.update(rollout, START, np.random.default_rng(3))

    rows, rng, clip = rows_of(rollout), np.random.default_rng(3), given["clip_coef"]
    raw = np.array([advantage(rollout, *row) for row in rows])
    old_values = np.array([float(rollout.values[row]) for row in rows])
    huber = given.get("huber_delta")
    scaled = raw if given.get("normalize_advantages") != "rollout" else (raw - raw.mean()) / raw.std()
    for _ in range(given["num_epochs"]):
        for chunk in np.array_split(rng.permutation(len(rows)), given["num_minibatches"]):
            part = scaled[chunk]
            if given.get("normalize_advantages", "minibatch") == "minibatch":
                part = (part - part.mean()) / part.std()
            log_probs, entropy, values = evaluate(reference, rollout, [rows[i] for i in chunk])
            gains, losses = [], []
            for j, i in enumerate(chunk):
                ratio = (log_probs[j] - float(rollout.log_probs[rows[i]])).exp()
                kept = min(max(float(ratio.detach()), 1 - clip), 1 + clip)
                # The clipped branch has no gradient; min() picks the pessimistic one.
                worse = float(ratio.detach()) * part[j] > kept * part[j]
                gains.append(torch.tensor(kept * part[j]) if worse else ratio * part[j])
                target = torch.tensor(raw[i] + old_values[i])
                loss = error(values[j], target, huber)
                if "clip_value" in given:
                    step = (values[j] - old_values[i]).clamp(-given["clip_value"], given["clip_value"])
                    loss = torch.maximum(loss, error(old_values[i] + step, target, huber))
                losses.append(loss)
            total = -torch.stack(gains).mean() + given["vf_coef"] * torch.stack(losses).mean()
            descend(reference, total - given["ent_coef"] * entropy.mean(), 0.5, given["max_grad_norm"])
    assert_same(policy, reference, before)


@pytest.mark.parametrize("normalize", ["none", "rollout"])
def test_a2c(normalize):
    rollout, policy = collected()
    before, reference = copy.deepcopy(policy), copy.deepcopy(policy)
    options = {"gamma": GAMMA, "gae_lambda": 1.0, "learning_rate": 0.3, "ent_coef": 0.05, "vf_coef": 0.4}
    algorithm = make_algorithm("a2c", policy, optimizer=SGD, normalize_advantages=normalize, **options)
    metrics = algorithm.update(rollout, START, np.random.default_rng(3))

    rows = rows_of(rollout)
    gains = np.array([advantage(rollout, *row, lam=1.0) for row in rows])
    targets = gains + [float(rollout.values[row]) for row in rows]
    if normalize == "rollout":
        gains = (gains - gains.mean()) / gains.std()
    log_probs, entropy, values = evaluate(reference, rollout, rows)
    actor = -(torch.tensor(gains) * log_probs).mean()
    critic = 0.5 * (values - torch.tensor(targets)).square().mean()
    assert metrics["train/value_loss"] == pytest.approx(float(critic.detach()), rel=1e-5)
    assert metrics["train/entropy"] == pytest.approx(float(entropy.detach().mean()), rel=1e-5)
    descend(reference, actor + 0.4 * critic - 0.05 * entropy.mean(), 0.3, 0.5)
    assert_same(policy, reference, before)


def togo(rollout: Rollout, t: int, n: int, tails) -> float | None:
    """Discounted rewards to the episode's end; None when it is not in the rollout."""
    total = 0.0
    for k in range(t, rollout.vec_steps):
        total += GAMMA ** (k - t) * float(rollout.rewards[k, n])
        if rollout.terminated[k, n]:
            return total
        if rollout.truncated[k, n]:
            return total + GAMMA ** (k - t + 1) * float(tails[k, n])
    return None


@pytest.mark.parametrize("returns", ["reward_to_go", "episode"])
@pytest.mark.parametrize("baseline", ["none", "mean", "value"])
@pytest.mark.parametrize("normalize", ["none", "rollout"])
def test_reinforce(returns, baseline, normalize):
    rollout, policy = collected(shared=False)
    before, reference = copy.deepcopy(policy), copy.deepcopy(policy)
    options = {"gamma": GAMMA, "learning_rate": 0.3, "ent_coef": 0.05, "vf_coef": 0.4, "value_epochs": 3}
    options |= {"returns": returns, "baseline": baseline, "normalize_advantages": normalize}
    algorithm = make_algorithm("reinforce", policy, optimizer=SGD, **options)
    algorithm.update(rollout, START, np.random.default_rng(3))

    tails = rollout.next_values if baseline == "value" else np.zeros_like(rollout.rewards)
    rows = [row for row in rows_of(rollout) if togo(rollout, *row, tails) is not None]
    assert len(rows) < len(rows_of(rollout))
    targets = np.array([togo(rollout, *row, tails) for row in rows])
    credit = targets.copy()
    if returns == "episode":
        for i, (t, n) in enumerate(rows):
            first = t
            while first and rollout.valid[first - 1, n] and not rollout.done[first - 1, n]:
                first -= 1
            credit[i] = togo(rollout, first, n, tails)
    if baseline == "mean":
        credit = credit - credit.mean()  # the running mean begins with the first rollout's
    if baseline == "value":
        credit = credit - [float(rollout.values[row]) for row in rows]
    if normalize == "rollout":
        credit = (credit - credit.mean()) / credit.std()
    log_probs, entropy, _ = evaluate(reference, rollout, rows)
    actor = -(torch.tensor(credit) * log_probs).mean() - 0.05 * entropy.mean()
    descend(reference, actor, 0.3, 0.5)
    if baseline == "value":
        for _ in range(3):
            values = evaluate(reference, rollout, rows)[2]
            descend(reference, 0.4 * 0.5 * (values - torch.tensor(targets)).square().mean(), 0.3, 0.5)
    assert_same(policy, reference, before)


@pytest.mark.parametrize("units", ["running", "popart"])
def test_values_in_their_own_units_are_clipped_around_the_old_prediction(units):
    rollout, policy = collected(normalize_values=units, shared=False)
    policy.value_norm.observe(np.float32([-3.0, 9.0, 2.0]), policy.value_head)
    rollout.values[:] = [policy.values({"obs": row}) for row in rollout.obs["obs"]]
    rollout.rewards *= 30.0  # the units will move far
    algorithm = make_algorithm("ppo", policy, clip_value=0.1, optimizer=SGD, num_epochs=1, num_minibatches=1)
    reference = copy.deepcopy(policy)
    metrics = algorithm.update(rollout, START, np.random.default_rng(0))

    rows = rows_of(rollout)
    gamma, lam = 0.99, 0.95
    raw = []
    for t, n in rows:
        total = 0.0
        for k in range(t, rollout.vec_steps):
            future = 0.0 if rollout.terminated[k, n] else gamma * float(rollout.next_values[k, n])
            error_k = float(rollout.rewards[k, n]) + future - float(rollout.values[k, n])
            total += (gamma * lam) ** (k - t) * error_k
            if rollout.done[k, n]:
                break
        raw.append(total + float(rollout.values[t, n]))
    reference.value_norm.observe(np.array(raw, np.float32), reference.value_head)
    mean, std = reference.value_norm.units()
    predicted = evaluate(reference, rollout, rows)[2].detach().numpy()
    # On the first pass the prediction is the old one, so clipping around it changes nothing.
    expected = 0.5 * np.square(predicted - (np.array(raw) - mean) / std).mean()
    assert metrics["train/value_loss"] == pytest.approx(expected, rel=1e-4)
