"""Reads traces: CTF (LTTng, barectf), .NET (nettrace), Fuchsia, X-Trace, OpenTelemetry, JSON Lines.

>>> import ichnos
>>> trace = ichnos.open("my-trace")
>>> for event in trace.events(event="sched_switch"):
...     print(event.ts, event["next_comm"])

Events and answers are tables for every library that knows Arrow's C interface:

>>> import polars
>>> polars.DataFrame(trace.spans())

https://example.invalid/ichnos describes the columns.
"""

from collections.abc import Mapping as _Mapping

from ._ichnos import (
    Error,
    Event,
    EventIterator,
    Events,
    Row,
    RowIterator,
    Table,
    Trace,
    __version__,
    convert,
    open,
)

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

# Where they are found, for help texts and pickle.
for _function in (convert, open):
    _function.__module__ = __name__

_Mapping.register(Event)
_Mapping.register(Row)
