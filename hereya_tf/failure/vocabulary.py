"""What is said where an engine has no fixed summary: words of backends, clouds, networks and systems (pure).

All are compared in lower case.
"""

# How errors begin that come from reading the state, whatever the backend.
BACKEND_SUMMARIES = (
    "error loading state",
    "error refreshing state",
    "error configuring",
    "error inspecting states",
    "error loading the backend",
    "error reading state",
    "failed to get state",
    "failed to load state",
    "failed to get existing workspaces",
    "failed to lock",
    "http remote state",
    "unable to list objects in s3 bucket",
)

LOCK_HELD = (
    "resource temporarily unavailable",
    "already locked",
    "locked by",
    "conditionalcheckfailed",
    "conditional request failed",
    "conditionalrequestconflict",
    "preconditionfailed",
    "precondition failed",
    "pre-conditions you specified did not hold",
    "conditionnotmet",
    "statuscode: 412",
    "http 423",
    "423 locked",
)

CREDENTIALS = (
    "no valid credential",
    "nocredentialproviders",
    "failed to refresh cached credentials",
    "could not find default credentials",
    "unable to authenticate",
    "invalid credentials",
    "invalidclienttokenid",
    "unrecognizedclient",
    "expiredtoken",
    "token has expired",
    "token included in the request is",
    "session has expired",
    "signaturedoesnotmatch",
    "invalidaccesskeyid",
    "authfailure",
    "authenticationfailed",
    "invalid_grant",
    "password authentication failed",
    "az login",
)
# Said of a backend these mean it would not let us in; said by a provider they may mean anything.
BACKEND_REFUSALS = (
    "requires auth",
    "invalid auth",
    "unauthorized",
    "forbidden",
    "accessdenied",
    "access denied",
    "statuscode: 401",
    "statuscode: 403",
    "error 401",
    "error 403",
    "http 401",
    "http 403",
    "unexpected http response code 401",
    "unexpected http response code 403",
)

NETWORK = (
    "connection refused",
    "connection reset",
    "connection timed out",
    "i/o timeout",
    "tls handshake timeout",
    "client.timeout exceeded",
    "context deadline exceeded",
    "no such host",
    "could not resolve host",
    "temporary failure in name resolution",
    "server misbehaving",
    "network is unreachable",
    "no route to host",
    "unexpected eof",
    "giving up after",
    "could not connect to",
    "bad gateway",
    "service unavailable",
    "gateway timeout",
    "too many requests",
)
# Limits of requests in a time; not quotas, which no waiting lifts: `LimitExceededException`, Google's 429 of those.
THROTTLING = (
    "throttling:",
    "throttlingexception",
    "throttledexception",
    "requestthrottled",
    "request was throttled",
    "temporarily throttled",
    "has been throttled",
    "requestlimitexceeded",
    "provisionedthroughputexceeded",
    "bandwidthlimitexceeded",
    "priorrequestnotcomplete",
    "slowdown:",
    "reduce your request rate",
    "too many requests",
    "toomanyrequests",
    "statuscode=429",
    "http status 429",
    "failed with 429",
    "a retryable error occurred",
    "ratelimitexceeded",
    "rate limit",
    "rate exceeded",
    "requests per minute",
    "perminuteper",
    "requests per 100 seconds",
)

# Go's words and, with a capital, those of the C library: git's, for instance.
NO_SPACE = ("no space left on device", "disk quota exceeded")
NOT_WRITABLE = ("read-only file system", "permission denied")
MEMORY = ("out of memory", "cannot allocate memory", "failed to reserve page summary memory")
GIT_REFUSALS = (
    "could not read username",
    "host key verification failed",
    "permission denied",
    "authentication failed",
)
# How git says that it comes to nobody; those of NETWORK decide on classes, and these do not.
GIT_UNREACHABLE = ("failed to connect to", "couldn't connect to server")
