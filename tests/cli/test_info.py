import json

import pytest

from ucad.cli import main


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    cells = [f"{i},{i * i % 7},{i % 5},{['NT', 'a', 'TP53'][i % 3]}" for i in range(60)]
    path.write_text("\n".join(["a,b,c,gene", *cells]))
    return path


def test_info_shows_regimes_and_writes_nothing(table, capsys):
    code, out, err = run(capsys, "info", table, "--target", "gene", "--control", "NT")
    assert (code, err) == (0, "")
    assert "60 samples × 3 variables" in out
    assert "TP53" in out
    assert "labelled 'NT'" in out
    assert [path.name for path in table.parent.iterdir()] == ["t.csv"]


def test_info_as_json_can_be_read(table, capsys):
    code, out, _ = run(capsys, "info", table, "--target", "gene", "--json")
    assert code == 0
    assert {one["name"] for one in json.loads(out)["regimes"]} == {"observational", "a", "TP53"}


def test_info_of_a_wrong_table_lists_its_problems(table, capsys):
    table.write_text(table.read_text().replace("\n4,2", "\n4,").replace("TP53", "A"))
    code, _, err = run(capsys, "info", table, "--target", "gene", "--control", "nt")
    assert code == 2
    for part in ("3 problems", "Did you mean 'NT'", "'A' ('a'?)", "1 of 60 rows"):
        assert part in err
