"""Indigo's CUDA kernels on its small graphs: verdicts of the CPU engine against the names of the variants.

Indigo (Liu et al., ISPASS 2022) plants bugs and says so in the file name: atomicBug, guardBug, raceBug and syncBug
plant a data race, boundsBug an access out of bounds. Takes the folder that holds `indigo_sources` and `input`,
as in HiRace's SC 2024 artifact, builds each kernel without its host code, and binds arguments as the suite's own
host code does (C's rand() without a seed; 1024 blocks of 256 threads). One JSON line per check goes to
`--log`, from which an interrupted run goes on; the Markdown summary goes to standard output:

    python benchmarks/indigo.py ARTIFACT/indigo --log indigo.jsonl > benchmarks/results/indigo-DATE.md

A named race need not occur on every graph. `--prove` runs every launch whose named race was not found once more
with a log of every access to every word, and looks for an unordered conflicting pair in the whole log.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import os
import platform
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import racedart
from numpy.typing import NDArray
from racedart.shadow.check import trace_of
from racedart.shadow.cpu import engine
from racedart.shadow.cpu.device import Device
from racedart.shadow.cpu.program import load_program
from racedart.shadow.explain.pairs import racing_pairs
from racedart.shadow.explain.trace import split_by
from racedart.shadow.frontends import make_launch

BLOCKS, THREADS = 1024, 256
RACE_MARKS = ("atomicBug", "guardBug", "raceBug", "syncBug")
BOUNDS_MARK = "boundsBug"
RACES = frozenset({"R101", "R102", "R103", "R104", "R105"})
PROOF_ROWS = 1 << 24

# Stands for the suite's host program: what the sources' own host functions need to be parsed.
HOST_STUB = "void qsort(void*, size_t, size_t, int (*)(const void*, const void*));\n"


@dataclass(frozen=True)
class Graph:
    """A graph in ECL's format: nodes, edges, row index and neighbours, all int32."""

    name: str
    nindex: NDArray[np.int32]
    nlist: NDArray[np.int32]

    @staticmethod
    def read(path: Path) -> Graph:
        """Read an .egr file."""
        words = np.fromfile(path, np.int32)
        nodes, edges = int(words[0]), int(words[1])
        return Graph(path.stem, words[2 : 3 + nodes], words[3 + nodes : 3 + nodes + edges])

    def arguments(self) -> list[Any]:
        """nindex, nlist, data1, data2, numv as the suite's host code makes them."""
        nodes, edges = len(self.nindex) - 1, max(len(self.nlist), 1)
        size = max(nodes, edges)
        libc = ctypes.CDLL(None)
        libc.srand(1)
        data = [np.array([0, *(libc.rand() % n for _ in range(size - 1))], np.int32) for n in (nodes, edges)]
        return [self.nindex.copy(), np.resize(self.nlist, edges), *data, nodes]


def expectation(name: str) -> str:
    """What a variant's name says: "race", "bounds" or "clean"."""
    if any(mark in name for mark in RACE_MARKS):
        return "race"
    return "bounds" if BOUNDS_MARK in name else "clean"


def check_variant(source: str, graphs: list[str], stub: str, prove: bool, timeout: float) -> list[dict[str, Any]]:
    """Check one variant on graphs; one row per graph."""
    start = time.monotonic()
    kernel = racedart.cuda_kernel(source, "test_kernel", ["-default-device"], include_dirs=[stub])
    kernel.compile()
    compiled = time.monotonic() - start
    rows = []
    for path in graphs:
        graph = Graph.read(Path(path))
        start = time.monotonic()
        run = racedart.check(kernel, BLOCKS, THREADS, *graph.arguments(), timeout=timeout)
        row = {
            "variant": Path(source).stem,
            "graph": graph.name,
            "expected": expectation(Path(source).stem),
            "rules": sorted({f.rule for f in run.findings}),
            "findings": sorted({(f.rule, f.location.line, *(r.line for r in f.related)) for f in run.findings}),
            "reasons": sorted({r.message for r in run.reasons}),
            "compile_s": round(compiled, 3),
            "check_s": round(time.monotonic() - start, 3),
        }
        if prove and row["expected"] == "race" and not RACES & set(row["rules"]):
            row["proof"] = prove_race_free(kernel, graph)
        rows.append(row)
        compiled = 0.0
    return rows


def prove_race_free(kernel: Any, graph: Graph) -> str:
    """Log every access of every granule of a launch, and look at every pair: "free", "race" or "log full"."""
    launch = make_launch(kernel, BLOCKS, THREADS, graph.arguments())
    program = load_program(launch.kernel.ptx, launch.kernel.entry, "exact", launch.kernel.source_path)
    device = Device(program, launch)
    granules = np.arange(device.size >> program.plan.global_shift)
    shared_words = program.static_shared >> program.plan.shared_shift
    blocks = np.repeat(np.arange(BLOCKS), shared_words)
    shared = np.stack([blocks, np.tile(np.arange(shared_words), BLOCKS)], axis=1)
    inside = granules[device.shadow[granules] == 0]
    watch = engine.Watch(inside, shared, PROOF_ROWS)
    raw = engine.run(program, launch, device, seed=0, deadline=lambda: None, watch=watch)
    if raw.log_count > PROOF_ROWS or raw.status:
        return "log full" if not raw.status else f"status {raw.status}"
    trace = trace_of(raw, THREADS, True)
    events = program.plan.events
    writing = np.zeros(max(events) + 1, np.bool_)
    writing[[site for site, event in events.items() if event.kind != "read"]] = True
    thread = trace.block * THREADS + trace.thread
    key = (trace.block * trace.shared << 40) + (trace.shared << 39) + trace.word
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    # Only a word that two threads access, one of them writing, can have a race.
    several, written = np.zeros(len(first), np.bool_), np.zeros(len(first), np.bool_)
    several[place[thread != thread[first][place]]] = True
    written[place[writing[trace.site]]] = True
    rows = np.flatnonzero((several & written)[place])
    groups = split_by(rows, place[rows]) if len(rows) else []
    racing = any(True for group in groups for _ in racing_pairs(trace, group, events))
    return "race" if racing else "free"


def summary(rows: list[dict[str, Any]]) -> str:
    """Markdown: found, missed and false alarms for each graph, and every difference from the names."""
    by_graph: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_graph[row["graph"]].append(row)
    lines = [
        "| graph | kernels | races named: found / not there / missed | false races "
        "| out of bounds named: found / not there | out of bounds elsewhere | incomplete | mean check |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for graph, of_graph in sorted(by_graph.items()):
        counts = Counter(outcome(row) for row in of_graph)
        mean = sum(row["check_s"] for row in of_graph) / len(of_graph)
        lines.append(
            f"| {graph} | {len(of_graph)} | {counts['found']} / {counts['proved free']} / {counts['missed']} "
            f"| {counts['false race']} | {counts['bounds found']} / {counts['in bounds']} "
            f"| {sum('R301' in r['rules'] and r['expected'] != 'bounds' for r in of_graph)} "
            f"| {sum(bool(r['reasons']) for r in of_graph)} | {mean:.2f} s |"
        )
    odd = [r for r in rows if outcome(r) in {"missed", "false race"} or r["reasons"]]
    lines += ["", f"Differences without an explanation, and incomplete checks: {len(odd)}.", ""]
    lines += [f"- {r['variant']} on {r['graph']}: {outcome(r)}; {r['findings']} {r['reasons']}" for r in odd]
    return "\n".join(lines)


def outcome(row: dict[str, Any]) -> str:
    """How a verdict compares with the variant's name."""
    if row["expected"] == "race":
        if RACES & set(row["rules"]):
            return "found"
        return "proved free" if row.get("proof") == "free" else "missed"
    # Behind the end of one array lies another: a race of such an access follows from the named bug.
    astray = {line for rule, line, *_ in row["findings"] if rule == "R301"}
    if any(rule in RACES and not astray & set(lines) for rule, *lines in row["findings"]):
        return "false race"
    if row["expected"] == "bounds":
        return "bounds found" if "R301" in row["rules"] else "in bounds"
    return "clean"


def main() -> None:
    """Check what the log does not have yet, and print the summary of all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("indigo", type=Path, help="folder that holds indigo_sources and input")
    parser.add_argument("--log", type=Path, required=True, help="file of one JSON line per check; is appended to")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--hours", type=float, default=4.0, help="start no further variant after this time")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for each run of a launch")
    parser.add_argument("--match", default="", help="only variants whose name contains this")
    parser.add_argument("--prove", action="store_true", help="look at every access where none is found")
    options = parser.parse_args()
    end = time.monotonic() + 3600 * options.hours
    rows = [json.loads(line) for line in options.log.read_text().splitlines()] if options.log.exists() else []
    done = {row["variant"] for row in rows}
    graphs = sorted(map(str, (options.indigo / "input").glob("*.egr")))
    sources = [s for s in (options.indigo / "indigo_sources").glob("*/*.cu") if options.match in s.name]
    # Last those whose threads may run on what they read out of bounds, for as long as the time limit lets them.
    sources.sort(key=lambda s: (BOUNDS_MARK in s.stem, s))
    left = [s for s in sources if s.stem not in done]
    with tempfile.TemporaryDirectory() as stub, options.log.open("a") as log:
        (Path(stub) / "indigo_cuda.h").write_text(HOST_STUB)
        # A new pool for each batch bounds the memory that compiled kernels take.
        batch = 20 * options.jobs
        for start in range(0, len(left), batch):
            with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
                some = left[start : start + batch]
                tasks = [
                    pool.submit(check_variant, str(s), graphs, stub, options.prove, options.timeout) for s in some
                ]
                for task in tasks:
                    for row in task.result():
                        rows.append(row)
                        log.write(json.dumps(row) + "\n")
                    log.flush()
            print(f"{len(rows)} of {len(sources) * len(graphs)} checks", file=sys.stderr)
            if time.monotonic() > end:
                break
    print(
        f"# Indigo on the CPU engine, {datetime.date.today()}\n\n{platform.processor() or platform.machine()}, "
        f"{os.cpu_count()} cores, Python {platform.python_version()}.\n"
    )
    print(summary(rows))


if __name__ == "__main__":
    main()
