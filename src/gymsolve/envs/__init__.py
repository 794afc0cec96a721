"""Environments: the only package that touches Gymnasium.

`make.make_envs` builds them behind the contract of `contract.py`; `preflight` looks at one before
training and `derive` proposes a recipe for one that has none.
"""
