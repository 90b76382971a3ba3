"""What can go wrong between a control plane and its clients, one function per fault; for `ControlPlane.fault`."""

import threading

from tests.control_plane import Exchange, Fault, well


def answered(number: int, body: bytes, **headers: str) -> Fault:
    """Answer with exactly this."""
    return lambda exchange: exchange.send(number, body, headers=headers)


def dead(exchange: Exchange) -> None:
    """Say nothing, for as long as the client stays."""
    exchange.plane.stalls.set()
    if exchange.wait_for_end():
        exchange.plane.gone.set()
    exchange.hang_up()


def broken(exchange: Exchange) -> None:
    """Break the connection before anything was done."""
    exchange.reset()


def lost_answer(exchange: Exchange) -> None:
    """Do what was asked, and break the connection."""
    exchange.well()
    exchange.reset()


def half_answer(exchange: Exchange) -> None:
    """Do what was asked, send half of the answer and close."""
    number, body = exchange.well()
    exchange.send(number, body[: len(body) // 2], length=len(body))
    exchange.hang_up()


def dripping(seconds: float) -> Fault:
    """Do what was asked, and send a byte at a time."""

    def fault(exchange: Exchange) -> None:
        number, body = exchange.well()
        exchange.send(number, b"", length=len(body))
        _drip(exchange, body, seconds)

    return fault


def dripping_head(seconds: float) -> Fault:
    """Send the head of the answer a byte at a time."""
    return lambda exchange: _drip(exchange, b"HTTP/1.1 200 OK\r\nX-Padding: " + b"x" * 60_000, seconds)


def slow(seconds: float) -> Fault:
    """Do what was asked after a while."""

    def fault(exchange: Exchange) -> None:
        exchange.plane.closing.wait(seconds)
        well(exchange)

    return fault


def gated(gate: threading.Event) -> Fault:
    """Do what was asked once the gate is open."""

    def fault(exchange: Exchange) -> None:
        while not gate.wait(0.02) and not exchange.plane.closing.is_set():
            pass
        well(exchange)

    return fault


def _drip(exchange: Exchange, data: bytes, seconds: float) -> None:
    for at in range(len(data)):
        exchange.write(data[at : at + 1])
        if exchange.plane.closing.wait(seconds):
            break
    exchange.hang_up()
