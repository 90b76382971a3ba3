"""What `init` fetches, and what is missing without it: engine versions, providers, modules (pure).

The first rule that fits decides.
"""

from hereya_tf.errors import FailureClass as Class
from hereya_tf.failure.rule import ANY, Rule
from hereya_tf.failure.telling import tell_fetched_module, tell_local_module, tell_version

# With what stands around them: a provider of such a name stands beside a `/`.
_CHECKSUMS = (" checksum ", " checksum:", " checksums ", " signature ", " signature:", "is not signed")
_FETCH_ANEW = (
    "fetch it anew: run again with `--reinit`",
    "when the lock file lacks this platform: `hereya-tf tf -- providers lock -platform=OS_ARCH`, and commit it",
)
_MORE_FILES = ("allow more open files, `ulimit -n 4096`, or fewer things at once, `--parallelism 2`",)

_LOCAL_SOURCE = (
    "correct the module's `source`: a path is relative to the directory of the module that calls it;"
    " `hereya-tf init` tries it alone",
)

_VERSION_RULES = (
    Rule(Class.UNSUPPORTED_VERSION, ("Unsupported Terraform Core version",), tell=tell_version),
)

_PROVIDER_RULES = (
    Rule(
        Class.PROVIDER_CHECKSUM,
        ("Required plugins are not installed",),
        _CHECKSUMS,
        needs_init=True,
        hints=_FETCH_ANEW,
    ),
    Rule(
        Class.PROVIDER_CHECKSUM,
        ("Failed to load plugin schemas",),
        ("any of the checksums",),
        needs_init=True,
        hints=_FETCH_ANEW,
    ),
    # The second: a provider that only the state needs, which somebody else has put there since our init.
    Rule(
        Class.PROVIDER_UNAVAILABLE,
        ("Failed to load plugin schemas",),
        ("there is no package for", "unavailable provider"),
        needs_init=True,
    ),
    Rule(
        Class.PROVIDER_UNAVAILABLE,
        (
            "Required plugins are not installed",
            "Inconsistent dependency lock file",
            "Missing required provider",
            "Plugin reinitialization required",
            "Could not load plugin",
            "Could not satisfy plugin requirements",
        ),
        needs_init=True,
    ),
    # The words of `validate`, all in the summary.
    Rule(
        Class.PROVIDER_CHECKSUM,
        ("missing or corrupted provider plugins",),
        _CHECKSUMS,
        needs_init=True,
        hints=_FETCH_ANEW,
    ),
    Rule(Class.PROVIDER_UNAVAILABLE, ("missing or corrupted provider plugins",), needs_init=True),
    # Nobody has looked at the package yet: what it was to be compared with did not come.
    Rule(
        Class.PROVIDER_UNAVAILABLE,
        ("Failed to install provider", "Failed to resolve provider packages"),
        ("failed to retrieve authentication checksums", "failed to retrieve cryptographic signature"),
    ),
    Rule(
        Class.PROVIDER_CHECKSUM,
        ("Failed to install provider", "Failed to resolve provider packages"),
        _CHECKSUMS,
    ),
    Rule(Class.PROVIDER_CHECKSUM, ("Provider dependency changes detected",)),
    Rule(
        Class.PROVIDER_UNAVAILABLE,
        (
            "Failed to query available provider packages",
            "Failed to resolve provider packages",
            "Failed to install provider",
            "Invalid provider registry host",
            "Incompatible provider version",
        ),
    ),
    Rule(
        Class.PROVIDER_CRASHED,
        ("Failed to load plugin schemas",),
        ("too many open files",),
        hints=_MORE_FILES,
    ),
    Rule(
        Class.PROVIDER_CRASHED,
        (
            "Plugin did not respond",
            "Request cancelled",
            "Plugin error",
            "Failed to load plugin schemas",
            "Failed to instantiate provider",
        ),
    ),
    Rule(Class.PROVIDER_ERROR, ("Provider produced in", "Provider returned invalid")),
    # The same of a single provider: its address is how the summary begins.
    Rule(
        Class.PROVIDER_CHECKSUM,
        ANY,
        ("does not match any of the checksums recorded in",),
        needs_init=True,
        hints=_FETCH_ANEW,
    ),
    Rule(Class.PROVIDER_UNAVAILABLE, ANY, (": there is no package for ",), needs_init=True),
)

_MODULE_RULES = (
    Rule(
        Class.MODULE_UNAVAILABLE,
        (
            "Module not installed",
            "Module source has changed",
            "Module version requirements have changed",
        ),
        needs_init=True,
    ),
    Rule(
        Class.MODULE_UNAVAILABLE,
        ("Unreadable module directory",),
        ("no such file or directory",),
        hints=_LOCAL_SOURCE,
        tell=tell_local_module,
    ),
    Rule(Class.MODULE_UNAVAILABLE, ("Unreadable module directory",), tell=tell_local_module),
    Rule(Class.MODULE_UNAVAILABLE, ("Failed to download module",), tell=tell_fetched_module),
    Rule(
        Class.MODULE_UNAVAILABLE,
        (
            "Error accessing remote module registry",
            "Module not found",
            "Unresolvable module version",
            "Invalid registry module source",
        ),
    ),
)

INSTALLING_RULES = (*_VERSION_RULES, *_PROVIDER_RULES, *_MODULE_RULES)
