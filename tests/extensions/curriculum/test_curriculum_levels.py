"""Prioritised replay of stages against the formula written out."""

import numpy as np
import pytest

from gymsolve.extensions.curriculum.levels import Levels


def by_hand(scores, played, now, temperature, staleness):
    """The paper's two distributions, one stage at a time."""
    order = sorted(range(len(scores)), key=lambda one: (-scores[one], -one))
    weight = [0.0] * len(scores)
    for rank, one in enumerate(order, start=1):
        weight[one] = (1.0 / rank) ** (1.0 / temperature)
    age = [now - one for one in played]
    return [
        (1 - staleness) * w / sum(weight) + staleness * a / sum(age) for w, a in zip(weight, age, strict=True)
    ]


def test_unseen_stages_come_first_and_evenly():
    one = Levels(4)
    assert one.probabilities().tolist() == [0.25] * 4
    one._played[:2] = 0  # two of four were played
    one.add(0, np.array([1.0]))
    one.add(1, np.array([3.0]))
    one.draws = 1
    chances = one.probabilities()
    assert chances[2] == chances[3] == pytest.approx(0.25), "half of the list is unseen: half of the draws"
    assert chances[:2] == pytest.approx(0.5 * np.array(by_hand([1.0, 3.0], [0, 0], 1, 0.1, 0.1)))


@pytest.mark.parametrize("temperature", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("staleness", [0.0, 0.1, 1.0])
def test_seen_stages_are_drawn_as_the_paper_has_it(temperature, staleness):
    rng = np.random.default_rng(int(10 * temperature))
    one = Levels(6, temperature=temperature, staleness=staleness)
    one.draws, one._played = 9, rng.integers(0, 9, 6)
    parts = [rng.normal(size=(int(rng.integers(1, 5)),)) * size for size in (1, 9, 2, 5, 5, 0)]
    for stage, part in enumerate(parts):
        one.add(stage, part[:1])
        one.add(stage, part[1:])  # a rollout cut the episode
    scores = [float(np.abs(part).mean()) for part in parts]
    assert one.scores == pytest.approx(scores)
    wanted = by_hand(scores, one._played.tolist(), 9, temperature, staleness)
    assert one.probabilities() == pytest.approx(wanted)
    assert one.probabilities().sum() == pytest.approx(1.0)


def test_a_stage_keeps_its_score_until_it_is_played_again():
    one, rng = Levels(2, staleness=0.0), np.random.default_rng(0)
    one.draw(64, rng)
    one.add(0, np.array([4.0, -2.0]))
    one.add(1, np.array([1.0]))
    one.draw(1, rng)
    assert one.scores.tolist() == [3.0, 1.0]
    one.add(1, np.array([7.0]))
    one.draw(1, rng)
    assert one.scores.tolist() == [3.0, 7.0]


def test_draws_follow_the_probabilities_and_can_be_repeated():
    one = Levels(3, temperature=1.0)
    one.draw(100, np.random.default_rng(3))
    for stage, size in enumerate((1.0, 2.0, 3.0)):
        one.add(stage, np.array([size]))
    chances, state = one.probabilities(), one.state()
    drawn = one.draw(30_000, np.random.default_rng(4))
    assert sum(drawn) == 30_000
    assert np.array(drawn) / 30_000 == pytest.approx(chances, abs=0.01)
    again = Levels(3, temperature=1.0)
    assert again.load({}, state) == []
    assert again.draw(30_000, np.random.default_rng(4)) == drawn
    assert again.state() == one.state()


def test_a_stage_long_left_out_comes_back_by_its_age():
    one = Levels(2, staleness=1.0)
    one._played[:] = [0, 5]
    one.draws = 5
    assert one.probabilities().tolist() == [1.0, 0.0]


def test_state_of_other_stages_is_refused():
    with pytest.raises(ValueError, match="2 stages"):
        Levels(2).load({}, Levels(3).state())
