"""A package is read as the engine reads it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.errors import BadPackage
from hereya_tf.package import (
    GENERATED_OVERRIDE,
    Backend,
    Package,
    Variable,
    check_generated_backend,
    configuration_files,
    is_for_opentofu_alone,
    read_package,
)
from hereya_tf.package.declarations import Declaration, Kind, read_json, read_native


def package(directory: Path, *, tofu: bool = False, **files: str | bytes) -> Package:
    """Read a package of these files; `main_tf="…"` is main.tf, `x_override_tf_json` x_override.tf.json."""
    for name, content in files.items():
        stem, _, extension = name.rpartition("_tf")
        text = content.encode() if isinstance(content, str) else content
        (directory / f"{stem}.tf{extension.replace('_', '.')}").write_bytes(text)
    return read_package(directory, tofu=tofu)


def variable(
    name: str,
    type_text: str | None = None,
    *,
    has_default: bool = False,
    sensitive: bool = False,
    ephemeral: bool = False,
    file: str = "main.tf",
    line: int = 1,
) -> Variable:
    return Variable(name, type_text, has_default, sensitive, ephemeral, file, line)


def test_everything_that_counts_is_read_from_native_syntax(tmp_path: Path) -> None:
    read = package(
        tmp_path,
        main_tf="""
terraform {
  required_version = ">= 1.5, < 2"
  required_providers {
    null  = { source = "registry.terraform.io/hashicorp/null", version = "3.2.1" }
    other = {
      version : "1"
      "source" : "Registry.Example.com/a/b"
    }
    short = { source = "hashicorp/aws" }
    old   = "~> 1.0"
  }
  backend "s3" { # a comment
    bucket = "b"
  }
}
variable "region" {}
variable "size" {
  type      = number
  default   = 3
  sensitive = true
}
variable bare {
  type      = list(string)
  ephemeral = true
}
output "password" {
  value     = var.size
  sensitive = true
}
output "region" { value = var.region }
""",
    )

    assert read == Package(
        directory=tmp_path,
        is_for_opentofu=False,
        variables={
            "region": variable("region", line=17),
            "size": variable("size", "number", has_default=True, sensitive=True, line=18),
            "bare": variable("bare", "list(string)", ephemeral=True, line=23),
        },
        backend=Backend("s3", "main.tf", 13),
        provider_hosts=frozenset({"registry.terraform.io", "registry.example.com"}),
        files=("main.tf",),
        broken=(),
        outputs=frozenset({"password", "region"}),
    )


def test_everything_that_counts_is_read_from_json(tmp_path: Path) -> None:
    document = {
        "//": "a comment",
        "terraform": [
            {"required_version": "~> 1.5", "backend": {"http": {"address": "x"}}},
            {"required_providers": {"n": {"source": "example.com/a/b"}, "m": {"version": "1"}, "o": "~> 1"}},
        ],
        "variable": {
            "//": "also a comment",
            "a": {"type": "map(string)", "default": {}},
            "b": [{"sensitive": True, "ephemeral": "true", "description": 12345}],
            "c": {"sensitive": False},
        },
        "output": {"x": {"value": "${var.b}", "sensitive": True}, "y": {"value": 1}},
    }

    read = package(tmp_path, main_tf_json=json.dumps(document))

    assert read == Package(
        directory=tmp_path,
        is_for_opentofu=False,
        variables={
            "a": variable("a", "map(string)", has_default=True, file="main.tf.json", line=0),
            "b": variable("b", sensitive=True, ephemeral=True, file="main.tf.json", line=0),
            "c": variable("c", file="main.tf.json", line=0),
        },
        backend=Backend("http", "main.tf.json", 0),
        provider_hosts=frozenset({"example.com"}),
        files=("main.tf.json",),
        broken=(),
        outputs=frozenset({"x", "y"}),
    )


def test_a_repeated_key_in_json_hides_nothing(tmp_path: Path) -> None:
    read = package(tmp_path, main_tf_json='[{"variable": {"a": {}}, "variable": {"b": {}}}]')

    assert list(read.variables) == ["a", "b"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param('terraform { backend "local" {} }', Backend("local", "main.tf", 1), id="backend"),
        pytest.param(
            'terraform {\n  cloud {\n    organization = "o"\n  }\n}',
            Backend("cloud", "main.tf", 2),
            id="cloud",
        ),
        pytest.param('variable "backend" {}\nlocals { cloud = 1 }', None, id="none"),
        pytest.param("terraform {\n  backend s3 {}\n}", Backend("s3", "main.tf", 2), id="bare label"),
    ],
)
def test_the_backend_block(tmp_path: Path, source: str, expected: Backend | None) -> None:
    assert package(tmp_path, main_tf=source).backend == expected


def test_a_cloud_block_in_json(tmp_path: Path) -> None:
    assert package(tmp_path, main_tf_json='{"terraform": {"cloud": {}}}').backend == Backend(
        "cloud", "main.tf.json", 0
    )


@pytest.mark.behaviour("T8")
@pytest.mark.parametrize(
    ("type_text", "decodes"),
    [
        *((text, True) for text in ("any", "list", "map", "list(string)", "map(any)", "set(number)")),
        *((text, True) for text in ("object({ a = string })", "tuple([string])", '"list"', "list (string)")),
        *((text, False) for text in (None, "string", "number", "bool", '"string"', "anything", "")),
    ],
)
def test_which_types_have_their_texts_decoded(type_text: str | None, decodes: bool) -> None:
    assert variable("a", type_text).decodes_json is decodes


def test_a_type_is_one_line_without_comments(tmp_path: Path) -> None:
    read = package(
        tmp_path,
        main_tf="""variable "a" {
  type = object({
    b = string # not "c"
    /* d */ e = optional(any, "/#")
  })
}""",
    )

    assert read.variables["a"].type == 'object({ b = string e = optional(any, "/#") })'


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("true", True),
        ('"true"', True),
        ("!false", True),
        ("1 == 1", True),
        ("false", False),
        ('"false"', False),
    ],
)
def test_a_variable_is_sensitive_unless_it_plainly_says_false(
    tmp_path: Path, written: str, expected: bool
) -> None:
    read = package(tmp_path, main_tf=f'variable "a" {{\n  sensitive = {written}\n}}\n')

    assert read.variables["a"].sensitive is expected


def test_comments_strings_and_heredocs_declare_nothing(tmp_path: Path) -> None:
    read = package(
        tmp_path,
        main_tf="""
# variable "a" {}
// variable "b" {}
/* variable "c" {}
*/
locals {
  text = "variable \\"d\\" {} ${join("}", ["x"])}"
  doc  = <<EOT
variable "e" {}
EOT
  dash = <<-EOT
    } variable "f" {}
    %{ if true }${"}"}%{ endif }
    EOT
}
resource "variable" "g" {
  variable "h" {}
}
variable "real" { description = <<EOT
  sensitive = true
EOT
}
""",
    )

    assert dict(read.variables) == {"real": variable("real", line=19)}
    assert read.broken == ()


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(b'\xef\xbb\xbfvariable "a" {}\n', id="byte order mark"),
        pytest.param(b'variable "a" {\r\n}\r\n', id="CRLF"),
        pytest.param(b'variable "a" {}', id="no newline at the end"),
        pytest.param(b'variable "a" {} # \xff\xfe\n', id="broken UTF-8 in a comment"),
        pytest.param(b'variable "a" { # variable "b" {\n}\n', id="comment after a brace"),
        pytest.param(b'variable /* x */ "a" {}\n', id="comment in a header"),
        pytest.param(b'variable "\\u0061" {}\n', id="escape in a label"),
    ],
)
def test_how_a_file_is_written_does_not_matter(tmp_path: Path, source: bytes) -> None:
    read = package(tmp_path, main_tf=source)

    assert (dict(read.variables), read.broken) == ({"a": variable("a")}, ())


def test_an_override_file_replaces_single_attributes(tmp_path: Path) -> None:
    read = package(
        tmp_path,
        main_tf="""terraform {
  required_version = ">= 1.0"
  required_providers { a = { source = "one.example/x/a" } }
  backend "s3" {}
}
variable "a" { type = string }
variable "b" {
  type      = list(string)
  sensitive = true
}
output "x" { value = 1 }
output "y" {
  value     = 2
  sensitive = true
}
""",
        other_tf='terraform { required_version = "< 2" }',
        b_override_tf="""
terraform {
  required_version = ">= 1.9"
  required_providers { a = { source = "two.example/x/a" } }
  cloud {}
}
variable "a" { default = "x" }
variable "b" { type = set(string) }
output "x" { sensitive = true }
output "y" { value = 3 }
""",
        override_tf_json='{"variable": {"a": {"sensitive": true}, "b": {"sensitive": "false"}}}',
    )

    assert read == Package(
        directory=tmp_path,
        is_for_opentofu=False,
        variables={
            "a": variable("a", "string", has_default=True, sensitive=True, line=6),
            "b": variable("b", "set(string)", line=7),
        },
        backend=Backend("cloud", "b_override.tf", 5),
        provider_hosts=frozenset({"two.example"}),
        files=("main.tf", "other.tf", "b_override.tf", "override.tf.json"),
        broken=(),
        outputs=frozenset({"x", "y"}),
    )


def test_of_two_declarations_the_first_counts(tmp_path: Path) -> None:
    read = package(tmp_path, a_tf='variable "a" { type = string }', b_tf='variable "a" { type = number }')

    assert read.variables["a"].type == "string"


@pytest.mark.parametrize(
    ("tofu", "expected"),
    [
        pytest.param(False, ("a.tf", "b.tf", "b.tf.json", "c_override.tf", "override.tf"), id="terraform"),
        pytest.param(
            True,
            ("a.tofu", "b.tf.json", "b.tofu", "d.tofu.json", "c_override.tf", "override.tf"),
            id="tofu",
        ),
    ],
)
def test_which_files_count(tofu: bool, expected: tuple[str, ...]) -> None:
    names = [
        *("override.tf", "c_override.tf", "b.tf", "b.tofu", "b.tf.json", "a.tf", "a.tofu", "d.tofu.json"),
        *(".hidden.tf", "backup.tf~", "#lock.tf#", "readme.md", "x.tfvars", "x.tftest.hcl", "x.tf.bak", "tf"),
        *(GENERATED_OVERRIDE, GENERATED_OVERRIDE + ".json", GENERATED_OVERRIDE + ".123.tf"),
    ]

    assert configuration_files(names, tofu=tofu) == expected


def test_a_tofu_file_is_read_for_tofu(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text('variable "a" {}')
    (tmp_path / "main.tofu").write_text('variable "b" {}')

    read = [tuple(read_package(tmp_path, tofu=tofu).variables) for tofu in (False, True)]

    assert read == [("a",), ("b",)]


def test_a_syntax_error_is_noted_and_what_stands_around_it_is_read(tmp_path: Path) -> None:
    read = package(
        tmp_path,
        a_tf='variable "a" {}\nvariable "b" {}\nlocals { x = = 1 }\n',
        b_tf_json='{"variable": {',
        c_tf='variable "c" {}\n',
    )

    assert (sorted(read.variables), read.broken) == (["a", "b", "c"], ("a.tf", "b.tf.json"))


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(b"{" * 100_000, id="opened braces"),
        pytest.param(b'a = "' + b"${" * 50_000, id="opened templates"),
        pytest.param(b'variable "' * 20_000, id="opened strings"),
        pytest.param(bytes(range(256)) * 400, id="all bytes"),
        pytest.param(b"\0" * 100_000, id="NUL"),
        pytest.param(b"x" * 17_000_000, id="too large"),
    ],
)
def test_garbage_is_broken_and_nothing_worse(source: bytes) -> None:
    assert read_native(source) == ((), True)


def test_an_escape_that_json_does_not_have_stays_as_written() -> None:
    label = "\\U00000061"

    assert read_native(b'variable "\\U00000061" {}').declarations == (
        Declaration(Kind.VARIABLE, label, {}, 1),
    )


@pytest.mark.parametrize(
    "source",
    [b"[" * 100_000, b"\xff", b"", b'{"a": NaN-}', b'{"variable"'],
    ids=["deep", "bytes", "empty", "number", "cut off"],
)
def test_broken_json_is_broken_and_nothing_worse(source: bytes) -> None:
    assert read_json(source) == ((), True)


@pytest.mark.parametrize(
    "source",
    [
        '{"variable": 1, "output": [2, null], "terraform": "x", "other": {"variable": {"a": {}}}}',
        '{"terraform": {"backend": 1, "required_providers": [1], "other": 1}}',
        '"variable"',
        "[[]]",
        "null",
        "9" * 5000,
    ],
)
def test_json_of_another_shape_declares_nothing(source: str) -> None:
    assert read_json(source.encode()) == ((), False)


def test_a_deeply_nested_value_is_read() -> None:
    nested = b"[" * 10_000 + b"]" * 10_000
    source = b'variable "a" {\n  type = any # x\n  default = ' + nested + b"\n}\n"

    assert read_native(source) == (
        (Declaration(Kind.VARIABLE, "a", {"type": "any", "default": ""}, 1),),
        False,
    )


def test_a_deeply_nested_type_is_read() -> None:
    source = b'variable "a" { type = ' + b"list(" * 10_000 + b"any /* x */" + b")" * 10_000 + b" }\n"

    assert read_native(source).declarations[0].attributes["type"] == "list(" * 10_000 + "any " + ")" * 10_000


def test_a_file_of_five_megabytes_is_read() -> None:
    source = b"".join(b'variable "v%d" {\n  type = string\n}\n' % number for number in range(150_000))
    assert len(source) > 5_000_000

    assert len(read_native(source).declarations) == 150_000


@given(st.text(alphabet='variable"{}=<EOT-\n$%# \\/*a_[](),', max_size=200))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    declarations, _ = read_native(text.encode())

    assert all(isinstance(declaration.name, str) for declaration in declarations)


_NAMES = st.from_regex(r"[a-z_][a-z0-9_-]{0,8}", fullmatch=True)
_TEXTS = st.text(
    st.characters(exclude_categories=("Cc", "Cs")) | st.sampled_from('\n\t"\\$%{}#'), max_size=20
)
_TYPES = st.sampled_from([None, "string", "list(string)", "object({ a = any })"])


@given(st.dictionaries(_NAMES, st.tuples(_TYPES, st.booleans(), _TEXTS)))
def test_whatever_the_descriptions_say_variables_are_found(
    declared: dict[str, tuple[str | None, bool, str]],
) -> None:
    source = ""
    for name, (type_text, sensitive, description) in declared.items():
        source += f'variable "{name}" {{\n  description = {_quoted(description)}\n'
        source += f"  type = {type_text} // x\n" if type_text else ""
        source += f"  sensitive = {str(sensitive).lower()}\n}}\n"

    declarations, broken = read_native(source.encode())

    assert not broken
    assert {
        entry.name: (entry.attributes.get("type"), entry.attributes["sensitive"]) for entry in declarations
    } == {name: (type_text, str(sensitive).lower()) for name, (type_text, sensitive, _) in declared.items()}


@pytest.mark.parametrize("text", ["$$${", "%%%{", "a%%%%{b", "$$$$${x}"])
def test_an_escape_may_follow_its_own_sign(text: str) -> None:
    declarations, broken = read_native(f'variable "a" {{\n  description = "{text}"\n}}\n'.encode())

    assert ([each.name for each in declarations], broken) == (["a"], False)


def _quoted(text: str) -> str:
    """An HCL string literal."""
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")


def test_links_are_followed_and_directories_passed_over(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text('variable "linked" {}')
    directory = tmp_path / "package"
    (directory / "x.tf").mkdir(parents=True)
    (directory / "main.tf").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to(directory, target_is_directory=True)

    assert list(read_package(tmp_path / "link", tofu=False).variables) == ["linked"]


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems take UTF-8 names only")
def test_a_file_name_may_have_any_bytes(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.tf")
    (tmp_path / name).write_text('variable "a" {}')

    assert read_package(tmp_path, tofu=False).files == (name,)


def failure(directory: Path, *, tofu: bool = False) -> tuple[str, tuple[str, ...]]:
    with pytest.raises(BadPackage) as caught:
        read_package(directory, tofu=tofu)
    return str(caught.value), caught.value.hints


def test_a_directory_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert failure(tmp_path / "nowhere") == (
        f"`{tmp_path}/nowhere` does not exist",
        ("a relative path begins at the directory you call from",),
    )
    assert failure(tmp_path / "file") == (
        f"`{tmp_path}/file` is not a directory",
        ("name the directory that holds the root module",),
    )
    assert failure(Path("a\0b")) == (
        "`a\0b` cannot be read: embedded null byte",
        ("check the path and its permissions",),
    )


def test_a_directory_without_configuration_is_refused(tmp_path: Path) -> None:
    (tmp_path / GENERATED_OVERRIDE).write_text('terraform { backend "local" {} }')

    assert failure(tmp_path) == (
        f"`{tmp_path}` holds no configuration (*.tf or *.tf.json)",
        ("name the directory that holds the root module",),
    )
    assert not is_for_opentofu_alone(tmp_path)


@pytest.mark.parametrize("name", ["main.tofu", "main.tofu.json", "override.tofu"])
def test_a_directory_for_opentofu_alone_is_refused_to_terraform(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}" if name.endswith("json") else "")

    assert failure(tmp_path) == (
        f"`{tmp_path}` holds configuration for OpenTofu alone (*.tofu), which Terraform does not read",
        ("name OpenTofu, which is installed where it is missing: `--engine tofu`",),
    )
    assert is_for_opentofu_alone(tmp_path)
    assert read_package(tmp_path, tofu=True).files == (name,)
    (tmp_path / "x.tf").touch()
    assert not is_for_opentofu_alone(tmp_path)


@pytest.mark.behaviour("T10")
@pytest.mark.parametrize(
    ("name", "wins"),
    [
        ("main.tf", False),
        ("zzz.tf", False),
        ("override.tf", False),
        ("zz_g_override.tf", False),
        ("zz_hereya_override.tf", False),
        ("zz_hereya_tg_override.tf", True),
        ("zz_i_override.tf.json", True),
        ("é_override.tf", True),
    ],
)
@pytest.mark.parametrize("block", ["backend", "cloud"])
def test_an_override_file_that_is_read_after_that_of_a_run_is_found(
    tmp_path: Path, name: str, wins: bool, block: str
) -> None:
    settings: dict[str, object] = {"backend": {"s3": {}}} if block == "backend" else {"cloud": {}}
    native = 'terraform {\n  backend "s3" {}\n}\n' if block == "backend" else "terraform {\n  cloud {}\n}\n"
    (tmp_path / "first.tf").write_text('terraform {\n  backend "local" {}\n}\n')
    (tmp_path / name).write_text(json.dumps({"terraform": settings}) if name.endswith("json") else native)
    read = read_package(tmp_path, tofu=False)

    if not wins:
        check_generated_backend(read)
        return
    with pytest.raises(BadPackage) as refused:
        check_generated_backend(read)
    kind = "s3" if block == "backend" else "cloud"
    assert (str(refused.value), refused.value.hints) == (
        f"`{tmp_path / name}` has a `{kind}` backend, and is read after the generated one,"
        f" `{GENERATED_OVERRIDE}`",
        ("give that file a name that comes before, such as `backend_override.tf`",),
    )


def test_what_is_no_directory_is_for_nobody(tmp_path: Path) -> None:
    assert not is_for_opentofu_alone(tmp_path / "nowhere")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "main.tf"
    file.symlink_to("nowhere")
    assert failure(tmp_path)[0] == f"`{file}` cannot be read: No such file or directory"

    file.unlink()
    os.mkfifo(file)
    assert failure(tmp_path)[0] == f"`{file}` cannot be read: it is not a regular file"

    file.unlink()
    file.symlink_to(tmp_path)
    assert failure(tmp_path)[0] == f"`{file}` cannot be read: it is not a regular file"


def test_importing_the_reader_does_not_import_the_parser() -> None:
    code = "import sys, hereya_tf.package; print([name for name in sys.modules if 'tree_sitter' in name])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
