"""Exploration bonuses: additional rewards for observations that are new to the run.

`Curiosity` (curiosity.py) is the extension. It scales the payments of a `Novelty`, values them with a critic
of its own and adds them to the rollout as a stream of rewards; the policy learns as before, with any engine.
`needs.py` is the setup; `build.py` builds the bonus and alone needs torch.
"""
