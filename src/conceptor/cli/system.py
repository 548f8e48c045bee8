"""`doctor` and `man`: check the installation, and print the manual.

The commands are described as data, taken from the program itself, for the manual and the site.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from conceptor.base.errors import ConceptorError, printable
from conceptor.cli import options as opt
from conceptor.cli.app import command
from conceptor.cli.output import write_json, write_output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@command()
def doctor(data: opt.Data = None, as_json: opt.Json = False) -> None:
    """Check the installation: versions, BLAS, extras, caches, and the data found.

    Exit code 1 if there is a problem.

    [bold]Example[/bold]

      conceptor doctor
    """
    from conceptor.data.installation import examine

    found = examine(data)
    if as_json:
        write_json(asdict(found))
    else:
        for label, value in {**found.system, **found.caches}.items():
            typer.echo(printable(f"{label:<17} {value}"))
        versions = (f"{name} {version or 'missing'}" for name, version in found.packages.items())
        typer.echo(f"{'packages':<17} {', '.join(versions)}")
        for extra, missing in found.extras.items():
            said = f"without {', '.join(missing)}: pip install 'conceptor[{extra}]'"
            typer.echo(f"{f'extra {extra}':<17} {said if missing else 'installed'}")
        for kind, (here, total) in found.data.items():
            typer.echo(f"{f'data {kind}':<24} {here} of {total} files")
    if found.problems:
        raise ConceptorError("; ".join(found.problems))
    if not as_json:
        typer.echo("No problems found.")


@command()
def man() -> None:
    """Print the manual page of all commands, for man(1).

    [bold]Examples[/bold]

      conceptor man > conceptor.1

      man ./conceptor.1
    """
    write_output(man_page(describe_commands()), None)


_MARKUP = re.compile(r"(?<!\\)\[/?(?:b|bold|i|dim)\]")


@dataclass(frozen=True, slots=True)
class OptionHelp:
    """An argument, or an option with all its spellings, and the kind of its value."""

    names: Sequence[str]
    takes: str
    help: str
    is_argument: bool


@dataclass(frozen=True, slots=True)
class CommandHelp:
    """One command: its full name, description, examples, arguments and options."""

    name: str
    paragraphs: Sequence[str]
    examples: Sequence[str]
    options: Sequence[OptionHelp]

    @property
    def usage(self) -> str:
        """The command with its arguments."""
        arguments = [each.takes for each in self.options if each.is_argument]
        return " ".join([self.name, *arguments, "[OPTIONS]"])


def describe_commands() -> list[CommandHelp]:
    """Return every command, in the order of --help."""
    from typer.main import get_command

    from conceptor.cli import COMMANDS
    from conceptor.cli.app import app

    for module in sorted(set(COMMANDS.values())):
        import_module(f"conceptor.cli.{module}")
    group: Any = get_command(app)
    ordered = sorted(group.commands.items(), key=lambda item: list(COMMANDS).index(item[0]))
    return [one for name, each in ordered for one in _describe(f"conceptor {name}", each)]


def _describe(name: str, described: Any) -> Iterator[CommandHelp]:  # noqa: ANN401 - Click's or Typer's
    if hasattr(described, "commands"):
        for other, inner in described.commands.items():
            yield from _describe(f"{name} {other}", inner)
        return
    text = _plain(described.help or "")
    paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n", text)]
    examples: list[str] = []
    for heading in ("Example", "Examples"):  # the last part of a help text
        if heading in paragraphs:
            place = paragraphs.index(heading)
            paragraphs, examples = paragraphs[:place], paragraphs[place + 1 :]
    options = [_option(each) for each in described.params if each.name != "help"]
    yield CommandHelp(name, paragraphs, examples, options)


def _option(parameter: Any) -> OptionHelp:  # noqa: ANN401
    is_argument = parameter.param_type_name == "argument"
    takes = parameter.metavar or _choices(parameter)
    if not takes:
        takes = parameter.name.upper() if is_argument else _kind(parameter).upper()
    if getattr(parameter, "is_flag", False):
        takes = ""
    if is_argument:
        takes = takes.removesuffix("...") + ("..." if parameter.nargs == -1 else "")
        takes = takes if parameter.required else f"[{takes}]"
    help_ = _plain(getattr(parameter, "help", None) or "")
    shown = parameter.default
    if shown not in (None, False, "", ()) and not callable(shown) and "[default" not in help_:
        help_ += f"  [default: {getattr(shown, 'value', shown)}]"
    names = [takes] if is_argument else [*parameter.opts, *parameter.secondary_opts]
    return OptionHelp(names, takes, help_.strip(), is_argument)


def _choices(parameter: Any) -> str:  # noqa: ANN401
    """Return the choices of an option, if it has any; Typer 0.29 has no Click types."""
    kind = getattr(parameter, "type", None) or parameter.type_descriptor
    return "|".join(map(str, getattr(kind, "choices", None) or ()))


def _kind(parameter: Any) -> str:  # noqa: ANN401
    """Return the kind of value; for a repeatable option, the kind of one value."""
    if hasattr(parameter, "type"):
        return str(parameter.type.name)
    return re.sub(r"list\[(.*)\]", r"\1", parameter.display_type(None).strip("<>"))


def _plain(text: str) -> str:
    """Return a help text without markup."""
    return _MARKUP.sub("", text).replace("\\[", "[")


def man_page(commands: Sequence[CommandHelp]) -> str:
    """Return the manual in the language of man(7)."""
    from conceptor import __version__

    lines = [
        f'.TH CONCEPTOR 1 "" "conceptor {__version__}" "User Commands"',
        ".SH NAME",
        "conceptor \\- better word vectors without labels or training",
        ".SH SYNOPSIS",
        ".B conceptor",
        "COMMAND [OPTIONS]",
        ".SH DESCRIPTION",
        _roff(
            "Finds the directions that frequent words share, in one pass over a vectors file, and "
            "turns them down."
        ),
        ".SH COMMANDS",
    ]
    for each in commands:
        lines += [f".SS {_roff(each.usage)}", *map(_roff, each.paragraphs)]
        for option in each.options:
            spelt = ", ".join(option.names)
            takes = "" if option.is_argument or not option.takes else f" {option.takes}"
            lines += [".TP", f".B {_roff(spelt + takes)}", _roff(option.help)]
        if each.examples:
            lines += [".PP", "Examples:", ".nf", *map(_roff, each.examples), ".fi"]
    lines += [
        ".SH EXIT STATUS",
        "0: success; 1: the work failed; 2: the call or the input is wrong.",
        ".SH ENVIRONMENT",
        ".TP",
        ".B CONCEPTOR_DATA",
        "Directory that is searched first for benchmark files.",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _roff(text: str) -> str:
    """Escape text that groff would read as a request, and hyphens that must stay hyphens."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
