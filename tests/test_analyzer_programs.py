"""Which sources form a program, and their compiler arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from racedart.analyzer.programs import collect, parse_arguments, programs, read_database
from racedart.finding.errors import InputError, UsageError


def write(folder: Path, **files: str) -> list[str]:
    paths = []
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".c")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        paths.append(str(path))
    return paths


def names(found: tuple[object, ...]) -> list[list[str]]:
    return [[Path(unit.path).stem for unit in program.units] for program in found]  # type: ignore[attr-defined]  # Program


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a": "int main(void) {}", "b": "void f() {}"}, [["a", "b"]]),
        ({"a": "void g() {}", "b": "void f() {}"}, [["a", "b"]]),
        ({"a": "int\nmain() {}", "b": "int main(int c, char **v) {}"}, [["a"], ["b"]]),
        (
            {"x__a": "int main() {}", "y__b": "int main() {}", "x__c": "int f;", "z__d": "int g;"},
            [["a", "c"], ["b"], ["d"]],
        ),
        ({"a": "int x = domain(3);", "b": "int main() {}", "c": "int remain(int);"}, [["a", "b", "c"]]),
    ],
)
def test_programs(files: dict[str, str], expected: list[list[str]], tmp_path: Path) -> None:
    assert names(programs(write(tmp_path, **files))) == expected


def test_arguments_of_the_build_come_first(tmp_path: Path) -> None:
    (path,) = write(tmp_path, src__a="int main() {}")
    (tmp_path / "build").mkdir()
    entry = {
        "directory": str(tmp_path / "build"),
        "file": "../src/a.c",
        "command": "clang -DX='1 2' -fopenmp --offload-arch=sm_90 -MD -MF a.d -c ../src/a.c -o a.o -Iinc",
    }
    (tmp_path / "build" / "compile_commands.json").write_text(json.dumps([entry]))
    (program,) = programs([path], ["-DY"], tmp_path / "build")
    (unit,) = program.units
    assert unit.path == path
    assert unit.arguments == ("-DX=1 2", "-Iinc", "-DY")
    assert unit.folder == str(tmp_path / "build")


def test_flags_that_only_the_compiler_needs_are_dropped() -> None:
    words = ["-O2", "-std=c++17", "-fopenmp-targets=nvptx64", "-MT", "x", "-o", "y", "-march=native", "a.c"]
    assert list(parse_arguments(words, "a.c")) == ["-O2", "-std=c++17"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("{}", "expected a list of compilations, found dict"),
        ('[{"directory": "/"}]', "entry 0 has no `file`"),
        ('[{"file": "a.c", "command": "cc \'"}]', "the command of entry 0 cannot be read"),
        ('[{"file": "a.c", "arguments": "cc"}]', "the arguments of entry 0 are no list"),
    ],
)
def test_a_malformed_database_is_a_clear_error(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "compile_commands.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read_database(tmp_path)


def test_missing_inputs_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"-p takes the folder that holds compile_commands\.json"):
        read_database(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        collect([tmp_path / "none.c"])
    with pytest.raises(InputError, match="no C or C\\+\\+ source"):
        collect([tmp_path])
    with pytest.raises(UsageError, match="no source given"):
        programs([])


def test_folders_are_searched(tmp_path: Path) -> None:
    write(tmp_path, a="", sub__b="")
    (tmp_path / "sub" / "notes.txt").write_text("")
    assert [Path(path).name for path in collect([tmp_path, tmp_path / "a.c"])] == ["a.c", "b.c"]
