"""`gymsolve push` and `gymsolve pull`: runs kept at W&B."""

from typing import Annotated

import typer

from gymsolve.cli.options import Json, RunRef, RunsDir
from gymsolve.cli.printing.output import print_json, say


def push(run: RunRef, runs_dir: RunsDir = None, json: Json = False) -> int:
    """Upload a zipped run to W&B, as an artifact in the project of its environment."""
    from gymsolve.service.share import push_run

    told = push_run(run, runs_dir)
    if json:
        print_json(told.to_json())
    elif told.offline:
        say(f"{told.run} is packed ({told.files} files); send it with: {told.next}")
    else:
        say(f"{told.run} is at {told.url}; get it anywhere with: {told.next}")
    return 0


def pull(
    run: Annotated[
        str, typer.Argument(metavar="[[ENTITY/]PROJECT/]RUN", help="The whole id of a run that was pushed.")
    ],
    runs_dir: RunsDir = None,
    json: Json = False,
) -> int:
    """Download a run that was pushed to W&B."""
    from gymsolve.service.share import pull_run

    told = pull_run(run, runs_dir)
    if json:
        print_json(told.to_json())
    else:
        say(f"{told.run} is in {told.path}")
    return 0
