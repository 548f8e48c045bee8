from __future__ import annotations

import numpy as np
import pytest

from conceptor.base.errors import InvalidInputError
from conceptor.concepts.found import (
    Unknown,
    UnknownWordsError,
    spellings,
    split_known,
    suggest,
)
from conceptor.concepts.neighbours import most_similar
from conceptor.vectors.files import write_vectors
from tests.processes import call

WORDS = ["the", "doctor", "Paris", "doctors", "bank", "PARIS", "parish", "Bank", "日本"]


def test_a_word_is_looked_up_as_typed_and_then_in_lower_case():
    assert spellings("Bank") == ["Bank", "bank"]
    assert split_known(["Bank", "DOCTOR", "paris", "bank"], set(WORDS)) == (
        ["Bank", "doctor", "bank"],
        ["paris"],
    )


def test_known_words_stay_and_are_named_once():
    assert split_known(["bank", "x", "BANK", "x"], set(WORDS)) == (["bank"], ["x"])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("paris", ["Paris", "PARIS", "parish"]),
        ("docter", ["doctor", "doctors"]),
        ("Docter", ["doctor", "doctors"]),
        ("THE", ["the"]),
        ("zzzzz", []),
        ("", []),
        ("日", []),
    ],
)
def test_another_case_comes_before_another_spelling(typed, meant):
    assert suggest(typed, WORDS) == meant


def test_only_common_words_are_spelling_suggestions_but_any_word_in_another_case():
    words = [f"w{i:06}" for i in range(100_000)] + ["Zebra", "zebras"]
    assert suggest("zebra", words) == ["Zebra"]


def test_the_error_names_every_word_and_its_suggestions():
    unknown = [Unknown("docter", "my.bin", ["doctor"]), Unknown("qqq", "my.bin")]
    error = UnknownWordsError(unknown)
    assert isinstance(error, InvalidInputError)
    assert str(error) == (
        "my.bin: there is no word 'docter'; did you mean doctor?; my.bin: there is no word 'qqq'"
    )


VECTORS = (["bank", "banks", "river", "doctor"], np.eye(4) + 0.5)


def test_most_similar_looks_up_what_is_known_and_tells_of_the_others():
    told: list[Unknown] = []
    found = most_similar(VECTORS, ["Bank", "docter", "river"], unknown=told.append)
    assert list(found["original"]) == ["bank", "river"]
    assert told == [Unknown("docter", "vectors", ["doctor"])]
    alone = most_similar(VECTORS, ["bank", "river"])
    assert found == alone


def test_most_similar_raises_for_unknown_words_unless_it_can_tell():
    with pytest.raises(UnknownWordsError, match="no word 'docter'; did you mean doctor"):
        most_similar(VECTORS, ["bank", "docter"])
    with pytest.raises(UnknownWordsError, match="docter"):
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
