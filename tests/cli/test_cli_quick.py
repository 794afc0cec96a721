"""`gymsolve web` without typer: the same as with it, or not at all."""

import sys
from typing import Any

import pytest

from gymsolve.cli.app import command_tree
from gymsolve.cli.commands import web
from gymsolve.cli.fast_web import understand
from gymsolve.cli.serving import open_page
from gymsolve.errors import MissingExtraError
from tests.cli.conftest import Cli

PLAIN = [
    "web",
    "web --no-open",
    "web --port 8000 --no-open",
    "web --runs-dir elsewhere --port 65535",
    "web --no-open --no-open --port 1 --port 02",
]
ODD = [
    "",
    "runs",
    "--debug web",
    "web --help",
    "web x",
    "web --port",
    "web --port 0",
    "web --port 65536",
    "web --port ٣",
    "web --port=80",
    "web --runs-dir",
    "web --runs-dir --no-open",
    "web --read-only",
    "web --host 0.0.0.0",
    "web --no-open --token x",
    "web --max-steps 1M",
]


@pytest.mark.parametrize("token", [None, "", "given"])
@pytest.mark.parametrize("line", PLAIN)
def test_what_is_plain_means_the_same_either_way(
    line: str, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if token is None:
        monkeypatch.delenv("GYMSOLVE_WEB_TOKEN", raising=False)
    else:
        monkeypatch.setenv("GYMSOLVE_WEB_TOKEN", token)
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(web, "open_page", lambda path, query, **given: calls.append(given))
    command_tree()(line.split(), prog_name="gymsolve", standalone_mode=False)
    quick = understand(line.split())
    usual = {"host": "127.0.0.1"}
    (slow,) = calls
    assert not any(value for value in slow.pop("allowed").values())
    assert quick is not None
    assert usual | quick == slow


@pytest.mark.parametrize("line", ODD)
def test_whatever_is_not_plain_goes_the_long_way(line: str) -> None:
    assert understand(line.split()) is None


def test_the_address_is_told_before_anything_large_is_imported(shell: Cli) -> None:
    code = """
import sys
import gymsolve.cli.serving as serving
large = ("typer", "pydantic", "yaml", "numpy", "starlette", "gymsolve.runs", "gymsolve.settings.config")
serving.open_page = lambda *given, **more: print([name for name in large if name in sys.modules])
from gymsolve.cli import main
main(["web", "--no-open"])
"""
    assert shell(code=code).out == "[]\n"


def test_pages_of_runs_need_no_settings(shell: Cli) -> None:
    code = """
import sys
import gymsolve.web.server, gymsolve.view.run_page, gymsolve.view.live_series
heavy = "typer", "pydantic", "yaml", "numpy", "gymsolve.settings.config"
print([name for name in heavy if name in sys.modules])
"""
    assert shell(code=code).out == "[]\n"


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "websockets"])
def test_no_address_is_told_that_nobody_would_answer(package: str, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as where it is not installed
    with pytest.raises(MissingExtraError, match=package) as caught:
        open_page("/", {}, port=None, no_open=True, runs_dir=None)
    assert "gymsolve[web]" in str(caught.value.hint)
    assert capsys.readouterr().out == ""
