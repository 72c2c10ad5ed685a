# SPDX-License-Identifier: MIT
"""Ids of flake.h and sno.h in Python, by ctypes. `make lib` builds the two libraries.

Threads may share a generator; do not copy or pickle one. In a child of os.fork, and of multiprocessing's
"fork", it raises IdError until after_fork has been told a node that no other process has.
"""
import ctypes
import os
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

# CDLL, not PyDLL: a draw that waits lets other threads run.
flake, sno = ctypes.CDLL("libflake.so.0"), ctypes.CDLL("libsno.so.0")
for says in flake.flake_status_str, flake.flake_options_why, sno.flake_status_str:
    says.restype = ctypes.c_char_p
flake.flake_next_n.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
sno.sno_next_n.argtypes = ctypes.c_void_p, ctypes.c_uint8, ctypes.c_void_p, ctypes.c_size_t
sno.sno_encode_n.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
zeros = ctypes.create_string_buffer  # so many bytes, at an address that stays
FORKED = 8  # its place in flake_status


class IdError(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status  # of flake_status


def check(status, why=None, status_text=flake.flake_status_str):
    if status:
        raise IdError(status, (why or status_text(status)).decode())


def check_sno(status, why=None):
    check(status, why, sno.flake_status_str)


class Generator:
    """64-bit ids: Generator(layout="twitter", node=7). The options are flake_options' of flake.h."""

    def __init__(self, **options):
        self._gen = zeros(flake.flake_sizeof_gen())
        self._texts = []  # of options; the generator refers to some, such as the folder of `exclusive`
        self._init(flake.flake_init, options)

    def after_fork(self, **options):
        self._init(flake.flake_reinit_after_fork, options)

    def retire(self):
        """Lets others have what `exclusive` took. No thread may draw any more."""
        flake.flake_release(self._gen)

    def _init(self, init, options):
        packed = zeros(flake.flake_sizeof_options())
        for name, value in options.items():
            text = (str(value).lower() if isinstance(value, bool) else str(value)).encode()
            self._texts.append(text)
            why = zeros(200)
            check(flake.flake_options_set(packed, name.encode(), text, why), why.value)
        check(init(self._gen, packed), flake.flake_options_why(packed))

    def next(self):
        one = ctypes.c_uint64()
        check(flake.flake_next(self._gen, ctypes.byref(one)))
        return one.value

    def next_n(self, n):
        ids = (ctypes.c_uint64 * n)()
        check(flake.flake_next_n(self._gen, ids, n))
        return list(ids)


class SnoGenerator:
    """80-bit ids, as texts of 16 characters. Generators that run at once need partitions of their own."""

    def __init__(self, partition):
        snapshot, why = zeros(sno.sno_sizeof_snapshot()), zeros(200)
        self._gen = zeros(sno.sno_sizeof_gen())
        check_sno(sno.sno_snapshot_set(snapshot, b"partition", b"%d" % partition, why), why.value)
        check_sno(sno.sno_init(self._gen, snapshot, None, why), why.value)

    def next(self, meta=0):
        return self.next_n(1, meta)[0]

    def next_n(self, n, meta=0):
        if not 0 <= meta <= 255:  # ctypes would cut it off
            raise ValueError("meta is 0 to 255")
        ids, texts = zeros(10 * n), zeros(16 * n)
        check_sno(sno.sno_next_n(self._gen, meta, ids, n))
        sno.sno_encode_n(ids, n, texts)
        return [texts.raw[at : at + 16].decode() for at in range(0, 16 * n, 16)]


def uuid7():
    """Greater than all that it returned before in this process."""
    of16 = zeros(16)
    check(flake.flake_uuid7_bytes(of16))
    return uuid.UUID(bytes=of16.raw)


def main():
    ids, snos = Generator(layout="twitter", node=7), SnoGenerator(partition=7)
    print("flake", ids.next())
    print("uuid7", uuid7())
    print("sno", snos.next(meta=42))

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
        lambda: Generator(layout="twitter", node=99999),
        lambda: SnoGenerator(partition=65536),
        lambda: snos.next(meta=256),
        lambda: snos.next(meta=-1),
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
                ids.after_fork(layout="twitter", node=8)
                os._exit((ids.next() >> 12) & 1023 != 8)
        os._exit(1)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("the child has no ids of its own")


if __name__ == "__main__":
    main()
