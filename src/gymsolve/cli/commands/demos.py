"""`gymsolve demos`: episodes that people played."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from gymsolve.cli.options import Json, RunsDir
from gymsolve.cli.printing.output import print_json, print_pairs, print_table, say
from gymsolve.service import demos
from gymsolve.text import number, plural


def list_episodes(
    env: Annotated[str | None, Argument(metavar="[ENV]", help="Only episodes of this environment.")] = None,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """List the episodes that people played and recorded."""
    episodes = demos.list_all(env, runs_dir=runs_dir)
    if json:
        print_json(episodes)
    elif not episodes:
        say("No recorded episodes. Play with `gymsolve play ENV`, and turn on Record.")
    else:
        rows = [
            (
                episode["name"],
                episode["env_id"] or "?",
                number(episode["return"] or 0.0),
                str(episode["length"] or 0),
                str(episode["by_person"] or 0),
                episode["end"] or "?",
            )
            for episode in episodes
        ]
        print_table(("episode", "environment", "return", "steps", "by people", "end"), rows)


def show(
    name: Annotated[str, Argument(metavar="EPISODE", help="Its name or a part of it.")],
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Tell one episode: how it ended, and who acted."""
    demo = demos.show(name, runs_dir=runs_dir)
    if json:
        print_json(demo.to_json())
        return
    acted = ", ".join(f"{who} {plural(count, 'step')}" for who, count in demo.acted.items())
    if demo.against_policy is not None:
        acted += f" ({demo.against_policy} against the policy's choice)"
    result = f"{number(demo.total_return)} in {plural(demo.length, 'step')}, {demo.end}"
    pairs = (("file", demo.path), ("environment", demo.env_id or "?"), ("return", result), ("acted", acted))
    print_pairs(pairs)


def export(
    names: Annotated[
        list[str] | None, Argument(metavar="[EPISODE|ENV]…", help="Which episodes; all of them by default.")
    ] = None,
    name: Annotated[
        str, Option("--name", help="Name of the dataset, such as cartpole/people-v0.")
    ] = "people-v0",
    out: Annotated[
        Path | None,
        Option("--out", metavar="DIR", help="Folder of datasets; by default where Minari keeps them."),
    ] = None,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Export episodes as a Minari dataset, to pre-train from."""
    dataset = demos.export(names or [], name, out=out, runs_dir=runs_dir)
    if json:
        print_json(dataset.to_json())
    else:
        holds = f"{plural(dataset.episodes, 'episode')} of {dataset.env_id}, {plural(dataset.steps, 'step')}"
        print_pairs([("dataset", dataset.name), ("holds", holds), ("folder", dataset.path)])
