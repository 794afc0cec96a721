"""`gymsolve demos`: episodes that people played."""

from pathlib import Path
from typing import Annotated

import typer

from gymsolve.cli.options import Json, RunsDir
from gymsolve.cli.printing.output import print_json, print_pairs, print_table, say
from gymsolve.text import number, plural


def list_them(
    env: Annotated[
        str | None, typer.Argument(metavar="[ENV]", help="Only episodes of this environment.")
    ] = None,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """List the episodes that people played and recorded."""
    from gymsolve.service.demos import list_all

    found = list_all(env, runs_dir=runs_dir)
    if json:
        print_json(found)
    elif not found:
        say("No recorded episodes. Play with `gymsolve play ENV`, and turn on Record.")
    else:
        rows = [
            [
                one["name"],
                one["env_id"] or "?",
                number(one["return"] or 0.0),
                str(one["length"] or 0),
                str(one["by_person"] or 0),
                one["end"] or "?",
            ]
            for one in found
        ]
        print_table(["episode", "environment", "return", "steps", "by people", "end"], rows)


def show(
    name: Annotated[str, typer.Argument(metavar="EPISODE", help="Its name or a part of it.")],
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Tell one episode: how it ended, and who acted."""
    from gymsolve.service.demos import show as tell

    told = tell(name, runs_dir=runs_dir)
    if json:
        print_json(told.to_json())
        return
    acted = ", ".join(f"{who} {plural(count, 'step')}" for who, count in told.acted.items())
    against = "" if told.against_policy is None else f" ({told.against_policy} against the policy's choice)"
    print_pairs(
        [
            ("file", told.path),
            ("environment", told.env_id or "?"),
            ("return", f"{number(told.total_return)} in {plural(told.length, 'step')}, {told.end}"),
            ("acted", acted + against),
        ]
    )


def export(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[EPISODE|ENV]…", help="Which episodes; all of them by default."),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", help="Name of the dataset, such as cartpole/people-v0.")
    ] = "people-v0",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder of datasets; by default where Minari keeps them."),
    ] = None,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Export episodes as a Minari dataset, to pre-train from."""
    from gymsolve.service.demos import export as make

    made = make(names or [], name, out=out, runs_dir=runs_dir)
    if json:
        print_json(made.to_json())
    else:
        told = f"{plural(made.episodes, 'episode')} of {made.env_id}, {plural(made.steps, 'step')}"
        print_pairs([("dataset", made.name), ("holds", told), ("folder", made.path)])
