"""Studies: their page is the one their results make, no result is lost, and copies are compared rightly."""

import argparse
from pathlib import Path

import numpy as np
import pytest

from benchmarks.studies.__main__ import HERE, STUDIES, _load, _make_missing, _save, make_page
from benchmarks.studies.copy_seeds import difference_between_copies
from benchmarks.studies.level_forgetting import STUDY as LEVELS
from benchmarks.studies.study import Case, Study

ROWS = [
    {"arm": "level_1", "seed": 0, "success_after": {"Level1-1": 1.0, "Level1-2": 0.1}},
    {"arm": "level_2_after_1", "seed": 0, "success_after": {"Level1-1": 0.25, "Level1-2": 0.9}},
    {"arm": "rehearsed", "seed": 0, "success_after": {"Level1-1": 0.95, "Level1-2": 0.8}},
]


def test_the_page_in_the_repository_is_the_one_its_results_make():
    assert (HERE / "results" / "studies.md").read_text(encoding="utf-8") == make_page(HERE / "results")


def test_what_is_forgotten_is_what_was_there_before():
    page = "\n".join(LEVELS.page(ROWS))
    assert "share before less share after): level_2_after_1 0.75; rehearsed 0.05." in page
    assert "| rehearsed | 0.95 | 0.8 | 1 |" in page


def test_studies_without_results_say_so(tmp_path):
    assert make_page(tmp_path).count("Not run yet.") == len(STUDIES)


def test_two_processes_may_make_the_cases_of_a_study(tmp_path):
    path = tmp_path / "results" / "studies" / "tiny.json"

    def run(case: Case, root: Path):
        _save(path, _load(path) | {"other/Bandit-v0/0": {"arm": "other", "env": "Bandit-v0", "seed": 0}})
        return {"last": 1.0}

    cases = [Case("tiny", "mine", "Bandit-v0", 0, 1)]
    study = Study("tiny", "?", "", lambda seeds: cases, run, lambda rows: [])
    given = argparse.Namespace(
        results=tmp_path / "results", runs=tmp_path, first_seed=0, seeds=1, only=[], again=False
    )
    _make_missing(study, given)
    assert set(_load(path)) == {"mine/Bandit-v0/0", "other/Bandit-v0/0"}


def test_copies_that_are_alike_do_not_differ_and_strangers_do():
    rng = np.random.default_rng(0)
    one = rng.standard_normal((200, 1, 3))
    assert np.abs(difference_between_copies(np.repeat(one, 8, axis=1))).max() == pytest.approx(0.0)
    apart = difference_between_copies(rng.standard_normal((200, 8, 3)))
    assert apart.mean() == pytest.approx(1.0, abs=0.05)
    assert difference_between_copies(np.zeros((4, 2, 1))).tolist() == [0.0] * 4
