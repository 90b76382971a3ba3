"""Publishes releases on a `ReleaseSite` as the engines' makers do: archives, signed checksums, indexes."""

import email.utils
import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping

from hereya_tf.engine import EngineName, Version
from hereya_tf.releases.platforms import Platform
from hereya_tf.releases.sites import archive_name, checksums_name, member_name
from tests.release_site import File, ReleaseSite

_SIGNATURES = {EngineName.TERRAFORM: ".72D7468F.sig", EngineName.OPENTOFU: ".gpgsig"}
_DATE = (2026, 4, 1, 0, 0, 0)

Sign = Callable[[bytes], bytes]


def archive(
    binary: bytes,
    engine: EngineName,
    platform: Platform,
    *,
    method: int = zipfile.ZIP_DEFLATED,
    level: int = 1,
) -> bytes:
    """The zip of a release: the binary, executable, and its licence."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method, compresslevel=level) as file:
        # With a date of their own, two archives of the same binary are the same.
        file.writestr(zipfile.ZipInfo("LICENSE.txt", _DATE), "Business Source License 1.1\n")
        member = zipfile.ZipInfo(member_name(engine, platform), _DATE)
        member.external_attr = 0o755 << 16
        member.compress_type = method
        file.writestr(member, binary)
    return buffer.getvalue()


def publish(
    site: ReleaseSite,
    engine: EngineName,
    version: Version,
    archives: Mapping[Platform, bytes],
    sign: Sign,
    *,
    withdrawn: bool = False,
) -> None:
    """Publish a release as the engine's makers do, its checksums signed by `sign`, and index it."""
    root = _directory(engine, version)
    names = {archive_name(engine, version, platform): body for platform, body in archives.items()}
    checksums = "".join(
        f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in sorted(names.items())
    )
    for name, body in names.items():
        site.put(f"{root}/{name}", body)
    name = checksums_name(engine, version)
    site.put(f"{root}/{name}", checksums.encode())
    site.put(f"{root}/{name}{_SIGNATURES[engine]}", sign(checksums.encode()))
    if engine is EngineName.TERRAFORM:
        _index_terraform(site, version, archives, withdrawn=withdrawn)
    else:
        index = json.loads(site.files.get("/tofu/api.json", File(b'{"versions":[]}')).body)
        index["versions"].insert(0, {"id": str(version), "files": [*names, name, f"{name}.gpgsig"]})
        site.put("/tofu/api.json", json.dumps(index).encode())


def _directory(engine: EngineName, version: Version) -> str:
    if engine is EngineName.TERRAFORM:
        return f"/terraform/{version}"
    return f"/opentofu/opentofu/releases/download/v{version}"


def _index_terraform(
    site: ReleaseSite, version: Version, platforms: Mapping[Platform, bytes], *, withdrawn: bool
) -> None:
    name = checksums_name(EngineName.TERRAFORM, version)
    builds = [
        {
            "name": "terraform",
            "version": str(version),
            "os": platform.os,
            "arch": platform.arch,
            "filename": archive_name(EngineName.TERRAFORM, version, platform),
            "url": site.url(f"/terraform/{version}/{archive_name(EngineName.TERRAFORM, version, platform)}"),
        }
        for platform in platforms
    ]
    entry = {
        "name": "terraform",
        "version": str(version),
        "shasums": name,
        "shasums_signature": f"{name}.sig",
        "shasums_signatures": [f"{name}.72D7468F.sig", f"{name}.sig"],
        "builds": builds,
    }
    index = json.loads(
        site.files.get("/terraform/index.json", File(b'{"name":"terraform","versions":{}}')).body
    )
    index["versions"][str(version)] = entry
    site.put("/terraform/index.json", json.dumps(index).encode())
    site.put(f"/terraform/{version}/index.json", json.dumps(entry).encode())
    state = {
        "name": "terraform",
        "version": str(version),
        "is_prerelease": bool(version.prerelease),
        "status": {"state": "withdrawn" if withdrawn else "supported"},
        "timestamp_created": email.utils.formatdate(usegmt=True),
        "builds": [{key: build[key] for key in ("arch", "os", "url")} for build in builds],
    }
    api = "/v1/releases/terraform"
    releases = json.loads(site.files.get(api, File(b"[]")).body)
    site.put(api, json.dumps([state, *releases]).encode())
    site.put(f"{api}/{version}", json.dumps(state).encode())
