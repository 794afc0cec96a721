"""Reviews of a run or an episode by a language model."""
