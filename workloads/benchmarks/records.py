"""Record files as MXNet's im2rec writes them: one large file instead of many small ones. Plain Python.

Per record: the magic number, the length in the low 29 bits (the high 3 are 0: a whole record), the payload, zeros up to
a multiple of 4. Payload: flag 0, label (float), id and second id (64 bits each), then the JPEG. Little endian.
Source: the documentation of mxnet.recordio (MXRecordIO, IRHeader) and dmlc-core's recordio.h.
"""

from __future__ import annotations

import struct
from typing import BinaryIO, Iterator

MAGIC = 0xCED7230A
_FRAME = struct.Struct("<II")
_HEADER = struct.Struct("<IfQQ")
LONGEST = (1 << 29) - 1


def write(stream: BinaryIO, number: int, label: float, image: bytes) -> None:
    payload = _HEADER.pack(0, label, number, 0) + image
    if len(payload) > LONGEST:
        raise ValueError(f"record {number} has {len(payload)} bytes; a whole one has at most {LONGEST}")
    stream.write(_FRAME.pack(MAGIC, len(payload)) + payload + bytes(-len(payload) % 4))


def read(stream: BinaryIO) -> Iterator[tuple[int, float, bytes]]:
    """(id, label, JPEG) of each record. ValueError where the file is not one, or ends within a record."""
    while True:
        place = stream.tell()
        frame = stream.read(_FRAME.size)
        if not frame:
            return
        if len(frame) < _FRAME.size:
            raise ValueError(f"byte {place}: the file ends within the head of a record")
        magic, length = _FRAME.unpack(frame)
        if magic != MAGIC or length >> 29 or length < _HEADER.size:
            raise ValueError(f"byte {place}: no whole record begins here ({frame.hex()})")
        payload = stream.read(length)
        if len(payload) < length or len(stream.read(-length % 4)) < -length % 4:
            raise ValueError(f"byte {place}: the file ends within a record of {length} bytes")
        _flag, label, number, _second = _HEADER.unpack_from(payload)
        yield number, label, payload[_HEADER.size :]
