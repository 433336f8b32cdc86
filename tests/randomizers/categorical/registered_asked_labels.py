"""Asked labels, as the contract suites run over them."""

from typing import Any

from lapwing.randomizers import AskedLabels
from tests.contracts.randomizer_rows import GROUPS, RandomizerRow

LABELS = ("categories", "categories-missing", "categories-eight")


def _with_all(domain: Any, epsilon: Any) -> AskedLabels:
    return AskedLabels(domain, epsilon, labels=[domain.size - 2], share=0.25)


ROWS = {
    "asked-labels": RandomizerRow(
        lambda domain, epsilon: AskedLabels(domain, epsilon, labels=[1]), LABELS, *GROUPS
    ),
    "asked-labels, several": RandomizerRow(
        lambda domain, epsilon: AskedLabels(domain, epsilon, labels=[0, 2, 4]),
        ("categories-missing", "categories-eight"),
        *GROUPS,
    ),
    "asked-labels, and all": RandomizerRow(_with_all, LABELS[:2], *GROUPS),
}
