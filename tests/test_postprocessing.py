"""File to file: the same result whatever the format, the chunks, the memory or the compression."""

from __future__ import annotations

import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from conceptor import AffineMap
from conceptor.base.errors import InvalidInputError
from conceptor.base.threads import release_blas
from conceptor.fitting import FitOptions, Request, gather
from conceptor.postprocessing import fit, postprocess
from conceptor.vectors import open_vectors, write_vectors
from conceptor.vectors.chunks import even_chunks
from conceptor.vectors.conversion import convert
from conceptor.weights import parse_weights
from tests.platforms import linux_only, posix_only
from tests.processes import execute

PAPER, EVERY = "cn-paper", FitOptions(vocabulary="top:1000000")
WORDS = [f"w{i}" for i in range(3000)]
VECTORS = (np.random.default_rng(3).standard_normal((3000, 24)) @ np.diag(np.linspace(2, 0.1, 24))
           + 0.3).astype(np.float32)  # fmt: skip
NAMES = ["x.bin", "x.vec", "x.txt", "x.npy", "x.parquet", "x.feather", "x.safetensors",
         "x.txt.gz", "x.bin.gz", "x.vec.zst", "x.txt.zip", "x.bin.xz"]  # fmt: skip


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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("memory", [0, None])
def test_the_same_result_in_every_format_and_memory(name, memory, tmp_path, monkeypatch):
    for module in ("text", "npy", "arrow"):  # many chunks from a small file
        monkeypatch.setattr(f"conceptor.vectors.formats.{module}.BLOCK_BYTES", 20_000)
    write_vectors(tmp_path / name, [(WORDS, VECTORS)], count=len(WORDS))
    report = postprocess(tmp_path / name, tmp_path / f"out-{name}", PAPER, EVERY, memory=memory)
    words, got = open_vectors(tmp_path / f"out-{name}").read()
    assert words == WORDS
    np.testing.assert_allclose(got, conceptor_negation(VECTORS, np.ones(3000)), atol=1e-6)
    assert report.words == report.estimated_on == 3000


@pytest.mark.parametrize("rows", [1, 7, 1000, 5000])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_moments_in_any_chunks(rows, threads, source):
    zipf = parse_weights("zipf")
    whole = gather(open_vectors(source).chunks(), Request([zipf])).moments[zipf]
    chunks = even_chunks(open_vectors(source).chunks(), rows)
    parts = gather(chunks, Request([zipf]), threads=threads).moments[zipf]
    np.testing.assert_allclose(parts.second_moment, whole.second_moment, rtol=1e-12, atol=1e-12)
    assert parts.count == whole.count == 3000


def test_weights_and_vocabulary_decide_where_the_map_comes_from_not_what_it_maps(source, tmp_path):
    chosen = np.arange(10, 500)
    words = [WORDS[i] for i in chosen]
    options = FitOptions(weights="zipf", vocabulary=words)
    postprocess(source, tmp_path / "o.bin", "cn:aperture=2:power=1:unit=false", options)
    weights = np.zeros(3000)
    weights[chosen] = 1 / (chosen + 2.7)
    got_words, got = open_vectors(tmp_path / "o.bin").read()
    assert got_words == WORDS
    np.testing.assert_allclose(got, conceptor_negation(VECTORS, weights), atol=1e-6)


def test_top_words_only(source, tmp_path):
    report = postprocess(source, tmp_path / "o.bin", PAPER, FitOptions(vocabulary="top:100"))
    weights = (np.arange(3000) < 100).astype(float)
    got = open_vectors(tmp_path / "o.bin").to_array()
    np.testing.assert_allclose(got, conceptor_negation(VECTORS, weights), atol=1e-6)
    assert (report.words, report.estimated_on) == (3000, 100)


def test_half_sibling_regression_takes_each_kind_of_word_out_of_the_other(
    source, tmp_path, monkeypatch
):
    words = WORDS[:50]
    monkeypatch.setattr("conceptor.weights.find_paper_vocabulary", lambda _: None)

    def residual(rows, on):
        """Return what is left of rows after ridge regression on others, as their authors do."""
        S, T = on.T.astype(np.float64), rows.T.astype(np.float64)
        return (T - S @ np.linalg.solve(S.T @ S + 50 * np.eye(S.shape[1]), S.T @ T)).T

    postprocess(source, tmp_path / "o.bin", "hsr", FitOptions(function_words=words))
    expected = residual(VECTORS, VECTORS[:50])
    expected[:50] = residual(VECTORS[:50], VECTORS[50:1050])
    np.testing.assert_allclose(open_vectors(tmp_path / "o.bin").to_array(), expected, atol=1e-5)


def test_fit_then_apply_is_postprocess(source, tmp_path):
    method = "abtt:n_directions=3"
    postprocess(source, tmp_path / "one.bin", method, save_map=tmp_path / "map.safetensors")
    saved = AffineMap.load(tmp_path / "map.safetensors")
    solution, _ = fit(source, method)
    np.testing.assert_allclose(solution.map.matrix, saved.matrix, atol=1e-12)
    convert(source, tmp_path / "two.bin", saved)
    one, two = (open_vectors(tmp_path / name).read() for name in ("one.bin", "two.bin"))
    assert one[0] == two[0]
    assert (one[1] == two[1]).all()


def test_fit_reads_no_further_than_the_top_words(tmp_path, monkeypatch):
    monkeypatch.setattr("conceptor.vectors.formats.text.BLOCK_BYTES", 2_000)
    lines = [f"w{i} {i} {i % 7}" for i in range(20_000)]
    (tmp_path / "x.txt").write_text("\n".join([*lines, "bad row"]))
    solution = fit(tmp_path / "x.txt", PAPER, FitOptions(vocabulary="top:10"))[0].solution
    assert solution.moments.count == 10
    with pytest.raises(InvalidInputError, match="line 20001"):
        fit(tmp_path / "x.txt", PAPER, EVERY)


def test_figures_follow_from_spectrum_and_gate(source, tmp_path):
    report = postprocess(source, tmp_path / "o.bin", PAPER, EVERY)
    before = (VECTORS.astype(np.float64) ** 2).sum()
    after = (open_vectors(tmp_path / "o.bin").to_array().astype(np.float64) ** 2).sum()
    assert report.variance_removed == pytest.approx(1 - after / before, abs=1e-6)
    R = VECTORS.astype(np.float64).T @ VECTORS / 3000
    C = R @ np.linalg.inv(R + np.eye(24) / 4)
    assert report.quota == pytest.approx(np.trace(C) / 24)
    whitened = postprocess(source, tmp_path / "w.bin", "whitening")
    assert whitened.variance_removed is None


def test_duplicates_count_once(tmp_path):
    (tmp_path / "x.txt").write_text("a 1 0\nb 0 1\na 9 9\n")
    report = postprocess(tmp_path / "x.txt", tmp_path / "o.txt", PAPER, EVERY)
    expected = conceptor_negation(np.eye(2), np.ones(2))
    np.testing.assert_allclose(open_vectors(tmp_path / "o.txt").to_array(), expected, atol=1e-7)
    assert report.remarks == ["1 duplicate words dropped, the first of each kept"]


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


def test_a_map_for_another_dimension_is_refused(source, tmp_path):
    with pytest.raises(InvalidInputError, match=r"24 dimensions.*2-dimensional"):
        convert(source, tmp_path / "o.bin", AffineMap(np.eye(2)))


def test_a_vocabulary_that_does_not_meet_the_file(source, tmp_path):
    with pytest.raises(InvalidInputError, match="none of the words to fit on"):
        postprocess(source, tmp_path / "o.bin", "cn", FitOptions(weights={"x": 1}))
    assert not (tmp_path / "o.bin").exists()


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


def test_where_the_evidence_is_against_it_this_is_said_before_anything_is_written(tmp_path, rng):
    source, target = tmp_path / "even.txt", tmp_path / "better.txt"
    words = [f"w{i}" for i in range(300)]
    write_vectors(source, [(words, rng.normal(size=(300, 10)).astype(np.float32))])
    said = []
    postprocess(source, target, caution=lambda doubt: said.append((doubt, target.exists())))
    ((doubt, written),) = said
    assert "cn may not help: running text already spreads evenly" in doubt
    assert not written
    report = postprocess(source, target, force=True)
    assert doubt in report.remarks
    quiet = postprocess(source, target, "abtt", force=True)
    assert not any("not help" in remark for remark in quiet.remarks)


@pytest.mark.parametrize("count", [400, 40_000])
def test_bits_of_texts_are_taken_behind_a_learned_rotation(count, tmp_path, rng):
    """The saved map gives the same signs; its rotation loses less than none."""
    rows = rng.normal(size=(count, 8)).astype(np.float32) * np.geomspace(3, 0.3, 8) + 0.5
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

    solution, _ = fit(tmp_path / "texts.npy")
    plain = solution.map(np.load(tmp_path / "texts.npy"))
    assert lost(mapped) < lost(plain - plain.mean(axis=0))


def test_other_bits_are_plain_signs(source, tmp_path):
    """Those of words, and of fewer texts than dimensions."""
    postprocess(source, tmp_path / "b.npy", dtype="binary", save_map=tmp_path / "map")
    assert AffineMap.load(tmp_path / "map").provenance["method"] == "cn"
    np.save(tmp_path / "few.npy", np.eye(8, dtype=np.float32))
    target = tmp_path / "c.npy"
    postprocess(tmp_path / "few.npy", target, dtype="binary", save_map=tmp_path / "few")
    assert AffineMap.load(tmp_path / "few").provenance["method"] == "gentle"


def test_levelled_directions_before_bits_are_warned_about(tmp_path, rng):
    np.save(tmp_path / "texts.npy", rng.normal(size=(300, 8)).astype(np.float32) + 1)
    said = []
    options = {"dtype": "binary", "caution": said.append, "force": True}
    postprocess(tmp_path / "texts.npy", tmp_path / "bits.npy", "cn", **options)
    assert any("gentle keeps more neighbours in bits" in each for each in said)
    said.clear()
    postprocess(tmp_path / "texts.npy", tmp_path / "bits.npy", **options)
    postprocess(tmp_path / "texts.npy", tmp_path / "x.npy", "cn", caution=said.append)
    assert not any("bits" in each for each in said)


def test_an_aperture_of_zero_returns_the_input_s_bits(source, tmp_path):
    postprocess(source, tmp_path / "o.bin", "cn:aperture=0")
    before, after = (open_vectors(path).to_array() for path in (source, tmp_path / "o.bin"))
    assert before.tobytes() == after.tobytes()


def test_threads_side_by_side_leave_blas_as_it_was(source, tmp_path):
    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    limits = threadpool_limits(3)
    release_blas()
    try:
        before = threads()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda i: postprocess(source, tmp_path / f"{i}.bin", PAPER), range(12)))
        assert threads() == before
    finally:
        limits.restore_original_limits()
        release_blas()
