"""One model of several gaps does what its read-outs and decoders do."""

import numpy as np
import pytest

from ucad.data.context import Context
from ucad.networks.behaviour.discrete_factors import ClassReadout, Decoder, DecoderKind
from ucad.networks.behaviour.gap_model import Gap, assemble_gaps

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 7))
W = RNG.standard_normal((200, 2))


def readout(n_hidden, n_causes, n_classes):
    parts = RNG.standard_normal((n_hidden, n_causes)), *RNG.standard_normal((2, n_hidden))
    return ClassReadout(*parts, 0.7, n_classes)


def decoder(n_inputs, n_effects, n_hidden=3):
    return Decoder(
        DecoderKind.NETWORK,
        RNG.standard_normal((n_hidden, n_inputs)),
        RNG.standard_normal(n_hidden),
        RNG.standard_normal((n_effects, n_hidden)),
        RNG.standard_normal(n_effects),
        RNG.standard_normal((n_effects, n_inputs)),
    )


FIRST, SECOND, LAST = np.arange(3), np.array([3, 4]), np.array([5, 6])
READ = (readout(1, 3, 2), readout(2, 3, 3)), (readout(1, 2, 2),)
PLAIN, NEXT = decoder(2, 2), decoder(1, 2)
WITH = decoder(4, 2)


def gaps(first_decoder, covariates):
    nothing = np.zeros(0, dtype=np.int64)
    return [
        Gap(FIRST, SECOND, READ[0], first_decoder, PLAIN, covariates, np.array([0.1, 0.2])),
        Gap(SECOND, LAST, READ[1], NEXT, NEXT, nothing, np.array([0.3, 0.4])),
    ]


@pytest.fixture(scope="module")
def scm():
    names = tuple(f"X{j + 1}" for j in range(7))
    return assemble_gaps(X, names, gaps(PLAIN, np.zeros(0, dtype=np.int64)))


def test_factors_are_what_their_readouts_say(scm):
    z = scm.state_map(X).numpy()
    for k, (one, causes) in enumerate(
        zip((*READ[0], *READ[1]), (FIRST, FIRST, SECOND), strict=True)
    ):
        np.testing.assert_allclose(z[:, k], one(X[:, causes]), atol=1e-9)


def test_units_are_what_their_decoders_say(scm):
    z = RNG.uniform(-1, 1, (50, 3))
    made = scm.expected_variables(z).numpy()
    np.testing.assert_allclose(made[:, SECOND], PLAIN(z[:, :2]), atol=1e-5)
    np.testing.assert_allclose(made[:, LAST], NEXT(z[:, 2:]), atol=1e-5)


def test_edges_are_those_of_the_gaps_and_what_no_gap_makes_is_a_root(scm):
    Q, R = scm.graph.Q, scm.graph.R
    for edges, at in ((Q[:, :2], FIRST), (R[:, :2], SECOND), (Q[:, 2:], SECOND), (R[:, 2:], LAST)):
        assert set(np.flatnonzero(edges.any(axis=1))) == set(at)
    np.testing.assert_allclose(scm.noise_scale[3:], [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(scm.noise_scale[:3], X[:, :3].std(axis=0), rtol=0.01)
    np.testing.assert_allclose(
        scm.expected_variables(np.zeros((1, 3)))[0, :3], X[:, :3].mean(axis=0), atol=1e-6
    )


def test_a_context_reaches_the_units_whose_decoder_takes_it():
    context = Context(("a", "b"), W)
    names = tuple(f"X{j + 1}" for j in range(7))
    scm = assemble_gaps(X, names, gaps(WITH, np.array([0, 1])), context)
    z = RNG.uniform(-1, 1, (200, 3))
    made = scm.expected_variables(z, W).numpy()
    np.testing.assert_allclose(made[:, SECOND], WITH(np.c_[z[:, :2], W]), atol=1e-4)
    np.testing.assert_allclose(made[:, LAST], NEXT(z[:, 2:]), atol=1e-4)
