"""Which operation honours which option of runs, and why the others do not (pure).

Options go by their public names, without the dashes in front.
"""

from collections.abc import Mapping

from hereya_tf.events import Operation
from hereya_tf.words import listed

PROVISION, DESTROY, PLAN, APPLY, DRIFT, OUTPUT, INIT, VALIDATE, TF, RECOVER = Operation
ALL = frozenset(Operation)

# Dropped by an operation that cannot honour them, these would let it change more, or something else.
SHAPING = frozenset({"target", "exclude", "replace", "refresh"})

# The engine commands of an operation that take arguments of the user's.
ENGINE_STEPS: Mapping[Operation, tuple[str, ...]] = {
    PROVISION: ("init", "plan", "apply"),
    DESTROY: ("init", "plan", "destroy"),
    PLAN: ("init", "plan"),
    APPLY: ("init", "apply"),
    DRIFT: ("init", "plan"),
    OUTPUT: ("init",),
    INIT: ("init",),
    VALIDATE: ("init",),
    TF: ("init",),
    RECOVER: ("init",),
}

_PLANNING = frozenset({PROVISION, DESTROY, PLAN, DRIFT})
_LOCKS_STATE = _PLANNING | {APPLY, INIT}
_NOT_VALIDATE = ALL - {VALIDATE}
_NOT_TF = ALL - {TF}

_HONOURED_BY: Mapping[frozenset[Operation], str] = {
    ALL: (
        "yes env env-file"
        " engine engine-version from engine-arg engine-log ignore-cli-args no-plugin-cache"
        " timeout grace"
        " events-file result-file report-file quiet verbose color"
    ),
    _NOT_TF: "param param-file var-file request idle-timeout json redact ci retries",
    _NOT_VALIDATE: (
        "workspace state state-bucket state-region state-lock-table id backend-config lock-key wait no-wait"
    ),
    frozenset({PROVISION, PLAN, APPLY, INIT, TF}): "create-workspace",
    frozenset({PROVISION, DESTROY, APPLY}): "retry-apply",
    _LOCKS_STATE | {RECOVER}: "lock-timeout",
    _LOCKS_STATE: "retry-lock",
    _PLANNING | {APPLY}: "parallelism",
    _PLANNING: "target exclude",
    frozenset({PROVISION, PLAN}): "replace",
    frozenset({PROVISION, DESTROY, PLAN}): "refresh",
    ALL - {INIT, VALIDATE}: "reinit",
    ALL - {TF, OUTPUT}: "engine-messages",
    frozenset({PROVISION, DESTROY, PLAN, APPLY}): "max-destroy protect expect-no-changes policy",
    frozenset({PROVISION, DESTROY, APPLY, OUTPUT}): "show-sensitive",
    ALL - {TF, VALIDATE}: "no-progress",
    frozenset({PLAN}): "out plan-json plan-text destroy no-state-lock detailed-exitcode",
    frozenset({OUTPUT}): "format",
    frozenset({RECOVER}): "dry-run record",
    frozenset({INIT}): "upgrade reconfigure migrate-state lockfile",
}
HONOURED: Mapping[str, frozenset[Operation]] = {
    name: operations for operations, names in _HONOURED_BY.items() for name in names.split()
}

_BY_OPERATION: Mapping[Operation, str] = {
    PROVISION: "it makes what the package describes, no more",
    DESTROY: "it destroys what there is, no more",
    PLAN: "it changes nothing",
    APPLY: "the plan in the bundle says what changes",
    DRIFT: "it only compares the state with reality",
    OUTPUT: "it changes nothing",
    INIT: "it only initialises",
    VALIDATE: "it only checks the package's files",
    TF: "the engine's own options stand after `--`",
    RECOVER: "it mends the state, and changes nothing else",
}
_NO_BACKEND = "it never touches the backend"
_NO_OUTPUTS = "it prints no outputs"
_TF_STREAMS = "stdout and stderr are the engine's own, byte for byte"
_TF_VARIABLES = "variables are the engine's own, `-var` and `-var-file` after `--`"
_BY_OPTIONS: Mapping[str, Mapping[Operation, str]] = {
    "param param-file var-file request": {TF: _TF_VARIABLES},
    "workspace state state-bucket state-region state-lock-table id backend-config lock-key": {
        VALIDATE: _NO_BACKEND
    },
    "create-workspace": {
        VALIDATE: _NO_BACKEND,
        **dict.fromkeys((DESTROY, DRIFT, OUTPUT, RECOVER), "a workspace that is new holds nothing"),
    },
    "wait no-wait": {VALIDATE: "it takes no lock"},
    "max-destroy protect expect-no-changes policy": {
        **dict.fromkeys((DRIFT, OUTPUT, INIT, VALIDATE, RECOVER), "it plans no changes"),
        TF: "the engine's own commands are not planned first",
    },
    "retries": {TF: "the engine has our streams there, and nobody hears why it fails"},
    "retry-apply": dict.fromkeys((PLAN, DRIFT, OUTPUT, INIT, VALIDATE, TF, RECOVER), "it applies nothing"),
    "lock-timeout": {OUTPUT: "it takes no lock on the state", VALIDATE: _NO_BACKEND},
    "retry-lock": {
        OUTPUT: "it takes no lock on the state",
        VALIDATE: _NO_BACKEND,
        RECOVER: "whose lock it is, is what it looks for",
    },
    "idle-timeout": {TF: "the engine may be silent there for as long as it likes"},
    "replace": {DESTROY: "what is destroyed is not replaced"},
    "refresh": {DRIFT: "to compare the state with reality is all it does"},
    "reinit": {INIT: "to initialise is all it does", VALIDATE: "it initialises in a place of its own"},
    "json redact ci": {TF: _TF_STREAMS},
    "engine-messages": {TF: _TF_STREAMS, OUTPUT: "it prints outputs and no events"},
    "show-sensitive": {TF: _TF_STREAMS, **dict.fromkeys((PLAN, DRIFT, INIT, VALIDATE, RECOVER), _NO_OUTPUTS)},
    "no-progress": {TF: _TF_STREAMS, VALIDATE: "it shows no progress"},
    "out plan-json plan-text": dict.fromkeys(ALL - {PLAN, TF}, "it keeps no plan"),
    "destroy": {
        PROVISION: "`hereya-tf destroy` is what destroys",
        DESTROY: "to destroy is what it does",
        **dict.fromkeys((DRIFT, OUTPUT, INIT, VALIDATE, RECOVER), "it destroys nothing"),
    },
    "no-state-lock": {
        **dict.fromkeys((PROVISION, DESTROY, APPLY), "what changes a state has to lock it"),
        DRIFT: "it locks the state that it compares",
        OUTPUT: "it takes no lock on the state",
        INIT: "it may move the state",
        VALIDATE: _NO_BACKEND,
        RECOVER: "what writes a state has to lock it",
    },
    "detailed-exitcode": {
        DRIFT: "its exit code is detailed anyway",
        **dict.fromkeys(
            (PROVISION, DESTROY, APPLY, OUTPUT, INIT, VALIDATE, RECOVER), "only a plan tells changes so"
        ),
    },
    "format": {
        **dict.fromkeys((PROVISION, DESTROY, APPLY), "`hereya-tf output` prints outputs in other forms"),
        **dict.fromkeys((PLAN, DRIFT, INIT, VALIDATE, RECOVER), _NO_OUTPUTS),
        TF: _TF_STREAMS,
    },
    "upgrade reconfigure migrate-state lockfile": dict.fromkeys(
        ALL - {INIT, TF}, "that is for `hereya-tf init` to do"
    ),
    "dry-run record": dict.fromkeys(ALL - {RECOVER, TF}, "`hereya-tf recover` is what repairs"),
}
_BY_OPTION = {name: reasons for names, reasons in _BY_OPTIONS.items() for name in names.split()}


def honours(operation: Operation, name: str) -> bool:
    """Whether the operation does what the option asks for."""
    return operation in HONOURED[name]


def why_not(operation: Operation, name: str, shown: str) -> str:
    """The sentence for an option, `shown` as it was given, that the operation does not honour."""
    because = _BY_OPTION.get(name, {}).get(operation, _BY_OPERATION[operation])
    verb = "cannot honour" if name in SHAPING else "has no use for"
    return f"`{operation}` {verb} `{shown}`: {because}"


def who_does(operation: Operation, name: str) -> str:
    """The hint on what the option is for."""
    if operation is APPLY and name in SHAPING:
        return "give it to `hereya-tf plan`, which makes the bundle"
    honouring = [f"`{each}`" for each in Operation if each in HONOURED[name]]
    return f"it is an option of {listed(honouring)}"
