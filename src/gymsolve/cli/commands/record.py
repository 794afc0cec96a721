"""`gymsolve record`: videos of a run, beyond those it leaves by itself."""

import re
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from gymsolve.cli.options import Json, PolicyRef, RunsDir, Stochastic, Trust, seconds_of, trusts
from gymsolve.cli.printing.output import print_json, print_pairs, say
from gymsolve.errors import UsageError
from gymsolve.text import count, duration, number

Seed = Annotated[
    int | None, Option("--seed", min=0, help="Use this seed for the episodes instead of the run's own.")
]
Progression = Annotated[
    bool, Option("--progression", help="One episode of every checkpoint, with the learning curve.")
]
Publish = Annotated[
    bool, Option("--publish", help="1920x1080 at 30 or 60 frames per second, for video sites.")
]
Size = Annotated[str | None, Option("--size", metavar="WxH", help="Fit the picture into this many pixels.")]
MaxSeconds = Annotated[
    str | None,
    Option(
        "--max-seconds",
        metavar="TIME",
        help="Longest video, such as 30 or 2min: 120 seconds by default; 6 for each clip of a progression.",
    ),
]
Data = Annotated[
    bool, Option("--data", help="Also keep observations, actions, rewards and values in episodes/*.npz.")
]
Task = Annotated[
    str | None, Option("--task", help="One of several tasks; by default the furthest below its threshold.")
]
Out = Annotated[
    Path | None, Option("--out", metavar="FILE", help="An .mp4; in the run's folder `videos` by default.")
]


def record(
    run: PolicyRef,
    episodes: Annotated[int, Option("--episodes", min=1, help="How many to play.")] = 1,
    seed: Seed = None,
    progression: Progression = False,
    publish: Publish = False,
    size: Size = None,
    max_seconds: MaxSeconds = None,
    stochastic: Stochastic = False,
    no_overlay: Annotated[bool, Option("--no-overlay", help="Only the picture, no text.")] = False,
    data: Data = False,
    task: Task = None,
    out: Out = None,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Film a policy: whole episodes of one checkpoint, or its progress through all of them."""
    pixels = _pixels(size)
    if progression and (no_overlay or data or episodes > 1):
        raise UsageError(
            "a progression has one episode per checkpoint, always its captions and no data.",
            where="--progression",
            hint="Leave out --episodes, --no-overlay and --data.",
        )
    trust = trusts(run, runs_dir, trust=trust, json=json)
    from gymsolve.apps.video.record import RecordRequest, record_run

    request = RecordRequest(
        episodes=episodes,
        seed=seed,
        stochastic=stochastic,
        progression=progression,
        overlay=not no_overlay,
        size=pixels,
        publish=publish,
        data=data,
        task=task,
        max_seconds=seconds_of(max_seconds, least=0.1),
    )
    on_clip = _ignore_clip if json else _print_clip
    facts = record_run(run, request, out=out, runs_dir=runs_dir, on_clip=on_clip, trust=trust)
    if json:
        print_json(facts)
    else:
        _print_facts(facts)


def _pixels(size: str | None) -> tuple[int, int] | None:
    if size is None:
        return None
    match = re.fullmatch(r"(\d{2,4})x(\d{2,4})", size)
    pixels = (int(match[1]), int(match[2])) if match else (0, 0)
    if min(pixels) < 64 or pixels[0] % 2 or pixels[1] % 2:
        raise UsageError(
            f"'{size}' is not a size of even numbers from 64 on.", where="--size", hint="Write 1280x720."
        )
    return pixels


def _ignore_clip(clip: dict[str, Any]) -> None:
    pass


def _print_clip(clip: dict[str, Any]) -> None:
    say(f"after {count(clip['env_steps']):>11} steps: return {number(clip['return'])}")


def _print_facts(facts: dict[str, Any]) -> None:
    played = facts.get("episodes", facts.get("clips", []))
    cut = "" if facts["complete"] else f", cut ({facts.get('cut_by') or 'at the length limit of a clip'})"
    rows = [
        ("video", facts["path"]),
        ("length", f"{duration(facts['seconds'])}{cut}"),
        ("picture", f"{facts['width']}x{facts['height']} at {number(facts['fps'])} frames per second"),
        ("returns", ", ".join(number(episode["return"]) for episode in played)),
    ]
    print_pairs(rows)
