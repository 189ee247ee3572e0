"""What commands print fits a terminal, and a terminal that fails does not end a command."""

import errno
import io

import pytest

from ucad.cli.output import PatientOutput, patient_output, say, show


class Closed(io.StringIO):
    """A stream whose reader is gone."""

    def write(self, text):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_sentences_are_wrapped_for_a_terminal_of_80(capsys):
    say("word " * 60, "", "· " + "point " * 40)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) < 80
    assert "" in lines
    points = lines[lines.index("") + 1 :]
    assert points[0].startswith("· ")
    assert all(line.startswith("  point") for line in points[1:])


def test_names_are_never_taken_apart(capsys):
    name = "chr1:" + "x" * 90
    say(f"There is no variable '{name}-y'.")
    assert f"{name}-y" in capsys.readouterr().out


def test_names_that_look_like_markup_are_printed_as_they_are(capsys):
    show("[/b] and :bug: and [red]x[/red]")
    assert capsys.readouterr().out.strip() == "[/b] and :bug: and [red]x[/red]"


def test_a_closed_stream_is_remembered_and_nothing_is_raised():
    output = PatientOutput(Closed())
    assert output.write("one") == 3
    assert output.write("two") == 3
    output.flush()
    assert isinstance(output.failure, BrokenPipeError)
    assert not output.isatty()


def test_a_stream_that_was_never_there_is_a_failure():
    output = PatientOutput(None)
    assert output.write("text") == 4
    assert output.failure.errno == errno.EBADF
    with pytest.raises(io.UnsupportedOperation):
        output.fileno()


def test_a_character_that_the_terminal_does_not_know_becomes_a_question_mark():
    raw = io.BytesIO()
    output = PatientOutput(io.TextIOWrapper(raw, encoding="ascii"))
    output.write("a → b")
    output.flush()
    assert raw.getvalue() == b"a ? b"


def test_the_streams_are_given_back():
    import sys

    before = sys.stdout, sys.stderr
    with patient_output() as output:
        assert sys.stdout is output
    assert (sys.stdout, sys.stderr) == before
