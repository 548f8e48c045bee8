"""`evaluate` and `compare`: score vectors, and methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.output import plan_output, show, suggest, warn
from conceptor.methods import ORIGINAL
from conceptor.vectors.vectors import RowKind

if TYPE_CHECKING:
    from conceptor.evaluation import Evaluation

_FILES = Argument(metavar="VECTORS...", help="Vectors files.")
_QUERIES = Option(
    metavar="VECTORS",
    help="For rows of texts: vectors of your queries from the same model; with --relevant.",
)
_RELEVANT = Option(
    metavar="FILE",
    help="The rows that are relevant to each query: lines of 'query row' or 'query row grade'; "
    "numbers from 1, or texts separated by tabs.",
)
_SIZES = opt.more(metavar="N,...", help="Dimensions of texts.  [default: all, half, a quarter]")
_DTYPES = opt.more(metavar="NAME,...", help="Of texts: float32, float16, int8, binary.")
_EXAMPLES = opt.more(min=0, metavar="N", help="Show the nearest words of this many words.")


@app.command()
def evaluate(
    vectors: Annotated[list[str], _FILES],
    tasks: opt.Tasks = None,
    pairs: opt.Pairs = None,
    sentence_pairs: opt.SentencePairs = None,
    as_json: opt.Json = False,
    path: opt.Output = None,
    lowercase: opt.Lowercase = False,
    resamples: opt.Resamples = 1000,
    data: opt.Data = None,
    offline: opt.Offline = False,
    on_error: opt.OnError = "raise",
    column: opt.Column = None,
    rows: opt.Rows = None,
) -> None:
    """Score vectors files on benchmarks, standard or your own.

    Gains are over the first file.

    For example:

      conceptor postprocess demo better.bin

      conceptor evaluate demo better.bin --tasks similarity -o scores.html
    """
    from conceptor.evaluation import Comparison
    from conceptor.evaluation import evaluate as run
    from conceptor.report.result import evaluation_result

    inputs = [*vectors, *(pairs or ()), *(sentence_pairs or ())]
    output = plan_output(path, inputs, as_json=as_json)
    # Open all files first, so that a bad one is reported before anything is downloaded.
    how: dict[str, Any] = {"on_error": on_error, "column": column, "rows": rows}
    sources = {name: opt.open_source(name, **how) for name in vectors}
    with on_terminal() as progress:
        battery = opt.load_benchmarks(
            tasks, data, pairs, sentence_pairs, offline=offline, progress=progress
        )
        evaluations = {
            name: run(source, battery, name=name, lowercase=lowercase, progress=progress)
            for name, source in sources.items()
        }
    _warn_if_unused(*evaluations.values())
    files = [file for source in sources.values() for file in source.files]
    comparison = Comparison("", evaluations, resamples=resamples, baseline=vectors[0], files=files)
    show(evaluation_result(comparison), output)


@app.command()
def compare(
    vectors: opt.Vectors = "demo",
    methods: opt.Methods = None,
    texts: opt.Texts = None,
    weights: opt.Weights = None,
    tasks: opt.Tasks = None,
    pairs: opt.Pairs = None,
    sentence_pairs: opt.SentencePairs = None,
    queries: Annotated[Path | None, _QUERIES] = None,
    relevant: Annotated[Path | None, _RELEVANT] = None,
    as_json: opt.Json = False,
    path: opt.Output = None,
    sizes: Annotated[str | None, _SIZES] = None,
    dtypes: Annotated[str | None, _DTYPES] = None,
    examples: Annotated[int, _EXAMPLES] = 10,
    vocabulary: opt.Vocabulary = None,
    lowercase: opt.Lowercase = False,
    resamples: opt.Resamples = 1000,
    data: opt.Data = None,
    offline: opt.Offline = False,
    on_error: opt.OnError = "raise",
    column: opt.Column = None,
    rows: opt.Rows = None,
) -> None:
    """Compare the scores of vectors after several methods.

    Rows of texts, as in emb.parquet or in emb.npy with --texts, are compared on your own scored
    pairs (--pairs) or queries (--queries, --relevant), at full and smaller sizes; without these,
    on measures that need no labels.

    For example:

      conceptor compare demo --tasks similarity -o report.html
    """
    from conceptor.evaluation import TextComparison
    from conceptor.evaluation import compare as run
    from conceptor.fit import FitOptions
    from conceptor.report.result import comparison_result, text_result

    inputs = [vectors, weights, vocabulary, queries, relevant]
    inputs += [*(pairs or ()), *(sentence_pairs or ())]
    output = plan_output(path, inputs, as_json=as_json)
    chosen = None if methods is None else opt.read_methods(methods)
    try:
        numbers = None if sizes is None else [int(each) for each in opt.split_list(sizes)]
    except ValueError:
        raise InvalidInputError(f"--sizes is {sizes!r}; it must list whole numbers") from None
    source = opt.open_source(vectors, on_error=on_error, column=column, rows=rows, texts=texts)
    is_text = source.kind is RowKind.TEXTS
    battery: Any = tasks  # which the library refuses for texts
    with on_terminal() as progress:
        if not is_text:
            battery = opt.load_benchmarks(
                tasks, data, pairs, sentence_pairs, offline=offline, progress=progress
            )
            opt.fetch_vocabulary(data, offline=offline, progress=progress)
        compared = run(
            source,
            chosen,
            battery,
            FitOptions(weights, vocabulary, data=data),
            pairs=pairs if is_text else None,
            queries=queries,
            relevant=relevant,
            sizes=numbers,
            dtypes=dtypes and opt.split_list(dtypes),
            lowercase=lowercase,
            resamples=resamples,
            examples=0 if is_text else examples,
            progress=progress,
        )
    warn(f"{source.name}: {each}" for each in compared.cautions)
    if isinstance(compared, TextComparison):
        show(text_result(compared), output)
        method = compared.verdict.method
        helps = method != ORIGINAL
    else:
        _warn_if_unused(next(iter(compared.evaluations.values())))
        show(comparison_result(compared), output)
        method = compared.main_method or ""
        helps = any(gain.sign > 0 for gain in compared.gains_of(method).values())
    if helps and output == ("", None):
        suggest("postprocess", vectors, "OUT", "--method", method)


def _warn_if_unused(*evaluations: Evaluation) -> None:
    """Warn about vectors that contain no word of the benchmarks."""
    warn(
        f"{evaluation.vectors}: none of the benchmarks' words has a vector; check that the words "
        "are English, in lower case and without prefixes"
        for evaluation in evaluations
        if not any(outcome.used for outcome in evaluation.outcomes)
    )
