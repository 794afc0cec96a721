"""Runs kept at W&B: a zip of the folder as an artifact of the run's project, and back again."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.answers import Answer, left_out
from gymsolve.errors import GymsolveError, MissingExtraError, UnknownRunError, UsageError
from gymsolve.metrics.trackers.wandb import choose_mode, first_line, project_of
from gymsolve.runs.refs import find_run
from gymsolve.runs.run import RUN_ID
from gymsolve.runs.zip_files import pack_run, unpack_run

_KIND = "gymsolve-run"
_LOGIN = "Log in with: wandb login"
_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class PushedRun(Answer):
    """A run that was uploaded, or packed where W&B is offline."""

    run: str
    files: int
    bytes: int
    """Size of the zip file."""
    offline: bool
    url: str | None = left_out()
    """Its page; left out when offline."""
    next: str
    """The command that sends it, or brings it back."""


@dataclass(frozen=True)
class PulledRun(Answer):
    """A run that was downloaded."""

    run: str
    path: str


def push_run(ref: str, runs_dir: Path | str | None = None) -> PushedRun:
    """Zip a run and upload it as an artifact of its W&B run."""
    wandb = _wandb()
    run = find_run(ref, runs_dir)
    info, project = run.info(), project_of(run.info()["env_id"])
    with tempfile.TemporaryDirectory(prefix="gymsolve-") as place:
        archive = Path(place) / f"{run.id}.zip"
        files = pack_run(run, archive)
        size = archive.stat().st_size
        mode, _ = choose_mode(wandb)
        if mode == "offline" and wandb.setup().settings.mode != "offline":
            raise UsageError("W&B has no account here.", hint=_LOGIN)
        try:
            with wandb.init(
                project=project,
                id=run.id,
                name=f"{info['variant']}-{run.id}",
                dir=place if mode == "online" else run.path,
                mode=mode,
                resume="allow",
                settings=wandb.Settings(silent=True, console="off", x_disable_stats=True, init_timeout=30.0),
            ) as session:
                artifact = wandb.Artifact(_artifact(run.id), type=_KIND)
                artifact.add_file(str(archive), skip_cache=True)
                session.log_artifact(artifact)
                if mode == "online":
                    artifact.wait(timeout=_SECONDS)
                entity, url, folder = session.entity, session.url, session.dir
        except (wandb.errors.Error, ValueError, TimeoutError) as error:
            raise GymsolveError(f"the upload failed ({first_line(error)}).", where="W&B") from error
    offline = mode != "online"
    back = f"wandb sync {Path(folder).parent}" if offline else f"gymsolve pull {entity}/{project}/{run.id}"
    return PushedRun(
        run=run.id, files=files, bytes=size, offline=offline, url=None if offline else url, next=back
    )


def pull_run(ref: str, runs_dir: Path | str | None = None) -> PulledRun:
    """Download a run that was pushed: its id, PROJECT/ID or ENTITY/PROJECT/ID."""
    *place, run_id = ref.strip("/").split("/")
    if not RUN_ID.fullmatch(run_id) or len(place) > 2:
        raise UsageError(
            f"'{ref}' is not the whole id of a run.",
            hint="Write RUN, PROJECT/RUN or ENTITY/PROJECT/RUN, RUN as 20260102-030405-CartPole-v1-ppo-1a2b.",
        )
    wandb = _wandb()
    full = "/".join([*(place or [_guess_project(run_id)]), _artifact(run_id)]) + ":latest"
    with tempfile.TemporaryDirectory(prefix="gymsolve-") as folder:
        try:
            artifact = wandb.Api(timeout=30).artifact(full, type=_KIND)
            artifact.download(root=folder, skip_cache=True)
        except wandb.errors.UsageError as error:
            raise UsageError("W&B has no account here.", hint=_LOGIN) from error
        except (wandb.errors.Error, ValueError) as error:
            raise UnknownRunError(
                f"W&B gave no run '{full.removesuffix(':latest')}' ({first_line(error)}).",
                hint="Name its project too: PROJECT/RUN or ENTITY/PROJECT/RUN.",
            ) from error
        run = unpack_run(Path(folder) / f"{run_id}.zip", runs_dir, asked=run_id)
    return PulledRun(run.id, str(run.path))


def _guess_project(run_id: str) -> str:
    """An id is stamp, environment, variant and four digits; a variant rarely has a hyphen in it."""
    return run_id.split("-", 2)[2].rsplit("-", 2)[0]


def _artifact(run_id: str) -> str:
    return f"run-{run_id}"


def _wandb() -> Any:
    try:
        import wandb
    except ImportError as error:
        raise MissingExtraError.of("wandb", "wandb") from error
    wandb.setup(wandb.Settings(silent=True))
    return wandb
