"""`gymsolve diagnose`: why does it not learn?"""

from typing import TYPE_CHECKING, Annotated

import typer

from gymsolve.cli.options import Json, RunsDir
from gymsolve.cli.printing.output import heading, print_json, say
from gymsolve.text import count, plural, setting

if TYPE_CHECKING:
    from gymsolve.doctor.diagnose_run import Findings

_SHOWN = (
    "seed",
    "total_timesteps",
    "num_envs",
    "num_steps",
    "learning_rate",
    "gamma",
    "num_minibatches",
    "update_epochs",
    "clip_coef",
    "clip_range",
    "ent_coef",
)
"""Settings of others that are printed; `--json` has all that a log keeps."""


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
    from gymsolve.doctor.diagnose_run import diagnose_path

    told = diagnose_path(run, runs_dir)
    if json:
        print_json(told.to_json())
        return
    say(f"{told.run}  {told.env_id or ''}".rstrip())
    say(f"{told.log} log, {plural(told.records, 'record')}, {count(told.env_steps)} steps")
    shown = [f"{name}={setting(told.settings[name])}" for name in _SHOWN if name in told.settings]
    if shown:
        say(f"its settings: {', '.join(shown)}")
    if told.lint:
        heading("Settings that rarely work")
        say("\n".join(f"  {line}" for line in told.lint))
    _print_findings(told)
    _print_rest(told)


def _print_findings(told: "Findings") -> None:
    from gymsolve.cli.printing.alerts import alert_paragraph

    if not told.roots:
        say(f"\nNothing was found: none of {plural(len(told.not_fired), 'check')} fired.")
    for index, alert in enumerate(told.roots):
        heading(_heading(told, index))
        follows = [one for one in told.consequences if one.because == alert.id]
        say("\n".join(alert_paragraph(alert.to_json(), [one.to_json() for one in follows])))
        if index == 0 and alert.changes and alert.severity != "info" and told.log == "gymsolve":
            say(f"  try it    gymsolve fix {told.run}")
        if follows:
            say("  explains  " + "; ".join(f"{one.title} [{one.id}]" for one in follows))


def _heading(told: "Findings", index: int) -> str:
    """What ended a run is certain; what else was wrong with it is not."""
    if told.roots[index].ended:
        return "What ended the run"
    if told.roots[index].severity == "info":
        return "What costs time" if index == 0 else "Also"
    return "Most likely root cause" if index == 0 else "Also"


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
