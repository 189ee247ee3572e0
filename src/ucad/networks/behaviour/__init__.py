"""Concepts found by behaviour: inputs and states after which a network decides alike."""
