"""Outputs as variables: assignments for shells, and files that several programs read alike (pure)."""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping

from hereya_tf.errors import BadInput

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# No variable can hold a NUL, and half a surrogate pair has no bytes.
_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")
# Linux starts no program with a longer `NAME=value` (MAX_ARG_STRLEN, with the NUL behind it): after the
# `export` of one, every command of that shell would fail.
_LONGEST_VARIABLE_BYTES = 131_071
# bufio.MaxScanTokenSize, less the line break: `docker run --env-file` refuses the file with a longer line.
_LONGEST_LINE_BYTES = 65_535
# sh, dash and bash do not take these, or not as they are, or do something else from then on.
_SHELLS_OWN = frozenset(
    """
    _ BASH BASHOPTS BASHPID CDPATH DIRSTACK ENV EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GLOBIGNORE GROUPS
    HISTCMD IFS LINENO OLDPWD OPTARG OPTERR OPTIND PATH PIPESTATUS POSIXLY_CORRECT PPID PROMPT_COMMAND PS0 PS1
    PS2 PS3 PS4 PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM TMOUT UID
    """.split()  # noqa: SIM905 - a line each would be a page
)
_SHELLS_OWN_PREFIXES = ("BASH_", "COMP_", "LD_", "DYLD_")
# Good names elsewhere, but in zsh `path` is PATH, `status` is read-only, and so on (zshparam(1), zshmodules(1)).
_ZSHS_OWN = frozenset(
    """
    ARGC COLUMNS EGID FUNCNEST GID HISTCHARS HISTSIZE KEYBOARD_HACK KEYTIMEOUT LINES LISTMAX MAILCHECK SAVEHIST
    TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT TTYIDLE USERNAME WATCH ZSH_EVAL_CONTEXT ZSH_SUBSHELL aliases argv
    builtins cdpath commands dirstack dis_aliases dis_builtins dis_functions dis_functions_source dis_galiases
    dis_patchars dis_reswords dis_saliases fignore fpath funcfiletrace funcsourcetrace funcstack functions
    functions_source functrace galiases histchars history historywords jobdirs jobstates jobtexts keymaps
    mailpath manpath module_path modules nameddirs options parameters patchars path pipestatus psvar reswords
    saliases signals status termcap terminfo userdirs usergroups watch widgets zsh_eval_context
    zsh_scheduled_events
    """.split()  # noqa: SIM905
)
# What GitLab's runner puts variables in for (Go's os.Expand); python-dotenv does so for `${` only.
_REFERENCE = re.compile(r"\$[A-Za-z0-9_{$*#@!?-]")
_COMMENT = re.compile(r"\s#")


def variable_names(outputs: Iterable[str]) -> dict[str, str]:
    """The name of the variable for each output: `-` is `_`; raises BadInput when it is no name, or not alone."""
    names: dict[str, str] = {}
    owners: dict[str, str] = {}
    for output in outputs:
        name = output.replace("-", "_")
        if not _NAME.fullmatch(name):
            raise BadInput(
                f"output `{output}` cannot be a variable: its name has other characters than "
                "letters from a to z, digits, `_` and `-`",
                "use `--format json`",
            )
        if name in owners:
            raise BadInput(
                f"outputs `{owners[name]}` and `{output}` would be the same variable, `{name}`",
                "use `--format json`, or name one of them",
            )
        names[output] = name
        owners[name] = output
    return names


def environment_line(output: str, name: str, text: str) -> str:
    """`NAME=value`, quoted for a shell where it has to be. Raises BadInput."""
    _check_possible(output, text)
    return f"{name}={shlex.quote(text)}"


def shell_line(output: str, name: str, text: str) -> str:
    """`export NAME='value'` for a POSIX shell's `eval`. Raises BadInput."""
    _check_possible(output, text)
    if name in _SHELLS_OWN or name.startswith(_SHELLS_OWN_PREFIXES):
        raise _refusal(output, "shells have a use of their own for a variable of that name")
    if len(name) + 1 + len(text.encode()) > _LONGEST_VARIABLE_BYTES:
        raise _refusal(output, "it has more bytes than a program's environment can hold in one variable")
    # Always quoted: `=ls` and `~` would mean something to one shell or another.
    line = "export {}='{}'".format(name, text.replace("'", "'\\''"))
    if name not in _ZSHS_OWN:
        return line
    note = f"hereya-tf: output {output} is left out, zsh has a use of its own for {name}"
    return f"if [ -n \"${{ZSH_VERSION-}}\" ]; then echo '{note}' >&2; else {line}; fi"


def dotenv_line(output: str, name: str, text: str) -> str:
    """`NAME=value`, which python-dotenv, `docker run --env-file` and GitLab's dotenv reports read alike.

    They agree on no quotes and no escapes, so a value stands there as it is. Raises BadInput when one of them
    would read another. GitLab takes 5 KiB and, depending on the plan, 20 to 150 variables: not checked here.
    """
    _check_possible(output, text)
    line = f"{name}={text}"
    if (obstacle := _dotenv_obstacle(text)) is not None:
        raise _refusal(output, obstacle)
    if len(line.encode()) > _LONGEST_LINE_BYTES:
        raise _refusal(output, "it has more bytes than `docker run --env-file` reads in one line")
    return line


def _dotenv_obstacle(text: str) -> str | None:
    """Why one of the readers would not read `text` as it is."""
    if "\n" in text or "\r" in text:
        return "it has a line break, and such a file has one line for each"
    if text != text.strip():
        return "it begins or ends with a blank, which readers drop"
    if text.startswith(("'", '"')):
        return "it begins with a quote, which readers take for quoting"
    if _COMMENT.search(text):
        return "it has a `#` behind a blank, where readers see a comment"
    if found := _REFERENCE.search(text):
        return f"it has `{found.group()}`, where readers put in a variable"
    return None


def _check_possible(output: str, text: str) -> None:
    if _IMPOSSIBLE.search(text):
        raise BadInput(f"output `{output}` has a character that no variable can hold", "use `--format json`")


def _refusal(output: str, why: str) -> BadInput:
    return BadInput(
        f"output `{output}` cannot be given in this format: {why}",
        "use `--format json`, or name the output and use `--format raw`",
    )


def shell_names(names: Iterable[str]) -> Mapping[str, str]:
    """Names that a shell can assign to, as far as they go: a run that has succeeded is not to fail on a name."""
    wanted = {name: name.replace("-", "_") for name in names}
    taken = Counter(wanted.values())
    return {name: new if taken[new] == 1 and _NAME.fullmatch(new) else name for name, new in wanted.items()}
