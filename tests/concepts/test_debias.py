from __future__ import annotations

import numpy as np
import pytest

from conceptor import Conceptor, open_vectors, postprocess, write_vectors
from conceptor.algebra.gates import scale_free_aperture
from conceptor.algebra.spectrum import Spectrum
from conceptor.base.errors import InvalidInputError
from conceptor.concepts.debias import debias, solve_expression
from conceptor.concepts.lists import Concept, learn_concepts
from conceptor.vectors.table import WordVectors
from tests.vectors.whole import read_all

PAIRS = [("she", "he"), ("woman", "man"), ("aunt", "uncle")]


@pytest.fixture
def table() -> WordVectors:
    """Words with a meaning each, and gender as one direction of eight."""
    rng = np.random.default_rng(7)
    base = {pair: rng.standard_normal(8) for pair in PAIRS}
    gender = 2 * np.eye(8)[0]
    rows = {}
    for (female, male), meaning in base.items():
        rows |= {female: meaning - gender, male: meaning + gender}
    rows |= {f"word{i}": rng.standard_normal(8) for i in range(300)}
    return WordVectors(list(rows), np.array(list(rows.values()), dtype=np.float32))


@pytest.fixture
def file(table, tmp_path):
    path = tmp_path / "vectors.bin"
    write_vectors(path, [(table.words, table.vectors)])
    return path


def test_a_concept_in_all_its_forms(tmp_path) -> None:
    forms = ["she:he,woman:man,aunt:uncle", " she:he , woman:man,aunt:uncle,", iter(PAIRS)]
    for value in (*forms, [list(pair) for pair in PAIRS]):
        assert Concept.parse(value).items == tuple(PAIRS)
    path = tmp_path / "list, with a comma.txt"
    for text, items in {
        "she\the\nwoman man\n\n": (("she", "he"), ("woman", "man")),
        "\ufeffshe\r\nher\r\n": (("she",), ("her",)),
        "New York\tLos Angeles\na\tb\n": (("New York", "Los Angeles"), ("a", "b")),
    }.items():
        path.write_text(text, encoding="utf-8")
        assert Concept.parse(str(path)).items == items


def test_wrong_lists(tmp_path) -> None:
    path = tmp_path / "list.txt"
    for text in ("", "she\nshe\n", "she\nher hers\n", "she her hers\n"):
        path.write_text(text)
        with pytest.raises(InvalidInputError, match="a concept must be a list of"):
            Concept.parse(path)
    with pytest.raises(InvalidInputError, match="no such file"):
        Concept.parse("nowhere.txt")
    with pytest.raises(InvalidInputError, match="not 3"):
        Concept.parse(3)


def test_unknown_words_are_counted_and_too_few_known_ones_are_refused(table) -> None:
    moments, remarks = learn_concepts(table, {"gender": [*PAIRS, ("her", "him")]})
    assert moments["gender"].count == 3
    assert remarks == ["gender: 2 of 8 words have no vector and were left out: her, him"]
    with pytest.raises(InvalidInputError, match="1 of its 2 words have vectors"):
        learn_concepts(table, {"gender": ["she", "unknown"]})
    with pytest.raises(InvalidInputError, match="0 of its 1 pairs"):
        learn_concepts(table, {"gender": [("she", "unknown")]})
    with pytest.raises(InvalidInputError, match="give the concept another name"):
        learn_concepts(table, {"usage": PAIRS})


def test_the_conceptor_of_words_and_of_differences(table) -> None:
    """Computed by hand: unit vectors, and differences of those."""
    unit = {
        word: row / np.linalg.norm(row)
        for word, row in zip(table.words, table.vectors.astype(np.float64), strict=True)
    }
    words = ["she", "word1", "word2"]
    concepts = {"words": words, "pairs": PAIRS}
    rows = np.array([unit[word] for word in words])
    differences = np.array([unit[a] - unit[b] for a, b in PAIRS])
    for name, each in (("words", rows), ("pairs", differences)):
        expected = Conceptor.from_vectors(each, 3.0).matrix
        solved = solve_expression(table, concepts, name, aperture=3.0).conceptor
        np.testing.assert_allclose(solved.matrix, expected, atol=1e-6)


def test_differences_are_removed_and_the_rest_stays(table) -> None:
    solved = solve_expression(table, {"gender": PAIRS}, aperture=1000.0)
    unit = WordVectors(table.words, solved.map(table.vectors))
    female, male = (unit.vectors[unit.rows(side)] for side in zip(*PAIRS, strict=True))
    assert np.abs(female - male).max() < 1e-3
    # The differences span three of eight directions; all else is untouched.
    np.testing.assert_allclose(solved.conceptor.quota, 5 / 8, atol=1e-4)
    # At aperture 0 only lengths change.
    solved = solve_expression(table, {"gender": PAIRS}, aperture=0.0)
    expected = table.vectors / np.linalg.norm(table.vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(solved.map(table.vectors), expected, atol=1e-6)


def test_one_aperture_is_for_all_concepts_but_usage(table) -> None:
    lists = {"gender": PAIRS, "words": ["word1", "word2", "word3"]}
    solved = solve_expression(table, lists, "not (usage or gender or words)", aperture=5.0)
    moments, _ = learn_concepts(table, lists, ["usage", *lists])
    gender, words = (
        Conceptor.from_second_moment(moments[name].second_moment, 5.0) for name in lists
    )
    automatic = scale_free_aperture(Spectrum.from_matrix(moments["usage"].second_moment).values)
    usage = Conceptor.from_second_moment(moments["usage"].second_moment, automatic)
    np.testing.assert_allclose(solved.map.matrix, (~(usage | gender | words)).matrix, atol=1e-7)
    assert solved.map.provenance["aperture"] == 5.0


def test_not_usage_is_conceptor_negation(file, tmp_path) -> None:
    """`not usage`, to the power ½, writes the same as `postprocess` with unit vectors."""
    postprocess(file, tmp_path / "cn.bin", "cn:lengths=unit")
    debias(file, tmp_path / "not-usage.bin", {}, "not usage", power=0.5)
    rows = [read_all(open_vectors(tmp_path / name))[1] for name in ("cn.bin", "not-usage.bin")]
    np.testing.assert_allclose(*rows, atol=1e-6)


def test_expressions_and_lists_that_leave_nothing(table) -> None:
    with pytest.raises(InvalidInputError, match="'gender' leaves nothing of the vectors"):
        solve_expression(table, {"gender": PAIRS}, "gender", aperture=0.0)
    with pytest.raises(InvalidInputError, match="its pairs have equal vectors"):
        solve_expression(table, {"gender": [("she", "she")]})
