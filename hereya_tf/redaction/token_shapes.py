"""Tokens that say themselves what they are: a prefix that their makers gave them so that they can be found (pure).

Left out is what is as likely to be something else: bare hexadecimal, account numbers, names.
"""

from hereya_tf.redaction.shape import Shape

_JWT_PART = r"[A-Za-z0-9_-]{8,8000}"
# "-----BEGIN", and what makes a key of it and no certificate: " PRIVATE KEY-", " RSA PRIVATE KEY-", …
_ENCODED_KEY = (
    r"LS0tLS1CRUdJTi(?:BQUklWQVRFIEtF|BSU0EgUFJJ|BFQyBQUklW|BPUEVOU1NI|BFTkNSWVBU|BEU0EgUFJJ)"
    r"[A-Za-z0-9+/_-]{16,24000}={0,2}"
)

TOKEN_SHAPES = (
    # GitHub, GitLab
    Shape(
        ("gh", "gl"),
        r"(g(?:h[pousr]_(?:\d{1,16}_)?[A-Za-z0-9]{12,1024}[A-Za-z0-9_-]{0,1024}(?:\.[A-Za-z0-9_-]{1,2048}){0,4}"
        r"|l(?:pat|ptt|dt|rt|rtr|cbt|ft|soat|imt|agent|oas|ffct)-[A-Za-z0-9_-]{8,1024}(?:\.[A-Za-z0-9_-]{1,64}){0,4}"
        # Grafana
        r"|l(?:sa|c)_[A-Za-z0-9+/=_]{32,1024}))",
    ),
    Shape(("github_pat_",), r"(github_pat_[A-Za-z0-9_]{12,1024})"),
    # AWS
    Shape(("AKIA", "ASIA"), r"(A[KS]IA[A-Z0-9]{16,128})"),
    # Those of one prefix and letters and digits only: npm, Hugging Face, Stripe, DigitalOcean, Docker, Shopify,
    # RubyGems, Supabase, PlanetScale, Linear, Postman, Sentry, Doppler
    Shape(
        (
            *("npm_", "hf_", "k_live_", "k_test_", "whsec_", "_v1_", "dckr_", "shp", "rubygems_", "sbp_"),
            *("sb_secret_", "pscale_", "lin_api_", "sntry"),
        ),
        r"((?:npm_|hf_|[sr]k_(?:live|test)_|do[opr]_v1_|shp(?:at|ca|pa|ss)_|rubygems_|sbp_|lin_api_|sntry[su]_)"
        r"[A-Za-z0-9]{18}[A-Za-z0-9_=+/-]{0,2048}(?<![=_-])"
        r"|(?:whsec_|dckr_[po]at_|sb_secret_|pscale_(?:tkn|oauth|pw)_)[A-Za-z0-9_=+/.-]{18,2048}(?<![._-]))",
    ),
    # OpenAI, Anthropic and those who speak like them. A mask before one may stand for anything, as a letter does.
    Shape(
        ("sk-",),
        r"(sk-(?<![A-Za-z0-9\]]...)(?:(?:proj|svcacct|admin|ant|or|None)-[A-Za-z0-9_-]{20,512}|[A-Za-z0-9]{32,128}))",
    ),
    # Slack
    Shape(("xox", "xapp-"), r"(x(?:ox[abcdeoprs]|app)-[A-Za-z0-9.-]{10,512}[A-Za-z0-9])"),
    Shape(
        ("hooks.slack.com",), r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/-]{20,256})"
    ),
    # Google
    Shape(("AIza",), r"(AIza[A-Za-z0-9_-]{35})"),
    Shape(("GOCSPX-",), r"(GOCSPX-[A-Za-z0-9_-]{20,128})"),
    Shape(("ya29.",), r"(ya29\.[A-Za-z0-9_-]{20,2048})"),
    # Azure: the secret of an application, the signature of a shared access, and of presigned URLs everywhere
    Shape(("Q~",), r"([A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{30,36})"),
    Shape(("sig=",), r"(?:[?&;]|\\u0026|&amp;)sig=([A-Za-z0-9%+/=_-]{20,512})"),
    Shape(("-Signature=",), r"X-(?:Amz|Goog)-Signature=([A-Fa-f0-9]{32,1024})"),
    # HashiCorp; the older ones of Vault are 24 letters of all kinds
    Shape(("hvs.", "hvb.", "hvr."), r"(hv[sbr]\.[A-Za-z0-9_-]{20,1024})"),
    Shape(
        ("s.",),
        r"(s\.(?<![\w.\]-]..)(?=[a-z0-9]{0,23}[A-Z])(?=[A-Z0-9]{0,23}[a-z])(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}"
        r"(?![\w.-]))",
        is_closed=True,
    ),
    Shape((".atlasv1.",), r"([A-Za-z0-9]{10,20}\.atlasv1\.[A-Za-z0-9_-]{40,512})"),
    # PyPI, SendGrid, age
    Shape(("pypi-AgE",), r"(pypi-AgE[A-Za-z0-9_-]{40,2048})"),
    Shape(("SG.",), r"(SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{32,128})"),
    Shape(("AGE-SECRET-KEY-",), r"(AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{40,4096})"),
    # JSON Web Tokens, and private keys in base64, as a kubeconfig has them
    Shape(("eyJ",), rf"(eyJ{_JWT_PART}\.eyJ{_JWT_PART}\.[A-Za-z0-9_-]{{0,8000}})"),
    Shape(("LS0tLS1CRUdJTi",), f"({_ENCODED_KEY})"),
)
