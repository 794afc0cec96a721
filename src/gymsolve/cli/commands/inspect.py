"""`gymsolve inspect`: an episode of a run in the browser, step by step."""

from pathlib import Path
from typing import Annotated

from typer import Option

from gymsolve.cli.commands.web import Host, NoOpen, Port, Token
from gymsolve.cli.options import Json, PolicyRef, RunsDir, Trust, trusts
from gymsolve.cli.printing.output import print_json
from gymsolve.cli.serving import open_page
from gymsolve.errors import UnknownRunError, UsageError
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.inspections import Inspection
from gymsolve.runs.refs import find_run, open_checkpoint, split_ref
from gymsolve.runs.run import Run
from gymsolve.runs.stage_checkpoints import STAGE
from gymsolve.runs.trust import buildable_settings


def inspect(
    run: PolicyRef,
    checkpoint: Annotated[
        str | None, Option("--checkpoint", metavar="NAME", help="best, last or a number of steps.")
    ] = None,
    seed: Annotated[
        int | None, Option("--seed", min=0, help="Use this seed for the episode instead of the run's own.")
    ] = None,
    sample: Annotated[
        bool | None,
        Option(
            "--sample/--likeliest",
            help="Sample actions, or take the likeliest; by default as the run's own evaluations do.",
        ),
    ] = None,
    task: Annotated[
        str | None, Option("--task", metavar="NAME", help="One of several tasks; the first by default.")
    ] = None,
    steps: Annotated[
        int | None,
        Option("--steps", min=1, max=1_000_000, help="With --json: cut the episode after this many steps."),
    ] = None,
    no_camera: Annotated[
        bool, Option("--no-camera", help="With --json: keep no pictures, which is quicker.")
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
    chosen, which = _find(f"{run}@{checkpoint}" if checkpoint else run, runs_dir)
    trust = trusts(str(chosen.path), runs_dir, trust=trust, json=json)
    _require_task(chosen, task)
    if json:
        from gymsolve.apps.inspector.recorder import LONGEST, Question, inspect_run

        likeliest = None if sample is None else not sample
        question = Question(
            seed=seed, deterministic=likeliest, task=task, steps=steps or LONGEST, camera=not no_camera
        )
        ref = f"{chosen.path}@{which}" if which else str(chosen.path)
        _print_episode(inspect_run(ref, question, trust=trust).stored)
        return
    if trust:
        buildable_settings(chosen, trust=True)  # the page's processes find it in the list
    sampled = None if sample is None else int(sample)
    asked = {"checkpoint": which, "seed": seed, "task": task, "sampled": sampled}
    query = {"run": chosen.id} | {key: str(value) for key, value in asked.items() if value is not None}
    folder = chosen.path.parent
    open_page("/inspect", query, port=port, no_open=no_open, host=host, token=token, runs_dir=folder)


def _find(ref: str, runs_dir: Path | None) -> tuple[Run, str | None]:
    """The run, and the name of its checkpoint, if the reference names one; refuse a name that is unknown."""
    name, which = split_ref(ref)
    run = find_run(name, runs_dir)
    checkpoints = list_checkpoints(run)
    if not checkpoints:
        raise UnknownRunError(
            f"run {run.id} has no checkpoint yet.", hint="Wait for its first one, or train it for longer."
        )
    if which is None or which in ("best", "last"):
        return run, which
    if which.startswith(STAGE):
        which = open_checkpoint(f"{run.path}@{which}", None, policy_only=True)[1].name
    if which.replace("_", "") not in checkpoints:
        raise UnknownRunError(
            f"run {run.id} has no checkpoint '{which}'.", hint=f"There are: {', '.join(checkpoints)}."
        )
    return run, which.replace("_", "")


def _require_task(run: Run, task: str | None) -> None:
    env = run.config_json()["config"].get("env")
    tasks = env.get("tasks") if isinstance(env, dict) else None
    tasks = tasks if isinstance(tasks, dict) else {}
    if task is not None and task not in tasks:
        hint = f"Its tasks are: {', '.join(tasks)}." if tasks else "It has one task, without a name."
        raise UsageError(f"run {run.id} has no task {task!r}.", where="--task", hint=hint)


def _print_episode(stored: Inspection) -> None:
    names = ("run", "checkpoint", "env_steps", "seed", "deterministic", "length", "return", "end")
    facts = {name: stored.facts.get(name) for name in names}
    print_json({"episode": stored.name, "path": str(stored.path), **facts, "notes": stored.facts["notes"]})
