"""A map in FAISS, PyTorch, ONNX and JavaScript does what it does in NumPy."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from conceptor import AffineMap, AllButTheTop, ConceptorNegation, InvalidInputError
from tests.processes import execute
from tests.test_docs import ROOT, blocks

TOLERANCE = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture(params=["cn", "cn smaller", "abtt", "affine", "unit affine"])
def map_(request, vectors) -> AffineMap:
    """Maps with and without lengths, offsets and biases, and to fewer dimensions."""
    A, b = vectors[:12, :5] / 5, np.arange(5.0)
    return {
        "cn": lambda: ConceptorNegation().fit(vectors).map_,
        "cn smaller": lambda: ConceptorNegation(n_components=5).fit(vectors).map_,
        "abtt": lambda: AllButTheTop(2).fit(vectors).map_,
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
    index = map_.to_faiss(faiss.IndexFlatL2(map_.n_out))
    index.add(rows)
    faiss.write_index(index, str(tmp_path / "x.index"))
    again = faiss.read_index(str(tmp_path / "x.index"))
    expected = map_(rows)
    for found in (index, again):
        # What the inner index holds are the mapped vectors.
        inner = faiss.downcast_index(found.index)
        stored = inner.reconstruct_n(0, len(rows))
        np.testing.assert_allclose(stored, expected, **TOLERANCE)
        distances, places = found.search(rows[:20], 1)
        np.testing.assert_allclose(distances, 0, atol=1e-4)
        assert (np.abs(expected[places[:, 0]] - expected[:20]).max(axis=1) < 1e-3).all()


def test_faiss_cosines(vectors):
    faiss = pytest.importorskip("faiss")
    fitted = ConceptorNegation(n_components=5).fit(vectors)
    index = fitted.map_.to_faiss(faiss.IndexFlatIP(5), normalize=True)
    index.add(vectors.astype(np.float32))
    better = fitted.transform(vectors)
    better /= np.linalg.norm(better, axis=1, keepdims=True)
    similarities, places = index.search(vectors[:30].astype(np.float32), 10)
    cosines = better[:30] @ better.T
    np.testing.assert_allclose(similarities, -np.sort(-cosines)[:, :10], atol=1e-5)
    assert (places[:, 0] == np.arange(30)).all()


def test_a_faiss_transform_by_itself(vectors):
    faiss = pytest.importorskip("faiss")
    linear = AllButTheTop(2).fit(vectors).map_
    transform = linear.to_faiss()
    assert isinstance(transform, faiss.LinearTransform)
    rows = vectors.astype(np.float32)
    np.testing.assert_allclose(transform.apply(rows), linear(rows), **TOLERANCE)
    unit = ConceptorNegation().fit(vectors).map_
    for call in (unit.to_faiss, lambda: linear.to_faiss(normalize=True)):
        with pytest.raises(InvalidInputError, match="pass the index"):
            call()
    with pytest.raises(InvalidInputError, match="for 7 dimensions, the map gives 12"):
        unit.to_faiss(faiss.IndexFlatL2(7))


def test_torch_layers(map_, rows):
    torch = pytest.importorskip("torch")
    layer = map_.to_torch()
    with torch.no_grad():
        result = layer(torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(result, map_(rows), **TOLERANCE)
    one = layer(torch.from_numpy(rows[3])).detach().numpy()
    np.testing.assert_allclose(one, map_(rows[3]), **TOLERANCE)
    # It is made of PyTorch's modules only, so it loads without this library.
    modules = {type(module).__module__.partition(".")[0] for module in layer.modules()}
    assert modules == {"torch"}
    buffer = io.BytesIO()
    torch.save(layer.state_dict(), buffer)
    buffer.seek(0)
    again = map_.to_torch()
    again.load_state_dict(torch.load(buffer, weights_only=True))
    assert isinstance(layer, torch.nn.Sequential if map_.unit else torch.nn.Linear)


def test_torch_double_precision_and_training(vectors):
    torch = pytest.importorskip("torch")
    map_ = ConceptorNegation().fit(vectors).map_
    layer = map_.to_torch()
    x = torch.from_numpy(vectors.astype(np.float32)).requires_grad_()
    layer(x).pow(2).sum().backward()
    assert torch.isfinite(x.grad).all()
    assert layer[1].weight.grad.shape == (12, 12)


def test_onnx_session(map_, rows, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    map_.to_onnx(tmp_path / "map.onnx")
    session = runtime.InferenceSession(tmp_path / "map.onnx", providers=["CPUExecutionProvider"])
    for part in (rows, rows[:1], rows[:0]):
        (result,) = session.run(["improved"], {"vectors": part})
        np.testing.assert_allclose(result, map_(part), **TOLERANCE)
    model = onnx.load(tmp_path / "map.onnx")
    onnx.checker.check_model(model, full_check=True)
    told = {each.key: each.value for each in model.metadata_props}
    assert json.loads(told["provenance"]) == map_.provenance


RUN = """
const rows = JSON.parse(require("fs").readFileSync("rows.json"));
console.log(JSON.stringify(rows.map(improve)));
"""


def test_json_in_javascript(map_, rows, tmp_path):
    if shutil.which("node") is None:
        pytest.skip("node runs the JavaScript")
    (script,) = blocks(ROOT / "docs" / "exporting.md", "js")
    assert json.loads(map_.to_json(tmp_path / "map.json"))["unit"] is map_.unit
    (tmp_path / "rows.json").write_text(json.dumps(rows.astype(float).tolist()))
    run = subprocess.run(
        ["node", "-e", script + RUN], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    np.testing.assert_allclose(json.loads(run.stdout), map_(rows), **TOLERANCE)


def test_json_needs_no_path(map_, tmp_path):
    found = json.loads(map_.to_json())
    again = AffineMap(
        found["matrix"], found["offset"], found["bias"], found["provenance"], unit=found["unit"]
    )
    np.testing.assert_allclose(again.matrix, map_.matrix, rtol=1e-8)
    np.testing.assert_allclose(again.offset, map_.offset, rtol=1e-8)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_imported_before_it_is_used():
    code = """
import sys
from conceptor import AffineMap
AffineMap([[1.0]]).to_json()
assert not {"faiss", "torch", "onnx", "onnxruntime"} & set(sys.modules), sys.modules.keys()
"""
    assert execute([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("library", "call", "extra"),
    [
        ("faiss", lambda map_: map_.to_faiss(), "faiss"),
        ("torch", lambda map_: map_.to_torch(), "torch"),
        ("onnx", lambda map_: map_.to_onnx("map.onnx"), "onnx"),
    ],
)
def test_a_missing_library_is_named(library, call, extra, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ImportError, match=rf"pip install 'conceptor\[{extra}\]'"):
        call(AffineMap(np.eye(2)))
    assert list(tmp_path.iterdir()) == []


def test_the_ten_lines_that_apply_a_saved_map(map_, rows, tmp_path, monkeypatch):
    """docs/formats.md has them, for whoever cannot or will not install this library."""
    monkeypatch.chdir(tmp_path)
    map_.save("cn.safetensors")
    (code,) = (
        block for block in blocks(ROOT / "docs" / "formats.md", "python") if "safe_open" in block
    )
    assert "conceptor import" not in code
    assert len(code.strip().splitlines()) <= 10
    names: dict[str, object] = {"vectors": rows}
    exec(code, names)
    np.testing.assert_allclose(names["improved"], map_(rows), **TOLERANCE)
