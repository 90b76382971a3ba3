"""The forms that a report comes in, and which of them a file's ending asks for (pure)."""

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hereya_tf.report.document import Report


class Format(StrEnum):
    """A form of a report, by the name that `runs report --format` has for it."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    JUNIT = "junit"
    HTML = "html"


SUFFIXES = {
    ".txt": Format.TEXT,
    ".md": Format.MARKDOWN,
    ".json": Format.JSON,
    ".xml": Format.JUNIT,
    ".html": Format.HTML,
}
"""What a file name has to end with."""


def format_of(path: str) -> Format | None:
    """The form that a file's name asks for; None when it asks for none that there is."""
    return next((form for suffix, form in SUFFIXES.items() if path.endswith(suffix)), None)


def render(report: "Report", form: Format) -> str:
    """The report in this form, as the whole text of a file."""
    match form:
        case Format.TEXT:
            from hereya_tf.report.text import text_report

            return text_report(report)
        case Format.MARKDOWN:
            from hereya_tf.report.markdown import markdown_report

            return markdown_report(report)
        case Format.JSON:
            from hereya_tf.report.json_form import json_report

            return json_report(report)
        case Format.JUNIT:
            from hereya_tf.report.junit import junit_report

            return junit_report(report)
        case Format.HTML:
            from hereya_tf.report.html import html_report

            return html_report(report)
