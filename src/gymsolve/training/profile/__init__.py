"""Where a training's time goes."""
