"""The API as OpenAPI 3.1: what clients send and servers answer (I/O: a file of this package)."""

from typing import Any


def api_description() -> dict[str, Any]:
    """The document `openapi.json`."""
    import json
    from importlib.resources import files

    text = files("hereya_tf.control_plane").joinpath("openapi.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document
