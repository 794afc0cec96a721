"""`gymsolve diagnose`: why does it not learn?"""

from typing import Annotated

from typer import Argument

from gymsolve.cli.options import Json, RunsDir
from gymsolve.cli.printing.alerts import alert_paragraph
from gymsolve.cli.printing.output import heading, print_json, print_lines, say
from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.doctor.findings import Findings
from gymsolve.text import count, plural, setting

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
"""Settings of other libraries that are printed; `--json` has all that a log keeps."""


def diagnose(
    run: Annotated[
        str,
        Argument(
            metavar="RUN|PATH|wandb:ENTITY/PROJECT/RUN",
            help="A run, or somebody else's log: progress.csv or monitor.csv of Stable-Baselines3, "
            "a TensorBoard folder or W&B run of Stable-Baselines3 or CleanRL, a W&B run of ours.",
        ),
    ],
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Say what went wrong in a training, with evidence, likely cause and remedy; one root cause first."""
    findings = diagnose_path(run, runs_dir)
    if json:
        print_json(findings.to_json())
        return
    say(f"{findings.run}  {findings.env_id or ''}".rstrip())
    say(f"{findings.log} log, {plural(findings.records, 'record')}, {count(findings.env_steps)} steps")
    settings = [f"{name}={setting(findings.settings[name])}" for name in _SHOWN if name in findings.settings]
    if settings:
        say(f"its settings: {', '.join(settings)}")
    print_lines("Settings that rarely work", findings.lint)
    _print_causes(findings)
    print_lines("Could not be read", findings.problems)
    unchecked = [f"{name}: {reason}" for name, reason in findings.not_checked.items()]
    print_lines(f"Could not be checked: {len(unchecked)}", unchecked)
    silent = "did not fire" if findings.roots else "did not fire, which is not to say that all is well"
    heading(f"These {plural(len(findings.not_fired), 'check')} {silent}:")
    say("  " + ", ".join(findings.not_fired))


def _print_causes(findings: Findings) -> None:
    if not findings.roots:
        say(f"\nNothing was found: none of {plural(len(findings.not_fired), 'check')} fired.")
    for index, cause in enumerate(findings.roots):
        heading(_heading(findings, index))
        follows = [alert for alert in findings.consequences if alert.because == cause.id]
        say("\n".join(alert_paragraph(cause.to_json(), [alert.to_json() for alert in follows])))
        tried = next((remedy for remedy in findings.tried if remedy.alert == cause.id), None)
        if tried is not None:
            say(f"  tried     {tried.verdict}: {tried.certainty}")
        elif index == 0 and cause.changes and cause.severity != "info" and findings.log == "gymsolve":
            say(f"  try it    gymsolve fix {findings.run}")
        if follows:
            say("  explains  " + "; ".join(f"{alert.title} [{alert.id}]" for alert in follows))


def _heading(findings: Findings, index: int) -> str:
    """The cause of a run's end is certain; any other cause is only likely."""
    if findings.roots[index].ended:
        return "What ended the run"
    if index:
        return "Also"
    return "What costs time" if findings.roots[index].severity == "info" else "Most likely root cause"
