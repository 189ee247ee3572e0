import numpy as np
import pytest
from scipy.stats import fisher_exact

from ucad.errors import FormatError, InvalidInputError
from ucad.gene_sets import GeneSet, enrichment, read_gene_sets
from ucad.graph import FactorGraph
from ucad.solvers.prior import read_prior

NAMES = tuple(f"G{i}" for i in range(40))


def graph() -> FactorGraph:
    Q, R = np.zeros((40, 2), dtype=bool), np.zeros((40, 2), dtype=bool)
    Q[:3, 0], Q[3:6, 1] = True, True
    R[10:20, 0], R[20:30, 1] = True, True
    return FactorGraph(Q, R, NAMES)


def test_gmt_and_tables_hold_the_same_sets(tmp_path):
    (tmp_path / "s.gmt").write_text("STAT1\tna\tA\tB\nIRF1\tna\tC\n")
    (tmp_path / "s.tsv").write_text(
        "tf\tconfidence\ttarget\tmor\nSTAT1\tA\tA\t1\nSTAT1\tB\tB\t-1\nIRF1\tA\tC\t1\n"
    )
    (tmp_path / "s.csv").write_text("pathway,gene\nSTAT1,A\nSTAT1,B\nIRF1,C\n")
    sets = [read_gene_sets(tmp_path / name) for name in ("s.gmt", "s.tsv", "s.csv")]
    for one in sets:
        assert {s.name: s.genes for s in one} == {"STAT1": {"A", "B"}, "IRF1": {"C"}}
    assert [s.regulator for s in sets[1]] == ["STAT1", "IRF1"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.gmt", "", "empty"),
        ("a.gmt", "STAT1\tna\n", "Line 1 .* must hold a name, a description and genes"),
        ("a.tsv", "x\ty\n1\t2\n", "must have a header with a column of sets"),
        ("a.tsv", "set\tgene\n\t\n", "no line has a set"),
        ("none.gmt", None, "There is no file"),
    ],
)
def test_files_without_sets_are_refused(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=message):
        read_gene_sets(tmp_path / name)


def test_a_planted_set_is_found_with_fishers_probability_and_names_its_factor():
    planted = GeneSet("planted", frozenset([*NAMES[10:17], "G35", "not measured"]))
    rng = np.random.default_rng(0)
    noise = [
        GeneSet(f"n{i}", frozenset(rng.choice(NAMES, 8, replace=False).tolist())) for i in range(20)
    ]
    found = enrichment(graph(), [planted, *noise])
    best = found.hits[0]
    assert (best.factor, best.side, best.gene_set) == ("Z1", "children", "planted")
    assert (best.n_genes, best.n_in_set, len(best.shared)) == (10, 8, 7)
    fisher = fisher_exact([[7, 1], [3, 29]], alternative="greater").pvalue
    assert best.p == pytest.approx(fisher)
    assert found.names == {"Z1": "planted"}
    assert found.n_tests == 4 * 21
    assert found.permuted < 0.2


def test_random_sets_name_no_factor():
    rng = np.random.default_rng(1)
    noise = [
        GeneSet(f"n{i}", frozenset(rng.choice(NAMES, 8, replace=False).tolist())) for i in range(40)
    ]
    found = enrichment(graph(), noise)
    assert found.hits == ()
    assert found.names == {}


def test_sets_of_other_genes_are_refused():
    with pytest.raises(InvalidInputError, match="No gene set has 2 of the measured genes"):
        enrichment(graph(), [GeneSet("a", frozenset(["x", "y"]))])


def test_prior_knowledge_may_name_a_set(tmp_path):
    (tmp_path / "s.gmt").write_text("IFN\tna\tG1\tG3\telsewhere\n")
    prior = tmp_path / "prior.toml"
    prior.write_text('gene_sets = "s.gmt"\nrequired = ["Z2 -> set:IFN", "G0 -> Z1"]\n')
    known = read_prior(prior, NAMES, 2)
    assert np.argwhere(known.required_child).tolist() == [[1, 1], [3, 1]]
    assert np.argwhere(known.required_parent).tolist() == [[0, 0]]
    prior.write_text('gene_sets = "s.gmt"\nrequired = ["Z2 -> set:INF"]\n')
    with pytest.raises(InvalidInputError, match="no gene set 'INF'. Did you mean 'IFN'"):
        read_prior(prior, NAMES, 2)
