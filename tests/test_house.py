"""The order of the house: imports go one way, packages are listed, rule files and data travel with them."""

from __future__ import annotations

import ast
import re
from importlib import resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("api", "finding", "fsm", "shadow", "analyzer", "reports")
ALLOWED = {
    "finding": {"finding"},
    "fsm": {"fsm"},
    "shadow": {"shadow", "finding", "fsm"},
    "analyzer": {"analyzer", "finding"},
    "reports": {"reports", "finding"},
}
MODULES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    """Second components of the racedart modules that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
            if node.module == "racedart":
                names |= {f"racedart.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
            assert "racedart" not in names, f"{path}: imports the face, which imports everything"
    return {name.split(".")[1] for name in names if name.startswith("racedart.")}


@pytest.mark.parametrize(
    "path", [p for p in MODULES if p.parts[len(ROOT.parts)] != "api"], ids=lambda p: str(p.stem)
)
def test_imports_go_one_way(path: Path) -> None:
    folder = path.parts[len(ROOT.parts)]
    assert imported(path) <= ALLOWED[folder]


def test_every_package_is_listed() -> None:
    listed = set(re.findall(r'"(racedart[.\w]*)",', (ROOT / "pyproject.toml").read_text().split("package-dir")[0]))
    found = {"racedart"}
    for folder in FOLDERS[1:]:
        for init in (ROOT / folder).rglob("__init__.py"):
            found.add(".".join(("racedart", *init.parent.relative_to(ROOT).parts)))
    assert listed == found


def test_no_folder_is_called_like_the_package() -> None:
    assert not (ROOT / "racedart").exists()


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("racedart.fsm", "published.csv"),
        ("racedart.fsm", "exact.csv"),
        ("racedart.fsm", "skip.csv"),
        ("racedart.finding", "run.schema.json"),
        ("racedart.finding.rules", "R101.md"),
        ("racedart.analyzer.verify", "host_check.c"),
        ("racedart", "py.typed"),
    ],
)
def test_data_is_part_of_the_package(package: str, name: str) -> None:
    assert resources.files(package).joinpath(name).is_file()


def test_commands_of_the_readme_are_what_ci_runs() -> None:
    readme, ci = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    commands = re.findall(r"^\./run .*$", readme, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert command in ci
