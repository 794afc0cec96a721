"""`gymsolve play`: an environment or a run in the browser, for people and policies."""

import contextlib
import re
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from gymsolve.apps.serve import GoneError
from gymsolve.cli.commands.web import Host, NoOpen, Port, Token
from gymsolve.cli.live.terminal_play import Terminal
from gymsolve.cli.options import RunsDir, Trust, trusts
from gymsolve.cli.serving import open_page
from gymsolve.errors import UnknownRunError, UsageError
from gymsolve.recipes import has_recipe, split_name
from gymsolve.runs import runs_folder
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.refs import find_run, split_ref
from gymsolve.runs.trust import buildable_settings


def play(
    what: Annotated[
        str,
        Argument(
            metavar="[ENV[:VARIANT]|RUN[@CHECKPOINT]]",
            help="What to play; without it, the page lets you choose.",
        ),
    ] = "",
    mode: Annotated[
        Literal["you", "policy", "untrained", "random"] | None,
        Option("--mode", help="Who acts first; you in an environment, the policy in a run, by default."),
    ] = None,
    seed: Annotated[int | None, Option("--seed", min=0, help="Seed of the first episode.")] = None,
    episodes: Annotated[
        int | None, Option("--episodes", min=1, help="Stop after this many episodes; endless by default.")
    ] = None,
    against: Annotated[
        list[str] | None,
        Option(
            "--against", metavar="RUN", help="A policy to play against, in VizdoomDeathmatch-v1; up to seven."
        ),
    ] = None,
    record: Annotated[
        bool, Option("--record", help="Keep the episodes that you act in, as demonstrations.")
    ] = False,
    no_browser: Annotated[
        bool, Option("--no-browser", help="Play in this terminal; for environments that draw text.")
    ] = False,
    port: Port = None,
    no_open: NoOpen = False,
    host: Host = "127.0.0.1",
    token: Token = None,
    trust: Trust = False,
    runs_dir: RunsDir = None,
) -> None:
    """Play an environment in the browser, or watch a policy and take over from it."""
    query, runs_dir = _named(what, mode, trust, runs_dir) if what else ({}, runs_dir)
    wishes = {"mode": mode, "seed": seed, "episodes": episodes, "record": 1 if record else None}
    query |= {name: str(value) for name, value in wishes.items() if value is not None}
    if against:
        query["against"] = _opponents(what, against, trust, runs_dir)
    if no_browser:
        _play_here(query, runs_dir)
        return
    open_page("/play", query, port=port, no_open=no_open, host=host, token=token, runs_dir=runs_dir)


def _play_here(query: dict[str, str], runs_dir: Path | None) -> None:
    """Play in this terminal until the episodes are played or somebody ends the session."""
    if not query or "against" in query:
        what = "that needs pictures" if query else "name what to play"
        raise UsageError(
            f"{what}.", where="--no-browser", hint="Such as: gymsolve play FrozenLake-v1 --no-browser"
        )
    from gymsolve.apps.play.person import serve

    yourself = query.get("mode", "policy" if "run" in query else "you") == "you"
    request = {**query, "runs_dir": str(runs_folder(runs_dir).absolute()), "text": True}
    lasting = not yourself and "episodes" in query
    with contextlib.suppress(KeyboardInterrupt, GoneError), Terminal(lasting=lasting) as terminal:
        serve(terminal, request)


def _opponents(what: str, against: list[str], trust: bool, runs_dir: Path | None) -> str:
    """The ids of the runs to play against; refuse runs whose code may not be imported."""
    if not what.startswith("VizdoomDeathmatch-v1"):
        raise UsageError(
            "agents are played against in VizdoomDeathmatch-v1 alone.",
            where="--against",
            hint="Write: gymsolve play VizdoomDeathmatch-v1 --against RUN",
        )
    opponents = []
    for ref in against:
        name, checkpoint = split_ref(ref)
        run = find_run(name, runs_dir)
        buildable_settings(run, trust=trusts(name, runs_dir, trust=trust, json=False))
        opponents.append(run.id if checkpoint is None else f"{run.id}@{checkpoint}")
    return ",".join(opponents)


def _named(
    what: str, mode: str | None, trust: bool, runs_dir: Path | None
) -> tuple[dict[str, str], Path | None]:
    """The query of the page, and the folder in which it looks for runs."""
    if not what.startswith("@") and "@" not in what:
        base = split_name(what)[0]
        if has_recipe(base) or (re.search(r"-v\d+$", base) and not re.match(r"\d{8}-\d{6}-", base)):
            if mode == "policy":
                raise UsageError(
                    "an environment has no policy; a run has one.",
                    where="--mode",
                    hint=f"Name a run, such as @best:{base}, or use --mode untrained.",
                )
            return {"env": what}, runs_dir
    return _named_run(what, mode, trust, runs_dir)


def _named_run(
    what: str, mode: str | None, trust: bool, runs_dir: Path | None
) -> tuple[dict[str, str], Path | None]:
    ref, checkpoint = split_ref(what)
    run = find_run(ref, runs_dir)
    buildable_settings(run, trust=trusts(ref, runs_dir, trust=trust, json=False))
    if mode in (None, "policy") and not list_checkpoints(run):
        raise UnknownRunError(
            f"run {run.id} has no checkpoint yet, so there is no policy to watch.",
            hint="Wait for its first one, or play it yourself with --mode you.",
        )
    query = {"run": run.id} | ({} if checkpoint is None else {"checkpoint": checkpoint})
    return query, run.path.parent
