"""SAC, TD3 and TQC against their formulas written out row by row, for every option that changes them."""

import copy
import math

import numpy as np
import pytest
import torch

from gymsolve.errors import ConfigError
from gymsolve.experience.collect import Collector
from gymsolve.experience.obtained import ObtainedReturns
from gymsolve.experience.rollout import Rollout
from gymsolve.experience.statistics import mean_and_std
from gymsolve.nn.continuous_policy import ContinuousPolicy
from gymsolve.settings.config import NetConfig
from gymsolve.settings.schedules import Progress
from probes import (
    CONTINUOUS,
    START,
    ConstantEnvs,
    ProbeEnvs,
    gather,
    make_algorithm,
    make_continuous_case,
    make_continuous_policy,
    make_spec,
    same_arrays,
    unbounded,
)

SGD = {"name": "sgd"}
GAMMA, RATE, STEPS, ENVS, BATCH, SIZE = 0.9, 0.02, 10, 3, 8, 3
QUANTILES = 4
OPTIONS = {
    "defaults": {},
    "three_steps": {"n_step": 3},
    "long_returns": {"n_step": 50},
    "rare_moves": {"policy_every": 2, "target_every": 3, "tau": 0.5},
    "clipped": {"max_grad_norm": 0.05},
}
SOFT = {"fixed_weight": {"ent_coef": 0.3}, "own_target": {"target_entropy": 0.5, "ent_coef_init": 0.2}}
TWO_CRITICS = {"huber": {"value_loss": "huber", "huber_delta": 0.3}}
CASES = {
    **{f"sac-{name}": ("sac", more, {}) for name, more in (OPTIONS | SOFT | TWO_CRITICS).items()},
    **{f"td3-{name}": ("td3", more, {}) for name, more in (OPTIONS | TWO_CRITICS).items()},
    "td3-little_noise": ("td3", {"policy_noise": 0.5, "noise_clip": 0.1}, {}),
    "sac-normalised": ("sac", {}, {"normalize_obs": "running", "critics": {"layer_norm": True, "count": 3}}),
    "tqc-defaults": ("tqc", {}, {}),
    "tqc-wide": ("tqc", {"huber_delta": 0.4, "drop_quantiles": 0}, {}),
    "tqc-three": ("tqc", {"drop_quantiles": 2, "ent_coef": 0.1}, {"critics": {"count": 3}}),
}


def collected(algo: str, **net) -> tuple[Rollout, ContinuousPolicy]:
    net = {"quantiles": QUANTILES, **net} if algo == "tqc" else net
    envs, policy = make_continuous_case(algo, envs={"next_step": True, "num_envs": ENVS}, **net)
    return gather(envs, policy, STEPS, keeps_ends=True), policy


def follow(rollout: Rollout, t: int, n: int, n_step: int) -> tuple[float, float, np.ndarray]:
    """Discounted rewards from a step on; discount and observation of what followed."""
    total, factor = 0.0, 1.0
    for k in range(t, STEPS):
        total, factor = total + factor * float(rollout.rewards[k, n]), factor * GAMMA
        if rollout.done[k, n]:
            return total, 0.0 if rollout.terminated[k, n] else factor, rollout.final_obs[k]["obs"][n]
        if k - t + 1 == n_step and k < STEPS - 1:
            return total, factor, rollout.obs["obs"][k + 1, n]
    return total, factor, rollout.last_obs["obs"][n]


def draw(rollout: Rollout, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Uniform rows; those that were spent on a reset are drawn again."""
    size = STEPS * ENVS
    rows = rng.integers(0, size, count)
    while len(bad := [i for i in range(count) if not rollout.valid[divmod(int(rows[i]), ENVS)]]):
        rows[bad] = rng.integers(0, size, len(bad))
    return [divmod(int(row), ENVS) for row in rows]


def see(policy, observation) -> torch.Tensor:
    return policy.encoder({"obs": torch.from_numpy(observation[None])})[0]


def act(policy, features, noise) -> tuple[torch.Tensor, torch.Tensor]:
    """An action between -1 and 1 and its log-density, by the rule for the density of a function."""
    mean, log_std = policy.actor_head(policy.actor(features)).chunk(2)
    normal = torch.distributions.Normal(mean.double(), log_std.double().clamp(-20, 2).exp())
    before = mean + log_std.clamp(-20, 2).exp() * torch.from_numpy(noise)
    slope = torch.log(1 - torch.tanh(before.double()) ** 2)
    return before.tanh(), (normal.log_prob(before.double()) - slope).sum().float()


def judge(policy, features, action) -> list[torch.Tensor]:
    """What each critic [M] says, one network after the other."""
    critics, answers = policy.critics, []
    for n in range(critics.count):
        x = torch.cat([features, action])
        for layer, (weight, bias) in enumerate(zip(critics.weights, critics.biases, strict=True)):
            x = x @ weight[n] + bias[n, 0]
            if layer < len(critics.weights) - 1:
                if critics.layer_norm:
                    x = (x - x.mean()) / torch.sqrt(x.var(unbiased=False) + 1e-5)
                    x = x * critics.scales[layer][n, 0] + critics.shifts[layer][n, 0]
                x = critics.activation(x)
        answers.append(x)
    return answers


def error(gap: torch.Tensor, huber: float | None) -> torch.Tensor:
    size = gap.abs()
    return 0.5 * gap**2 if huber is None or size <= huber else huber * (size - 0.5 * huber)


def quantile_error(said: torch.Tensor, atoms: torch.Tensor, delta: float) -> torch.Tensor:
    total = torch.zeros(())
    for i in range(len(said)):
        for atom in atoms:
            gap = atom - said[i]
            below = (i + 0.5) / len(said)
            total = total + (1 - below if gap < 0 else below) * error(gap, delta) / delta
    return total / (len(said) * len(atoms))


def descend(parameters: list[torch.Tensor], loss: torch.Tensor, limit: float) -> None:
    slopes = torch.autograd.grad(loss, parameters)
    norm = sum(float(slope.square().sum()) for slope in slopes) ** 0.5
    factor = min(1.0, limit / (norm + 1e-6)) if limit else 1.0
    with torch.no_grad():
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter -= RATE * factor * slope


class Reference:
    """A learner that looks at one row after the other."""

    def __init__(self, algo: str, policy, given: dict) -> None:
        self.algo, self.given, self.policy = algo, given, copy.deepcopy(policy)
        self.target = copy.deepcopy(policy)
        self.log_weight = torch.tensor(math.log(given.get("ent_coef_init", 1.0)))

    @property
    def weight(self) -> float:
        fixed = self.given.get("ent_coef")
        return float(self.log_weight.exp()) if fixed is None else fixed

    def names(self, *, critics: bool) -> list[torch.Tensor]:
        return [p for name, p in self.policy.named_parameters() if name.startswith("critics.") == critics]

    def goal(self, rollout, row, noise) -> torch.Tensor:
        total, factor, last = follow(rollout, *row, self.given["n_step"])
        if self.algo == "td3":
            features = see(self.target, last)
            limit = self.given.get("noise_clip", 0.5)
            moved = np.clip(self.given.get("policy_noise", 0.2) * noise, -limit, limit)
            own = self.target.actor_head(self.target.actor(features)).tanh()
            action = (own + torch.from_numpy(moved)).clamp(-1, 1)
            return total + factor * torch.cat(judge(self.target, features, action)).min().reshape(1)
        action, log_prob = act(self.policy, see(self.policy, last), noise)
        said = torch.cat(judge(self.target, see(self.target, last), action))
        if self.algo == "sac":
            future = said.min().reshape(1)
        else:
            kept = len(said) - self.policy.critics.count * self.given.get("drop_quantiles", 2)
            future = said.sort().values[:kept]
        return total + factor * (future - self.weight * log_prob)

    def critic_error(self, said: torch.Tensor, goal: torch.Tensor) -> torch.Tensor:
        if self.algo == "tqc":
            return quantile_error(said, goal, self.given.get("huber_delta", 1.0)) / self.policy.critics.count
        huber = self.given.get("huber_delta") if self.given.get("value_loss") == "huber" else None
        return error(said[0] - goal[0], huber)

    def learn(self, rollout, step: int, rng) -> None:
        rows = draw(rollout, BATCH, rng)
        noise = rng.standard_normal((BATCH, SIZE), dtype=np.float32)
        to_unit = self.policy.spec.action.to_unit
        with torch.no_grad():
            goals = [self.goal(rollout, row, z) for row, z in zip(rows, noise, strict=True)]
        losses = []
        for row, goal in zip(rows, goals, strict=True):
            features = see(self.policy, rollout.obs["obs"][row])
            action = torch.from_numpy(to_unit(rollout.actions[row][None])[0])
            losses += [self.critic_error(said, goal) for said in judge(self.policy, features, action)]
        descend(self.names(critics=True), torch.stack(losses).sum() / BATCH, self.given["max_grad_norm"])
        if step % self.given["policy_every"] == 0:
            self.improve(rollout, rows, rng)
        if step % self.given["target_every"] == 0:
            with torch.no_grad():
                for slow, fast in zip(self.target.parameters(), self.policy.parameters(), strict=True):
                    slow.copy_((1 - self.given["tau"]) * slow + self.given["tau"] * fast)

    def improve(self, rollout, rows, rng) -> None:
        losses, entropies = [], []
        noise = None if self.algo == "td3" else rng.standard_normal((BATCH, SIZE), dtype=np.float32)
        for i, row in enumerate(rows):
            features = see(self.policy, rollout.obs["obs"][row]).detach()
            if noise is None:
                own = self.policy.actor_head(self.policy.actor(features)).tanh()
                losses.append(-judge(self.policy, features, own)[0][0])
                continue
            action, log_prob = act(self.policy, features, noise[i])
            said = judge(self.policy, features, action)
            value = torch.cat(said).min() if self.algo == "sac" else torch.cat(said).mean()
            losses.append(self.weight * log_prob - value)
            entropies.append(-float(log_prob.detach()))
        if entropies and self.given.get("ent_coef") is None:
            wanted = self.given.get("target_entropy", -float(SIZE))
            new = self.log_weight - RATE * (np.mean(entropies) - wanted)
            descend(self.names(critics=False), torch.stack(losses).mean(), self.given["max_grad_norm"])
            self.log_weight = new
        else:
            descend(self.names(critics=False), torch.stack(losses).mean(), self.given["max_grad_norm"])


@pytest.mark.parametrize("case", CASES)
def test_an_update_is_what_its_formula_says(case):
    algo, options, net = CASES[case]
    given = {"n_step": 1, "policy_every": 1, "target_every": 1, "tau": 0.3, "max_grad_norm": 0.0, **options}
    rollout, policy = collected(algo, **net)
    before, reference = policy.arrays(), Reference(algo, policy, given)
    settings = {"gamma": GAMMA, "learning_rate": RATE, "optimizer": SGD, "batch_size": BATCH, **given}
    algorithm = make_algorithm(
        algo, policy, learning_starts=0, gradient_steps=4 / STEPS, buffer_size=STEPS * ENVS, **settings
    )
    metrics = algorithm.update(rollout, START, np.random.default_rng(3))
    assert metrics["train/gradient_steps"] == 4.0
    rng = np.random.default_rng(3)
    for step in range(1, 5):
        reference.learn(rollout, step, rng)
    moved = {"critics": 0.0, "actor": 0.0}
    for (name, mine), theirs in zip(policy.named_parameters(), reference.policy.parameters(), strict=True):
        told = lambda m, name=name: f"{name}: {m}"  # noqa: E731
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-5, msg=told)
        group = "critics" if name.startswith("critics.") else "actor"
        moved[group] = max(moved[group], float(np.abs(mine.detach().numpy() - before[name]).max()))
    assert min(moved.values()) > 5e-4  # or the comparison would prove nothing
    followed = dict(reference.target.named_parameters())
    for name, mine in algorithm.target.arrays().items():
        if name in followed:
            np.testing.assert_allclose(mine, followed[name].detach().numpy(), rtol=1e-3, atol=1e-5)
    if algo != "td3":
        assert metrics["hyper/ent_coef"] == pytest.approx(reference.weight, rel=1e-4)


def test_targets_move_at_exactly_the_right_gradient_step():
    rollout, policy = collected("td3")
    options = {"gradient_steps": 1 / STEPS, "target_every": 3, "policy_every": 2, "tau": 1.0}
    algorithm = make_algorithm("td3", policy, learning_starts=0, buffer_size=1000, **options)
    frozen, actor = algorithm.target.arrays(), policy.actor_head.weight.detach().clone()
    for step in range(1, 10):
        algorithm.update(rollout, START, np.random.default_rng(step))
        assert algorithm.gradient_steps == step
        now = algorithm.target.arrays()
        assert same_arrays(now, policy.arrays() if step % 3 == 0 else frozen)
        frozen = now
        assert torch.equal(actor, policy.actor_head.weight) == (step % 2 == 1)
        actor = policy.actor_head.weight.detach().clone()


def test_the_temperature_brings_the_entropy_to_its_target():
    """A reward of −10 (a − 0.2)², once: the best policy of an entropy H is a Gaussian of known variance.

    Its density is proportional to exp(reward / temperature), so the variance is the temperature over 20, and
    H = ½ log(2πe · variance).
    """
    envs = ProbeEnvs("constant", "continuous", num_envs=16)
    policy = make_continuous_policy("sac", envs.spec, hidden=(32,), activation="relu", policy_gain=0.01)
    rollout = gather(envs, policy, 40, keeps_ends=True)
    unit = np.random.default_rng(0).uniform(-0.98, 0.98, rollout.actions.shape)
    rollout.actions[:] = policy.spec.action.from_unit(unit)
    rollout.rewards[:] = -10 * (unit[..., 0] - 0.2) ** 2
    rates = {"learning_rate": "1e-2 -> 1e-3", "gradient_steps": 4, "batch_size": 128}
    algorithm = make_algorithm("sac", policy, learning_starts=0, target_entropy=-0.5, **rates)
    for i in range(4):
        told = algorithm.update(rollout, Progress(i, 4), np.random.default_rng(i))
    assert told["train/entropy"] == pytest.approx(-0.5, abs=0.1)
    assert policy.consider(rollout.last_obs, None, rollout.actions[0]).entropy[0] == pytest.approx(
        -0.5, abs=0.1
    )
    variance = math.exp(2 * -0.5) / (2 * math.pi * math.e)
    assert told["hyper/ent_coef"] == pytest.approx(20 * variance, rel=0.3)
    best = policy.spec.action.to_unit(policy.greedy(rollout.last_obs, None))
    np.testing.assert_allclose(best, 0.2, atol=0.1)


def test_until_learning_begins_actions_are_drawn_evenly():
    for algo in ("sac", "td3"):
        _, policy = make_continuous_case(algo, envs={"num_envs": 2})
        algorithm = make_algorithm(algo, policy, learning_starts=1, buffer_size=10_000)
        algorithm.prepare(START)
        obs = {"obs": np.zeros((4000, 3), np.float32)}
        acted = policy.act(obs, None, np.random.default_rng(0))
        unit = policy.spec.action.to_unit(acted.actions)
        share, _ = np.histogram(unit, np.linspace(-1, 1, 9))
        assert (np.abs(share / unit.size - 1 / 8) < 0.01).all()
        np.testing.assert_allclose(acted.log_probs, -3 * np.log(2), rtol=1e-6)
        algorithm.update(collected(algo)[0], START, np.random.default_rng(0))
        algorithm.prepare(Progress(1, 100))
        again = policy.spec.action.to_unit(policy.act(obs, None, np.random.default_rng(0)).actions)
        assert mean_and_std(again[:, 0])[1] != pytest.approx(3**-0.5, abs=0.02)


def test_errors_of_values_are_measured_against_what_was_really_obtained():
    """One reward per step, and critics that always say 7."""
    for terminates in (True, False):
        _, policy = make_continuous_case("td3")
        with torch.no_grad():
            policy.critics.weights[-1].zero_()
            policy.critics.biases[-1].fill_(7.0)
        envs = ConstantEnvs(policy.spec, num_envs=3, length=40, terminates=terminates)
        algorithm = make_algorithm(
            "td3", policy, gamma=GAMMA, learning_starts=0, gradient_steps=1e-6, buffer_size=1000
        )
        collector = Collector(envs, policy, 30, 0)
        collector.keeps_ends = True
        collector.begin([0, 1, 2])
        rng = np.random.default_rng(0)
        # Episodes go on from one rollout to the next.
        told = [algorithm.update(collector.collect(rng), START, rng) for _ in range(2)]
        assert "train/q_bias" not in told[0]  # no episode has ended
        errors, squares = [], []
        for length in (40, 39, 38):  # copies are out of phase
            for left in range(length, 0, -1):
                rest = 0.0 if terminates else GAMMA**left * 7.0
                earned = sum(GAMMA**k for k in range(left)) + rest
                if terminates or GAMMA**left <= 0.4:
                    errors.append(7.0 - earned)
                    squares.append(earned**2)
        assert told[1]["train/q_bias"] == pytest.approx(np.mean(errors), rel=1e-5)
        share = np.mean(errors) / np.sqrt(np.mean(squares))
        assert told[1]["train/overestimation"] == pytest.approx(share, rel=1e-5)


def test_entropy_counts_in_what_sac_obtains():
    """A value leaves out the entropy of its own action and counts that of all later ones."""
    tracker = ObtainedReturns()
    rollout, _ = collected("sac")
    rollout.valid[:], rollout.truncated[:], rollout.terminated[:] = True, False, False
    rollout.terminated[2] = True
    rollout.rewards[:], rollout.values[:] = 1.0, 0.0
    tracker.add(rollout, np.full((STEPS, ENVS), 10.0), 0.5)
    earned = [1 + 0.5 * (10 + 1) + 0.25 * (10 + 1), 1 + 0.5 * (10 + 1), 1]
    assert tracker.metrics()["train/q_bias"] == pytest.approx(-np.mean(earned))


@pytest.mark.parametrize("algo", ["sac", "td3"])
def test_other_action_spaces_are_refused_with_what_serves_them(algo):
    spec = make_spec("box")
    endless = type(spec)(spec.id, spec.obs, unbounded(spec.action))
    serves = {"discrete": "algo.name=dqn", "multi_discrete": "algo.name=ppo", "multi_binary": "algo.name=ppo"}
    for kind, instead in serves.items():
        with pytest.raises(
            ConfigError, match=f"{algo.upper()} serves .* a bounded Box, and Random has"
        ) as told:
            CONTINUOUS[algo][0].make_policy(make_spec(kind), NetConfig(), None)
        assert instead in str(told.value)
    with pytest.raises(ConfigError, match="and Random has one with an infinite bound"):
        CONTINUOUS[algo][0].make_policy(endless, NetConfig(), None)
