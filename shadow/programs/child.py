"""The process of a checked program: `python -m racedart.shadow.programs.child SETTINGS [ARGS...]`.

SETTINGS is a JSON object: record (path of the event file), options, thorough, selection, target, module, compiled.
The program runs as `__main__` with its own sys.argv and sys.path, as `python target ARGS` or
`python -m target ARGS` runs it. A compiled program is a process of its own below this one, which ends with its
exit code.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback
from types import TracebackType

from racedart.shadow.outcome import Options
from racedart.shadow.programs.session import Selection, Session


def main() -> None:
    """Install the hooks, then run the program; the exit code is the program's."""
    settings = json.loads(sys.argv[1])
    session = Session(
        settings["record"],
        Options(**settings["options"]),
        settings["thorough"],
        Selection(**settings["selection"]),
    )
    target, arguments = settings["target"], sys.argv[2:]
    if settings["compiled"]:
        from racedart.shadow.programs.compiled import run_compiled

        code = run_compiled(session, [target, *arguments])
        sys.exit(code if code >= 0 else 128 - code)
    _install(session)
    sys.argv = [target, *arguments]
    # `-m` put the current folder first, which is right for a module only.
    sys.path[0] = os.getcwd() if settings["module"] else os.path.dirname(os.path.abspath(target))
    sys.excepthook = _show
    if settings["module"]:
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(target, run_name="__main__")


def _install(session: Session) -> None:
    try:
        import numba_cuda  # noqa: F401  (it puts numba.cuda in its place)
    except ImportError:
        return
    from racedart.shadow.programs import numba_hook, simulated_driver

    numba_hook.install(session, simulated_driver.install())


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The traceback of the program, without the frames that run it."""
    while trace is not None and trace.tb_frame.f_code.co_filename in {__file__, "<frozen runpy>", runpy.__file__}:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


if __name__ == "__main__":
    main()
