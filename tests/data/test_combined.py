import pytest

from ucad.data.combined import taken_apart

NAMES = {"CEBPE", "STAT1", "HLA_A", "A"}


@pytest.mark.parametrize(
    ("label", "read"),
    [
        ("CEBPE+STAT1", "CEBPE;STAT1"),
        ("STAT1+CEBPE", "CEBPE;STAT1"),
        ("CEBPE+ctrl", "CEBPE"),
        ("ctrl+ctrl", "ctrl"),
        ("STAT1|CEBPE", "CEBPE;STAT1"),
        ("STAT1_CEBPE", "CEBPE;STAT1"),
        ("STAT1/CEBPE", "CEBPE;STAT1"),
        ("STAT1_NT", "STAT1"),
        ("STAT1+FEV", "FEV;STAT1"),
    ],
)
def test_combinations_of_known_names_are_taken_apart(label, read):
    taken = taken_apart([label, "STAT1", "ctrl"], NAMES, "ctrl")
    assert taken.labels[0] == read
    assert f"'{label}' as '{read}'" in taken.notes[0]


@pytest.mark.parametrize("label", ["HLA_A", "HLA_DRA", "TP53_g2", "x+y", "", "STAT1;CEBPE", "ctrl"])
def test_a_label_that_is_one_name_stays_as_it_is(label):
    assert taken_apart([label, "STAT1"], NAMES, "ctrl") == ([label, "STAT1"], ())


def test_a_target_known_by_its_own_samples_counts_as_known():
    taken = taken_apart(["FEV", "FEV_STAT1", "GONE_STAT1"], NAMES)
    assert taken.labels == ["FEV", "FEV;STAT1", "GONE_STAT1"]
