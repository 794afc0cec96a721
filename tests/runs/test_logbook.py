"""The logbook: anybody appends entries, words find them, and runs show what was written about them."""

import pytest

import gymsolve
from gymsolve.errors import UnknownRunError, UsageError
from gymsolve.service.logbook import add_entry, read_logbook
from gymsolve.view.report.write import write_report
from gymsolve.view.runs import get_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    settings = {"steps": 64, "env.num_envs": 2, "algo.num_steps": 32, "video.enabled": False}
    return gymsolve.train("Bandit-v0", settings, runs_dir=tmp_path_factory.mktemp("runs")).run


def test_entries_are_found_by_words_and_filters_newest_first(run):
    base = run.path.parent
    add_entry(by="Ada", note="a first look", runs=["@last"], runs_dir=base)
    add_entry(by="an agent", hypothesis="a lower gamma helps", change="algo.gamma=0.9", runs_dir=base)
    add_entry(by="Ada", result="it did not", verdict="refuted", runs=[run.id[:12]], runs_dir=base)
    assert [one.by for one in read_logbook("", None, base).entries] == ["Ada", "an agent", "Ada"]
    assert [one.result for one in read_logbook("verdict:refuted", None, base).entries] == ["it did not"]
    assert [one.note for one in read_logbook("ada look", None, base).entries] == ["a first look"]
    found = read_logbook(f"run:{run.id.lower()}", 1, base)
    assert (len(found.entries), found.total) == (1, 2)
    assert found.entries[0].runs == [run.id]


def test_a_run_and_its_report_show_what_was_written_about_it(run):
    add_entry(by="Ada", note="worth | a look", runs=[run.id], runs_dir=run.path.parent)
    assert "worth | a look" in [entry.note for entry in get_run(str(run.path)).logbook]
    report = write_report(run)
    assert "worth" in report.markdown.read_text()
    assert "worth" in report.html.read_text()


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        ({}, UsageError, "an entry needs some text"),
        ({"note": "  "}, UsageError, "an entry needs some text"),
        ({"note": "x", "verdict": "refutted"}, UsageError, "Did you mean 'refuted'"),
        ({"note": "x", "runs": ["nothing"]}, UnknownRunError, "nothing"),
        ({"note": "x" * 10_001}, UsageError, "10,001 characters are too many"),
    ],
)
def test_what_cannot_be_an_entry_is_refused_and_nothing_is_written(run, given, kind, told):
    before = read_logbook("", None, run.path.parent).total
    with pytest.raises(kind, match=told):
        add_entry(by="Ada", **given, runs_dir=run.path.parent)
    assert read_logbook("", None, run.path.parent).total == before


def test_damaged_lines_are_skipped_and_told(run):
    base = run.path.parent
    known = read_logbook("", None, base)
    with (base / "logbook.jsonl").open("a") as file:
        file.write('{"time": 5}\nnot json\n')
    add_entry(by="Ada", note="after the damage", runs_dir=base)
    found = read_logbook("", None, base)
    assert found.total == known.total + 1
    assert len(found.problems) == len(known.problems) + 2
