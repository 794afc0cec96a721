"""Derived recipes: odd spaces, what the user has set, the budget, and notes that do not contradict them."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import sample_envs
from gymnasium import spaces

from gymsolve.doctor.lint import lint
from gymsolve.envs.derive import derive_recipe
from gymsolve.envs.describe import describe_env
from gymsolve.envs.families import find_family
from gymsolve.envs.make import make_envs
from gymsolve.recipes import validate
from gymsolve.settings.config import EnvConfig
from gymsolve.training.build import build_trainer
from gymsolve.training.planning.plan import plan_run

PLAIN = "Sample/Plain-v0"


class Sentence(spaces.Space[str]):
    """A space of sentences such as packages make themselves."""

    def __init__(self) -> None:
        super().__init__(dtype=str)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return "go to the door"

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)


class Codes(sample_envs.Plain):
    """A room of object codes from 0 to 10 in a space that allows 255, a direction, and a sentence."""

    def __init__(self, highest: int = 10) -> None:
        room = spaces.Box(0, 255, (7, 7, 3), np.uint8)
        super().__init__(spaces.Dict({"room": room, "way": spaces.Discrete(4), "task": Sentence()}))
        self._highest = highest

    def _room(self, obs: Any) -> Any:
        return {**obs, "room": obs["room"] % (self._highest + 1)}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        obs, info = super().reset(seed=seed)
        return self._room(obs), info

    def step(self, action: Any) -> Any:
        obs, *rest = super().step(action)
        return self._room(obs), *rest


@pytest.fixture(autouse=True)
def _registered() -> Any:
    gym.register("Mine/Codes-v0", entry_point=Codes, max_episode_steps=50)
    yield
    del gym.registry["Mine/Codes-v0"]


def plain(space: spaces.Space[Any]) -> dict[str, Any]:
    return {"kwargs": {"observation_space": space}, "max_episode_steps": 40}


@pytest.mark.parametrize("shape", [(10, 10, 4), (6,)])
def test_boxes_of_bool_can_be_trained_on(shape: tuple[int, ...]) -> None:
    given = plain(spaces.Box(0, 1, shape, dtype=np.bool_))
    recipe, reasons = derive_recipe(PLAIN, given, 64)
    assert not any("unknown scale" in reason for reason in reasons)
    recipe["algo"] |= {"num_steps": 4, "num_minibatches": 1}
    trainer = build_trainer(validate(recipe | {"steps": 64}))
    entry = trainer.envs.spec.obs["obs"]
    trainer.envs.close()
    assert (entry.dtype, min(entry.low), max(entry.high)) == ("uint8" if len(shape) == 3 else "float32", 0, 1)


def test_text_is_left_out_and_said_to_be() -> None:
    config = EnvConfig(id="Mine/Codes-v0", num_envs=2, frame_stack=2, backend="sync")
    spec = describe_env(config)
    assert list(spec.obs) == ["room", "way"]
    assert any("'task'" in note and "text" in note for note in spec.notes)
    envs = make_envs(config, "train")
    obs, _ = envs.reset([1, 2])
    assert set(envs.step(np.zeros(2, np.int64)).obs) == set(obs) == {"room", "way"}
    envs.close()
    assert any("'task'" in reason for reason in derive_recipe("Mine/Codes-v0")[1])


def test_grids_of_codes_are_scaled_by_what_they_hold() -> None:
    recipe, reasons = derive_recipe("Mine/Codes-v0")
    assert recipe["env"]["wrappers"] == [{"image_range": {"high": 15}}]
    assert "frame_stack" not in recipe["env"]
    assert any("grids of codes" in reason for reason in reasons)
    room = describe_env(EnvConfig.model_validate(recipe["env"])).obs["room"]
    assert (room.low, room.high, room.dtype) == ((0.0,), (15.0,), "uint8")
    pictures, _ = derive_recipe("Mine/Codes-v0", {"kwargs": {"highest": 200}})
    assert "wrappers" not in pictures["env"]


def test_a_category_beside_numbers_does_not_set_the_learning_rate() -> None:
    both = spaces.Dict({"where": spaces.Discrete(5), "speed": spaces.Box(-1.0, 1.0, (2,))})
    assert derive_recipe(PLAIN, plain(both))[0]["algo"]["learning_rate"] == 3e-4
    assert derive_recipe(PLAIN, plain(spaces.Discrete(5)))[0]["algo"]["learning_rate"] == 2.5e-3


class Code(sample_envs.Plain):
    """One of six states as a vector, or with `more` two of its numbers are 1."""

    def __init__(self, more: bool = False) -> None:
        super().__init__(spaces.Discrete(6))
        self.observation_space = spaces.Box(0.0, 1.0, (6,), np.float32)
        self._more = more

    def _code(self, state: int) -> Any:
        code = np.eye(6, dtype=np.float32)[int(state)]
        return np.maximum(code, np.roll(code, 1)) if self._more else code

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self._code(3), super().reset(seed=seed)[1]

    def step(self, action: Any) -> Any:
        _, *rest = super().step(action)
        return self._code(self.np_random.integers(6)), *rest


@pytest.mark.parametrize("more", [False, True])
def test_one_hot_vectors_are_learned_from_like_categories(more: bool) -> None:
    gym.register("Mine/Code-v0", entry_point=Code, max_episode_steps=40, kwargs={"more": more})
    try:
        recipe, reasons = derive_recipe("Mine/Code-v0")
    finally:
        del gym.registry["Mine/Code-v0"]
    assert recipe["net"].get("normalize_obs") == ("running" if more else None)
    assert recipe["algo"]["learning_rate"] == (3e-4 if more else 2.5e-3)
    assert any("one-hot" in reason for reason in reasons) == (not more)


class Lights(Code):
    """Lights of which random actions turn none on (`on` is -1), or one that is always on."""

    def __init__(self, on: int = -1) -> None:
        super().__init__()
        self._on = on

    def _code(self, state: int) -> Any:
        return (np.arange(6) == self._on).astype(np.float32)


@pytest.mark.parametrize("on", [-1, 2])
def test_lights_that_never_change_are_no_categories(on: int) -> None:
    gym.register("Mine/Lights-v0", entry_point=Lights, max_episode_steps=40, kwargs={"on": on})
    try:
        recipe, reasons = derive_recipe("Mine/Lights-v0")
    finally:
        del gym.registry["Mine/Lights-v0"]
    assert (recipe["net"]["normalize_obs"], recipe["algo"]["learning_rate"]) == ("running", 3e-4)
    assert not any("one-hot" in reason or "categorical observations" in reason for reason in reasons)


def test_what_the_user_sets_is_what_is_looked_at() -> None:
    settings = {"env.wrappers": [{"discrete_encoder": {"encoding": "onehot"}}], "env.max_episode_steps": 9}
    plan = plan_run("Sample/Masked-v0", settings)
    # A one-hot vector, and not the category it is made from: both share no weights between states.
    assert (plan.config.net.normalize_obs, plan.config.algo.learning_rate.start) == ("none", 2.5e-3)
    assert any("one-hot vectors" in reason for reason in plan.reasons)
    assert plan.resolved.provenance["env.wrappers"] == "--set"
    assert any("horizon 9" in reason for reason in plan.reasons)
    assert plan_run("Mine/Codes-v0", {"env.wrappers": []}).config.env.wrappers == ()


@pytest.mark.parametrize(
    "env_id", ["CartPole-v1", "Pendulum-v1", "Acrobot-v1", "Mine/Codes-v0", "FrozenLake-v1"]
)
@pytest.mark.parametrize("budget", [None, 1_000, 2_000, 20_000, 60_000])
def test_rollouts_fit_the_budget_and_no_note_contradicts_them(env_id: str, budget: int | None) -> None:
    recipe, reasons = derive_recipe(env_id, None, budget)
    config = validate(recipe | ({"steps": budget} if budget else {}))
    updates = config.steps // (config.env.num_envs * config.algo.num_steps)
    assert updates >= (12 if budget is None or budget > 2_000 else 1)
    assert budget is None or not any("twice the budget" in reason for reason in reasons)
    if env_id == "Pendulum-v1" and budget == 60_000:
        assert updates >= 48
        assert any("a budget of 60,000 steps" in reason for reason in reasons)
    derived = {f"{part}.{name}" for part in ("env", "algo", "net") for name in recipe[part]}
    doubts = [change.path for one in lint(config, describe_env(config.env)) for change in one.changes]
    assert [path for path in doubts if path in derived] == []


def test_long_episodes_get_a_gamma_that_no_note_doubts() -> None:
    recipe, _ = derive_recipe("Sample/Counter-v0", {"kwargs": {"length": 10**9}, "max_episode_steps": 9000})
    config = validate(recipe)
    assert config.algo.gamma.start == 0.999
    assert "short_sight" not in [one.id for one in lint(config, describe_env(config.env))]


def test_rollouts_stay_long_where_nothing_short_would_see_a_reward() -> None:
    assert derive_recipe("Acrobot-v1", None, 30_000)[0]["algo"]["num_steps"] == 128


def test_derived_settings_can_be_asked_for_where_there_is_a_recipe() -> None:
    plan = plan_run("acrobot-v1:derived", {"steps": 30_000, "algo.name": "a2c"})
    recipe, reasons = derive_recipe("Acrobot-v1", None, 30_000)
    assert (plan.resolved.name, plan.reasons) == ("Acrobot-v1:derived", reasons)
    assert (plan.config.env.id, plan.config.env.num_envs) == ("Acrobot-v1", recipe["env"]["num_envs"])
    assert plan.config.algo.name == "a2c"
    assert not {"recipe", "variant"} & set(plan.resolved.provenance.values())


class Stroke(sample_envs.Plain):
    """A body that never falls: every step pays something else, up to a time limit."""

    def __init__(self, fall: int = 10**9) -> None:
        super().__init__(spaces.Box(-1.0, 1.0, (3,)))
        self._fall = fall

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self._steps = 0
        return super().reset(seed=seed)

    def step(self, action: Any) -> Any:
        obs, *_ = super().step(action)
        self._steps += 1
        return obs, float(obs[0]), self._steps >= self._fall, False, {}


@pytest.mark.parametrize(
    ("limit", "fall", "budget", "shape"),
    [
        (1000, 10**9, 60_000, (1, 1024, 16)),
        (1000, 10**9, None, (4, 1024, 64)),
        (1000, 10**9, 5_000, (1, 256, 4)),
        (1000, 60, 60_000, (16, 64, 8)),
        (200, 10**9, 60_000, (16, 64, 8)),
    ],
)
def test_long_episodes_that_pay_all_along_get_long_stretches_of_few_copies(
    limit: int, fall: int, budget: int | None, shape: tuple[int, int, int]
) -> None:
    gym.register("Mine/Stroke-v0", entry_point=Stroke, max_episode_steps=limit, kwargs={"fall": fall})
    try:
        recipe, reasons = derive_recipe("Mine/Stroke-v0", None, budget)
        chosen = derive_recipe("Mine/Stroke-v0", {"num_envs": 8}, budget)[0]
    finally:
        del gym.registry["Mine/Stroke-v0"]
    algo = recipe["algo"]
    assert (recipe["env"]["num_envs"], algo["num_steps"], algo["num_minibatches"]) == shape
    assert any("in which most steps pay" in reason for reason in reasons) == (shape[1] > 64)
    assert chosen["env"]["num_envs"] == 8


@pytest.mark.parametrize("own", [{"algo.name": "a2c"}, {"algo.name": "reinforce"}, {"algo.num_steps": 64}])
def test_few_copies_are_for_long_stretches_alone(own: dict[str, Any]) -> None:
    gym.register("Mine/Stroke-v0", entry_point=Stroke, max_episode_steps=1000)
    try:
        plan = plan_run("Mine/Stroke-v0", own)
    finally:
        del gym.registry["Mine/Stroke-v0"]
    assert plan.config.env.num_envs == 16
    assert not any("rollouts of" in reason for reason in plan.reasons)


def test_an_atari_game_takes_the_settings_of_its_family() -> None:
    pytest.importorskip("ale_py")
    plan = plan_run("ALE/Tetris-v5", {"steps": "1m"})
    assert [wrapper.name for wrapper in plan.config.env.wrappers] == ["atari", "clip_reward"]
    assert (plan.config.env.frame_stack, plan.config.net.cnn) == (4, "nature")
    assert plan.config.eval_every == 50_000
    assert plan.resolved.provenance["env.wrappers"] == "family atari"


@pytest.mark.parametrize(
    ("old", "family", "told"),
    [
        ("Pong-v5", "ALE/Pong-v5", "Did you mean 'ALE/Pong-v5'?"),
        ("PongNoFrameskip-v4", "ALE/Pong-v5", "'ALE/Pong-v5'? Frames are skipped"),
        ("PongDeterministic-v0", "ALE/Pong-v5", "'ALE/Pong-v5'? Frames are skipped"),
        ("Pong-ramNoFrameskip-v4", "ALE/Pong-v5", "'ALE/Pong-v5'? The wrapper atari_ram"),
        ("ALE/Breakout-ram-v5", "ALE/Pong-v5", "'ALE/Breakout-v5'? The wrapper atari_ram"),
        ("MinAtar-Breakout-v0", "MinAtar/Breakout-v1", "Did you mean 'MinAtar/Breakout-v1'?"),
        ("SpaceInvaders-MinAtar", "MinAtar/Breakout-v1", "Did you mean 'MinAtar/SpaceInvaders-v1'?"),
        ("MinAtar/Pong-v0", "MinAtar/Breakout-v1", "MinAtar has MinAtar/Asterix-v1, MinAtar/Breakout-v1"),
    ],
)
def test_ids_known_from_elsewhere_lead_to_ours(old: str, family: str, told: str) -> None:
    pytest.importorskip("ale_py")
    pytest.importorskip("minatar")
    assert told in str(find_family(family).meant(old))
