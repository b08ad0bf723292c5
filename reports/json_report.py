"""The run file as a report: JSON by the schema finding/run.schema.json."""

from __future__ import annotations

import json

from racedart.finding.run import Run
from racedart.reports.options import PLAIN, Options


def render_json(run: Run, options: Options = PLAIN) -> str:
    """The run as JSON text, ending with a newline; the options concern people's formats only."""
    return json.dumps(run.to_json(), indent=2) + "\n"
