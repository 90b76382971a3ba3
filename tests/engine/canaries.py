"""Secrets that nobody should hear of, a package that sings them all, and how to listen for them."""

import base64
import html
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape

PEM = """-----BEGIN DEPLOY KEY-----
MIGHAgEAMBMGByqGSM49AgEG+CCqGSM49/wEH
BG0wawIBAQQgCanary7
-----END DEPLOY KEY-----
"""
# Variables that are declared as sensitive, by the way their values come in.
SENSITIVE = {
    "by_param": "param-Canary & <Sparrow> 'Finch'",
    "by_param_file": 'file-"Canary"\tback\\slash ünd ${dollar}',
    "by_tfvars": "tfvars-Canary/Robin+Wren=",
    "by_environment": "environment-Canary-Jay",
    "by_env_option": "option-Canary-Lark",
    "by_var_file": "var-file-Canary-Crow",
    "pem": PEM,
}
# Not declared as sensitive: named by `--redact`, or a line of the file given to it.
NAMED = "named-Canary-Owl?"
LISTED = "listed-Canary-Kite!"
# Of variables of the environment, and of parameters that are not declared as sensitive, by their names.
CREDENTIALS = {
    "AWS_SECRET_ACCESS_KEY": "environment/Canary+Stork00000000000000000",
    "HEREYA_TOKEN": "hereya-Canary-Heron",
    "GITHUB_TOKEN": "github-Canary-Swift",
    "DATABASE_URL": "postgres://app:Canary-Dove@db.internal/shop",
}
ENVIRONMENT = {**CREDENTIALS, "TF_VAR_by_environment": SENSITIVE["by_environment"]}
ADDED = {"PGPASSWORD": "added-Canary-Finch", "db_password": "parameter-Canary-Wren"}
# Known by their form alone.
BY_SHAPE = {
    "aws": "q1w2Canary5y6u7i8o9p0/+" + "a1s2d3f4g5h6j7k8l",
    "gitlab": "glpat-" + "Canary0123456789Egret",
    "stripe": "sk_live_" + "51Canary0123456789Quail",
}
BY_NAME = {"password": "name-Canary-Rook", "client_secret": "name-Canary-Coot"}
COMPUTED = "computed-Canary-Ibis"
ENDPOINT = "endpoint-Canary-Tern"
BACKEND = {"option": "backend-Canary-Gull", "file": "backend-Canary-Puffin"}
PRINTED = {**SENSITIVE, "named": NAMED, "listed": LISTED, **CREDENTIALS, **ADDED}
EVERYTHING = {**PRINTED, **BY_SHAPE, **BY_NAME, "computed": COMPUTED, "endpoint": ENDPOINT}

PACKAGE = """
variable "exit_code" {
  type    = number
  default = 0
}
variable "named" { type = string }
variable "listed" { type = string }
variable "db_password" { type = string }
resource "terraform_data" "loud" {
  input = [INPUTS]
  provisioner "local-exec" {
    command = "touch started; i=0; while [ ! -e go ] && [ $i -lt 1200 ]; do i=$((i+1)); sleep 0.05; done"
  }
  provisioner "local-exec" {
    command = "cat printed; cat printed >&2; exit ${var.exit_code}"
  }
}
resource "terraform_data" "first" {
}
resource "terraform_data" "quoting" {
  input = "v2"
  lifecycle {
    precondition {
      condition     = var.exit_code == 0 || terraform_data.first.id == var.named
      error_message = join(" ", [
        "no", var.named, base64encode("user:${var.named}"), urlencode(var.named), jsonencode(var.listed)
      ])
    }
  }
}
output "computed" {
  sensitive = true
  value     = join("-", ["computed", "Canary", "Ibis", substr(terraform_data.first.id, 0, 0)])
}
output "endpoint" {
  value = join("-", ["endpoint", "Canary", "Tern"])
}
output "key" {
  value = { key = nonsensitive(var.by_param), name = var.named }
}
output "secret_access_key" {
  value = "AWSKEY"
}
output "open" { value = "everybody may see this" }
"""


def inner_base64(data: bytes) -> Iterator[str]:
    """The characters that the encoded text has whatever stands before and after."""
    for offset in range(3):
        encoded = base64.b64encode(b"x" * offset + data + b"x" * (-(offset + len(data)) % 3)).decode()
        yield encoded[(0, 2, 3)[offset] : (offset + len(data)) * 8 // 6]


def spellings(canary: str) -> dict[str, str]:
    """What to look for; written down here once more, and not taken from what is tested."""
    text = canary.strip()
    data = text.encode()
    found = {
        "itself": text,
        "json": json.dumps(text)[1:-1],
        "json with all letters": json.dumps(text, ensure_ascii=False)[1:-1],
        "json of go": json.dumps(text, ensure_ascii=False)[1:-1]
        .replace("&", "\\u0026")
        .replace("<", "\\u003c")
        .replace(">", "\\u003e"),
        "json in json": json.dumps(json.dumps(text, ensure_ascii=False))[3:-3],
        "url": quote(text, safe=""),
        "url of a form": quote_plus(text),
        "hexadecimal": data.hex(),
        "html": html.escape(text),
        "xml": escape(text, {'"': "&quot;"}),
    }
    found |= {f"base64 {number}": core for number, core in enumerate(inner_base64(data))}
    lines = [line.strip() for line in text.split("\n") if not line.startswith("-----")]
    return found | {f"line {number}": line for number, line in enumerate(lines) if "\n" in text}


def printed() -> str:
    """What the provisioner says, on both of its streams."""
    parts = [f"{name}: {value}" for name, value in PRINTED.items()]
    for value in PRINTED.values():
        text = value.strip()
        parts += [
            json.dumps({"text": text}),
            json.dumps({"body": json.dumps({"text": text}, ensure_ascii=False)}),
            base64.b64encode(text.encode()).decode(),
            "Basic " + base64.b64encode(f"user:{text}".encode()).decode(),
            base64.b64encode(f"#!/bin/sh\n{text}\nexit".encode()).decode(),
            f"https://host/path?q={quote(text, safe='')} {quote_plus(text)}",
            text.encode().hex(),
            html.escape(text),
        ]
    parts += [f"aws_secret_access_key = {BY_SHAPE['aws']}", BY_SHAPE["gitlab"], BY_SHAPE["stripe"]]
    parts += [*(f'{name} = "{value}"' for name, value in BY_NAME.items())]
    return "\n".join([*parts, "nothing to hide here", ""])


def write_package(package: Path) -> None:
    declared = "".join(
        f'variable "{name}" {{\n  type = string\n  sensitive = true\n}}\n' for name in SENSITIVE
    )
    package.mkdir(parents=True)
    inputs = ", ".join(f"var.{name}" for name in SENSITIVE)
    source = declared + PACKAGE.replace("INPUTS", inputs).replace("AWSKEY", BY_SHAPE["aws"])
    (package / "main.tf").write_text(source)
    (package / "printed").write_text(printed())
    (package / "terraform.tfvars").write_text(f'by_tfvars = "{SENSITIVE["by_tfvars"]}"\n')


def given(stage: Path, exit_code: int) -> tuple[str, ...]:
    """The values, by every way that there is."""
    (stage / "params.json").write_text(
        json.dumps({"by_param_file": SENSITIVE["by_param_file"], "pem": SENSITIVE["pem"]})
    )
    (stage / "given.tfvars").write_text(f'by_var_file = "{SENSITIVE["by_var_file"]}"\n')
    (stage / "secrets").write_text(f"{LISTED}\n")
    return (
        *("-p", f"by_param={SENSITIVE['by_param']}", "-p", f"exit_code={exit_code}"),
        *("-p", f"named={NAMED}", "-p", f"listed={LISTED}"),
        *("--param-file", str(stage / "params.json"), "--var-file", str(stage / "given.tfvars")),
        *("-e", f"by_env_option={SENSITIVE['by_env_option']}", "-e", f"PGPASSWORD={ADDED['PGPASSWORD']}"),
        *("-p", f"db_password={ADDED['db_password']}"),
        *("--redact", "named", "--redact", f"@{stage / 'secrets'}", "--redact", "endpoint"),
    )


def leaks(text: str, canaries: Mapping[str, str] = EVERYTHING) -> list[tuple[str, str]]:
    """The canaries that are in a text, and how they are spelled there."""
    return [
        (name, spelling)
        for name, canary in canaries.items()
        for spelling, spelled in spellings(canary).items()
        if len(spelled) >= 5 and spelled in text
    ]
