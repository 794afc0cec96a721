"""Programs around trained policies: play, inspector, video and review."""
