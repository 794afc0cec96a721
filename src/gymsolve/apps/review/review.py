"""An inspected episode as a prompt for a language model, and the model's answer.

The prompt is text: facts, settings, alerts, charts made of characters, and a table of the most telling steps.
A sheet of pictures goes with it where there is a camera. A request to send a prompt names its digest, so
nothing is sent that was not shown before.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from gymsolve.apps.inspector.episode_answers import contact_sheet
from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.apps.review.chat import Endpoint, ask
from gymsolve.apps.review.review_text import episode_prompt
from gymsolve.errors import UsageError
from gymsolve.runs.inspections import Inspection, list_inspections, open_inspection
from gymsolve.runs.reviews import StoredReview, append_review, read_reviews
from gymsolve.runs.run import Run, now
from gymsolve.view.diagnosed_run import DiagnosedRun

__all__ = ["Prompt", "newest_episode", "prepare", "read_reviews", "review"]

_LONGEST_QUESTION = 2000
_PICTURES = 12


@dataclass(frozen=True)
class Prompt:
    """The text and picture that would be sent."""

    run: str
    episode: str
    text: str
    picture: bytes
    """A sheet of frames as PNG; empty without a camera or a wish for one."""
    question: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode() + b"\0" + self.picture).hexdigest()

    @property
    def text_bytes(self) -> int:
        return len(self.text.encode())


def newest_episode(run: Run) -> Inspection | None:
    """The newest inspected episode of a run that was played to its end."""
    inspections = list_inspections(run)
    return next((episode for episode in inspections if episode.facts["state"] == "whole"), None)


def prepare(run: Run, name: str, question: str = "", *, picture: bool = True) -> Prompt:
    """The prompt for one inspected episode."""
    if len(question) > _LONGEST_QUESTION:
        raise UsageError(f"a question has at most {_LONGEST_QUESTION} characters.", where="question")
    stored = open_inspection(run, name)
    if stored.facts["state"] == "playing":
        raise UsageError("the episode is still being played.", hint="Wait for its end, or stop it.")
    episode = InspectedEpisode(stored)
    if not len(episode):
        raise UsageError("the episode has no step.")
    sheet, states = contact_sheet(episode, _PICTURES) if picture and stored.frames else (b"", [])
    asked = _plain(question.strip())
    return Prompt(
        run.id, name, _plain(episode_prompt(episode, DiagnosedRun(run), asked, states)), sheet, asked
    )


def _plain(text: str) -> str:
    """The text without halves of surrogate pairs, which cannot be sent."""
    return text.encode(errors="replace").decode()


def review(run: Run, prompt: Prompt, endpoint: Endpoint | None, digest: Any) -> StoredReview:
    """Send the prompt, which was shown under `digest`, and store the answer with the episode."""
    if endpoint is None:
        raise UsageError(
            "no chat server is configured.",
            hint="Set GYMSOLVE_CHAT_URL and GYMSOLVE_CHAT_MODEL (and GYMSOLVE_CHAT_KEY), or copy the prompt.",
        )
    if digest != prompt.digest:
        message = "the prompt is not the one that was shown: the run has gone on since."
        raise UsageError(message, hint="Look at it again.")
    reply = ask(endpoint, prompt.text, [prompt.picture] if prompt.picture else [])
    stored = StoredReview(
        time=now(),
        host=endpoint.host,
        model=endpoint.model,
        question=prompt.question,
        answer=reply.text,
        tokens=reply.tokens,
        prompt_sha256=prompt.digest,
        prompt_bytes=prompt.text_bytes,
        picture_bytes=len(prompt.picture),
    )
    append_review(open_inspection(run, prompt.episode), stored)
    return stored
