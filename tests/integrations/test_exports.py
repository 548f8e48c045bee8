"""A map in FAISS, PyTorch, ONNX and JavaScript does what it does in NumPy."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conceptor import AffineMap, ConceptorNegation, estimator
from conceptor.algebra.itq import fit_itq
from conceptor.base.errors import InvalidInputError
from conceptor.integrations.exports import to_faiss, to_onnx, to_torch
from tests.processes import call

DOCS = Path(__file__).parents[2] / "docs"
TOLERANCE = {"atol": 1e-5, "rtol": 1e-5}


def blocks(page: str, language: str) -> list[str]:
    """Return the code of a page of the docs."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(params=["cn", "cn smaller", "abtt", "affine", "unit affine"])
def map_(request, vectors) -> AffineMap:
    """Maps with and without lengths, offsets and biases, and to fewer dimensions."""
    A, b = vectors[:12, :5] / 5, np.arange(5.0)
    return {
        "cn": lambda: ConceptorNegation().fit(vectors).map_,
        "cn smaller": lambda: ConceptorNegation(n_components=5).fit(vectors).map_,
        "abtt": lambda: estimator("abtt:n_directions=2").fit(vectors).map_,
        "affine": lambda: AffineMap(A, vectors[0], b),
        "unit affine": lambda: AffineMap(A, vectors[0], b, unit=True),
    }[request.param]()


@pytest.fixture
def rows(vectors) -> np.ndarray:
    """Vectors of many lengths, and one of zeros."""
    scaled = vectors * np.geomspace(1e-3, 10, len(vectors))[:, np.newaxis]
    return np.vstack([scaled, np.zeros(12)]).astype(np.float32)


def test_faiss_index(map_, rows, tmp_path):
    faiss = pytest.importorskip("faiss")
    index = to_faiss(map_, faiss.IndexFlatL2(map_.n_out))
    index.add(rows)
    faiss.write_index(index, str(tmp_path / "x.index"))
    again = faiss.read_index(str(tmp_path / "x.index"))
    stored = faiss.downcast_index(again.index).reconstruct_n(0, len(rows))
    np.testing.assert_allclose(stored, map_(rows), **TOLERANCE)
    distances, _ = again.search(rows[:20], 1)
    np.testing.assert_allclose(distances, 0, atol=1e-4)


def test_faiss_cosines(vectors):
    faiss = pytest.importorskip("faiss")
    fitted = ConceptorNegation(n_components=5).fit(vectors)
    index = to_faiss(fitted.map_, faiss.IndexFlatIP(5), normalize=True)
    index.add(vectors.astype(np.float32))
    better = fitted.transform(vectors)
    better /= np.linalg.norm(better, axis=1, keepdims=True)
    similarities, places = index.search(vectors[:30].astype(np.float32), 10)
    cosines = better[:30] @ better.T
    np.testing.assert_allclose(similarities, -np.sort(-cosines)[:, :10], atol=1e-5)
    assert (places[:, 0] == np.arange(30)).all()


def test_a_faiss_transform_by_itself(vectors):
    faiss = pytest.importorskip("faiss")
    linear = estimator("abtt:n_directions=2").fit(vectors).map_
    transform = to_faiss(linear)
    assert isinstance(transform, faiss.LinearTransform)
    rows = vectors.astype(np.float32)
    np.testing.assert_allclose(transform.apply(rows), linear(rows), **TOLERANCE)
    unit = ConceptorNegation().fit(vectors).map_
    for export in (lambda: to_faiss(unit), lambda: to_faiss(linear, normalize=True)):
        with pytest.raises(InvalidInputError, match="pass the index"):
            export()
    with pytest.raises(InvalidInputError, match="has 7 dimensions, but the map returns 12"):
        to_faiss(unit, faiss.IndexFlatL2(7))


def test_torch_layers(map_, rows):
    torch = pytest.importorskip("torch")
    layer = to_torch(map_)
    with torch.no_grad():
        result = layer(torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(result, map_(rows), **TOLERANCE)
    if map_.unit:
        for scale in (1e-16, 1e16):  # beyond it, squares do not fit into float32
            scaled = layer(torch.from_numpy(rows[-9:-1] * np.float32(scale))).detach().numpy()
            np.testing.assert_allclose(scaled, map_(rows[-9:-1]), **TOLERANCE)
    # It is made of PyTorch's modules only, so it loads without this library.
    modules = {type(module).__module__.partition(".")[0] for module in layer.modules()}
    assert modules == {"torch"}
    assert isinstance(layer, torch.nn.Sequential if map_.unit else torch.nn.Linear)


def test_onnx_session(map_, rows, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    to_onnx(map_, tmp_path / "map.onnx")
    session = runtime.InferenceSession(tmp_path / "map.onnx", providers=["CPUExecutionProvider"])
    # The scale of a vector makes no difference where lengths become 1.
    extreme = [rows[:9] * np.float32(scale) for scale in (1e-25, 1e25) if map_.unit]
    for part in (rows, rows[:1], rows[:0], *extreme):
        (result,) = session.run(["improved"], {"vectors": part})
        np.testing.assert_allclose(result, map_(part), **TOLERANCE)
    model = onnx.load(tmp_path / "map.onnx")
    onnx.checker.check_model(model, full_check=True)
    properties = {each.key: each.value for each in model.metadata_props}
    assert json.loads(properties["provenance"]) == map_.provenance


RUN = """
const rows = JSON.parse(require("fs").readFileSync("rows.json"));
console.log(JSON.stringify(rows.map(improve)));
"""


def test_json_in_javascript(map_, rows, tmp_path):
    if shutil.which("node") is None:
        pytest.skip("node runs the JavaScript")
    (script,) = blocks("guides/exporting.md", "js")
    (tmp_path / "map.json").write_text(map_.to_json())
    (tmp_path / "rows.json").write_text(json.dumps(rows.astype(float).tolist()))
    run = subprocess.run(
        ["node", "-e", script + RUN], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    np.testing.assert_allclose(json.loads(run.stdout), map_(rows), **TOLERANCE)


@pytest.mark.parametrize("library", ["faiss", "torch", "onnx"])
def test_a_missing_library_is_named(library, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, library, None)
    arguments = [tmp_path / "map.onnx"] if library == "onnx" else []
    with pytest.raises(ImportError, match=rf"pip install 'conceptor\[{library}\]'"):
        {"faiss": to_faiss, "torch": to_torch, "onnx": to_onnx}[library](
            AffineMap(np.eye(2)), *arguments
        )


def test_the_ten_lines_that_apply_a_saved_map(map_, rows, tmp_path, monkeypatch):
    """docs/reference/formats.md has them, for whoever cannot or will not install this library."""
    monkeypatch.chdir(tmp_path)
    map_.save("cn.safetensors")
    pages = blocks("reference/formats.md", "python")
    (code,) = (block for block in pages if "safe_open" in block)
    assert "conceptor import" not in code
    assert len(code.strip().splitlines()) <= 10
    names: dict[str, object] = {"vectors": rows}
    exec(code, names)
    np.testing.assert_allclose(names["improved"], map_(rows), **TOLERANCE)


def test_bits_behind_a_learned_rotation(tmp_path):
    """A file of bits, FAISS's own bits, and the signs of the map's results are the same."""
    faiss = pytest.importorskip("faiss")
    X = np.random.default_rng(0).standard_normal((400, 16)).astype(np.float32) + 0.4
    gentle = estimator("gentle").fit(X).map_
    map_ = gentle @ fit_itq(gentle(X))
    map_.save(tmp_path / "map.safetensors")
    np.save(tmp_path / "texts.npy", X)
    arguments = [tmp_path / "map.safetensors", tmp_path / "texts.npy", tmp_path / "bits.npy"]
    assert call("apply", *arguments, "--dtype", "binary").returncode == 0
    signs = map_(X) > 0
    assert (np.load(tmp_path / "bits.npy")["bits"] == np.packbits(signs, axis=1)).all()
    index = to_faiss(map_, faiss.IndexLSH(16, 16, False))
    index.add(X)
    nearest, _ = index.search(X[:20], 5)
    distances = (signs[:20, None] != signs[None]).sum(axis=2)
    assert (nearest == np.sort(distances, axis=1)[:, :5]).all()
