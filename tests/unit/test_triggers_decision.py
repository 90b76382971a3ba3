"""Whether a delivery starts a deployment: a stable word and a sentence for every one."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.errors import BadInput, FailureClass
from hereya_tf.triggers import (
    Decision,
    DecisionWord,
    DeployTrigger,
    PipelineError,
    PipelineErrorCode,
    Provider,
    Push,
    decide,
    read_delivery,
    should_deploy,
    webhook_path,
)
from hereya_tf.triggers.paths import matches, why_no_pattern
from tests.command_line import environment
from tests.webhooks import AFTER, saved

TRIGGER = DeployTrigger(provider=Provider.GITHUB, repository="acme/shop", branch="main")
PUSH = Push(repository="acme/shop", branch="main", commit=AFTER, paths=("modules/network/main.tf",))
NETWORK = replace(TRIGGER, paths=("modules/network", "*.tf"))


def decided(name: str, *, is_duplicate: bool = False, **wanted: Any) -> Decision:
    delivery = read_delivery(*saved(name)[:3])
    trigger = replace(TRIGGER, provider=delivery.provider, **wanted)
    return decide(delivery, trigger, is_duplicate=is_duplicate)


@pytest.mark.behaviour("P6", "P8")
def test_no_push_is_nothing_to_deploy() -> None:
    assert should_deploy(None, TRIGGER) == Decision(
        word=DecisionWord.NOT_A_PUSH, reason="Not a branch push — nothing to deploy."
    )


@pytest.mark.behaviour("P8", "P10")
def test_a_push_to_the_branch_is_deployed_at_its_commit() -> None:
    decision = should_deploy(PUSH, TRIGGER)

    assert decision == Decision(
        word=DecisionWord.DEPLOY,
        reason=f"Push to branch `main` of `acme/shop` — deploy commit {AFTER}.",
        push=PUSH,
    )
    assert decision.deploy
    assert (decision.word, decision.word.value) == ("deploy", "deploy")


@pytest.mark.behaviour("P8")
@pytest.mark.parametrize(
    ("push", "word", "reason"),
    [
        pytest.param(
            replace(PUSH, repository="acme/Shop"),
            DecisionWord.WRONG_REPOSITORY,
            "Push to repository `acme/Shop`, not to `acme/shop` — nothing to deploy.",
            id="capitals in the repository",
        ),
        pytest.param(
            replace(PUSH, repository="acme/shop2", branch="dev"),
            DecisionWord.WRONG_REPOSITORY,
            "Push to repository `acme/shop2`, not to `acme/shop` — nothing to deploy.",
            id="a longer repository",
        ),
        pytest.param(
            replace(PUSH, branch="Main"),
            DecisionWord.WRONG_BRANCH,
            "Push to branch `Main`, not to `main` — nothing to deploy.",
            id="capitals in the branch",
        ),
        pytest.param(
            replace(PUSH, branch="feature/main"),
            DecisionWord.WRONG_BRANCH,
            "Push to branch `feature/main`, not to `main` — nothing to deploy.",
            id="a branch that ends like it",
        ),
    ],
)
def test_another_repository_or_branch_is_a_decision(push: Push, word: DecisionWord, reason: str) -> None:
    decision = should_deploy(push, TRIGGER)

    assert decision == Decision(word=word, reason=reason, push=push)
    assert not decision.deploy


@pytest.mark.behaviour("P6", "P8")
@pytest.mark.parametrize(
    ("name", "word", "reason"),
    [
        ("github/push", "deploy", f"Push to branch `main` of `acme/shop` — deploy commit {AFTER}."),
        (
            "github/push-forced",
            "deploy",
            f"Forced push to branch `main` of `acme/shop` — deploy commit {AFTER}.",
        ),
        ("github/push-new-branch", "deploy", f"New branch `main` of `acme/shop` — deploy commit {AFTER}."),
        (
            "github/push-other-branch",
            "wrong-branch",
            "Push to branch `feature/db/blue`, not to `main` — nothing to deploy.",
        ),
        ("github/push-tag", "tag", "`v1.2.0` is a tag, not a branch — nothing to deploy."),
        ("github/push-tag-deleted", "tag", "`v1.2.0` is a tag, not a branch — nothing to deploy."),
        ("github/push-branch-deleted", "deleted", "Branch `main` was deleted — nothing to deploy."),
        ("github/delete-branch", "deleted", "Branch `main` was deleted — nothing to deploy."),
        ("github/ping", "ping", "A test of the webhook — nothing to deploy."),
        ("github/issues", "not-a-push", "Not a branch push — nothing to deploy."),
        ("github/push-skip", "skip-marker", "The commit's message says `[skip ci]` — nothing to deploy."),
        (
            "gitlab/push",
            "wrong-repository",
            "Push to repository `acme/platform/shop`, not to `acme/shop` — nothing to deploy.",
        ),
        (
            "gitlab/push-tag",
            "wrong-repository",
            "Change to repository `acme/platform/shop`, not to `acme/shop` — nothing to deploy.",
        ),
        (
            "bitbucket/push-several",
            "deploy",
            f"Forced push to branch `main` of `acme/shop` — deploy commit {AFTER}.",
        ),
        ("bitbucket/ping", "ping", "A test of the webhook — nothing to deploy."),
        ("generic/push", "deploy", f"Push to branch `main` of `acme/shop` — deploy commit {AFTER}."),
    ],
)
def test_the_decision_for_a_delivery(name: str, word: str, reason: str) -> None:
    decision = decided(name)

    assert (str(decision.word), decision.reason) == (word, reason)


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize("name", ["github/push", "github/ping", "gitlab/push"])
def test_what_has_arrived_before_is_not_deployed_again(name: str) -> None:
    assert decided(name, is_duplicate=True) == Decision(
        word=DecisionWord.DUPLICATE, reason="This delivery has arrived before — nothing to deploy."
    )


@pytest.mark.behaviour("P8")
def test_a_delivery_of_another_provider_is_not_for_the_trigger() -> None:
    decision = decide(read_delivery(*saved("gitea/push")[:3]), TRIGGER)

    assert decision == Decision(
        word=DecisionWord.WRONG_REPOSITORY,
        reason="A delivery of `gitea`, not of `github` — nothing to deploy.",
    )


def test_of_several_refs_the_one_that_matters_decides() -> None:
    assert decided("bitbucket/push-several", branch="feature/blue").word is DecisionWord.DEPLOY
    assert decided("bitbucket/push-several", branch="old").word is DecisionWord.DELETED
    assert decided("bitbucket/push-several", repository="acme/x").word is DecisionWord.WRONG_REPOSITORY


@pytest.mark.parametrize(
    "message", ["Typo [skip ci]", "[CI SKIP]", "x\n\nbody [No CI] more", "[skip deploy]", "[Deploy Skip]"]
)
def test_a_marker_in_the_message_stops_a_deployment(message: str) -> None:
    decision = should_deploy(replace(PUSH, message=message), TRIGGER)

    assert decision.word is DecisionWord.SKIP_MARKER
    assert not decision.deploy


@pytest.mark.parametrize("message", [None, "", "skip ci", "[skip]", "[skip  ci]"])
def test_other_messages_stop_nothing(message: str | None) -> None:
    assert should_deploy(replace(PUSH, message=message), TRIGGER).deploy


def test_the_markers_are_the_triggers_own() -> None:
    push = replace(PUSH, message="[skip ci] [Hold]")

    assert should_deploy(push, replace(TRIGGER, skip_markers=())).deploy
    assert should_deploy(push, replace(TRIGGER, skip_markers=("",))).deploy
    assert should_deploy(push, replace(TRIGGER, skip_markers=("[HOLD]",))).reason == (
        "The commit's message says `[HOLD]` — nothing to deploy."
    )


def test_a_push_without_a_relevant_file_is_not_deployed() -> None:
    push = replace(PUSH, paths=("README.md", "docs/x.tf"))

    assert should_deploy(push, NETWORK) == Decision(
        word=DecisionWord.NO_RELEVANT_PATH,
        reason="No changed file (2) fits `modules/network` or `*.tf` — nothing to deploy.",
        push=push,
    )
    assert should_deploy(PUSH, NETWORK).reason == should_deploy(PUSH, TRIGGER).reason
    assert should_deploy(replace(push, paths=("README.md", "main.tf")), NETWORK).deploy


def test_when_it_is_not_known_which_files_were_changed_it_is_deployed() -> None:
    decision = should_deploy(replace(PUSH, paths=None), NETWORK)

    assert decision.deploy
    assert decision.reason == (
        f"Push to branch `main` of `acme/shop` — deploy commit {AFTER}, "
        "though which files were changed is not known for sure."
    )


@pytest.mark.parametrize(
    ("pattern", "meant", "not_meant"),
    [
        ("main.tf", ["main.tf"], ["x/main.tf", "main.tfx", "MAIN.TF", "xmain.tf"]),
        ("*.tf", ["main.tf", ".tf"], ["x/main.tf", "main.tf.json"]),
        ("**/*.tf", ["main.tf", "a/main.tf", "a/b/c/main.tf"], ["a/main.tf.json", "a.tf/x"]),
        (
            "modules/network",
            ["modules/network", "modules/network/a", "modules/network/a/b"],
            ["modules/networks/a", "modules", "x/modules/network/a"],
        ),
        ("modules/net*/", ["modules/network/a/b", "modules/net/a"], ["modules/x/a", "modules/a"]),
        ("modules/*", ["modules/a"], ["modules/a/b", "modules"]),
        ("modules/*/main.tf", ["modules/a/main.tf"], ["modules/main.tf", "modules/a/b/main.tf"]),
        ("modules/**", ["modules/a", "modules/a/b"], ["module/a", "xmodules/a"]),
        ("**", ["a", "a/b"], []),
        ("**/x/**/y", ["x/y", "a/x/y", "a/x/b/x/c/y", "x/y/z"], ["x", "y", "a/y/x"]),
        ("./a?c", ["abc"], ["ac", "a/c"]),
        ("/top", ["top", "top/x"], ["a/top"]),
        ("v[0-9]/*", ["v1/x"], ["vx/x", "v1/x/y"]),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_what_a_pattern_means(pattern: str, meant: list[str], not_meant: list[str]) -> None:
    assert [path for path in (*meant, *not_meant) if matches(path, pattern)] == meant
    assert why_no_pattern(pattern) is None


@given(
    path=st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=5),
    parts=st.lists(st.sampled_from(["**", "*", "a", "b", "a*", "?", "ab"]), min_size=1, max_size=6),
)
def test_a_pattern_fits_as_a_search_of_all_ways_says(path: list[str], parts: list[str]) -> None:
    def fits(names: list[str], rest: list[str]) -> bool:
        if not rest:
            return not names
        if rest[0] == "**":
            return any(fits(names[taken:], rest[1:]) for taken in range(len(names) + 1))
        alone = bool(names) and (
            rest[0] in ("*", names[0])
            or (rest[0] == "?" and len(names[0]) == 1)
            or (rest[0] == "a*" and names[0][0] == "a")
        )
        return alone and fits(names[1:], rest[1:])

    is_plain = not {"*", "?"} & set(parts[-1])
    below = is_plain and fits(path, [*parts, "**", "*"])
    assert matches("/".join(path), "/".join(parts)) == (fits(path, parts) or below)


def test_no_path_takes_long() -> None:
    """Were it tried in all ways, this would not end."""
    assert not matches("/".join("a" * 400), "/".join(["**", "a"] * 40 + ["b"]))
    assert not matches("a" * 4000, "*a" * 40 + "b*")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "it is empty"),
        ("/", "it is empty"),
        ("./", "it is empty"),
        ("**.tf", "`**` stands for whole directories: write `**/*.tf`, not `**.tf`"),
        ("a/./b", "paths begin at the top of the repository, and have no `.` and `..`"),
        ("a/../b", "paths begin at the top of the repository, and have no `.` and `..`"),
    ],
)
def test_a_pattern_that_means_nothing_is_refused(pattern: str, why: str) -> None:
    with pytest.raises(BadInput) as caught:
        replace(TRIGGER, paths=("ok", pattern))
    assert str(caught.value) == f"`{pattern}` is no pattern of paths: {why}"


@pytest.mark.behaviour("P9")
def test_a_trigger_is_a_provider_a_repository_and_a_branch() -> None:
    assert DeployTrigger(provider="github", repository="acme/shop", branch="main") == TRIGGER
    with pytest.raises(PipelineError) as caught:
        replace(TRIGGER, provider="svn")
    assert caught.value.code is PipelineErrorCode.UNSUPPORTED_PROVIDER
    with pytest.raises(BadInput, match="`shop` is not the name of a repository"):
        replace(TRIGGER, repository="shop")
    with pytest.raises(BadInput, match="`` is not the name of a branch"):
        replace(TRIGGER, branch="")


@pytest.mark.behaviour("P9")
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("shop", "/hooks/shop"),
        ("a b/c?d#e%", "/hooks/a%20b%2Fc%3Fd%23e%25"),
        ("Größe", "/hooks/Gr%C3%B6%C3%9Fe"),
        ("...", "/hooks/..."),
    ],
)
def test_the_path_of_a_hook(name: str, path: str) -> None:
    assert webhook_path(name) == path


@pytest.mark.behaviour("P9")
@pytest.mark.parametrize("name", ["", ".", "..", "\ud800"], ids=ascii)
def test_a_name_that_is_no_part_of_a_path(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        webhook_path(name)
    assert caught.value.failure_class is FailureClass.BAD_INPUT


@pytest.mark.behaviour("P3")
def test_deciding_loads_nothing_that_could_act() -> None:
    code = (
        "import sys, hereya_tf.triggers;"
        "acting = {'socket', 'ssl', 'subprocess', 'sqlite3', 'threading', 'asyncio', 'tempfile', 'shutil'};"
        "print(sorted(acting & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment({}), capture_output=True, text=True, check=False
    )

    assert (ran.stdout, ran.stderr) == ("[]\n", "")
