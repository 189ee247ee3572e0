"""The search."""
