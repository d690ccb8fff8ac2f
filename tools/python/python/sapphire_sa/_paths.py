"""Paths in bulk through the ring, as structured arrays."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from ._native import Client

#: One answer. `status`: 0, the SA's status, or NO_ANSWER. `mtu` in bytes, `rate` in Gb/s,
#: `packet_life` the exponent n of 4.096 us * 2^n, GIDs as on the wire. Zeros where there is no path.
PATH = np.dtype(
    [
        ("status", "=i4"),
        ("slid", "=u2"),
        ("dlid", "=u2"),
        ("pkey", "=u2"),
        ("mtu", "=u2"),
        ("rate", "=f4"),
        ("flow_label", "=u4"),
        ("sl", "u1"),
        ("packet_life", "u1"),
        ("hop_limit", "u1"),
        ("traffic_class", "u1"),
        ("sgid", "V16"),
        ("dgid", "V16"),
    ]
)

#: Status of a row without an answer in time: whether there is a path is not known.
NO_ANSWER = -1

#: LIDs and port GUIDs as numbers, or LIDs, GUIDs and GIDs as words; one for all, or one for each path.
Ends = Union[int, str, Sequence[int], Sequence[str], npt.NDArray[np.integer]]


class Resolved(NamedTuple):
    """The answers, in the order of the requests, and how they came about."""

    paths: np.ndarray
    found: int
    refused: int
    unanswered: int
    sent_again: int
    #: What was last wrong with the daemon, where requests have no answer.
    trouble: Optional[str]


def _ends(ends: Ends, count: int) -> Union[bytes, list[str]]:
    """As the native part takes them: eight bytes a number, or words."""
    if isinstance(ends, str):
        return [ends] * count
    if not isinstance(ends, (int, float, np.generic, np.ndarray)):
        if any(isinstance(end, str) for end in ends):
            return [end if isinstance(end, str) else str(int(end)) for end in ends]
    numbers = np.asarray(ends)
    if numbers.size == 0:
        return b""
    if numbers.dtype.kind not in "iu" or numbers.ndim > 1:
        raise TypeError("ends are whole numbers or words, one for each path")
    if numbers.dtype.kind == "i" and int(numbers.min()) < 0:
        raise ValueError(f"{int(numbers.min())} names no port")
    numbers = numbers.astype("=u8")
    return (np.full(count, numbers) if numbers.ndim == 0 else numbers).tobytes()


def _count(ends: Ends) -> Optional[int]:
    """How many there are; none for one that stands for all."""
    if isinstance(ends, (str, int, np.integer)) or np.ndim(ends) == 0:
        return None
    return len(ends)


def resolve(
    client: Client,
    sources: Ends,
    destinations: Ends,
    *,
    service_id: Optional[int] = None,
    pkey: Optional[int] = None,
    qos_class: Optional[int] = None,
    traffic_class: Optional[int] = None,
    sl: Optional[int] = None,
    hop_limit: Optional[int] = None,
    min_mtu: Optional[int] = None,
    min_rate: Optional[float] = None,
    one_way: bool = False,
    deadline: float = 10.0,
    window: int = 256,
    requester: int = 0,
) -> Resolved:
    """The path from each source to the destination of the same place.

    What the daemon gives up, or loses as it ends, is asked for again until the `deadline` (seconds, for
    all together). The interpreter's lock is not held meanwhile, and Ctrl-C ends it.
    """
    counts = {count for count in (_count(sources), _count(destinations)) if count is not None}
    if len(counts) > 1:
        raise ValueError("as many sources as destinations, or one for all")
    count = counts.pop() if counts else 1
    rows, (found, refused, unanswered, sent_again), trouble = client.resolve(
        _ends(sources, count),
        _ends(destinations, count),
        service_id=service_id,
        pkey=pkey,
        qos_class=qos_class,
        traffic_class=traffic_class,
        sl=sl,
        hop_limit=hop_limit,
        min_mtu=min_mtu,
        min_rate=min_rate,
        one_way=one_way,
        deadline=deadline,
        window=window,
        requester=requester,
    )
    paths = np.frombuffer(rows, dtype=PATH)
    return Resolved(paths, found, refused, unanswered, sent_again, trouble)


def all_pairs(ends: Sequence[int]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Sources and destinations of all ordered pairs of different ends, for `resolve`."""
    each = np.asarray(ends, dtype=np.uint64)
    sources, destinations = np.repeat(each, len(each)), np.tile(each, len(each))
    differ = ~np.eye(len(each), dtype=bool).ravel()
    return sources[differ], destinations[differ]
