"""What a fabric has to say, as documents and arrays."""

from __future__ import annotations

import json
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from ._native import Fabric


def check(fabric: Fabric) -> dict[str, Any]:
    """What the proof over the forwarding tables found: loops in words, or None; pairs without a path."""
    return fabric.check()


def explain(
    fabric: Fabric,
    source: str,
    destination: str,
    *,
    service_id: Optional[int] = None,
    qos_class: Optional[int] = None,
    pkey: Optional[int] = None,
    traffic_class: Optional[int] = None,
) -> dict[str, Any]:
    """Why a pair gets the path it gets: the document of `sapphire explain --json`."""
    text = fabric.explain(
        source,
        destination,
        service_id=service_id,
        qos_class=qos_class,
        pkey=pkey,
        traffic_class=traffic_class,
    )
    document: dict[str, Any] = json.loads(text)
    return document


def path_lengths(fabric: Fabric) -> npt.NDArray[np.uint8]:
    """Links that a packet crosses between hosts, by row and column as in `fabric.hosts()`.

    0 on the diagonal, 2 on one switch, 255 where the tables have no path.
    """
    flat = np.frombuffer(fabric.path_lengths(), dtype=np.uint8)
    side = len(fabric.hosts())
    return flat.reshape(side, side)
