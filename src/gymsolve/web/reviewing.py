"""Reviews of episodes: the prompt and its receiver, the sending itself, and the answers."""

from typing import Any

from gymsolve.apps.review import review
from gymsolve.apps.review.chat import find_endpoint
from gymsolve.errors import UsageError
from gymsolve.runs.inspections import open_inspection, run_among
from gymsolve.runs.run import Run
from gymsolve.web.route import Ask, Raw, Reply


def show_prompt(ask: Ask) -> Reply:
    """The prompt as it would be sent, and the answers that there are."""
    run, endpoint = _run(ask), find_endpoint()
    prompt = _prompt(run, ask, ask.query)
    return {
        "text": prompt.text,
        "text_bytes": prompt.text_bytes,
        "picture_bytes": len(prompt.picture),
        "digest": prompt.digest,
        "to": None
        if endpoint is None
        else {"host": endpoint.host, "model": endpoint.model, "key": bool(endpoint.key)},
        "reviews": _stored(run, ask),
    }


def show_answers(ask: Ask) -> Reply:
    return {"reviews": _stored(_run(ask), ask)}


def send_picture(ask: Ask) -> Reply:
    return Raw(_prompt(_run(ask), ask, ask.query).picture, "image/png")


def send_prompt(ask: Ask) -> Reply:
    run = _run(ask)
    review.review(run, _prompt(run, ask, ask.body), find_endpoint(), ask.body.get("digest"))
    return {"reviews": _stored(run, ask)}


def _run(ask: Ask) -> Run:
    return run_among(ask.home.runs_dir, ask.path["run"])


def _prompt(run: Run, ask: Ask, wish: dict[str, Any]) -> review.Prompt:
    question = wish.get("question", "")
    if not isinstance(question, str):
        raise UsageError("a question is text.", where="question")
    return review.prepare(
        run, ask.path["episode"], question, picture=wish.get("picture") not in ("no", False)
    )


def _stored(run: Run, ask: Ask) -> list[dict[str, Any]]:
    return [vars(stored) for stored in review.read_reviews(open_inspection(run, ask.path["episode"]))]
