"""Pages that MkDocs makes while building, from what they describe: never out of date.

The command line and the methods come from the program, the API from docstrings, JSON from
docs/schemas, notebooks from docs/notebooks, and some files from the root of the repository.
In a page, a line that only links to a table of docs/data becomes that table, folded, and a chart of
docs/charts becomes part of the page, so that it follows the page's colors. The finished site is
looked at by docs/check_site.py.
"""

from __future__ import annotations

import json
import posixpath
import re
import sys
import textwrap
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

DOCS = Path(__file__).parent
ROOT = DOCS.parent
ROOT_FILES = {
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
    "CODE_OF_CONDUCT.md": "code-of-conduct",
}
# Between these a page has the table of formats, as this file makes it.
FORMATS = ("<!-- formats -->", "<!-- end of formats -->")
# How `conceptor.methods.Words` is shown.
WORDS = {
    "usage": "every word, by its use",
    "types": "common words, once each",
    "all": "every word, once",
    "function words": "function words",
}
# A line like [Title](../data/search.json#words); `#glove-6b-50d/*` is every table below that name.
TABLE = re.compile(r"^\[([^\]\n]+)\]\(([./]*)data/([\w-]+\.json)#([\w/-]+)(/\*)?\)$", re.MULTILINE)
CHART = re.compile(r'<img alt="[^"]*" src="([./]*charts/[\w-]+\.svg)" />')
SMALL = 420  # the widest chart that a phone shows whole
# Formulas as GitHub writes them: a fence called math, or $`x`$ within a line.
FORMULA = re.compile(r"^```math\n(.*?)^```$|\$`([^`]+)`\$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
# The names of the front door, and the most useful ones of modules, by their purpose.
API = {
    "Files and objects": [
        "improve", "postprocess", "open_vectors", "write_vectors", "vectors.vectors.Vectors",
        "vectors.table.WordVectors", "methods.Method", "fit.FitOptions",
    ],
    "Looking and measuring": [
        "inspect", "compare", "evaluate", "most_similar", "concepts.query.Query",
    ],
    "Estimators": [
        "estimator", "ConceptorNegation", "estimators.SpectralPostprocessor",
    ],
    "Sentences and texts": ["SentenceEncoder", "distill", "attach", "StaticModel"],
    "Algebra": [
        "Conceptor", "Moments", "AffineMap", "algebra.spectrum.Spectrum",
        "algebra.background.Background",
    ],
    "Errors": [
        "ConceptorError", "base.errors.InvalidInputError", "base.errors.MissingExtraError",
    ],
}  # fmt: skip


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, content in _pages():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put in the table of formats, tables of figures, and formulas as MathML."""
    begin, end = FORMATS
    before, found, rest = markdown.partition(begin)
    if found:
        markdown = f"{before}{begin}\n\n{formats()}\n{end}{rest.partition(end)[2]}"
    return FORMULA.sub(_typeset, TABLE.sub(_folded, markdown))


def _typeset(formula: re.Match[str]) -> str:
    """Return a formula as MathML, which browsers draw without a script or a font of ours."""
    if formula[1] is None:
        # Python-Markdown takes `math` at the beginning of a line for a block of its own.
        return f"<span>{convert(formula[2])}</span>"
    return f'<div class="formula">{convert(formula[1].strip(), display="block")}</div>'


def _folded(link: re.Match[str]) -> str:
    """Return a table of a data file as a block that opens when it is clicked."""
    title, up, file, name, below = link.groups()
    tables = json.loads((DOCS / "data" / file).read_text(encoding="utf-8"))
    names = [each for each in tables if f"{each}/".startswith(f"{name}/")] if below else [name]
    if not names or not set(names) <= set(tables):
        raise PluginError(f"docs/data/{file} has no table {name}")
    parts = []
    for each in names:
        table = tables[each]
        heading = f"**{table['title']}**" if below and each != name else ""
        parts += [heading, table["text"], figures_table(table), table["notes"]]
    made = tables["made"]
    origin = f"`{made['command']}`, {made['version']}, {made['date']}"
    reason = f" ({made['because']})" if "because" in made else ""
    parts.append(f"[{file}]({up}data/{file}), by {origin}{reason}")
    body = "\n\n".join(part for part in parts if part)
    return f'??? figures "{title}"\n\n{textwrap.indent(body, "    ")}\n'


def figures_table(table: dict[str, Any]) -> str:
    """Return a table of a data file as Markdown, words to the left and numbers to the right."""
    if not table["rows"]:
        return ""
    head = f"| {' | '.join(table['columns'])} |"
    rule = "|---" + "|---:" * (len(table["columns"]) - 1) + "|"
    return "\n".join([head, rule, *(f"| {' | '.join(row)} |" for row in table["rows"])])


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Put charts into the page, and see that no heading was lost; search leaves figures out."""
    shown = {_plain(found) for found in re.findall(r"<h[1-6][^>]*>(.*?)</h[1-6]>", html, re.DOTALL)}
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", page.markdown or ""), re.MULTILINE):
        if _plain(heading) not in shown:
            raise PluginError(f"{page.file.src_path}: the heading {heading!r} is lost")
    html = html.replace('<details class="figures"', '<details class="figures" data-search-exclude')
    return CHART.sub(lambda found: _chart(found[1], page), html)


def _plain(heading: str) -> str:
    """Return the letters and digits of a heading, in HTML or in Markdown."""
    text = re.sub(r"<[^>]*>|\]\([^)]*\)|\{[^}]*\}", "", unescape(heading)).removesuffix("¶")
    return re.sub(r"\W", "", text)


def _chart(source: str, page: Page) -> str:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.dest_uri), source))
    svg = (DOCS / path).read_text(encoding="utf-8")
    drawn = re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL).strip()
    width = re.search(r'width="([\d.]+)"', drawn)
    # A wide one scrolls by itself on a phone; small ones stand side by side where there is room.
    kind = "figure small" if width and float(width[1]) <= SMALL else "figure"
    return f'<span class="{kind}" data-search-exclude>{drawn}</span>'


def on_post_build(config: MkDocsConfig, **_: object) -> None:
    """Make search work from a disk, and look at the finished site."""
    site = Path(config.site_dir)
    # There a browser runs no worker from a file and fetches no JSON, so both become scripts.
    index = (site / "search/search_index.json").read_text(encoding="utf-8")
    (site / "search/search_index.js").write_text(f"var __index = {index}", encoding="utf-8")
    worker = next(site.glob("assets/javascripts/workers/search.*.js")).read_text(encoding="utf-8")
    from_text = f"URL.createObjectURL(new Blob([{json.dumps(worker)}]))"
    (site / "search/disk.js").write_text(
        "if (location.protocol === 'file:') { const Original = Worker;\n"
        f"Worker = function () {{ return new Original({from_text}) }} }}\n",
        encoding="utf-8",
    )
    sys.path.insert(0, str(DOCS))
    from check_site import check

    wrong = check(Path(config.site_dir).resolve())
    if wrong:
        raise PluginError("\n".join(["the site is not as it should be:", *wrong]))


def _pages() -> Iterator[tuple[str, str]]:
    yield "reference/cli.md", command_line()
    yield "reference/methods.md", methods()
    yield from api()
    yield "reference/json.md", schemas()
    for path in sorted((DOCS / "notebooks").glob("*.ipynb")):
        yield f"notebooks/{path.stem}.md", notebook(path)
    for source, target in ROOT_FILES.items():
        yield f"project/{target}.md", root_file(ROOT / source)


def command_line() -> str:
    """Return a section for each command."""
    parts = [
        "# Command line\n\nGenerated from the program; `conceptor COMMAND --help-all` prints the "
        "same, `--help` the common options. "
        "`conceptor --install-completion` sets up your shell.\n\nExit codes: 0 done, 1 the work "
        "failed, 2 the call or the input is wrong. `--debug` before the command shows tracebacks.\n"
    ]
    for name, command in commands():
        text = command.help or ""
        paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n", text)]
        examples: list[str] = []
        if "For example:" in paragraphs:  # the last part of a help text
            place = paragraphs.index("For example:")
            paragraphs, examples = paragraphs[:place], paragraphs[place + 1 :]
        options = [each for each in command.params if each.name != "help"]
        arguments = [_argument(each) for each in options if each.param_type_name == "argument"]
        usage = " ".join([name, *arguments, "[OPTIONS]"])
        usage = textwrap.fill(usage, 100, subsequent_indent="    ", break_on_hyphens=False)
        parts.append(f"## {name}\n\n```text\n{usage}\n```\n")
        parts += [f"{_text(paragraph)}\n" for paragraph in paragraphs]
        if examples:
            parts.append("```sh\n" + "\n".join(map(_wrapped, examples)) + "\n```\n")
        if options:
            parts.append("| option | |\n|---|---|\n" + "\n".join(map(_option, options)) + "\n")
    return "\n".join(parts)


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command of the program with its full name, in the order of --help."""
    from importlib import import_module

    from typer.main import get_command

    from conceptor.cli import COMMANDS
    from conceptor.cli.app import app

    for module in sorted(set(COMMANDS.values())):
        import_module(f"conceptor.cli.{module}")
    group: Any = get_command(app)
    for name in COMMANDS:
        command = group.commands[name]
        if getattr(command, "invoke_without_command", True):
            yield f"conceptor {name}", command
        for other, inner in getattr(command, "commands", {}).items():
            yield f"conceptor {name} {other}", inner


def _argument(parameter: Any) -> str:  # noqa: ANN401 - Click's or Typer's, by version
    shown = (parameter.metavar or parameter.name.upper()).removesuffix("...").strip("[]")
    shown += "..." if parameter.nargs == -1 else ""
    return shown if parameter.required else f"[{shown}]"


def _option(parameter: Any) -> str:  # noqa: ANN401
    """Return the row of an argument or option: its spellings, its value, its help and default."""
    if parameter.param_type_name == "argument":
        names, takes = [_argument(parameter)], ""
    else:
        names = [*parameter.opts, *parameter.secondary_opts]
        choices = "|".join(map(str, getattr(parameter.type, "choices", None) or ()))
        takes = parameter.metavar or choices or parameter.type.name.upper()
        takes = "" if getattr(parameter, "is_flag", False) else takes.replace("STR", "TEXT")
    help_ = parameter.help or ""
    default = parameter.default
    if default not in (None, False, "", ()) and not callable(default) and "[default" not in help_:
        help_ += f"  [default: {default}]"
    # Within code a bar would keep its backslash; text between tags may hold its number.
    shown = " ".join(f"<code>{_bars(each)}</code>" for each in names)
    shown += f' <code class="takes">{_bars(takes)}</code>' if takes else ""
    return f"| {shown} | {_cell(_text(help_))} |"


def methods() -> str:
    """Return the table of methods."""
    from conceptor.methods import METHODS

    lines = [
        "# Methods\n\nA name means the same method in `--method`, in `compare` and in Python; "
        "`conceptor methods` prints this table. `abtt:n_directions=3` sets a parameter. Every "
        "method takes `n_components` (fewer dimensions) and "
        "[`lengths`](../guides/lengths.md) (`kept`, `unit` or `usage`); "
        "`abtt:n_directions=0:n_components=128` is plain PCA, and `original:lengths=usage` is "
        "SIF weighting of unit vectors.\n\n"
        "**Which one?** Use `cn`, the default, for words and their averages; `gentle`, the "
        "default for rows without words, for embeddings of texts; `original` if you need "
        "analogies. [The comparison](../studies/words.md) has the figures, "
        "[Conceptors](../explanation/conceptors.md) the formulas, and "
        "[Python](../guides/python.md#a-method-of-your-own) shows how to add your own.\n",
        "| name | what it does | fitted on | parameters |\n|---|---|---|---|",
    ]
    for name, method in METHODS.items():
        values = (f"{key}={value}" for key, value in method.parameters.items())
        parameters = ", ".join(values).replace("=None", "")
        cells = method.description, WORDS[method.words], parameters
        lines.append(f"| `{name}` | {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines) + "\n"


def formats() -> str:
    """Return the table of formats."""
    from conceptor.vectors.formats import FORMATS as KNOWN

    lines = ["| format | written as | read | numbers |", "|---|---|---|---|"]
    for each in KNOWN:
        names = [f"`{suffix}`" for suffix in each.suffixes]
        if each.name == "word2vec-text":
            names.append("`.txt` if the source has this format")
        if each.words_path is not None:
            names.append(f"words as `{each.words_path(Path('x' + each.suffixes[0])).name}`")
        written = ", ".join(names) or ("a folder, from another one" if each.is_folder else "—")
        numbers = ", ".join(each.dtypes)
        lines.append(f"| `{each.name}` | {written} | {_cell(each.description)} | {numbers} |")
    return "\n".join(lines) + "\n"


def api() -> Iterator[tuple[str, str]]:
    """Yield a page for each purpose: names for mkdocstrings, with the module that defines each."""
    import conceptor

    missing = set(conceptor.__all__) - {name for names in API.values() for name in names}
    if missing:
        raise PluginError(f"docs/hooks.py does not list {sorted(missing)}")
    for title, names in API.items():
        parts = [f"# {title}\n"]
        for name in names:
            if "." in name:
                # The module is part of the heading.
                full = "    options:\n      show_root_full_path: true\n"
                parts.append(f"::: conceptor.{name}\n{full}")
            else:
                parts.append(f"::: {getattr(conceptor, name).__module__}.{name}\n")
        yield f"reference/{title.split()[0].lower()}.md", "\n".join(parts)


def schemas() -> str:
    """Return every schema, and what it is of."""
    parts = [
        "# JSON\n\nWhat `--json` prints, as JSON Schema. Keys may be added in any version; a key "
        "is removed or changes its meaning only under the deprecation policy "
        "([Contributing](../project/contributing.md)). Numbers that are not finite are `null`.\n"
    ]
    for path in sorted((DOCS / "schemas").glob("*.json")):
        text = path.read_text(encoding="utf-8")
        title = json.loads(text)["title"]
        link = f"[{path.name}](../schemas/{path.name})"
        parts.append(
            f"## {path.stem}\n\n{title} ({link}).\n\n"
            f'{_properties(json.loads(text))}\n??? note "Schema"\n\n'
            + "".join(f"    {line}\n" for line in f"```json\n{text}```".splitlines())
        )
    return "\n".join(parts)


def _properties(schema: dict[str, Any]) -> str:
    found = schema.get("oneOf", [schema])[0]
    found = found.get("items", found)
    if "properties" not in found:
        return ""
    rows = [
        f"| `{key}` | {_kind(value)} | {value.get('description', '')} |"
        for key, value in found["properties"].items()
    ]
    return "| key | type | |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _kind(schema: dict[str, Any]) -> str:
    kind = schema.get("type", "one of " + ", ".join(map(str, schema.get("enum", []))))
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def notebook(path: Path) -> str:
    """Return a notebook as Markdown: text, code, and what the code printed when it was run."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        parts += [shown for output in cell["outputs"] if (shown := _output(output))]
    link = f"[Download the notebook]({path.name}){{ download }}"
    return "\n\n".join([parts[0], link, *parts[1:]]) + "\n"


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        encoded = "".join(data["image/png"]).replace("\n", "")
        return f"![Figure](data:image/png;base64,{encoded})"
    text = "".join(output.get("text") or data.get("text/plain") or "")
    return f'<div class="output" markdown>\n```text\n{text.rstrip()}\n```\n</div>' if text else ""


def root_file(path: Path) -> str:
    """Return a file of the root, with links as the site has them."""
    text = path.read_text(encoding="utf-8").replace("](docs/", "](../")
    for name, target in ROOT_FILES.items():
        text = text.replace(f"]({name})", f"]({target}.md)")
    return text


def _wrapped(command: str) -> str:
    """Return a command that fits the page, continued on further lines where it must be."""
    if len(command) <= 100:
        return command
    return " \\\n".join(
        textwrap.wrap(command, 96, subsequent_indent="    ", break_on_hyphens=False)
    )


def _bars(text: str) -> str:
    return escape(text).replace("|", "&#124;")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _text(text: str) -> str:
    """Escape what Markdown would take for markup, outside code."""
    return re.sub(r"([*_<>\[\]])", r"\\\1", text)
