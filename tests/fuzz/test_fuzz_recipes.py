"""Recipe files that are no recipes, or nearly: every command that reads them says what is wrong with them."""

import os
import random
from pathlib import Path

import pytest
from nasty import NUMBERS, TEXTS, call, rounds

from gymsolve.recipes.schema import leaf_paths
from gymsolve.recipes.yaml_reading import parse_yaml

GOOD = """\
# A recipe of one's own.
description: Balance a pole
family: classic_control
env:
  id: CartPole-v1
  num_envs: 4
  wrappers: [{clip_reward: {low: -1, high: 1, roles: [train]}}]
  kwargs: {sutton_barto_reward: false}
algos:
  ppo: {num_steps: 64, learning_rate: 2e-3 -> 0}
variants:
  ppo: {description: quick, algo: {num_epochs: 10}, net: {hidden: [64, 64]}}
  slow: {algo: {name: a2c, gamma: {start: 0.9, end: 0.99}}, steps: 50k}
"""
LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
)
TEXTS_OF_FILES = [
    MERGES,
    *(
        "",
        "\n",
        "# nothing\n",
        "--- \n",
        "---\n---\n",
        "...",
        "[]",
        "3",
        "text",
        "null",
        "{}",
        "- a\n- b\n",
        "\t",
        "%",
    ),
    *(
        "a: &a\n  b: *a\n",
        "env: &e {id: x, kwargs: *e}\nvariants: {ppo: {}}",
        "&a [*a]",
        "&a {? *a : b}",
        "a: &a\n  <<: *a\n  b: 1\n",
        "env: &e {id: CartPole-v1, <<: *e}\nvariants: {ppo: {}}\n",
        "env: &e\n  id: CartPole-v1\n  kwargs: {<<: *e}\nvariants: {ppo: {}}\n",
        "a: &a\n  <<: &b\n    <<: *a\n",
        "a: &a {b: &b {<<: *a}}\n",
        LAUGHS,
    ),
    LAUGHS + "env: {id: CartPole-v1, kwargs: {x: *a9}}\nvariants: {ppo: {}}\n",
    *(
        "[" * 5000,
        "{a: " * 2000,
        "- " * 3000,
        "? " * 3000,
        "a:\n" + "".join(" " * n + "b:\n" for n in range(1, 60)),
    ),
    *(
        "a: 1\na: 2\n",
        "{a: 1, a: 2}",
        "!!python/object:os.system x",
        "!!python/name:os.system",
        "!!binary '@'",
    ),
    *(
        "a: !!int x",
        "a: !!float x",
        "a: !!set {b}",
        "a: !!omap [b: c]",
        "a: !!timestamp x",
        "a: 2001-99-99",
        "!x y",
    ),
    *(
        "a: 2001-01-01",
        "a: " + "9" * 5000,
        "a: 1e99999",
        "1: 2\n3: 4\n",
        "? [a]\n: b",
        "? {a: b}\n: c",
        "null: 1",
    ),
    *(
        "%YAML 9.9\n---\na: 1",
        "%TAG ! x\n---\na: 1",
        "<<: 3",
        "<<: *a",
        "a: |\n",
        "a: >+\n\n\n",
        "a: 'x",
        'a: "\\q"',
    ),
    *(
        "a: \x00",
        "a: \x1b[2J",
        "a: \x07",
        "a: \u2028b",
        "a: \ufeff",
        "env: [id]",
        "env: {id: 3}\nvariants: {ppo: {}}",
    ),
    *(
        "env: {id: a}\nvariants: []",
        "env: {id: a}\nvariants: {ppo: 3}",
        "env: {id: a}\nvariants: {? [x] : {}}",
    ),
    *("env: {id: a}\nfamily: [x]\nvariants: {ppo: {}}", "env: {id: a}\nfamily: ../../x\nvariants: {ppo: {}}"),
    *("env: {id: a}\nalgos: 3\nvariants: {ppo: {}}", "env: {id: a}\nalgos: {ppo: 3}\nvariants: {ppo: {}}"),
    *(
        "env: {id: a}\nalgo: {name: [x]}\nvariants: {x: {}}",
        "env: {id: a}\ndescription: {x: y}\nvariants: {ppo: {}}",
    ),
    *(
        f"env: {{id: CartPole-v1, tasks: {tasks}}}\nvariants: {{ppo: {{}}}}\n"
        for tasks in (
            "3",
            "[3]",
            "[a, a]",
            "{a: 3, b: {}}",
            "{? [x] : {}}",
            "{a: {wrappers: 3}, b: {}}",
            "{1: {}}",
        )
    ),
    *(
        f"env: {{id: CartPole-v1, tasks: {{a: {{}}, b: {{}}}}}}\n{section}\nvariants: {{ppo: {{}}}}\n"
        for section in (
            "curriculum: 3",
            "curriculum: [3]",
            "curriculum: {stages: {a: b}}",
            "curriculum: [[a], b]",
        )
    ),
    *(
        f"env: {{id: CartPole-v1}}\n{section}\nvariants: {{ppo: {{}}}}\n"
        for section in (
            "explore: [x]",
            "explore: {archive: x}",
            "explore: go",
            "net: {memory: [x]}",
            "net: {memory: x}",
        )
    ),
    *("x" * 200_000, "a: b\n" * 300, "variants:\n" + "".join(f"  v{n}: {{}}\n" for n in range(200))),
]
VALUES = [
    *NUMBERS,
    *(text for text in TEXTS if "\x00" not in text),
    "[]",
    "{}",
    "[[1]]",
    "{a: {b: c}}",
    "~",
    "[~]",
]


def as_bytes() -> list[bytes]:
    """The same in encodings that are not ours, and files that are no text."""
    text = GOOD.replace("a pole", "ä pole €")
    return [
        *(
            text.encode(coding, "replace")
            for coding in ("latin-1", "utf-16", "utf-16-le", "utf-32", "utf-8-sig")
        ),
        *(text.encode("cp037", "replace"), bytes(range(256)), b"\xff\xfe", b"\xef\xbb\xbf", b"\0" * 4096),
        *(text.encode()[:-3] + b"\xe2\x82", b"\x1f\x8b\x08", b"PK\x03\x04"),
    ]


def mutated(rng: random.Random) -> bytes:
    """The good recipe with something wrong, in its meaning or in its letters."""
    lines = GOOD.splitlines()
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(lines))
        kind = rng.random()
        if kind < 0.35:
            path = rng.choice(leaf_paths(rng.choice(("ppo", "a2c", "reinforce")))).split(".")
            opened = "".join(f"{{{key}: " for key in path)
            lines.append(f"  v{rng.randrange(99)}: {opened}{rng.choice(VALUES)}{'}' * len(path)}")
        elif kind < 0.6:
            head, colon, _ = lines[place].partition(":")
            lines[place] = f"{head}{colon} {rng.choice(VALUES)}"
        elif kind < 0.7:
            del lines[place]
        elif kind < 0.8:
            lines.insert(place, rng.choice(lines))
        else:
            lines[place] = lines[place].replace(
                rng.choice("abe:{}[]- "), rng.choice((*TEXTS, "", ":", "&a ", "*a "))
            )
        lines = lines or [""]
    data = bytearray("\n".join(lines).encode("utf-8", "surrogatepass"))
    if rng.random() < 0.15 and data:
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("GYMSOLVE_RUNS", "GYMSOLVE_RECIPES", "GYMSOLVE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GYMSOLVE_MEMORY", "0.5")
    (tmp_path / "recipes").mkdir()
    return tmp_path


def faults(place: Path, data: bytes, commands: list[list[str]]) -> list[str]:
    """What went wrong when commands met a file."""
    (place / "recipes" / "CartPole-v1.yaml").write_bytes(data)
    said = [call(words) for words in commands]
    return [f"{data[:300]!r}\n{one}" for one in said if one.fault]


CHECK = ["recipes", "check", "recipes/CartPole-v1.yaml"]
ALL = [
    CHECK,
    ["recipes", "format", "--check", "recipes/CartPole-v1.yaml"],
    ["recipes", "list", "pole", "--json"],
    ["recipes", "show", "CartPole-v1", "--explain"],
]


def test_every_way_not_to_be_a_recipe(place):
    wrong = [
        fault for text in TEXTS_OF_FILES for fault in faults(place, text.encode("utf-8", "replace"), ALL)
    ]
    wrong += [fault for data in as_bytes() for fault in faults(place, data, ALL)]
    assert not wrong, "\n\n".join(wrong[:10])


def test_no_mutation_of_a_recipe_ends_in_a_traceback(place):
    rng = random.Random(7)
    wrong = []
    for _ in range(rounds(40)):
        wrong += faults(place, mutated(rng), [CHECK, rng.choice(ALL[1:])])
    assert not wrong, f"{len(wrong)}:\n\n" + "\n\n".join(wrong[:10])


def test_the_recipe_that_is_mutated_is_a_good_one(place):
    assert not faults(place, GOOD.encode(), ALL)
    assert call(CHECK).code == 0
    assert faults(place, b"\xef\xbb\xbf" + GOOD.encode(), ALL) == []
    assert call(CHECK).code == 0, "a byte order mark is no mistake"
    assert parse_yaml(GOOD, "")["env"]["num_envs"] == 4


def test_what_is_no_file_is_not_waited_for(place):
    os.mkfifo(place / "recipes" / "Pipe-v0.yaml")
    (place / "recipes" / "Folder-v0.yaml").mkdir()
    (place / "recipes" / "Loop-v0.yaml").symlink_to("Loop-v0.yaml")
    (place / "recipes" / "Zero-v0.yaml").symlink_to("/dev/zero")
    for words in (
        ["recipes"],
        ["recipes", "check"],
        ["recipes", "format"],
        ["recipes", "show", "Pipe-v0"],
        ["recipes", "show", "Zero-v0"],
        ["recipes", "check", "/dev/zero"],
        ["recipes", "check", "recipes"],
        ["recipes", "format", "x" * 300],
    ):
        said = call(words)
        assert said.fault is None, str(said)
