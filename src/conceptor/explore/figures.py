"""The comparison of `conceptor compare`, running in the background of the page."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock, Thread
from typing import TYPE_CHECKING

from conceptor.base.errors import InvalidInputError
from conceptor.explore.answers import FiguresState, Settings
from conceptor.methods import ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conceptor.explore.session import Session


class Figures:
    """Runs one comparison at a time; keeps the last one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = Lock()
        self.state = FiguresState("idle", "", None, "", [])

    def start(self, settings: Settings) -> FiguresState:
        """Start a comparison of the page's methods, with the chosen one at its current setting."""
        chosen = self._session.method_text(settings)
        methods = list(dict.fromkeys([ORIGINAL, chosen, *self._session.methods.names]))
        with self._lock:
            if self.state.state == "running":
                raise InvalidInputError("a comparison is already running; wait until it is done")
            self.state = FiguresState("running", "starting", None, "", methods)
        Thread(target=self._run, args=(methods,), daemon=True).start()
        return self.state

    def _report(self, label: str, fraction: float | None, words: int) -> None:
        self.state = replace(self.state, label=label, fraction=fraction)

    def _run(self, methods: Sequence[str]) -> None:
        try:
            html = self._compare(methods)
        except Exception as error:  # the page shows any error
            self.state = replace(self.state, state="failed", label=str(error), fraction=None)
        else:
            self.state = replace(self.state, state="done", label="", fraction=1.0, html=html)

    def _compare(self, methods: Sequence[str]) -> str:
        # Benchmarks need SciPy, which takes a second to import.
        from conceptor.evaluation import evaluate, load_battery
        from conceptor.evaluation.compare.words import compare
        from conceptor.report.page import comparison_html

        session = self._session
        if session.table.of_texts:
            from conceptor.evaluation.compare.texts import compare_texts
            from conceptor.report.texts import text_html

            vectors, name = session.table.vectors, session.table.name
            return text_html(compare_texts(vectors, methods, name=name, progress=self._report))
        battery = load_battery(None, session.options.data, offline=True)
        if not battery.tasks:
            raise InvalidInputError("no benchmark files were found; run: conceptor data fetch")
        found = compare(
            session.table.vectors,
            methods,
            battery,
            session.options,
            name=session.table.name,
            examples=10,
            progress=self._report,
        )
        if session.other is not None:
            other = evaluate(session.other.vectors, battery, progress=self._report)
            found = replace(found, evaluations={**found.evaluations, session.other.name: other})
        return comparison_html(found)
