"""What a commit's tree holds, and whether that may be checked out (pure)."""

from typing import NamedTuple

from hereya_tf.checkouts.errors import RefusedPackage
from hereya_tf.checkouts.limits import Limits
from hereya_tf.sizes import format_size

_SUBMODULE = b"160000"

# What an engine, or we, would read although the commit does not have it.
_SUFFIXES = (".tf", ".tf.json", ".tofu", ".tofu.json", ".tfvars", ".tfvars.json")
_NAMES = ("hereyarc.yaml", "hereyarc.yml", "hereya-tf.toml", ".terraform-version", ".opentofu-version")


class Listing(NamedTuple):
    """Paths of a tree: those of files and links, and those of submodules; and how large it is, in bytes."""

    files: frozenset[str]
    submodules: frozenset[str]
    size: int


def read_listing(output: bytes, limits: Limits) -> Listing:
    """The tree that `git ls-tree -r -l -z` tells of; raises RefusedPackage when it is larger than `limits`."""
    files, submodules, size = set(), set(), 0
    for record in output.split(b"\0"):
        head, _, path = record.partition(b"\t")
        words = head.split()
        if len(words) != 4:
            continue
        name = path.decode("utf-8", "surrogateescape")  # as the file system's names are
        if words[0] == _SUBMODULE:
            submodules.add(name)
        else:
            files.add(name)
            size += int(words[3]) if words[3].isdigit() else 0
    refuse_too_much(len(files), size, limits)
    return Listing(frozenset(files), frozenset(submodules), size)


def refuse_too_much(files: int, size: int, limits: Limits) -> None:
    """Raise RefusedPackage when so many files, or so many bytes, are more than a package may have."""
    if files > limits.files:
        raise RefusedPackage(
            f"the package has more than {limits.files} files",
            "keep out of it what is not needed, or allow more",
        )
    if size > limits.tree_bytes:
        raise RefusedPackage(
            f"the package is larger than {format_size(limits.tree_bytes)}",
            "keep large files out of it, or allow more",
        )


def decides(name: str) -> bool:
    """Whether a file of this name decides what is run, so that one of an earlier run must not stay."""
    return name.endswith(_SUFFIXES) or name in _NAMES


def is_state(name: str) -> bool:
    """Whether a file of this name may be a state, which nobody removes unasked."""
    return name.endswith((".tfstate", ".tfstate.backup")) or name.startswith("errored.tfstate")
