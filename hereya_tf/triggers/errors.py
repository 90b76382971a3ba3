"""What is wrong with a webhook delivery, or with how it is to be checked (pure)."""

from enum import StrEnum

from hereya_tf.errors import FailureClass, HereyaError


class PipelineErrorCode(StrEnum):
    """The stable word for what is wrong."""

    BAD_SIGNATURE = "BAD_SIGNATURE"
    UNSUPPORTED_PROVIDER = "UNSUPPORTED_PROVIDER"
    MALFORMED_EVENT = "MALFORMED_EVENT"
    NO_SECRET = "NO_SECRET"  # noqa: S105 - a code, no secret


class PipelineError(HereyaError):
    """A webhook delivery that is refused. No text of it, and no secret, stands in the sentence."""

    failure_class = FailureClass.BAD_INPUT

    def __init__(self, code: PipelineErrorCode, sentence: str, *hints: str) -> None:
        super().__init__(sentence, *hints)
        self.code = code


def malformed(sentence: str, *hints: str) -> PipelineError:
    """The error for what is no delivery of its provider, or a broken one."""
    told = hints or ("compare it with what its sender has kept of the delivery",)
    return PipelineError(PipelineErrorCode.MALFORMED_EVENT, sentence, *told)
