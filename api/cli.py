"""The command line. Parses and calls; exit codes are those of finding/run, 2 for usage and input, 4 for faults."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
import traceback
from dataclasses import replace
from typing import Any

import click
from racedart.finding.errors import RacedartError, UsageError
from racedart.finding.run import Run, load_run
from racedart.mapping_commands import lint_command, map_command
from racedart.output import REPORT_OPTIONS, report_options, write_report
from racedart.version import __version__

USAGE, INTERNAL, INTERRUPTED = 2, 4, 130
DEFAULT_TIMEOUT = 300.0


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A source line may hold characters that the terminal's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(arguments, prog_name="racedart", standalone_mode=False)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        error.show()
        code = USAGE
    except RacedartError as error:
        click.echo(f"racedart: error: {error}", err=True)
        code = USAGE
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("racedart: interrupted", err=True)
        code = INTERRUPTED
    except SystemExit:
        # click ends so when the reader of our output has gone, with a code that would mean findings.
        code = INTERRUPTED
    except Exception:  # whatever it is, it is a fault of racedart, and its exit code says so
        traceback.print_exc()
        click.echo("racedart: internal error: please report this with the command and the traceback", err=True)
        code = INTERNAL
    sys.exit(code if isinstance(code, int) else 0)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="racedart")
def cli() -> None:
    """Find data races in CUDA kernels (Numba, CUDA C++, PTX); infer and lint OpenMP data mappings."""


def _is_program(word: str) -> bool:
    if word.startswith("-") or "::" in word:
        return False
    if word.endswith(".py"):
        return True
    from racedart.shadow.frontends.cudart import is_program

    return is_program(word)


class _CheckCommand(click.Command):
    """Everything after the path of a program belongs to the program, as with `python`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Split the program's arguments off before the options of the command are read."""
        takes_value = {
            name: not getattr(p, "is_flag", False) for p in self.params for name in (*p.opts, *p.secondary_opts)
        }
        at = 0
        while at < len(args):
            word = args[at]
            if word == "-m" or _is_program(word):
                end = at + 2 if word == "-m" else at + 1
                context.meta["racedart.program"] = args[end:]
                args = args[:end]
                break
            at += 2 if takes_value.get(word) else 1
        return super().parse_args(context, args)


@cli.command(cls=_CheckCommand)
@click.argument("target", metavar="FILE::KERNEL|PROGRAM [ARGS]...", required=False)
@click.option("-m", "module", help="Run a module as the program, as `python -m` does.")
@click.option("--grid", help="Blocks: N, or X,Y or X,Y,Z. Required for a kernel.")
@click.option("--block", help="Threads of a block: N, or X,Y or X,Y,Z. Required for a kernel.")
@click.option("--arg", "args", multiple=True, help="An argument, in order: zeros:1024:f4, 32:i4, FILE.npy, ...")
@click.option("--set", "variables", multiple=True, help="A __constant__ or __device__ variable: NAME=ARGUMENT.")
@click.option("--shared-bytes", type=int, default=0, help="Dynamic shared memory of a block.")
@click.option("--engine", type=click.Choice(["auto", "cpu", "gpu"]), default="auto", show_default=True)
@click.option("--mode", type=click.Choice(["exact", "hirace"]), default="exact", show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the order in which threads run.")
@click.option("--schedules", type=int, default=1, show_default=True, help="How many orders are tried.")
@click.option("--thorough", is_flag=True, help="Check the unoptimised build as well.")
@click.option("--no-proof", is_flag=True, help="Check accesses that are proved free of races as well.")
@click.option("--timeout", type=float, default=DEFAULT_TIMEOUT, show_default=True, help="Seconds for each run.")
@click.option("--jobs", type=int, default=0, help="Cores to use; all of them if not given.")
@click.option("--define", multiple=True, help="Macro for CUDA C++: NAME or NAME=VALUE.")
@click.option("--option", multiple=True, help="Option for NVRTC.")
@click.option("-I", "include", multiple=True, help="Include folder for CUDA C++.")
@click.option("--kernel", help="Of a program, check kernels whose name this regular expression matches.")
@click.option("--launch", help="Of a program, check launches N-M (or N, N-), counted from 1.")
@click.option("--sample", help="Of a program, check every N-th launch: 1/N.")
@click.option("--save", type=click.Path(dir_okay=False), help="Write the run file here.")
@report_options
@click.pass_context
def check(context: click.Context, /, **given: Any) -> int:
    """Check one launch of a kernel, or every launch of a program, without a GPU.

    FILE::KERNEL is k.py::kernel, 'k.cu::ns::scale<float,4>' or k.ptx::entry. A Python program runs as with
    `python`, with the arguments that follow it; launches through numba.cuda are checked. So are those of a program
    built by nvcc -cudart shared -gencode arch=compute_90,code=compute_90 -no-compress -lineinfo.

    Exit code: 0 clean, 1 findings at or above --fail-on, 2 usage or input, 3 incomplete, 4 internal error.
    """
    if given["module"] or "racedart.program" in context.meta:
        run = _check_program(context, given)
    else:
        # What the kernel prints must not stand in a report that is read by a program.
        apart = given["output"] is None and given["output_format"] != "text"
        with contextlib.redirect_stdout(sys.stderr) if apart else contextlib.nullcontext():
            run = _check_kernel(given)
    run = _with_command(run, shlex.join(["racedart", *_arguments(context)]))
    if given["save"]:
        run.save(given["save"])
    return write_report(run, given)


def _check_kernel(given: dict[str, Any]) -> Run:
    from racedart import checking
    from racedart.progress import BlockBar
    from racedart.shadow.frontends import load_target, parse_argument

    target = given["target"]
    if target is None:
        raise UsageError("no target: give FILE::KERNEL or a program")
    for option in ("kernel", "launch", "sample"):
        if given[option] is not None:
            raise UsageError(f"--{option} selects launches of a program; {target} is one kernel")
    if given["grid"] is None or given["block"] is None:
        raise UsageError(_lacks_launch(target))
    if sys.stderr.isatty():
        _announce_compilation(given["mode"])
    kernel = load_target(target, given["define"], given["option"], given["include"])
    arguments = [parse_argument(text) for text in given["args"]]
    with BlockBar() as bar:
        return checking.check(
            kernel,
            _dimensions("--grid", given["grid"]),
            _dimensions("--block", given["block"]),
            *arguments,
            shared_bytes=given["shared_bytes"],
            variables=dict(_assignment(text) for text in given["variables"]),
            progress=bar.update if sys.stderr.isatty() else None,
            **_common(given),
        )


def _assignment(text: str) -> tuple[str, Any]:
    from racedart.shadow.frontends import parse_argument

    name, separator, value = text.partition("=")
    if not name or not separator:
        raise UsageError(f"--set is {text!r}; give NAME=ARGUMENT, such as coefficients=random:64:f4")
    return name, parse_argument(value)


def _check_program(context: click.Context, given: dict[str, Any]) -> Run:
    from racedart import checking

    target = given["module"] or given["target"]
    for option in ("grid", "block", "args", "variables", "shared_bytes", "define", "option", "include"):
        if given[option]:
            raise UsageError(
                f"--{option.removesuffix('s').replace('_', '-')} belongs to the check of one kernel; {target} is a "
                f"program: name a kernel ({target}::KERNEL), or give only options of programs"
            )
    if sys.stderr.isatty():
        _announce_compilation(given["mode"])
    return checking.check_program(
        target,
        context.meta.get("racedart.program", []),
        module=bool(given["module"]),
        kernel=given["kernel"],
        launches=_launches(given["launch"]),
        sample=_sample(given["sample"]),
        # A report for machines must not be mixed with what the program prints.
        output_to_stderr=given["output"] is None and given["output_format"] != "text",
        **_common(given),
    )


def _common(given: dict[str, Any]) -> dict[str, Any]:
    names = ("engine", "mode", "seed", "schedules", "timeout", "thorough", "jobs")
    return {name: given[name] for name in names} | {"prove": not given["no_proof"]}


def _launches(text: str | None) -> tuple[int, int | None]:
    if text is None:
        return 1, None
    first, separator, last = text.partition("-")
    try:
        return int(first), int(last) if last else None if separator else int(first)
    except ValueError:
        raise UsageError(f"--launch is {text!r}; give N, N-M or N-") from None


def _sample(text: str | None) -> int:
    if text is None:
        return 1
    one, _, number = text.partition("/")
    if one != "1" or not number.isdigit():
        raise UsageError(f"--sample is {text!r}; give 1/N, such as 1/10")
    return int(number)


@cli.command()
@click.argument("file", type=click.Path(dir_okay=False))
@report_options
def report(file: str, **given: Any) -> int:
    """Show a saved run in another format; the exit code is that of the run."""
    return write_report(load_run(file), given)


@cli.command()
def rules() -> None:
    """List the rules."""
    from racedart.finding.registry import rules as registered

    for rule in registered():
        click.echo(f"{rule.id}  {rule.level!s:8} {rule.name:24} {rule.summary}")


cli.add_command(map_command)
cli.add_command(lint_command)


@cli.command()
@click.argument("rule")
def explain(rule: str) -> None:
    """Explain a rule, by id or name, with examples and the fix."""
    from racedart.finding.registry import rule as registered

    found = registered(rule)
    click.echo(f"# {found.id} {found.name} ({found.level})\n\n{found.summary}\n\n{found.text}")


@cli.command()
def doctor() -> None:
    """Say what works on this machine, and what to install for the rest.

    The exit code is 0 whatever is missing.
    """
    from racedart.doctor import examine

    for line in examine():
        click.echo(str(line))


@cli.command()
@click.option("--output-format", type=click.Choice(["md", "csv", "dot"]), default="md", show_default=True)
@click.option("--mode", type=click.Choice(["exact", "hirace"]), default="exact", show_default=True)
def fsm(output_format: str, mode: str) -> None:
    """Print the transition table of the state machine."""
    from racedart.fsm import render

    click.echo(render(output_format, mode), nl=False)


def _announce_compilation(mode: Any) -> None:
    """The first check on a machine takes some seconds longer: say why."""
    from racedart.shadow.cpu.runtime import is_compiled

    if not is_compiled(mode):
        click.echo("racedart: compiling the engine; this happens once and takes some ten seconds", err=True)


def _lacks_launch(target: str) -> str:
    """What to say of a target without --grid or --block."""
    if "::" in target:
        return f"{target}: give --grid and --block, the dimensions of the launch"
    return (
        f"{target}: not a Python program; name one kernel and its launch: "
        f"racedart check {target}::KERNEL --grid N --block N [--arg ...]"
    )


def _arguments(context: click.Context) -> list[str]:
    """The command line of a check, from its parsed parameters, without what only concerns the report."""
    words: list[str] = []
    shown = {p.name: p for p in context.command.params if p.name not in REPORT_OPTIONS | {"save", "module"}}
    for name, parameter in shown.items():
        value = context.params[str(name)]
        if isinstance(parameter, click.Argument):
            continue
        if parameter.multiple:
            for item in value:
                words += [parameter.opts[-1], item]
        elif context.get_parameter_source(str(name)) == click.core.ParameterSource.COMMANDLINE:
            words += [parameter.opts[0]] if isinstance(value, bool) else [parameter.opts[0], str(value)]
    program = context.meta.get("racedart.program")
    if program is None:
        return ["check", context.params["target"], *words]
    # Options come first: what follows a program is the program's.
    module = ["-m", context.params["module"]] if context.params["module"] else []
    target = [context.params["target"]] if context.params["target"] else []
    return ["check", *words, *module, *target, *program]


def _with_command(run: Run, command: str) -> Run:
    findings = tuple(replace(f, properties={**f.properties, "reproduce": command}) for f in run.findings)
    return replace(run, findings=findings)


def _dimensions(name: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{name} is {text!r}; give N, X,Y or X,Y,Z") from None
