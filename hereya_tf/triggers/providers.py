"""Who sends webhooks (pure)."""

from enum import StrEnum

from hereya_tf.triggers.errors import PipelineError, PipelineErrorCode


class Provider(StrEnum):
    """A sender of webhooks; `generic` is any that follows Standard Webhooks."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GENERIC = "generic"
    GITEA = "gitea"
    FORGEJO = "forgejo"
    BITBUCKET = "bitbucket"

    @property
    def label(self) -> str:
        """Its name for people."""
        return _LABELS[self]


_LABELS = {
    Provider.GITHUB: "GitHub",
    Provider.GITLAB: "GitLab",
    Provider.GENERIC: "Standard Webhooks",
    Provider.GITEA: "Gitea",
    Provider.FORGEJO: "Forgejo",
    Provider.BITBUCKET: "Bitbucket",
}


def parse_provider(name: str) -> Provider:
    """The provider of that exact name; raises PipelineError (UNSUPPORTED_PROVIDER) for any other."""
    try:
        return Provider(name)
    except ValueError:
        raise PipelineError(
            PipelineErrorCode.UNSUPPORTED_PROVIDER,
            "the provider is none of those that are known",
            f"known are {', '.join(f'`{each}`' for each in Provider)}",
        ) from None
