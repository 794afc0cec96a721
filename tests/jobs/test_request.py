"""One request, several spellings: words and JSON say the same, whatever the texts hold."""

import json
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gymsolve.errors import UsageError
from gymsolve.jobs.request import RunRequest, spell_settings
from gymsolve.recipes import parse_overrides
from gymsolve.runs.files import parse_json, to_json

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NAMES = TEXTS.filter(lambda text: not text.startswith("-"))
NUMBERS = st.integers(0, 2**62)
STEPS = NUMBERS | st.sampled_from(["200k", "1e6", "007", "٣"]) | TEXTS


@st.composite
def requests(draw):
    """Requests of all verbs, with any texts."""
    verb = draw(st.sampled_from(["train", "resume", "fork"]))
    given = {
        "steps": draw(st.none() | STEPS),
        "track": draw(st.none() | TEXTS),
        "profile": draw(st.booleans()),
    }
    if verb != "resume":
        given["seed"] = draw(st.none() | NUMBERS)
    if verb == "train":
        given |= {"seeds": draw(st.none() | st.integers(2, 1000)), "start_from": draw(st.none() | TEXTS)}
    else:
        given["trust"] = draw(st.booleans())
    if verb == "resume":
        given["fresh_optimizer"] = draw(st.booleans())
    if verb == "fork" and draw(st.booleans()):
        given |= {"until": draw(NUMBERS), "trial": draw(TEXTS)}
    return RunRequest(verb, draw(NAMES), tuple(draw(st.lists(TEXTS, max_size=4))), **given)


ODD = RunRequest(
    "train",
    "módulo:Ümlaut v0=x",
    ("a=b=c", "--set", "-q", "", " env.kwargs.name = 'zwei Wörter'\n", "--steps=9"),
    start_from="--seed",
    track="-",
    seed=0,
)


@given(requests())
@example(ODD)
def test_words_say_the_whole_request(request):
    assert RunRequest.from_words(request.words()) == request


@given(requests())
@example(ODD)
def test_so_does_json_also_as_a_line_of_a_file(request):
    told = request.to_json()
    assert RunRequest.from_json(json.loads(json.dumps(told))) == request
    assert RunRequest.from_json(parse_json(to_json(told).encode(), exact=True)) == request


@pytest.mark.parametrize(
    "value",
    [0, 1e-05, -3.5, True, None, "", "-q", "a=b", "null", "1e6", "zwei Wörter\n", [64, 64], {"x": [1]}],
)
def test_settings_of_a_mapping_arrive_as_they_are(value):
    texts = spell_settings({"env.kwargs.value": value, "seed": 1})
    assert parse_overrides(texts) == {"env.kwargs.value": value, "seed": 1}


def test_words_are_those_that_a_person_would_type():
    request = RunRequest("train", "CartPole-v1", ("algo.gamma=0.9",), 3, steps="200k", profile=True)
    typed = "train CartPole-v1 --set algo.gamma=0.9 --steps 200k --profile --seed 3"
    assert " ".join(request.words()) == typed
    assert RunRequest.from_words(
        ["resume", "@last", "--steps=512", "-q", "--runs-dir", "elsewhere", "--json"]
    ) == RunRequest("resume", "@last", steps=512)


def test_what_an_option_says_wins_over_set():
    request = RunRequest("train", "CartPole-v1", ("seed=1", "steps=10", "algo.gamma=0.9"), seed=4, steps="1k")
    settings = request.settings()
    assert settings == {"seed": 4, "steps": "1k", "algo.gamma": 0.9}
    assert settings.flags == {"seed": "--seed", "steps": "--steps"}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RunRequest("train", "-v"), "'-v' names no environment"),
        (lambda: RunRequest("resume", "--json"), "'--json' names no run"),
        (lambda: RunRequest("solve", "CartPole-v1"), "'solve' begins no run"),
        (lambda: RunRequest("train", "CartPole-v1", seeds=1), "1 is no number of seeds"),
        (
            lambda: RunRequest("train", "CartPole-v1", trust=True),
            "trust: `gymsolve train` does not take this",
        ),
        (lambda: RunRequest("resume", "@last", seed=0), "seed: `gymsolve resume` does not take this"),
        (lambda: RunRequest("fork", "@last", until=9), "a trial has an end and a command"),
        (lambda: RunRequest("train", "a\0b"), "no command line can hold"),
        (lambda: RunRequest("train", "a", ("x=\ud800",)), "is not valid Unicode"),
        (lambda: RunRequest.from_words([]), "a verb and one name"),
        (lambda: RunRequest.from_words(["train", "a", "b"]), "a verb and one name"),
        (lambda: RunRequest.from_words(["train", "a", "--set"]), "--set: a value is missing"),
        (lambda: RunRequest.from_words(["train", "a", "--seed", "x"]), "'x' is not a whole number"),
        (lambda: RunRequest.from_words(["train", "a", "--wat"]), "no run is begun with this option"),
        (lambda: RunRequest.from_words(["fix", "a"]), "'fix' begins no run"),
        (lambda: RunRequest.from_json([]), "this is no request"),
        (lambda: RunRequest.from_json({"verb": "train"}), "this is no request"),
        (lambda: RunRequest.from_json({"verb": "train", "env_or_ref": "a", "seed": True}), "no such value"),
        (lambda: RunRequest.from_json({"verb": "train", "env_or_ref": "a", "more": 1}), "no such value"),
        (lambda: spell_settings({"a=b": 1}), "'a=b' names no setting"),
    ],
)
def test_requests_that_make_no_sense_are_one_sentence(make, sentence):
    with pytest.raises(UsageError) as caught:
        make()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_jobs_are_light():
    code = (
        "import sys\n"
        "import gymsolve.jobs.queue, gymsolve.jobs.seeds, gymsolve.jobs.start, gymsolve.jobs.trials\n"
        "import gymsolve.training.stop\n"
        "heavy = {'torch', 'gymnasium', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
