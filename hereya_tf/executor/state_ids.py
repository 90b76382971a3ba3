"""Names the state of a job whose payload names none (pure)."""

import re

_NOT_READABLE = re.compile(r"[^a-z0-9._-]+")
_READABLE_CHARACTERS = 40
# 160 bits: two texts with the same ones are not to be found, not even on purpose.
_DIGEST_CHARACTERS = 40


def state_id(project: str | None, workspace: str, package: str) -> str:
    """The id of the state that belongs to these three, such as `shop/prod/network-3f9c…`.

    Others of the three have another id, also where a file system does not tell capitals or accents apart. It is the
    same for ever, for it is where the state is kept: no detail of this may change.
    """
    import hashlib

    # Each with its length in front: ("ab", "c") is not ("a", "bc").
    parts = [_measured(part) for part in (workspace, package)]
    parts.insert(0, b"-" if project is None else _measured(project))
    digest = hashlib.sha256(b"".join(parts)).hexdigest()[:_DIGEST_CHARACTERS]
    shown = [_readable(part) for part in (project, workspace, package) if part is not None]
    return f"{'/'.join(shown)}-{digest}"


def _measured(part: str) -> bytes:
    data = part.encode("utf-8", "surrogatepass")
    return b"%d:%b" % (len(data), data)


def _readable(part: str) -> str:
    """Its end, which tells most of a path or a URL; never empty, and no `.` or `..`."""
    return _NOT_READABLE.sub("-", part.lower())[-_READABLE_CHARACTERS:].strip("-.") or "_"
