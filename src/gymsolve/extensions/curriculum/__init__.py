"""Curricula: one policy through several stages, in order or as chance and its own errors choose.

Everything here is arithmetic over finished episodes and advantages; it knows no environment. What a change of
stage does to a training is in `training/stages.py`.
"""
