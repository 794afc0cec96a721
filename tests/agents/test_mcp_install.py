"""`gymsolve mcp install`: what is there stays, a copy is kept, and nothing is written unasked."""

import json
import sys
import tomllib

import pytest

from gymsolve.cli import main
from gymsolve.errors import UsageError
from gymsolve.mcp.install import CLIENTS, plan_installation


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_gets_a_file_that_starts_the_server(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    planned = plan_installation(client, ["--runs-dir", "/r"], home=tmp_path)
    assert planned.changes
    assert not planned.path.exists()
    assert planned.write() is None
    read = tomllib.loads if planned.path.suffix == ".toml" else json.loads
    stored = read(planned.path.read_text())
    servers = stored.get("mcpServers", stored.get("mcp_servers"))
    assert servers["gymsolve"]["args"] == ["-P", "-m", "gymsolve", "mcp", "--runs-dir", "/r"]
    assert not plan_installation(client, ["--runs-dir", "/r"], home=tmp_path).changes


def test_what_is_there_stays_and_a_copy_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = {"mcpServers": {"other": {"command": "x"}}, "more": [1]}
    (tmp_path / ".mcp.json").write_text(json.dumps(other))
    kept = plan_installation("claude-code", []).write()
    stored = json.loads((tmp_path / ".mcp.json").read_text())
    assert stored["mcpServers"]["other"] == {"command": "x"}
    assert stored["more"] == [1]
    assert json.loads(kept.read_text()) == other
    toml = tmp_path / ".codex" / "config.toml"
    toml.parent.mkdir()
    toml.write_text('model = "m"\n\n[mcp_servers.gymsolve]\ncommand = "old"\nargs = []\n\n[other]\nx = 1\n')
    plan_installation("codex", [], home=tmp_path).write()
    stored = tomllib.loads(toml.read_text())
    assert (stored["model"], stored["other"]) == ("m", {"x": 1})
    assert stored["mcp_servers"]["gymsolve"]["command"] != "old"


def test_what_somebody_added_to_our_entry_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    added = {"command": "old", "args": [], "env": {"WANDB_MODE": "offline"}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"gymsolve": added}}))
    plan_installation("claude-code", ["--read-only"]).write()
    stored = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]["gymsolve"]
    assert stored["env"] == {"WANDB_MODE": "offline"}
    assert stored["args"][-1] == "--read-only"
    toml = tmp_path / ".codex" / "config.toml"
    toml.parent.mkdir()
    toml.write_text(TOML)
    plan_installation("codex", ["--read-only"], home=tmp_path).write()
    stored, before = tomllib.loads(toml.read_text()), tomllib.loads(TOML)
    ours, theirs = stored["mcp_servers"].pop("gymsolve"), before["mcp_servers"].pop("gymsolve")
    assert stored == before
    assert (ours.pop("args")[-1], ours.pop("command")) == ("--read-only", sys.executable)
    assert ours == {name: value for name, value in theirs.items() if name not in ("command", "args")}
    assert "# slow disk" in toml.read_text()


TOML = """\
model = "m"  # a comment

[mcp_servers.other]
command = "x"

  [ mcp_servers . "gymsolve" ] # ours
startup_timeout_sec = 30  # slow disk
command = "old"
args = [
  "-m",
  "[gymsolve]",
]
tool_timeout_sec = 50

[mcp_servers.gymsolve.env]
A = "1"

[[projects]]
x = 1
"""


def test_links_and_permissions_of_the_file_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}")
    kept.chmod(0o600)
    (tmp_path / ".mcp.json").symlink_to(kept)
    plan_installation("claude-code", []).write()
    assert (tmp_path / ".mcp.json").is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "gymsolve" in json.loads(kept.read_text())["mcpServers"]


def test_codex_has_a_home_of_its_own_where_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    assert plan_installation("codex", []).path == tmp_path / "codex" / "config.toml"


@pytest.mark.parametrize(
    "text", ["x = [", "mcp_servers = 3", 'mcp_servers = { gymsolve = { command = "old" } }', b"\xff\xfe"]
)
def test_toml_that_would_not_be_understood_is_left_alone(text, tmp_path):
    toml = tmp_path / ".codex" / "config.toml"
    toml.parent.mkdir()
    toml.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = toml.read_bytes()
    with pytest.raises(UsageError, match="nothing was changed"):
        plan_installation("codex", [], home=tmp_path)
    assert toml.read_bytes() == before


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 3}'])
def test_a_file_that_cannot_be_read_is_left_alone(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcp.json").write_text(text)
    with pytest.raises(UsageError, match="nothing was changed"):
        plan_installation("claude-code", [])
    assert (tmp_path / ".mcp.json").read_text() == text


def test_the_command_shows_first_and_writes_only_when_told_to(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["mcp", "install", "--client", "claude-code"]) == 0
    assert "--write" in capsys.readouterr().out
    assert not (tmp_path / ".mcp.json").exists()
    assert main(["mcp", "install", "--client", "claude-code", "--write"]) == 2
    assert main(["mcp", "install", "--client", "claude-code", "--write", "--yes"]) == 0
    assert (tmp_path / ".mcp.json").exists()
    assert main(["mcp", "install", "--client", "claude"]) == 2
    assert "Did you mean 'claude-code'" in capsys.readouterr().err
