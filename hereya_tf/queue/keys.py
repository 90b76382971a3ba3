"""Which jobs have to take turns (pure)."""

_PROJECT = ("project", "project")
_APP = ("app", "appName")
_PACKAGE = ("pkg", "package")

# type -> the key's first word, and the field of the payload that names the target.
_TARGETS = {
    "deploy": _PROJECT,
    "undeploy": _PROJECT,
    "init": ("project", "projectName"),
    "app-deploy": _APP,
    "app-destroy": _APP,
    "provision": _PACKAGE,
    "destroy": _PACKAGE,
}


def job_key(type: object, payload: object) -> str | None:  # noqa: A002 - the wire's word
    """The key that jobs on the same target share; None for a job that waits for no other.

    None as well for an unknown type and a payload that is no object or lacks a text. Never raises. Two targets
    whose names hold colons may share a key: they take turns without need, which harms neither.
    """
    if not isinstance(type, str) or not isinstance(payload, dict):
        return None
    # str.__str__ and dict.get: a subclass must not get to raise.
    target = _TARGETS.get(str.__str__(type))
    if target is None:
        return None
    word, field = target
    name, workspace = dict.get(payload, field), dict.get(payload, "workspace")
    if not isinstance(name, str) or not isinstance(workspace, str):
        return None
    return ":".join((word, name, workspace))
