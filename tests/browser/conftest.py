"""A real browser, when there is one: it opens pages from files and may reach nothing."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser for all tests of a process."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        # In CI nobody would notice that pages are not looked at any more.
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("there is no chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        # A container without user namespaces has no sandbox; the pages are our own.
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A page in the browser, and everything it did that it should not have done."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.faults: list[str] = []

    def watch(self, own: str) -> None:
        """Take down what is asked for, said and shown; `own` is the one address that may be fetched."""

        def asked(route: Any) -> None:
            if route.request.url == own:
                route.continue_()
            else:
                self.faults.append(f"request: {route.request.url}")
                route.abort()

        def shown(dialog: Any) -> None:
            self.faults.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        self.page.route("**/*", asked)
        self.page.on("dialog", shown)
        # A violation of the page's policy is said here, too.
        self.page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("popup", lambda popup: self.faults.append(f"window: {popup.url}"))


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens the text of a page; at the end nothing may have gone wrong in any."""
    pages: list[Opened] = []
    contexts = []

    def open_page(text: str, *, width: int = 1280, scheme: str = "light", scripts: bool = True) -> Any:
        file = tmp_path / f"page-{len(pages)}.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=scripts
        )
        contexts.append(context)
        made = Opened(context.new_page())
        pages.append(made)
        made.watch(file.as_uri())
        made.page.goto(file.as_uri())
        return made.page

    yield open_page
    for context in contexts:
        context.close()
    assert [fault for page in pages for fault in page.faults] == []
