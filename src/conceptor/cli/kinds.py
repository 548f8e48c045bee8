"""`postprocess` for each kind of input (file, shards, spaCy pipeline), and for the hub."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from conceptor.base.errors import InvalidInputError, MissingExtraError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.options import read_size
from conceptor.cli.output import check_outputs, file_target, say_rows, warn

if TYPE_CHECKING:
    from conceptor.cli import groups
    from conceptor.distributed.vectors import ShardedVectors
    from conceptor.fitting import FitOptions
    from conceptor.methods import Method
    from conceptor.postprocessing import Report
    from conceptor.vectors.vectors import Vectors

# A folder for the Hugging Face hub, not a file format.
_HUB = "hub"


@dataclass(frozen=True)
class Postprocessing:
    """The options of one call."""

    source: str
    target: str
    method: groups.MethodOptions
    weights: groups.WeightOptions
    lists: groups.LexiconOptions
    purpose: opt.PurposeChoice | None
    save_map: str | None
    memory: str | None
    writing: groups.WriteOptions
    reading: groups.ReadOptions
    cluster: groups.ClusterOptions

    def run(self) -> Report:
        """Post-process this kind of input."""
        pipeline = _find_spacy_pipeline(self.source)
        if pipeline is not None:
            return self._postprocess_spacy(pipeline)
        if self._is_sharded():
            return self._postprocess_shards()
        return self._postprocess_file()

    def _choose(self, opened: Vectors | None) -> tuple[Method, FitOptions]:
        method = self.method.choose(opened, self.weights.weights, self.purpose)
        return method, self.weights.fit_options(self.lists.lexicon())

    def _postprocess_file(self) -> Report:
        """Write a file, or a folder for the hub."""
        opened = self.reading.open(self.source, wordless=True)
        method, options = self._choose(opened)
        writing = self.writing
        how: dict[str, Any] = {"caution": lambda doubt: warn([doubt])}
        if writing.format == _HUB:
            from conceptor.integrations.hub import save_folder

            if self.save_map is not None:
                raise InvalidInputError(f"--format {_HUB} saves the map in OUT; remove --save-map")
            dtype = writing.arguments["dtype"] or "float32"
            with on_terminal() as how["progress"]:
                return save_folder(
                    opened, self.target, method, options, dtype=dtype, force=writing.force, **how
                )
        from conceptor.postprocessing import postprocess

        how |= writing.arguments | {"memory": read_size(self.memory), "save_map": self.save_map}
        outputs = [file_target(self.target), self.save_map]
        check_outputs(outputs, [*self.weights.files, *self.lists.files])
        with on_terminal() as how["progress"]:
            return postprocess(opened, self.target, method, options, **how)

    def _postprocess_spacy(self, pipeline: Path) -> Report:
        from conceptor.integrations.spacy import postprocess_folder

        kind = "spaCy pipelines"
        self._refuse_file_options(kind)
        given = {
            "save-map": self.save_map,
            **vars(self.cluster),
            "column": self.reading.column,
            "rows": self.reading.rows,
        }
        for name, value in given.items():
            if value is not None:
                raise InvalidInputError(f"--{name} does not apply to {kind}; remove it")
        method, options = self._choose(None)
        with on_terminal() as progress:
            return postprocess_folder(
                pipeline,
                self.target,
                method,
                options,
                force=self.writing.force,
                progress=progress,
            )

    def _postprocess_shards(self) -> Report:
        """Connect, print the address of the dashboard, and run."""
        self._refuse_file_options("shards")
        method, _ = self._choose(self._open_shards())
        memory = read_size(self.memory)
        from conceptor.distributed import connect, postprocess

        # Dask's client logs tracebacks when the scheduler is lost; our error is a single line.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        cluster = self.cluster
        with connect(cluster.scheduler, workers=cluster.workers, memory=memory) as client:
            typer.echo(f"conceptor: dashboard at {client.dashboard_link}", err=True)
            with on_terminal("vectors") as progress:
                return postprocess(
                    self.source,
                    self.target,
                    method,
                    weights=self.weights.weights,
                    vocabulary=self.weights.vocabulary,
                    column=self.reading.column,
                    rows=self.reading.rows and self.reading.rows.value,
                    save_map=self.save_map,
                    force=self.writing.force,
                    progress=progress,
                )

    def _is_sharded(self) -> bool:
        """Return whether to use a cluster: for a cluster option, a directory or a pattern."""
        cluster = self.cluster
        if cluster.scheduler is not None and cluster.workers is not None:
            raise InvalidInputError(
                "--scheduler and --workers select different clusters; choose one"
            )
        if any(value is not None for value in vars(cluster).values()):
            return True
        several = any(sign in self.source for sign in "*?[") and not os.path.exists(self.source)
        return several or "://" in self.source or _is_folder_of_shards(self.source)

    def _open_shards(self) -> ShardedVectors:
        """Return the description of the shards; raise if Dask is missing."""
        try:
            from conceptor.distributed.shards import find_shards
            from conceptor.distributed.vectors import ShardedVectors
        except MissingExtraError as error:
            if os.path.isdir(self.source):
                raise InvalidInputError(
                    f"{self.source}: is a directory; name a single file. To process all files in "
                    f"it: {error}"
                ) from None
            raise
        rows = self.reading.rows
        opened = ShardedVectors(find_shards(self.source, self.reading.column), rows and rows.value)
        say_rows(opened)
        return opened

    def _refuse_file_options(self, kind: str) -> None:
        """Raise for options that do not apply to inputs of this kind, which keep their format."""
        from conceptor.vectors.formats.registry import has_known_suffix

        if self.target == "-":
            raise InvalidInputError(f"OUT is standard output; {kind} are written to a directory")
        if has_known_suffix(Path(self.target)):
            raise InvalidInputError(
                f"{self.target}: is a file name; {kind} are written to a directory"
            )
        writing, reading = self.writing, self.reading
        given = {
            "--format": writing.format is not None,
            f"--dtype {writing.dtype}": writing.dtype not in (None, opt.DtypeChoice.float32),
            "--on-error skip": reading.on_error is not opt.OnErrorChoice.error,
            "--replace-spaces": reading.replace_spaces is not None,
        }
        for name, is_given in given.items():
            if is_given:
                raise InvalidInputError(
                    f"{name} does not apply to {kind}, which keep their format; remove it"
                )


def _is_folder_of_shards(source: str) -> bool:
    from conceptor.vectors.formats.registry import recognise_folder

    return os.path.isdir(source) and recognise_folder(Path(source)) is None


def _find_spacy_pipeline(source: str) -> Path | None:
    """Return the saved spaCy pipeline: the folder itself, or a folder inside its package."""
    from conceptor.integrations.spacy_folders import find_pipeline

    return find_pipeline(Path(source))
