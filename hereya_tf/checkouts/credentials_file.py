"""The file with the operator's credentials for the places where packages are (I/O)."""

import stat
from pathlib import Path
from shlex import quote

from hereya_tf.checkouts.credentials import Credentials, parse_credentials
from hereya_tf.errors import BadConfig
from hereya_tf.reading import read_settings_file


def read_credentials(path: Path) -> Credentials:
    """Credentials from a file that nobody else may read; raises BadConfig."""
    text = read_settings_file(path, str(path), BadConfig)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise BadConfig(
            f"`{path}` holds credentials, and others may read it", f"`chmod 600 {quote(str(path))}`"
        )
    return parse_credentials(text, str(path))
