"""The errors that a user can cause and mend; anything else that is raised is a fault of racedart.

Each carries what was wrong, where, the actual value and the next step, in one text.
"""

from __future__ import annotations


class RacedartError(Exception):
    """Base of all errors for which the command line exits with 2."""


class UsageError(RacedartError):
    """A wrong option, launch dimension or argument of a check."""


class InputError(RacedartError):
    """A source, kernel or file that cannot be read, compiled or found."""


class MissingDependencyError(RacedartError):
    """An optional package that the request needs is not installed; the text names the install command."""
