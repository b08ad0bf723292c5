"""From plans to the text of directives: which lines and clauses are added where, and why.

Objects with the same region share a directive; records come before what their members point to. A `target data`
that spans several statements is written with braces, or as enter and exit data where a declaration inside is used
behind it. An update of a statement that is the whole branch of an `if`, or the whole body of a loop, brings braces.
One function may be called for several objects: its directives must then read the same for each call. So must those
of all instantiations of a template, and of a header's static function in all units: they share one text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from racedart.analyzer.flow.context import Context
from racedart.analyzer.flow.state import Base
from racedart.analyzer.mapping.infer import Inference, Names, Refusal, _Planner
from racedart.analyzer.mapping.model import Plan, Region
from racedart.analyzer.rewrite import ByteEdit, Layout
from racedart.analyzer.source.tree import Node, Type

ORDER = ("to", "tofrom", "from", "alloc")


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision: the directive or clause, where, for which object, and the reason."""

    file: str
    line: int
    text: str
    object: str
    reason: str


@dataclass(slots=True)
class Slot:
    """What goes in front of a statement and behind it, outermost first and innermost first."""

    node: Node
    before: list[tuple[int, str]] = field(default_factory=list)
    behind: list[tuple[int, str]] = field(default_factory=list)
    braces: bool = False


@dataclass(eq=False)
class Emission:
    """Edits by file, and the decisions behind them."""

    edits: dict[str, list[ByteEdit]] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)


def emit(found: Inference) -> Emission:
    """The edits that carry out all plans."""
    return _Emitter(found).run()


def map_type(to: bool, from_: bool) -> str:
    """The map type that copies at the start, at the end, at both, or never."""
    return ("tofrom" if from_ else "to") if to else ("from" if from_ else "alloc")


class _Emitter:
    def __init__(self, found: Inference) -> None:
        self.found = found
        self.facts = found.facts
        self.planner = _Planner(found)
        self.names: Names = self.planner.names
        self.result = Emission()
        self.slots: dict[int, Slot] = {}
        self.regions: dict[tuple[int, int, str], tuple[Region, dict[str, tuple[bool, bool, str, str]]]] = {}
        self.clauses: dict[int, tuple[Node, dict[str, tuple[bool, bool, str, str]]]] = {}
        self.edits: dict[int, list[tuple[str, ByteEdit]]] = {}

    def run(self) -> Emission:
        for plan in self.found.plans:
            for region, to, from_ in zip(plan.regions, plan.to, plan.from_, strict=True):
                if region.kind == "kernel":
                    self.kernel_items(plan, region, to, from_)
                elif region.kind != "always":
                    self.region_item(plan, region, to, from_)
            self.update_items(plan)
        self.write_regions()
        self.write_clauses()
        self.write_slots()
        self.merge_instantiations()
        self.result.choices = list(dict.fromkeys(self.result.choices))
        return self.result

    def add_edit(self, node: Node, edit: ByteEdit) -> None:
        self.edits.setdefault(id(root_of(node)), []).append((node.file, edit))

    def merge_instantiations(self) -> None:
        """One set of edits for each function's text; bodies that the program never enters have no say."""
        texts: dict[tuple[str, int], dict[int, Node]] = {}
        for context in self.facts.contexts:
            if context.function.body is not None:
                root = root_of(context.function.body)
                texts.setdefault((root.file, root.start), {})[id(root)] = root
        for roots in texts.values():
            edits, *others = [self.edits.get(key, []) for key in roots]
            if any(set(other) != set(edits) for other in others):
                self.refuse(
                    "instantiations of this template, or its copies in several units, need different directives",
                    next(iter(roots.values())),
                )
            for path, edit in edits:
                self.result.edits.setdefault(path, []).append(edit)

    def refuse(self, message: str, at: Node) -> None:
        self.result.refusals.append(Refusal(message, at))

    # --- items

    @staticmethod
    def add_item(
        items: dict[str, tuple[bool, bool, str, str]], handle: str, to: bool, from_: bool, text: str, why: str
    ) -> bool:
        known = items.get(handle)
        if known is not None:
            if known[2] != text:
                return False
            items[handle] = (known[0] or to, known[1] or from_, text, known[3])
        else:
            items[handle] = (to, from_, text, why)
        return True

    def kernel_items(self, plan: Plan, region: Region, to: bool, from_: bool) -> None:
        scope = self.names.scope(region.context, region.first)
        assert scope is not None
        (kernel,) = region.steps
        captured = self.planner.captured_by(kernel)
        handles = [h for h in self.names.handles(scope, plan.base, True) if h[2] in captured]
        _, items = self.clauses.setdefault(id(region.first), (region.first, {}))
        for handle in handles[:1] if plan.base.kind == "variable" else self.distinct(handles, region.first):
            text = self.planner.item(plan.base, plan.section, scope, handle)
            if text is None or not self.add_item(items, handle[0], to, from_, text, self.why(plan, to, from_)):
                self.refuse(
                    f"the calls of {region.context.function.name} need different sections of {handle[0]}",
                    region.first,
                )
                return

    def distinct(self, handles: list[tuple[str, Type, str]], kernel: Node) -> list[tuple[str, Type, str]]:
        """Names that the kernel itself uses, without those reached through another."""
        text = self.facts.program.text(kernel)
        used = [h for h in handles if h[0] in text]
        return used or handles[:1]

    def region_item(self, plan: Plan, region: Region, to: bool, from_: bool) -> None:
        scope = self.names.scope(region.context, region.first)
        assert scope is not None
        handle = self.names.handles(scope, plan.base)[0]
        text = self.planner.item(plan.base, plan.section, scope, handle)
        key = (id(region.first), id(region.last), region.kind)
        _, items = self.regions.setdefault(key, (region, {}))
        if text is None or not self.add_item(items, handle[0], to, from_, text, self.why(plan, to, from_)):
            self.refuse(
                f"the calls of {region.context.function.name} need different sections of {handle[0]}", region.first
            )

    def why(self, plan: Plan, to: bool, from_: bool) -> str:
        reads = "its values from before are used on the device" if to else "the device needs no values from before"
        back = "the host reads it afterwards" if from_ else "the host does not need what the device wrote"
        return f"{reads}; {back}"

    # --- directives

    def slot(self, node: Node) -> Slot:
        return self.slots.setdefault(id(node), Slot(node))

    def update_items(self, plan: Plan) -> None:
        for update in plan.updates:
            texts = set()
            for context in self.calls_of(update.context):
                if self.names.scope(context, update.at, update.after) is None:
                    continue
                text = self.planner.update_text(plan.base, update.section, context, update.at, update.after)
                if context is update.context or text is not None:
                    texts.add(text)
            if len(texts) != 1 or None in texts:
                self.refuse(
                    f"the calls of {update.context.function.name} need different updates of {plan.base}", update.at
                )
                continue
            (text,) = texts
            direction = "to" if update.to else "from"
            slot = self.slot(update.at)
            lines = slot.behind if update.after else slot.before
            line = (0 if update.after else 1000, f"{direction}\0{text}")
            if line not in lines:
                lines.append(line)
            if update.at.parent is None or update.at.parent.kind != "COMPOUND_STMT":
                slot.braces = True
            why = "the device reads what the host wrote" if update.to else "the host reads what the device wrote"
            self.choose(update.at, f"target update {direction}({text})", plan.base, why)

    def calls_of(self, context: Context) -> Iterable[Context]:
        return [c for c in self.facts.contexts if c.function is context.function and c.owner is None]

    def choose(self, at: Node, text: str, base: Base, why: str) -> None:
        self.result.choices.append(Choice(at.file, at.line, text, base.name, why))

    @staticmethod
    def map_clauses(items: dict[str, tuple[bool, bool, str, str]]) -> str:
        groups: dict[str, list[str]] = {}
        for handle in sorted(items, key=lambda h: (h.count("->") + h.count("."), h)):
            to, from_, text, _ = items[handle]
            groups.setdefault(map_type(to, from_), []).append(text)
        ordered = sorted(groups, key=ORDER.index)
        nested = [(t, i) for t in ordered for i in groups[t] if "->" in i.split("[")[0] or "." in i.split("[")[0]]
        flat = {t: [i for i in groups[t] if (t, i) not in nested] for t in ordered}
        parts = [f"map({t}: {', '.join(flat[t])})" for t in ordered if flat[t]]
        deep: dict[str, list[str]] = {}
        for kind, item in nested:
            deep.setdefault(kind, []).append(item)
        parts += [f"map({t}: {', '.join(deep[t])})" for t in ordered if t in deep]
        return " ".join(parts)

    def write_regions(self) -> None:
        ordered = sorted(self.regions.values(), key=lambda r: -len(r[0].steps))
        merged = self.without_crossing(ordered)
        for rank, (region, items, unstructured) in enumerate(merged):
            clauses = self.map_clauses(items)
            first, last = self.slot(region.first), self.slot(region.last)
            for handle, (to, from_, text, why) in items.items():
                self.result.choices.append(
                    Choice(region.first.file, region.first.line, f"map({map_type(to, from_)}: {text})", handle, why)
                )
            if region.kind == "statement":
                first.before.append((rank, f"#pragma omp target data {clauses}"))
            elif unstructured:
                self.unstructured(region, items, rank, first, last)
            else:
                first.before.append((rank, f"#pragma omp target data {clauses}"))
                first.before.append((rank, "{"))
                last.behind.append((1000 - rank, "}"))

    def unstructured(
        self, region: Region, items: dict[str, tuple[bool, bool, str, str]], rank: int, first: Slot, last: Slot
    ) -> None:
        enter = {h: (to, False, text, why) for h, (to, _, text, why) in items.items()}
        first.before.append((rank, f"#pragma omp target enter data {self.map_clauses(enter)}"))
        back = [t for _, from_, t, _ in items.values() if from_]
        rest = [t for _, from_, t, _ in items.values() if not from_]
        parts = ([f"map(from: {', '.join(back)})"] if back else []) + (
            [f"map(release: {', '.join(rest)})"] if rest else []
        )
        last.behind.append((1000 - rank, f"#pragma omp target exit data {' '.join(parts)}"))

    def without_crossing(
        self, regions: list[tuple[Region, dict[str, tuple[bool, bool, str, str]]]]
    ) -> list[tuple[Region, dict[str, tuple[bool, bool, str, str]], bool]]:
        """Regions with whether they must be unstructured: a declaration leaks, or they cross a wider one."""
        result: list[tuple[Region, dict[str, tuple[bool, bool, str, str]], bool]] = []
        for region, items in regions:
            leaks = region.kind == "range" and self.declares_for_later(region)
            crosses = any(
                region.kind == "range"
                and other.kind == "range"
                and not free
                and other.steps & region.steps
                and not region.steps <= other.steps
                for other, _, free in result
            )
            result.append((region, items, leaks or crosses))
        return result

    @staticmethod
    def declares_for_later(region: Region) -> bool:
        assert region.block is not None
        children = region.block.children
        at, end = children.index(region.first), children.index(region.last)
        declared = {
            d.ref
            for c in children[at : end + 1]
            if c.kind == "DECL_STMT"
            for d in c.children
            if d.kind == "VAR_DECL"
        }
        if any(
            c.kind == "DECL_STMT" and any(d.kind != "VAR_DECL" for d in c.children) for c in children[at : end + 1]
        ):
            return True
        return any(n.ref in declared for c in children[end + 1 :] for n in c.walk() if n.ref)

    def write_clauses(self) -> None:
        for node, items in self.clauses.values():
            directive = node.directive
            assert directive is not None
            present = {".".join((i.base, *i.path)) for c in directive.named("map") for i in c.items}
            new = {h: v for h, v in items.items() if h.replace("->", ".") not in present}
            if not new:
                continue
            text = f" {self.map_clauses(new)}"
            self.add_edit(node, ByteEdit(directive.tail, directive.tail, text))
            for handle, (to, from_, item, why) in new.items():
                self.result.choices.append(
                    Choice(node.file, node.line, f"map({map_type(to, from_)}: {item})", handle, why)
                )

    def write_slots(self) -> None:
        for slot in self.slots.values():
            node = slot.node
            layout = self.layout(node.file)
            before = self.lines(sorted(slot.before, key=lambda t: t[0]))
            behind = self.lines(sorted(slot.behind, key=lambda t: t[0]))
            if slot.braces:
                before.insert(0, "{")
                behind.append("}")
            if before:
                self.add_edit(node, layout.before(node.start, *before))
            if behind:
                end = statement_end(self.facts.program.files[node.file].data, node)
                self.add_edit(node, layout.behind(end, *behind))

    @staticmethod
    def lines(entries: list[tuple[int, str]]) -> list[str]:
        """Directives in order; updates of one place in one line for each direction."""
        updates: dict[str, list[str]] = {}
        for _, text in entries:
            if "\0" in text:
                direction, item = text.split("\0")
                updates.setdefault(direction, []).append(item)
        merged = [f"#pragma omp target update {d}({', '.join(updates[d])})" for d in updates]
        plain = [text for _, text in entries if "\0" not in text]
        # Behind a statement an update comes before a region ends; in front of one, after it began.
        first_update = next((k for k, (_, t) in enumerate(entries) if "\0" in t), None)
        return merged + plain if first_update == 0 else plain + merged

    def layout(self, path: str) -> Layout:
        return Layout(self.facts.program.files[path].data)


def root_of(node: Node) -> Node:
    """The body of the function that the node stands in."""
    while node.parent is not None:
        node = node.parent
    return node


def statement_end(data: bytes, node: Node) -> int:
    """Where a statement ends, its semicolon included."""
    end = node.end
    if data[end - 1 : end] in (b";", b"}") and node.kind.endswith("_STMT"):
        return end
    at = end
    while at < len(data):
        if data[at : at + 1].isspace():
            at += 1
        elif data.startswith(b"/*", at):
            close = data.find(b"*/", at)
            at = len(data) if close < 0 else close + 2
        elif data.startswith(b"//", at):
            close = data.find(b"\n", at)
            at = len(data) if close < 0 else close + 1
        else:
            break
    return at + 1 if data[at : at + 1] == b";" else end
