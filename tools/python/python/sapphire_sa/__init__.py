"""InfiniBand fabrics in Python: routes, proofs, QoS policies, snapshots, and paths in bulk.

    import sapphire_sa as sa

    fabric = sa.Fabric.compile("net", torus_conf="torus-2QoS.conf")   # or Fabric.read("umad")
    fabric                                   # in a notebook: a picture
    sa.check(fabric)["credit_loop"]          # None: proved
    sa.explain(fabric, "H0_0_0_0", "H1_2_0_0", service_id=0x1061144)
    lengths = sa.path_lengths(fabric)        # links between all hosts, as a NumPy array

    client = sa.Client("/run/sapphire/ring")
    found = sa.resolve(client, [1, 1, 2], [2, 3, 3], qos_class=32)
    found.paths["sl"][found.paths["status"] == 0]

Words are those of the tool `sapphire`, and so is every answer. What is wrong is a `SapphireError`
with `file`, `line` and `column`.
"""

from ._native import (
    Client,
    Fabric,
    InputError,
    Policy,
    RefusedError,
    SapphireError,
    Snapshot,
    UnreachableError,
    __version__,
)
from ._fabrics import check, explain, path_lengths
from ._paths import NO_ANSWER, PATH, Resolved, all_pairs, resolve

__all__ = [
    "NO_ANSWER",
    "PATH",
    "Client",
    "Fabric",
    "InputError",
    "Policy",
    "RefusedError",
    "Resolved",
    "SapphireError",
    "Snapshot",
    "UnreachableError",
    "__version__",
    "all_pairs",
    "check",
    "explain",
    "path_lengths",
    "resolve",
]
