"""Two bits that a network ANDs, as concepts of its first two sites."""

import numpy as np

from tests.networks.models import exact_inputs, exact_network
from ucad.networks.behaviour.concepts import Values
from ucad.networks.behaviour.gap_fit import GapData, GapParts
from ucad.networks.subject import Subject

INPUTS = exact_inputs(600)
BITS = (INPUTS > 0.5).numpy()


class Bit:
    """One of the two inputs; its swap is an input with the other's number in its place."""

    n_classes = 2

    def __init__(self, column):
        self.column, self.name, self.feature_names = column, f"bit {column}", (f"input[{column}]",)

    def values(self, _subject, rows):
        return Values(BITS[rows, self.column].astype(int), np.ones(len(rows), dtype=bool))

    def expected(self, subject, base, source):
        mixed = INPUTS[base].clone()
        mixed[:, self.column] = INPUTS[source, self.column]
        return subject.decisions(mixed)


def bits_data(*columns):
    """The gap from site 0 to site 1 with some of the bits as concepts."""
    subject = Subject.of(exact_network(), INPUTS, ["0", "1"])
    parts = GapParts(*np.split(np.arange(600), [300, 500]))
    return GapData(subject, 0, tuple(Bit(k) for k in columns), parts, (), 0)
