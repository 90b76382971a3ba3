"""The environment of every git command: no questions, no hooks, nothing but what it is told (pure)."""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hereya_tf.checkouts.credentials import Credentials

# What would move git to another repository, feed it objects or arguments, make it write traces, or ask somebody.
_TAKEN_OUT = (
    *(
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
    ),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CEILING_DIRECTORIES", "GIT_PREFIX", "GIT_SHALLOW_FILE"),
    *("GIT_TEMPLATE_DIR", "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_PAGER", "GIT_CURL_VERBOSE", "GIT_CONFIG"),
    *(
        "GIT_REPLACE_REF_BASE",
        "GIT_GRAFT_FILE",
        "GIT_DEFAULT_HASH",
        "GIT_QUARANTINE_PATH",
        "GIT_CONFIG_PARAMETERS",
    ),
    *("GIT_ATTR_SOURCE", "GIT_REFLOG_ACTION", "GIT_PROTOCOL_FROM_USER", "LANGUAGE", "SSH_ASKPASS"),
)
_TAKEN_OUT_PREFIXES = ("GIT_TRACE", "HEREYA_", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=4"
_STALL_SECONDS = 60

_OLD_FAULTS = (
    *("zeroPaddedFilemode", "zeroPaddedDate", "badTimezone", "badDate", "badDateOverflow"),
    *("badEmail", "badName", "missingEmail", "missingNameBeforeEmail", "missingSpaceBeforeDate"),
    *("missingSpaceBeforeEmail", "multipleAuthors"),
)
_HARDENED = (
    # A repository brings none, but the operator's template may.
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    # `.git` in the spellings that other file systems take for it.
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    # The bytes of the commit, whatever the operator likes to edit.
    ("core.autocrlf", "false"),
    ("core.symlinks", "true"),
    ("core.sparseCheckout", "false"),
    ("core.logAllRefUpdates", "false"),
    # Would go on in the background, with our lock.
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    # What arrives becomes one pack, which is there as a whole or not at all.
    ("fetch.unpackLimit", "1"),
    ("transfer.unpackLimit", "1"),
    ("fetch.fsckObjects", "true"),
    # Old tools wrote these, and nothing comes of it.
    *(
        (f"fetch.fsck.{fault}", "ignore")
        for fault in ("zeroPaddedFilemode", "badTimezone", "missingSpaceBeforeDate")
    ),
    *((f"fetch.fsck.{fault}", "ignore") for fault in _OLD_FAULTS),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("submodule.recurse", "false"),
    ("transfer.bundleURI", "false"),
    ("transfer.credentialsInUrl", "die"),
    ("credential.interactive", "false"),
    # A server that sends a byte now and then is no better than one that sends none.
    ("http.lowSpeedLimit", "100"),
    ("http.lowSpeedTime", str(_STALL_SECONDS)),
    ("advice.detachedHead", "false"),
)


class _Setting(NamedTuple):
    name: str
    value: str


def git_environment(
    environment: Mapping[str, str], credentials: Credentials, *, allow_local: bool
) -> dict[str, str]:
    """The environment for git, from the operator's own; `allow_local` lets it read repositories on this machine.

    The operator's configuration stays in force (proxies, certificates, `insteadOf`, LFS, credential helpers), but
    where it would run what a repository says, or where a credential is given: that is git's only one then, and
    git alone hears it, by a helper that reads the environment. An `http.extraHeader` would go wherever a redirect
    leads; a helper is asked for the host that wants it.
    """
    clean = {
        name: value
        for name, value in environment.items()
        if name not in _TAKEN_OUT and not name.startswith(_TAKEN_OUT_PREFIXES)
    }
    settings = [*_operators(environment), *(_Setting(*pair) for pair in _HARDENED)]
    for number, entry in enumerate(credentials.entries):
        settings += _helper(entry.scope, number)
        clean[f"HEREYA_TF_GIT_USER_{number}"] = entry.user
        clean[f"HEREYA_TF_GIT_PASSWORD_{number}"] = entry.password
    if "GIT_SSH" not in clean:
        clean.setdefault("GIT_SSH_COMMAND", _SSH)
    return (
        clean
        | _as_environment(settings)
        | {
            "GIT_TERMINAL_PROMPT": "0",
            "SSH_ASKPASS_REQUIRE": "never",
            "GCM_INTERACTIVE": "never",
            "GIT_ALLOW_PROTOCOL": "https:http:ssh:file" if allow_local else "https:http:ssh",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            # Its words are read by their templates, which have to be those of its source.
            "LC_ALL": "C",
        }
    )


def _operators(environment: Mapping[str, str]) -> Iterable[_Setting]:
    """Settings that the operator's environment has for git already."""
    count = environment.get("GIT_CONFIG_COUNT", "")
    for number in range(min(int(count), 1000) if count.isdecimal() else 0):
        key, value = (environment.get(f"GIT_CONFIG_{part}_{number}") for part in ("KEY", "VALUE"))
        if key is not None and value is not None:
            yield _Setting(key, value)


def _helper(scope: str, number: int) -> tuple[_Setting, _Setting]:
    name = f"credential.{scope}.helper"
    user, password = f'"$HEREYA_TF_GIT_USER_{number}"', f'"$HEREYA_TF_GIT_PASSWORD_{number}"'
    # printf is the shell's own: nothing of it is an argument of any process.
    answer = rf"printf 'username=%s\npassword=%s\n' {user} {password}"
    # An empty value takes back the helpers named so far, so that nobody else is asked, or told to keep it.
    return _Setting(name, ""), _Setting(name, f'!f() {{ test "$1" = get && {answer}; }}; f')


def _as_environment(settings: Iterable[_Setting]) -> dict[str, str]:
    listed = list(settings)
    numbered = {"GIT_CONFIG_COUNT": str(len(listed))}
    for number, setting in enumerate(listed):
        numbered[f"GIT_CONFIG_KEY_{number}"] = setting.name
        numbered[f"GIT_CONFIG_VALUE_{number}"] = setting.value
    return numbered
