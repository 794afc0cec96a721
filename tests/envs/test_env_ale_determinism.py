"""What chance does in Atari games: what repeats, what differs, and what is known without a trial."""

import pytest
from ale_games import CALM, STOCK, config_of

from gymsolve.envs import determinism
from gymsolve.envs.determinism import check_determinism, know_determinism


@pytest.mark.parametrize("steps", [8, 64])
@pytest.mark.parametrize("backend", ["auto", "sync"])
def test_sticky_actions_resume_exactly(backend: str, steps: int) -> None:
    # However many steps a busy machine has time for: these games end within 64 of them and not within 8.
    config = config_of(kwargs=STOCK, max_episode_steps=200, backend=backend)
    found = check_determinism(config, steps=steps)
    assert found.seed_reproduces
    assert found.resumes_exactly


@pytest.mark.parametrize(
    ("kwargs", "noop_max", "known"), [(STOCK, 0, True), (CALM, 30, True), (CALM, 2, False), (CALM, 0, False)]
)
def test_what_is_known_of_a_game_is_what_a_trial_shows(kwargs, noop_max, known, monkeypatch):
    config = config_of(kwargs=kwargs, wrappers=[{"atari": {"noop_max": noop_max}}])
    shown = check_determinism(config)
    assert shown.copies_identical is not known
    tried = []
    monkeypatch.setattr(
        determinism, "check_determinism", lambda config, on_step: tried.append(config) or shown
    )
    assert know_determinism(config) == shown
    assert bool(tried) is not known


@pytest.mark.parametrize(
    ("sticky", "idle", "identical"), [(0.0, 0, True), (0.0, 30, False), (0.25, 0, False)]
)
def test_only_sticky_actions_and_idle_starts_make_games_differ(sticky, idle, identical):
    """What the guide says of the randomness that remains."""
    kwargs = STOCK | {"repeat_action_probability": sticky}
    config = config_of("Pong", kwargs=kwargs, wrappers=[{"atari": {"noop_max": idle}}], backend="sync")
    found = check_determinism(config, steps=40)
    assert (found.copies_identical, found.seed_reproduces) == (identical, True)
