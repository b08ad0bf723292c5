"""Does a JSON value fit a schema? Names the first place that does not.

Implements the part of JSON Schema 2020-12 that run.schema.json uses: type, const, enum, pattern, minimum, minItems,
maxItems, items, required, properties, additionalProperties, anyOf with null, and $ref within the schema. A keyword
that is not listed here raises ValueError rather than being passed over.
Source: JSON Schema: A Vocabulary for Structural Validation of JSON, draft 2020-12.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]

_ANNOTATIONS = {"$schema", "$defs", "title", "description"}


def _is_integer(value: Any) -> bool:
    """JSON knows one kind of number: 1.0 is an integer, and true is none."""
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    )


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "integer": _is_integer,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def misfit(value: Any, schema: Schema) -> str | None:
    """The first place where a value does not fit, what is there and what belongs there; None if it fits.

    value: as json.loads gives it.
    """
    return _misfit(value, schema, schema, "")


def _misfit(value: Any, schema: Schema, root: Schema, path: str) -> str | None:
    for keyword, wanted in schema.items():
        if keyword in _ANNOTATIONS:
            continue
        if keyword not in _CHECKS:
            raise ValueError(f"the schema uses {keyword!r}, which is not implemented")
        text = _CHECKS[keyword](value, wanted, schema, root, path)
        if text is not None:
            return text
    return None


def _says(path: str, value: Any, wanted: str) -> str:
    shown = json.dumps(value)
    return f"{path or 'the file'} is {shown if len(shown) <= 60 else shown[:57] + '...'}; expected {wanted}"


def _type(value: Any, wanted: str, schema: Schema, root: Schema, path: str) -> str | None:
    return None if _TYPES[wanted](value) else _says(path, value, f"of type {wanted}")


def _const(value: Any, wanted: Any, schema: Schema, root: Schema, path: str) -> str | None:
    # Python's True equals 1, JSON's true does not.
    same = value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
    return None if same else _says(path, value, json.dumps(wanted))


def _enum(value: Any, wanted: list[str], schema: Schema, root: Schema, path: str) -> str | None:
    return None if value in wanted else _says(path, value, f"one of {', '.join(wanted)}")


def _pattern(value: Any, wanted: str, schema: Schema, root: Schema, path: str) -> str | None:
    fits = not isinstance(value, str) or re.search(wanted, value) is not None
    return None if fits else _says(path, value, f"text that matches {wanted}")


def _minimum(value: Any, wanted: int, schema: Schema, root: Schema, path: str) -> str | None:
    return None if not _is_integer(value) or value >= wanted else _says(path, value, f"{wanted} or more")


def _min_items(value: Any, wanted: int, schema: Schema, root: Schema, path: str) -> str | None:
    fits = not isinstance(value, list) or len(value) >= wanted
    return None if fits else _says(path, value, f"{wanted} items or more")


def _max_items(value: Any, wanted: int, schema: Schema, root: Schema, path: str) -> str | None:
    fits = not isinstance(value, list) or len(value) <= wanted
    return None if fits else _says(path, value, f"{wanted} items or fewer")


def _items(value: Any, wanted: Schema, schema: Schema, root: Schema, path: str) -> str | None:
    if not isinstance(value, list):
        return None
    texts = (_misfit(item, wanted, root, f"{path}[{index}]") for index, item in enumerate(value))
    return next((text for text in texts if text is not None), None)


def _required(value: Any, wanted: list[str], schema: Schema, root: Schema, path: str) -> str | None:
    if not isinstance(value, dict):
        return None
    missing = [key for key in wanted if key not in value]
    return f"{path or 'the file'} lacks {', '.join(map(repr, missing))}" if missing else None


def _properties(value: Any, wanted: Mapping[str, Schema], schema: Schema, root: Schema, path: str) -> str | None:
    if not isinstance(value, dict):
        return None
    known = (key for key in wanted if key in value)
    texts = (_misfit(value[key], wanted[key], root, f"{path}.{key}" if path else key) for key in known)
    return next((text for text in texts if text is not None), None)


def _additional(value: Any, wanted: bool | Schema, schema: Schema, root: Schema, path: str) -> str | None:
    if not isinstance(value, dict):
        return None
    extra = [key for key in value if key not in schema.get("properties", {})]
    if isinstance(wanted, Mapping):
        texts = (_misfit(value[key], wanted, root, f"{path}[{key!r}]") for key in extra)
        return next((text for text in texts if text is not None), None)
    if extra and not wanted:
        return f"{path or 'the file'} has {', '.join(map(repr, extra))}, which this version does not know"
    return None


def _any_of(value: Any, wanted: list[Schema], schema: Schema, root: Schema, path: str) -> str | None:
    texts = [_misfit(value, branch, root, path) for branch in wanted]
    # The first branch is the one that says something; the other is null.
    return None if None in texts else texts[0]


def _ref(value: Any, wanted: str, schema: Schema, root: Schema, path: str) -> str | None:
    return _misfit(value, root["$defs"][wanted.removeprefix("#/$defs/")], root, path)


_CHECKS: Mapping[str, Callable[[Any, Any, Schema, Schema, str], str | None]] = {
    "$ref": _ref,
    "type": _type,
    "const": _const,
    "enum": _enum,
    "pattern": _pattern,
    "minimum": _minimum,
    "minItems": _min_items,
    "maxItems": _max_items,
    "items": _items,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "anyOf": _any_of,
}
