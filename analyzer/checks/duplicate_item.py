"""M106: one directive names an object twice.

OpenMP 5.2, 5.8.3 and 13.9: a list item may not appear in two map clauses with different map-types, nor in both
`to` and `from` of one update. Judged by the text of the items.
"""

from __future__ import annotations

from collections.abc import Iterator

from racedart.analyzer.checks.environment import Environment
from racedart.analyzer.checks.report import place, removed
from racedart.finding.model import Finding, Fix, Level

RULE = "M106"


def check(environment: Environment) -> Iterator[Finding]:
    """One finding for each repeated item."""
    for step in environment.graph.steps:
        directive = step.root.directive
        if directive is None or step.kind not in {"kernel", "directive"}:
            continue
        seen: dict[str, str] = {}
        for clause in directive.named("map", "to", "from"):
            kind = clause.map_type if clause.name == "map" else clause.name
            for index, item in enumerate(clause.items):
                text = item.text.replace(" ", "")
                if text not in seen:
                    seen[text] = kind
                    continue
                same = seen[text] == kind
                yield Finding(
                    RULE,
                    Level.ERROR,
                    f"{item.text} is named twice in one directive ({seen[text]} and {kind})",
                    place(environment, step.root, step, "here"),
                    (),
                    Fix(
                        "name it once" if same else "name it once, with the one map-type that is meant",
                        removed(environment, directive, clause, index, step.root) if same else (),
                    ),
                    {"variable": item.text},
                )
