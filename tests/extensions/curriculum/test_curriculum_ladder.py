"""Promotion, demotion and copies, on scripted returns."""

import itertools

import numpy as np
import pytest

from gymsolve.confidence import share_bounds, z_of
from gymsolve.extensions.curriculum.ladder import Ladder, Move, Rung, collapse_bar, ladder_copies


def ladder(*rungs, by_success=True, episodes=20, demote_below=0.5):
    return Ladder(
        [Rung(*one) for one in rungs], by_success=by_success, episodes=episodes, demote_below=demote_below
    )


THREE = (("a", 0.7), ("b", 0.7), ("c", None))


def play(one, stage, results):
    for result in results:
        one.add(stage, result)


def test_it_waits_for_enough_episodes_however_good_they_are():
    one = ladder(*THREE)
    for count in range(1, 20):
        one.add(0, 1.0)
        assert one.decide(count) is None
    one.add(0, 1.0)
    move = one.decide(20)
    assert move == Move(
        "promoted", 0, 1, "bound", 0, 1.0, pytest.approx(20 / (20 + z_of(0.95) ** 2)), 0.7, 20
    )
    assert (one.stage, one.began, one.highest) == (1, 20, 1)


@pytest.mark.parametrize("successes", range(21))
def test_the_lower_bound_decides_not_the_share(successes):
    one = ladder(*THREE)
    play(one, 0, [1.0] * successes + [0.0] * (20 - successes))
    promoted = one.decide(0) is not None
    assert promoted == (share_bounds(successes, 20, z_of(0.95))[0] >= 0.7)
    # 15 of 20 are 0.75, above the threshold, and prove nothing yet.
    assert promoted == (successes >= 18)


def test_only_the_last_episodes_count():
    one = ladder(*THREE)
    play(one, 0, [0.0] * 500 + [1.0] * 20)
    assert one.decide(0) is not None


def test_returns_are_judged_by_the_bound_of_their_mean():
    one = ladder(("a", 100.0), ("b", None), by_success=False, episodes=4)
    play(one, 0, [90.0, 110.0, 95.0, 109.0])  # a mean of 101, which four such episodes do not prove
    assert one.decide(0) is None
    play(one, 0, [101.0, 101.0, 101.0, 101.0])
    assert one.decide(0).bound == 101.0


def test_spent_steps_lead_on_without_a_proof():
    one = ladder(("a", 0.9, 1000), ("b", None))
    assert one.decide(999) is None
    move = one.decide(1000)
    assert (move.by, move.mean, move.bound, move.episodes) == ("steps", None, None, 0)
    assert one.decide(10**9) is None, "nothing follows the last stage"


def test_steps_are_counted_from_where_the_stage_began():
    one = ladder(("a", None, 100), ("b", None, 50), ("c", None))
    found = [(taken, one.decide(taken)) for taken in range(0, 400, 10)]
    assert [taken for taken, move in found if move] == [100, 150]


def test_a_collapsed_stage_is_gone_back_to_and_must_be_done_again():
    one = ladder(*THREE)
    play(one, 0, [1.0] * 20)
    one.decide(20)
    play(one, 1, [1.0] * 20)
    one.decide(40)
    assert one.stage == 2
    play(one, 1, [0.0] * 20)  # rehearsed, and nothing left of it
    play(one, 0, [1.0] * 20)
    move = one.decide(60)
    assert (move.kind, move.before, move.after, move.judged, move.mean) == ("demoted", 2, 1, 1, 0.0)
    assert move.bound < move.bar == 0.35
    assert (one.stage, one.highest) == (1, 2)
    assert one.decide(61) is None, "what was achieved before the move does not count twice"
    play(one, 1, [1.0] * 20)
    assert one.decide(80).after == 2


def test_the_earliest_collapse_decides_and_a_dip_is_none():
    one = ladder(*THREE)
    play(one, 0, [1.0] * 20)
    one.decide(0)
    play(one, 1, [1.0] * 20)
    one.decide(0)
    play(one, 0, [0.0] * 20)
    play(one, 1, [0.0] * 20)
    assert one.decide(0).after == 0
    dipped = ladder(*THREE)
    play(dipped, 0, [1.0] * 20)
    dipped.decide(0)
    play(dipped, 0, [1.0, 0.0, 0.0] * 7)  # a third: below the bar of 0.35, but not surely
    assert dipped.decide(0) is None
    play(dipped, 0, [0.0] * 15)
    assert dipped.decide(0).kind == "demoted"


def test_without_demotion_nothing_leads_down():
    one = ladder(*THREE, demote_below=0.0)
    play(one, 0, [1.0] * 20)
    one.decide(0)
    play(one, 0, [0.0] * 20)
    assert one.decide(0) is None


def test_a_share_of_a_negative_threshold_lies_below_it():
    assert (collapse_bar(100.0, 0.5), collapse_bar(-100.0, 0.5)) == (50.0, -200.0)


def test_a_restored_ladder_decides_as_the_one_that_was_saved():
    rng = np.random.default_rng(1)
    first, second = ladder(*THREE), ladder(*THREE)
    for turn in range(400):
        stage = int(rng.integers(0, first.stage + 1))
        result = float(rng.random() < 0.9)
        first.add(stage, result)
        second.add(stage, result)
        assert first.decide(turn) == second.decide(turn)
        if turn % 7 == 0:
            restored = ladder(*THREE)
            assert restored.load({}, second.state()) == []
            second = restored
    assert first.stage == 2


def test_what_is_held_comes_back():
    one = ladder(*THREE)
    play(one, 0, [1.0] * 19)
    put_back = one.rollback_point()
    one.add(0, 1.0)
    one.decide(0)
    put_back()
    assert (one.stage, one.seen(0)) == (0, (19, 1.0))


def test_state_of_another_ladder_is_refused():
    with pytest.raises(ValueError, match="there are 2"):
        ladder(("a", 0.5), ("b", None)).load({}, ladder(*THREE).state())


@pytest.mark.parametrize("num_envs", [1, 2, 3, 8, 16, 33])
@pytest.mark.parametrize("rehearsal", [0.0, 0.2, 0.3, 1.0])
def test_copies_add_up_and_the_stage_itself_is_always_played(num_envs, rehearsal):
    for stages, turn in itertools.product((2, 5), range(4)):
        for stage in range(stages):
            copies = ladder_copies(num_envs, stages, stage, rehearsal, turn)
            assert sum(copies) == num_envs
            assert min(copies) >= 0
            assert copies[stage] >= 1
            assert not any(copies[stage + 1 :])
            rehearsed = sum(copies[:stage])
            if stage and rehearsal and num_envs > 1:
                assert rehearsed == min(max(1, round(rehearsal * num_envs)), num_envs - 1)
                assert max(copies[:stage]) - min(copies[:stage]) <= 1
            else:
                assert rehearsed == 0


def test_copies_by_hand():
    assert ladder_copies(16, 3, 0, 0.25) == [16, 0, 0]
    assert ladder_copies(16, 3, 1, 0.25) == [4, 12, 0]
    assert ladder_copies(16, 3, 2, 0.25) == [2, 2, 12]
    assert ladder_copies(8, 9, 8, 0.25) == [1, 1, 0, 0, 0, 0, 0, 0, 6]


def test_a_remainder_moves_nobody_as_long_as_all_are_rehearsed():
    assert {tuple(ladder_copies(32, 4, 3, 0.25, turn)) for turn in range(5)} == {(2, 3, 3, 24)}


def test_in_turns_every_old_stage_is_rehearsed_alike():
    total = np.sum([ladder_copies(8, 6, 5, 0.25, turn) for turn in range(5)], axis=0)
    assert total.tolist() == [2, 2, 2, 2, 2, 30]
