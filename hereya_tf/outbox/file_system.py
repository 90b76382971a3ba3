"""Whether a directory is on a file system that several machines share (I/O)."""

import os
import re
import subprocess
import sys
from pathlib import Path

_MOUNTINFO = Path("/proc/self/mountinfo")
_NETWORK = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "smb2", "afs", "afpfs", "ceph", "coda", "davfs", "webdav"),
        *("lustre", "gpfs", "beegfs", "glusterfs", "orangefs", "pvfs2", "ocfs2", "gfs2", "ncpfs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone"),
        *("fuse.juicefs", "fuse.davfs", "fuse.blobfuse2", "fuse.moosefs", "fuse.seaweedfs"),
    )
)
_ESCAPED = re.compile(r"\\([0-7]{3})")
_MOUNT_LINE = re.compile(r"^.+ on (/.*) \(([^,)]+)[,)]")


def network_kind(path: Path) -> str | None:
    """The kind of the network file system that `path` is on, or is to be; None when it is a local one."""
    real = os.path.realpath(path)
    kind = kind_of(real, _mounted())
    return kind if kind in _NETWORK else None


def kind_of(path: str, mounted: list[tuple[str, str]]) -> str | None:
    """The kind of the file system that holds `path`, from (mount point, kind), the last on a point on top."""
    found, longest = None, -1
    for point, kind in mounted:
        prefix = point.rstrip("/") + "/"
        if f"{path}/".startswith(prefix) and len(prefix) >= longest:
            found, longest = kind, len(prefix)
    return found


def parse_mountinfo(text: str) -> list[tuple[str, str]]:
    """What Linux has mounted, from /proc/self/mountinfo (proc(5))."""
    mounted = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) > 4 and after:
            point = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[4])
            mounted.append((point, after.split(" ")[0]))
    return mounted


def parse_mount(text: str) -> list[tuple[str, str]]:
    """What macOS has mounted, from the output of mount(8)."""
    found = (_MOUNT_LINE.match(line) for line in text.splitlines())
    return [(match[1], match[2]) for match in found if match is not None]


def _mounted() -> list[tuple[str, str]]:
    try:
        if sys.platform == "darwin":
            ran = subprocess.run(("/sbin/mount",), capture_output=True, timeout=10, check=False)
            return parse_mount(os.fsdecode(ran.stdout))
        return parse_mountinfo(os.fsdecode(_MOUNTINFO.read_bytes()))
    except (OSError, subprocess.SubprocessError):
        return []
