"""A run from elsewhere executes nothing: the exploit through every door, and the honest path beside it."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import gymsolve
from gymsolve.errors import CodeRefusedError
from gymsolve.own_code import code_in
from gymsolve.runs.run import Run
from gymsolve.runs.trust import trusted_list
from gymsolve.runs.zip_files import pack_run, unpack_run
from gymsolve.service.agent_limits import Home, Limits
from gymsolve.service.start_requests import FixTrial

EVIL = "from pathlib import Path\nPath(__file__).resolve()\nopen({marker!r}, 'w').write(__name__)\n"
GRID = """
import gymnasium as gym

class Grid(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}
    observation_space = gym.spaces.Discrete(3)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action):
        self.place += int(action)
        return min(self.place, 2), float(action), self.place >= 2, False, {}

    def render(self):
        import numpy as np
        return np.zeros((64, 64, 3), np.uint8)

class Same(gym.Wrapper):
    pass

gym.register("Grid-v0", entry_point="grid:Grid", max_episode_steps=8)
"""
SMALL = ("--steps", "128", "--set", "env.num_envs=2", "--set", "algo.num_steps=32", "--set", "solved_at=100")
SHORT = ("--set", "eval.episodes=2", "--set", "eval.every=64", "--set", "video.enabled=false")
DOORS = {
    "eval": ("eval", "@last", "--episodes", "1"),
    "record": ("record", "@last", "--max-seconds", "1"),
    "resume": ("resume", "@last", "--steps", "1000"),
    "fork": ("fork", "@last", "--steps", "1000"),
    "review": ("review", "@last"),
    "detached": ("resume", "@last", "--steps", "1000", "--detach"),
    "fix": ("fix", "@last", "--steps", "64"),
    "show": ("runs", "show", "@last"),
    "list": ("runs",),
    "compare": ("runs", "compare", "@last", "other"),
    "report": ("report", "@last"),
    "diagnose": ("diagnose", "@last"),
}
READING = {"show", "list", "compare", "report", "diagnose", "train --from"}
NAMES = {
    "environment": lambda name: {"id": f"runs.{name}.evil:CartPole-v1"},
    "package": lambda name: {"id": "runs:CartPole-v1"},
    "inside": lambda name: {"id": "stuff.deep:CartPole-v1"},
    "wrapper": lambda name: {"wrappers": [f"runs.{name}.evil:Wrapper"]},
    "wrapper with options": lambda name: {"wrappers": [{f"runs.{name}.evil:Wrapper": {"x": 1}}]},
    "wrapper by name": lambda name: {"wrappers": [{"name": f"runs.{name}.evil:Wrapper"}]},
    "task": lambda name: {"tasks": {"one": {}, "two": {"id": "stuff.deep:CartPole-v1"}}},
    "task's wrapper": lambda name: {"tasks": {"one": {}, "two": {"wrappers": ["stuff.deep:Wrapper"]}}},
    "task's options": lambda name: {"tasks": {"one": {}, "two": {"kwargs": {"x": "stuff.deep:X"}}}},
}


@pytest.fixture(autouse=True)
def _no_trust_yet(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of CartPole with an alert, so that there is something to fix."""
    folder = tmp_path_factory.mktemp("stock")
    settings = {"env.num_envs": 2, "algo.num_steps": 32, "algo.num_minibatches": 2, "solved_at": 1000}
    settings |= {"eval.episodes": 2, "eval.every": 64, "algo.learning_rate": 0.5, "checkpoint.every": 64}
    gymsolve.train("CartPole-v1", settings, steps=512, runs_dir=folder / "runs")
    return folder


@pytest.fixture
def hostile(stock: Path, place: Path):
    """That run, made to name code that lies beside it; answers with the file that the code would write."""

    def make(env: dict[str, Any] | None = None, kind: str = "environment") -> tuple[Run, Path]:
        shutil.copytree(stock / "runs", place / "runs")
        run = Run(place / "runs" / (place / "runs" / "@last").read_text().strip())
        shutil.copytree(run.path, place / "runs" / "other")
        marker = place / "executed"
        for path in (
            run.path / "evil.py",
            run.path / "__init__.py",
            place / "runs" / "__init__.py",
            place / "stuff" / "deep.py",
        ):
            path.parent.mkdir(exist_ok=True)
            path.write_text(EVIL.format(marker=str(marker)))
        stored = json.loads((run.path / "config.json").read_text())
        stored["config"]["env"] |= NAMES[kind](run.id) if env is None else env
        (run.path / "config.json").write_text(json.dumps(stored))
        return run, marker

    return make


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("door", ["eval", "record", "resume", "fork", "review"])
def test_no_door_imports_what_a_run_names(door, kind, hostile, cli):
    _, marker = hostile(kind=kind)
    answer = cli(*DOORS[door])
    assert not marker.exists()
    assert answer.code == 2
    assert "would import" in answer.err
    assert "--trust" in answer.err


@pytest.mark.parametrize("door", [*DOORS, "train --from"])
def test_the_exploit_through_the_real_command_line(door, hostile, shell):
    _, marker = hostile()
    command = DOORS.get(door, ("train", "CartPole-v1", "--from", "@last", *SMALL, *SHORT))
    answer = shell(*command)
    assert not marker.exists(), answer
    assert answer.code == (0 if door in READING else 2), answer
    assert "Traceback" not in answer.err
    if door not in READING:
        assert "would import" in answer.err, answer


def test_python_refuses_likewise(hostile):
    run, marker = hostile()
    with pytest.raises(CodeRefusedError, match="would import"):
        gymsolve.evaluate(run, episodes=1)
    with pytest.raises(CodeRefusedError, match="trust=True"):
        gymsolve.resume(run, steps=1000)
    policy = gymsolve.load_policy(run)
    assert policy.act([0.0, 0.0, 0.0, 0.0]) in (0, 1)
    with pytest.raises(CodeRefusedError, match="would import"):
        policy.make_envs()
    assert not marker.exists()


@pytest.mark.parametrize("kind", ["environment", "package", "wrapper"])
def test_nothing_inside_a_runs_folder_is_imported_even_with_trust(kind, hostile, shell):
    _, marker = hostile(kind=kind)
    answer = shell("eval", "@last", "--episodes", "1", "--trust")
    assert answer.code == 2, answer
    assert "lies among runs" in answer.err
    assert not marker.exists()


def test_nor_is_it_when_the_user_names_it(hostile, cli, place):
    run, marker = hostile()
    (place / "link").symlink_to(run.path, target_is_directory=True)
    (place / "linked.py").symlink_to(run.path / "evil.py")
    (place / "honest.py").write_text(f"import importlib; importlib.import_module('runs.{run.id}.evil')\n")
    shutil.copytree(place / "runs", place / "copied")
    for left in ("@last", "index.json", ".lock"):
        (place / "copied" / left).unlink()
    for module in (
        f"runs.{run.id}.evil",
        "runs",
        "link.evil",
        "linked",
        "honest",
        "copied",
        f"copied.{run.id}.evil",
    ):
        answer = cli("check", f"{module}:CartPole-v1")
        assert answer.code == 2, (module, answer)
        assert "lies among runs" in answer.err, module
    wrapper = f'env.wrappers=["runs.{run.id}.evil:Wrapper"]'
    assert "lies among runs" in cli("train", "CartPole-v1", "--set", wrapper, *SMALL).err
    assert not marker.exists()


def test_a_run_is_no_place_for_packages(hostile, place, monkeypatch, shell):
    """With a run as working directory, its files do not stand in for packages that are not installed."""
    run, marker = hostile(env={"backend": "envpool"})
    for name in ("envpool", "cv2", "imageio_ffmpeg", "wandb", "tensorboard"):
        (run.path / f"{name}.py").write_text(EVIL.format(marker=str(marker)))
    code = f"import os, sys; os.chdir({str(run.path)!r}); sys.path.insert(0, ''); "
    code += "from gymsolve.cli import main; "
    answer = shell(
        code=code + "main(['runs', 'show', '.']); print('path', '' in sys.path, os.getcwd() in sys.path)"
    )
    assert "path False False" in answer.out, answer
    assert not marker.exists()


def test_trust_is_asked_for_once(hostile, cli, place):
    """Code outside of runs folders, named by a run from elsewhere: refused, then trusted, then remembered."""
    run, _ = hostile(env={"id": "stuff.deep:CartPole-v1"})
    (place / "stuff" / "deep.py").write_text("")
    assert cli("eval", run.id, "--episodes", "1").code == 2
    assert cli("eval", run.id, "--episodes", "1", "--trust").code == 0
    assert cli("eval", run.id, "--episodes", "1").code == 0
    stored = json.loads((run.path / "config.json").read_text())
    stored["config"]["env"]["wrappers"] = ["stuff.deep:Other"]
    (run.path / "config.json").write_text(json.dumps(stored))
    assert "would import" in cli("eval", run.id, "--episodes", "1").err  # edited afterwards
    assert cli("resume", run.id, "--set", "env.wrappers=[]", "--set", "steps=520").code == 2  # its id stays
    stored["config"]["env"] |= {"wrappers": [], "tasks": {"one": {}, "two": {"id": "stuff.deep:Other-v0"}}}
    (run.path / "config.json").write_text(json.dumps(stored))
    assert "would import" in cli("eval", run.id, "--episodes", "1").err


def test_an_answer_on_a_terminal(hostile, place, terminal):
    run, _ = hostile(env={"id": "stuff.deep:CartPole-v1"})
    (place / "stuff" / "deep.py").write_text("")
    for said, code in ((b"n\n", 2), (b"y\n", 0), (b"", 0)):
        answer = terminal("eval", run.id, "--episodes", "1", said=said)
        assert answer.code == code, answer.out
        assert ("Import it?" in answer.out) == bool(said), answer.out


def test_own_code_needs_no_trust(shell, place, capfd):
    """Train, evaluate, resume, film and fix with an environment and a wrapper of one's own."""
    (place / "grid.py").write_text(GRID)
    wrapped = (
        "--set",
        "env.wrappers=[grid:Same]",
        "--set",
        "algo.learning_rate=0.5",
        "--set",
        "algo.ent_coef=0",
    )
    steps = (
        ("train", "grid:Grid-v0", *SMALL, *SHORT, *wrapped),
        ("eval", "@last", "--episodes", "2"),
        ("resume", "@last", "--steps", "256"),
        ("record", "@last", "--max-seconds", "1"),
        ("fix", "@last", "--steps", "64", "--seeds", "1"),
        ("train", "grid:Grid-v0", "--from", "@last", *SMALL, *SHORT),
        ("resume", "@last", "--steps", "256", "--set", "env.wrappers=[grid:Same]", "--detach"),
    )
    for step in steps:
        answer = shell(*step)
        assert answer.code == 0, (step, answer)
    policy = gymsolve.load_policy("@last", runs_dir=place / "runs")
    assert policy.config.env.id == "grid:Grid-v0"


def test_an_archive_brings_no_trust(place, cli):
    (place / "grid.py").write_text(GRID)
    assert cli("train", "grid:Grid-v0", *SMALL, *SHORT).code == 0
    run = gymsolve.open_run("@last")
    assert cli("eval", run.id, "--episodes", "1").code == 0
    pack_run(run, place / "run.zip")
    unpack_run(place / "run.zip", place / "elsewhere")
    answer = cli("eval", run.id, "--episodes", "1", "--runs-dir", "elsewhere")
    assert answer.code == 2
    assert "would import 'grid:Grid-v0'" in answer.err


def test_without_a_home_that_can_be_written(place, cli, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    (place / "grid.py").write_text(GRID)
    answer = cli("train", "grid:Grid-v0", *SMALL, *SHORT)
    assert answer.code == 0
    assert "need --trust" in answer.out
    assert cli("eval", "@last", "--episodes", "1").code == 2
    assert cli("eval", "@last", "--episodes", "1", "--trust").code == 0
    assert cli("train", "Bandit-v0", *SMALL).code == 0  # stock environments need no list
    assert cli("eval", "@last", "--episodes", "1").code == 0


def test_a_list_that_others_can_write_counts_for_nothing(place, cli, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (place / "grid.py").write_text(GRID)
    assert cli("train", "grid:Grid-v0", *SMALL, *SHORT).code == 0
    path = trusted_list()
    assert path == tmp_path / "state" / "gymsolve" / "trusted"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o666)
    assert cli("eval", "@last", "--episodes", "1").code == 2


def test_whoever_builds_the_environments_of_a_run_asks_first():
    """A new door that reads settings and builds from them must get them from `buildable_settings`."""
    builders = re.compile(
        r"\b(make_envs|open_render_env|open_role_env|open_play_env|build_trainer|build_env|Evaluator)\("
    )
    readers = re.compile(r"config_json\(\)|buildable_settings\(")
    found = set()
    for path in Path(gymsolve.__file__).parent.rglob("*.py"):
        text = path.read_text()
        if builders.search(text) and readers.search(text):
            assert "buildable_settings(" in text, path
            found.add(path.stem)
    assert found >= {"session", "fork", "loaded_policy", "record", "opening", "recorder", "deathmatch"}


def test_what_names_code():
    assert (
        code_in({"id": "CartPole-v1", "wrappers": ["atari", {"crop": {"top": 1}}], "kwargs": {"x": "a b: c"}})
        == ()
    )
    env = {"id": "a.b:Id-v0", "wrappers": ["m:W", {"n:V": {"k": ["o:U"]}}], "kwargs": {"env_id": "p.q:Id-v0"}}
    assert code_in(env) == ("a.b:Id-v0", "m:W", "n:V", "p.q:Id-v0", "o:U")
    tasks = {"plain": {"id": None, "wrappers": None, "kwargs": {}}, "own": env | {"id": "r:Id-v0"}}
    assert code_in({"id": "CartPole-v1", "tasks": tasks}) == ("r:Id-v0", "m:W", "n:V", "p.q:Id-v0", "o:U")


def test_trials_in_the_background_are_refused_before_they_are_said_to_have_begun(tmp_path):
    """A server answers at once, and charges its limits: what cannot be tried is told there."""
    sick = {"steps": 3000, "algo.learning_rate": 3.0, "video.enabled": False}
    run = gymsolve.train("CartPole-v1", sick, seed=1, runs_dir=tmp_path).run
    alerts = [
        event["id"] for event in run.read_events().rows if event["kind"] == "alert" and event["changes"]
    ]
    settings = json.loads((run.path / "config.json").read_text())
    settings["config"]["env"]["id"] = "evil:CartPole-v1"
    (run.path / "config.json").write_text(json.dumps(settings))
    with pytest.raises(CodeRefusedError, match="would import 'evil:CartPole-v1'"):
        FixTrial(run.id, alerts[0]).start(Home(str(tmp_path), Limits()))
    assert not (run.path / "fix.log").exists()
    assert not (tmp_path / "agents.jsonl").exists()
