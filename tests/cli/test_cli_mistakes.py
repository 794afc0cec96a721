"""Wrong requests and damaged files: one clear sentence, the right exit code, nothing left on disk."""

import importlib.util
import json

import pytest

BAD_REQUESTS = [
    pytest.param(["train", "CartPol-v1"], "no environment 'CartPol-v1'. Did you mean 'CartPole", id="env"),
    pytest.param(["train", "CartPole-v1:ppoo"], "no variant 'ppoo'. Did you mean 'ppo'?", id="variant"),
    pytest.param(["train", "CartPole-v1", "--set", "algo.gama=0.9"], "Did you mean 'algo.gamma'?", id="key"),
    pytest.param(
        ["train", "CartPole-v1", "--set", "algo.num_steps=many"],
        "algo.num_steps: should be a whole",
        id="type",
    ),
    pytest.param(
        ["train", "CartPole-v1", "--set", "algo.gamma=2"], "algo.gamma: should be between 0 and 1", id="range"
    ),
    pytest.param(
        ["train", "CartPole-v1", "--set", "algo.gamma"], "--set: cannot read 'algo.gamma'", id="override"
    ),
    pytest.param(
        ["train", "CartPole-v1", "--steps", "lots"], "steps: cannot read 'lots' as a number", id="steps"
    ),
    pytest.param(["train", "CartPole-v1", "--steps", "0"], "not '0' (from --steps)", id="steps flag"),
    pytest.param(["train", "CartPole-v1", "--set", "steps=0"], "not 0 (from --set)", id="steps by set"),
    pytest.param(["train", "CartPole-v1", "--seed", "-3"], "not -3 (from --seed)", id="seed flag"),
    pytest.param(
        ["recipes", "chek"],
        "No such command 'chek'. Did you mean 'check'? To search for the word: gymsolve recipes list chek",
        id="subcommand",
    ),
    pytest.param(
        ["runs", "comapre", "x"], "No such command 'comapre'. Did you mean 'compare'?", id="runs command"
    ),
    pytest.param(
        ["train", "CartPole-v1", "--seed", "-1"], "seed: should be greater than or equal to 0", id="seed"
    ),
    pytest.param(["train", "CartPole-v1", "--seed", "x"], "'--seed'", id="seed type"),
    pytest.param(["train", "CartPole-v1", "--from", "nothing"], "'nothing'", id="from"),
    pytest.param(["train", "CartPole-v1", "--confirm"], "no terminal to ask on. Use --yes.", id="confirm"),
    pytest.param(
        ["train", "CartPole-v1", "--set", "env.kwargs.wings=2"],
        "env.kwargs: CartPole-v1 does not",
        id="kwargs",
    ),
    pytest.param(
        ["train"], "Missing argument 'ENV[:VARIANT]'. Such as: gymsolve train CartPole-v1", id="no argument"
    ),
    pytest.param(["train", "CartPole-v1", "--stepz", "3"], "--stepz", id="option"),
    pytest.param(["trian", "CartPole-v1"], "No such command 'trian'. Did you mean 'train'?", id="command"),
    pytest.param(["resume", "@last"], "there are no runs in runs yet", id="resume"),
    pytest.param(["eval", "@last"], "there are no runs in runs yet", id="eval"),
    pytest.param(["eval", "@last", "--episodes", "0"], "--episodes", id="episodes"),
    pytest.param(["stop", "x"], "there are no runs in runs yet", id="stop"),
    pytest.param(["runs", "show", "x"], "there are no runs in runs yet", id="show"),
    pytest.param(["runs", "compare", "x", "y"], "there are no runs in runs yet", id="compare"),
    pytest.param(["runs", "status:done"], "no run has the status 'done'.", id="query"),
    pytest.param(["runs", "--limit", "0"], "--limit", id="limit"),
    pytest.param(["recipes", "show", "CartPol-v1"], "no recipe for 'CartPol-v1'. Did you mean", id="recipe"),
    pytest.param(["recipes", "check", "missing.yaml"], "missing.yaml: cannot be read", id="recipe file"),
    pytest.param(["recipes", "format", "missing.yaml"], "missing.yaml: cannot be read", id="format file"),
    pytest.param(["check", "NoSuchThing-v0"], "no environment 'NoSuchThing-v0'", id="check"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD_REQUESTS)
def test_a_wrong_request_is_answered_in_one_sentence(cli, place, arguments, sentence):
    answer = cli(*arguments)

    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert sentence in answer.err
    assert len(answer.err.splitlines()) == 1
    assert list(place.iterdir()) == []

    told = cli(*arguments, "--json")
    assert told.code == 2
    last = json.loads(told.out.splitlines()[-1])
    assert set(last["error"]) == {"message", "where", "hint", "exit_code"}
    assert last["error"]["exit_code"] == 2


def test_several_wrong_settings_are_all_named(cli):
    answer = cli("train", "CartPole-v1", "--set", "algo.gamma=2", "--set", "net.hiden=[3]")

    assert answer.code == 2
    assert "algo.gamma: should be between 0 and 1, not 2" in answer.err
    assert "'net.hidden'" in answer.err


def test_runs_that_cannot_be_written(cli, place):
    (place / "file").write_text("")
    answer = cli("train", "CartPole-v1", "--steps", "256", "--runs-dir", "file/below", "-q")

    assert answer.code == 1
    assert "a part of this path is a file, not a folder." in answer.err
    assert [path.name for path in place.iterdir()] == ["file"]


@pytest.mark.skipif(importlib.util.find_spec("ale_py") is not None, reason="the extra is installed")
def test_a_missing_extra_names_the_command_that_installs_it(cli, place):
    answer = cli("train", "ALE/Pong-v5")

    assert answer.code == 2
    assert answer.err == (
        "error: the package 'ale-py' is not installed. Install it with: pip install 'gymsolve[atari]'\n"
    )
    assert list(place.iterdir()) == []


def test_damaged_metrics_are_reported_and_skipped(cli, trained, place):
    with (place / "runs" / trained / "metrics.jsonl").open("a") as file:
        file.write('no json\n{"env_steps": 1')
    answer = cli("runs", "show", trained, "--json")

    assert answer.code == 0
    assert any("is not valid JSON; ignored" in problem for problem in answer.json["problems"])
    assert any("cut off while being written" in problem for problem in answer.json["problems"])
    assert "Problems" in cli("runs", "show", trained).out


def test_a_damaged_checkpoint_is_refused(cli, trained, place):
    checkpoints = place / "runs" / trained / "checkpoints"
    best = checkpoints / (checkpoints / "best").read_text().strip()
    (best / "policy.safetensors").write_bytes(b"rubbish")
    answer = cli("eval", f"{trained}@best", "--json")

    assert answer.code == 1
    assert "cut off or overwritten" in answer.json["error"]["message"]
    assert "policy.safetensors" in answer.json["error"]["where"]


def test_an_unknown_checkpoint(cli, trained):
    answer = cli("eval", f"{trained}@77")

    assert answer.code == 2
    assert "has no checkpoint '77'. There are:" in answer.err


def test_a_damaged_run_does_not_hide_the_others(cli, trained, place):
    other = place / "runs" / "20200101-000000-Bandit-v0-ppo-0000"
    other.mkdir()
    (other / "run.json").write_text("{")
    rows = {run["id"]: run["status"] for run in cli("runs", "--json").json}

    assert rows[other.name] == "damaged"
    assert rows[trained] in ("finished", "solved")


def test_stopping_a_run_that_has_ended(cli, trained):
    answer = cli("stop", trained)

    assert answer.code == 2
    assert "is not running" in answer.err


def test_debug_shows_the_traceback(shell):
    answer = shell("recipes", "show", "Nothing-v0", "--debug")

    assert answer.code == 1
    assert "Traceback" in answer.err
    assert "UnknownEnvError" in answer.err


def test_a_reader_that_leaves_early_is_no_error(shell):
    code = (
        "import subprocess, sys\n"
        "command = [sys.executable, '-m', 'gymsolve', 'recipes']\n"
        "process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)\n"
        "process.stdout.close()\n"
        "print(process.stderr.read().decode())\n"
    )
    assert shell(code=code).out.strip() == ""


ELSEWHERE = [
    (["train", "--algo", "ppo", "--env", "CartPole-v1"], "gymsolve train CartPole-v1:ppo"),
    (["train", "--env=CartPole-v1", "--lr", "1e-3"], "train CartPole-v1 --set algo.learning_rate=1e-3"),
    (
        ["train", "CartPole-v1", "--learning-rate", "3e-4", "--device", "cuda", "--n-envs", "4"],
        "train CartPole-v1 --set algo.learning_rate=3e-4 --set device=cuda --set env.num_envs=4",
    ),
    (["train", "CartPole-v1", "--total-timesteps", "1e5"], "train CartPole-v1 --steps 1e5"),
    (
        ["train", "CartPole-v1", "--algo", "trpo"],
        "There is no TRPO here, but ppo, a2c, reinforce, pqn, dqn, sac, td3, tqc. Here it is: ",
    ),
    (
        ["train", "CartPole-v1:trpo"],
        "TRPO is not among the algorithms here. It has: ppo, a2c, reinforce, ppo_centred, pixels, positions, "
        "dqn, pqn. Try: gymsolve train CartPole",
    ),
    (["train", "CartPole-v0:trpo"], "Try: gymsolve train CartPole-v0:ppo"),
    (["train", "CartPole-v1", "--batch-size", "64"], "--set 'algo.num_minibatches=…'"),
    (["CartPole-v1"], "gymsolve train CartPole-v1"),
    (["enjoy", "--algo", "ppo", "--env", "CartPole-v1"], "gymsolve record @best:CartPole-v1"),
    (["watch"], "gymsolve record @last"),
    (["tune", "CartPole-v1"], "To search hyperparameters: `gymsolve sweep ENV`; `gymsolve tune-speed ENV`"),
    (["hpo"], "To search hyperparameters: `gymsolve sweep ENV`"),
    (["train", "CartPole-v1", "--optimize"], "To search hyperparameters: `gymsolve sweep ENV`"),
    (
        ["export", "@last"],
        "There is no export: a run keeps its policies as checkpoints/<steps>/policy.safetensors",
    ),
    (["publish"], "Here it is: gymsolve push @last"),
    (
        ["train", "CartPole-v1", "--set", "algo.name=trpo"],
        "algo.name: there is no TRPO here (from --set). Known: a2c",
    ),
    (["train", "CartPole-v1", "--set", "algo=dqn"], "not 'dqn' (from --set). Write algo.name=dqn."),
    (["ls"], "Here it is: gymsolve runs"),
    (["list"], "Here it is: gymsolve runs"),
    (["test", "x"], "gymsolve eval x"),
    (["evaluate"], "gymsolve eval @last"),
    (["learn", "CartPole-v1"], "gymsolve train CartPole-v1"),
    (["eval"], "Such as: gymsolve eval @last"),
]


@pytest.mark.parametrize(("arguments", "sentence"), ELSEWHERE, ids=lambda one: " ".join(one)[:40])
def test_words_of_other_tools_are_answered_with_ours(cli, arguments, sentence):
    answer = cli(*arguments)

    assert answer.code == 2
    assert sentence in answer.err
    assert len(answer.err.splitlines()) == 1


def test_a_recipe_of_ones_own_says_that_it_comes_before_the_bundled_one(cli, place):
    (place / "recipes").mkdir()
    text = "env: {id: CartPole-v1}\nvariants:\n  quick:\n    algo: {name: ppo}\n    steps: 64\n"
    (place / "recipes" / "CartPole-v1.yaml").write_text(text)
    small = ("--set", "algo.num_steps=8", "--set", "video.enabled=false")
    assert (
        "  recipe       recipes/CartPole-v1.yaml, instead of the bundled one\n"
        in cli("train", "CartPole-v1", *small).out
    )
    assert "  recipe  " not in cli("train", "Acrobot-v1", "--steps", "64", *small).out


ABSURD = [
    ("algo.num_steps=1000000000", "algo.num_steps: ", "GiB of memory, and 2.0 GiB are free."),
    ("env.frame_stack=1000000000", "env.frame_stack: ", "GiB of memory, and 2.0 GiB are free."),
    ("env.num_envs=1000000", "env.num_envs: ", "less than or equal to 65536"),
    ("net.hidden=[1000000]", "net.hidden.0: ", "less than or equal to 16384"),
    ("net.hidden=[16384, 16384, 16384]", "net.hidden: ", "GiB of memory, and 2.0 GiB are free."),
    ("eval.episodes=1000000000000", "eval.episodes: ", "cannot be played within 2,000,000 steps"),
    ("eval.solved_episodes=1000000000000", "eval.solved_episodes: ", "cannot be played within"),
    ("eval.num_envs=100000000", "eval.num_envs: ", "less than or equal to 65536"),
    ("net.embedding_size=1000000000000", "net.embedding_size: ", "less than or equal to 16384"),
    ("env.kwargs={a: [.nan]}", "env.kwargs: ", "should hold finite numbers, not nan"),
    ("seed=99999999999999999999999", "--set 'seed=99999999999999999999999': ", "too large"),
]


@pytest.mark.parametrize(("change", "where", "why"), ABSURD, ids=[change for change, *_ in ABSURD])
def test_settings_that_no_machine_can_hold_are_refused(cli, place, monkeypatch, change, where, why):
    monkeypatch.setenv("GYMSOLVE_MEMORY", "2")
    answer = cli("train", "CartPole-v1", "--set", change)

    assert answer.code == 2
    assert answer.err.startswith(f"error: {where}")
    assert why in answer.err
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("seed", ["2147483648", "9223372036854775807"])
def test_large_seeds_are_seeds(cli, seed):
    assert cli("train", "Bandit-v0", "--steps", "64", "--seed", seed, "-q").code == 0


def test_a_wrong_amount_of_memory_is_refused(cli, monkeypatch):
    monkeypatch.setenv("GYMSOLVE_MEMORY", "plenty")
    answer = cli("train", "Bandit-v0", "--steps", "64")
    assert (answer.code, "GYMSOLVE_MEMORY: should be a number of GiB" in answer.err) == (2, True)
