"""Opens the environment and the policy that a page asks for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.apps.loaded_policy import require_same_spaces
from gymsolve.apps.play.deathmatch import ARENA, Deathmatch, find_opponents
from gymsolve.envs.families import find_family
from gymsolve.envs.open_render_env import open_play_env
from gymsolve.envs.render_env import PlayEnv
from gymsolve.errors import UnknownRunError, UsageError
from gymsolve.experience.learner import Policy
from gymsolve.recipes import Resolved, resolve, split_name
from gymsolve.recipes.files import uses_recipe
from gymsolve.runs.checkpoints import list_checkpoints, pointed
from gymsolve.runs.refs import checkpoint_ref, find_run, open_checkpoint, split_ref
from gymsolve.runs.run import Run
from gymsolve.runs.summary import runs_folder
from gymsolve.runs.trust import buildable_settings
from gymsolve.settings.config import TrainConfig
from gymsolve.training.engines.choose import choose_engine, load_policy
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.watchdog import Watchdog

MODES = ("you", "policy", "untrained", "random")


@dataclass(frozen=True)
class Request:
    """The checked request for a session."""

    runs_dir: Path | None
    env: str | None
    run: str | None
    checkpoint: str | None
    mode: str
    sampled: bool | None
    """Sample actions; None does as the run's own evaluations."""
    follow: bool
    seed: int | None
    episodes: int | None
    record: bool
    paused: bool
    text: bool = False
    """Show text instead of pictures."""
    against: tuple[str, ...] = ()
    """Runs that play against the person."""


@dataclass
class Opened:
    """An opened environment, with its run if there is one."""

    name: str
    """The run's id, or the environment with its variant."""
    config: TrainConfig
    render_env: PlayEnv
    run: Run | None
    planned: bool = True
    """The settings are those that a training would have; without a recipe they would take too long."""

    def load(self, checkpoint: str | None) -> tuple[str, Policy]:
        """The policy of a checkpoint of the run (the best one unless said otherwise), and its name."""
        if self.run is None:
            raise UsageError("there is no policy without a run.", hint="Choose a run, or the mode untrained.")
        if not list_checkpoints(self.run):
            message = f"run {self.run.id} has no checkpoint yet, so there is no policy to watch."
            hint = "Wait for its first one, or play the environment yourself."
            raise UnknownRunError(message, hint=hint)
        _, saved = open_checkpoint(checkpoint_ref(self.run, checkpoint), None, policy_only=True)
        policy = load_policy(saved.policy, saved.policy_metadata, self.config)
        require_same_spaces(policy, self.render_env.spec, self.config.env, self.run)
        return saved.name, policy

    def build_untrained(self) -> Policy:
        """The policy that a training would begin with."""
        config = self.config if self.planned else plan_run(self.name).config
        if config.env != self.config.env:
            raise UsageError(
                f"a training would wrap {config.env.id} by derived settings before a policy sees it.",
                hint=f"Begin with that mode: gymsolve play {self.name} --mode untrained",
            )
        policy: Policy = (
            choose_engine(config, self.render_env.spec).build(config, self.render_env.spec).policy
        )
        return policy

    @property
    def newest(self) -> str | None:
        """The run's newest checkpoint."""
        return None if self.run is None else pointed(self.run, "last")

    def checkpoints(self) -> list[str]:
        """The run's checkpoints, oldest first."""
        return [] if self.run is None else list_checkpoints(self.run)


def read_request(given: dict[str, Any]) -> Request:
    """Check what a page asks for."""
    env, run = _text(given, "env"), _text(given, "run")
    if (env is None) == (run is None):
        raise UsageError("a session plays either an environment or a run.", hint="Name one of them.")
    if run is not None and ("/" in run or "\\" in run or run.startswith(".")):
        raise UsageError("is a path; a page names runs of its own folder.", where="run")
    mode = _text(given, "mode") or ("you" if run is None else "policy")
    if mode not in MODES:
        raise UsageError(f"there is no mode {mode!r}.", where="mode", hint=f"Choose {', '.join(MODES)}.")
    if mode == "policy" and run is None:
        hint = "Play a run, or untrained."
        raise UsageError("an environment has no policy; a run has one.", where="mode", hint=hint)
    runs_dir = _text(given, "runs_dir")
    return Request(
        runs_dir=None if runs_dir is None else Path(runs_dir),
        env=env,
        run=run,
        checkpoint=_text(given, "checkpoint"),
        mode=mode,
        sampled=None if given.get("sampled") is None else bool(given["sampled"]),
        follow=bool(given.get("follow")),
        seed=_whole(given, "seed", 0),
        episodes=_whole(given, "episodes", 1),
        record=bool(given.get("record")),
        paused=bool(given.get("paused")),
        text=bool(given.get("text")),
        against=tuple(filter(None, (_text(given, "against") or "").split(","))),
    )


def open_request(request: Request) -> Opened:
    """Build what a request names."""
    if request.against:
        return _open_deathmatch(request)
    if request.run is not None:
        run = _own_run(request.run, request.runs_dir)
        config, _ = buildable_settings(run)
        return Opened(run.id, config, _open(config, request), run)
    assert request.env is not None
    resolved, planned = _settings(request.env, plan=request.mode == "untrained")
    return Opened(resolved.name, resolved.config, _open(resolved.config, request), None, planned)


def _open(config: TrainConfig, request: Request) -> PlayEnv:
    """The environment; refused where text is asked for that nobody could follow."""
    with Watchdog(config.env):
        render_env = open_play_env(config.env, text=request.text)
    if request.text and not (render_env.writes or render_env.turns):
        render_env.close()
        message = f"{config.env.id} draws no text, and its time does not wait for anybody who reads numbers."
        raise UsageError(message, hint="Play it in the browser: leave out --no-browser.")
    return render_env


def _own_run(name: str, runs_dir: Path | None) -> Run:
    """A run of the folder that the page shows; a path to another folder is refused."""
    run = find_run(name, runs_dir)
    if run.path.parent.resolve() != runs_folder(runs_dir).resolve():
        raise UnknownRunError(f"run {run.id} is in another folder.", hint="A page names runs of its own one.")
    return run


def _settings(name: str, *, plan: bool) -> tuple[Resolved, bool]:
    """Settings for `ENV[:VARIANT]`, and True if a training would have the same.

    Planning without a recipe takes a few thousand steps, so it is done only with `plan`.
    """
    if uses_recipe(name):
        return resolve(name), True
    family = find_family(split_name(name)[0]).recipe
    if plan or family is not None:
        return plan_run(name).resolved, True
    return resolve(name, derived={"algo": {"name": "ppo", "num_steps": 128}}), False


def _open_deathmatch(request: Request) -> Opened:
    if request.env is None or split_name(request.env)[0] != ARENA:
        hint = f"Play {ARENA}."
        raise UsageError(f"agents are played against in {ARENA} alone.", where="against", hint=hint)
    for ref in request.against:
        _own_run(split_ref(ref)[0], request.runs_dir)
    opponents = find_opponents(request.against, request.runs_dir)
    name = f"{ARENA} against {', '.join(opponent.name for opponent in opponents)}"
    return Opened(name, resolve(ARENA).config, Deathmatch(opponents), None)


def _text(given: dict[str, Any], name: str) -> str | None:
    value = given.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > 1000:
        raise UsageError("is not a name.", where=name)
    return value


def _whole(given: dict[str, Any], name: str, least: int) -> int | None:
    value = given.get(name)
    if value is None or value == "":
        return None
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or not least <= int(text) < 2**31:
        raise UsageError(f"{text[:20]!r} is not a whole number from {least} on.", where=name)
    return int(text)
