"""Reads requests of OTLP with OpenTelemetry's own messages, and prints them as lines of JSON."""

import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

KINDS = {"resourceSpans": TracesData, "resourceLogs": LogsData, "resourceMetrics": MetricsData}
IDS = {"traceId", "spanId", "parentSpanId"}


def with_base64(value):
    """OTLP has identifiers in hexadecimal digits, where protobuf's JSON has base64."""
    if isinstance(value, dict):
        return {
            key: base64.b64encode(bytes.fromhex(inner)).decode() if key in IDS else with_base64(inner)
            for key, inner in value.items()
        }
    return [with_base64(inner) for inner in value] if isinstance(value, list) else value


def read_json(path):
    all = {kind: kind() for kind in KINDS.values()}
    for line in open(path, encoding="utf-8"):
        request = json.loads(line)
        [name] = request
        message = json_format.ParseDict(with_base64(request), KINDS[name]())
        all[KINDS[name]].MergeFrom(message)
    return all.values()


def canonical(value):
    """Members of lists have no order, and an empty status is none."""
    if isinstance(value, list):
        return [canonical(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    is_kept = lambda key: key != "status" or value[key] != {}
    inner = {key: canonical(inner) for key, inner in value.items() if is_kept(key)}
    if list(inner) == ["kvlistValue"]:
        inner["kvlistValue"].get("values", []).sort(key=lambda pair: pair.get("key", ""))
    return inner


def rows(message):
    for name, by_resource in message.ListFields():
        for resource in by_resource:
            for scope in getattr(resource, name.name.replace("resource", "scope")):
                for field, elements in scope.ListFields():
                    if field.name in ("spans", "log_records", "metrics"):
                        for element in elements:
                            around = [json_format.MessageToDict(part) for part in (resource.resource, scope.scope)]
                            around += [resource.schema_url, scope.schema_url]
                            row = [field.name, *around, json_format.MessageToDict(element)]
                            yield json.dumps(canonical(row), sort_keys=True)


def main():
    for path in sys.argv[1:]:
        if path.endswith(".jsonl"):
            messages = read_json(path)
        else:
            kind = {"traces": TracesData, "logs": LogsData, "metrics": MetricsData}[path.rsplit(".", 1)[1]]
            messages = [kind.FromString(open(path, "rb").read())]
        for message in messages:
            for row in sorted(rows(message)):
                print(row)


main()
