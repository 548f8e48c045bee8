"""`evaluate` and `compare`: score vectors, and methods."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from conceptor.base.errors import InvalidInputError
from conceptor.base.progress import on_terminal
from conceptor.cli import options as opt
from conceptor.cli.app import app
from conceptor.cli.benchmarks import fetch_vocabulary, load_benchmarks
from conceptor.cli.output import check_outputs, choose_form, show, warn
from conceptor.vectors.vectors import RowKind, refuse_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conceptor.evaluation import Battery, Evaluation

# With fewer pairs, confidence intervals are too wide to be useful.
_FEW_PAIRS = 30
KMeansChoice = StrEnum("KMeansChoice", ["categories", "plusplus"])

KMeans = Annotated[
    KMeansChoice,
    Option(
        "--kmeans",
        help="Initial centroids of k-means: means of the [b]categories[/b] (the paper's choice; "
        "it uses the labels) or k-means++ ([b]plusplus[/b]) with 50 starts.",
    ),
]
ByTask = Annotated[bool, Option("--by-task", help="Show each STS task instead of years.")]


@app.command()
def evaluate(
    vectors: Annotated[list[Path], Argument(help="Vectors files.", metavar="VECTORS")],
    on_error: opt.OnError = opt.OnErrorChoice.error,
    column: opt.Column = None,
    rows: opt.Rows = None,
    tasks: opt.Tasks = None,
    missing: opt.Missing = opt.MissingChoice.skip,
    kmeans: KMeans = KMeansChoice.categories,
    pairs: opt.Pairs = None,
    sentence_pairs: opt.SentencePairs = None,
    resamples: opt.Resamples = 1000,
    seed: opt.Seed = 0,
    by_task: ByTask = False,
    data: opt.Data = None,
    offline: opt.Offline = False,
    as_json: opt.Json = False,
    as_csv: opt.Csv = False,
    as_html: opt.Html = False,
    as_markdown: opt.Markdown = False,
    as_latex: opt.Latex = False,
    output: opt.Output = None,
) -> None:
    """Score vectors files on standard benchmarks, or on your own; gains are over the first file.

    [bold]Examples[/bold]

      conceptor postprocess demo better.bin

      conceptor evaluate demo better.bin --tasks similarity

      conceptor evaluate demo --tasks similarity --html -o scores.html
    """
    from conceptor.evaluation import Comparison, Missing
    from conceptor.evaluation import evaluate as run
    from conceptor.evaluation.battery import refuse_texts
    from conceptor.report.result import evaluation_result

    form = choose_form(json=as_json, csv=as_csv, html=as_html, markdown=as_markdown, latex=as_latex)
    check_outputs([output], [*vectors, *(pairs or ()), *(sentence_pairs or ())])
    if len(set(vectors)) < len(vectors):
        raise InvalidInputError("a vectors file was named twice; name each once")
    # Open all files first, so that a bad one is reported before anything is downloaded.
    sources = {str(path): opt.open_source(str(path), on_error, column, rows) for path in vectors}
    for source in sources.values():
        refuse_texts(source)
    battery = _load(tasks, pairs, sentence_pairs, kmeans, data, offline=offline)
    policy = Missing(missing.value)
    evaluations = {}
    for name, source in sources.items():
        with on_terminal() as progress:
            evaluations[name] = run(source, battery, name=name, missing=policy, progress=progress)
    _warn_if_unused(evaluations.values())
    first = next(iter(evaluations))
    comparison = Comparison("", evaluations, resamples=resamples, seed=seed, baseline=first)
    show(evaluation_result(comparison, by_task=by_task), form, output)


@app.command()
def compare(
    vectors: opt.Vectors = "demo",
    methods: opt.Methods = None,
    on_error: opt.OnError = opt.OnErrorChoice.error,
    column: opt.Column = None,
    rows: opt.Rows = None,
    texts: opt.Texts = None,
    weights: opt.Weights = None,
    vocabulary: opt.Vocabulary = None,
    function_words: opt.FunctionWords = None,
    tasks: opt.Tasks = None,
    missing: opt.Missing = opt.MissingChoice.skip,
    kmeans: KMeans = KMeansChoice.categories,
    pairs: opt.Pairs = None,
    sentence_pairs: opt.SentencePairs = None,
    queries: Annotated[
        Path | None,
        Option(
            metavar="VECTORS",
            help="For rows of texts: vectors of your queries from the same model; with --relevant.",
        ),
    ] = None,
    relevant: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="The rows that are relevant to each query: lines of 'query row' or 'query row "
            "grade'; numbers from 1, or texts separated by tabs.",
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        Option(
            metavar="N,...",
            help="For rows of texts: numbers of dimensions.  \\[default: all, half, a quarter]",
        ),
    ] = None,
    dtypes: Annotated[
        str | None,
        Option(
            metavar="NAME,...",
            help="For rows of texts: float32, float16, int8, binary.  \\[default: int8 at each "
            "size, binary at full size]",
        ),
    ] = None,
    examples: Annotated[
        int, Option(min=0, help="Show the nearest words of this many words, before and after.")
    ] = 10,
    resamples: opt.Resamples = 1000,
    seed: opt.Seed = 0,
    by_task: ByTask = False,
    data: opt.Data = None,
    offline: opt.Offline = False,
    as_json: opt.Json = False,
    as_csv: opt.Csv = False,
    as_html: opt.Html = False,
    as_markdown: opt.Markdown = False,
    as_latex: opt.Latex = False,
    output: opt.Output = None,
) -> None:
    """Post-process vectors with several methods and compare their scores.

    Rows of texts, as in emb.parquet or in emb.npy with --texts, are compared on your own scored
    pairs (--pairs) or queries (--queries, --relevant), at full and smaller sizes; without these,
    on measures that need no labels.

    [bold]Examples[/bold]

      conceptor compare demo --tasks similarity --html -o report.html

      conceptor compare demo --methods original,abtt,cn --tasks similarity
    """
    from conceptor.evaluation import Comparison
    from conceptor.evaluation import compare as run
    from conceptor.methods import as_methods
    from conceptor.report.result import comparison_result, text_result

    form = choose_form(json=as_json, csv=as_csv, html=as_html, markdown=as_markdown, latex=as_latex)
    own = [*(pairs or ()), *(sentence_pairs or ())]
    check_outputs([output], [vectors, weights, vocabulary, function_words, *own])
    chosen = None if methods is None else as_methods(opt.read_methods(methods))
    source = opt.open_source(vectors, on_error, column, rows, texts=texts)
    is_text, battery = source.kind is RowKind.TEXTS, None
    if is_text:
        refuse_settings(source, "words", tasks=tasks)
        check_outputs([output], [*source.files, queries, relevant])
    else:
        settings = {"queries": queries, "relevant": relevant, "sizes": sizes, "dtypes": dtypes}
        refuse_settings(source, "texts", **settings)
        battery = _load(tasks, pairs, sentence_pairs, kmeans, data, offline=offline)
        fetch_vocabulary(data, offline=offline)
    with on_terminal() as progress:
        compared = run(
            source,
            chosen,
            battery,
            opt.fit_options(weights, vocabulary, function_words, data),
            pairs=own if is_text and own else None,
            queries=queries,
            relevant=relevant,
            sizes=_read_sizes(sizes),
            dtypes=dtypes and opt.split_list(dtypes),
            missing=missing.value,
            resamples=resamples,
            seed=seed,
            # A table for people, which costs an extra search.
            examples=0 if is_text or as_csv else examples,
            progress=progress,
        )
    if isinstance(compared, Comparison):
        warn(f"{source.name}: {each}" for each in compared.cautions)
        _warn_if_unused([next(iter(compared.evaluations.values()))])
        show(comparison_result(compared, by_task=by_task), form, output)
    else:
        warn(f"{source.name}: {each}" for each in compared.comparison.cautions)
        show(text_result(compared), form, output)


def _load(
    tasks: str | None,
    pairs: Sequence[Path] | None,
    sentence_pairs: Sequence[Path] | None,
    kmeans: KMeansChoice,
    data: Path | None,
    *,
    offline: bool,
) -> Battery:
    """Load the named benchmarks and the user's own pairs; pairs alone load nothing else."""
    from conceptor.evaluation import FAMILIES, Battery
    from conceptor.evaluation.battery import read_own

    own = read_own(pairs or (), sentence_pairs or ())
    warn(
        f"{task.dataset}: only {len(task.pairs)} pairs; with fewer than {_FEW_PAIRS} a difference "
        "between methods is mostly chance"
        for task in own
        if len(task.pairs) < _FEW_PAIRS
    )
    if own and tasks is None:
        return Battery(own)
    families = FAMILIES if tasks == "all" else tasks and opt.split_list(tasks)
    return load_benchmarks(families, data, offline=offline, kmeans=kmeans.value, own=own)


def _read_sizes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    for each in opt.split_list(text):
        if not (each.isascii() and each.isdigit()):
            raise InvalidInputError(f"--sizes has {each!r}; it must list whole numbers")
    return [int(each) for each in opt.split_list(text)]


def _warn_if_unused(evaluations: Iterable[Evaluation]) -> None:
    """Warn about vectors that contain no word of the benchmarks."""
    warn(
        f"{evaluation.vectors}: none of the benchmarks' words has a vector; check that the words "
        "are English, in lower case and without prefixes"
        for evaluation in evaluations
        if not any(outcome.used for outcome in evaluation.outcomes)
    )
