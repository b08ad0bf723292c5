"""The run file as a report: JSON by the schema finding/run.schema.json."""

from __future__ import annotations

import json

from racedart.finding.run import Run


def render_json(run: Run) -> str:
    """The run as JSON text, ending with a newline."""
    return json.dumps(run.to_json(), indent=2) + "\n"
