"""From trees to facts: control-flow graphs, symbolic values, points-to sets and memory accesses."""
