"""From file to file in streaming passes: fit a method, then write the vectors through it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conceptor.algebra.methods import LexiconRecipe, Recipe, Words, parse_method
from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import silent
from conceptor.base.threads import memory_bytes
from conceptor.fitting import (
    FitOptions,
    find_doubt,
    fit_methods,
    gather,
    participation_of_first,
    solve,
)
from conceptor.vectors.chunks import KeptChunks, read_chunks, vectors_name
from conceptor.vectors.conversion import Report, finish_report
from conceptor.vectors.fasttext import FastTextSource
from conceptor.vectors.files import open_vectors
from conceptor.vectors.source import VectorSource
from conceptor.vectors.static_model import StaticModelSource
from conceptor.vectors.target import check_new_file, plan_target
from conceptor.vectors.writing import output_files, write_chunks

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from conceptor.algebra.affine_map import AffineMap
    from conceptor.algebra.methods import Solution
    from conceptor.base.progress import Progress
    from conceptor.fitting import Chain, FittedMethods
    from conceptor.vectors.chunks import Transform
    from conceptor.vectors.target import Target

    Source = VectorSource | str | os.PathLike[str]
    Method = str | Recipe | LexiconRecipe

# Of the variance: less than this is rounding.
_NOTHING = 1e-12
# What improves rows without words, and the rows of static models.
WORDLESS_METHOD = "gentle"
STATIC_METHOD = "cn:unit=false"


def postprocess(
    source: Source,
    target: str | os.PathLike[str],
    method: Method | None = None,
    options: FitOptions | None = None,
    *,
    memory: int | None = None,
    save_map: str | os.PathLike[str] | None = None,
    format: str | None = None,
    dtype: str | None = None,
    force: bool = False,
    progress: Progress = silent,
    caution: Callable[[str], object] | None = None,
) -> Report:
    """Fit a method to the vectors of a file and write them all, improved, to another.

    Parameters
    ----------
    source
        A file, the folder of a static model, `-`, or what `open_vectors` returned. Arrays and
        tables without words are taken too; their rows count the same.
    target
        The file to write, by name in any format; `-` for text on standard output. A static model
        is written as a folder like its own, unless the name has the extension of a format.
    method
        A name (`cn`, `cn:n_components=128`), a chain (`cn+counterfit`) or a recipe; by default
        what `default_method` says.
    options : FitOptions, optional
        What words weigh, which take part in the fit, and the lexicon; by default as the method
        asks (`conceptor.weights.choose_weights`).
    memory
        Bytes within which decoded vectors are kept between the passes, where that saves decoding
        them again; by default a quarter of the machine's memory.
    save_map
        Also save the map there.
    format, dtype, force
        As for `write_vectors`.
    progress
        Called as the passes go on.
    caution
        Called before anything is written if the evidence is against it; by default that is a
        remark of the report.
    """
    started = time.perf_counter()
    opened = _open(source)
    name, chain = method_chain(method or default_method(opened))
    _check_words(opened, name, chain)
    goal, kept = plan_passes(
        opened, target, memory, save_map, format=format, dtype=dtype, force=force
    )
    if (save_map or goal.fasttext_path) and moves_single_words(chain):
        what = "no map to save" if save_map is not None else f"no map for a {goal.format} model"
        raise InvalidInputError(f"{name} moves single words; there is {what}")
    found, doubts = fit_doubting(kept, name, chain, options, progress)
    fitted = found.methods[name]
    if caution is not None:
        for doubt in doubts:
            caution(doubt)
        doubts = []
    map_ = fitted.map if save_map is not None or goal.fasttext_path else None
    words = write_last(kept, goal, fitted, map_, save_map, progress, dimension=fitted.n_out)
    report = finish_report(opened, started, words, goal, fitted.n_out)
    report.remarks += [*(f"{opened.path}: {each}" for each in found.cautions), *doubts]
    return describe_method(report, found, name)


def fit_doubting(
    vectors: object,
    name: str,
    chain: Chain,
    options: FitOptions | None = None,
    progress: Progress = silent,
) -> tuple[FittedMethods, list[str]]:
    """Fit a method to vectors that are then written; say if the evidence is against it."""
    found = fit_methods(vectors, {name: chain}, options, progress=progress)
    solution = found.methods[name].solution
    if solution is None or solution.recipe.words is not Words.USAGE:
        return found, []
    even = participation_of_first(vectors, found.weights[name])
    reason = find_doubt(solution, even)
    where = vectors_name(vectors)
    return found, [f"{where}: {name} should not help: {reason}; compare measures it"] * bool(reason)


def describe_method(report: Report, found: FittedMethods, name: str) -> Report:
    """Add which method was fitted on what, and what it does."""
    report.method = name
    if name in found.weights:
        report.fitted_on = found.weights[name].description
    solution = found.methods[name].solution
    return report if solution is None else describe(report, solution)


def fit(
    source: Source,
    method: Method | None = None,
    options: FitOptions | None = None,
    *,
    progress: Progress = silent,
) -> tuple[Solution, Report]:
    """Fit a single spectral method to the vectors of a file, in one pass."""
    started = time.perf_counter()
    opened = _open(source)
    name, chain = method_chain(method or default_method(opened))
    if len(chain) != 1 or not isinstance(chain[0], Recipe) or chain[0].swaps:
        raise InvalidInputError(f"{name}: only a single spectral method makes a map")
    _check_words(opened, name, chain)
    recipe, given = chain[0], options or FitOptions()
    kinds = [words for words in (recipe.words, recipe.once) if words is not None]
    chosen, *others = (given.weights_for(words, opened, unit=recipe.unit) for words in kinds)
    tops = [each.top for each in (chosen, *others)]
    top = None if None in tops else max(top for top in tops if top is not None)
    chunks = _until(read_chunks(opened, progress), top)
    found = gather(chunks, [chosen, *others]).moments
    solution = solve(recipe, *(found[each] for each in (chosen, *others)))
    report = finish_report(opened, started, opened.count or solution.moments.count)
    report.method, report.fitted_on = name, chosen.description
    if chosen.caution:
        report.remarks.append(f"{opened.path}: {chosen.caution}")
    return solution, describe(report, solution)


def default_method(source: VectorSource | None) -> str:
    """Return the method that a kind of vectors asks for if the user names none.

    Rows of static models keep their lengths, which weigh tokens; embeddings of whole texts have
    little to gain and something to lose.
    """
    if source is not None and not source.has_words:
        return WORDLESS_METHOD
    return STATIC_METHOD if isinstance(source, StaticModelSource) else "cn"


def _open(source: Source) -> VectorSource:
    return source if isinstance(source, VectorSource) else open_vectors(source, wordless=True)


def _check_words(
    source: VectorSource, name: str, chain: tuple[Recipe | LexiconRecipe, ...]
) -> None:
    """Raise for a method that needs words where there are none."""
    needs = any(
        isinstance(step, LexiconRecipe) or step.words is Words.FUNCTION_WORDS for step in chain
    )
    if needs and not source.has_words:
        raise InvalidInputError(f"{source.path}: its rows have no words, and {name} needs them")


def moves_single_words(chain: Chain) -> bool:
    """Return whether a method is more than a map of all vectors."""
    return any(isinstance(step, LexiconRecipe) or step.swaps for step in chain)


def method_chain(method: Method) -> tuple[str, Chain]:
    """Return the name of a method and its steps, one after the other."""
    if not isinstance(method, str):
        return method.name, (method,)
    chain = parse_method(method)
    if not chain:
        raise InvalidInputError(f"{method} changes nothing; name a method")
    return method, chain


def plan_passes(
    source: VectorSource,
    target: str | os.PathLike[str],
    memory: int | None,
    save_map: str | os.PathLike[str] | None,
    *,
    format: str | None,
    dtype: str | None,
    force: bool,
) -> tuple[Target, KeptChunks]:
    """Return where vectors are written, and the source as it is read for that more than once.

    Raise if the vectors cannot be written there, or the map cannot be saved beside them.
    """
    goal = plan_target(target, source=source, format=format, dtype=dtype, force=force)
    if save_map is not None:
        check_new_file(save_map, source.files(), force=force)
        outputs = [] if goal.path is None else output_files(goal.path, goal.format)
        if Path(save_map).resolve() in outputs:
            raise InvalidInputError(f"{save_map}: cannot hold both the vectors and the map")
    limit = memory_bytes() // 4 if memory is None else memory
    # A model is written from rows that were not decoded, so none of those that were are kept.
    return goal, KeptChunks(source, 0 if goal.fasttext_path else limit)


def write_last(
    kept: KeptChunks,
    goal: Target,
    transform: Transform,
    map_: AffineMap | None,
    save_map: str | os.PathLike[str] | None,
    progress: Progress,
    *,
    dimension: int | None = None,
) -> int:
    """Write the vectors, or a whole model, in the last pass; return how many there are.

    `map_` is what `transform` does, as it is saved or written into a model; else not needed.
    """
    source = kept.source
    if isinstance(source, FastTextSource) and goal.fasttext_path is not None:
        words = source.write_mapped(goal.fasttext_path, map_, progress)
    else:
        words = write_chunks(
            _last_pass(kept, progress), goal, source.count, transform, dimension=dimension
        )
    if save_map is not None and map_ is not None:
        map_.save(save_map)
    return words


def _last_pass(kept: KeptChunks, progress: Progress) -> Iterator[Any]:
    """Yield the chunks for the last time, as they are written."""
    words = 0
    for chunk in kept.last_chunks():
        words += len(chunk.words)
        progress("writing", kept.fraction_read(), words)
        yield chunk


def _until(chunks: Iterator[tuple[Sequence[str], Any]], top: int | None) -> Iterator[Any]:
    """Stop reading where no further word takes part."""
    words = 0
    for chunk in chunks:
        yield chunk
        words += len(chunk[0])
        if top is not None and words >= top:
            return


def describe(report: Report, solution: Solution) -> Report:
    """Add what a solved recipe does to the vectors."""
    report.estimated_on = solution.moments.count
    report.aperture = solution.aperture
    gate, values = solution.gate, solution.spectrum.values
    if not (gate**2 * values).sum() > _NOTHING * values.sum():
        report.remarks.append("nothing is left of the vectors: all their variance was taken out")
    report.variance_removed = solution.variance_removed
    if report.variance_removed is not None:
        report.quota = float((1 - gate).mean())
    return report
