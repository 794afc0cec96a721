"""Notes on a rollout, which an archive keeps until `commit`."""

from typing import TypeAlias

import numpy as np

from gymsolve.experience.rollout import Rollout
from gymsolve.extensions.archive.cells import Archive, Place
from gymsolve.extensions.archive.trajectories import NOWHERE, Trajectories
from gymsolve.spec import Array

Places: TypeAlias = dict[int, tuple[int, int, Place]]
"""Places by cell, with step and environment."""


class Notes:
    """Notes on one rollout; dropped if the iteration is taken back."""

    def __init__(self, num_steps: int, heads: list[int], tasks: int) -> None:
        """`heads` are the last rows of the running episodes; notes on places are kept by task."""
        size = num_steps, len(heads)
        self.rewards = np.zeros(size, np.float32)  # [T, N] as the agent saw them, before scaling
        self.cells = np.zeros(size, np.uint64)  # [T, N] after each step
        self.entered = np.zeros(size, bool)  # [T, N] the step entered another cell
        self.over = np.zeros(size, bool)  # [T, N] the episode ended with this step
        # [T + 1, N] the rows before steps that begin an episode or a rollout
        self.origin = np.full((num_steps + 1, len(heads)), NOWHERE, np.int64)
        self.origin[0] = heads
        self.places: list[Places] = [{} for _ in range(tasks)]
        self.finished: list[list[tuple[int, int, float, int, bool]]] = [[] for _ in range(tasks)]
        """Step, environment, score, length, truncated."""
        self.best = [-np.inf] * tasks
        """Score of the best episode."""
        self.successes: list[list[bool]] = [[] for _ in range(tasks)]
        self.drawn: list[Place] = []
        self.begun = 0
        """Episodes that began at a reset."""

    def wants(self, task: int, key: int, score: float, length: int, archive: Archive) -> bool:
        """True for a cell that is new to its archive and these notes, or reached better."""
        places = self.places[task]
        noted = places.get(key)
        best = archive.find(key) if noted is None else noted[2]
        if best is None:
            return len(archive) + len(places) < archive.capacity
        return score > best.score or (score == best.score and length < best.length)

    def write_down(self, rollout: Rollout, ends: list[tuple[int, int]], log: Trajectories) -> Array:
        """Log the steps that lead to one of `ends`, or to a running episode; their rows [T, N]."""
        wanted = self._wanted(ends)
        flat = np.flatnonzero(wanted)
        place = np.full(wanted.shape, -1, np.int64)
        place.reshape(-1)[flat] = np.arange(len(flat))
        before = self.origin[:-1].copy()
        goes_on = ~self.over[:-1]
        before[1:][goes_on] = -2 - place[:-1][goes_on]
        columns = {
            "actions": rollout.actions.reshape(wanted.size, -1)[flat],
            "rewards": self.rewards.reshape(-1)[flat],
            "cells": self.cells.reshape(-1)[flat],
        }
        if rollout.masks is not None:
            columns["masks"] = rollout.masks.reshape(wanted.size, -1)[flat]
        numbers = np.full(wanted.shape, NOWHERE, np.int64)
        if len(flat):
            numbers.reshape(-1)[flat] = log.add(before.reshape(-1)[flat], columns, rollout.seen(flat))
        return numbers

    def _wanted(self, ends: list[tuple[int, int]]) -> Array:
        """Steps [T, N] that lead to one of these, or to a running episode."""
        wanted = np.zeros(self.over.shape, bool)
        wanted[-1] = ~self.over[-1]
        for t, row in ends:
            wanted[t, row] = True
        for t in range(len(wanted) - 2, -1, -1):
            wanted[t] |= wanted[t + 1] & ~self.over[t]
        return wanted
