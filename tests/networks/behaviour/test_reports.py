"""A report of a gap says what each factor is and what its decoder needed."""

from ucad.networks.behaviour.reports import FactorReport, GapReport


def test_a_gap_says_its_factors_its_decoder_and_its_context():
    factor = FactorReport("Z1", "state of cell#0", 2, 1.0, 0.5)
    gap = GapReport("cell#0", "cell#1", (factor,), "table", True, 0.99, ("input[1,0]",))
    told = str(gap)
    assert "Z1 = state of cell#0 (2 values, read out 1.000, swaps agree 0.500)" in told
    assert "table decoder, improved by swaps with context input[1,0] keeps 0.990" in told
    assert gap.to_json()["factors"][0]["agreement"] == 0.5


def test_a_gap_without_factors_says_why():
    assert str(GapReport("1", "3", note="nothing is there.")) == "1 → 3: nothing is there."


def test_agreement_away_from_thresholds_is_told_and_certifies_nothing():
    factor = FactorReport("Z1", "input[0]", 2, 1.0, 0.9, ("input[0]",), 0.75, 0.98)
    assert not factor.is_certified
    assert "swaps agree 0.900, 0.980 away from thresholds, that is in 0.75" in str(factor)
    assert FactorReport("Z1", "input[0]", 2, 1.0, 0.95).is_certified


def test_few_unseen_inputs_certify_nothing_however_many_pairs_they_make():
    few = FactorReport("Z1", "input[0]", 2, 1.0, 1.0, ("input[0]",), n_unseen=59)
    assert not few.is_certified
    assert "of 59 unseen inputs only" in str(few)
    assert FactorReport("Z1", "input[0]", 2, 1.0, 1.0, ("input[0]",), n_unseen=60).is_certified
