"""`gymsolve inspect`: an episode of a run in the browser, step by step."""

from typing import Annotated

import typer

from gymsolve.cli.commands.web import Host, NoOpen, Port, Token, open_page
from gymsolve.cli.options import RunsDir, Trust, trusts
from gymsolve.errors import UnknownRunError, UsageError

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
    port: Port = None,
    no_open: NoOpen = False,
    host: Host = "127.0.0.1",
    token: Token = None,
    trust: Trust = False,
    runs_dir: RunsDir = None,
) -> None:
    """Step through an episode: what the network saw, what it thought, what it did, what came of it."""
    from gymsolve.runs.checkpoints import list_checkpoints
    from gymsolve.runs.refs import find_run, open_checkpoint, split_ref
    from gymsolve.runs.stages import STAGE

    name, which = split_ref(f"{run}@{checkpoint}" if checkpoint else run)
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
    if trusts(str(found.path), runs_dir, trust=trust, json=False):
        from gymsolve.runs.trust import buildable_settings

        buildable_settings(found, trust=True)  # the page's processes find it in the list
    tasks = found.config_json()["config"]["env"].get("tasks") or {}
    if task is not None and task not in tasks:
        hint = f"Its tasks are: {', '.join(tasks)}." if tasks else "It has one task, without a name."
        raise UsageError(f"run {found.id} has no task {task!r}.", where="--task", hint=hint)
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
