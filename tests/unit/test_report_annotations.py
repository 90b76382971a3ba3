"""Annotations: each error at its place in the repository, once, and not more than are shown."""

from typing import Any

import pytest

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.report.annotations import MOST, Annotation, Place, annotations
from hereya_tf.report.document import Report
from hereya_tf.report.sentences import lock_text, state_text
from tests import reports
from tests.reports import PACKAGE, Log, error, warning

ROOTS = [("/srv", PACKAGE)]
PLACE = Place("packages/shop/main.tf", 12, 12, 3, 22)


def failed(*diagnostics: events.DiagnosticEvent, **fields: Any) -> Report:
    log = Log().engine().begin("apply").say(*diagnostics).end("apply", exit_code=1)
    return log.fail(FailureClass.PROVIDER_ERROR, "it is broken", diagnostics=diagnostics, **fields).report()


def at(filename: str, line: int = 12) -> events.DiagnosticEvent:
    return error(range=events.RangeInfo(filename, line, 3, line, 22))


def test_an_error_stands_on_its_line_with_what_to_do() -> None:
    assert annotations(reports.failed(), ROOTS) == (
        Annotation(
            True,
            "cannot create the bucket",
            "BucketAlreadyExists: it is somebody else's\n\nrequest 4711\nwith store_bucket.photos\n"
            "hint: correct what the provider complains about, and run it again\nhint: or look at its log",
            PLACE,
        ),
        Annotation(False, "Argument is deprecated", "Argument is deprecated"),
    )


@pytest.mark.parametrize(
    ("filename", "file"),
    [
        pytest.param("main.tf", "packages/shop/main.tf", id="in the package"),
        pytest.param("modules/net/main.tf", "packages/shop/modules/net/main.tf", id="below it"),
        pytest.param("../modules/net/main.tf", "packages/modules/net/main.tf", id="beside it"),
        pytest.param("/srv/shared/x.tfvars", "shared/x.tfvars", id="by its whole name"),
        pytest.param("..data/main.tf", "packages/shop/..data/main.tf", id="two dots are no way up"),
        pytest.param("../../../etc/passwd", None, id="outside of the repository"),
        pytest.param("/etc/x.tf", None, id="outside by its whole name"),
        pytest.param(".terraform/modules/net/main.tf", None, id="fetched"),
    ],
)
def test_the_file_is_one_of_the_repository(filename: str, file: str | None) -> None:
    (found,) = annotations(failed(at(filename)), ROOTS)

    assert (found.place and found.place.file) == file
    assert found.title == ("cannot create the bucket" if file else "provider-error")


@pytest.mark.parametrize(
    ("roots", "file"),
    [
        pytest.param(
            [("/elsewhere", PACKAGE), ("/srv", PACKAGE)], "packages/shop/main.tf", id="without links"
        ),
        pytest.param([("/srv/packages/shop", PACKAGE)], "main.tf", id="the package is the repository"),
        pytest.param([("/elsewhere", PACKAGE)], None, id="elsewhere"),
        pytest.param([], None, id="no repository"),
    ],
)
def test_the_repository_may_be_behind_a_link(roots: list[tuple[str, str]], file: str | None) -> None:
    (found,) = annotations(failed(at("main.tf")), roots)

    assert (found.place and found.place.file) == file


def test_a_failure_without_a_place_is_told_once_as_a_whole() -> None:
    report = reports.locked()

    assert annotations(report, ROOTS) == (
        Annotation(
            True,
            "state-locked",
            f"the state is locked by somebody else\nstate: {state_text(report)}\nlock: {lock_text(report)}\n"
            "hint: wait for it, or look at what it is",
        ),
    )
    assert annotations(reports.not_saved(), ROOTS)[0].message.split("\n")[1] == (
        f"state: could not be saved; the only complete copy is `{PACKAGE}/errored.tfstate`"
    )


def test_a_success_has_warnings_only() -> None:
    assert [(each.is_error, each.title) for each in annotations(reports.succeeded(), ROOTS)] == [
        (False, "Argument is deprecated")
    ]
    assert annotations(reports.planned(), ROOTS) == ()


def test_what_is_said_twice_is_shown_once() -> None:
    found = annotations(failed(at("main.tf"), at("main.tf"), at("main.tf", 13), hint="do"), ROOTS)

    assert [each.place and each.place.line for each in found] == [12, 13]
    twice = Log().begin("plan").say(warning("x"), warning("x")).end("plan").finish().report()
    assert len(annotations(twice, ROOTS)) == 1


def test_of_many_the_last_one_counts_the_others() -> None:
    many = [at("main.tf", line) for line in range(1, MOST + 6)]
    found = annotations(failed(*many), ROOTS)

    assert [each.place.line for each in found if each.place is not None] == list(range(1, MOST))
    assert found[-1] == Annotation(
        True,
        "6 errors more",
        "\n".join(f"packages/shop/main.tf:{line}: cannot create the bucket" for line in range(10, 16)),
    )
    assert len(annotations(failed(*many[:MOST]), ROOTS)) == MOST


def test_errors_and_warnings_are_counted_apart() -> None:
    many = [at("main.tf", line) for line in range(1, 13)]
    log = Log().engine().begin("apply").say(*many, *(warning(str(number)) for number in range(12)))
    report = log.fail(FailureClass.PROVIDER_ERROR, "no", diagnostics=tuple(many)).report()
    found = annotations(report, ROOTS)

    assert [each.is_error for each in found] == [True] * MOST + [False] * MOST
    assert found[-1].title == "3 warnings more"


def test_long_texts_end_before_a_system_cuts_them() -> None:
    long = error(summary="word " * 200, detail="x" * 10_000)
    (found,) = annotations(failed(long), ROOTS)

    assert (len(found.title), found.title[-1]) == (200, "…")
    assert (len(found.message), found.message[-1]) == (2000, "…")
