"""The race engine: from a kernel and its launch to findings."""
