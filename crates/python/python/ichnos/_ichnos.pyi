"""Types of the compiled module."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from os import PathLike
from typing import Any, Literal, TypeVar, final, overload

from typing_extensions import CapsuleType

__all__ = [
    "Error",
    "Event",
    "EventIterator",
    "Events",
    "Row",
    "RowIterator",
    "Table",
    "Trace",
    "__version__",
    "convert",
    "open",
]

__version__: str

_Path = str | PathLike[str]
_PathKey = TypeVar("_PathKey", bound=_Path)
_Default = TypeVar("_Default")
# Value of an option of a format.
_Option = str | int | float | bool | PathLike[str]
# An integer is nanoseconds. A text is a time as for the command.
_Duration = int | str
# The origin of the clock is 0. A date needs a time zone.
_Time = int | str | datetime
# A value of a column: None, bool, int, float, str, bytes, or a list of them.
_Value = Any

class Error(Exception):
    """A trace cannot be read or written, or an argument is wrong."""

    path: str | None
    """File or trace with the problem."""
    byte: int | None
    """Place in the file."""
    help: str | None
    """What can be done."""

@final
class Event(Mapping[str, _Value]):
    """Event of a trace: a mapping from column names to values, which are decoded when they are asked for."""

    @property
    def name(self) -> str:
        """Name of the event record class."""

    @property
    def ts(self) -> int | None:
        """Time in nanoseconds from the origin of the clock."""

    @property
    def stream(self) -> int:
        """Number of the data stream, as in `Trace.info`."""

    def fields(self) -> dict[str, _Value]:
        """Returns the fields, without the columns that all events have."""

    def __getitem__(self, key: str, /) -> _Value: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    @overload
    def get(self, key: str) -> _Value | None: ...
    @overload
    def get(self, key: str, default: _Default) -> _Value | _Default: ...
    def keys(self) -> list[str]: ...  # type: ignore[override]
    def values(self) -> list[_Value]: ...  # type: ignore[override]
    def items(self) -> list[tuple[str, _Value]]: ...  # type: ignore[override]

@final
class Row(Mapping[str, _Value]):
    """Row of a table: a mapping from column names to values."""

    def __getitem__(self, key: str, /) -> _Value: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    @overload
    def get(self, key: str) -> _Value | None: ...
    @overload
    def get(self, key: str, default: _Default) -> _Value | _Default: ...
    def keys(self) -> list[str]: ...  # type: ignore[override]
    def values(self) -> list[_Value]: ...  # type: ignore[override]
    def items(self) -> list[tuple[str, _Value]]: ...  # type: ignore[override]

@final
class EventIterator(Iterator[Event]):
    """Iterator over events."""

    def __iter__(self) -> EventIterator: ...
    def __next__(self) -> Event: ...

@final
class RowIterator(Iterator[Row]):
    """Iterator over the rows of a table."""

    def __iter__(self) -> RowIterator: ...
    def __next__(self) -> Row: ...

@final
class Events:
    """Selected events: a table for Arrow's C interface, and an iterable of `Event`."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""

    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __iter__(self) -> EventIterator: ...
    def _repr_html_(self) -> str: ...

@final
class Table:
    """Answer about a trace: a table for Arrow's C interface, and an iterable of `Row`. It is computed when it is read."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""

    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __iter__(self) -> RowIterator: ...
    def _repr_html_(self) -> str: ...

@final
class Trace:
    """Opened traces, on one timeline."""

    @property
    def paths(self) -> list[str]:
        """Paths of the traces."""

    @property
    def info(self) -> Table:
        """Data streams: traces, formats, packets, bytes, times, losses and clocks."""

    @property
    def classes(self) -> Table:
        """Event record classes, with the number of their events."""

    @property
    def losses(self) -> Table:
        """Discarded events and packets, and unreadable data with its file and byte."""

    @property
    def schema(self) -> list[dict[str, Any]]:
        """Classes with their fields, as `ichnos schema --json` describes them: one dictionary for each trace."""

    def events(
        self,
        *,
        event: str | Iterable[str] | None = None,
        filter: str | None = None,
        begin: _Time | None = None,
        end: _Time | None = None,
        columns: Iterable[str] | None = None,
        timestamps: Literal["micros", "nanos"] | None = None,
        merge: bool = True,
        threads: int | None = None,
    ) -> Events:
        """Returns selected events."""

    def spans(
        self,
        *,
        event: str | Iterable[str] | None = None,
        filter: str | None = None,
        begin: _Time | None = None,
        end: _Time | None = None,
    ) -> Table:
        """Returns spans: what happened from one event to another, with duration, nesting and thread."""

    def stacks(self) -> Table:
        """Returns call stacks: each has the stack of its caller and a frame."""

    def frames(self) -> Table:
        """Returns the frames of call stacks, with symbols and modules."""

    def tasks(self) -> Table:
        """Returns tasks: operations that cause each other, across threads, machines and formats."""

    def edges(self) -> Table:
        """Returns which operation of a task caused which."""

    def stats(
        self,
        by: str | Iterable[str] | None = None,
        *,
        of: str | None = None,
        spans: bool = False,
        event: str | Iterable[str] | None = None,
        filter: str | None = None,
        begin: _Time | None = None,
        end: _Time | None = None,
    ) -> Table:
        """Returns statistics: one row for each group of events."""

    def _repr_html_(self) -> str: ...

def open(
    paths: _Path | Iterable[_Path],
    *,
    offset: _Duration | Mapping[_PathKey, _Duration] | None = None,
    map: _Path | Iterable[_Path] | None = None,
    assume_correlated: bool = False,
) -> Trace:
    """Opens traces: files, directories and archives of any format."""

def convert(
    paths: _Path | Iterable[_Path] | Trace,
    output: _Path,
    *,
    to: str | None = None,
    dialect: str | None = None,
    event: str | Iterable[str] | None = None,
    filter: str | None = None,
    begin: _Time | None = None,
    end: _Time | None = None,
    options: Mapping[str, _Option | Iterable[_Option]] | None = None,
    strict: bool = False,
    force: bool = False,
    threads: int | None = None,
    offset: _Duration | Mapping[_PathKey, _Duration] | None = None,
    map: _Path | Iterable[_Path] | None = None,
    assume_correlated: bool = False,
) -> dict[str, Any]:
    """Writes traces in another format, and returns what was written."""
