"""Check a launch in one build or two: the optimised one, and with `thorough` the unoptimised one before it.

An optimiser can remove a source-level race from the binary. The unoptimised build is checked on the same inputs;
what only it shows is marked. The user's results are those of the optimised build.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from racedart.finding.model import Finding, Reason
from racedart.finding.run import LaunchRecord
from racedart.shadow import check
from racedart.shadow.launch import Launch
from racedart.shadow.outcome import Options, Outcome


@dataclass(frozen=True, slots=True)
class Checked:
    """What the builds of one launch gave, a record of each, and the sources that are no files."""

    findings: tuple[Finding, ...]
    reasons: tuple[Reason, ...]
    records: tuple[LaunchRecord, ...]
    sources: Mapping[str, str]


def check_builds(
    make: Callable[[bool], Launch], options: Options, thorough: bool, arguments: tuple[str, ...]
) -> Checked:
    """Check the launch that `make` gives for an optimised build (True), and for an unoptimised one.

    arguments: of the launch, as short texts. Raises what `make` and check_launch raise.
    """
    launch = make(True)
    records = []

    def checked(made: Launch, build: str) -> Outcome:
        outcome = check.check_launch(made, replace(options, write_back=build == "optimised"))
        records.append(
            LaunchRecord(
                made.kernel.name,
                made.kernel.language,
                made.grid,
                made.block,
                made.shared_bytes,
                options.engine,
                options.mode,
                options.seed,
                build,
                arguments,
                outcome.statistics,
            )
        )
        return outcome

    findings: tuple[Finding, ...] = ()
    reasons: tuple[Reason, ...] = ()
    if thorough:
        # First, on the inputs as they are: the optimised build writes its results back.
        literal = checked(make(False), "unoptimised")
        outcome = checked(launch, "optimised")
        known = {identity(finding) for finding in outcome.findings}
        findings = tuple(_only_unoptimised(f) for f in literal.findings if identity(f) not in known)
        reasons = tuple(replace(r, message=f"unoptimised build: {r.message}") for r in literal.reasons)
    else:
        outcome = checked(launch, "optimised")
    return Checked(
        (*outcome.findings, *findings), (*outcome.reasons, *reasons), tuple(records), dict(launch.kernel.sources)
    )


def identity(finding: Finding) -> tuple[object, ...]:
    """What the findings of two builds or launches have in common when they are one fault."""
    places = sorted((place.file, place.line) for place in (finding.location, *finding.related))
    return finding.rule, finding.properties.get("variable"), *places


def _only_unoptimised(finding: Finding) -> Finding:
    message = f"{finding.message}; the optimised build has no such pair of accesses"
    return replace(finding, message=message, properties={**finding.properties, "build": "unoptimised"})
