"""What hostile, careless and unlucky people type; and how many rounds of it a test plays.

`make test` plays a few seeded rounds, `make fuzz` many: it sets GYMSOLVE_FUZZ_ROUNDS.
"""

import contextlib
import io
import os
import random
import sys
import traceback
from dataclasses import dataclass

from gymsolve.cli import main

__all__ = ["NUMBERS", "TEXTS", "Said", "call", "rounds", "word"]

NUMBERS = [
    *("0", "-0", "-1", "1", "7", "1e9", "1e12", "1e308", "1e400", "-1e400", "0.5", "-0.5", "2147483648"),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "9" * 400,
        "9" * 5000,
        "-" + "9" * 400,
    ),
    *(
        "nan",
        ".nan",
        "inf",
        ".inf",
        "-.inf",
        "1_000",
        "1k",
        "1e",
        "0x10",
        "0b1",
        "0o7",
        "1:30",
        "٣",
        "½",
        "²",
    ),
    *(
        "1e-400",
        "100%",
        "101%",
        "-5%",
        "1e6k",
        "+5",
        "1.",
        ".5",
        "00",
        "1e0.5",
        "true",
        "auto",
        "None",
        "null",
    ),
]
TEXTS = [
    *(
        "",
        " ",
        "  \t",
        "\n",
        "\r\n",
        "a\nb",
        ".",
        "..",
        "/",
        "~",
        "*",
        "?",
        "-",
        "--",
        "---",
        "=",
        ":",
        ",",
        "@",
        "#",
    ),
    *(
        "@last",
        "@best",
        "@best:",
        "@last@last",
        "@",
        "@@",
        "x@best",
        "CartPole-v1",
        "Bandit-v0",
        "Bandit-v0:ppo",
    ),
    *(
        "Bandit-v0:",
        ":ppo",
        "Bandit-v0:ppo:ppo",
        "cartpole",
        "CartPole-v99",
        "CartPole",
        "ALE/Nothing-v5",
        "a/b/c",
    ),
    *(
        "../../etc/passwd",
        "/dev/null",
        "/proc/self/mem",
        "runs",
        "recipes",
        "nowhere/at/all",
        "x" * 300,
        "é" * 200,
    ),
    *(
        "x" * 5000,
        "ä",
        "日本語",
        "🎲",
        "e\u0301",
        "\u202eevil",
        "\x1b[2J",
        "\x1b]0;t\x07",
        "\x07",
        "\x7f",
        "\x9b31m",
    ),
    *(
        "\x00",
        "a\x00b",
        "\udcff",
        "\ufeff",
        "%s%n",
        "{0}",
        "{}",
        "[]",
        "[[",
        "{a: ",
        "'",
        '"',
        "`id`",
        "$(id)",
        "\\",
    ),
    *(
        "&a [*a]",
        "!!python/object:os.system x",
        "!!binary x",
        "2001-99-99",
        "2001-01-01",
        "<<",
        "!x y",
        "%YAML 9.9",
    ),
    *(
        "module:Nothing-v0",
        "os:CartPole-v1",
        "nothing:",
        "sys:exit",
        "[" * 2000,
        "{a: " * 500,
        "- " * 50,
        "? a",
    ),
    *(
        "--help",
        "--version",
        "--json",
        "-h",
        "-q",
        "--set",
        "--no-such-option",
        "train",
        "status:solved",
    ),
    *(
        "status:",
        "env:",
        "algo:\x1b",
        "csv",
        "csv,csv",
        "nothing,csv",
        "1x1",
        "64x64",
        "99999x99999",
        "0x0",
    ),
]


def rounds(few: int) -> int:
    """How many rounds to play: a few in `make test`, as many as somebody asks for otherwise."""
    return int(os.environ.get("GYMSOLVE_FUZZ_ROUNDS", few))


def word(rng: random.Random) -> str:
    """Any argument."""
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(NUMBERS)
    if kind < 0.85:
        return rng.choice(TEXTS)
    if kind < 0.95:
        return rng.choice(TEXTS) + rng.choice(("", "=", ":", "@", "/")) + rng.choice([*NUMBERS, *TEXTS])
    return "".join(
        chr(rng.choice((rng.randrange(1, 128), rng.randrange(128, 0x3000))))
        for _ in range(rng.randrange(1, 12))
    )


@dataclass(frozen=True)
class Said:
    """What a command did."""

    words: list[str]
    code: int | None
    out: str
    err: str
    raised: str
    """The traceback, if there was one."""

    @property
    def fault(self) -> str | None:
        """What no command may do."""
        if self.raised:
            return self.raised
        if self.code not in (0, 1, 2, 130):
            return f"exit code {self.code}"
        if self.code == 2 and not (self.err.strip() or '"error"' in self.out):
            return "no word about why it was refused"
        if "Traceback (most recent" in self.err + self.out:
            return "a traceback in its output"
        raw = {*self.out, *self.err} & set(map(chr, [*range(9), *range(11, 32), 127, *range(128, 160)]))
        return f"raw control characters {raw}" if raw else None

    def __str__(self) -> str:
        return f"gymsolve {self.words!r:.600}\n{self.fault}\n{self.err[-400:]}"


def call(words: list[str]) -> Said:
    """One command in this process, as if its output went to a pipe."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code, raised = None, ""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as leaving:
            raised = f"SystemExit({leaving.code})"
        except Exception:  # noqa: BLE001 - whatever it is, it is what this looks for
            raised = traceback.format_exc(limit=-6)
    told = [stream.buffer.getvalue().decode("utf-8", "backslashreplace") for stream in (out, err)]
    assert sys.stdout is not out
    return Said(words, code, told[0], told[1], raised)
