"""What can go wrong between a site and us, one function per fault; for `ReleaseSite.fault`."""

import threading

from tests.release_site import Exchange, Fault, status

_PIECE = 1024 * 1024


def redirect(location: str, number: int = 302) -> Fault:
    return status(number, location=location)


def reset_after(size: int) -> Fault:
    """Break the connection when `size` bytes of the body are sent; before its head when negative."""

    def fault(exchange: Exchange) -> None:
        if size >= 0:
            offset = exchange.wanted_offset()
            headers = {**exchange.described(), "Content-Length": str(len(exchange.body) - offset)}
            if offset:
                headers["Content-Range"] = f"bytes {offset}-{len(exchange.body) - 1}/{len(exchange.body)}"
            exchange.start(206 if offset else 200, headers)
            exchange.write(exchange.body[offset : offset + size])
        exchange.reset()

    return fault


def hung_up_after(size: int) -> Fault:
    """Close the connection when `size` bytes of the wanted part are sent: they arrive, unlike with a reset."""
    return lambda exchange: exchange.answer(cut=len(exchange.body) - exchange.wanted_offset() - size)


def out_of_range(exchange: Exchange) -> None:
    """Refuse a Range."""
    if "Range" in exchange.headers:
        exchange.start(416, {"Content-Length": "0"})
    else:
        exchange.answer()


def truncated(cut: int) -> Fault:
    """Leave the last bytes out and close, whatever the length that was told."""
    return lambda exchange: exchange.answer(cut=cut)


def other_part(exchange: Exchange) -> None:
    """Answer a Range with another part than was asked for."""
    size = len(exchange.body)
    exchange.start(206, {**exchange.described(), "Content-Length": "5", "Content-Range": f"bytes 0-4/{size}"})
    exchange.write(exchange.body[:5])


def whole(exchange: Exchange) -> None:
    """Ignore Range."""
    exchange.start(200, {**exchange.described(), "Content-Length": str(len(exchange.body))})
    exchange.write(exchange.body)


def stalled(size: int = -1) -> Fault:
    """Say nothing any more once `size` bytes of the body are sent; no head either when negative."""

    def fault(exchange: Exchange) -> None:
        if size >= 0:
            exchange.start(200, {**exchange.described(), "Content-Length": str(len(exchange.body))})
            exchange.write(exchange.body[:size])
        exchange.site.stalls.set()
        exchange.site.closing.wait(60)
        exchange.hang_up()

    return fault


def dripping(seconds: float, size: int = 1) -> Fault:
    """Send `size` bytes at a time, with waits between them."""

    def fault(exchange: Exchange) -> None:
        exchange.start(200, {**exchange.described(), "Content-Length": str(len(exchange.body))})
        for begin in range(0, len(exchange.body), size):
            exchange.write(exchange.body[begin : begin + size])
            if exchange.site.closing.wait(seconds):
                exchange.hang_up()
                return

    return fault


def gated(gate: threading.Event, size: int) -> Fault:
    """Send `size` bytes of the body, and the rest once the gate is open."""

    def fault(exchange: Exchange) -> None:
        exchange.start(200, {**exchange.described(), "Content-Length": str(len(exchange.body))})
        exchange.write(exchange.body[:size])
        while not gate.wait(0.02):
            if exchange.site.closing.is_set():
                exchange.hang_up()
                return
        exchange.write(exchange.body[size:])

    return fault


def corrupt(exchange: Exchange) -> None:
    """Send what has the right length and one wrong bit."""
    body = bytearray(exchange.body)
    body[len(body) // 2] ^= 1
    exchange.start(200, {**exchange.described(), "Content-Length": str(len(body))})
    exchange.write(bytes(body))


def endless(exchange: Exchange) -> None:
    """Send zeros for as long as anybody takes them, without a length."""
    exchange.start(200, {})
    exchange.hang_up()
    while not exchange.site.closing.is_set():
        exchange.write(bytes(_PIECE))


def chunked(*, is_complete: bool = True, size: int = 100_000) -> Fault:
    """Send in chunks; without the last one when it is not to be complete."""

    def fault(exchange: Exchange) -> None:
        exchange.start(200, {**exchange.described(), "Transfer-Encoding": "chunked"})
        end = len(exchange.body) if is_complete else len(exchange.body) // 2
        for begin in range(0, end, size):
            piece = exchange.body[begin : min(begin + size, end)]
            exchange.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if is_complete:
            exchange.write(b"0\r\n\r\n")
        else:
            exchange.hang_up()

    return fault


def gzipped(exchange: Exchange) -> None:
    """Send it compressed, though that was not asked for."""
    import gzip

    body = gzip.compress(exchange.body)
    exchange.start(200, {"Content-Encoding": "gzip", "Content-Length": str(len(body))})
    exchange.write(body)


def raw(data: bytes) -> Fault:
    """Answer with these bytes, whether or not they are HTTP, and close."""

    def fault(exchange: Exchange) -> None:
        exchange.write(data)
        exchange.hang_up()

    return fault
