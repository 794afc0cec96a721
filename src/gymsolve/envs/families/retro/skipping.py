"""Frames that a console plays between two decisions, without looking at each of them.

Reading a NES game's memory takes stable-retro two thirds of the time in which it computes a frame. The
wrapper `frame_skip` reads it in every frame; this one does so in the last frame of a step only.
"""

from typing import Any

from gymsolve.envs.families.retro.buttons import pad_of
from gymsolve.envs.wrappers.actions import AnyEnv, Count, FrameSkip, Stepped


class EmulatorSkip(FrameSkip):
    """Holds the buttons of a console for some frames; a range draws a new count for every step.

    Quicker than `frame_skip`: picture, variables and reward are taken after the last frame, the reward for
    the change over all of them. Right above the game, so `env.max_episode_steps` counts steps and not frames.
    """

    steps_each_frame = False

    def __init__(self, env: AnyEnv, skip: Count | tuple[Count, Count] = 4) -> None:
        pad_of(env)
        super().__init__(env, skip)

    def step(self, action: Any) -> Stepped:
        game: Any = self.env.unwrapped
        count = self._draw()
        if count > 1:
            for player, buttons in enumerate(game.action_to_array(action)):
                game.em.set_button_mask(buttons, player)
            for _ in range(count - 1):
                game.em.step()
                if self.between is not None:
                    game.img = game.get_screen(apply_rotation=True)
                    self.between()
        obs, reward, terminated, truncated, info = self.env.step(action)
        info["frames"] = count
        return obs, reward, terminated, truncated, info
