"""Where webhooks are received (pure)."""

from urllib.parse import quote

from hereya_tf.errors import BadInput


def webhook_path(name: str) -> str:
    """The path of the hook called `name`: `/hooks/shop`; whatever the name, it is one part of the path.

    Raises BadInput for a name that can be no part of a path.
    """
    try:
        part = quote(name, safe="")
    except UnicodeEncodeError:
        part = ""
    # Browsers and proxies take these for the directory itself, or the one above, escaped or not.
    if part in ("", ".", ".."):
        raise BadInput(f"`{name}` cannot be the name of a webhook", "a word is best, such as `shop`")
    return f"/hooks/{part}"
