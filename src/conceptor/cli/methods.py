"""`methods`: list the methods."""

from __future__ import annotations

import typer

from conceptor.cli.app import app


@app.command()
def methods() -> None:
    """List all methods with their descriptions and parameters.

    Example: [b]conceptor methods[/b]
    """
    from conceptor.algebra.methods import METHODS, Recipe

    width = max(map(len, METHODS))
    for name, recipe in METHODS.items():
        typer.echo(f"{name:<{width}}  {recipe.description}")
        if isinstance(recipe, Recipe) and recipe.parameters:
            given = ", ".join(f"{key}={value}" for key, value in recipe.parameters.items())
            typer.echo(f"{'':<{width}}  fitted on {recipe.words}; {given.replace('=None', '')}")
