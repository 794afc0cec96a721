"""Classic control: shaping wrappers, and the rules of its environments in C."""
