"""Facts about this machine, each fault with the command that fixes it.

Packages are looked up and not imported, so that the answer comes at once.
"""

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from gymsolve.answers import Answer
from gymsolve.kernels import VARIABLE, find_kernels

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[([^\]]+)\])?[^;]*(?:;\s*(.*))?")
_NOT_EXTRAS = ("all", "dev")
_INSTALL_FFMPEG = {
    "linux": "sudo apt install ffmpeg",
    "darwin": "brew install ffmpeg",
    "win32": "winget install ffmpeg",
}
_GL_VARIABLES = ("MUJOCO_GL", "PYOPENGL_PLATFORM", "SDL_VIDEODRIVER")
_LOW_DISK = 2**30


_GAMES = {
    "atari": "; its ROMs come with ale-py",
    "retro": "; two free games come along, `gymsolve roms import` adds ROMs of yours",
    "vizdoom": "; scenarios and Freedoom come along, ids with Doom in place of Freedoom need your doom.wad",
}
"""The source of the games of an extra."""


@dataclass(frozen=True)
class Finding(Answer):
    """One fact; `fix` is a command or a sentence that says how to change it."""

    topic: str
    state: Literal["ok", "missing", "optional", "warning"]
    detail: str
    fix: str | None = None


@dataclass(frozen=True)
class Machine(Answer):
    """The findings, the most important first."""

    findings: list[Finding]


def examine(runs_folder: Path) -> Machine:
    """Check Python, packages, extras and hardware."""
    python = Finding("python", "ok", f"{platform.python_version()} at {sys.executable}")
    installed = [python, *_core_packages(), *_extras(), _ffmpeg(), _display()]
    return Machine([*installed, _processor(), _kernels(), *_memory(), _gpu(), _disk(runs_folder)])


def _core_packages() -> list[Finding]:
    findings = []
    for name, _, _ in _requirements("gymsolve", None):
        installed = _version(name)
        fix = None if installed else f"pip install '{name}'"
        findings.append(Finding(name, "ok" if installed else "missing", installed or "not installed", fix))
    return findings


def _extras() -> list[Finding]:
    extras = dict.fromkeys(extra for _, _, extra in _requirements("gymsolve", "") if extra not in _NOT_EXTRAS)
    findings = []
    for extra in extras:
        absent = _absent("gymsolve", extra)
        detail = f"without {', '.join(absent)}" if absent else "installed"
        detail += _GAMES.get(extra, "")
        fix = f"pip install 'gymsolve[{extra}]'" if absent else None
        findings.append(Finding(f"extra {extra}", "optional" if absent else "ok", detail, fix))
    return findings


def _requirements(package: str, extra: str | None) -> list[tuple[str, str, str]]:
    """(name, its extras, extra that asks for it): of one extra, of all (""), or of the package itself (None).

    Requirements with other conditions (an operating system, a Python version) are left out.
    """
    requirements = []
    for line in requires(package) or []:
        match = _REQUIREMENT.match(line)
        assert match is not None, line
        name, inner, marker = match[1], match[2] or "", match[3] or ""
        asked = re.fullmatch(r"""extra == ['"]([^'"]+)['"]""", marker.strip())
        if marker and asked is None:
            continue
        mine = asked[1] if asked else None
        if (extra is None and mine is None) or (mine is not None and extra in ("", mine)):
            requirements.append((name, inner, mine or ""))
    return requirements


def _absent(package: str, extra: str) -> list[str]:
    """Packages that an extra needs and that are not installed, those of `other[extra]` included."""
    absent: dict[str, None] = {}
    for name, inner, _ in _requirements(package, extra):
        if _version(name) is None:
            absent[name] = None
            continue
        for part in filter(None, inner.split(",")):
            absent |= dict.fromkeys(_absent(name, part.strip()))
    return list(absent)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _ffmpeg() -> Finding:
    """The encoder of videos: IMAGEIO_FFMPEG_EXE, else the one of imageio-ffmpeg, else the system's."""
    named = os.environ.get("IMAGEIO_FFMPEG_EXE")
    if named:
        there = Path(named).is_file()
        fix = None if there else "Set IMAGEIO_FFMPEG_EXE to an ffmpeg that exists, or unset it"
        detail = named if there else f"{named} not found; no videos are made"
        return Finding("ffmpeg", "ok" if there else "warning", detail, fix)
    package = find_spec("imageio_ffmpeg")  # found without being imported
    bundled = Path(package.origin or "").parent.glob("binaries/ffmpeg*") if package else iter(())
    path = next((str(file) for file in bundled), None) or shutil.which("ffmpeg")
    if path:
        return Finding("ffmpeg", "ok", path)
    fix = _INSTALL_FFMPEG.get(sys.platform, "Install it from https://ffmpeg.org/download.html")
    return Finding("ffmpeg", "optional", "not found; no videos are made", fix)


def _display() -> Finding:
    variables = ", ".join(f"{name}={os.environ[name]}" for name in _GL_VARIABLES if name in os.environ)
    suffix = f" ({variables})" if variables else ""
    if sys.platform != "linux":
        return Finding("display", "ok", f"the desktop's{suffix}")
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if screen:
        return Finding("display", "ok", f"{screen}{suffix}")
    detail = f"none: no windows, but rendering to files works{suffix}"
    try:
        ctypes.CDLL("libEGL.so.1")
        fix = None
    except OSError:
        fix = "For videos of MuJoCo (Debian, Ubuntu): apt install libegl1 libgl1"
    return Finding("display", "ok" if fix is None else "warning", detail, fix)


def _processor() -> Finding:
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else cores
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    detail = f"{usable} of {cores} cores usable, OMP_NUM_THREADS {threads}"
    flags = Path("/proc/cpuinfo")
    if platform.machine() in ("x86_64", "AMD64") and flags.exists():
        if " avx2" not in flags.read_text():
            return Finding(
                "cpu", "warning", f"{detail}, no AVX2", "Networks train slower; use another machine."
            )
        detail += ", AVX2"
    return Finding("cpu", "ok", detail)


def _kernels() -> Finding:
    kernels = find_kernels()
    if kernels.kind == "c":
        return Finding("kernels", "ok", "compiled for this machine")
    if kernels.obstacle is None:
        return Finding("kernels", "ok", f"off, because {VARIABLE}=numpy; torch trains")
    state: Literal["warning", "optional"] = "warning" if kernels.built else "optional"
    return Finding("kernels", state, f"the compiled ones {kernels.obstacle}; torch trains", kernels.fix)


def _memory() -> list[Finding]:
    path = Path("/proc/meminfo")
    if not path.exists():
        return []
    sizes = dict(re.findall(r"^(\w+):\s+(\d+) kB", path.read_text(), re.MULTILINE))
    total, free = (int(sizes[key]) / 2**20 for key in ("MemTotal", "MemAvailable"))
    detail = f"{free:.1f} of {total:.1f} GiB available"
    if free < 1:
        return [Finding("memory", "warning", detail, "Close other programs, or lower env.num_envs.")]
    return [Finding("memory", "ok", detail)]


def _gpu() -> Finding:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return Finding("gpu", "ok", "none from NVIDIA; the CPU is used")
    try:
        query = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"]
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(
            "gpu", "warning", f"nvidia-smi does not answer ({error})", "Reinstall the NVIDIA driver."
        )
    if answer.returncode:
        return Finding("gpu", "warning", "nvidia-smi fails", f"See what it says: {tool}")
    names = "; ".join(answer.stdout.strip().splitlines())
    if (_version("torch") or "").endswith("+cpu"):
        fix = "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu128"
        return Finding("gpu", "warning", f"{names}, but torch was built without CUDA", fix)
    return Finding("gpu", "ok", names)


def _disk(runs_folder: Path) -> Finding:
    place = runs_folder.absolute()
    existing = next(path for path in (place, *place.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        return Finding("runs folder", "warning", f"{place} cannot be written", "export GYMSOLVE_RUNS=~/runs")
    free = shutil.disk_usage(existing).free
    detail = f"{place}, {free / 2**30:.1f} GiB free"
    if free < _LOW_DISK:
        return Finding(
            "runs folder", "warning", detail, "Free some space, or: export GYMSOLVE_RUNS=/other/disk"
        )
    return Finding("runs folder", "ok", detail)
