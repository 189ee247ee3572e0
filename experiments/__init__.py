"""The paper's experiments, and some it did not make: `python -m experiments --help`."""
