"""Methods in the downstream task, from vectors to a study."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from conceptor import ConceptorNegation, InvalidInputError, MissingExtraError
from conceptor.evaluation import WordVectors
from conceptor.paper.dialogue.comparing import (
    FewWordsWarning,
    compare_dialogue,
    embed_corpus,
    validate_methods,
    validate_slots,
)
from conceptor.paper.dialogue.embedding import Embedding
from conceptor.paper.dialogue.options import TrackerOptions
from tests.dialogues import MADE_CORPUS

QUICK = TrackerOptions(epochs=2, batch=16, batches=4)


@pytest.fixture
def word_vectors(rng) -> WordVectors:
    words = [*sorted(MADE_CORPUS.words), *(f"word{i}" for i in range(200))]
    return WordVectors(words, rng.standard_normal((len(words), 8)) + 0.5)


def test_each_method_has_its_own_vectors_and_the_control_one_for_each_seed(
    word_vectors,
) -> None:
    methods = ["original", "cn", "random"]
    prepared = embed_corpus(word_vectors, MADE_CORPUS, methods)
    jobs = prepared.jobs(methods, [0, 1], ["area"])
    by_run = {(job.method, job.seed): job.embedding for job in jobs}
    assert len(by_run) == 6
    usage = ConceptorNegation(weights="zipf").fit(word_vectors.vectors)
    cn = usage.map_(word_vectors.vectors)
    expected = Embedding.from_vectors(word_vectors.with_vectors(cn), MADE_CORPUS.words)
    np.testing.assert_allclose(by_run["cn", 1].units, expected.units, atol=1e-6)
    assert by_run["original", 0] is by_run["original", 1]
    one, two = by_run["random", 0].vector("cheap"), by_run["random", 1].vector("cheap")
    assert not np.allclose(one, two)
    assert by_run["random", 0].dimension == 8


def test_a_study_from_vectors(word_vectors) -> None:
    kept = []
    study = compare_dialogue(
        word_vectors,
        MADE_CORPUS,
        ["random", "original"],
        slots=["area", "price range"],
        seeds=[3, 4],
        options=QUICK,
        workers=1,
        name="made",
        keep=lambda job, weights: kept.append((job.method, job.seed, job.slot, len(weights))),
    )
    assert study.vectors == "made"
    assert study.methods == ["random", "original"]
    assert study.goals == ["price range", "area"]
    assert all(list(runs) == [3, 4] for runs in study.runs.values())
    assert len(kept) == 8
    assert "the vectors cover" in study.notes[0]
    assert len(study.runs["original"][3].curves["area"]) == 2


def test_a_study_continues_from_its_log(word_vectors, tmp_path) -> None:
    log, trained = tmp_path / "trials.jsonl", []

    def run(seeds):
        return compare_dialogue(
            word_vectors,
            MADE_CORPUS,
            ["original", "random"],
            slots=["area"],
            seeds=seeds,
            options=QUICK,
            workers=1,
            keep=lambda job, weights: trained.append((job.seed, job.method)),
            log=log,
        )

    run(1)
    study = run(2)
    assert trained == [(seed, method) for seed in (0, 1) for method in ("original", "random")]
    assert list(study.runs["random"]) == [0, 1]


def test_few_words_are_told_and_none_refused(rng) -> None:
    few = WordVectors(["cheap", "north", "zzz"], rng.standard_normal((3, 4)))
    with pytest.warns(FewWordsWarning, match=r"cover 2 of 2\d words, 8\.3% of the 144 spoken"):
        embed_corpus(few, MADE_CORPUS, ["original"])
    with pytest.raises(InvalidInputError, match="none of the dialogues' words"):
        embed_corpus(WordVectors(["zzz"], np.ones((1, 4))), MADE_CORPUS, ["original"])


def test_names_are_checked() -> None:
    assert validate_methods(["random", "cn", "random"]) == ["random", "cn"]
    assert validate_slots(["area", "food", "area"]) == ["food", "area"]
    with pytest.raises(InvalidInputError, match="unknown method 'x'"):
        validate_methods(["random", "x"])
    with pytest.raises(InvalidInputError, match="unknown slot 'x'"):
        validate_slots(["x"])
    for check in (validate_methods, validate_slots):
        with pytest.raises(InvalidInputError, match="were given"):
            check([])


def test_at_least_one_seed(word_vectors) -> None:
    with pytest.raises(InvalidInputError, match="no seeds were given"):
        compare_dialogue(word_vectors, MADE_CORPUS, seeds=0)


def test_without_torch_it_says_how_to_get_it(word_vectors, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'conceptor\[dialogue\]'"):
        compare_dialogue(word_vectors, MADE_CORPUS)
