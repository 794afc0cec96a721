"""What a run would do, thought through and measured before it starts."""
