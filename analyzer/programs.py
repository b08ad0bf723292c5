"""Which sources form a program, and the compiler arguments of each.

Arguments come from the command line (behind `--`) and, with a build folder, from its compile_commands.json (clang's
JSON compilation database). Among the given files at most one `main`: they are one program. With several, each file
with a `main` is a program together with those files of its folder that have none. Not handled: what a build links
beyond that, and a `main` that a macro makes.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from racedart.finding.errors import InputError, UsageError

SUFFIXES = frozenset({".c", ".cc", ".cpp", ".cxx", ".c++", ".C"})
"""Of C and C++ sources."""

_MAIN = re.compile(
    rb"^[ \t]*(?:extern[ \t]+|static[ \t]+)*(?:int|void|auto)?[ \t\r\n]*\bmain[ \t\r\n]*\(", re.MULTILINE
)

# Arguments of a compilation that mean nothing, or harm, where the source is only parsed; those with a value behind.
_DROPPED = ("-c", "-S", "-E", "-M", "-MM", "-MD", "-MMD", "-MP", "-MG", "-pipe", "-save-temps")
_DROPPED_WITH_VALUE = frozenset({"-o", "-MF", "-MT", "-MQ", "-MJ", "-arch", "-Xopenmp-target", "-Xarch_device"})
_DROPPED_PREFIXES = ("-fopenmp", "-foffload", "--offload", "-march=", "-mtune=", "-mp", "-Minfo", "-target=gpu")


@dataclass(frozen=True, slots=True)
class Unit:
    """A source to parse: path, compiler arguments, and the folder that relative paths in them start from."""

    path: str
    arguments: tuple[str, ...]
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """The units that are analysed together."""

    units: tuple[Unit, ...]

    @property
    def name(self) -> str:
        """Its first source."""
        return self.units[0].path


def collect(paths: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """The given files, and the C and C++ sources in given folders. Raises InputError for what does not exist."""
    found: dict[str, None] = {}
    for given in [os.fspath(path) for path in paths]:
        if os.path.isdir(given):
            inside = sorted(str(p) for p in Path(given).rglob("*") if p.suffix in SUFFIXES and p.is_file())
            if not inside:
                raise InputError(f"{given}: no C or C++ source in this folder")
            found.update(dict.fromkeys(inside))
        elif os.path.isfile(given):
            found[given] = None
        else:
            raise InputError(f"{given}: no such file")
    return tuple(found)


def programs(
    paths: Sequence[str], arguments: Sequence[str] = (), build: str | os.PathLike[str] | None = None
) -> tuple[Program, ...]:
    """The programs that the sources form.

    Raises UsageError without a source, InputError for a source or a build folder that cannot be read.
    """
    whole = one_program(paths, arguments, build)
    units = dict(zip(paths, whole.units, strict=True))
    mains = [path for path in paths if _has_main(path)]
    if len(mains) <= 1:
        return (whole,)
    others = [path for path in paths if path not in mains]
    found = [Program((units[main], *(units[o] for o in others if _same_folder(main, o)))) for main in mains]
    taken = {unit.path for program in found for unit in program.units}
    return (*found, *(Program((units[path],)) for path in others if path not in taken))


def one_program(
    paths: Sequence[str], arguments: Sequence[str] = (), build: str | os.PathLike[str] | None = None
) -> Program:
    """All sources as one program. Raises as `programs` does."""
    if not paths:
        raise UsageError("no source given; name C or C++ files")
    database = {} if build is None else read_database(build)
    return Program(tuple(_unit(path, tuple(arguments), database) for path in paths))


def read_database(build: str | os.PathLike[str]) -> dict[str, Unit]:
    """The units of a compilation database by real path; the first entry of a file counts."""
    path = Path(build)
    if path.is_dir():
        path /= "compile_commands.json"
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}; -p takes the folder that holds compile_commands.json"
        ) from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    if not isinstance(entries, list):
        raise InputError(f"{path}: expected a list of compilations, found {type(entries).__name__}")
    found: dict[str, Unit] = {}
    for number, entry in enumerate(entries):
        unit = _entry(path, number, entry)
        found.setdefault(os.path.realpath(unit.path), unit)
    return found


def _entry(path: Path, number: int, entry: Any) -> Unit:
    if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
        raise InputError(f"{path}: entry {number} has no `file`")
    folder = str(path.parent / str(entry.get("directory", ".")))
    words = entry.get("arguments")
    if words is None:
        try:
            words = shlex.split(str(entry.get("command", "")))
        except ValueError as error:
            raise InputError(f"{path}: the command of entry {number} cannot be read: {error}") from error
    if not isinstance(words, list):
        raise InputError(f"{path}: the arguments of entry {number} are no list")
    file = os.path.join(folder, entry["file"])
    return Unit(file, tuple(parse_arguments([str(word) for word in words[1:]], entry["file"])), folder)


def parse_arguments(words: Sequence[str], file: str) -> Iterator[str]:
    """The arguments of a compilation that matter to a parse of its source."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _DROPPED_WITH_VALUE:
            skip = True
        elif word not in _DROPPED and word != file and word != "--" and not word.startswith(_DROPPED_PREFIXES):
            yield word


def _unit(path: str, arguments: tuple[str, ...], database: dict[str, Unit]) -> Unit:
    known = database.get(os.path.realpath(path))
    if known is None:
        return Unit(path, arguments)
    return Unit(path, (*known.arguments, *arguments), known.folder)


def _same_folder(one: str, other: str) -> bool:
    return os.path.realpath(os.path.dirname(one) or ".") == os.path.realpath(os.path.dirname(other) or ".")


def _has_main(path: str) -> bool:
    try:
        return _MAIN.search(Path(path).read_bytes()) is not None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
