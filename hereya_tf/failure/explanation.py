"""From diagnostics, stderr and the process's end to class, sentence and hints (pure).

Only loaded when something has failed.
"""

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from hereya_tf.errors import FailureClass
from hereya_tf.failure import rules, vocabulary
from hereya_tf.failure.advice import Circumstances, advise
from hereya_tf.failure.human_errors import read_human_errors
from hereya_tf.failure.lock_info import INFO, lock_sentence, read_lock, shows_own_lock
from hereya_tf.failure.process_end import ProcessEnd, causes_of
from hereya_tf.failure.rule import ANY, Rule, Scene, holds_one_of, spoken, words
from hereya_tf.failure.sentence import clipped, placed, sentence_of
from hereya_tf.failure.state_rules import LOCK_SUMMARIES, LOSS_RULES
from hereya_tf.failure.telling import git_words, host_of, is_of_a_module, tell_state, variable_name
from hereya_tf.retries.rules import may_pass
from hereya_tf.stream.message_types import Diagnostic

_NOWHERE = Scene()
_ENGINE_NAMES = {"terraform": "Terraform", "tofu": "OpenTofu"}
# What fails so fails at a resource, and an engine does not always say at which.
_OF_A_RESOURCE = (
    FailureClass.PROVIDER_ERROR,
    FailureClass.PROVIDER_CRASHED,
    FailureClass.DISK_FULL,
    FailureClass.OUT_OF_MEMORY,
)


class _Finding(NamedTuple):
    failure_class: FailureClass
    sentence: str
    diagnostic: Diagnostic | None = None
    needs_init: bool = False
    hints: tuple[str, ...] = ()


def explain(
    errors: Sequence[Diagnostic],
    end: ProcessEnd,
    engine_name: str,
    failed: Collection[str],
    private: str,
    state: str | None,
) -> tuple[FailureClass, str, tuple[str, ...], bool, bool, tuple[tuple[FailureClass, str], ...]]:
    """The fields of a diagnosis."""
    engine = _ENGINE_NAMES.get(engine_name, engine_name)
    said = _said(errors, end.stderr)
    causes = _causes(said)
    scene = Scene(engine, private, state, said)
    # The process first: of two findings of one class, a stack trace says more than `Plugin did not respond`.
    findings = [_Finding(*cause) for cause in causes_of(end, engine)]
    findings += [_of_memory(_judge(cause, bool(failed), scene), end.out_of_memory) for cause in causes]
    if not findings:
        findings = [_silence(end.exit_code, engine)]
    chosen = min(findings, key=lambda finding: rules.PRIORITY.index(finding.failure_class))
    sentence = placed(chosen.sentence, _culprit(chosen, causes, failed))
    others = len(causes) - 1
    more = f" (and {others} more)" if others > 0 and chosen.diagnostic is not None else ""
    text = "" if chosen.diagnostic is None else _text(chosen.diagnostic).lower()
    told = advise(chosen.failure_class, chosen.hints, _circumstances(chosen, end, causes, text))
    return (
        chosen.failure_class,
        sentence + more,
        tuple(hint.replace("ENGINE", engine_name) for hint in told),
        any(finding.needs_init for finding in findings),
        may_pass(chosen.failure_class, text),
        tuple(map(_symptom, findings)),
    )


def find_holder(errors: Sequence[Diagnostic]) -> dict[str, str]:
    """What the first error that tells of a held lock says of it; empty when none does."""
    for error in map(_clipped, errors):
        if _judge(error, failed=False).failure_class is FailureClass.STATE_LOCKED:
            return read_lock(error.detail)
    return {}


def without_umbrella(errors: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
    """The errors without the one that only says that init has met others, unless it is alone."""
    causes = [error for error in errors if not words(error.summary).startswith(rules.UMBRELLA)]
    return causes or errors


def _said(errors: Sequence[Diagnostic], stderr: str) -> Sequence[Diagnostic]:
    """The errors that say something, each once: of the stream, else in human form."""
    for candidates in (errors, read_human_errors(clipped(stderr))):
        said = list(_once(map(_clipped, candidates)))
        if any(not words(error.summary).startswith(rules.UMBRELLA) for error in said):
            return said
    return list(map(_clipped, errors))


def _causes(said: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
    """The errors without init's umbrella and echoes, unless there is nothing else."""
    causes = without_umbrella(said)
    return [error for error in causes if not _is_echo(error)] or causes


def _culprit(chosen: _Finding, causes: Sequence[Diagnostic], failed: Collection[str]) -> str:
    """The address of what failed, where only one thing did and the error names none; else empty."""
    found, addresses = chosen.diagnostic, set(failed)
    if chosen.failure_class not in _OF_A_RESOURCE or len(addresses) != 1:
        return ""
    if found is None and chosen.failure_class is not FailureClass.PROVIDER_CRASHED:
        return ""
    if found is not None and (found.address is not None or found.range is not None):
        return ""
    (address,) = addresses
    return "" if any(cause.address == address for cause in causes) else address


def _clipped(diagnostic: Diagnostic) -> Diagnostic:
    return diagnostic._replace(summary=clipped(diagnostic.summary), detail=clipped(diagnostic.detail))


def _once(errors: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Without those that say the same of another line."""
    known = set()
    for error in errors:
        key = (error.summary, error.detail, error.address)
        if key not in known:
            known.add(key)
            yield error


def _is_echo(diagnostic: Diagnostic) -> bool:
    return any(
        diagnostic.summary.startswith(summary) and diagnostic.detail.startswith(detail)
        for summary, detail in rules.ECHOES
    )


def _text(diagnostic: Diagnostic) -> str:
    return f"{words(diagnostic.summary)} {words(diagnostic.detail)}"


def _judge(diagnostic: Diagnostic, failed: bool, scene: Scene = _NOWHERE) -> _Finding:
    summary, text = words(diagnostic.summary), _text(diagnostic)
    shown = _public(diagnostic, scene)
    for table in (rules.QUOTING_RULES, LOSS_RULES):
        if rule := _match(table, summary, text):
            sentence = _told(rule, shown, scene) or sentence_of(shown)
            return _Finding(rule.failure_class, sentence, diagnostic, hints=rule.hints)
    if summary.startswith(LOCK_SUMMARIES):
        failure_class = _lock_class(diagnostic)
        broken = tell_state(shown, scene) if failure_class is FailureClass.STATE_CORRUPT else None
        return _Finding(failure_class, broken or lock_sentence(diagnostic), diagnostic)
    if holds_one_of(text.lower(), vocabulary.NO_SPACE):
        return _Finding(FailureClass.DISK_FULL, sentence_of(shown), diagnostic)
    # Beside an address or a place stand names and texts that the engine has not chosen.
    open_text = text if diagnostic.address is None and diagnostic.range is None else summary
    if rule := _match(rules.RULES, summary, text, open_text):
        # The engine's own words: their first sentence says it, the rest is advice.
        sentence = _told(rule, shown, scene) or sentence_of(shown, whole=False)
        return _Finding(rule.failure_class, sentence, diagnostic, rule.needs_init, rule.hints)
    failure_class = _unknown_class(diagnostic, summary, text, failed)
    whole = failure_class is not FailureClass.INVALID_CONFIGURATION
    return _Finding(failure_class, sentence_of(shown, whole=whole), diagnostic)


def _public(diagnostic: Diagnostic, scene: Scene) -> Diagnostic:
    """Without a place in a file that nobody but us knows of."""
    place = diagnostic.range
    is_private = place is not None and scene.private and place.filename.startswith(scene.private)
    return diagnostic._replace(range=None) if is_private else diagnostic


def _told(rule: Rule, diagnostic: Diagnostic, scene: Scene) -> str | None:
    """The rule's own words, on one line."""
    told = rule.tell(diagnostic, scene) if rule.tell is not None else None
    return " ".join(told.split()) if told else None


def _match(table: tuple[Rule, ...], summary: str, text: str, open_text: str = "") -> Rule | None:
    """The first rule that fits; `open_text` is where those without a summary look."""
    for rule in table:
        looked_at = open_text if rule.summaries == ANY else text
        if summary.startswith(rule.summaries) and (not rule.holds or holds_one_of(looked_at, rule.holds)):
            return rule
    return None


def _lock_class(diagnostic: Diagnostic) -> FailureClass:
    """The same summary has many causes: the `Error message:` tells them apart."""
    message = _text(diagnostic).partition(INFO)[0]
    heard = spoken(message)
    if holds_one_of(heard, vocabulary.NO_SPACE):
        return FailureClass.DISK_FULL
    if holds_one_of(heard, vocabulary.LOCK_HELD):
        return FailureClass.STATE_LOCKED
    if rule := _match(rules.RULES, words(diagnostic.summary), message, message):
        return rule.failure_class
    if holds_one_of(heard, vocabulary.CREDENTIALS + vocabulary.BACKEND_REFUSALS):
        return FailureClass.CREDENTIALS
    if "failed to lock" in heard or may_pass(FailureClass.BACKEND_UNREACHABLE, message):
        return FailureClass.BACKEND_UNREACHABLE
    return FailureClass.STATE_LOCKED if INFO in diagnostic.detail else FailureClass.ENGINE_ERROR


def _unknown_class(diagnostic: Diagnostic, summary: str, text: str, failed: bool) -> FailureClass:
    backend = summary.lower().startswith(vocabulary.BACKEND_SUMMARIES)
    place = diagnostic.range
    # The engine's own error on a line of the package is full of names that it finds there, in quotes.
    is_quoting = place is not None and diagnostic.address is None
    heard = spoken(" ".join(summary.split('"')[::2]) if is_quoting else text)
    if backend and holds_one_of(heard, vocabulary.BACKEND_REFUSALS):
        return FailureClass.CREDENTIALS
    if holds_one_of(heard, vocabulary.CREDENTIALS):
        return FailureClass.CREDENTIALS
    if backend:
        return FailureClass.BACKEND_UNREACHABLE
    if place is not None and (place.filename.startswith("<value for var.") or ".tfvars" in place.filename):
        return FailureClass.INVALID_VARIABLE
    if diagnostic.address is not None:
        return FailureClass.PROVIDER_ERROR
    if place is not None:
        # Errors of a provider have an address; what only has a place is the configuration's.
        return FailureClass.INVALID_CONFIGURATION
    if failed and summary not in ("execution halted", "operation canceled"):
        return FailureClass.PROVIDER_ERROR
    is_away = may_pass(FailureClass.BACKEND_UNREACHABLE, text)
    return FailureClass.BACKEND_UNREACHABLE if is_away else FailureClass.ENGINE_ERROR


def _of_memory(finding: _Finding, out_of_memory: bool) -> _Finding:
    """A provider that is gone while the system ends processes for their memory has been one of them."""
    if not out_of_memory or finding.failure_class is not FailureClass.PROVIDER_CRASHED:
        return finding
    return finding._replace(
        failure_class=FailureClass.OUT_OF_MEMORY,
        sentence=f"a provider was ended by the system, which had no memory left: {finding.sentence}",
        hints=(),
    )


def _silence(exit_code: int | None, engine: str) -> _Finding:
    if exit_code == 0:
        sentence = f"{engine} ended with exit code 0, but did not report the end of its work"
    else:
        sentence = f"{engine} ended with exit code {exit_code} and gave no reason"
    return _Finding(FailureClass.ENGINE_ERROR, sentence)


def _circumstances(
    chosen: _Finding, end: ProcessEnd, causes: Sequence[Diagnostic], text: str
) -> Circumstances:
    """What makes a hint ready to be used."""
    is_locked = chosen.failure_class is FailureClass.STATE_LOCKED
    found = chosen.diagnostic
    return Circumstances(
        text=text,
        was_killed=end.was_killed,
        out_of_memory=end.out_of_memory,
        disk_full=any(holds_one_of(_text(cause).lower(), vocabulary.NO_SPACE) for cause in causes),
        lock_id=find_holder(causes).get("ID") if is_locked else None,
        shows_own_lock=is_locked and any(shows_own_lock(cause.detail) for cause in causes),
        of_a_module=found is not None and is_of_a_module(found),
        host=host_of(git_words(found.detail) or "") if found is not None else None,
        variables=tuple(_variables(chosen, causes)),
        targets=tuple(_targets(found)),
        transient=may_pass(chosen.failure_class, text),
    )


def _variables(chosen: _Finding, causes: Sequence[Diagnostic]) -> Iterator[str]:
    """The names of the variables that want a value."""
    if chosen.failure_class is FailureClass.MISSING_VARIABLE:
        # An engine says them in any order.
        yield from sorted(_missing_variables(causes))
    elif chosen.failure_class is FailureClass.INVALID_VARIABLE and chosen.diagnostic is not None:
        name = variable_name(chosen.diagnostic)
        yield from (name,) if name is not None else ()


def _missing_variables(causes: Sequence[Diagnostic]) -> Iterator[str]:
    """The names in quotes: `The root module input variable "need" is not set, …`."""
    for cause in causes:
        if cause.detail.count('"') < 2:
            continue
        if _judge(cause, failed=False).failure_class is FailureClass.MISSING_VARIABLE:
            yield cause.detail.split('"')[1]


def _targets(diagnostic: Diagnostic | None) -> Iterator[str]:
    """The addresses of lines like `  -target="module.a[\\"x\\"]"`, each as one argument for a shell."""
    for line in diagnostic.detail.splitlines() if diagnostic is not None else ():
        _, found, address = line.strip().partition("-target=")
        if found and line.strip().startswith("-target=") and address.startswith('"'):
            yield shlex.quote(address.removeprefix('"').removesuffix('"').replace('\\"', '"'))


def _symptom(finding: _Finding) -> tuple[FailureClass, str]:
    said = words(finding.sentence) if finding.diagnostic is None else _text(finding.diagnostic)
    return finding.failure_class, said
