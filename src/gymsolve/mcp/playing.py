"""The tool that plays: an episode as a table, as frames, and as the network sees it; or many, as figures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from gymsolve.mcp.tool import Arguments, Content, Home, Reply, Run, Tell, Tool
from gymsolve.service.budget import require_writing
from gymsolve.text import number

if TYPE_CHECKING:
    from gymsolve.service.episodes import PlayedEpisode
    from gymsolve.spec import Array

__all__ = ["EPISODE"]

_MOST_FRAMES = 8
_MOST_NUMBERS = 64


class Episode(Arguments):
    run: Run
    seed: Annotated[int | None, Field(ge=0)] = None
    stochastic: Annotated[bool, Field(description="Sample actions instead of the likeliest")] = False
    first_step: Annotated[int, Field(ge=0)] = 0
    rows: Annotated[int, Field(ge=1, le=100, description="Steps in the table")] = 20
    frames: Annotated[int, Field(ge=0, le=_MOST_FRAMES, description="Pictures on the contact sheet")] = 8
    seen: Annotated[bool, Field(description="Also what the network sees at first_step")] = False
    episodes: Annotated[
        int, Field(ge=1, le=200, description="More than 1: an evaluation, without table and pictures")
    ] = 1


def _episode(home: Home, given: Episode, tell: Tell) -> Reply:
    require_writing(home.limits)  # it leaves a video and the episode's data in the run
    if given.episodes > 1:
        return _evaluate(home, given)
    from gymsolve.service.episodes import play_episode
    from gymsolve.service.pictures import contact_sheet

    played = play_episode(
        given.run,
        seed=given.seed,
        stochastic=given.stochastic,
        first=given.first_step,
        last=given.first_step + given.rows - 1,
        runs_dir=home.runs_dir,
    )
    lines = _table(played, given.first_step)
    seen = _seen(played, given.first_step, lines) if given.seen else ()
    if not given.frames:
        return Content("\n".join(lines), seen)
    many = min(given.frames, played.length + 1)
    chosen = [round(index * played.length / max(1, many - 1)) for index in range(many)]
    lines.append(f"The picture shows steps {', '.join(map(str, chosen))}, left to right, top to bottom.")
    return Content("\n".join(lines), (contact_sheet(Path(played.video), chosen), *seen))


def _table(played: "PlayedEpisode", first: int) -> list[str]:
    head = f"{played.run}@{played.checkpoint}, seed {played.seed}: return {number(played.total_return)} "
    lines = [f"{head}in {played.length} steps, {played.end}.", "step  action  reward  return  value"]
    for row in played.steps:
        action = row["action"]
        named = played.action_names and isinstance(action, int) and action < len(played.action_names)
        shown = played.action_names[action] if named else action
        told = "  ".join(number(row[name]) for name in ("reward", "return", "value"))
        lines.append(f"{row['step']:>4}  {shown}  {told}")
    left = played.length - first - len(played.steps)
    lines += [f"{left} more steps: first_step={first + len(played.steps)}."] if left > 0 else []
    return [*lines, f"Video: {played.video}"]


def _seen(played: "PlayedEpisode", step: int, lines: list[str]) -> tuple[bytes, ...]:
    """Say what the network sees in a step, and draw its pictures, a tile per channel."""
    from gymsolve.runs.episodes import load_episode
    from gymsolve.service.pictures import draw_seen

    obs = {key: values[step] for key, values in load_episode(Path(played.data)).obs.items()}
    pictures = [key for key, values in obs.items() if values.ndim == 3]
    lines.append(f"What the network sees at step {step}, before its own scaling:")
    lines += [f"  {key}: {_listed(values.ravel())}" for key, values in obs.items() if key not in pictures]
    lines += [f"  {key}: a picture of its own, a tile per channel" for key in pictures]
    return tuple(draw_seen(obs[key]) for key in pictures)


def _listed(values: "Array") -> str:
    shown = ", ".join(number(float(value)) for value in values[:_MOST_NUMBERS])
    return shown + (f" … ({values.size} numbers)" if values.size > _MOST_NUMBERS else "")


def _evaluate(home: Home, given: Episode) -> Reply:
    from gymsolve.service.calls import call_command
    from gymsolve.service.start import flag_words

    words = ["eval", given.run, "--episodes", str(given.episodes), *flag_words("--seed", given.seed)]
    words += flag_words("--runs-dir", home.runs_dir)
    told = call_command([*words, *(["--stochastic"] if given.stochastic else [])])
    shown = {name: value for name, value in told.items() if not isinstance(value, list | dict)}
    return Content("\n".join(f"{name}: {value}" for name, value in shown.items()))


EPISODE = Tool(
    "rl_episode",
    "Play an episode of a run and look at it: steps as a table, frames as one picture.",
    Episode,
    _episode,
    writes=True,
)
