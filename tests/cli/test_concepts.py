"""`debias`; `neighbors` is tested with the searches."""

from __future__ import annotations

import json

import numpy as np
import pytest

from conceptor import AffineMap, open_vectors, write_vectors
from tests.processes import assert_one_line, call

WORDS = ["she", "he", "woman", "man", *(f"w{i}" for i in range(200))]
VECTORS = np.random.default_rng(0).standard_normal((204, 8)).astype(np.float32) + 0.5


@pytest.fixture
def folder(tmp_path):
    write_vectors(tmp_path / "in.bin", [(WORDS, VECTORS)])
    (tmp_path / "gender.txt").write_text("she he\nwoman man\naunt uncle\n")
    return tmp_path


def test_debias(folder):
    run = call(
        "debias", "in.bin", "out.bin", "--concept", "gender=gender.txt", "--concept",
        "names=w1,w2,w3,w4", "--expression", "not (gender or names)",
        "--aperture", "20",
        "--save-map", "map.safetensors", cwd=folder,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    assert "gender: 2 of 6 words have no vector" in run.stderr
    assert "204 words × 8" in run.stderr
    assert "not (gender or names); removed:" in run.stderr
    ((_, written),) = open_vectors(folder / "out.bin").chunks()
    map_ = AffineMap.load(folder / "map.safetensors")
    np.testing.assert_allclose(written, map_(VECTORS), atol=1e-6)
    # The differences of the pairs are removed, and so are the names.
    before = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    for female, male in ((0, 1), (2, 3)):
        distances = [np.linalg.norm(rows[female] - rows[male]) for rows in (before, written)]
        assert distances[1] < 0.1 * distances[0]
    assert np.linalg.norm(written[5:9], axis=1).max() < 0.3
    arguments = ["--concept", "g=she:he,woman:man", "--json"]
    report = json.loads(call("debias", "in.bin", "other.bin", *arguments, cwd=folder).stdout)
    assert (report["words"], report["method"], report["aperture"]) == (204, "not (g)", None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "no concept and no expression was given"),
        (["--concept", "gender="], "it must be NAME=LIST"),
        (["--concept", "g=she:he", "--concept", "g=she,he"], "each name once"),
        (["--concept", "not=she,he"], "cannot name a concept"),
        (["--concept", "g=nowhere.txt"], "nowhere.txt: no such file"),
        (["--concept", "g=she,unknown"], "1 of its 2 words have vectors"),
        (["--concept", "g=she,he", "--expression", "not (g or"], "is not one of names"),
        (["--concept", "g=she,he", "--expression", "not h"], "uses h, which is not defined"),
        (["--concept", "g=she,he", "--aperture", "wide"], "--aperture is wide"),
        (["--concept", "g=she,he", "--save-map", "in.bin"], "in.bin"),
        (["--concept", "g=she,he", "--save-map", "out.bin"], "out.bin"),
    ],
)
def test_wrong_calls_of_debias(folder, options, message):
    assert_one_line(call("debias", "in.bin", "out.bin", *options, cwd=folder), message)
    assert not (folder / "out.bin").exists()


@pytest.mark.slow
def test_bias_before_and_after(folder, data):
    path = f"{data}/vectors/googlenews-13k.bin"
    run = call(
        "debias", path, "fair.bin", "--concept", "gender=she:he,woman:man,daughter:son",
        "--measure", "--data", data, "--json", cwd=folder,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    before, after = (method["bias"] for method in json.loads(run.stdout)["methods"])
    assert before["WEAT 7 math/arts"]["value"] > 0.9
    assert (
        after["direct bias of professions"]["value"] < before["direct bias of professions"]["value"]
    )
