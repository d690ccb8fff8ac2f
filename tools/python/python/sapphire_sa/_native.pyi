"""The part in Rust."""

from os import PathLike
from typing import Any, Optional, Union, final

_Path = Union[str, PathLike[str]]
__version__: str
__all__ = [
    "Client",
    "Fabric",
    "InputError",
    "Policy",
    "RefusedError",
    "SapphireError",
    "Snapshot",
    "UnreachableError",
    "__version__",
]

class SapphireError(Exception):
    """What Sapphire says is wrong. Where a file says it: which, and where in it, from 1."""

    file: Optional[str]
    line: Optional[int]
    column: Optional[int]

class InputError(SapphireError):
    """A file or a value that cannot be read, or is wrong."""

class RefusedError(SapphireError):
    """Understood, and the answer is no: a fabric that the engine refuses."""

class UnreachableError(SapphireError):
    """Nobody answers, or nobody listens."""

@final
class Snapshot:
    """A snapshot, verified."""

    @staticmethod
    def open(file: _Path) -> Snapshot: ...
    def write(self, file: _Path) -> None: ...
    def info(self) -> dict[str, Any]: ...

@final
class Policy:
    """A QoS policy that has been read."""

    @staticmethod
    def read(file: _Path, dialect: Optional[str] = None) -> Policy: ...
    @property
    def levels(self) -> int: ...
    @property
    def rules(self) -> int: ...
    def lint(
        self, fabric: Optional[Fabric] = None
    ) -> list[tuple[str, str, Optional[int], Optional[int], str, str]]:
        """Check, severity, line, column, what is likely not meant, what to do about it."""

@final
class Fabric:
    """A fabric with its routes, its proof and its snapshot."""

    @staticmethod
    def compile(
        fabric: _Path,
        *,
        torus_conf: Optional[_Path] = None,
        engine: Optional[str] = None,
        policy: Optional[_Path] = None,
        partitions: Optional[_Path] = None,
        opensm_conf: Optional[_Path] = None,
        lids: Optional[_Path] = None,
        qos: Optional[bool] = None,
        fail: list[str] = ...,
        root_guids: Optional[_Path] = None,
        lmc: Optional[int] = None,
        sm_node: Optional[str] = None,
        prefix_routes: Optional[_Path] = None,
        aliases: Optional[_Path] = None,
        dialect: Optional[str] = None,
        endpoint_mask_required: Optional[bool] = None,
        scope_precedence: Optional[str] = None,
        service_id_encoding: Optional[str] = None,
        echo: Optional[str] = None,
        partitions_as_groups: bool = False,
        extensions: bool = True,
        apply_setup: bool = False,
        ulp_names: Optional[_Path] = None,
    ) -> Fabric:
        """Of files, as `sapphire compile --fabric` takes them."""

    @staticmethod
    def read(
        via: str,
        *,
        sa_lid: Optional[int] = None,
        timeout: float = 3.0,
        policy: Optional[_Path] = None,
        partitions: Optional[_Path] = None,
        torus_conf: Optional[_Path] = None,
    ) -> Fabric:
        """Of a running SA: umad, umad:DEVICE[:PORT], ibsim:NODE or ring:PATH."""

    @property
    def summary(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def switches(self) -> int: ...
    @property
    def warnings(self) -> list[str]: ...
    def hosts(self) -> list[tuple[str, int, int]]:
        """Name, port GUID and LID of each."""

    def path_lengths(self) -> bytes: ...
    def plot_path_lengths(self) -> str:
        """How many pairs of hosts have paths of how many links: an SVG."""

    def check(self) -> dict[str, Any]: ...
    def explain(
        self,
        source: str,
        destination: str,
        *,
        service_id: Optional[int] = None,
        qos_class: Optional[int] = None,
        pkey: Optional[int] = None,
        traffic_class: Optional[int] = None,
    ) -> str: ...
    def route(self, directory: _Path) -> None:
        """Writes the tables in the formats of OpenSM's dumps."""

    def snapshot(self) -> Snapshot: ...
    def _repr_svg_(self) -> str: ...

@final
class Client:
    """A ring of one's own at the daemon."""

    def __new__(cls, path: _Path, slots: int = 0, timeout: float = 1.0) -> Client: ...
    def resolve(
        self,
        sources: Union[bytes, list[str]],
        destinations: Union[bytes, list[str]],
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
    ) -> tuple[bytearray, tuple[int, int, int, int], Optional[str]]:
        """For `sapphire_sa.resolve`, which makes an array of it."""
