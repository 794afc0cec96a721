"""`gymsolve mcp install`: what is there stays, a copy is kept, and nothing is written unasked."""

import json
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
