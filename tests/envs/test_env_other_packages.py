"""Families of other packages: found by entry points, imported on use, one sentence where they are broken."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

import late_resets
from gymsolve.envs.families import GENERIC, find_family
from gymsolve.envs.families.installed import list_offers
from gymsolve.envs.make import choose_backend, list_backends
from gymsolve.errors import CodeRefusedError, ConfigError, EnvFaultError
from gymsolve.runs.index import list_runs
from gymsolve.settings.config import EnvConfig

PROJECT = """
    [build-system]
    requires = ["setuptools"]
    build-backend = "setuptools.build_meta"
    [project]
    name = "tiny-family"
    version = "1.0"
    [project.entry-points."gymsolve.families"]
    Tiny = "tiny_family:FAMILY"
    Broken = "tiny_broken:FAMILY"
    Absent = "tiny_absent:FAMILY"
    Nothing = "tiny_family:NOTHING"
    Nameless = "tiny_family:NAMELESS"
    [tool.setuptools]
    py-modules = ["tiny_family", "tiny_vector", "tiny_broken"]
"""
FAMILY = """
    import gymnasium as gym
    from gymsolve.envs.families import Extra, Family, by_namespace

    class Walk(gym.Env):
        observation_space = gym.spaces.Box(0.0, 9.0, (1,))
        action_space = gym.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.place = 0.0
            return self._seen(), {}

        def step(self, action):
            self.place += float(action)
            return self._seen(), float(action), self.place >= 9.0, False, {}

        def _seen(self):
            import numpy as np
            return np.array([self.place], np.float32)

    def register():
        if "Tiny/Walk-v0" not in gym.registry:
            gym.register("Tiny/Walk-v0", entry_point="tiny_family:Walk", max_episode_steps=20)

    FAMILY = Family(
        "tiny",
        owns=by_namespace("Tiny"),
        register=register,
        choices={"Walk": ("stay", "go")},
        backends={"tiny/vector": "tiny_vector:BACKEND"},
    )
    NOTHING = "no family"
    NAMELESS = Family("nameless", owns=by_namespace("Nameless"), backends={"quick": "tiny_vector:BACKEND"})
"""
VECTOR = """
    from gymsolve.envs.families import Backend
    from gymsolve.envs.make import make_envs

    def make(config, role, count):
        return make_envs(config.model_copy(update={"backend": "sync"}), role, num_envs=count)

    BACKEND = Backend(lambda config, role: "it is for evaluation" if role == "train" else None, make)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed a package with families."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    (source / "pyproject.toml").write_text(dedent(PROJECT))
    (source / "tiny_family.py").write_text(dedent(FAMILY))
    (source / "tiny_vector.py").write_text(dedent(VECTOR))
    (source / "tiny_broken.py").write_text("raise RuntimeError('no licence')\n")
    words = ["--no-index", "--no-build-isolation", "--no-deps", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *words, "--target", str(target), str(source)], check=True
    )
    return target


def run_python(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A new Python that has the package installed."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(site))
    list_offers.cache_clear()
    yield site
    list_offers.cache_clear()


def test_a_package_brings_its_family_along(installed: Path) -> None:
    family = find_family("Tiny/Walk-v0")
    assert family.name == "tiny"
    assert find_family("Tiny/Walk-v0") is family
    assert find_family("Elsewhere/Walk-v0") is GENERIC
    assert list_backends("Tiny/Walk-v0") == ("sync", "async", "tiny/vector", "envpool")


def test_its_backend_is_chosen_and_refused_as_ours_are(installed: Path) -> None:
    config = EnvConfig(id="Tiny/Walk-v0")
    assert choose_backend(config, "eval") == "tiny/vector"
    assert choose_backend(config, "train") == "sync"
    asked = EnvConfig(id="Tiny/Walk-v0", backend="tiny/vector")
    with pytest.raises(ConfigError, match="the tiny/vector backend cannot be used: it is for evaluation"):
        choose_backend(asked, "train")
    with pytest.raises(ConfigError, match="has no backend of that name; its family has tiny/vector"):
        choose_backend(EnvConfig(id="Tiny/Walk-v0", backend="tiny/slow"), "train")


@pytest.mark.parametrize(
    ("env_id", "words"),
    [
        (
            "Broken/Thing-v0",
            "the family 'Broken' of the installed package tiny-family cannot be imported: "
            "RuntimeError: no licence",
        ),
        (
            "Absent/Thing-v0",
            "the family 'Absent' of the installed package tiny-family cannot be imported: "
            "ModuleNotFoundError: No module named 'tiny_absent'",
        ),
        ("Nothing/Thing-v0", "is broken: tiny_family:NOTHING is no gymsolve Family"),
    ],
)
def test_a_broken_entry_point_is_one_sentence(installed: Path, env_id: str, words: str) -> None:
    with pytest.raises(EnvFaultError) as caught:
        find_family(env_id)
    assert words in str(caught.value)
    assert "pip uninstall tiny-family" in str(caught.value)


def test_a_backend_of_others_has_a_slash_in_its_name(installed: Path) -> None:
    with pytest.raises(ConfigError, match="the backend 'quick' of tiny_family:NAMELESS has no slash"):
        find_family("Nameless/Thing-v0")


def test_what_lies_in_the_working_directory_was_not_installed(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(installed)
    list_offers.cache_clear()
    assert find_family("Tiny/Walk-v0") is GENERIC


def test_nothing_is_imported_from_a_folder_of_runs(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "runs" / "one"
    shutil.copytree(site, run)
    (run / "run.json").write_text("{}")
    (run / "tiny_family.py").rename(run / "tiny_moved.py")  # no other test has imported it
    (entries,) = run.glob("*.dist-info/entry_points.txt")
    entries.write_text("[gymsolve.families]\nTiny = tiny_moved:FAMILY\n")
    monkeypatch.syspath_prepend(str(run))
    list_offers.cache_clear()
    with pytest.raises(CodeRefusedError, match="lies among runs, and nothing is imported from there"):
        find_family("Tiny/Walk-v0")
    list_offers.cache_clear()


def test_packages_are_read_for_unknown_ids_only_and_imported_on_use(site: Path) -> None:
    code = (
        "import json, sys; from gymsolve.envs.families import find_family\n"
        "from gymsolve.envs.families.installed import list_offers\n"
        "told = []\n"
        "for env_id in ('CartPole-v1', 'Mine/Thing-v0', 'Tiny/Walk-v0'):\n"
        "    find_family(env_id)\n"
        "    told.append([list_offers.cache_info().currsize, 'tiny_family' in sys.modules])\n"
        "print(json.dumps([*told, 'tiny_vector' in sys.modules, 'tiny_broken' in sys.modules]))"
    )
    found = json.loads(run_python(site, "-c", code).stdout)
    assert found == [[0, False], [1, False], [1, True], False, False]


def test_its_environments_train_by_their_id_alone(site: Path, tmp_path: Path) -> None:
    settings = ["--set", "env.num_envs=2", "--set", "algo.num_steps=16", "--set", "video.enabled=false"]
    words = ["train", "Tiny/Walk-v0", "--steps", "64", *settings, "--runs-dir", str(tmp_path)]
    done = run_python(site, "-m", "gymsolve", *words)
    assert done.returncode == 0, done.stderr
    (run,) = list_runs(tmp_path)
    assert (run.env_id, run.status) == ("Tiny/Walk-v0", "finished")


def test_a_broken_package_is_no_traceback_for_users(site: Path) -> None:
    done = run_python(site, "-m", "gymsolve", "check", "Broken/Thing-v0")
    assert done.returncode == 1
    assert "RuntimeError: no licence" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_module_that_the_user_names_has_a_family_of_its_own() -> None:
    assert find_family(late_resets.ID) is late_resets.FAMILY
    assert find_family("Late/CartPole-v1") is not late_resets.FAMILY
    assert choose_backend(EnvConfig(id=late_resets.ID), "train") == "late/next_step"
