from __future__ import annotations

import numpy as np
import pytest

from conceptor.concepts.neighbors import (
    Unknown,
    UnknownWordsError,
    look_up,
    most_similar,
    shorten,
    suggest,
)
from conceptor.vectors import write_vectors
from tests.processes import call

WORDS = ["the", "doctor", "Paris", "doctors", "bank", "PARIS", "parish", "Bank", "日本"]


def test_a_word_is_looked_up_as_typed_and_then_in_lower_case():
    assert look_up(["Bank", "DOCTOR", "paris", "bank", "x", "BANK", "x"], {*WORDS, ""}) == (
        ["Bank", "doctor", "bank"],
        ["paris", "x"],
    )
    assert look_up([""], {""}) == ([""], [])


def test_another_case_comes_before_another_spelling():
    assert suggest("paris", WORDS) == ["Paris", "PARIS", "parish"]
    assert suggest("Docter", WORDS) == ["doctor", "doctors"]
    assert suggest("THE", WORDS) == ["the"]
    assert not any(suggest(typed, WORDS) for typed in ("zzzzz", "", "日"))


def test_long_texts_are_shortened():
    assert shorten("a  b\nc") == "a b c"
    assert shorten("x" * 100, 60) == "x" * 59 + "…"


def test_only_common_words_are_spelling_suggestions_but_any_word_in_another_case():
    words = [f"w{i:06}" for i in range(100_000)] + ["Zebra", "zebras"]
    assert suggest("zebra", words) == ["Zebra"]


VECTORS = (["bank", "banks", "river", "doctor"], np.eye(4) + 0.5)


def test_most_similar_looks_up_the_known_words_and_reports_the_others():
    reports: list[Unknown] = []
    near = most_similar(VECTORS, ["Bank", "docter", "river"], unknown=reports.append)
    assert list(near["original"]) == ["bank", "river"]
    assert reports == [Unknown("docter", "vectors", ["doctor"])]
    assert near == most_similar(VECTORS, ["bank", "river"])
    message = "vectors: there is no word 'docter'; did you mean doctor\\?; .* 'zzz'$"
    with pytest.raises(UnknownWordsError, match=message) as raised:
        most_similar(VECTORS, ["bank", "docter", "zzz"])
    assert [each.word for each in raised.value.unknown] == ["docter", "zzz"]
    with pytest.raises(UnknownWordsError, match="docter"):  # no word is left
        most_similar(VECTORS, ["docter"], unknown=print)


def test_the_command_line_warns_and_goes_on(tmp_path):
    write_vectors(tmp_path / "v.txt", [VECTORS], count=4)
    done = call("neighbors", tmp_path / "v.txt", "Bank", "docter", "--methods", "original")
    assert done.returncode == 0
    assert "river" in done.stdout
    assert done.stderr.count("\n") == 1
    assert "no word 'docter'; did you mean doctor?" in done.stderr
    done = call("neighbors", tmp_path / "v.txt", "docter", "--methods", "original")
    assert done.returncode == 2
    assert "did you mean doctor?" in done.stderr
