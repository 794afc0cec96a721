"""Extensions join a training through one protocol: reward scaling, exploration, archive, curriculum."""
