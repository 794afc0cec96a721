"""`gymsolve review`: an episode as a prompt for a language model; sent only with `--send` and a yes."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from gymsolve.apps.review.chat import Endpoint, find_endpoint
from gymsolve.apps.review.review import Prompt, newest_episode, prepare
from gymsolve.apps.review.review import review as ask_for_review
from gymsolve.cli.options import Json, RunsDir, Trust, trusts
from gymsolve.cli.printing.output import is_terminal, print_json, say
from gymsolve.errors import UsageError
from gymsolve.runs.files import replace_bytes
from gymsolve.runs.refs import find_run, split_ref
from gymsolve.runs.run import Run
from gymsolve.text import printable


def review(
    run: Annotated[
        str, Argument(metavar="RUN[@CHECKPOINT]", help="A run whose newest inspected episode is reviewed.")
    ],
    episode: Annotated[
        str | None,
        Option("--episode", metavar="NAME", help="Another inspected episode, by its folder's name."),
    ] = None,
    question: Annotated[
        str, Option("--question", metavar="TEXT", help="A further question to the model.")
    ] = "",
    picture: Annotated[
        Path | None, Option("--picture", metavar="FILE", help="Also write the sheet of pictures, as PNG.")
    ] = None,
    no_picture: Annotated[bool, Option("--no-picture", help="Send text alone.")] = False,
    send: Annotated[
        bool, Option("--send", help="Send it to the chat server, after a question; keep the answer.")
    ] = False,
    yes: Annotated[bool, Option("--yes", help="Send without a question.")] = False,
    url: Annotated[
        str | None,
        Option("--url", metavar="URL", help="The chat server: $GYMSOLVE_CHAT_URL. Keys: see the docs."),
    ] = None,
    model: Annotated[
        str | None, Option("--model", metavar="NAME", help="The model: $GYMSOLVE_CHAT_MODEL.")
    ] = None,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Print an episode as a prompt for a language model: table, charts, settings, alerts; or send it."""
    name, checkpoint = split_ref(run)
    chosen = find_run(name, runs_dir)
    if episode is None:
        episode = _newest(chosen, run, checkpoint, trust=trusts(run, runs_dir, trust=trust, json=json))
    prompt = prepare(chosen, episode, question, picture=not no_picture)
    if picture is not None:
        _write(picture, prompt)
    if send:
        _send(chosen, prompt, url, model, yes=yes, json=json)
    elif json:
        print_json(_facts(prompt))
    else:
        say(printable(prompt.text))


def _newest(run: Run, ref: str, checkpoint: str | None, *, trust: bool) -> str:
    """The newest inspected episode; play one where there is none, or where a checkpoint is named."""
    if checkpoint is None and (stored := newest_episode(run)) is not None:
        return stored.name
    from gymsolve.apps.inspector.recorder import Question, inspect_run

    return inspect_run(f"{run.path}@{checkpoint}" if checkpoint else run, Question(), trust=trust).stored.name


def _write(place: Path, prompt: Prompt) -> None:
    if not prompt.picture:
        raise UsageError("there is no picture of this episode.", where="--picture")
    if not place.absolute().parent.is_dir():
        raise UsageError(f"'{place}' is not in a folder that exists.", where="--picture")
    replace_bytes(place, prompt.picture)


def _send(run: Run, prompt: Prompt, url: str | None, model: str | None, *, yes: bool, json: bool) -> None:
    endpoint = find_endpoint(url, model)
    if endpoint is not None and not yes:
        _confirm(prompt, endpoint, json=json)
    stored = ask_for_review(run, prompt, endpoint, prompt.digest)
    if json:
        print_json({**_facts(prompt), "review": vars(stored)})
    else:
        say(printable(stored.answer))


def _confirm(prompt: Prompt, endpoint: Endpoint, *, json: bool) -> None:
    """Ask before anything is sent: what, how much and to whom; refuse unless the answer is yes."""
    pictures = f" and a picture of {len(prompt.picture):,} bytes" if prompt.picture else ""
    what = f"{prompt.text_bytes:,} bytes of text{pictures} about episode {prompt.episode} of run {prompt.run}"
    if json or not (is_terminal() and sys.stdin.isatty()):
        raise UsageError(
            f"nobody can be asked whether {what} may go to {endpoint.host}.",
            where="--send",
            hint="Give --yes if they may.",
        )
    question = f"Send {what} to {endpoint.host} (model {printable(endpoint.model)})?"
    if not typer.confirm(question, default=False, err=True):
        raise UsageError("nothing was sent.")


def _facts(prompt: Prompt) -> dict[str, object]:
    return {
        "run": prompt.run,
        "episode": prompt.episode,
        "prompt": prompt.text,
        "text_bytes": prompt.text_bytes,
        "picture_bytes": len(prompt.picture),
        "digest": prompt.digest,
    }
