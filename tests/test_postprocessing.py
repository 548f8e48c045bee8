"""File to file: the same result whatever the format, the chunks, the memory or the compression."""

from __future__ import annotations

import sys
import textwrap

import numpy as np
import pytest

from conceptor import AffineMap, estimator
from conceptor.base.errors import InvalidInputError
from conceptor.fit import FitOptions
from conceptor.postprocessing import convert, postprocess
from conceptor.vectors import open_vectors, write_vectors
from tests.platforms import linux_only, posix_only
from tests.processes import execute
from tests.vectors.whole import read_all

PAPER, EVERY = "cn-paper", FitOptions(vocabulary="top:1000000")
WORDS = [f"w{i}" for i in range(3000)]
VECTORS = (np.random.default_rng(3).standard_normal((3000, 24)) @ np.diag(np.linspace(2, 0.1, 24))
           + 0.3).astype(np.float32)  # fmt: skip
NAMES = ["x.bin", "x.vec", "x.txt", "x.npy", "x.parquet", "x.feather",
         "x.txt.gz", "x.vec.zst", "x.bin.xz"]  # fmt: skip


def rows_of(path):
    return read_all(open_vectors(path))[1]


def conceptor_negation(vectors, weights, aperture=2.0):
    """The paper's closed form, in float64, independent of the library."""
    X = vectors.astype(np.float64)
    p = weights / weights.sum()
    R = (X * p[:, None]).T @ X
    identity = np.eye(len(R))
    C = R @ np.linalg.inv(R + aperture**-2 * identity)
    return X @ (identity - C)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.bin"
    write_vectors(path, [(WORDS, VECTORS)])
    return path


@pytest.mark.parametrize(
    ("name", "memory"), [*((name, None) for name in NAMES), ("x.vec", 0), ("x.txt.gz", 0)]
)
def test_the_same_result_in_every_format_and_memory(name, memory, tmp_path):
    write_vectors(tmp_path / name, [(WORDS, VECTORS)], count=len(WORDS))
    report = postprocess(tmp_path / name, tmp_path / f"out-{name}", PAPER, EVERY, memory=memory)
    words, got = read_all(open_vectors(tmp_path / f"out-{name}"))
    assert words == WORDS
    np.testing.assert_allclose(got, conceptor_negation(VECTORS, np.ones(3000)), atol=1e-6)
    assert report.words == report.estimated_on == 3000


def test_weights_and_vocabulary_decide_where_the_map_comes_from_not_what_it_maps(source, tmp_path):
    chosen = np.arange(10, 500)
    words = [WORDS[i] for i in chosen]
    options = FitOptions(weights="zipf", vocabulary=words)
    postprocess(source, tmp_path / "o.bin", "cn:power=1:lengths=kept", options, aperture=2)
    weights = np.zeros(3000)
    weights[chosen] = 1 / (chosen + 2.7)
    got_words, got = read_all(open_vectors(tmp_path / "o.bin"))
    assert got_words == WORDS
    np.testing.assert_allclose(got, conceptor_negation(VECTORS, weights), atol=1e-6)


def test_figures_follow_from_spectrum_and_gate(source, tmp_path):
    report = postprocess(source, tmp_path / "o.bin", PAPER, EVERY)
    before = (VECTORS.astype(np.float64) ** 2).sum()
    after = (rows_of(tmp_path / "o.bin").astype(np.float64) ** 2).sum()
    assert report.variance_removed == pytest.approx(1 - after / before, abs=1e-6)
    R = VECTORS.astype(np.float64).T @ VECTORS / 3000
    C = R @ np.linalg.inv(R + np.eye(24) / 4)
    assert report.quota == pytest.approx(np.trace(C) / 24)
    whitened = postprocess(source, tmp_path / "w.bin", "whitening")
    assert whitened.variance_removed is None


@posix_only("makes a symbolic link")
def test_nothing_is_written_over_the_input(source, tmp_path):
    before = source.read_bytes()
    (tmp_path / "link.bin").symlink_to(source)
    (tmp_path / "hard.bin").hardlink_to(source)
    for target in (source, tmp_path / "link.bin", tmp_path / "hard.bin", tmp_path / "." / "in.bin"):
        with pytest.raises(InvalidInputError, match="is the input"):
            postprocess(source, target, PAPER, force=True)
    with pytest.raises(InvalidInputError, match="is the input"):
        postprocess(source, tmp_path / "o.bin", PAPER, save_map=source, force=True)
    np.save(tmp_path / "y.npy", VECTORS)
    (tmp_path / "y.txt").write_text("".join(f"{word}\n" for word in WORDS))
    with pytest.raises(InvalidInputError, match="is the input"):
        convert(tmp_path / "y.npy", tmp_path / "y.txt", force=True)
    assert source.read_bytes() == before


MEMORY_PROBE = """
    import sys
    from conceptor.postprocessing import postprocess
    postprocess(sys.argv[1], sys.argv[2], memory=100_000_000, force=True)
    status = open("/proc/self/status").read()
    print(int(status.split("VmHWM:")[1].split()[0]) / 1024)
"""


@linux_only("reads /proc/self/status")
@pytest.mark.parametrize("name", ["x.bin", pytest.param("x.vec", marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_the_vocabulary(name, tmp_path):
    def peak(rows: int) -> float:
        def chunks():
            rng = np.random.default_rng(0)
            for start in range(0, rows, 50_000):
                count = min(50_000, rows - start)
                words = [f"w{i}" for i in range(start, start + count)]
                yield words, rng.standard_normal((count, 100), dtype=np.float32)

        write_vectors(tmp_path / name, chunks(), force=True)
        code = textwrap.dedent(MEMORY_PROBE)
        run = execute([sys.executable, "-c", code, tmp_path / name, tmp_path / "o.bin"])
        assert run.returncode == 0, run.stderr
        return float(run.stdout)

    # 160 MB of vectors, more than the budget, beside a file well within it.
    small, large = peak(50_000), peak(400_000)
    assert large < 600, (small, large)
    assert large < small + 125, (small, large)
    for path in tmp_path.iterdir():
        path.unlink()


def test_users_are_warned_before_anything_is_written_if_it_may_not_help(tmp_path, rng):
    source, target = tmp_path / "even.txt", tmp_path / "better.txt"
    words = [f"w{i}" for i in range(300)]
    write_vectors(source, [(words, rng.normal(size=(300, 10)).astype(np.float32))])
    cautions = []
    postprocess(source, target, caution=lambda doubt: cautions.append((doubt, target.exists())))
    ((doubt, written),) = cautions
    assert "cn may not help: running text already spreads evenly" in doubt
    assert not written
    report = postprocess(source, target, force=True)
    assert doubt in report.remarks
    quiet = postprocess(source, target, "abtt", force=True)
    assert not any("not help" in remark for remark in quiet.remarks)


def test_bits_of_texts_are_taken_behind_a_learned_rotation(tmp_path, rng):
    """The saved map gives the same signs; its rotation loses less than none."""
    rows = rng.normal(size=(20_000, 8)).astype(np.float32) * np.geomspace(3, 0.3, 8) + 0.5
    np.save(tmp_path / "texts.npy", rows.astype(np.float32))
    targets = {"dtype": "binary", "save_map": tmp_path / "map"}
    report = postprocess(tmp_path / "texts.npy", tmp_path / "bits.npy", **targets)
    assert report.method == "gentle"
    map_ = AffineMap.load(tmp_path / "map")
    assert [step["method"] for step in map_.provenance["steps"]] == ["gentle", "itq"]
    bits = np.load(tmp_path / "bits.npy")["bits"]
    mapped = map_(np.load(tmp_path / "texts.npy"))
    assert (bits == np.packbits(mapped > 0, axis=1)).all()

    def lost(numbers):
        return 1 - np.abs(numbers).sum() ** 2 / (numbers.size * np.sum(numbers**2))

    plain = estimator("gentle").fit_transform(np.load(tmp_path / "texts.npy"))
    assert lost(mapped) < lost(plain - plain.mean(axis=0))


def test_leveled_directions_before_bits_are_warned_about(tmp_path, rng):
    np.save(tmp_path / "texts.npy", rng.normal(size=(300, 8)).astype(np.float32) + 1)
    cautions = []
    for method, dtype in (("cn", "binary"), (None, "binary"), ("cn", None)):
        options = {"dtype": dtype, "caution": cautions.append, "force": True}
        postprocess(tmp_path / "texts.npy", tmp_path / "x.npy", method, **options)
        (warned,) = [each for each in cautions if "bits" in each]  # of the first call only
    assert "gentle keeps more neighbors in bits" in warned
    np.save(tmp_path / "few.npy", np.eye(8, dtype=np.float32))  # too few to learn a rotation
    postprocess(tmp_path / "few.npy", tmp_path / "c.npy", dtype="binary", save_map=tmp_path / "m")
    assert AffineMap.load(tmp_path / "m").provenance["method"] == "gentle"


def test_an_aperture_of_zero_changes_nothing(source, tmp_path):
    postprocess(source, tmp_path / "o.bin", "cn:aperture=0")
    assert (rows_of(source) == rows_of(tmp_path / "o.bin")).all()
