"""`gymsolve runs list` and `gymsolve stop`."""

from typing import Annotated

from typer import Argument

from gymsolve.cli.options import All, Json, Limit, RunRef, RunsDir
from gymsolve.cli.printing.output import print_json, print_whole_table, say
from gymsolve.runs import runs_folder
from gymsolve.text import age, count, number, plural
from gymsolve.view import runs as view

_ALWAYS = 7
"""Columns that are shown even if they are empty: all but name and tags."""
_EXPENDABLE = ("environment", "variant", "age", "steps", "tags")


def list_runs(
    query: Annotated[
        list[str] | None,
        Argument(
            metavar="[QUERY]",
            help="Words of the id, name or tags, or status:solved, env:CartPole, algo:ppo, variant:fast, "
            "group:ID, tag:TAG.",
        ),
    ] = None,
    limit: Limit = 20,
    all_: All = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """List runs, newest first; `gymsolve runs` alone does it too."""
    words = " ".join(query or ())
    runs = view.list_runs(words, limit + 1, runs_dir, trials=all_)
    if json:
        print_json([run.to_json() for run in runs[:limit]])
        return
    if runs:
        _print_runs(runs[:limit])
    else:
        fitting = f" fits '{words}'" if words else " yet"
        say(f"No run in {runs_folder(runs_dir)}{fitting}. Start one with: gymsolve train CartPole-v1")
    if len(runs) > limit:
        say(f"Only the newest {'is' if limit == 1 else f'{limit} are'} shown; --limit shows more.")
    trials = 0 if all_ else view.count_trials(words, runs_dir)
    if trials:
        are, them = ("is", "it") if trials == 1 else ("are", "them")
        say(f"{plural(trials, 'trial')} of gymsolve fix and sweep {are} not shown; --all shows {them}.")


def _print_runs(runs: list[view.ListedRun]) -> None:
    rows = []
    for run in runs:
        steps, best = count(run.env_steps), number(run.best_reward)
        facts = run.id, run.env_id, run.variant, run.status, steps, best, age(run.created)
        rows.append((*facts, run.label, " ".join(run.tags)))
    headers = ("run", "environment", "variant", "status", "steps", "best", "age", "name", "tags")
    kept = [at for at, name in enumerate(headers) if at < _ALWAYS or any(row[at] for row in rows)]
    print_whole_table(
        [headers[at] for at in kept],
        [tuple(row[at] for at in kept) for row in rows],
        right=("steps", "best", "age"),
        # The first two are in the id.
        expendable=[name for name in _EXPENDABLE if name in [headers[at] for at in kept]],
    )


def stop(run: RunRef, runs_dir: RunsDir = None, json: Json = False) -> None:
    """Ask a running training to stop after its current update, leaving a checkpoint."""
    answer = view.stop_run(run, runs_dir)
    if json:
        print_json(answer.to_json())
    else:
        say(f"Asked {answer.run} to stop; it ends after its current update and can be resumed.")
