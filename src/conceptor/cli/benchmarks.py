"""Load benchmarks for the commands that run them, and report missing files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conceptor.base.errors import ConceptorError
from conceptor.cli.bars import download_progress
from conceptor.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from conceptor.evaluation import Battery, Task


def load_benchmarks(
    families: Sequence[str] | None,
    data: Path | None,
    *,
    offline: bool,
    kmeans: str = "categories",
    own: Sequence[Task] = (),
) -> Battery:
    """Load families of benchmarks, by default the usual ones, and add the user's own."""
    from conceptor.evaluation import load_battery
    from conceptor.evaluation.categorization import KMeansStart

    with download_progress() as progress:
        battery = load_battery(
            families, data, start=KMeansStart(kmeans), offline=offline, progress=progress
        )
    if battery.missing:
        count, reason = len(battery.missing), next(iter(battery.missing.values()))
        note(f"{count} benchmark files were not found, so their tasks are left out: {reason}")
    battery = replace(battery, tasks=[*battery.tasks, *own])
    if not battery.tasks:
        raise ConceptorError("no benchmark files were found; run: conceptor data fetch")
    return battery


def fetch_vocabulary(data: Path | None, *, offline: bool, required: bool = False) -> None:
    """Download the vocabulary for fitting, so that every command finds it.

    Raise if it is `required` and not available.
    """
    from conceptor.data.registry import MissingDataError, fetch
    from conceptor.data.word_lists import PAPER_VOCABULARY

    try:
        with download_progress() as progress:
            fetch(PAPER_VOCABULARY, data, offline=offline, progress=progress)
    except MissingDataError:
        if required:
            raise
