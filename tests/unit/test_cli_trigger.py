"""`trigger check`: the decision for a saved delivery, in words or as JSON, and what is refused."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.cli.trigger import _PROVIDERS
from hereya_tf.triggers import Provider
from tests.command_line import CommandLine, Result
from tests.webhooks import AFTER, SIGNED_AT, digest, files, saved, standard_headers

MODULES = "modules/network/main.tf, modules/database/size.tf, README.md"
SHOP = ("--repository", "acme/shop", "--branch", "main")


@pytest.fixture
def check(cli: CommandLine) -> Any:
    """`trigger check` on a saved delivery, with its secret and at its time unless something else is said."""

    def run(name: str, *arguments: str | Path, **options: Any) -> Result:
        headers, body, secret = files(name)
        asked: list[str | Path] = ["--provider", saved(name).provider.value]
        for option, value in (("--headers", headers), ("--body", body), ("--secret-file", secret)):
            asked += [] if option in arguments else [option, value]
        asked += [] if "--received-at" in arguments else ["--received-at", str(SIGNED_AT)]
        return cli("trigger", "check", *asked, *arguments, **options)

    return run


def refused(*lines: str) -> Result:
    error, *hints = lines
    return Result(3, "", "\n".join((f"error: {error}", *(f"hint: {hint}" for hint in hints))) + "\n")


def test_the_decision_in_words(check: Any) -> None:
    assert check("github/push", *SHOP, "--path", "modules/network") == Result(
        0,
        f"""\
decision     deploy
reason       Push to branch `main` of `acme/shop` — deploy commit {AFTER}.
delivery     93859b67-5f84-4fd1-a483-f0af362e1bf1
repository   acme/shop
branch       main
commit       {AFTER}
message      Größere Datenbank
files        {MODULES}
""",
        "",
    )


def test_the_decision_as_json(check: Any) -> None:
    ran = check("github/push", "--json", *SHOP)

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert json.loads(ran.stdout) == {
        "decision": "deploy",
        "deploy": True,
        "reason": f"Push to branch `main` of `acme/shop` — deploy commit {AFTER}.",
        "provider": "github",
        "delivery": "93859b67-5f84-4fd1-a483-f0af362e1bf1",
        "push": {
            "repository": "acme/shop",
            "branch": "main",
            "commit": AFTER,
            "message": "Größere Datenbank\n\nNeeded since Monday",
            "paths": MODULES.split(", "),
            "created": False,
            "forced": False,
        },
    }


@pytest.mark.behaviour("P8")
@pytest.mark.parametrize(
    ("name", "arguments", "word"),
    [
        ("github/push", ("--branch", "dev"), "wrong-branch"),
        ("github/push", ("--repository", "acme/x"), "wrong-repository"),
        ("github/push", ("--path", "docs/**", "--path", "*.tf"), "no-relevant-path"),
        ("github/push-form", SHOP, "deploy"),
        ("github/push-tag", (), "tag"),
        ("github/push-tag", ("--repository", "acme/x"), "wrong-repository"),
        ("github/ping", SHOP, "ping"),
        ("github/issues", (), "not-a-push"),
        ("gitlab-signing/push", ("--repository", "acme/platform/shop"), "deploy"),
        ("gitea/push", (), "deploy"),
        ("bitbucket/push-several", ("--branch", "main"), "deploy"),
        ("generic/push", SHOP, "deploy"),
    ],
)
def test_every_decision_is_exit_code_0(check: Any, name: str, arguments: tuple[str, ...], word: str) -> None:
    ran = check(name, "--json", *arguments)

    assert (ran.exit_code, ran.stderr) == (0, "")
    document = json.loads(ran.stdout)
    assert (document["decision"], document["deploy"]) == (word, word == "deploy")


def test_files_that_are_not_known_are_not_left_out(check: Any) -> None:
    ran = check("bitbucket/push", "--path", "*.tf")

    assert ran.stdout.splitlines()[-1] == "files        not known for sure"


@pytest.mark.behaviour("P4")
def test_secrets_come_from_the_environment_or_files_and_any_will_do(check: Any, tmp_path: Path) -> None:
    empty, several = tmp_path / "empty", tmp_path / "several"
    empty.write_text("\n")
    several.write_bytes(b"old one\r\n\r\nIt's a Secret to Everybody\r\n")
    given = {"HEREYA_TF_WEBHOOK_SECRET": "old one\nIt's a Secret to Everybody\n"}

    assert check("github/push", "--secret-file", empty, env=given).exit_code == 0
    assert check("github/push", "--secret-file", empty, "--secret-file", several).exit_code == 0


@pytest.mark.behaviour("P4")
def test_without_a_secret_nothing_is_accepted(check: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text(" \n\n")

    assert check("github/push", "--secret-file", tmp_path / "empty") == refused(
        "no secret is configured, and what is not signed is not accepted",
        "give it in `HEREYA_TF_WEBHOOK_SECRET` or by `--secret-file FILE`",
        "set a secret for the webhook at GitHub, and the same here",
    )


@pytest.mark.behaviour("P5")
def test_a_bad_signature_is_refused(check: Any, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("another secret")

    assert check("github/push", "--secret-file", tmp_path / "other") == refused(
        "the signature in `X-Hub-Signature-256` does not fit the body",
        "it covers the raw body to the byte: check that nothing has changed it on its way, and the secret",
    )


def test_a_newline_that_an_editor_has_added_is_told(check: Any, tmp_path: Path) -> None:
    body = tmp_path / "body"
    body.write_bytes(saved("github/push").body + b"\r\n")

    ran = check("github/push", "--body", body)

    assert ran.exit_code == 3
    assert ran.stderr.splitlines()[:2] == [
        "error: the signature in `X-Hub-Signature-256` does not fit the body",
        "hint: without the newline at its end the body fits: save it as it came",
    ]


@pytest.mark.behaviour("P5")
def test_saving_is_not_blamed_for_a_secret_that_is_wrong(check: Any, tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(saved("generic/push").body + b"\n")
    (tmp_path / "other").write_text("whsec_b3RoZXI=")

    assert check("generic/push", "--body", tmp_path / "body", "--secret-file", tmp_path / "other") == refused(
        "no signature in `webhook-signature` fits the id, the time and the body"
    )


@pytest.mark.behaviour("P5")
def test_a_delivery_that_is_old_by_now_is_refused_and_can_be_judged_by_its_time(check: Any) -> None:
    later = str(SIGNED_AT + 301)

    assert check("generic/push", "--received-at", later) == refused(
        "it was signed 301 seconds ago, and is taken within 300 seconds only",
        f"`--received-at {SIGNED_AT}` judges a saved delivery by the clock of its arrival",
        "if it has just been sent, set the clocks of both machines",
    )


@pytest.mark.behaviour("P5")
def test_the_clock_is_the_machines_unless_another_time_is_given(cli: CommandLine) -> None:
    headers, body, secret = files("generic/push")

    ran = cli(
        *("trigger", "check", "--provider", "generic", "--headers", headers),
        *("--body", body, "--secret-file", secret),
    )
    assert (ran.exit_code, ran.stdout) == (3, "")
    assert f"hint: `--received-at {SIGNED_AT}` judges a saved delivery" in ran.stderr


@pytest.mark.parametrize(
    "moment", ["2026-11-30T09:15:02Z", "2026-11-30T09:15:02", "2026-11-30T10:15:02+01:00"]
)
def test_the_time_of_arrival_may_be_a_date(check: Any, moment: str) -> None:
    assert check("generic/push", "--received-at", moment).exit_code == 0


@pytest.mark.parametrize("moment", ["soon", "-5", "9" * 30, "2026-13-01"])
def test_what_is_no_time(check: Any, moment: str) -> None:
    ran = check("generic/push", "--received-at", moment)

    assert (ran.exit_code, ran.stdout) == (64, "")
    assert ran.stderr.startswith(f"error: `--received-at`: `{moment}` is not a time such as")


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "the body is not JSON in UTF-8"),
        (b"\xff\x00", "the body is not JSON in UTF-8"),
        (b"[]", "the body is JSON, but not an object"),
        (b"{}", "`repository.full_name` of the event is missing, or not a text"),
    ],
)
def test_what_is_no_delivery_is_refused(check: Any, tmp_path: Path, body: bytes, sentence: str) -> None:
    (tmp_path / "body").write_bytes(body)
    (tmp_path / "headers").write_text(
        f"X-GitHub-Event: push\nX-Hub-Signature-256: sha256={digest(saved('github/push').secret, body)}\n"
    )

    ran = check("github/push", "--headers", tmp_path / "headers", "--body", tmp_path / "body", "--json")

    assert ran == refused(sentence, "compare it with what its sender has kept of the delivery")


HEADERS = dict(saved("github/push").headers)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(HEADERS), id="JSON"),
        pytest.param(
            "\n" + json.dumps({name: [value] for name, value in HEADERS.items()}, indent=1), id="lists"
        ),
        pytest.param(
            "POST /hook HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in HEADERS.items()), id="CRLF"
        ),
        pytest.param("\n".join(f"{n.upper()}:{v}" for n, v in HEADERS.items()), id="capitals"),
        pytest.param(
            "Request URL: https://x\n" + "\n".join(f"{n}: {v}" for n, v in HEADERS.items()) + "\n\nthe rest",
            id="a page",
        ),
        pytest.param("\ufeff" + json.dumps(HEADERS), id="byte order mark"),
    ],
)
def test_headers_are_saved_in_many_ways(check: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "headers").write_text(text, encoding="utf-8", newline="")

    ran = check("github/push", "--headers", tmp_path / "headers", "--json")

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)["delivery"] == HEADERS["X-GitHub-Delivery"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"a: b\nnonsense\n", "`{}` holds more than headers: its line 2 is not `Name: value`"),
        (b"a: b\n folded: c\n", "`{}` holds more than headers: its line 2 is not `Name: value`"),
        (b": b\n", "`{}` holds more than headers: its line 1 is not `Name: value`"),
        (b"{", "`{}` is neither lines of headers nor JSON"),
        (b"[" * 100_000, "`{}` is neither lines of headers nor JSON"),
        (b"[]", "`{}` holds JSON, but no object of headers"),
        (b'{"a": 1}', "`{}` has a header whose value is neither a text nor a list of texts"),
        (b"a: \xff", "`{}` is not UTF-8 text: line 1 holds other bytes"),
        (b"", "the delivery has no `X-Hub-Signature-256` header"),
    ],
)
def test_what_is_no_file_of_headers(check: Any, tmp_path: Path, data: bytes, sentence: str) -> None:
    file = tmp_path / "headers"
    file.write_bytes(data)

    ran = check("github/push", "--headers", file)

    assert (ran.exit_code, ran.stdout) == (3, "")
    assert ran.stderr.splitlines()[0] == "error: " + sentence.replace("{}", str(file))


@pytest.mark.parametrize("option", ["--headers", "--body", "--secret-file"])
def test_a_file_that_is_not_there(check: Any, tmp_path: Path, option: str) -> None:
    missing = tmp_path / "missing"

    assert check("github/push", option, missing) == refused(
        f"`{missing}` cannot be read: No such file or directory", "check the path and its permissions"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(("--provider", "svn"), "`--provider`", id="a provider that is not known"),
        pytest.param(("--secret", "x"), "there is no option `--secret`", id="a secret in the command line"),
    ],
)
def test_what_makes_no_sense(check: Any, arguments: tuple[str, ...], sentence: str) -> None:
    ran = check("github/push", *arguments)

    assert (ran.exit_code, ran.stdout) == (64, "")
    assert ran.stderr.startswith(f"error: {sentence}")


def test_an_option_that_is_missing_is_named(cli: CommandLine) -> None:
    assert cli("trigger", "check", "--provider", "github") == Result(
        64,
        "",
        "error: `--headers` is missing\nhint: `hereya-tf trigger check --help` shows what it takes\n",
    )


def test_a_repository_or_pattern_that_could_never_be(check: Any) -> None:
    assert check("github/push", "--repository", "shop") == refused(
        "`shop` is not the name of a repository", "write `owner/name`"
    )
    assert check("github/push", "--path", "**.tf") == refused(
        "`**.tf` is no pattern of paths: `**` stands for whole directories: write `**/*.tf`, not `**.tf`",
        "such as `modules/network` or `**/*.tf`",
    )


def test_what_a_delivery_says_steers_no_terminal_and_long_lists_are_cut(check: Any, tmp_path: Path) -> None:
    document = json.loads(saved("generic/push").body)
    document["data"] |= {"message": "\x1b[2J red\nmore", "paths": [f"{number}.tf" for number in range(7)]}
    body = json.dumps(document).encode()
    key = base64.b64decode(saved("generic/push").secret.removeprefix("whsec_"))
    (tmp_path / "headers").write_text(json.dumps(standard_headers(key, body, time=SIGNED_AT)))
    (tmp_path / "body").write_bytes(body)

    ran = check("generic/push", "--headers", tmp_path / "headers", "--body", tmp_path / "body")

    assert ran.exit_code == 0
    assert ran.stdout.splitlines()[-2:] == [
        "message      \\x1b[2J red",
        "files        0.tf, 1.tf, 2.tf, 3.tf, 4.tf and 2 more",
    ]


def test_the_providers_are_those_of_the_library() -> None:
    assert tuple(Provider) == _PROVIDERS
