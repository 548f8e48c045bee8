"""The result of a battery: rows, years and means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from statistics import fmean
from typing import Any

from conceptor.base.arrays import jsonable
from conceptor.base.notebook import html_grid
from conceptor.evaluation.task import Outcome, is_thin

# Rows that are the means of their tasks.
YEARS = ("STS 2012", "STS 2013", "STS 2014", "STS 2015")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of results; a year's row is the plain mean of its tasks."""

    task: str
    dataset: str
    metric: str
    score: float
    used: int
    total: int

    @property
    def thin(self) -> bool:
        """Whether too few items were used for the score to take part in a mean."""
        return is_thin(self.used, self.total)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of one set of vectors."""

    vectors: str  # their name
    outcomes: Sequence[Outcome]  # one for each dataset
    missing: dict[str, str]  # datasets that were not found, and why

    @property
    def families(self) -> list[str]:
        """The tasks that were run, in order."""
        return list(dict.fromkeys(outcome.task for outcome in self.outcomes))

    def rows(self) -> list[Row]:
        """Return a row for each dataset, then for each year of STS."""
        rows = [Row(o.task, o.dataset, o.metric, o.score, o.used, o.total) for o in self.outcomes]
        for year in YEARS:
            parts = [o for o in self.outcomes if o.dataset.startswith(f"{year[4:]}/")]
            if parts:
                score = fmean(o.score for o in self.tasks_of(year))
                used, total = sum(o.used for o in parts), sum(o.total for o in parts)
                rows.append(Row("sts", year, "pearson", score, used, total))
        return rows

    def tasks_of(self, row: str) -> list[Outcome]:
        """Return the outcomes behind a row; those of a year without thin ones, if possible."""
        if row not in YEARS:
            return [o for o in self.outcomes if o.dataset == row]
        parts = [o for o in self.outcomes if o.dataset.startswith(f"{row[4:]}/")]
        return [o for o in parts if not o.thin] or parts

    def of_family(self, family: str) -> list[Outcome]:
        """Return the outcomes that belong to a family's mean; SICK, for example, does not."""
        return [o for o in self.outcomes if o.task == family and o.in_mean]

    def mean_outcomes(self, family: str) -> list[Outcome]:
        """Return the outcomes in a family's mean: those defined, on enough items."""
        return [o for o in self.of_family(family) if not (math.isnan(o.score) or o.thin)]

    @property
    def left_out(self) -> dict[str, str]:
        """Datasets left out of the means because the vectors cover too little of them."""
        return {o.dataset: f"{o.used} of {o.total} items" for o in self.outcomes if o.thin}

    def means(self) -> dict[str, float]:
        """Return each family's plain mean over the sets that belong to it."""
        parts = {family: self.mean_outcomes(family) for family in self.families}
        return {family: fmean(o.score for o in each) for family, each in parts.items() if each}

    @property
    def remarks(self) -> list[str]:
        """Remarks of outcomes, besides their scores."""
        return [f"{o.dataset}: {o.remark}" for o in self.outcomes if o.remark]

    def __getitem__(self, dataset: str) -> Row:
        """Return the row of a dataset or a year."""
        return {row.dataset: row for row in reversed(self.rows())}[dataset]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        data = {
            "vectors": self.vectors,
            "results": [asdict(row) for row in self.rows()],
            "means": self.means(),
            "left_out": self.left_out,
            "remarks": self.remarks,
            "missing": self.missing,
        }
        return dict(jsonable(data))

    def __repr__(self) -> str:
        means = (f"{family} {mean:.2f}" for family, mean in self.means().items())
        return f"{self.vectors}: {', '.join(means)}"

    def _repr_html_(self) -> str:
        """Show a row for each dataset in a notebook."""
        head = ("task", "dataset", "metric", "score", "used", "total")
        return html_grid(self.vectors, head, map(astuple, self.rows()))
