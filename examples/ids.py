# SPDX-License-Identifier: MIT
"""When a Python program needs IDs of flake.h and sno.h: by ctypes. `make lib` builds the two libraries.

Threads may share a generator; do not copy or pickle one. In a child of os.fork, and of multiprocessing's
"fork", it raises IdError: the child closes it, and makes a generator of its own, with a node that no other process
has.
"""
import ctypes
import datetime
import os
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

# CDLL, not PyDLL: a draw that waits lets other threads run.
flake, sno = ctypes.CDLL("libflake.so.0.4"), ctypes.CDLL("libsno.so.0.4")
address, size = ctypes.c_void_p, ctypes.c_size_t
for library in flake, sno:
    library.flake_status_str.restype = ctypes.c_char_p
for new in flake.flake_new, sno.sno_gen_new:
    new.restype, new.argtypes = address, (ctypes.c_char_p, address)
flake.flake_gen_options.restype = address
for call in flake.flake_next, flake.flake_free, flake.flake_extend, sno.sno_gen_free:
    call.argtypes = address, address
flake.flake_gen_options.argtypes = (address,)
flake.flake_next_n.argtypes = address, address, size
flake.flake_decompose.argtypes = address, ctypes.c_uint64, address
sno.sno_next_n.argtypes = address, ctypes.c_uint8, address, size
sno.sno_encode_n.argtypes = address, size, address
sno.sno_decode.argtypes = ctypes.c_char_p, size, address
FORKED, CLOSED = 8, 18  # their numbers in flake_status


class IdError(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status  # of flake_status; 0: there is no generator


class Parts(ctypes.Structure):
    """flake_parts: the time, the node, and the position within the time unit."""

    _fields_ = [("unix_ms", ctypes.c_int64), ("node", ctypes.c_uint64), ("seq", ctypes.c_uint32)]


class SnoId(ctypes.Structure):
    """sno_id, which calls take by value."""

    _fields_ = [("bytes", ctypes.c_uint8 * 10)]


for call, part in (
    (sno.sno_time_ms, ctypes.c_int64),
    (sno.sno_meta, ctypes.c_uint8),
    (sno.sno_partition, ctypes.c_uint16),
    (sno.sno_sequence, ctypes.c_uint16),
):
    call.restype, call.argtypes = part, (SnoId,)


def check(status):
    if status:
        raise IdError(status, flake.flake_status_str(status).decode())


def opened(gen):
    if not gen:
        check(CLOSED)
    return gen


def free(call, gen):
    why = ctypes.create_string_buffer(200)
    status = call(gen, why)
    if status:
        raise IdError(status, why.value.decode())


def made(new, config):
    why = ctypes.create_string_buffer(200)
    gen = new(config.encode(), why)
    if not gen:
        raise IdError(0, why.value.decode())
    return gen


class Generator:
    """64-bit IDs: Generator("twitter node=0-99 dir=/var/lib/app"). The words are in flake.h, at flake_config."""

    def __init__(self, config):
        self._gen = made(flake.flake_new, config)

    def close(self):
        """Frees its number, and its memory. No thread may use it any more."""
        gen, self._gen = self._gen, None
        free(flake.flake_free, gen)

    def next(self):
        one = ctypes.c_uint64()
        check(flake.flake_next(opened(self._gen), ctypes.byref(one)))
        return one.value

    def next_n(self, n):
        ids = (ctypes.c_uint64 * n)()
        check(flake.flake_next_n(opened(self._gen), ids, n))
        return list(ids)

    def decode(self, an_id):
        parts = Parts()  # a generator's options begin with its layout
        check(flake.flake_decompose(flake.flake_gen_options(opened(self._gen)), an_id, ctypes.byref(parts)))
        return parts


class SnoGenerator:
    """80-bit IDs, as texts of 16 characters: SnoGenerator("node=7 dir=none")."""

    def __init__(self, config):
        self._gen = made(sno.sno_gen_new, config)

    def close(self):
        gen, self._gen = self._gen, None
        free(sno.sno_gen_free, gen)

    def next(self, meta=0):
        return self.next_n(1, meta)[0]

    def next_n(self, n, meta=0):
        if not 0 <= meta <= 255:  # ctypes would truncate it
            raise ValueError("meta is 0 to 255")
        ids, texts = ctypes.create_string_buffer(10 * n), ctypes.create_string_buffer(16 * n)
        check(sno.sno_next_n(opened(self._gen), meta, ids, n))
        sno.sno_encode_n(ids, n, texts)
        return [texts.raw[at : at + 16].decode() for at in range(0, 16 * n, 16)]

    @staticmethod
    def decode(text):
        """Its time in Unix ms, metabyte, partition and sequence."""
        one, given = SnoId(), text.encode()
        check(sno.sno_decode(given, len(given), ctypes.byref(one)))
        calls = sno.sno_time_ms, sno.sno_meta, sno.sno_partition, sno.sno_sequence
        return tuple(call(one) for call in calls)


def uuid7():
    """Greater than all that it returned before in this process."""
    of16 = ctypes.create_string_buffer(16)
    check(flake.flake_uuid7_bytes(of16))
    return uuid.UUID(bytes=of16.raw)


def main():
    ids, snos = Generator("twitter node=7 dir=none"), SnoGenerator("node=7 dir=none")
    first = ids.next()
    parts = ids.decode(first)
    when = datetime.datetime.fromtimestamp(parts.unix_ms // 1000, datetime.timezone.utc)
    print("flake", first)
    print(f"made {when:%Y-%m-%dT%H:%M:%SZ} by node {parts.node}")
    print("uuid7", uuid7())
    # Bits of time, node and sequence of your own, in units of 10 ms since 2020.
    own = Generator("layout=39-8-16 unit_ms=10 epoch_ms=1577836800000 node=200 dir=none")
    an_id = own.next()
    parts = own.decode(an_id)
    print(f"own {an_id} of {parts.unix_ms} by node {parts.node}")
    own.close()
    own.close()  # does nothing
    sno_text = snos.next(meta=42)
    print("sno", sno_text)
    sno_ms, *rest = snos.decode(sno_text)
    if rest != [42, 7, 0] or abs(sno_ms / 1000 - time.time()) > 60:
        sys.exit(f"{sno_text} is of {sno_ms} with {rest}")

    begin = time.monotonic()
    seen = [ids.next() for _ in range(1_000_000)]
    print(f"one by one: {1e6 / (time.monotonic() - begin):.0f} ids/s")
    begin = time.monotonic()
    for _ in range(1000):
        seen += ids.next_n(1000)
    print(f"in batches: {1e6 / (time.monotonic() - begin):.0f} ids/s")
    with ThreadPoolExecutor(4) as threads:
        for some in threads.map(ids.next_n, [1000] * 400):
            seen += some
    if len(set(seen)) != 2_400_000:
        sys.exit("an id came twice")
    print("4 threads: 2400000 ids, all differ")

    for refuse in (
        lambda: Generator("twitter node=99999 dir=none"),
        lambda: Generator("twitte"),
        lambda: Generator("twitter"),
        lambda: SnoGenerator("node=65536 dir=none"),
        lambda: snos.next(meta=256),
        lambda: snos.next(meta=-1),
        own.next,
    ):
        try:
            sys.exit(f"not refused: {refuse()}")
        except (IdError, ValueError) as refused:
            print("refused:", refused)

    child = os.fork()
    if child == 0:
        try:
            ids.next()
        except IdError as refused:
            if refused.status == FORKED:
                ids.close()  # drops the number that it inherited, which stays the parent's
                ids = Generator("twitter node=8 dir=none")
                os._exit(ids.decode(ids.next()).node != 8)
        os._exit(1)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("the child has no ids of its own")
    ids.close()
    snos.close()


if __name__ == "__main__":
    main()
