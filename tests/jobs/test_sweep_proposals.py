"""Proposals of a sweep: the recipe first, then a function of the journal and the scores."""

import json
import math
from dataclasses import replace

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from gymsolve.errors import GymsolveError, RunDamagedError, UsageError
from gymsolve.jobs.sweeps.ladder import Standing
from gymsolve.jobs.sweeps.planning import SweepRequest, plan_sweep
from gymsolve.jobs.sweeps.proposals import Journal
from gymsolve.jobs.sweeps.stored import SAMPLERS, find_sweep, store_sweep
from gymsolve.recipes.search.check import apply_values
from gymsolve.recipes.search.fitting import misfit
from gymsolve.settings.config import TrainConfig

SPACE = (
    "algo.learning_rate.start=log(1e-5, 1e-2)",
    "algo.name=choice(ppo, a2c)",
    "algo.num_steps=pow2(4, 64)",
    "algo.num_minibatches=pow2(1, 64) if algo.name=ppo",
    "algo.gae_lambda=1-log(1e-3, 0.3)",
)


def plan(sampler="tpe", search=SPACE, trials=20, **options):
    return plan_sweep(SweepRequest("Bandit-v0", search=search, trials=trials, sampler=sampler, **options))


def score(values):
    """As if small learning rates were good."""
    return -abs(math.log10(values.get("algo.learning_rate.start", 1e-2)) + 4.0)


def ask(journal, count, standings, again=3):
    """Propose so many configurations, each scored at once, and every third of them twice."""
    for _ in range(count):
        new = journal.propose(standings)
        levels = 2 if again and new.number % again == 0 else 1
        standings[new.number] = Standing(new.number, (score(new.values),) * levels)
    return journal.configurations()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_resumed_sweep_proposes_what_an_uninterrupted_one_would(place, sampler):
    count = 7 if sampler == "gp" else 16
    whole = plan(sampler, trials=9 if sampler == "gp" else 20)
    store_sweep(whole)
    expected = ask(Journal(whole), count, {})
    parted = replace(whole, id="parted")
    store_sweep(parted)
    standings = {}
    ask(Journal(parted), count - 5, standings)
    assert ask(Journal(parted), 5, standings) == expected

    assert expected[0].values == {}  # the recipe itself
    assert len({json.dumps(each.values, sort_keys=True) for each in expected}) == count
    for each in expected[1:]:
        assert ("algo.num_minibatches" in each.values) == (each.values["algo.name"] == "ppo")
        config = apply_values(whole.config, each.values)
        assert isinstance(config, TrainConfig)
        assert misfit(config) is None


def test_a_sampler_learns_from_scores(place):
    sweep = plan("tpe", trials=60, search=("algo.learning_rate.start=log(1e-9, 1e-2)",))
    store_sweep(sweep)
    tried = ask(Journal(sweep), 40, {}, again=None)
    early, late = ([score(each.values) for each in part] for part in (tried[1:9], tried[-10:]))
    assert sum(late) / len(late) > sum(early) / len(early) + 1.0


def test_any_program_of_optuna_reads_the_journal_and_finds_the_trained_values(place):
    sweep = plan()
    store_sweep(sweep)
    journal, standings = Journal(sweep), {}
    ask(journal, 6, standings)
    standings[5] = Standing(5, (-math.inf,), broken=True)
    journal.close_trials(standings)
    study = optuna.load_study(study_name=None, storage=JournalStorage(JournalFileBackend(str(sweep.journal))))
    assert [trial.number for trial in study.trials] == list(range(6))
    assert {trial.state.name for trial in study.trials} == {"PRUNED", "FAIL"}  # no one has come to the top
    for trial, each in zip(study.trials[1:], journal.configurations()[1:], strict=True):
        assert trial.params["algo.learning_rate.start"] == pytest.approx(
            each.values["algo.learning_rate.start"]
        )
        assert 2 ** trial.params["log2(algo.num_steps)"] == each.values["algo.num_steps"]
        assert 1 - trial.params["1-algo.gae_lambda"] == pytest.approx(each.values["algo.gae_lambda"])


def test_a_lock_that_a_killed_process_left_does_not_block(place):
    sweep = plan()
    store_sweep(sweep)
    ask(Journal(sweep), 1, {})
    sweep.journal.with_name("journal.log.lock").symlink_to("nowhere")
    assert len(ask(Journal(sweep), 1, {})) == 2


def test_an_impossible_space_ends_in_a_sentence(place):
    sweep = plan(search=("algo.num_steps=int(7, 8)", "algo.num_minibatches=choice(15, 19)"))
    store_sweep(sweep)
    journal = Journal(sweep)
    journal.propose({})
    with pytest.raises(
        GymsolveError, match=r"^--search: algo.num_steps: none of 50 drawn .* Narrow the ranges"
    ):
        journal.propose({})


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (b"no journal\n", "the journal cannot be read"),
        (b'{"op_code": 77}\n', "the journal cannot be read"),
    ],
)
def test_a_damaged_journal_ends_in_a_sentence_with_its_path(place, damage, fault):
    sweep = plan()
    store_sweep(sweep)
    sweep.journal.write_bytes(damage)
    with pytest.raises(RunDamagedError, match=fault) as caught:
        ask(Journal(sweep), 1, {})
    assert str(sweep.journal) in str(caught.value)


def test_a_journal_of_another_program_is_refused(place):
    sweep = plan()
    store_sweep(sweep)
    storage = JournalStorage(JournalFileBackend(str(sweep.journal)))
    optuna.create_study(storage=storage, study_name=sweep.id, direction="maximize").ask()
    with pytest.raises(RunDamagedError, match="holds trials of another program"):
        Journal(sweep).configurations()


def test_what_was_asked_for_reads_back_and_damage_is_told(place):
    sweep = plan()
    store_sweep(sweep)
    assert find_sweep("@last") == sweep
    assert find_sweep(sweep.id[-6:]) == sweep
    path = sweep.path / "sweep.json"
    path.write_text(path.read_text().replace('"tpe"', '"magic"'))
    with pytest.raises(RunDamagedError, match="does not describe a sweep"):
        find_sweep(sweep.id)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"trials": 1}, "--trials: should be at least 2, not 1."),
        ({"sampler": "bayes"}, "--sampler: there is no 'bayes'. Did you mean 'cmaes'?"),
        ({"objective": "score"}, "--for: there is no 'score'. One of steps, seconds, return."),
        ({"steps": 300}, "--steps: "),
        ({"overrides": ("seed=3",)}, "--set seed: a sweep takes this as --seed."),
        ({"search": ("nowhere.yaml",)}, "nowhere.yaml: cannot be read"),
        (
            {"objective": "steps", "overrides": ("eval.stop_when_solved=false",)},
            "--for: eval.stop_when_solved is off, so nothing is ever solved. Use --for return.",
        ),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_written(place, options, fault):
    with pytest.raises(UsageError) as caught:
        plan_sweep(SweepRequest("Bandit-v0", **options))
    assert str(caught.value).startswith(fault)
    assert not (place / "runs").exists()
