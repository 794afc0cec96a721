"""Gymnasium's classic control: CartPole, MountainCar, Acrobot, Pendulum."""

from gymsolve.envs.families.family import Family, by_code

FAMILY = Family(
    "classic control",
    title="Classic control",
    owns=by_code("gymnasium.envs.classic_control"),
    backends={"compiled": "gymsolve.envs.families.classic_control.backend:BACKEND"},
    envpool=("Acrobot-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"),
    choices={
        "CartPole": ("left", "right"),
        "MountainCar": ("left", "coast", "right"),
        "Acrobot": ("torque -1", "torque 0", "torque +1"),
    },
    dimensions={"Pendulum": ("torque",), "MountainCarContinuous": ("force",)},
    observed={
        "CartPole": ("cart position", "cart velocity", "pole angle", "pole velocity"),
        "MountainCar": ("position", "velocity"),
        "MountainCarContinuous": ("position", "velocity"),
        "Acrobot": ("cos 1", "sin 1", "cos 2", "sin 2", "velocity 1", "velocity 2"),
        "Pendulum": ("cos", "sin", "velocity"),
    },
    keys={"MountainCar": ("left", "", "right"), "Acrobot": ("left", "", "right")},
)
