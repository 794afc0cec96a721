"""How many copies play which stage."""

__all__ = ["ladder_copies"]


def ladder_copies(num_envs: int, stages: int, stage: int, rehearsal: float, turn: int = 0) -> list[int]:
    """Copies by stage: `rehearsal` of them play stages before this one, the rest play it.

    Old stages get equal parts, and the newest of them what is left over. Where there are more of them than
    copies, they take turns. At least one copy rehearses, if any share does, and one always plays the stage
    itself.
    """
    copies = [0] * stages
    old = 0
    if stage and rehearsal > 0 and num_envs > 1:
        old = min(max(1, round(rehearsal * num_envs)), num_envs - 1)
        each, rest = divmod(old, stage)
        # Giving copies to others costs their episodes, so it is done only where some stage has none.
        first = turn * rest if each == 0 else stage - rest
        for one in range(stage):
            copies[one] = each
        for place in range(rest):
            copies[(first + place) % stage] += 1
    copies[stage] = num_envs - old
    return copies
