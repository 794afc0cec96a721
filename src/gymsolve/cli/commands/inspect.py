"""`gymsolve inspect`: an episode of a run in the browser, step by step."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymsolve.cli.commands.web import Host, NoOpen, Port, Token, open_page
from gymsolve.cli.options import Json, RunsDir, Trust, trusts
from gymsolve.cli.printing.output import print_json
from gymsolve.errors import UnknownRunError

if TYPE_CHECKING:
    from gymsolve.runs import Run
    from gymsolve.training.play.inspection import Question

__all__ = ["inspect"]


def inspect(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN[@CHECKPOINT]",
            help="A run; its best checkpoint unless @last or @STEPS says otherwise.",
        ),
    ],
    checkpoint: Annotated[
        str | None, typer.Option("--checkpoint", metavar="NAME", help="best, last or a number of steps.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Use this seed for the episode instead of the run's own."),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Sample actions instead of taking the likeliest.")
    ] = False,
    task: Annotated[
        str | None, typer.Option("--task", metavar="NAME", help="Which of several tasks; else the first.")
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option("--steps", min=1, max=1_000_000, help="Of --json: cut the episode after so many."),
    ] = None,
    no_camera: Annotated[
        bool, typer.Option("--no-camera", help="Of --json: keep no pictures, which is quicker.")
    ] = False,
    port: Port = None,
    no_open: NoOpen = False,
    host: Host = "127.0.0.1",
    token: Token = None,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Step through an episode: what the network saw, what it thought, what it did, what came of it.

    With --json no page is opened: the episode is played to its end and stored, and its facts are printed.
    """
    found, which = _choose(f"{run}@{checkpoint}" if checkpoint else run, runs_dir)
    trust = trusts(str(found.path), runs_dir, trust=trust, json=json)
    if json:
        from gymsolve.training.play.inspection import LONGEST, Question

        asked = Question(
            seed=seed, deterministic=not sample, task=task, steps=steps or LONGEST, camera=not no_camera
        )
        _play(f"{found.path}@{which}" if which else str(found.path), asked, trust=trust)
        return
    if trust:
        from gymsolve.runs.trust import buildable_settings

        buildable_settings(found, trust=True)  # the page's processes find it in the list
    query = {"run": found.id}
    if which is not None:
        query["checkpoint"] = which.replace("_", "")
    if seed is not None:
        query["seed"] = str(seed)
    if task is not None:
        query["task"] = task
    if sample:
        query["sampled"] = "1"
    folder = found.path.parent
    open_page("/inspect", query, port=port, no_open=no_open, host=host, token=token, runs_dir=folder)


def _choose(ref: str, runs_dir: Path | None) -> "tuple[Run, str | None]":
    """The run and which of its checkpoints; None for the best."""
    from gymsolve.runs.checkpoints import list_checkpoints
    from gymsolve.runs.refs import find_run, open_checkpoint, split_ref
    from gymsolve.runs.stages import STAGE

    name, which = split_ref(ref)
    found = find_run(name, runs_dir)
    known = list_checkpoints(found)
    if not known:
        raise UnknownRunError(
            f"run {found.id} has no checkpoint yet.", hint="Wait for its first one, or train it for longer."
        )
    if which is not None and which.startswith(STAGE):
        which = open_checkpoint(f"{found.path}@{which}", None, policy_only=True)[1].name
    if which is not None and which not in ("best", "last") and which.replace("_", "") not in known:
        raise UnknownRunError(
            f"run {found.id} has no checkpoint '{which}'.", hint=f"There are: {', '.join(known)}."
        )
    return found, which


def _play(ref: str, asked: "Question", *, trust: bool) -> None:
    """Play the episode, unless it is stored, and print where it is and how it ended."""
    from gymsolve.training.play.inspection import inspect_run

    stored = inspect_run(ref, asked, trust=trust).stored
    told = ("run", "checkpoint", "env_steps", "seed", "deterministic", "length", "return", "end")
    facts = {name: stored.facts.get(name) for name in told}
    print_json({"episode": stored.name, "path": str(stored.path), **facts, "notes": stored.facts["notes"]})
