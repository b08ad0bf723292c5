"""From raw races to findings: the log of the racing words, the unordered pairs, their places and names."""
