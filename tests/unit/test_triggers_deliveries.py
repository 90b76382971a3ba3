"""What deliveries of every provider tell, and what is not one."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from hereya_tf.triggers import (
    Deletion,
    Event,
    Headers,
    OtherEvent,
    Ping,
    PipelineError,
    PipelineErrorCode,
    Provider,
    Push,
    Tag,
    delivery_id,
    parse_push,
    read_delivery,
)
from tests.webhooks import AFTER, BEFORE, MIDDLE, NOTHING, Saved, all_saved, saved

MESSAGE = "Größere Datenbank\n\nNeeded since Monday"
SHORT = "Größere Datenbank"
PATHS = ("modules/network/main.tf", "modules/database/size.tf", "README.md")
SHOP, DEEP = "acme/shop", "acme/platform/shop"
PUSH = Push(repository=SHOP, branch="main", commit=AFTER, message=MESSAGE, paths=PATHS)
ANYWHERE = Push(repository=SHOP, branch="main", commit=AFTER, message=MESSAGE)
AT_GITLAB = Push(repository=DEEP, branch="main", commit=AFTER, message=MESSAGE, paths=PATHS)
TAG, GONE = Tag(repository=SHOP, tag="v1.2.0"), Deletion(repository=SHOP, branch="main")

EXPECTED: dict[str, tuple[Event, ...]] = {
    "bitbucket/ping": (Ping(),),
    "bitbucket/pull-request": (OtherEvent(),),
    "bitbucket/push": (Push(repository=SHOP, branch="main", commit=AFTER, message=f"{SHORT}\n"),),
    "bitbucket/push-branch-deleted": (GONE,),
    "bitbucket/push-several": (
        TAG,
        Push(repository=SHOP, branch="feature/blue", commit=MIDDLE, message=f"{SHORT}\n", is_created=True),
        Push(repository=SHOP, branch="main", commit=AFTER, message=f"{SHORT}\n", is_forced=True),
        Deletion(repository=SHOP, branch="old"),
    ),
    "bitbucket/push-tag": (TAG,),
    "bitbucket/refs-changed": (Push(repository="ACME/shop", branch="main", commit=AFTER, message=SHORT),),
    "bitbucket/refs-changed-deleted": (Deletion(repository="ACME/shop", branch="main"),),
    "bitbucket/refs-changed-tag": (Tag(repository="ACME/shop", tag="v1.2.0"),),
    "forgejo/push": (PUSH,),
    "generic/ping": (Ping(),),
    "generic/push": (
        Push(
            repository=SHOP,
            branch="main",
            commit=AFTER,
            message=SHORT,
            paths=("modules/database/size.tf",),
        ),
    ),
    "generic/push-branch-deleted": (GONE,),
    "generic/push-like-github": (Push(repository=SHOP, branch="main", commit=AFTER, message=SHORT),),
    "generic/push-tag": (TAG,),
    "generic/release": (OtherEvent(),),
    "gitea/delete-branch": (GONE,),
    "gitea/delete-tag": (TAG,),
    "gitea/push": (PUSH,),
    "gitea/push-many": (ANYWHERE,),
    "gitea/push-tag": (TAG,),
    "github/create-branch": (OtherEvent(),),
    "github/create-tag": (TAG,),
    "github/delete-branch": (GONE,),
    "github/issues": (OtherEvent(),),
    "github/ping": (Ping(),),
    "github/push": (PUSH,),
    "github/push-branch-deleted": (GONE,),
    "github/push-forced": (
        Push(repository=SHOP, branch="main", commit=AFTER, message=MESSAGE, is_forced=True),
    ),
    "github/push-form": (PUSH,),
    "github/push-new-branch": (
        Push(repository=SHOP, branch="main", commit=AFTER, message=MESSAGE, is_created=True),
    ),
    "github/push-other-branch": (
        Push(repository=SHOP, branch="feature/db/blue", commit=AFTER, message=MESSAGE, paths=PATHS),
    ),
    "github/push-skip": (
        Push(repository=SHOP, branch="main", commit=AFTER, message="Typo [skip ci]", paths=("README.md",)),
    ),
    "github/push-tag": (TAG,),
    "github/push-tag-deleted": (TAG,),
    "gitlab-signing/push": (AT_GITLAB,),
    "gitlab/merge-request": (OtherEvent(),),
    "gitlab/push": (AT_GITLAB,),
    "gitlab/push-branch-deleted": (Deletion(repository=DEEP, branch="main"),),
    "gitlab/push-many": (Push(repository=DEEP, branch="main", commit=AFTER, message=MESSAGE),),
    "gitlab/push-new-branch": (Push(repository=DEEP, branch="main", commit=AFTER, is_created=True),),
    "gitlab/push-tag": (Tag(repository=DEEP, tag="v1.2.0"),),
    "gitlab/system-member": (OtherEvent(),),
    "gitlab/system-push": (AT_GITLAB,),
}


def changed(name: str, change: Callable[[Any], object]) -> Saved:
    """A saved delivery whose event was changed."""
    delivery = saved(name)
    document = json.loads(delivery.body)
    change(document)
    return delivery._replace(body=json.dumps(document).encode())


def setting(**values: Any) -> Callable[[Any], object]:
    return lambda document: document.update(values)


def only_push(delivery: Saved) -> Push:
    push = parse_push(*delivery[:3])
    assert push is not None
    return push


def refusal(provider: Provider | str, headers: Headers, body: bytes) -> PipelineError:
    with pytest.raises(PipelineError) as caught:
        parse_push(provider, headers, body)
    assert caught.value.code is PipelineErrorCode.MALFORMED_EVENT
    return caught.value


def test_every_saved_delivery_is_looked_at() -> None:
    assert all_saved() == sorted(EXPECTED)


@pytest.mark.behaviour("P2", "P6", "P7")
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_what_a_delivery_tells(name: str) -> None:
    assert read_delivery(*saved(name)[:3]).events == EXPECTED[name]


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_only_the_push_of_a_branch_is_a_push(name: str) -> None:
    pushes = [event for event in EXPECTED[name] if isinstance(event, Push)]

    assert parse_push(*saved(name)[:3]) == (pushes[0] if pushes else None)


@pytest.mark.behaviour("P6")
def test_of_several_branches_one_can_be_asked_for() -> None:
    delivery = saved("bitbucket/push-several")

    for branch, commit in (("main", AFTER), ("feature/blue", MIDDLE), ("elsewhere", MIDDLE)):
        push = parse_push(*delivery[:3], branch=branch)
        assert push is not None
        assert push.commit == commit


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("github/push", "X-GitHub-Delivery"),
        ("gitlab/push", "Idempotency-Key"),
        ("gitlab-signing/push", "webhook-id"),
        ("gitea/push", "X-Gitea-Delivery"),
        ("forgejo/push", "X-Forgejo-Delivery"),
        ("bitbucket/push", "X-Request-UUID"),
        ("bitbucket/refs-changed", "X-Request-Id"),
        ("generic/push", "webhook-id"),
    ],
)
def test_the_id_that_tells_a_delivery_sent_again(name: str, header: str) -> None:
    delivery = saved(name)

    identity = delivery_id(delivery.provider, delivery.headers)
    assert identity == delivery.header(header) == read_delivery(*delivery[:3]).id


@pytest.mark.behaviour("P5")
def test_an_id_that_different_deliveries_share_is_none() -> None:
    delivery = saved("gitlab/push").but(idempotency_key=None, x_gitlab_webhook_uuid=None)

    assert "X-Gitlab-Event-UUID" in dict(delivery.headers)
    assert delivery_id("gitlab", delivery.headers) is None


@pytest.mark.behaviour("P7")
@pytest.mark.parametrize(
    "branch", ["feature/db/blue", "ünï/côdé", "-x", "a.b", "@/x", "refs/heads/x", "$(id)", "x" * 1024]
)
def test_a_branch_keeps_its_slashes(branch: str) -> None:
    delivery = changed("github/push", setting(ref=f"refs/heads/{branch}"))

    assert only_push(delivery).branch == branch


@pytest.mark.behaviour("P7")
def test_a_commit_may_be_a_sha_256_and_is_told_in_small_letters() -> None:
    sha = "ABCDEF01" * 8

    assert only_push(changed("github/push", setting(after=sha))).commit == sha.lower()
    gone = changed("gitlab/push", setting(after="0" * 64))
    assert read_delivery(*gone[:3]).events == (Deletion(repository=DEEP, branch="main"),)


@pytest.mark.behaviour("P7")
@pytest.mark.parametrize("message", [None, 1, ["x"], {}])
def test_a_message_that_is_no_text_is_none(message: Any) -> None:
    head = {"id": AFTER, "message": message}
    assert only_push(changed("github/push", setting(head_commit=head))).message is None
    assert only_push(changed("gitlab/push", setting(commits=[head]))).message is None
    assert only_push(changed("generic/push", lambda it: it["data"].update(message=message))).message is None


def test_the_message_of_another_head_is_not_the_commits() -> None:
    head = {"id": MIDDLE, "message": "another"}

    assert only_push(changed("bitbucket/refs-changed", setting(toCommit=head))).message is None


def test_half_a_character_in_a_message_is_none() -> None:
    delivery = changed("github/push", setting(head_commit={"message": "a\ud800b"}))

    assert only_push(delivery).message == "a?b"


@pytest.mark.parametrize("commits", [None, "x", [], [1, {}], [{"id": MIDDLE, "message": "another"}]])
def test_the_head_may_be_missing_in_the_list_of_commits(commits: Any) -> None:
    for name in ("github/push", "gitlab/push", "gitea/push"):
        push = only_push(changed(name, setting(commits=commits, head_commit=None)))
        assert (push.commit, push.message, push.paths) == (AFTER, None, None)


def commit(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"{number:040x}", "added": [f"{number}.tf"], "removed": [], "modified": [], **more}


def listing(*commits: dict[str, Any], **more: Any) -> Callable[[Any], object]:
    return setting(
        commits=[*commits, commit(0, id=AFTER)],
        total_commits=len(commits) + 1,
        total_commits_count=len(commits) + 1,
        **more,
    )


@pytest.mark.parametrize(("name", "most"), [("github/push", 2047), ("gitlab/push", 19), ("gitea/push", 2047)])
def test_the_files_are_known_as_long_as_the_list_is_shorter_than_what_it_is_cut_to(
    name: str, most: int
) -> None:
    whole = changed(name, listing(*map(commit, range(1, most))))
    cut = changed(name, listing(*map(commit, range(1, most + 1))))

    assert only_push(whole).paths == (*(f"{number}.tf" for number in range(1, most)), "0.tf")
    assert only_push(cut).paths is None


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(listing(before=NOTHING), id="a new branch"),
        pytest.param(listing(before=None), id="from nowhere"),
        pytest.param(listing(before=""), id="from an empty text"),
        pytest.param(listing(before=1), id="from a number"),
        pytest.param(listing(commit(1, added=None)), id="a commit without its files"),
        pytest.param(listing(commit(1, modified=[1])), id="a file that is no text"),
        pytest.param(
            listing(commit(1, modified=[str(n) for n in range(2999)])), id="as many files as are listed"
        ),
        pytest.param(
            setting(commits=[commit(1)], total_commits=1, total_commits_count=1), id="without the head"
        ),
    ],
)
@pytest.mark.parametrize("name", ["github/push", "gitlab/push", "gitea/push", "forgejo/push"])
def test_the_files_are_not_known_for_sure(name: str, change: Callable[[Any], object]) -> None:
    assert only_push(changed(name, change)).paths is None


@pytest.mark.parametrize("name", ["gitlab/push", "gitea/push"])
@pytest.mark.parametrize("total", [None, 1, 3, "2"])
def test_a_total_that_is_not_the_number_of_commits_means_that_some_are_missing(name: str, total: Any) -> None:
    assert only_push(changed(name, setting(total_commits=total, total_commits_count=total))).paths is None


@pytest.mark.parametrize("paths", [[], ["a", 1], "a", {}, None])
def test_a_generic_list_of_files_that_is_none(paths: Any) -> None:
    assert only_push(changed("generic/push", lambda it: it["data"].update(paths=paths))).paths is None


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize(
    ("name", "change", "event"),
    [
        pytest.param("github/push", setting(deleted=True), GONE, id="deleted, with a commit"),
        pytest.param("github/push-branch-deleted", setting(deleted=None), GONE, id="deleted, by its zeros"),
        pytest.param("github/delete-branch", setting(ref="refs/heads/main"), GONE, id="a whole name"),
        pytest.param("github/delete-branch", setting(ref_type="repository"), OtherEvent(), id="another ref"),
        pytest.param("github/delete-branch", setting(ref_type=None), OtherEvent(), id="no ref"),
        pytest.param("gitlab/system-push", setting(object_kind=None), AT_GITLAB, id="only its event's name"),
        pytest.param("gitlab/system-push", setting(object_kind="note"), OtherEvent(), id="another kind"),
    ],
)
def test_the_same_told_in_another_way(name: str, change: Callable[[Any], object], event: Event) -> None:
    assert read_delivery(*changed(name, change)[:3]).events == (event,)


@pytest.mark.parametrize(
    "change",
    [setting(created=True, before=BEFORE), setting(created=None, before=NOTHING)],
    ids=["word", "zeros"],
)
def test_a_new_branch_is_told_by_a_word_or_by_zeros(change: Callable[[Any], object]) -> None:
    push = only_push(changed("github/push", change))

    assert (push.is_created, push.paths) == (True, None)


@pytest.mark.parametrize("word", ["created", "forced"])
def test_a_generic_push_that_is_new_or_forced_has_changed_more_than_it_lists(word: str) -> None:
    push = only_push(changed("generic/push", lambda it: it["data"].update({word: True})))

    assert (push.is_created, push.is_forced, push.paths) == (word == "created", word == "forced", None)


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize("ref", ["refs/notes/x", "refs/merge-requests/1/head", "refs/for/main"])
@pytest.mark.parametrize("name", ["github/push", "gitlab/push", "gitea/push"])
def test_other_refs_are_no_branches(name: str, ref: str) -> None:
    assert parse_push(*changed(name, setting(ref=ref))[:3]) is None


BRANCHES_THAT_GIT_REFUSES = [
    *("", "/x", "x/", "a//b", "a..b", "a b", "a\nb", "a\x7fb", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b"),
    *(".x", "a/.x", "x.lock", "a.lock/b", "x.", "@", "a@{b", "a\ud800", "x" * 1025),
]


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize("branch", BRANCHES_THAT_GIT_REFUSES, ids=ascii)
def test_a_branch_that_git_would_refuse_is_a_broken_push(branch: str) -> None:
    refusal(*changed("github/push", setting(ref=f"refs/heads/{branch}"))[:3])


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize(
    "repository",
    [
        "",
        "shop",
        "/shop",
        "acme/",
        "acme//shop",
        "acme/../shop",
        "acme/sh op",
        "acme/shop\n",
        "a/\udfff",
        None,
        1,
    ],
    ids=ascii,
)
def test_a_repository_without_a_proper_name_is_a_broken_push(repository: Any) -> None:
    refusal(*changed("github/push", lambda it: it["repository"].update(full_name=repository))[:3])
    refusal(*changed("gitlab/push", lambda it: it["project"].update(path_with_namespace=repository))[:3])
    refusal(*changed("bitbucket/push", lambda it: it["repository"].update(full_name=repository))[:3])
    refusal(*changed("generic/push", lambda it: it["data"].update(repository=repository))[:3])


@pytest.mark.behaviour("P6", "P10")
@pytest.mark.parametrize(
    "sha", ["main", AFTER[:7], AFTER + "0", "g" * 40, f"{AFTER}\n", "--upload-pack=x", "", None, 5], ids=repr
)
def test_a_commit_that_is_no_whole_sha_is_a_broken_push(sha: Any) -> None:
    refusal(*changed("github/push", setting(after=sha))[:3])
    refusal(*changed("gitlab/push", setting(after=sha))[:3])
    refusal(
        *changed("bitbucket/push", lambda it: it["push"]["changes"][0]["new"]["target"].update(hash=sha))[:3]
    )
    refusal(*changed("bitbucket/refs-changed", lambda it: it["changes"][0].update(toHash=sha))[:3])
    refusal(*changed("generic/push", lambda it: it["data"].update(commit=sha))[:3])


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param("github/push", lambda it: it.pop("repository"), id="no repository"),
        pytest.param("github/push", setting(repository="acme/shop"), id="a text for a repository"),
        pytest.param("github/push", lambda it: it.pop("ref"), id="no ref"),
        pytest.param("github/push", setting(ref="main"), id="a short ref"),
        pytest.param("github/push", lambda it: it.pop("after"), id="no commit"),
        pytest.param("github/delete-branch", setting(ref=None), id="a deletion of nothing"),
        pytest.param("gitlab/push", setting(object_kind="tag_push"), id="a header that contradicts"),
        pytest.param("gitlab/push-tag", setting(object_kind="push"), id="a header that contradicts a tag"),
        pytest.param("gitlab/push", lambda it: it.pop("project"), id="no project"),
        pytest.param("bitbucket/push", lambda it: it.pop("push"), id="no changes"),
        pytest.param("bitbucket/push", setting(push={"changes": []}), id="an empty list of changes"),
        pytest.param("bitbucket/push", setting(push={"changes": [None]}), id="a change that is none"),
        pytest.param(
            "bitbucket/push",
            setting(push={"changes": [{"new": None, "old": None}]}),
            id="nothing from nothing",
        ),
        pytest.param("bitbucket/refs-changed", setting(changes=[]), id="no changes in a data centre"),
        pytest.param("bitbucket/refs-changed", setting(changes=["x"]), id="no change in a data centre"),
        pytest.param(
            "bitbucket/refs-changed", setting(repository={"slug": "shop"}), id="no project in a data centre"
        ),
        pytest.param("generic/push", setting(type=None), id="no type"),
        pytest.param("generic/push", setting(data=[]), id="no data"),
    ],
)
def test_a_broken_push(name: str, change: Callable[[Any], object]) -> None:
    error = refusal(*changed(name, change)[:3])

    assert not str(error).endswith(".")


BODIES = [
    *(
        b"",
        b"{",
        b"null",
        b"[]",
        b'"push"',
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        b'{"a": NaN}',
        b'{"a": "\xff"}',
    ),
    *(
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"a": ' + b"9" * 5000 + b"}",
        b"payload={}",
        "{}".encode("utf-16"),
    ),
]


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:12]))
@pytest.mark.parametrize(
    "name", ["github/push", "gitlab/push", "gitea/push", "bitbucket/push", "generic/push"]
)
def test_a_body_that_is_no_object_of_json_is_a_broken_push(name: str, body: bytes) -> None:
    refusal(*saved(name)._replace(body=body)[:3])


@pytest.mark.parametrize(
    "name", ["github/push", "gitlab/push", "gitea/push", "forgejo/push", "bitbucket/push"]
)
def test_headers_of_nobody_are_no_delivery(name: str) -> None:
    error = refusal(saved(name).provider, {"Content-Type": "application/json"}, saved(name).body)

    assert str(error).startswith("the delivery has no `X-")


@pytest.mark.behaviour("P2")
@pytest.mark.parametrize("name", ["gitea/push", "forgejo/push"])
def test_a_delivery_of_gitea_is_none_of_githubs_though_it_has_its_headers(name: str) -> None:
    delivery = saved(name)

    assert delivery.header("X-GitHub-Event") == "push"
    error = refusal("github", delivery.headers, delivery.body)
    assert error.hints == ("the provider is `gitea` or `forgejo`",)


def test_gitea_and_forgejo_are_read_alike() -> None:
    assert only_push(saved("forgejo/push")._replace(provider=Provider.GITEA)) == PUSH
    assert only_push(saved("gitea/push")._replace(provider=Provider.FORGEJO)) == PUSH
    for name in ("X-Gitea-Event", "X-Forgejo-Event"):
        assert parse_push("gitea", {name: "push"}, saved("gitea/push").body) == PUSH
        assert parse_push("forgejo", {name: "issues"}, saved("gitea/push").body) is None


@pytest.mark.behaviour("P2")
def test_another_provider_is_unsupported() -> None:
    for ask in (lambda: parse_push("svn", {}, b"{}"), lambda: delivery_id("svn", {})):
        with pytest.raises(PipelineError) as caught:
            ask()
        assert caught.value.code is PipelineErrorCode.UNSUPPORTED_PROVIDER


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize("content_type", [FORM, f"{FORM.upper()} ; charset=utf-8", None])
def test_a_form_is_read_whether_its_header_was_saved_or_not(content_type: str | None) -> None:
    assert only_push(saved("github/push-form").but(content_type=content_type)) == PUSH


def test_json_is_read_whatever_its_header_says_but_a_form() -> None:
    for content_type in (None, "text/plain", ""):
        assert only_push(saved("github/push").but(content_type=content_type)) == PUSH
    refusal(*saved("github/push").but(content_type=FORM)[:3])
    refusal(*saved("github/push-form").but(content_type="application/json")[:3])


@pytest.mark.parametrize(
    "body", [b"payload=%7B%7D&payload=%7B%7D", b"other=1", b"payload", b"payload=%FF", b"&=&"]
)
def test_a_form_with_another_payload_is_a_broken_push(body: bytes) -> None:
    refusal(*saved("github/push-form")._replace(body=body)[:3])


@pytest.mark.behaviour("P6")
def test_the_body_of_another_event_is_nobodys_business() -> None:
    assert parse_push("github", {"X-GitHub-Event": "issues"}, b"\xff") is None
    assert parse_push("github", {"X-GitHub-Event": "ping"}, b"") is None
    assert parse_push("gitlab", {"X-Gitlab-Event": "Note Hook"}, b"") is None
    assert parse_push("bitbucket", {"X-Event-Key": "issue:created"}, b"") is None


def test_a_header_with_two_values_is_a_broken_delivery() -> None:
    headers = [("X-GitHub-Event", "push"), ("x-github-event", "ping")]

    assert "2 times" in str(refusal("github", headers, saved("github/push").body))


@pytest.mark.parametrize("before", [BEFORE, "", None, 1])
def test_a_push_that_does_not_begin_at_zeros_is_not_new(before: Any) -> None:
    for name in ("github/push", "gitlab/push"):
        push = only_push(changed(name, setting(before=before)))
        assert (push.is_created, push.is_forced) == (False, False)
