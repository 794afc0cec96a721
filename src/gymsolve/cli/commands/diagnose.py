"""`gymsolve diagnose`: why does it not learn?"""

from typing import TYPE_CHECKING, Annotated

import typer

from gymsolve.cli.options import Json, RunsDir
from gymsolve.cli.printing.output import heading, print_json, say
from gymsolve.text import count, plural

if TYPE_CHECKING:
    from gymsolve.service.diagnose import Findings

__all__ = ["diagnose"]


def diagnose(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|PATH|wandb:ENTITY/PROJECT/RUN",
            help="A run, or somebody else's log: progress.csv or monitor.csv of Stable-Baselines3, "
            "a TensorBoard folder or W&B run of Stable-Baselines3 or CleanRL, a W&B run of ours.",
        ),
    ],
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Say what went wrong in a training, with evidence, likely cause and remedy; one root cause first."""
    from gymsolve.service.diagnose import diagnose_path

    told = diagnose_path(run, runs_dir)
    if json:
        print_json(told.to_json())
        return
    say(f"{told.run}  {told.env_id or ''}".rstrip())
    say(f"{told.log} log, {plural(told.records, 'record')}, {count(told.env_steps)} steps")
    if told.lint:
        heading("Settings that rarely work")
        say("\n".join(f"  {line}" for line in told.lint))
    _print_findings(told)
    _print_rest(told)


def _print_findings(told: "Findings") -> None:
    from gymsolve.cli.printing.alerts import alert_paragraph

    for index, alert in enumerate(told.roots):
        heading("Most likely root cause" if index == 0 else "Also")
        follows = [one for one in told.consequences if one.because == alert.id]
        say("\n".join(alert_paragraph(alert.to_json(), [one.to_json() for one in follows])))
        if index == 0 and alert.changes and told.log == "gymsolve":
            say(f"  try it    gymsolve fix {told.run}")
        if follows:
            say("  explains  " + "; ".join(f"{one.title} [{one.id}]" for one in follows))


def _print_rest(told: "Findings") -> None:
    if told.problems:
        heading("Could not be read")
        say("\n".join(f"  {line}" for line in told.problems))
    if told.not_checked:
        heading(f"Could not be checked: {len(told.not_checked)}")
        for name, reason in told.not_checked.items():
            say(f"  {name}: {reason}")
    fired = "did not fire" if told.roots else "did not fire, which is not to say that all is well"
    heading(f"These {plural(len(told.not_fired), 'check')} {fired}:")
    say("  " + ", ".join(told.not_fired))
