"""`debias` and `align` as real processes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from conceptor import AffineMap
from conceptor.vectors import open_vectors, write_vectors
from tests.processes import call, conceptor

WORDS = ["she", "he", "woman", "man", *(f"w{i}" for i in range(200))]
VECTORS = np.random.default_rng(0).standard_normal((204, 8)).astype(np.float32) + 0.5


@pytest.fixture
def folder(tmp_path):
    write_vectors(tmp_path / "in.bin", [(WORDS, VECTORS)])
    (tmp_path / "gender.txt").write_text("she he\nwoman man\naunt uncle\n")
    return tmp_path


def test_debias(folder):
    run = conceptor(
        "debias", "in.bin", "out.bin", "--concept", "gender=gender.txt", "--concept",
        "names=w1,w2,w3,w4", "--expression", "not (gender or names)",
        "--aperture", "gender=20, names=20",
        "--save-map", "map.safetensors", cwd=folder,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    assert "gender: 2 of 6 words have no vector" in run.stderr
    assert "204 words × 8" in run.stderr
    assert "not (gender or names); removed:" in run.stderr
    written = open_vectors(folder / "out.bin").to_array()
    map_ = AffineMap.load(folder / "map.safetensors")
    np.testing.assert_allclose(written, map_(VECTORS), atol=1e-6)
    # What tells the pairs apart is gone, and so are the names.
    before, after = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True), written
    for pair in ((0, 1), (2, 3)):
        gone, was = (np.linalg.norm(each[pair[0]] - each[pair[1]]) for each in (after, before))
        assert gone < 0.1 * was
    assert np.linalg.norm(after[5:9], axis=1).max() < 0.3


def test_debias_as_json(folder):
    run = call(
        "debias", "in.bin", "out.bin", "--concept", "g=she:he,woman:man", "--json", cwd=folder
    )
    found = json.loads(run.stdout)
    assert (found["words"], found["method"], found["aperture"]) == (204, "not (g)", None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "no concept and no expression was given"),
        (["--concept", "gender"], "it must be NAME=FILE"),
        (["--concept", "gender="], "it must be NAME=FILE"),
        (["--concept", "g=she:he", "--concept", "g=she,he"], "two concepts have the same name"),
        (["--concept", "not=she,he"], "cannot name a concept"),
        (["--concept", "usage=she,he"], "another name"),
        (["--concept", "g=nowhere.txt"], "nowhere.txt: no such file"),
        (["--concept", "g=she,unknown"], "1 of its 2 words have vectors"),
        (["--concept", "g=she,"], "has a single word"),
        (["--concept", "g=she,he", "--expression", "not (g or"], "expected a concept, found the"),
        (["--concept", "g=she,he", "--expression", "not h"], "uses h, which is not defined"),
        (["--concept", "g=she,he", "--aperture", "wide"], "--aperture is wide"),
        (["--concept", "g=she,he", "--aperture", "g=1,g=2"], "NAME=NUMBER,NAME=NUMBER, each name"),
        (["--concept", "g=she,he", "--aperture", "g="], "NAME=NUMBER"),
        (["--concept", "g=she,he", "--aperture", "g=wide"], "--aperture is wide"),
        (["--concept", "g=she,he", "--aperture", "h=2"], "for h, which is not in the expression"),
        (["--concept", "g=she,he", "--expression", "g", "--aperture", "0"], "leaves nothing"),
        (["--concept", "g=she:she"], "its pairs have equal vectors"),
        (["--concept", "g=she,he", "--save-map", "in.bin"], "in.bin"),
        (["--concept", "g=gender.txt", "--save-map", "gender.txt"], "gender.txt: is the input"),
    ],
)
def test_what_debias_refuses(folder, options, message):
    run = call("debias", "in.bin", "out.bin", *options, cwd=folder)
    assert run.returncode == 2
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert not (folder / "out.bin").exists()


@pytest.mark.slow
def test_bias_before_and_after(folder, data):
    path = f"{data}/vectors/googlenews-13k.bin"
    run = conceptor(
        "debias", path, "fair.bin", "--concept", "gender=she:he,woman:man,daughter:son",
        "--measure", "--data", data, "--json", cwd=folder,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    before, after = (method["bias"] for method in json.loads(run.stdout)["methods"])
    assert before["WEAT 7 math/arts"]["value"] > 0.9
    assert (
        after["direct bias of professions"]["value"] < before["direct bias of professions"]["value"]
    )


def test_align(folder):
    rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((8, 8)))[0]
    write_vectors(
        folder / "fr.bin", [([f"{w}-fr" for w in WORDS], VECTORS @ rotation.astype(np.float32))]
    )
    (folder / "dict.tsv").write_text("".join(f"{w}\t{w}-fr\n" for w in WORDS[:100]))
    (folder / "test.tsv").write_text("".join(f"{w}\t{w}-fr\n" for w in WORDS[100:]))
    arguments = ("align", "in.bin", "fr.bin", "dict.tsv", "--out-dir", "aligned")
    run = conceptor(*arguments, "--test", "test.tsv", "--json", cwd=folder)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["pairs"] == found["listed"] == 100
    assert found["test"]["cosine"]["P@1"] == found["test"]["csls"]["P@1"] == 100
    left, right = (open_vectors(folder / "aligned" / f).to_array() for f in ("in.bin", "fr.bin"))
    np.testing.assert_allclose(left, right, atol=1e-4)
    run = call(*arguments, cwd=folder)
    assert run.returncode == 2
    assert "--force" in run.stderr
    run = call(*arguments, "--force", "--test", "test.tsv", cwd=folder)
    assert run.stdout.count("100.0") == 6
    run = call("align", "in.bin", "fr.bin", "gender.txt", "--out-dir", "x", cwd=folder)
    assert run.returncode == 2
    assert "0 of the dictionary's 3 pairs" in run.stderr
    run = call("align", "-", "fr.bin", "dict.tsv", "--out-dir", "x", cwd=folder)
    assert run.returncode == 2
    assert "name a file instead of -" in run.stderr
    assert not (folder / "x").exists()
