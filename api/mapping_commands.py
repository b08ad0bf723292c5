"""The commands `racedart map` and `racedart lint`. Parses and calls; compiler flags stand behind `--`."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from racedart.finding.errors import RacedartError, UsageError
from racedart.finding.files import write_atomically
from racedart.finding.fingerprint import fingerprinted
from racedart.finding.model import Edit, Reason
from racedart.finding.run import Run
from racedart.output import colored, report_options, write_report
from racedart.version import __version__

if TYPE_CHECKING:
    from racedart.analyzer import Mapping
    from racedart.analyzer.programs import Program
    from racedart.analyzer.verify import Verification

FLAGS = "racedart.flags"
USAGE, CHANGES, INCOMPLETE = 2, 1, 3


class _WithCompilerFlags(click.Command):
    """What stands behind `--` is kept for the compiler, and is no file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[FLAGS] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- CFLAGS]"]


def _common(command: Any) -> Any:
    for option in (
        click.option("--jobs", type=click.IntRange(min=1), help="Processes; all cores by default."),
        click.option("-p", "--build", type=click.Path(), help="Folder with compile_commands.json."),
    ):
        command = option(command)
    return command


@click.command("map", cls=_WithCompilerFlags)
@click.argument("files", nargs=-1, required=True, type=click.Path())
@_common
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--diff", "action", flag_value="diff", default=True, help="Show what would change (the default).")
@click.option("--write", "action", flag_value="write", help="Change the files in place.")
@click.option(
    "--check", "action", flag_value="check", help="Change nothing; exit code 1 if something would change."
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write the changed source here; for one file."
)
@click.option("--backup", is_flag=True, help="With --write: keep each original as FILE.orig.")
@click.option("--explain", is_flag=True, help="Say for each directive and clause why it is there.")
@click.option("--graph", type=click.Path(dir_okay=False), help="Draw the AST-CFG: a .dot or .svg file.")
@click.option("--verify", is_flag=True, help="Compile and run before and after on clang's host device.")
@click.option("--verify-args", default="", help="Arguments of the program for --verify, as a shell has them.")
@click.option("--verify-ignore", default="", metavar="RE", help="Output lines that --verify does not compare.")
@click.option(
    "--verify-timeout", type=float, default=60.0, show_default=True, help="Seconds of each compilation and run."
)
@click.option(
    "--verify-threads", type=click.IntRange(min=1), default=1, show_default=True, help="Of a parallel region."
)
@click.pass_context
def map_command(context: click.Context, /, **given: Any) -> int:
    """Infer the OpenMP data mapping of C and C++ programs, and write it into their sources.

    The diff goes to standard output, everything else to standard error. Among FILES with one `main` or none all are
    one program; with several, each is one together with the files of its folder that have none.

    Exit code: 0 done, 1 something would change (--check), 2 usage or input, 3 no safe mapping, or one that --verify
    finds wrong (the file is left as it is), or code that was not seen, 4 internal error.
    """
    from racedart import mapping as engine
    from racedart.analyzer.programs import collect, programs

    flags = context.meta.get(FLAGS, ())
    paths = collect(given["files"])
    if given["output"] and len(paths) != 1:
        raise UsageError(f"-o takes the one changed source, and there are {len(paths)}; use --write")
    if given["backup"] and given["action"] != "write":
        raise UsageError("--backup is for --write: nothing else changes a file")
    found = programs(paths, flags, given["build"])
    if given["graph"]:
        _draw(found, given["graph"])
    with _progress("inferring", len(found)) as done:
        results = engine.infer_all(found, given["jobs"], done)
    outcomes = [_outcome(program, result, given) for program, result in zip(found, results, strict=True)]
    for outcome in outcomes:
        _apply(outcome, given)
    if given["output_format"] == "json":
        click.echo(json.dumps({"racedart_mapping": 1, "tool_version": __version__,
                               "programs": [outcome.to_json() for outcome in outcomes]}, indent=2))  # fmt: skip
    else:
        for outcome in outcomes:
            outcome.show(given)
    return max(outcome.code(given["action"]) for outcome in outcomes)


@click.command("lint", cls=_WithCompilerFlags)
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@_common
@click.option("--fix", is_flag=True, help="Make the changes that are certain, in place.")
@report_options
@click.pass_context
def lint_command(context: click.Context, /, **given: Any) -> int:
    """Check the OpenMP data mappings of C and C++ sources, and of all sources in folders.

    Exit code: 0 clean, 1 findings at or above --fail-on, 2 usage or input, 3 incomplete, 4 internal error.
    """
    from racedart import mapping as engine
    from racedart.analyzer.programs import collect, programs

    flags = context.meta.get(FLAGS, ())
    found = programs(collect(given["paths"]), flags, given["build"])
    with _progress("checking", len(found)) as done:
        results = engine.lint_all(found, given["jobs"], done)
    errors = [result for result in results if isinstance(result, RacedartError)]
    linted = [result for result in results if not isinstance(result, RacedartError)]
    if given["fix"]:
        fixed = engine.fix(found, given["jobs"])
        click.echo(f"racedart: {fixed} {'change' if fixed == 1 else 'changes'} made", err=True)
        with _progress("checking", len(found)) as done:
            linted = [r for r in engine.lint_all(found, given["jobs"], done) if not isinstance(r, RacedartError)]
    run = Run(
        fingerprinted([f for result in linted for f in result.findings], {}),
        tuple(r for result in linted for r in result.reasons),
        (),
        __version__,
    )
    code = write_report(run, given)
    for error in errors:
        click.echo(f"racedart: error: {error}", err=True)
    return USAGE if errors else code


class _Outcome:
    """What became of one program."""

    def __init__(self, program: Program, mapping: Mapping | None, error: str) -> None:
        self.program = program
        self.mapping = mapping
        self.error = error
        self.verification: Verification | None = None
        self.written: tuple[str, ...] = ()

    @property
    def is_safe(self) -> bool:
        """Whether there is a mapping, and no run of it went wrong."""
        if self.mapping is None or not self.mapping.complete:
            return False
        return self.verification is None or self.verification.verdict == "right"

    @property
    def has_changes(self) -> bool:
        return self.mapping is not None and bool(self.mapping.changes)

    def code(self, action: str) -> int:
        if self.error:
            return USAGE
        if not self.is_safe:
            return INCOMPLETE
        if action == "check" and self.has_changes:
            return CHANGES
        # What was not seen may matter: a header that is missing, code with errors.
        return INCOMPLETE if self.mapping is not None and self.mapping.problems else 0

    def show(self, given: dict[str, Any]) -> None:
        if self.mapping is None:
            click.echo(f"racedart: error: {self.error}", err=True)
            return
        if given["action"] == "diff" and not given["output"]:
            click.echo(self.mapping.diff().encode("utf-8", "surrogateescape"), nl=False)
        if given["explain"]:
            for decision in self.mapping.decisions:
                click.echo(f"{decision.location}: {decision.directive}\n    {decision.reason}", err=True)
        _show_findings(self.mapping)
        if self.verification is not None:
            _show_verification(self.verification)
        click.echo(f"racedart: {self.summary(given)}", err=True)

    def summary(self, given: dict[str, Any]) -> str:
        assert self.mapping is not None
        name = self.program.name
        if not self.mapping.complete:
            return f"{name}: no safe mapping was found; nothing is changed"
        if not self.has_changes:
            return f"{name}: nothing to change"
        count = sum(len(edits) for edits in self.mapping.changes.values())
        where = ", ".join(sorted(Path(path).name for path in self.mapping.changes))
        text = f"{name}: {count} {'edit' if count == 1 else 'edits'} in {where}"
        if not self.is_safe:
            return f"{text}; --verify does not find it right, nothing is written"
        if self.written:
            return f"{text}, written to {', '.join(self.written)}"
        return f"{text}; --write makes them" if given["action"] == "diff" else text

    def to_json(self) -> dict[str, Any]:
        if self.mapping is None:
            return {"name": self.program.name, "error": self.error}
        return {
            "name": self.program.name,
            "files": [unit.path for unit in self.program.units],
            "complete": self.mapping.complete,
            "changed": sorted(self.mapping.changes),
            "written": list(self.written),
            "diff": self.mapping.diff(),
            "edits": [_edit_json(edit) for edit in self.mapping.edits],
            "decisions": [
                {
                    "file": d.location.file,
                    "line": d.location.line,
                    "directive": d.directive,
                    "object": d.object,
                    "reason": d.reason,
                }
                for d in self.mapping.decisions
            ],
            "findings": Run(self.mapping.findings, (), (), __version__).to_json()["findings"],
            "problems": Run(self.mapping.problems, (), (), __version__).to_json()["findings"],
            "verification": None if self.verification is None else self.verification.to_json(),
        }


def _outcome(program: Program, result: Mapping | RacedartError, given: dict[str, Any]) -> _Outcome:
    from racedart import mapping as engine

    if isinstance(result, RacedartError):
        return _Outcome(program, None, str(result))
    outcome = _Outcome(program, result, "")
    if given["verify"]:
        from racedart.analyzer.verify import Options

        options = Options(
            ignore=given["verify_ignore"], timeout=given["verify_timeout"], threads=given["verify_threads"]
        )
        try:
            arguments = shlex.split(given["verify_args"])
        except ValueError as error:
            raise UsageError(f"--verify-args is {given['verify_args']!r}: {error}") from error
        outcome.verification = engine.verify_mapping(program, result, arguments, options)
    return outcome


def _apply(outcome: _Outcome, given: dict[str, Any]) -> None:
    """Write what is to be written; a mapping that is not safe is not."""
    from racedart.analyzer.rewrite import write_source

    if outcome.mapping is None or not outcome.is_safe:
        return
    if given["output"]:
        (unit,) = outcome.program.units
        write_source(given["output"], outcome.mapping.result(unit.path))
        outcome.written = (given["output"],)
    elif given["action"] == "write":
        for path in outcome.mapping.changes:
            write_source(path, outcome.mapping.result(path), outcome.mapping.sources[path], given["backup"])
            outcome.written = (*outcome.written, path)


def _show_findings(mapping: Mapping) -> None:
    from racedart.reports import Options, render

    if mapping.findings or mapping.problems:
        reasons = tuple(Reason("source", problem.message, problem.location) for problem in mapping.problems)
        text = render(Run(mapping.findings, reasons, (), __version__), options=Options(colored(sys.stderr)))
        click.echo(text.rsplit("racedart: ", 1)[0].rstrip("\n"), err=True)


def _show_verification(verification: Verification) -> None:
    for name, measured in (("before", verification.before), ("after", verification.after)):
        if measured is not None:
            moved = measured.transfers
            click.echo(
                f"verify {name}: {measured.verdict}; {moved.copies} copies, {moved.bytes:,} bytes "
                f"({moved.bytes_to_device:,} to the device, {moved.bytes_from_device:,} back), "
                f"{moved.kernels} kernels",
                err=True,
            )
            for reason in measured.reasons:
                click.echo(f"    {reason}", err=True)


def _edit_json(edit: Edit) -> dict[str, Any]:
    return {name: getattr(edit, name) for name in ("file", "line", "column", "end_line", "end_column", "text")}


def _draw(programs: Sequence[Program], output: str) -> None:
    from racedart.analyzer.draw import draw

    if len(programs) != 1:
        raise UsageError(f"--graph draws one program, and there are {len(programs)}; name the files of one")
    text = draw(programs[0], Path(output).suffix.lstrip("."))
    write_atomically(output, text.encode("utf-8", errors="surrogateescape"), "the graph")


@contextlib.contextmanager
def _progress(what: str, total: int) -> Iterator[Any]:
    """A bar on a terminal, for several programs; yields what is to be called at the end of each."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda item: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda item: bar.advance(task)
