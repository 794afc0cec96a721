"""Curricula: one policy learns several stages, in order or drawn by the size of their advantages.

The code computes with finished episodes and advantages and knows no environment. `training/stages.py` carries
out a change of stage.
"""
