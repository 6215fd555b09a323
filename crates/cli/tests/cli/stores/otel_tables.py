"""Compares the tables of `--layout otel` with the requests of `--to otlp`: otel_tables.py DATASET REQUESTS.

DuckDB reads the rows. With chdb, ClickHouse inserts the files into the exporter's tables, and answers queries of
ClickStack's documentation like DuckDB. Prints the numbers of spans and log records, and `chdb` if it took part.
"""

import collections
import importlib.util
import json
import os
import sys

import duckdb

dataset, requests = (os.path.abspath(path) for path in sys.argv[1:3])

# Columns of the exporter: name and type in ClickHouse. Text is short for its variants.
MAP, MAPS, TEXTS = "Map(LowCardinality(String), String)", "Array(Map(LowCardinality(String), String))", "Array(String)"
TRACES = [
    ("Timestamp", "DateTime64(9)"), ("TraceId", "String"), ("SpanId", "String"), ("ParentSpanId", "String"),
    ("TraceState", "String"), ("SpanName", "LowCardinality(String)"), ("SpanKind", "LowCardinality(String)"),
    ("ServiceName", "LowCardinality(String)"), ("ResourceAttributes", MAP), ("ScopeName", "String"),
    ("ScopeVersion", "String"), ("SpanAttributes", MAP), ("Duration", "UInt64"),
    ("StatusCode", "LowCardinality(String)"), ("StatusMessage", "String"),
    ("Events.Timestamp", "Array(DateTime64(9))"), ("Events.Name", "Array(LowCardinality(String))"),
    ("Events.Attributes", MAPS), ("Links.TraceId", TEXTS), ("Links.SpanId", TEXTS), ("Links.TraceState", TEXTS),
    ("Links.Attributes", MAPS),
]
LOGS = [
    ("Timestamp", "DateTime64(9)"), ("TimestampTime", "DateTime"), ("TraceId", "String"), ("SpanId", "String"),
    ("TraceFlags", "UInt8"), ("SeverityText", "LowCardinality(String)"), ("SeverityNumber", "UInt8"),
    ("ServiceName", "LowCardinality(String)"), ("Body", "String"),
    ("ResourceSchemaUrl", "LowCardinality(String)"), ("ResourceAttributes", MAP),
    ("ScopeSchemaUrl", "LowCardinality(String)"), ("ScopeName", "String"),
    ("ScopeVersion", "LowCardinality(String)"), ("ScopeAttributes", MAP), ("LogAttributes", MAP),
    ("EventName", "String"),
]
DUCKDB = {
    "DateTime64(9)": "TIMESTAMP WITH TIME ZONE", "DateTime": "TIMESTAMP WITH TIME ZONE", "UInt64": "UBIGINT",
    "UInt8": "UTINYINT", MAP: "MAP(VARCHAR, VARCHAR)", MAPS: "MAP(VARCHAR, VARCHAR)[]", TEXTS: "VARCHAR[]",
    "Array(DateTime64(9))": "TIMESTAMP WITH TIME ZONE[]", "Array(LowCardinality(String))": "VARCHAR[]",
    "String": "VARCHAR", "LowCardinality(String)": "VARCHAR",
}


def text(value):
    """An attribute value as ClickHouse gets it."""
    [(kind, found)] = value.items() or [("", "")]
    # Bytes are base64 in both.
    if kind in ("stringValue", "bytesValue", ""):
        return found
    if kind == "boolValue":
        return "true" if found else "false"
    if kind == "intValue":
        return str(found)
    if kind == "doubleValue":
        is_whole = isinstance(found, float) and found.is_integer()
        return str(int(found)) if is_whole and str(found) != "-0.0" else str(found).removesuffix(".0")
    return json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False)


def plain(value):
    [(kind, found)] = value.items() or [("", None)]
    if kind == "arrayValue":
        return [plain(one) for one in found.get("values", [])]
    if kind == "kvlistValue":
        return {one["key"]: plain(one["value"]) for one in found.get("values", [])}
    return int(found) if kind == "intValue" else found


def texts(attributes):
    return {one["key"]: text(one["value"]) for one in attributes}


def scopes(name, elements):
    for line in open(requests, encoding="utf-8"):
        for resource in json.loads(line).get(name, []):
            attributes = texts(resource["resource"].get("attributes", []))
            for scope in resource[elements]:
                yield attributes, resource.get("schemaUrl", ""), scope["scope"], scope


def name(names, number):
    return names[number] if number < len(names) else ""


def wanted_spans():
    kinds = ["Unspecified", "Internal", "Server", "Client", "Producer", "Consumer"]
    statuses = ["Unset", "Ok", "Error"]
    for resource, _, scope, found in scopes("resourceSpans", "scopeSpans"):
        for span in found["spans"]:
            begin, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
            status = span.get("status", {})
            events, links = span.get("events", []), span.get("links", [])
            yield (
                begin, span.get("traceId", ""), span.get("spanId", ""), span.get("parentSpanId", ""),
                span.get("traceState", ""), span["name"], name(kinds, span.get("kind", 0)),
                resource.get("service.name", ""), resource, scope.get("name", ""), scope.get("version", ""),
                texts(span.get("attributes", [])), max(end - begin, 0), name(statuses, status.get("code", 0)),
                status.get("message", ""),
                [int(event.get("timeUnixNano", 0)) for event in events], [event["name"] for event in events],
                [texts(event.get("attributes", [])) for event in events], [link["traceId"] for link in links],
                [link["spanId"] for link in links], [link.get("traceState", "") for link in links],
                [texts(link.get("attributes", [])) for link in links],
            )


def wanted_logs():
    for resource, schema, scope, found in scopes("resourceLogs", "scopeLogs"):
        for log in found["logRecords"]:
            time = int(log.get("timeUnixNano", 0)) or int(log.get("observedTimeUnixNano", 0))
            yield (
                time, time // 10**9, log.get("traceId", ""), log.get("spanId", ""), log.get("flags", 0) & 255,
                log.get("severityText", ""), log.get("severityNumber", 0), resource.get("service.name", ""),
                text(log.get("body", {})), schema, resource, found.get("schemaUrl", ""), scope.get("name", ""),
                scope.get("version", ""), texts(scope.get("attributes", [])), texts(log.get("attributes", [])),
                log.get("eventName", ""),
            )


def key(row):
    return json.dumps(row, sort_keys=True)


def compare(name, columns, wanted):
    """Compares names, types and rows of a table."""
    files = f"read_parquet('{dataset}/{name}/**/*.parquet', hive_partitioning = false)"
    described = [(row[0], row[1]) for row in duckdb.sql(f"describe from {files}").fetchall()]
    assert [column for column, _ in described] == [column for column, _ in columns], described
    for (column, found), (_, kind) in zip(described, columns):
        # DuckDB has a type of its own for nanoseconds.
        assert found.replace("TIMESTAMPTZ_NS", "TIMESTAMP WITH TIME ZONE") == DUCKDB[kind], (column, found)
    selected = []
    for column, kind in columns:
        quoted = f'"{column}"'
        if kind == "DateTime64(9)":
            quoted = f"epoch_ns({quoted})"
        elif kind == "DateTime":
            quoted = f"epoch_ms({quoted}) // 1000"
        elif kind == "Array(DateTime64(9))":
            quoted = f"list_transform({quoted}, lambda time: epoch_ns(time))"
        selected.append(quoted)
    rows = duckdb.sql(f"select {', '.join(selected)} from {files}").fetchall()
    found = collections.Counter(key(list(row)) for row in rows)
    wanted = collections.Counter(key(list(row)) for row in wanted)
    for row in (wanted - found).keys() | (found - wanted).keys():
        print(name, "only in the requests" if row in wanted else "only in the table", row, file=sys.stderr)
    assert found == wanted, name
    return len(rows)


def nanoseconds(column):
    return f"cast(epoch_ns({column}) as bigint)"


# Queries of ClickStack's documentation in ClickHouse's dialect, and the same questions for DuckDB.
QUERIES = [
    ("SELECT ServiceName, count() AS c FROM otel_traces GROUP BY ServiceName ORDER BY c DESC, ServiceName",
     "select ServiceName, count(*) c from otel_traces group by all order by c desc, 1"),
    ("SELECT SpanName, quantileExact(0.5)(Duration), max(Duration) FROM otel_traces GROUP BY SpanName ORDER BY SpanName",
     "select SpanName, quantile_disc(Duration, [0.5000001, 1]) q from otel_traces group by all order by 1"),
    ("SELECT toUnixTimestamp(toStartOfMinute(Timestamp)) AS m, SeverityText, count() FROM otel_logs "
     "GROUP BY m, SeverityText ORDER BY m, SeverityText",
     "select cast(epoch(date_trunc('minute', Timestamp)) as bigint) m, SeverityText, count(*) from otel_logs "
     "group by all order by all"),
    ("SELECT ResourceAttributes['service.name'] AS s, uniq(mapKeys(LogAttributes)) FROM otel_logs GROUP BY s ORDER BY s",
     # ClickHouse has an empty text for a missing key.
     "select coalesce(ResourceAttributes['service.name'], '') s, count(distinct map_keys(LogAttributes)) from otel_logs "
     "group by all order by 1"),
    ("SELECT TraceId, SpanId FROM otel_traces WHERE ParentSpanId = '' AND Duration > 1000 AND StatusCode = 'Unset' "
     "ORDER BY Duration DESC, SpanId LIMIT 20",
     "select TraceId, SpanId from otel_traces where ParentSpanId = '' and Duration > 1000 and StatusCode = 'Unset' "
     "order by Duration desc, SpanId limit 20"),
    ("SELECT sum(length(Events.Name)), sum(length(Links.TraceId)) FROM otel_traces",
     'select coalesce(sum(len("Events.Name")), 0), coalesce(sum(len("Links.TraceId")), 0) from otel_traces'),
    ("SELECT Body, Timestamp FROM otel_logs WHERE SeverityNumber >= 13 AND Body LIKE '%e%' "
     "ORDER BY TimestampTime, Timestamp, Body LIMIT 10",
     "select Body, Timestamp from otel_logs where SeverityNumber >= 13 and Body like '%e%' "
     "order by TimestampTime, Timestamp, Body limit 10"),
]


def flat(value):
    return [one for item in value for one in (flat(item) if isinstance(item, (list, tuple)) else [item])]


def clickhouse():
    """Inserts the files into the exporter's tables, and compares answers with DuckDB."""
    from chdb.session import Session

    session = Session()
    for name, columns in (("otel_traces", TRACES), ("otel_logs", LOGS)):
        declared = ", ".join(f"`{column}` {kind}" for column, kind in columns)
        session.query(f"CREATE TABLE {name} ({declared}) ENGINE = MergeTree ORDER BY (ServiceName, Timestamp)")
        files = f"file('{dataset}/{name}/**.parquet', Parquet)"
        session.query(f"INSERT INTO {name} SELECT * FROM {files} SETTINGS use_hive_partitioning = 0")
        # Also without a table: the names are found in the files.
        direct = session.query(f"SELECT count(), min(toUnixTimestamp64Nano(Timestamp)) FROM {files}", "JSONCompact")
        stored = session.query(f"SELECT count(), min(toUnixTimestamp64Nano(Timestamp)) FROM {name}", "JSONCompact")
        assert json.loads(str(direct))["data"] == json.loads(str(stored))["data"], name
        duckdb.sql(f"create view {name} as from read_parquet('{dataset}/{name}/**/*.parquet')")
    for ours, theirs in QUERIES:
        found = json.loads(str(session.query(ours.replace("Body, Timestamp FROM", "Body, toUnixTimestamp64Nano(Timestamp) FROM"), "JSONCompact")))["data"]
        theirs = theirs.replace("Body, Timestamp from", "Body, epoch_ns(Timestamp) from")
        wanted = duckdb.sql(theirs).fetchall()
        show = lambda rows: [[str(one) for one in flat(row)] for row in rows]
        assert show(found) == show(wanted), (ours, found, wanted)


spans = compare("otel_traces", TRACES, wanted_spans())
logs = compare("otel_logs", LOGS, wanted_logs())
has_chdb = importlib.util.find_spec("chdb") is not None
if has_chdb:
    clickhouse()
print(spans, logs, "chdb" if has_chdb else "")
