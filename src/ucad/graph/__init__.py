"""How things hang together: Boolean algebra and factor graphs."""
