"""Results show as tables in notebooks, and no word becomes markup."""

from __future__ import annotations

import re

import numpy as np
import pytest

from conceptor import inspect, most_similar, postprocess
from conceptor.report.tables import fit_width
from conceptor.vectors import write_vectors

WORDS = ["the", "<b>bold</b>", "a&b", *(f"w{i:03d}" for i in range(200))]


@pytest.fixture
def table():
    rng = np.random.default_rng(5)
    return WORDS, (rng.standard_normal((len(WORDS), 6)) + 1).astype(np.float32)


def test_neighbors_are_a_table_for_each_word(table) -> None:
    found = most_similar(table, ["w001", "a&b"], ["original", "abtt"], n=4)
    page = found._repr_html_()
    assert re.findall(r"<caption>(.*?)</caption>", page) == ["w001", "a&amp;b"]
    assert page.count("<tr>") == 2 * (1 + 4)
    nearest = most_similar(table, "w001", n=len(WORDS))._repr_html_()
    assert "&lt;b&gt;bold" in nearest
    assert "<b>bold" not in nearest


def test_inspections_and_reports_are_tables(table, tmp_path) -> None:
    found = inspect(table)
    page = found._repr_html_()
    assert f"{found.before.isoscore:.3f}" in page
    assert len(fit_width(found.tables()[0], 80)) == 1  # before beside after
    path = tmp_path / "in.bin"
    write_vectors(path, [table])
    report = postprocess(path, tmp_path / "out.bin", "abtt")._repr_html_()
    assert f">{len(WORDS)}<" in report
