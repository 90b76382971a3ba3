"""What a dependency lock file says of its providers (pure)."""

from collections.abc import Mapping

from hereya_tf.package.declarations import blocks_of


def read_lock_selections(source: bytes) -> Mapping[str, str]:
    """The providers of a dependency lock file by address, and the version that is selected of each."""
    providers = read_lock_providers(source)
    return {address: texts["version"] for address, texts in providers.items() if "version" in texts}


def read_lock_providers(source: bytes) -> Mapping[str, Mapping[str, str]]:
    """The providers of a dependency lock file by address, and the expressions of each one's attributes."""
    return dict(blocks_of("provider", source))
