"""`gymsolve push` and `gymsolve pull`: runs kept at W&B."""

from typing import Annotated

from typer import Argument

from gymsolve.cli.options import Json, RunRef, RunsDir
from gymsolve.cli.printing.output import print_json, say
from gymsolve.service.share import pull_run, push_run


def push(run: RunRef, runs_dir: RunsDir = None, json: Json = False) -> None:
    """Upload a zipped run to W&B, as an artifact in the project of its environment."""
    pushed = push_run(run, runs_dir)
    if json:
        print_json(pushed.to_json())
    elif pushed.offline:
        say(f"{pushed.run} is packed ({pushed.files} files); send it with: {pushed.next}")
    else:
        say(f"{pushed.run} is at {pushed.url}; get it anywhere with: {pushed.next}")


def pull(
    run: Annotated[
        str, Argument(metavar="[[ENTITY/]PROJECT/]RUN", help="The whole id of a run that was pushed.")
    ],
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Download a run that was pushed to W&B."""
    pulled = pull_run(run, runs_dir)
    if json:
        print_json(pulled.to_json())
    else:
        say(f"{pulled.run} is in {pulled.path}")
