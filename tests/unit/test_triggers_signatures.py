"""Webhook signatures: what is signed with the secret is taken, and nothing else."""

import base64
import datetime
import hmac
import time
from typing import Any

import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.errors import FailureClass
from hereya_tf.triggers import Headers, PipelineError, PipelineErrorCode, Provider, verify_webhook
from tests.webhooks import SIGNED_AT, Saved, all_saved, digest, saved, standard_headers

BAD, NO_SECRET = PipelineErrorCode.BAD_SIGNATURE, PipelineErrorCode.NO_SECRET
VECTOR_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
VECTOR_HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
VECTOR_BODY = b'{"test": 2432232314}'
VECTOR_TIME = 1614265330


def verify(delivery: Saved, *secrets: str, now: float = SIGNED_AT) -> None:
    verify_webhook(delivery.provider, delivery.headers, delivery.body, secrets or (delivery.secret,), now=now)


def refusal(
    provider: str,
    headers: Headers,
    body: bytes,
    secrets: str | tuple[str | None, ...] | None,
    *,
    now: float = SIGNED_AT,
) -> PipelineError:
    with pytest.raises(PipelineError) as caught:
        verify_webhook(provider, headers, body, secrets, now=now)
    return caught.value


@pytest.mark.behaviour("P4")
@pytest.mark.parametrize("name", all_saved())
def test_every_saved_delivery_is_signed_with_its_secret_and_with_no_other(name: str) -> None:
    delivery = saved(name)

    verify(delivery)
    other = "whsec_" + base64.b64encode(b"another").decode()
    assert refusal(*delivery[:3], other).code is BAD


@pytest.mark.behaviour("P4", "P5")
@pytest.mark.parametrize("name", [name for name in all_saved() if not name.startswith("gitlab/")])
def test_a_body_with_one_byte_changed_is_refused(name: str) -> None:
    delivery = saved(name)

    for changed in (delivery.body + b"\n", delivery.body[:-1], b"", delivery.body.replace(b"e", b"E", 1)):
        assert refusal(delivery.provider, delivery.headers, changed, delivery.secret).code is BAD


@pytest.mark.behaviour("P4")
def test_the_vector_of_github() -> None:
    secret, body = "It's a Secret to Everybody", b"Hello, World!"
    good = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"

    verify_webhook("github", {"X-Hub-Signature-256": good}, body, secret, now=0)
    verify_webhook(Provider.GITHUB, [("x-hub-signature-256", good)], body, ["old", secret], now=0)
    verify_webhook("bitbucket", {"x-HUB-signature": good}, body, secret, now=0)


@pytest.mark.behaviour("P4")
@pytest.mark.parametrize("name", ["X-Gitea-Signature", "X-Forgejo-Signature"])
@pytest.mark.parametrize("provider", ["gitea", "forgejo"])
def test_the_vector_of_rfc_4231(provider: str, name: str) -> None:
    body = b"what do ya want for nothing?"
    good = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"

    verify_webhook(provider, {name: good}, body, "Jefe", now=0)
    assert refusal(provider, {name: f"sha256={good}"}, body, "Jefe").code is BAD


@pytest.mark.behaviour("P4", "P5")
def test_the_vector_of_standard_webhooks() -> None:
    verify_webhook("generic", VECTOR_HEADERS, VECTOR_BODY, VECTOR_SECRET, now=VECTOR_TIME)
    verify_webhook("gitlab", VECTOR_HEADERS, VECTOR_BODY, VECTOR_SECRET, now=VECTOR_TIME)
    assert refusal("generic", VECTOR_HEADERS, VECTOR_BODY + b" ", VECTOR_SECRET, now=VECTOR_TIME).code is BAD


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        pytest.param({}, "the delivery has no `X-Hub-Signature-256` header", id="nothing"),
        pytest.param(
            {"X-Hub-Signature-256": " "}, "the delivery has no `X-Hub-Signature-256` header", id="empty"
        ),
        pytest.param(
            {"X-Hub-Signature": "sha1=" + hmac.new(b"s", b"{}", "sha1").hexdigest()},
            "the delivery has no `X-Hub-Signature-256` header",
            id="SHA-1 only",
        ),
        pytest.param(
            {"X-Hub-Signature-256": digest("s", b"{}")},
            "the signature in `X-Hub-Signature-256` does not fit the body",
            id="no prefix",
        ),
        pytest.param(
            {"X-Hub-Signature-256": "sha256=\u00e9\ud800"},
            "the signature in `X-Hub-Signature-256` does not fit the body",
            id="no ASCII",
        ),
        pytest.param(
            (("X-Hub-Signature-256", "sha256=" + digest("s", b"{}")), ("x-hub-signature-256", "sha256=0")),
            "the header `X-Hub-Signature-256` is there 2 times, each time with another value",
            id="two",
        ),
    ],
)
def test_what_github_has_not_signed_is_refused(headers: Headers, sentence: str) -> None:
    error = refusal("github", headers, b"{}", "s")

    assert (error.code, str(error), error.failure_class) == (BAD, sentence, FailureClass.BAD_INPUT)


def test_a_header_that_is_there_twice_with_one_value_is_taken() -> None:
    good = "sha256=" + digest("s", b"{}")

    verify_webhook("github", [("X-Hub-Signature-256", good)] * 2, b"{}", "s", now=0)


def test_thousands_of_signatures_in_one_header_cost_no_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies_hashed = []
    real = hmac.new

    def counted(*arguments: Any, **options: Any) -> Any:
        bodies_hashed.append(1)
        return real(*arguments, **options)

    headers = {**VECTOR_HEADERS, "webhook-signature": "v1,AAAA " * 5_000}
    monkeypatch.setattr(hmac, "new", counted)

    error = refusal("generic", headers, VECTOR_BODY, (VECTOR_SECRET, VECTOR_SECRET), now=VECTOR_TIME)
    assert (error.code, len(bodies_hashed)) == (BAD, 2)


@pytest.mark.behaviour("P4")
@pytest.mark.parametrize("provider", list(Provider))
@pytest.mark.parametrize("secrets", [None, "", " \n", (), ("", " "), ("", None)], ids=repr)
def test_without_a_secret_nothing_is_accepted(
    provider: Provider, secrets: str | tuple[str | None, ...] | None
) -> None:
    empty = "sha256=" + digest("", b"{}")
    headers = {
        "X-Hub-Signature-256": empty,
        "X-Hub-Signature": empty,
        "X-Gitea-Signature": digest("", b"{}"),
        "X-Gitlab-Token": "",
        **standard_headers(b"", b"{}", time=SIGNED_AT),
    }

    error = refusal(provider, headers, b"{}", secrets)
    assert (error.code, str(error)) == (
        NO_SECRET,
        "no secret is configured, and what is not signed is not accepted",
    )


@pytest.mark.behaviour("P4")
@pytest.mark.parametrize(
    "name", ["github/push", "gitlab/push", "gitlab-signing/push", "gitea/push", "generic/push"]
)
def test_any_of_several_secrets_will_do_so_that_one_can_be_replaced(name: str) -> None:
    delivery = saved(name)
    other = "whsec_" + base64.b64encode(b"another").decode() if "whsec" in delivery.secret else "another"

    verify(delivery, other, delivery.secret)
    verify(delivery, delivery.secret, other, "")
    assert refusal(*delivery[:3], (other, other)).code is BAD


@pytest.mark.behaviour("P4")
def test_one_secret_is_not_taken_for_its_letters() -> None:
    assert refusal("gitlab", {"X-Gitlab-Token": "s"}, b"{}", "secret").code is BAD
    assert refusal("github", {"X-Hub-Signature-256": "sha256=" + digest("s", b"")}, b"", "secret").code is BAD


@pytest.mark.behaviour("P4")
@pytest.mark.parametrize("token", ["pässword", "pässword".encode().decode("latin-1"), " pässword "], ids=repr)
def test_a_token_of_gitlab_is_known_however_the_server_decodes_headers(token: str) -> None:
    for secret in ("pässword", " pässword\n"):
        verify_webhook("gitlab", {"X-Gitlab-Token": token}, b"{}", secret, now=0)


@pytest.mark.behaviour("P4", "P5")
@pytest.mark.parametrize("token", ["passwor", "passwordd", "PASSWORD", "€", "\ud800", ""], ids=ascii)
def test_another_token_is_refused(token: str) -> None:
    assert refusal("gitlab", {"X-Gitlab-Token": token}, b"{}", "password").code is BAD
    assert refusal("gitlab", {}, b"{}", "password").code is BAD


@pytest.mark.behaviour("P4")
def test_with_a_signing_token_gitlabs_old_token_proves_nothing() -> None:
    delivery = saved("gitlab/push")

    for secrets in ((VECTOR_SECRET,), (delivery.secret, VECTOR_SECRET)):
        error = refusal(*delivery[:3], secrets)
        assert (error.code, str(error)) == (BAD, "the delivery has no `webhook-id` header")
    shown = delivery.but(x_gitlab_token=VECTOR_SECRET)
    assert refusal(*shown[:3], VECTOR_SECRET).code is BAD
    for secret in (VECTOR_SECRET, f" {VECTOR_SECRET}\n"):
        verify(saved("gitlab-signing/push"), "old token", secret)


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize(
    ("apart", "sentence"),
    [
        pytest.param(
            -301, "it was signed 301 seconds in the future, and is taken within 300 seconds only", id="new"
        ),
        pytest.param(301, "it was signed 301 seconds ago, and is taken within 300 seconds only", id="old"),
        pytest.param(
            float("inf"), "it was signed inf seconds ago, and is taken within 300 seconds only", id="inf"
        ),
        pytest.param(
            float("nan"),
            "it was signed nan seconds in the future, and is taken within 300 seconds only",
            id="nan",
        ),
    ],
)
def test_a_signature_of_another_time_is_refused(apart: float, sentence: str) -> None:
    error = refusal("generic", VECTOR_HEADERS, VECTOR_BODY, VECTOR_SECRET, now=VECTOR_TIME + apart)

    assert (error.code, str(error)) == (BAD, sentence)


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize("apart", [-300, -299.5, 0, 300])
def test_five_minutes_are_allowed_for(apart: float) -> None:
    verify_webhook("generic", VECTOR_HEADERS, VECTOR_BODY, VECTOR_SECRET, now=VECTOR_TIME + apart)


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("webhook-id", None, "the delivery has no `webhook-id` header"),
        ("webhook-timestamp", None, "the delivery has no `webhook-timestamp` header"),
        ("webhook-signature", None, "the delivery has no `webhook-signature` header"),
        ("webhook-id", "other", "no signature in `webhook-signature` fits the id, the time and the body"),
        ("webhook-id", "\ud800", "no signature in `webhook-signature` fits the id, the time and the body"),
        (
            "webhook-timestamp",
            "1614265331",
            "no signature in `webhook-signature` fits the id, the time and the body",
        ),
        ("webhook-signature", "v1", "no signature in `webhook-signature` fits the id, the time and the body"),
        (
            "webhook-signature",
            "v1,%%é",
            "no signature in `webhook-signature` fits the id, the time and the body",
        ),
        (
            "webhook-signature",
            VECTOR_HEADERS["webhook-signature"].replace("v1", "v2"),
            "no signature in `webhook-signature` fits the id, the time and the body",
        ),
    ],
)
def test_broken_headers_of_standard_webhooks(name: str, value: str | None, sentence: str) -> None:
    headers = {key: text for key, text in (VECTOR_HEADERS | {name: value}).items() if text is not None}

    error = refusal("generic", headers, VECTOR_BODY, VECTOR_SECRET, now=VECTOR_TIME)
    assert (error.code, str(error)) == (BAD, sentence)


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize("written", ["1614265330.0", "-1", "1e3", "٣", "9" * 13, "soon"])
def test_a_time_that_is_no_number_of_seconds_is_refused_though_it_is_signed(written: str) -> None:
    headers = standard_headers(b"key", b"{}", time=written)

    error = refusal("generic", headers, b"{}", "whsec_" + base64.b64encode(b"key").decode())
    assert (error.code, str(error)) == (BAD, "`webhook-timestamp` is no number of seconds")


@pytest.mark.behaviour("P4")
def test_one_signature_of_several_is_enough_whatever_stands_beside_it() -> None:
    good = VECTOR_HEADERS["webhook-signature"]
    for several in (f"v1,AAAA {good}", f"{good} v1", f"v1a,x nonsense v1,é  {good}"):
        headers = VECTOR_HEADERS | {"webhook-signature": several}
        verify_webhook("generic", headers, VECTOR_BODY, VECTOR_SECRET, now=VECTOR_TIME)


@pytest.mark.behaviour("P4")
@pytest.mark.parametrize(
    "secret", ["whsec_", "whsec_====", "whsec_a", "correct horse", "whsec_a-b_", "é" * 8]
)
def test_a_secret_that_is_no_key_is_told_and_accepts_nothing(secret: str) -> None:
    headers = standard_headers(b"", b"{}", time=SIGNED_AT)

    error = refusal("generic", headers, b"{}", (VECTOR_SECRET, secret))
    assert (error.code, str(error)) == (NO_SECRET, "a secret cannot be used: it is not `whsec_` and base64")


@pytest.mark.parametrize("name", ["sourcehut", "GitHub", "", "github "])
@pytest.mark.behaviour("P2")
def test_other_providers_are_unsupported(name: str) -> None:
    error = refusal(name, {}, b"{}", "s")

    assert error.code is PipelineErrorCode.UNSUPPORTED_PROVIDER
    assert error.hints == ("known are `github`, `gitlab`, `generic`, `gitea`, `forgejo`, `bitbucket`",)


@pytest.mark.behaviour("P1")
def test_the_codes() -> None:
    assert [str(code) for code in PipelineErrorCode] == [
        "BAD_SIGNATURE",
        "UNSUPPORTED_PROVIDER",
        "MALFORMED_EVENT",
        "NO_SECRET",
    ]


@pytest.mark.behaviour("P4")
@given(
    key=st.binary(min_size=1, max_size=64),
    text=st.text(max_size=200),
    identity=st.from_regex(r"[!-~]+", fullmatch=True),
)
def test_what_the_library_of_standard_webhooks_signs_is_accepted(
    key: bytes, text: str, identity: str
) -> None:
    body = text.encode("utf-8", "replace")
    secret = "whsec_" + base64.b64encode(key).decode()
    moment = datetime.datetime.fromtimestamp(SIGNED_AT, datetime.UTC)
    signature = standardwebhooks.Webhook(secret).sign(identity, moment, body.decode())
    headers = {"webhook-id": identity, "webhook-timestamp": str(SIGNED_AT), "webhook-signature": signature}

    for spelt in (secret, secret.rstrip("="), secret.removeprefix("whsec_"), f" {secret}\n"):
        verify_webhook("generic", headers, body, spelt, now=SIGNED_AT)
    assert refusal("generic", headers, body + b"x", secret).code is BAD


@pytest.mark.behaviour("P4", "P5")
@given(
    body=st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")),
    change=st.sampled_from(["webhook-id", "webhook-timestamp", "webhook-signature", None]),
    value=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=50),
    apart=st.sampled_from([0, 200, -200, 400, -400]),
)
def test_what_the_library_of_standard_webhooks_says_is_what_we_say(
    body: bytes, change: str | None, value: str, apart: int
) -> None:
    secret, now = VECTOR_SECRET, time.time()
    headers = standard_headers(base64.b64decode(VECTOR_SECRET[6:]), body, time=int(now) + apart)
    if change is not None:
        headers[change] = value
    try:
        standardwebhooks.Webhook(secret).verify(body, headers, json_parse=False)
        theirs = True
    except (standardwebhooks.WebhookVerificationError, ValueError):
        theirs = False  # a signature without a comma is a ValueError of theirs

    if theirs:
        verify_webhook("generic", headers, body, secret, now=now)
    else:
        assert refusal("generic", headers, body, secret, now=now).code is BAD


def test_without_a_moment_it_is_now() -> None:
    body, key = b"{}", f"whsec_{base64.b64encode(b'k' * 32).decode()}"
    moment = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    headers = {
        "webhook-id": "1",
        "webhook-timestamp": f"{moment.timestamp():.0f}",
        "webhook-signature": standardwebhooks.Webhook(key).sign("1", moment, body.decode()),
    }

    verify_webhook("generic", headers, body, key)
    with pytest.raises(PipelineError):
        verify_webhook("generic", VECTOR_HEADERS, VECTOR_BODY, VECTOR_SECRET)
