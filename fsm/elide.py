"""Derives the events after which the shadow word need not be written.

Definition: an event may be skipped if, in every configuration of the word in which it occurs, the word as it
stands and the word as the machine would write it give the same verdicts for every continuation. The word
(state, last accessor, whether its warp and block have synchronised since) is a deterministic automaton over
accesses and barriers of a small hierarchy; configurations with equal futures are found by partition
refinement. That all these events may be skipped together is proved by searching the skipping machine
against full knowledge (`search.prove`).

`python -m racedart.fsm.elide` prints the set as it is stored in skip.csv.
"""

from __future__ import annotations

from racedart.fsm.hierarchy import Hierarchy
from racedart.fsm.search import Word, next_word
from racedart.fsm.tables import Table, exact
from racedart.fsm.vocabulary import Access, EventClass, State

DERIVATION = Hierarchy(2, 2, 3)

Skip = tuple[State, Access, EventClass]


def futures(hierarchy: Hierarchy, table: Table) -> dict[Word, int]:
    """Every configuration of the word, with a number that configurations of equal future share."""
    words = [Word()]
    for state in State:
        if state in {State.INIT, State.RACE}:
            continue
        for last in range(hierarchy.threads):
            words += [Word(state, last, w, b) for w, b in ((False, False), (True, False), (True, True))]
    race = Word(State.RACE, 0)
    words.append(race)

    def canonical(word: Word) -> Word:
        return race if word.state == State.RACE else word

    following = {word: tuple(canonical(step) for step in _steps(hierarchy, word, table)) for word in words}
    number = {word: int(word == race) for word in words}
    while True:
        signatures: dict[object, int] = {}
        refined = {
            word: signatures.setdefault((number[word], tuple(number[f] for f in following[word])), len(signatures))
            for word in words
        }
        if len(signatures) == len(set(number.values())):
            return refined
        number = refined


def _steps(hierarchy: Hierarchy, word: Word, table: Table) -> list[Word]:
    """What follows each access and each barrier, in a fixed order."""
    result = [
        next_word(hierarchy, word, thread, access, table, frozenset())
        for thread in range(hierarchy.threads)
        for access in Access
    ]
    for warp in range(hierarchy.blocks * hierarchy.warps):
        mine = word.last >= 0 and hierarchy.warp(word.last) == warp
        result.append(Word(word.state, word.last, True, word.block_synced) if mine else word)
    for block in range(hierarchy.blocks):
        mine = word.last >= 0 and hierarchy.block(word.last) == block
        result.append(Word(word.state, word.last, True, True) if mine else word)
    return result


def derive(hierarchy: Hierarchy = DERIVATION) -> frozenset[Skip]:
    """The events of the exact machine that need no update of the word; those of RACE included."""
    table = exact()
    number = futures(hierarchy, table)
    good: set[Skip] = set()
    bad: set[Skip] = set()
    for word in number:
        if word.last < 0:
            continue
        for thread in range(hierarchy.threads):
            event = hierarchy.event_class(thread, word.last, word.warp_synced, word.block_synced)
            for access in Access:
                key = (word.state, access, event)
                written = next_word(hierarchy, word, thread, access, table, frozenset())
                if word.state == written.state == State.RACE:
                    good.add(key)
                elif written.state == State.RACE or number[written] != number[word]:
                    bad.add(key)
                else:
                    good.add(key)
    absorbing = {(State.RACE, access, event) for access in Access for event in EventClass}
    return frozenset((good | absorbing) - bad)


def derived_csv() -> str:
    """The text of skip.csv."""
    rows = [f"{s.name},{a.name},{c.name}" for s, a, c in sorted(derive())]
    return "\n".join(["state,access,class", *rows]) + "\n"


if __name__ == "__main__":
    print(derived_csv(), end="")
