import pytest

from ucad.data.guides import without_guides

NAMES = {"STAT1", "HLA_1", "NKX2-1", "A"}


@pytest.mark.parametrize(
    "label",
    ["STAT1_g2", "STAT1-sg2", "STAT1_guide_2", "STAT1.sgRNA1", "STAT1g2", "STAT1_2", "STAT1-2",
     "sgSTAT1", "sgSTAT1_2", "sg-STAT1-g2"],
)  # fmt: skip
def test_the_gene_of_a_guide_is_read(label):
    found = without_guides([label, "STAT1", ""], NAMES)
    assert found.labels == ["STAT1", "STAT1", ""]
    assert f"'{label}' as 'STAT1'" in found.notes[0]


@pytest.mark.parametrize("label", ["HLA_1", "NKX2-1", "FEV_g1", "STAT12", "STATg2", "sgFEV", "A;B"])
def test_other_labels_stay_as_they_are(label):
    assert without_guides([label, "STAT1"], NAMES) == ([label, "STAT1"], ())


def test_an_unmeasured_gene_of_several_guides_becomes_one_target():
    labels = ["STAT1_g1", "FEV_g1", "FEV_g2", "GATA2_g1", "safe-targeting_g3"]
    expected = ["STAT1", "FEV", "FEV", "GATA2_g1", "safe-targeting"]
    assert without_guides(labels, NAMES).labels == expected


def test_numbers_alone_are_no_guides_where_no_gene_has_them():
    labels = ["drug_1", "drug_2", "STAT1"]
    assert without_guides(labels, NAMES).labels == labels


def test_guides_of_a_prefix_are_not_cut_at_their_number_only():
    labels = ["NT_1", "sgFEV_1", "sgFEV_2", "sgSTAT1_1"]
    assert without_guides(labels, NAMES).labels == ["NT", "FEV", "FEV", "STAT1"]


def test_guides_of_a_named_control_are_controls():
    assert without_guides(["blank_g1", "STAT1"], NAMES, "blank").labels == ["blank", "STAT1"]


@pytest.mark.parametrize(
    "label",
    ["STAT1_KO", "STAT1 knock-down", "STAT1-CRISPRi", "STAT1_kd_2", "shRNA_STAT1", "siRNA-STAT1-2"],
)
def test_a_gene_is_read_where_labels_say_how_it_was_turned_down(label):
    assert without_guides([label, "WT"], NAMES).labels == ["STAT1", "WT"]


def test_a_gene_that_is_turned_up_is_no_copy_of_its_knock_out():
    labels = ["STAT1_KO", "STAT1_OE", "STAT1_CRISPRa"]
    assert without_guides(labels, NAMES).labels == ["STAT1", *labels[1:]]
