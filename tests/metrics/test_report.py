"""Reports: what they say, that they say it of any run, and that nothing in a run can break the page."""

import json
import math
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest
from report_runs import facts_of, store
from stories import FLAT, make_config, make_context, story

from gymsolve.doctor.alerts import AlertTracker
from gymsolve.doctor.quality import training_quality
from gymsolve.errors import RunDamagedError
from gymsolve.runs.checkpoints import save_checkpoint
from gymsolve.text import sparkline
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.audit import reward_audit
from gymsolve.view.report.curves import (
    action_figures,
    learning_curves,
    loss_figure,
    return_figure,
    time_split,
)
from gymsolve.view.report.document import Figures
from gymsolve.view.report.figures import Curves, Line, Split, Stack, thin, ticks
from gymsolve.view.report.prompt import prompt_text
from gymsolve.view.report.sections import train_command
from gymsolve.view.report.svg import draw
from gymsolve.view.report.textchart import plot
from gymsolve.view.report.verdict import verdict
from gymsolve.view.report.write import write_report

VOID = {"meta", "br"}


class Page(HTMLParser):
    """Tags that open and close properly, what they load, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [value for key, value in attrs if key in ("src", "href")]
        assert not any(key.startswith("on") for key, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def __contains__(self, words: str) -> bool:
        return words in " ".join(" ".join(self.text).split())


def pages(run):
    report = write_report(run)
    return Page(report.html.read_text()), report.markdown.read_text()


def evaluated(step: int, reward: float, **more: float) -> dict[str, float]:
    where = {"env_steps": step, "vec_steps": step // 8, "updates": 1, "progress": 0.1}
    return {**where, "eval/mean_reward": reward, "eval/std_reward": 10.0, "eval/episodes": 100.0, **more}


# ----------------------------------------------------------------------------------- verdict


def test_a_solved_run_says_when_how_sure_and_how_long(tmp_path):
    solved = evaluated(50_000, 160.0, solved=1.0) | {
        "eval/confirm_mean_reward": 158.0,
        "eval/confirm_episodes": 100.0,
    }
    run = store(tmp_path, [*story(count=50), solved], status="solved", reason="solved")
    page, text = pages(run)
    told = verdict(DiagnosedRun(run))
    assert "is solved: the policy at step 50,000 did it, 50% into the budget" in told
    assert "standard error of 1, 10 of those above the threshold" in told  # 10 / sqrt(100)
    assert "100 more on fresh seeds gave 158" in told
    assert "50,000 steps and 1:40" in told  # two seconds per record
    assert told in page
    assert "solved" in text.splitlines()[0]


def test_a_solved_run_is_not_advised_on_what_it_got_over(tmp_path):
    solved = evaluated(100_000, 160.0, solved=1.0)
    for end, words in ((80, "Alerts on the way were over by then."), (100, "What to look at: ")):
        high = {"train/approx_kl": lambda i, end=end: 0.2 if 40 <= i < end else 0.01}
        run = store(tmp_path / str(end), [*story(high), solved], status="solved", reason="solved")
        assert words in verdict(DiagnosedRun(run))


def test_of_several_alerts_a_solved_run_hears_of_one_that_is_not_over(tmp_path):
    both = {
        "obs/abs_max": lambda i: 101.0 if 20 <= i < 60 else 3.0,
        "train/approx_kl": lambda i: 0.2 if i >= 60 else 0.01,
    }
    solved = evaluated(100_000, 160.0, solved=1.0)
    run = store(tmp_path, [*story(both), solved], status="solved", reason="solved")
    facts = DiagnosedRun(run)
    serious = [alert for alert in facts.diagnosis.roots if alert.severity in ("error", "warn")]
    assert not serious[0].active, "the first one is over, which is what this is about"
    (left,) = [alert for alert in serious if alert.active]
    assert f"What to look at: {left.title}" in verdict(facts)


def test_a_lucky_mean_is_called_that(tmp_path):
    run = store(tmp_path, [*story(count=20), evaluated(20_000, 151.0)])
    assert "1 of those above the threshold, which may be chance" in verdict(DiagnosedRun(run))
    assert "two long evaluations did not confirm it" in verdict(DiagnosedRun(run))


def test_a_return_that_rose_a_little_is_not_said_to_have_stood_still(tmp_path):
    def told(late):
        columns = {"rollout/ep_rew_mean": lambda i: 20.0 + 0.9 * min(i, 75) + late * max(0, i - 75)}
        rows = [row for row in story(columns) if "eval/mean_reward" not in row]
        return verdict(DiagnosedRun(store(tmp_path / str(late), [*rows, evaluated(100_000, 90.0)])))

    assert "rose little in the last quarter: from 87.5 to 89.9" in told(0.1)
    assert "did not rise in the last quarter" in told(0.0)


def test_a_faulty_run_names_the_root_cause_and_its_remedy_first(tmp_path):
    run = store(tmp_path, story({"train/approx_kl": 0.5}))
    told = verdict(DiagnosedRun(run))
    page, text = pages(run)
    assert "What limits it most likely: the policy jumps in every update" in told
    assert "--set algo.learning_rate=" in told
    assert "kl_extreme" in page
    assert "kl_extreme" in text
    assert re.search(r"\d+ checks did not fire", " ".join(page.text))


def test_a_crash_is_told_with_its_error(tmp_path):
    run = store(tmp_path, status="crashed", reason="DivergenceError: a weight became nan at 100 steps")
    told = verdict(DiagnosedRun(run))
    assert "It crashed: DivergenceError: a weight became nan at 100 steps." in told
    assert DiagnosedRun(run).diagnosis.roots[0].id == "nonfinite"


@pytest.mark.parametrize("rows", [[], story(count=1), story(count=3)], ids=["none", "one", "three"])
def test_a_run_without_evaluations_has_a_report(tmp_path, rows):
    run = store(tmp_path, rows, status="stopped", reason="interrupt")
    page, text = pages(run)
    assert "has not been evaluated, so nothing is known of its success" in page
    assert "It ended because it was stopped by Ctrl-C." in page
    assert "## How to reproduce it" in text


# ----------------------------------------------------------------------------------- quality


def test_quality_is_the_area_under_the_evaluations():
    # 0 at step 0, then straight to the threshold at 500, and there until 1000: a quarter plus a half.
    rows = [evaluated(0, 0.0), evaluated(500, 100.0), evaluated(1000, 140.0)]
    known = {"threshold": 100.0, "samples": 1000, "budget": 1000}
    assert training_quality(rows, solved=False, **known) == pytest.approx(0.75)
    # Solved at half of the budget: the rest counts as solved. Given up there: only what was used counts.
    assert training_quality(rows[:2], solved=True, **known) == pytest.approx(0.75)
    assert training_quality(rows[:2], solved=False, **known | {"samples": 500}) == pytest.approx(0.5)


def test_quality_has_borders():
    known = {"samples": 100, "budget": 100, "solved": False}
    assert training_quality([], threshold=1.0, **known) is None
    assert training_quality([evaluated(50, math.nan)], threshold=1.0, **known) is None
    assert training_quality([evaluated(0, 5.0), evaluated(100, 5.0)], threshold=1.0, **known) == 1.0
    assert training_quality([evaluated(0, 5.0), evaluated(100, 5.0)], threshold=None, **known) == 0.0
    falling = [evaluated(0, 5.0), evaluated(100, -50.0)]
    assert training_quality(falling, threshold=10.0, **known) == 0.0


# ------------------------------------------------------------------------------------ curves


def test_returns_have_a_band_evaluations_their_spread_and_the_threshold_a_line(tmp_path):
    chart = return_figure(facts_of(tmp_path))
    training, judged = chart.lines
    assert training.points[0] == (1000.0, 20.0)
    assert training.spread[0] == (1000.0, 10.0, 60.0)
    assert judged.marks
    assert judged.points[0] == (5000.0, 36.0)
    assert judged.spread[0] == (5000.0, 31.0, 41.0)
    assert chart.level == (150.0, "threshold 150")


def test_losses_stand_beside_each_other_as_they_are_weighed(tmp_path):
    columns = {
        "train/policy_loss": -0.02,
        "train/value_loss": 4.0,
        "hyper/vf_coef": 0.5,
        "hyper/ent_coef": 0.0,
    }
    chart = loss_figure(facts_of(tmp_path, story(columns)))
    assert [(line.label, line.points[0][1]) for line in chart.lines] == [
        ("policy loss", 0.02),
        ("value loss × vf_coef", 2.0),
    ]
    assert chart.logarithmic


def test_choices_are_stacked_and_boxes_drawn_within_their_space(tmp_path):
    shares = {"action/share_0": 0.25, "action/share_10": 0.25, "action/share_2": 0.5}
    stack, _ = action_figures(facts_of(tmp_path, story(shares)))
    assert isinstance(stack, Stack)
    assert stack.labels == ["action 0", "action 2", "action 10"]
    assert [share[0] for share in stack.shares] == [0.25, 0.5, 0.25]
    none, box = action_figures(facts_of(tmp_path, story({"action/mean": 0.1, "action/std": 0.2}), kind="box"))
    assert none is None
    assert box.limits == pytest.approx((-1.0, 1.0), abs=1e-4)


def test_a_record_that_lacks_a_part_of_a_stack_counts_as_none_of_it(tmp_path):
    """A record may be damaged; the parts of a stack then have unequal steps."""
    rows = [row | {"gradient/trunk_zero": 0.25, "gradient/trunk_1e-3": 0.75} for row in story()]
    del rows[3]["gradient/trunk_1e-3"]
    page = write_report(store(tmp_path, rows)).html.read_text()
    assert "Gradient of the shared layers" in page


def test_every_part_of_an_action_is_a_stack_of_its_own(tmp_path):
    shares = {
        "action/share_0_4to7": 0.25,
        "action/share_0_0to3": 0.75,
        "action/share_1_0": 0.5,
        "action/share_1_1": 0.5,
    }
    first, second, _ = action_figures(facts_of(tmp_path, story(shares)))
    assert (first.title, first.labels) == ("Actions taken, part 0", ["action 0 to 3", "action 4 to 7"])
    assert (second.title, second.labels) == ("Actions taken, part 1", ["action 0", "action 1"])
    assert [share[0] for share in first.shares] == [0.75, 0.25]


def test_time_is_split_as_measured_or_worked_out(tmp_path):
    measured = time_split(facts_of(tmp_path, story({"time/update_share": 0.45})))
    assert dict(measured.parts) == pytest.approx(
        {
            "stepping environments, 1:20": 0.4,
            "learning, 1:30": 0.45,
            "evaluating, 0:10": 0.05,
            "everything else, 0:20": 0.1,
        }
    )
    assert measured.note == "3:20 in all."
    rows = [
        {"env_steps": n, "time/elapsed": 10.0, "time/collect_seconds": 0.3, "time/update_seconds": 0.1}
        for n in (100, 200)
    ]
    worked_out = time_split(facts_of(tmp_path, [*rows, evaluated(200, 1.0) | {"eval/seconds": 2.0}]))
    # Ten seconds up to the last record, and an evaluation of two after it.
    told = {"collecting": 0.75 * 10 / 12, "learning": 0.25 * 10 / 12, "evaluating": 2 / 12}
    assert dict(worked_out.parts) == pytest.approx(told)


def test_shares_count_by_the_time_they_are_shares_of_and_the_last_evaluation_counts(tmp_path):
    """Ten updates of a second each, then a record of a hundred, and an evaluation that no record follows."""
    quick = [
        {"env_steps": 10 * n, "updates": n, "time/updates_per_second": 1.0, "time/elapsed": float(n)}
        | {"time/env_share": 1.0, "time/eval_share": 0.0}
        for n in range(1, 11)
    ]
    slow = quick[-1] | {"env_steps": 200, "updates": 110, "time/elapsed": 110.0, "time/env_share": 0.4}
    slow |= {"time/update_share": 0.3, "time/eval_share": 0.3}
    judged = [evaluated(150, 1.0) | {"eval/seconds": 30.0}, evaluated(200, 1.0) | {"eval/seconds": 40.0}]
    facts = facts_of(tmp_path, [*quick, judged[0], slow, judged[1]])
    assert facts.spent == pytest.approx({"env": 10 + 40, "update": 30, "eval": 70})
    assert facts.seconds == 150.0
    facts.run.append_event("spent", seconds={"start": 2.0, "video": 8.0, "track": 5.0, "other": 1.0})
    again = DiagnosedRun(facts.run)
    assert sum(again.spent.values()) == pytest.approx(166.0)
    assert sum(share for _, share in time_split(again).parts) == pytest.approx(1.0)
    assert "Training took 200 steps and 2:30, 1:10 of it evaluating; with all around it 2:46." in verdict(
        again
    )


@pytest.mark.parametrize(
    ("reason", "name", "words"),
    [
        ("EnvFaultError: environment 3 of My-v0 raised KeyError: 'x' in step 7.", "env_crashed", "--debug"),
        ("MemoryError: Unable to allocate 9 GiB", "out_of_memory", "env.num_envs"),
        ("OutOfMemoryError: CUDA out of memory.", "out_of_memory", "env.num_envs"),
        ("RunDamagedError: runs/x: the disk is full. Free some space.", "disk_full", "checkpoint.keep"),
        (
            "EnvFaultError: workers of My-v0 were lost again and again; one died.",
            "worker_lost",
            "backend=sync",
        ),
        ("EnvFaultError: the step of environment 3 did not return for 60 seconds.", "hang", "gymsolve check"),
        ("ZeroDivisionError: division by zero", "crashed", "--debug"),
        ("DivergenceError: a weight became nan at 100 steps", "nonfinite", "--set algo.learning_rate="),
    ],
)
def test_what_ended_a_run_comes_first(tmp_path, reason, name, words):
    run = store(tmp_path, story({"time/env_share": 0.9, **FLAT}), status="crashed", reason=reason)
    run.append_event("error", text=reason, at={"file": "/home/me/my_env.py", "line": 12, "function": "step"})
    facts = DiagnosedRun(run)
    first = facts.diagnosis.roots[0]
    assert (first.id, first.ended) == (name, True)
    assert "env_bound" in {alert.id for alert in facts.diagnosis.roots[1:]}
    told = verdict(facts)
    place = "" if name == "nonfinite" else " (/home/me/my_env.py, line 12, in step)"
    sentence = reason.removeprefix("EnvFaultError: ").rstrip(".")
    assert told.startswith(f"It crashed: {sentence}{place}. What ended it: {first.title}")
    assert words in told
    if name != "nonfinite":
        assert f"gymsolve resume {run.id}" in first.instead
    told = " ".join(pages(run)[0].text)
    assert told.index(f"[{name}]") < told.index("[env_bound]")


def test_a_process_that_is_gone_without_a_word_is_what_ended_the_run(tmp_path):
    run = store(tmp_path, story({"time/env_share": 0.9}))
    info = json.loads((run.path / "run.json").read_text())
    info |= {"status": "running", "pid": 1, "process_start": "gone", "reason": None}
    (run.path / "run.json").write_text(json.dumps(info))
    facts = DiagnosedRun(run)
    assert facts.diagnosis.roots[0].id == "killed"
    assert verdict(facts).startswith("It crashed: the process ended without a word.")


def test_a_run_that_learns_action_values_has_curves_of_them_and_of_random_actions(tmp_path):
    columns = {"train/q_mean": 4.0, "train/td_error": 0.1, "hyper/epsilon": lambda i: max(0.1, 1 - i / 50)}
    (figures,) = learning_curves(facts_of(tmp_path, story(columns))).blocks
    titles = [figure.title for figure in figures.charts]
    assert {"Action values", "TD error", "Random actions"} <= set(titles)
    (random,) = [figure for figure in figures.charts if figure.title == "Random actions"]
    assert random.limits == (0.0, 1.0)
    (bare,) = learning_curves(facts_of(tmp_path, story())).blocks
    assert not {"Action values", "TD error", "Random actions"} & {figure.title for figure in bare.charts}


def test_metrics_that_a_run_lacks_leave_no_empty_chart(tmp_path):
    bare = [{"env_steps": 10 * n, "rollout/ep_rew_mean": float(n)} for n in range(5)]
    (figures,) = learning_curves(facts_of(tmp_path, bare)).blocks
    assert isinstance(figures, Figures)
    assert [chart.title for chart in figures.charts] == ["Return"]


def test_a_spike_of_one_record_among_thousands_is_drawn():
    points = [(float(n), 50.0 if n == 1234 else 1.0) for n in range(20_000)]
    kept = thin(points)
    assert (1234.0, 50.0) in kept
    assert len(kept) <= 240


def test_every_chart_is_valid_svg_and_readable_text(tmp_path):
    holes = [(float(n), math.nan if n % 3 == 0 else float(n)) for n in range(12)]
    single = Curves("one <point> & more", [Line("a", [(5.0, 5.0)])], level=(5.0, "<level>"))
    wild = Curves(
        "wild", [Line("a", [(float(n), 10.0 ** (n % 7 - 5)) for n in range(40)])], healthy=(0.1, 0.2)
    )
    for chart in (Curves("holes", [Line("a", holes)]), single, wild, Curves("none", [Line("a", [])])):
        ElementTree.fromstring(draw(chart))
        assert plot(chart)
    assert draw(Curves("holes", [Line("a", holes)])).count("<polyline") == 4  # gaps stay gaps
    split = Split("split", [("a", 0.0), ("b", 0.0)])
    ElementTree.fromstring(draw(split))


def test_ticks_are_round_and_within():
    assert ticks(0.0, 1.0) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert ticks(-1234.0, 5678.0) == [0.0, 2000.0, 4000.0]
    assert ticks(3.0, 3.0) == [3.0]


def test_text_charts_show_the_shape():
    rising = [(float(n), float(n)) for n in range(64)]
    lines = plot(Curves("rise", [Line("x", rising)]), width=64, height=8).splitlines()
    columns = [line.index("A") for line in lines[:8] if "A" in line.partition("|")[2]]
    assert columns == sorted(columns, reverse=True)
    assert sparkline([0.0, 1.0, 2.0, 3.0, math.nan, 7.0]) == "▁▂▃▄ █"


# --------------------------------------------------------------------------------- any run


def test_nothing_in_a_run_becomes_markup(tmp_path):
    evil = "<script>alert(1)</script>"
    config = make_config(solved_at=150.0, env={"id": "Story-v0", "kwargs": {"text": f"{evil}|`"}})
    rows = [row | {f"reward_share/{evil}": 0.5} for row in story()]
    run = store(tmp_path, rows, config=config, status="crashed", reason=f"ValueError: {evil}")
    run.append_event("note", text=evil)
    page, text = pages(run)
    assert "script" not in page.tags
    assert evil in page  # as text
    unfenced = re.sub(r"^(```+)text$.*?^\1$", "", text, flags=re.M | re.S)
    assert "<" not in unfenced.replace("\\<", "")
    table = [line for line in text.splitlines() if line.startswith("| env.kwargs")]
    assert table
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 4 for line in table)


def test_the_page_needs_nothing_but_itself_and_the_video(tmp_path):
    run = store(tmp_path)
    (run.path / "videos").mkdir()
    (run.path / "videos" / "best.mp4").write_bytes(b"")
    page, text = pages(run)
    assert page.loads == ["videos/best.mp4"]
    assert "(videos/best.mp4)" in text
    assert "http" not in (run.path / "report.html").read_text().replace("http-equiv", "")


def test_torn_lines_nulls_and_unknown_metrics_are_taken_as_they_are(tmp_path):
    rows = story()
    for row in rows[10:20]:
        row.update(dict.fromkeys(("train/loss", "train/approx_kl", "rollout/ep_rew_mean", "time/fps"), None))
    run = store(tmp_path, [row | {"future/metric": 1.0, "future/text": "?"} for row in rows])
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"env_steps": 101000, "train/lo')
    page, text = pages(run)
    assert "metrics.jsonl:121 was cut off while being written; ignored" in page
    assert "nan" not in re.sub(r"<pre>.*?</pre>", "", (run.path / "report.html").read_text(), flags=re.S)
    assert "Could not be read" in text


def test_a_run_of_a_newer_version_is_refused_in_one_sentence(tmp_path):
    run = store(tmp_path)
    info = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps(info | {"schema_version": 99}))
    with pytest.raises(RunDamagedError, match="newer gymsolve"):
        write_report(run)


def test_a_report_of_thousands_of_records_stays_small(tmp_path):
    rows = [row | {"env_steps": n * 1000} for n, row in enumerate(story(count=60) * 30)]
    report = write_report(store(tmp_path, rows))
    assert report.html.stat().st_size < 300_000


def test_live_rules_and_replayed_ones_give_the_same_report(tmp_path):
    facts = facts_of(tmp_path, story({"train/approx_kl": 0.5}))
    again = DiagnosedRun(facts.run)
    assert [one.id for one in facts.diagnosis.roots] == [one.id for one in again.diagnosis.roots]


# ---------------------------------------------------------------------------- other sections


def test_rewards_are_audited(tmp_path):
    run = store(tmp_path, story())
    rewards = [0.0] * 90 + [1.0] * 9 + [100.0]
    table = (
        "env,step,reward\n" + "".join(f"0,{n},{reward}\n" for n, reward in enumerate(rewards)) + "0,100,torn"
    )
    nothing = {"policy": {}, "policy_metadata": {"spec": "{}"}, "trainer_arrays": {}, "trainer_state": {}}
    save_checkpoint(run, 1000, **nothing, meta={"reason": "end"}, extras={"rollout.csv": table.encode()})
    told, figures, parts, charts = reward_audit(
        DiagnosedRun(run, AlertTracker(make_context(), story()))
    ).blocks
    assert told.text == (
        "Of the last 100 stored steps 10.0% were rewarded (anything but 0); 3 different values, "
        "1 further than 4 standard deviations from the mean."
    )
    assert dict(zip(figures.headers, figures.rows[0], strict=True))["mean"] == "1.09"
    components = next(chart for chart in charts.charts if isinstance(chart, Split))
    assert dict(components.parts) == pytest.approx({"survival": 0.6, "goal": 0.4})
    assert parts.rows == [("survival", "60.0%", "60.0%", "1.5"), ("goal", "40.0%", "40.0%", "-1")]
    bars = charts.charts[0]
    assert sum(bars.counts) == 100
    assert bars.counts[0] == 99
    assert bars.counts[-1] == 1


def test_the_command_repeats_what_was_decided_by_hand(tmp_path):
    run = store(tmp_path, config=make_config(algo={"gamma": 0.5}, seed=7))
    assert train_command(DiagnosedRun(run)) == (
        "gymsolve train Story-v0:ppo --seed 7 --steps 100000 --set algo.gamma=0.5"
    )


def test_the_prompt_holds_question_settings_numbers_and_alerts(tmp_path):
    text = prompt_text(facts_of(tmp_path, story({"train/approx_kl": 0.5})))
    assert "algo.learning_rate=" in text
    assert "train/approx_kl: ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁ 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5" in text
    assert "kl_extreme" in text
    assert "threshold 150" in text
    assert len(text) < 12_000
