"""Gymnasium's MuJoCo robots: Ant, HalfCheetah, Hopper and the others."""

from gymsolve.envs.families.family import Extra, Family, by_code

__all__ = ["FAMILY"]

FAMILY = Family("mujoco", owns=by_code("gymnasium.envs.mujoco"), extra=Extra("mujoco", "mujoco", "mujoco"))
