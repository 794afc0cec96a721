"""`gymsolve inspect`: an episode of a run in the browser, step by step."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymsolve.cli.commands.web import Host, NoOpen, Port, Token
from gymsolve.cli.options import Json, PolicyRef, RunsDir, Trust, trusts
from gymsolve.cli.printing.output import print_json
from gymsolve.cli.serving import open_page
from gymsolve.errors import UnknownRunError, UsageError

if TYPE_CHECKING:
    from gymsolve.apps.inspector.recorder import Question
    from gymsolve.runs.run import Run


def inspect(
    run: PolicyRef,
    checkpoint: Annotated[
        str | None, typer.Option("--checkpoint", metavar="NAME", help="best, last or a number of steps.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Use this seed for the episode instead of the run's own."),
    ] = None,
    sample: Annotated[
        bool | None,
        typer.Option(
            "--sample/--likeliest",
            help="Sample actions, or take the likeliest; by default as the run's own evaluations do.",
        ),
    ] = None,
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
    found, which = _find(f"{run}@{checkpoint}" if checkpoint else run, runs_dir)
    trust = trusts(str(found.path), runs_dir, trust=trust, json=json)
    _require_task(found, task)
    if json:
        from gymsolve.apps.inspector.recorder import LONGEST, Question

        likeliest = None if sample is None else not sample
        question = Question(
            seed=seed, deterministic=likeliest, task=task, steps=steps or LONGEST, camera=not no_camera
        )
        _play(f"{found.path}@{which}" if which else str(found.path), question, trust=trust)
        return
    if trust:
        from gymsolve.runs.trust import buildable_settings

        buildable_settings(found, trust=True)  # the page's processes find it in the list
    sampled = None if sample is None else int(sample)
    asked = {"checkpoint": which, "seed": seed, "task": task, "sampled": sampled}
    query = {"run": found.id} | {key: str(value) for key, value in asked.items() if value is not None}
    folder = found.path.parent
    open_page("/inspect", query, port=port, no_open=no_open, host=host, token=token, runs_dir=folder)


def _find(ref: str, runs_dir: Path | None) -> "tuple[Run, str | None]":
    """The run, and the name of the checkpoint if one was asked for; there is such a one."""
    from gymsolve.runs.checkpoints import list_checkpoints
    from gymsolve.runs.refs import find_run, open_checkpoint, split_ref
    from gymsolve.runs.stage_checkpoints import STAGE

    name, which = split_ref(ref)
    found = find_run(name, runs_dir)
    known = list_checkpoints(found)
    if not known:
        raise UnknownRunError(
            f"run {found.id} has no checkpoint yet.", hint="Wait for its first one, or train it for longer."
        )
    if which is None or which in ("best", "last"):
        return found, which
    if which.startswith(STAGE):
        which = open_checkpoint(f"{found.path}@{which}", None, policy_only=True)[1].name
    if which.replace("_", "") not in known:
        raise UnknownRunError(
            f"run {found.id} has no checkpoint '{which}'.", hint=f"There are: {', '.join(known)}."
        )
    return found, which.replace("_", "")


def _require_task(run: "Run", task: str | None) -> None:
    tasks = run.config_json()["config"]["env"].get("tasks") or {}
    if task is not None and task not in tasks:
        hint = f"Its tasks are: {', '.join(tasks)}." if tasks else "It has one task, without a name."
        raise UsageError(f"run {run.id} has no task {task!r}.", where="--task", hint=hint)


def _play(ref: str, asked: "Question", *, trust: bool) -> None:
    """Play the episode, unless it is stored, and print where it is and how it ended."""
    from gymsolve.apps.inspector.recorder import inspect_run

    stored = inspect_run(ref, asked, trust=trust).stored
    told = ("run", "checkpoint", "env_steps", "seed", "deterministic", "length", "return", "end")
    facts = {name: stored.facts.get(name) for name in told}
    print_json({"episode": stored.name, "path": str(stored.path), **facts, "notes": stored.facts["notes"]})
