"""Time and memory of a run whose engine says 200 MB: plain lines, `--json`, and with 50 secrets to redact."""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

STREAM_BYTES = 200 << 20
ROUNDS = 3


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        events = make_engine(directory)
        bare = measure([sys.executable, "-c", "pass"], {})[1]
        print(f"{STREAM_BYTES >> 20} MB, {events:,} events; bare Python {bare:.0f} MiB")
        print(f"{'':<24}{'seconds':>9}{'events/s':>12}{'peak MiB':>10}")
        for label, options in variants().items():
            rounds = [run(directory, options) for _ in range(ROUNDS)]
            seconds = statistics.median(round_[0] for round_ in rounds)
            peak = max(round_[1] for round_ in rounds)
            print(f"{label:<24}{seconds:>9.1f}{events / seconds:>12,.0f}{peak:>10.0f}")


def variants() -> Mapping[str, list[str]]:
    secrets = [f"TOKEN_{number}=secret-value-{number:04d}" for number in range(50)]
    return {
        "plain": [],
        "--json": ["--json"],
        "--json, 50 secrets": ["--json", *(part for secret in secrets for part in ("-e", secret))],
    }


def make_engine(directory: Path) -> int:
    """A shell script that says what a recorded engine would, and nothing else; returns the number of events."""
    count = write_stream(directory / "apply.ndjson")
    engine = directory / "engine"
    engine.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        "  version) echo 'Terraform v1.11.4' ;;\n"
        f"  apply) cat '{directory / 'apply.ndjson'}' ;;\n"
        "esac\n"
    )
    engine.chmod(0o755)
    package = directory / "package"
    package.mkdir()
    (package / "main.tf").write_text("")
    return count


def write_stream(path: Path) -> int:
    """Resources that are created, each with its progress, and a summary at the end."""
    stamp = {"@level": "info", "@module": "terraform.ui", "@timestamp": "2026-11-30T01:49:08.720276Z"}
    written = count = 0
    with path.open("w") as file:
        while written < STREAM_BYTES:
            address = f'module.network.aws_subnet.private["zone-{count:07d}"]'
            resource_ = {
                "addr": address,
                "module": "module.network",
                "resource": address.removeprefix("module.network."),
                "implied_provider": "aws",
                "resource_type": "aws_subnet",
                "resource_name": "private",
                "resource_key": f"zone-{count:07d}",
            }
            for phase in ("apply_start", "apply_progress", "apply_complete"):
                hook = {"resource": resource_, "action": "create", "elapsed_seconds": 10}
                message = {**stamp, "@message": f"{address}: {phase}", "type": phase, "hook": hook}
                written += file.write(json.dumps(message, separators=(",", ":")) + "\n")
                count += 1
        changes = {"add": count // 3, "change": 0, "import": 0, "remove": 0, "operation": "apply"}
        summary = {**stamp, "@message": "Apply complete!", "type": "change_summary", "changes": changes}
        outputs = {**stamp, "@message": "Outputs: 0", "type": "outputs", "outputs": {}}
        for last in (summary, outputs):
            file.write(json.dumps(last) + "\n")
    return count + 2


def run(directory: Path, options: list[str]) -> tuple[float, float]:
    command = [sys.executable, "-m", "hereya_tf", "provision", str(directory / "package"), "--yes"]
    command += ["--engine", str(directory / "engine"), *options]
    places = {
        "HEREYA_TF_STATE_DIR": str(directory / "state"),
        "HEREYA_TF_CACHE_DIR": str(directory / "cache"),
    }
    return measure(command, places)


def measure(command: list[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Wall seconds and peak MiB of the command itself, its children not counted."""
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execvpe(command[0], command, {**os.environ, **environment})
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit(f"{command} ended with {os.waitstatus_to_exitcode(status)}")
    scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return time.monotonic() - began, usage.ru_maxrss / scale


if __name__ == "__main__":
    main()
