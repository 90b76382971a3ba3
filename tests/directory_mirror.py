"""A directory that serves as a mirror of both engines' sites, signed with a key of its own."""

import hashlib
from pathlib import Path

from hereya_tf.engine import EngineName, Version
from hereya_tf.releases.platforms import Platform
from hereya_tf.releases.sites import archive_name, checksums_name
from tests.installing import HERE, pretender
from tests.openpgp_signer import signing_key
from tests.published_releases import Sign, archive

_SIGNATURES = {EngineName.TERRAFORM: ".72D7468F.sig", EngineName.OPENTOFU: ".gpgsig"}


class DirectoryMirror:
    """Releases below `directory`, with the vendors' layout; `keys` is the file of the key that signs them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.keys = directory.with_suffix(".asc")
        directory.mkdir()
        self.keys.write_bytes(signing_key().public_file())

    def publish(
        self,
        engine: EngineName,
        *texts: str,
        binary: bytes | None = None,
        platform: Platform = HERE,
        sign: Sign | None = None,
    ) -> None:
        """Publish versions for one platform: programs that say who they are, unless `binary` is another."""
        for text in texts:
            version = Version.parse(text)
            body = archive(pretender(engine, version) if binary is None else binary, engine, platform)
            name = archive_name(engine, version, platform)
            checksums = f"{hashlib.sha256(body).hexdigest()}  {name}\n".encode()
            directory = self.place(engine, text)
            directory.mkdir(parents=True)
            (directory / name).write_bytes(body)
            (directory / checksums_name(engine, version)).write_bytes(checksums)
            signature = f"{checksums_name(engine, version)}{_SIGNATURES[engine]}"
            (directory / signature).write_bytes((sign or signing_key().sign)(checksums))

    def place(self, engine: EngineName, text: str) -> Path:
        """The directory of a version."""
        if engine is EngineName.TERRAFORM:
            return self.directory / "terraform" / text
        return self.directory / "opentofu/opentofu/releases/download" / f"v{text}"

    def archive(self, engine: EngineName, text: str) -> Path:
        """The archive of a version for this machine."""
        return self.place(engine, text) / archive_name(engine, Version.parse(text), HERE)
