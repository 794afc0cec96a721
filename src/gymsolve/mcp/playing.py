"""The tool that plays: one episode as a table, frames and inputs of the network, or many as figures."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from gymsolve.jobs.calls import TookTooLongError, call_command
from gymsolve.jobs.request import flag_words
from gymsolve.mcp.tool import Arguments, Content, Reply, Run, Tell, Tool, cut, refuse_given
from gymsolve.runs.inspections import list_inspections
from gymsolve.service.agent_limits import Home, own_run, require_disk, require_writing
from gymsolve.text import number
from gymsolve.view.pictures import draw_seen

if TYPE_CHECKING:
    from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
    from gymsolve.runs import Run as StoredRun
    from gymsolve.spec import Array

_MOST_FRAMES = 8
_MOST_NUMBERS = 64
_MOST_STORED = 10
_HOW: dict[bool | None, list[str]] = {None: [], True: ["--stochastic"], False: ["--deterministic"]}
_PICTURES = 2
"""Pictures of inputs of the network in one answer."""


class Episode(Arguments):
    run: Run
    seed: Annotated[int | None, Field(ge=0, lt=1 << 63)] = None
    stochastic: Annotated[
        bool | None, Field(description="Sample actions, or take the likeliest; else as the run was judged")
    ] = None
    task: Annotated[str | None, Field(description="Of several tasks: which")] = None
    stored: Annotated[str | None, Field(description="Name of an episode that was played before")] = None
    first_step: Annotated[int, Field(ge=0)] = 0
    rows: Annotated[int, Field(ge=1, le=100, description="Steps in the table")] = 20
    frames: Annotated[int, Field(ge=0, le=_MOST_FRAMES, description="Pictures on the contact sheet")] = 8
    seen: Annotated[bool, Field(description="Also what the network sees at first_step")] = False
    most_steps: Annotated[int, Field(ge=1, le=20_000, description="Cut it after so many")] = 1000
    episodes: Annotated[
        int, Field(ge=1, le=200, description="More than 1: an evaluation, without table and pictures")
    ] = 1


def _episode(home: Home, given: Episode, tell: Tell) -> Reply:
    """Play an episode of a run and look at it: steps as a table, frames as one picture."""
    from gymsolve.apps.inspector.episode_answers import EpisodeWish, open_episode, read_episode  # NumPy

    run, checkpoint = own_run(given.run, home)
    if given.stored is not None:
        refuse_given(given, "with stored", ("seed", "stochastic", "task", "most_steps", "episodes"))
        return _content(run, read_episode(run, given.stored), given)
    require_writing(home.limits)  # it leaves the episode in the run
    require_disk(home.limits, run.path.parent)
    if given.episodes > 1:
        alone = ("task", "first_step", "rows", "frames", "seen", "most_steps")
        refuse_given(given, "with several episodes", alone)
        return _evaluate(run, checkpoint, given)
    camera = given.frames > 0
    wish = EpisodeWish(checkpoint, given.seed, given.stochastic, given.task, given.most_steps, camera)
    try:
        return _content(run, open_episode(run, wish), given)
    except TookTooLongError as error:
        error.hint = "Ask for less: frames=0 draws nothing, a smaller most_steps ends it sooner."
        raise


def _content(run: "StoredRun", episode: "InspectedEpisode", given: Episode) -> Content:
    from gymsolve.apps.inspector.episode_answers import contact_sheet

    lines = _table(episode, given)
    pictures = _seen(episode, given.first_step, lines) if given.seen else ()
    if given.frames:
        sheet, states = contact_sheet(episode, given.frames)
        pictures = (sheet, *pictures) if sheet else pictures
        caption = f"The picture shows states {', '.join(map(str, states))}, left to right, top to bottom."
        lines.append(caption if sheet else "This environment gives no picture.")
    others = [stored.name for stored in list_inspections(run) if stored.name != episode.stored.name]
    if others:
        lines.append(f"Other stored episodes of the run: {', '.join(others[:_MOST_STORED])}")
    return Content(cut("\n".join(lines), "Ask for fewer rows."), pictures)


def _table(episode: "InspectedEpisode", given: Episode) -> list[str]:
    from gymsolve.apps.inspector.episode_answers import episode_rows

    facts, length, first = episode.facts, len(episode), given.first_step
    played = facts.get("task") or next(iter(episode.spec.tasks), None)  # without a name, the first
    task = f", task {played}" if played else ""
    end = facts.get("end", "still being played")
    ended = f"cut after {length} steps (most_steps={given.most_steps})" if end == "cut" else f"{end}"
    lines = [
        f"{facts['run']}@{facts['checkpoint']}{task}, seed {facts['seed']}: "
        f"return {number(facts.get('return'))} in {length} steps, {ended}.",
        *(f"Note: {note}" for note in facts.get("notes", [])),
    ]
    rows = episode_rows(episode, first, first + given.rows - 1)
    lines.append("  ".join(rows[0]))
    lines += ["  ".join(_cell(name, value) for name, value in row.items()) for row in rows]
    left = length - first - len(rows)
    following = f"first_step={first + len(rows)}, stored={episode.stored.name}"
    return [*lines, *([f"{left} more steps: {following}."] if left > 0 else [])]


def _cell(name: str, value: Any) -> str:
    if name == "step":
        return f"{value:>4}"
    return value if isinstance(value, str) else number(value, 3)


def _seen(episode: "InspectedEpisode", state: int, lines: list[str]) -> tuple[bytes, ...]:
    """Add lines on the inputs of the network in a state; the inputs that are images as pictures."""
    from gymsolve.apps.inspector.episode_answers import seen_at

    entries = seen_at(episode, state)
    lines.append(f"What the network sees at step {state}:")
    for entry in entries:
        if entry.is_picture:
            lines.append(f"  {entry.entry}: a picture of its own, a tile per channel")
            continue
        lines.append(f"  {entry.entry}: {_listed(entry.given.ravel())}")
        if entry.taken is not None:
            lines.append(f"  {entry.entry}, as it is scaled: {_listed(entry.taken.ravel())}")
    return tuple(draw_seen(entry.given) for entry in entries if entry.is_picture)[:_PICTURES]


def _listed(values: "Array") -> str:
    listed = ", ".join(number(float(value)) for value in values[:_MOST_NUMBERS])
    return listed + (f" … ({values.size} numbers)" if values.size > _MOST_NUMBERS else "")


def _evaluate(run: "StoredRun", checkpoint: str | None, given: Episode) -> Reply:
    ref = f"{run.path}@{checkpoint}" if checkpoint else str(run.path)
    words = ["eval", ref, "--episodes", str(given.episodes), *flag_words("--seed", given.seed)]
    result = call_command([*words, *_HOW[given.stochastic]])
    figures = {name: value for name, value in result.items() if not isinstance(value, list | dict)}
    figures |= {f"mean of {task}": mean for task, mean in (result.get("tasks") or {}).items()}
    if result["faults"]:
        figures["fault"] = result["faults"][0]
    texts = {name: number(value) if isinstance(value, float) else value for name, value in figures.items()}
    return Content(cut("\n".join(f"{name}: {text}" for name, text in texts.items()), ""))


EPISODE = Tool("rl_episode", Episode, _episode, writes=True)
