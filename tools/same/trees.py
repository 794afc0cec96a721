"""Prepares the two source trees that are compared and runs `gymsolve` in them."""

import hashlib
import importlib.metadata
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
OWN_ENVS = Path(__file__).parent
LIMIT = 600
"""Seconds after which a command counts as hanging."""
PACKAGES = ("numpy", "torch", "gymnasium", "safetensors")


class TreeError(Exception):
    """A tree cannot be prepared, or a command in it failed."""


@dataclass(frozen=True)
class Tree:
    """A version of the project, and how commands run in it."""

    root: Path
    kernels: str
    """`c` if kernels are compiled in it, else `numpy`."""

    def environment(self) -> dict[str, str]:
        """Variables of a command: this tree's code, and nothing of the user's settings."""
        ours = {key: value for key, value in os.environ.items() if not key.startswith("GYMSOLVE_")}
        paths = os.pathsep.join([str(self.root / "src"), str(OWN_ENVS)])
        return ours | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "GYMSOLVE_KERNELS": self.kernels}

    def run_python(self, words: list[str], folder: Path) -> str:
        """Standard output of `python WORDS` with this tree's code, in `folder`."""
        command = [sys.executable, *words]
        done = subprocess.run(
            command, cwd=folder, env=self.environment(), capture_output=True, text=True, timeout=LIMIT
        )
        if done.returncode:
            raise TreeError(f"exit code {done.returncode}: {done.stderr.strip()[-600:]}")
        return done.stdout

    def gymsolve(self, words: list[str], folder: Path) -> Path:
        """Run `gymsolve WORDS` with runs below `folder`; returns the folder of the run."""
        output = self.run_python(["-m", "gymsolve", *words, "--runs-dir", str(folder / "runs")], folder)
        return Path(json.loads(output)["path"])

    def require_own_code(self, folder: Path) -> None:
        """Refuse to compare if Python finds another version of gymsolve first."""
        place = Path(self.run_python(["-c", "import gymsolve; print(gymsolve.__file__)"], folder).strip())
        if not place.is_relative_to(self.root / "src"):
            raise TreeError(f"Python imports {place}, which is not in {self.root}")


def git(*words: str) -> bytes:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True)
    if done.returncode:
        raise TreeError(f"git {' '.join(words)}: {done.stderr.decode().strip()}")
    return done.stdout


def resolve_base(given: str | None) -> str:
    """The commit to compare with: the one given, else where this branch left origin/main."""
    if given:
        return git("rev-parse", "--verify", f"{given}^{{commit}}").decode().strip()
    try:
        return git("merge-base", "HEAD", "origin/main").decode().strip()
    except TreeError:  # a clone without that branch
        return git("rev-parse", "HEAD").decode().strip()


def working_tree() -> Tree:
    return Tree(ROOT, _kernels_of(ROOT))


def extract_tree(commit: str, place: Path) -> Tree:
    """Put a commit's files below `place`, with compiled kernels if the working tree has them."""
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as files:
        files.extractall(place, filter="data")
    compiled = list((ROOT / "src").rglob("_kernels*.so"))
    if compiled and _kernel_sources(place) == _kernel_sources(ROOT):
        for file in compiled:
            shutil.copy2(file, place / file.relative_to(ROOT))
    elif compiled:
        _build_kernels(place)
    return Tree(place, _kernels_of(place))


def describe_machine(kernels: str) -> str:
    """A short digest of everything besides the source that decides the last bit of a number."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except FileNotFoundError:
        processor = platform.processor()
    else:
        lines = re.findall(r"^(?:model name|flags|Features)\s*:.*$", text, re.MULTILINE)
        processor = "\n".join(sorted(set(lines)))
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    facts = [platform.machine(), processor, *platform.libc_ver(), sys.version, kernels, *versions]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]


def _kernels_of(root: Path) -> str:
    return "c" if any((root / "src").rglob("_kernels*.so")) else "numpy"


def _kernel_sources(root: Path) -> dict[str, bytes]:
    files = [path for path in (root / "src").rglob("*") if path.suffix in (".c", ".h")]
    return {str(path.relative_to(root)): path.read_bytes() for path in [*files, root / "setup.py"]}


def _build_kernels(root: Path) -> None:
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode or _kernels_of(root) != "c":
        raise TreeError(f"the kernels of BASE cannot be built: {done.stderr.strip()[-600:]}")
