"""Model folders that are damaged or meant to harm: refused in one line, and nothing runs."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from conceptor.base.errors import InvalidInputError
from conceptor.static_models import StaticModel
from conceptor.static_models.transformer import Transformer, read_pooling
from conceptor.vectors import open_vectors
from conceptor.vectors.tokenizer import TokenReader
from tests.model_folders import VECTORS, make_static
from tests.processes import call

pytest.importorskip("tokenizers", reason="needs the static extra")


@pytest.fixture
def folder(tmp_path):
    make_static(tmp_path / "in")
    return tmp_path / "in"


@contextmanager
def edited(path):
    """Yield what a JSON file holds, and write it back."""
    content = json.loads(path.read_text())
    yield content
    path.write_text(json.dumps(content))


TENSORS = {
    "0-d": {"embeddings": np.array(1.0, np.float32)},
    "mapping beyond": {"embeddings": VECTORS, "mapping": np.array([0, 200])},
    "weights 0-d": {"embeddings": VECTORS, "weights": np.array(1.0, np.float32)},
    "empty": {"embeddings": np.ones((0, 4), np.float32)},
    "integers": {"embeddings": np.ones((122, 4), np.int32)},
}


@pytest.mark.parametrize("tensors", TENSORS.values(), ids=TENSORS)
def test_tensors_that_are_not_a_table(folder, tmp_path, tensors):
    save_file(tensors, folder / "model.safetensors")
    run = call("postprocess", folder, tmp_path / "out", "--weights", "uniform")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    assert not (tmp_path / "out").exists()


CONFIGS = ["[]", "[" * 100_000, '{"conceptor": 3}']


@pytest.mark.parametrize("config", CONFIGS, ids=lambda each: each[:20] or "empty")
def test_configurations(folder, tmp_path, config):
    (folder / "config.json").write_text(config)
    if config.startswith('{"'):
        assert StaticModel.load(folder).provenance == {}
        return
    with pytest.raises(InvalidInputError, match=r"config\.json"):
        StaticModel.load(folder)
    run = call("postprocess", folder, tmp_path / "out", "--weights", "uniform")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    assert "config.json" in run.stderr
    assert not (tmp_path / "out").exists()


def test_vocabularies_that_do_not_fit(folder):
    for name, content in (("model.safetensors", b"no tensors"), ("tokenizer.json", b"{}")):
        before = (folder / name).read_bytes()
        (folder / name).write_bytes(content)
        with pytest.raises(InvalidInputError, match=name.replace(".", r"\.")):
            StaticModel.load(folder)
        (folder / name).write_bytes(before)
    with edited(folder / "tokenizer.json") as content:
        content["model"]["unk_token"] = "[NONE]"
    with pytest.raises(InvalidInputError, match=r"its tokenizer fails .*Missing \[UNK\]"):
        StaticModel.load(folder).encode(["other"])
    with edited(folder / "tokenizer.json") as content:
        content["model"]["unk_token"] = "[UNK]"
        content["model"]["vocab"]["mot7"] = content["model"]["vocab"]["mot8"]
    with pytest.raises(InvalidInputError, match="no token for row"):
        list(open_vectors(folder).chunks())
    shutil.rmtree(folder)
    make_static(folder)
    with edited(folder / "tokenizer.json") as content:  # must not ask for memory
        content["model"]["vocab"]["mot200"] = 2**32 - 1
    with pytest.raises(InvalidInputError, match=r"'mot200' has number 4294967295, but there are"):
        open_vectors(folder).token_counts({"mot200": 1.0})


def test_regular_expressions_that_explode_are_an_error(folder, capfd):
    with edited(folder / "tokenizer.json") as content:
        content["pre_tokenizer"]["pattern"] = {"Regex": "(a+)+$"}
    reader = TokenReader(open_vectors(folder).extra.tokenizer())
    with pytest.raises(InvalidInputError, match=r"its tokenizer fails \(.*limit"):
        reader(["a" * 40 + "!"])
    capfd.readouterr()  # what Rust says about it


@pytest.mark.parametrize(("dtype", "factor"), [("int8", 1000.0), ("float16", 1e-9)])
def test_rows_that_would_become_zero_are_refused(tmp_path, dtype, factor):
    vectors = VECTORS.copy()
    vectors[7] *= factor
    make_static(tmp_path / "large", vectors)
    run = call("convert", tmp_path / "large", tmp_path / "out", "--dtype", dtype)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    assert f"too small for {dtype} and would become 0" in run.stderr
    assert not (tmp_path / "out").exists()


@pytest.fixture
def damaged(transformer, tmp_path):
    shutil.copytree(transformer, tmp_path / "model")
    return tmp_path / "model"


EVIL = "import pathlib\npathlib.Path({!r}).write_text('ran')\nclass Evil: ...\n"


def test_code_of_a_folder_never_runs(damaged, tmp_path):
    (damaged / "evil.py").write_text(EVIL.format(str(tmp_path / "owned")))
    with edited(damaged / "config.json") as content:
        content["auto_map"] = dict.fromkeys(("AutoConfig", "AutoModel"), "evil.Evil")
        content["model_type"] = "evil"
    with edited(damaged / "tokenizer_config.json") as content:
        content["auto_map"] = {"AutoTokenizer": ["evil.Evil", "evil.Evil"]}
    run = call("distill", damaged, tmp_path / "out", said="y\ny\ny\n")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    assert not (tmp_path / "owned").exists()


def test_pickles_are_never_opened(damaged, tmp_path):
    import torch

    tensors = load_file(damaged / "model.safetensors")
    (damaged / "model.safetensors").unlink()
    torch.save(
        {name: torch.from_numpy(each) for name, each in tensors.items()},
        damaged / "pytorch_model.bin",
    )
    with pytest.raises(InvalidInputError, match="cannot be loaded as a transformer"):
        Transformer.load(damaged)


DAMAGE = {
    "modules no list": ("modules.json", "{}"),
    "config cut": ("config.json", '{"model_type": "bert'),
    "weights cut": ("model.safetensors", "\x00"),
    "tokenizer cut": ("tokenizer.json", '{"version"'),
}


@pytest.mark.parametrize(("name", "content"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_transformers(damaged, tmp_path, name, content):
    (damaged / name).write_text(content)
    run = call("distill", damaged, tmp_path / "out")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr


SETTINGS = {"hidden_size": "x", "vocab_size": -3, "attn_implementation": "evil/kernel"}


@pytest.mark.parametrize(("key", "value"), SETTINGS.items(), ids=SETTINGS)
def test_settings_that_make_no_model(damaged, key, value):
    with edited(damaged / "config.json") as content:
        content[key] = value
    with pytest.raises(InvalidInputError):
        Transformer.load(damaged)


def test_a_model_and_a_tokenizer_that_do_not_fit(damaged, tmp_path, capfd):
    with edited(damaged / "tokenizer.json") as content:
        content["model"]["vocab"]["zzz"] = 5000
    (tmp_path / "counts").write_text("rain 2\numbrella 1\n")
    options = ["--vocabulary", "tokens", "--weights", tmp_path / "counts"]
    run = call("distill", damaged, tmp_path / "out", *options)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    with edited(damaged / "tokenizer.json") as content:
        content["post_processor"]["special_tokens"].pop("[CLS]")
    with pytest.raises(InvalidInputError):  # Rust panics
        Transformer.load(damaged)
    capfd.readouterr()


def test_modules_name_no_place_outside(damaged, tmp_path):
    (tmp_path / "config.json").write_text('{"pooling_mode_cls_token": true}')
    (damaged / "modules.json").write_text('[{"type": "a.Pooling", "path": ".."}]')
    with pytest.raises(InvalidInputError, match="outside the folder"):
        read_pooling(damaged)
    for path in ("x\0y", "1" * 300, "config.json"):
        (damaged / "modules.json").write_text(json.dumps([{"type": "a.Pooling", "path": path}]))
        with pytest.raises(InvalidInputError, match="no such file"):
            read_pooling(damaged)
