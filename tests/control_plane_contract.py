"""Checks what clients send and servers answer against the description of the API."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from jsonschema import Draft202012Validator

from hereya_tf.control_plane.description import api_description


class Contract:
    """`openapi.json`: finds the operation that a request is, and what is wrong with it, in sentences."""

    def __init__(self) -> None:
        self.document = api_description()
        self._patterns = [
            (re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)), item)
            for path, item in self.document["paths"].items()
        ]

    def find(self, method: str, path: str) -> tuple[str, dict[str, str]] | None:
        """The operation's id, and the decoded names in the path."""
        for pattern, item in self._patterns:
            match = pattern.fullmatch(path)
            if match is not None and method.lower() in item:
                names = {name: unquote(value, errors="strict") for name, value in match.groupdict().items()}
                return str(item[method.lower()]["operationId"]), names
        return None

    def faults_of_request(
        self, operation: str, query: Mapping[str, str], content_type: str, body: Any
    ) -> Iterator[str]:
        """What is wrong with a query and a body, which is a JSON value or the fields of a form."""
        described = self._operation(operation)
        known = {each["name"]: each for each in map(self._resolved, described.get("parameters", ()))}
        for name, text in query.items():
            schema = known[name]["schema"] if name in known else False
            number = int(text) if text.isdecimal() else text
            yield from self._faults(
                f"{operation} ?{name}", schema, number if "Offset" in str(schema) else text
            )
        content = described.get("requestBody", {}).get("content", {})
        if not content:
            if body is not None:
                yield f"{operation}: it has a body"
            return
        kind = content_type.partition(";")[0]
        if kind not in content:
            yield f"{operation}: its content is `{kind}`"
            return
        schema = content[kind]["schema"]
        yield from self._faults(f"{operation} request", schema, body)
        if "result" in body:
            yield from self.faults("Result", json.loads(body["result"]))
        unknown = set(body) - set(schema["properties"])
        yield from (f"{operation} request: `{name}` is not described" for name in unknown)

    def faults_of_answer(self, operation: str, status: int, body: Any) -> Iterator[str]:
        """What is wrong with an answer."""
        answers = self._operation(operation)["responses"]
        answer = self._resolved(answers.get(str(status), answers["default"]))
        content = answer.get("content")
        if content is None:
            if body is not None:
                yield f"{operation} {status}: it has a body"
            return
        yield from self._faults(f"{operation} {status}", content["application/json"]["schema"], body)

    def faults(self, schema: str, value: Any) -> list[str]:
        """What is wrong with a value of a named schema."""
        return list(self._faults(schema, {"$ref": f"#/components/schemas/{schema}"}, value))

    def _faults(self, what: str, schema: Any, value: Any) -> Iterator[str]:
        # References are to the document, whose own root says nothing of a value.
        whole = schema if isinstance(schema, bool) else {**schema, "components": self.document["components"]}
        for error in Draft202012Validator(whole).iter_errors(value):
            yield f"{what}: {error.message}"

    def _operation(self, operation: str) -> dict[str, Any]:
        for item in self.document["paths"].values():
            for described in item.values():
                if isinstance(described, dict) and described.get("operationId") == operation:
                    return described
        raise AssertionError(f"there is no operation {operation}")

    def _resolved(self, described: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in described:
            *names, last = described["$ref"].removeprefix("#/").split("/")
            place = self.document
            for name in names:
                place = place[name]
            described = place[last]
        return described
