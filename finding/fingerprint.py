"""Names of findings that survive edits elsewhere in the source.

A fingerprint is a hash of what makes a finding one fault (its rule, its variable and its places, in any order),
where a place is a file named from the root of the repository and the text of its line without white space and
without a suppression comment. Line numbers, messages, threads, values and the kernel (two kernels can share a
racing device function) have no part in it. Findings that are alike in all this are told apart by their order in
the source: of two alike, mending the first makes the second take its name.

`line_hashes` is the other fingerprint, which code scanning calls `primaryLocationLineHash`. Source: fingerprints.ts
of github/codeql-action. It sees the following 100 characters only, hence none of our second place.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from racedart.finding.model import Finding, Location
from racedart.finding.sources import Sources

SCHEME = "racedart/v1"
"""Changes with the definition, so that a reader never compares two."""

_SUPPRESSION = re.compile(r"(//|#)\s*racedart:.*")

WINDOW, FACTOR, MODULUS, END = 100, 37, 2**64, 0xFFFF


def fingerprinted(findings: Sequence[Finding], given: Mapping[str, str]) -> tuple[Finding, ...]:
    """The findings, in their order, with fingerprints of 32 hexadecimal digits, all different.

    given: text of the sources that are no files. Call it with all findings of a run, since alike ones are counted.
    """
    sources = Sources(given)
    keys = [_key(finding, sources) for finding in findings]
    # Alike findings are numbered in the order of the source, whatever the order of the run.
    order = sorted(range(len(findings)), key=lambda at: (keys[at], _lines(findings[at])))
    met: Counter[str] = Counter()
    named = list(findings)
    for at in order:
        text = f"{keys[at]} {met[keys[at]]}"
        met[keys[at]] += 1
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        named[at] = replace(findings[at], fingerprint=digest[:32])
    return tuple(named)


def _key(finding: Finding, sources: Sources) -> str:
    places = sorted((sources.name(place.file), _line_text(place, sources)) for place in _places(finding))
    return json.dumps([SCHEME, finding.rule, str(finding.properties.get("variable", "")), places])


def _places(finding: Finding) -> tuple[Location, ...]:
    return (finding.location, *finding.related)


def _lines(finding: Finding) -> list[tuple[int, int]]:
    return sorted((place.line, place.column) for place in _places(finding))


def _line_text(place: Location, sources: Sources) -> str:
    return "".join(_SUPPRESSION.sub("", sources.line(place) or "").split())


def line_hashes(text: str) -> tuple[str, ...]:
    """`primaryLocationLineHash` of every line of a text.

    The hash of a line is the polynomial in 37, modulo 2^64, of the 100 UTF-16 code units that follow its start,
    where spaces and tabs are left out, each line end (CR, LF or CR LF) is one LF, and the text is followed by
    U+FFFF and zeros. Written in hexadecimal, with the number of its occurrence in the file.
    """
    normal = re.sub("[ \t]", "", text.replace("\r\n", "\n").replace("\r", "\n"))
    encoded = normal.encode("utf-16-le", errors="surrogatepass")
    units = [encoded[at] | encoded[at + 1] << 8 for at in range(0, len(encoded), 2)]
    starts = [0, *(at + 1 for at, unit in enumerate(units) if unit == ord("\n"))]
    units += [END] + [0] * WINDOW
    met: Counter[int] = Counter()
    hashes = []
    for start in starts:
        value = 0
        for unit in units[start : start + WINDOW]:
            value = (value * FACTOR + unit) % MODULUS
        met[value] += 1
        hashes.append(f"{value:x}:{met[value]}")
    return tuple(hashes)
