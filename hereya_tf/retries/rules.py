"""Which errors may pass by themselves: a table of classes and words, and nothing but looking them up (pure).

The words were measured on Terraform 1.11.4 and 1.15.5, or are those that people have met with engines, clouds,
git and PostgreSQL; all are compared in lower case. A rule of the user's adds to the table, and takes nothing away.
Only loaded when something has failed.
"""

from collections.abc import Iterable, Iterator

from hereya_tf.errors import FailureClass as Class
from hereya_tf.failure.rule import spoken, words
from hereya_tf.failure.vocabulary import NETWORK, THROTTLING
from hereya_tf.retries import RetryRule

NEVER = frozenset((Class.STATE_NOT_SAVED, Class.ERRORED_STATE, Class.STATE_CORRUPT, Class.LOCK_NOT_RELEASED))
"""Another try would write over the only copy of a state, build on a broken one, or meet the lock it has left."""

# What a server says of itself; 501 and what is below 500 does not pass.
_STATUSES = tuple(
    said.replace("N", str(status))
    for status in (408, 429, 500, 502, 503, 504)
    for said in (
        "statuscode: N",  # AWS
        "statuscode=N",  # Azure, older
        "unexpected status N",  # Azure
        "error N:",  # Google
        "response code N",
        "response code: N",  # Google's storage, go-getter, consul
        "status code N",
        "status code: N",
        "http status N",
        "http N",
        "returned error: N",  # git
    )
)
_UNAVAILABLE = (
    "internal server error",
    "bad gateway",
    "service unavailable",
    "serviceunavailable",
    "gateway timeout",
    "gateway time-out",
    "the server is busy",
    "serverbusy",
    "operationtimedout",
    "backenderror",
    "we encountered an internal error",
    "currently unable to handle the request",
    "no cluster leader",
    "etcdserver: leader changed",
    "sorry, too many clients already",
    "too many connections for role",
    "remaining connection slots are reserved",
    "the database system is starting up",
    "the database system is shutting down",
    "the database system is in recovery mode",
    "terminating connection due to administrator command",
)
# A connection that did not come about, or was cut; `vocabulary.NETWORK` decides on classes as well.
_CUT_OFF = (
    "operation timed out",
    "timeout awaiting response headers",
    "request canceled while waiting for connection",
    "please try again later",
    "server sent goaway",
    "stream error: stream id",
    "server closed idle connection",
    "use of closed network connection",
    "broken pipe",
    "client connection lost",
    # `Get "https://…": EOF`: the address is not looked at.
    "get eof",
    "head eof",
    "put eof",
    "post eof",
)
_GIT = (
    "failed to connect to",
    "couldn't connect to server",
    "early eof",
    "rpc failed",
    "the remote end hung up unexpectedly",
    "unexpected disconnect while reading sideband packet",
    "connection closed by",
    "gnutls recv error",
    "ssl_error_syscall",
    "error opening a gzip reader",
)
# Of a provider only what no configuration causes: nobody listens where a wrong address points to.
_PROVIDERS_NETWORK = (
    "connection reset by peer",
    "tls handshake timeout",
    "client.timeout exceeded while awaiting headers",
    "i/o timeout",
    "temporary failure in name resolution",
    "server misbehaving",
)
_NOT_STARTED = ("text file busy", "timeout while waiting for plugin to start")


def _rows(classes: Iterable[Class], texts: Iterable[str]) -> Iterator[RetryRule]:
    texts = tuple(texts)
    return (RetryRule(each, (text,)) for each in classes for text in texts)


# Engines say it whatever came of the request, a refusal too; the cause stands behind it.
_NETWORK = tuple(text for text in NETWORK if text != "could not connect to")
_FETCHING = (Class.PROVIDER_UNAVAILABLE, Class.MODULE_UNAVAILABLE, Class.BACKEND_UNREACHABLE)

RULES: tuple[RetryRule, ...] = (
    *_rows(_FETCHING, (*_NETWORK, *_CUT_OFF, *_STATUSES, *_UNAVAILABLE)),
    *_rows((Class.MODULE_UNAVAILABLE,), _GIT),
    *_rows((Class.PROVIDER_ERROR,), _PROVIDERS_NETWORK),
    *_rows((*_FETCHING, Class.PROVIDER_ERROR, Class.CREDENTIALS), THROTTLING),
    *_rows((Class.PROVIDER_CRASHED, Class.PROVIDER_UNAVAILABLE, Class.ENGINE_ERROR), _NOT_STARTED),
)


def may_pass(failure_class: Class, text: str, own: Iterable[RetryRule] = ()) -> bool:
    """Whether an error of this class with this text (summary and detail) fits a rule, `own` ones included.

    A held lock fits none: whether that is waited for is another question. In addresses on the network only the
    user's own rules look.
    """
    if failure_class in NEVER or failure_class is Class.STATE_LOCKED:
        return False
    said = spoken(text)
    if any(rule.failure_class is failure_class and rule.text[0] in said for rule in RULES):
        return True
    whole = words(text).lower()
    return any(_fits(rule, failure_class, whole) for rule in own)


def _fits(rule: RetryRule, failure_class: Class, text: str) -> bool:
    if rule.failure_class not in (None, failure_class):
        return False
    return all(words(each).lower() in text for each in rule.text)
