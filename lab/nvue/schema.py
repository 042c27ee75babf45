"""What each release's API takes: NVIDIA's OpenAPI of 5.0 to 5.18, as the package nvueschema (MIT) publishes it.

Its models ignore keys that they do not know and turn "9216" into 9216; a switch does neither. So the models are walked
key by key here, and only single values are left to them, strictly.
"""

from __future__ import annotations

import functools
import importlib
import json
import types
import typing
from collections.abc import Iterator
from typing import Any

import pydantic

RELEASES = tuple((5, minor) for minor in range(19))
# Trees, and what stands where in them.
Problem = tuple[tuple[str, ...], str]


class Schema:
    """The configuration tree of one release."""

    def __init__(self, minor: int) -> None:
        name = f"nvueschema.models.v5_{minor}"
        self._root: type[pydantic.BaseModel] = importlib.import_module(name).NvueConfig
        self._values: dict[Any, pydantic.TypeAdapter[Any]] = {}

    def problems(self, tree: Any) -> list[str]:
        """What a configuration or a patch (null unsets) has that this release refuses, as its web server says it."""
        return [f"{text} - '{'.'.join(path)}'" if path else text for path, text in self._model(self._root, tree, ())]

    def knows(self, *path: str) -> bool:
        """Whether there is such a key; a key below a name of the switch's owner (a port, a VRF) is one as well."""
        tree: Any = None
        for key in reversed(path):
            tree = {key: tree}
        return not self.problems(tree)

    def _model(self, model: type[pydantic.BaseModel], tree: Any, path: tuple[str, ...]) -> Iterator[Problem]:
        if not isinstance(tree, dict):
            yield path, f"{tree!r} is not of type 'object'"
            return
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        for key, value in tree.items():
            if key not in fields:
                yield path, f"Additional properties are not allowed ({key!r} was unexpected)"
            elif value is not None:
                yield from self._any_of(fields[key].annotation, value, (*path, key))

    def _any_of(self, annotation: Any, value: Any, path: tuple[str, ...]) -> Iterator[Problem]:
        """``value`` has to be one of the kinds that ``annotation`` lists."""
        objects: list[Any] = []
        plain: list[Any] = []
        for each in _alternatives(annotation):
            is_object = typing.get_origin(each) is dict or (
                isinstance(each, type) and issubclass(each, pydantic.BaseModel)
            )
            (objects if is_object else plain).append(each)
        if isinstance(value, dict) and objects:
            found: list[Problem] = []
            for each in objects:
                found = list(self._object(each, value, path))
                if not found:
                    return
            yield from found
        elif objects and not plain:
            yield path, f"{value!r} is not of type 'object'"
        else:
            yield from self._value(annotation, value, path)

    def _object(self, kind: Any, value: dict[str, Any], path: tuple[str, ...]) -> Iterator[Problem]:
        if typing.get_origin(kind) is not dict:
            yield from self._model(kind, value, path)
            return
        inner = typing.get_args(kind)[1]
        for name, each in value.items():
            if inner is not Any and each is not None:
                yield from self._any_of(inner, each, (*path, name))

    def _value(self, annotation: Any, value: Any, path: tuple[str, ...]) -> Iterator[Problem]:
        adapter = self._values.get(annotation)
        if adapter is None:
            adapter = self._values[annotation] = pydantic.TypeAdapter(annotation)
        try:
            # As JSON, because strict Python wants an address as an object, and strict JSON as a string.
            adapter.validate_json(json.dumps(value), strict=True)
        except pydantic.ValidationError as error:
            yield path, _said(value, error)


def _alternatives(annotation: Any) -> Iterator[Any]:
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        for each in typing.get_args(annotation):
            yield from _alternatives(each)
    elif origin is typing.Annotated:
        yield from _alternatives(typing.get_args(annotation)[0])
    elif annotation is not type(None):
        yield annotation


def _said(value: Any, error: pydantic.ValidationError) -> str:
    """The words of Python's jsonschema, with which NVUE's web server answers."""
    details = error.errors()
    context = dict(details[0].get("ctx") or {})
    context["expected"] = str(context.get("expected", "")).replace(" or ", ", ")
    words = {
        "literal_error": "{value!r} is not one of [{expected}]",
        "int_type": "{value!r} is not of type 'integer'",
        "string_type": "{value!r} is not of type 'string'",
        "greater_than_equal": "{value!r} is less than the minimum of {ge}",
        "less_than_equal": "{value!r} is greater than the maximum of {le}",
    }
    text = words.get(str(details[0]["type"])) if len(details) == 1 else None
    return (text or "{value!r} is not valid under any of the given schemas").format(value=value, **context)


@functools.lru_cache(maxsize=3)
def of_release(version: tuple[int, ...]) -> Schema:
    """A few are kept: one takes some 25 MB, and half a second to load."""
    return Schema(version[1])
