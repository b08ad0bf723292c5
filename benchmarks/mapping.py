"""Inferred mappings against those of programs' authors: right or wrong, copies and bytes.

    python benchmarks/mapping.py MANIFEST.json FOLDER > benchmarks/results/mapping-NAME-DATE.md

FOLDER holds programs that were fetched elsewhere. MANIFEST is a list of objects: name, folder (in FOLDER), sources,
and where needed flags, args (of the program; {folder} is its folder), ignore (pattern of output lines that are not
compared), threads (of a parallel region). Each program is stripped of its data mappings, mapped by racedart, and
run both ways on clang's host device. Nothing in FOLDER is changed.
"""

from __future__ import annotations

import datetime
import json
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from racedart.analyzer import infer
from racedart.analyzer.rewrite import apply_edits
from racedart.analyzer.strip import strip_mappings
from racedart.analyzer.verify import Measured, Options, Unit, verify
from racedart.finding.errors import RacedartError

SUFFIXES = {".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hpp", ".hh", ".cuh"}


def main() -> None:
    manifest, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    wanted = set(sys.argv[3:])
    print(f"# Inferred data mappings: {Path(sys.argv[1]).stem}\n")
    print(f"{datetime.date.today()}, {platform.machine()}, Python {platform.python_version()}\n")
    print("| program | author | copies / bytes | racedart | copies / bytes | seconds | reason |")
    print("|---|---|---|---|---|---|---|")
    for program in manifest:
        if not wanted or program["name"] in wanted:
            print(row(program, folder), flush=True)


def row(program: dict[str, Any], folder: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="racedart_mapping_") as scratch:
        work = Path(scratch) / "program"
        shutil.copytree(folder / program["folder"], work, symlinks=True)
        fill = {"folder": str(work)}
        flags = tuple(word.format(**fill) for word in program.get("flags", ()))
        arguments = [word.format(**fill) for word in program.get("args", ())]
        sources = [str(work / name) for name in program["sources"]]
        original = {str(p): p.read_bytes() for p in work.rglob("*") if p.suffix in SUFFIXES and p.is_file()}
        for path, text in original.items():
            Path(path).write_bytes(apply_edits(text, strip_mappings(text)))
        options = Options(
            flags, program.get("ignore", ""), program.get("timeout", 120.0), str(work), program.get("threads", 1)
        )
        units = [Unit(path) for path in sources]
        name = program["name"]
        try:
            author = verify(units, original, arguments, options).after
        except RacedartError as error:
            return f"| {name} | not measured | | | | | {short(error)} |"
        start = time.perf_counter()
        try:
            mapping = infer(sources, flags)
        except RacedartError as error:
            return f"| {name} | {cells(author)} | refused | | | {short(error)} |"
        seconds = time.perf_counter() - start
        if not mapping.complete:
            first = (*mapping.findings, *mapping.problems)[0]
            return f"| {name} | {cells(author)} | refused | | {seconds:.1f} | {short(first.message)} |"
        try:
            changed = {path: mapping.result(path) for path in mapping.changes}
            after = verify(units, changed, arguments, options).after
        except RacedartError as error:
            return f"| {name} | {cells(author)} | does not compile | | {seconds:.1f} | {short(error)} |"
        reason = short("; ".join(after.reasons)) if after is not None else "nothing changed"
        return f"| {name} | {cells(author)} | {cells(after)} | {seconds:.1f} | {reason} |"


def cells(measured: Measured | None) -> str:
    if measured is None:
        return "unchanged | "
    return f"{measured.verdict} | {measured.transfers.copies:,} / {measured.transfers.bytes:,}"


def short(text: object) -> str:
    return " ".join(str(text).split())[-200:].replace("|", "/")


if __name__ == "__main__":
    main()
