"""Packages from elsewhere, as directories of this machine: exactly what was asked for, and nothing of it half."""

from hereya_tf.checkouts.checkout import Checkout, Checkouts
from hereya_tf.checkouts.credentials import Credential, Credentials, parse_credentials
from hereya_tf.checkouts.credentials_file import read_credentials
from hereya_tf.checkouts.errors import (
    CheckoutFailed,
    CheckoutTimedOut,
    GitUnusable,
    NoAccess,
    PackageNotFound,
    RefusedPackage,
    UnknownCommit,
    Unreachable,
)
from hereya_tf.checkouts.limits import Limits
from hereya_tf.checkouts.pruning import Pruned, Spared, prune
from hereya_tf.checkouts.sources import Archive, GitRevision, PackageSource, read_source

__all__ = [
    "Archive",
    "Checkout",
    "CheckoutFailed",
    "CheckoutTimedOut",
    "Checkouts",
    "Credential",
    "Credentials",
    "GitRevision",
    "GitUnusable",
    "Limits",
    "NoAccess",
    "PackageNotFound",
    "PackageSource",
    "Pruned",
    "RefusedPackage",
    "Spared",
    "UnknownCommit",
    "Unreachable",
    "parse_credentials",
    "prune",
    "read_credentials",
    "read_source",
]
