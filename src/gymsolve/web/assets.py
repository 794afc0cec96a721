"""The files that browsers load: scripts, styles, the icon, pictures of environments.

Their addresses contain a stamp of all of them, so that a browser keeps its copies until a file changes.
A page names every module that its own module imports, so that the browser loads all of them at once.
"""

import hashlib
import re
from pathlib import Path, PurePosixPath

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

_FOLDER = Path(__file__).parent / "static"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".webp": "image/webp"}
_IMPORT = re.compile(r"^(?:import|export) (?:[^'\n]* from )?'(\.[^']+)';", re.MULTILINE)
_FOR_GOOD = {"cache-control": "private, max-age=31536000, immutable"}


class Assets:
    """The files of a folder by name; other names are not found."""

    def __init__(self, folder: Path = _FOLDER) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.suffix in _TYPES
        }
        self._modules: tuple[str, dict[str, list[str]]] = "", {}

    def stamp(self) -> str:
        """A text that changes when one of the files does."""
        files = [(name, path.stat()) for name, path in self._files.items()]
        facts = [(name, status.st_size, status.st_mtime_ns) for name, status in files]
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]

    def modules(self, name: str, stamp: str) -> list[str]:
        """A module, and all that it imports, at any depth."""
        if self._modules[0] != stamp:
            self._modules = stamp, {}
        imports = self._modules[1]
        if name not in imports:
            imports[name] = self._imports(name)
        return imports[name]

    def _imports(self, name: str) -> list[str]:
        needed = [name]
        for module in needed:  # which grows meanwhile
            text = self._files[module].read_text()
            beside = [_resolve(PurePosixPath(module).parent / other) for other in _IMPORT.findall(text)]
            needed += [other for other in dict.fromkeys(beside) if other not in needed]
        return needed

    async def answer(self, request: Request) -> Response:
        """A file by its name, with a stamp before it or without; cacheable if the stamp is the newest."""
        name = request.path_params["name"]
        stamp, _, after = name.partition("/")
        path = self._files.get(name) or self._files.get(after)
        if path is None:
            return PlainTextResponse("There is no such file.\n", 404)
        headers = _FOR_GOOD if name not in self._files and stamp == self.stamp() else None
        return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers=headers)


def _resolve(path: PurePosixPath) -> str:
    """The path without `..`."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
