"""Writes requests with OpenTelemetry's own messages, in both encodings."""

import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1 import metrics_pb2 as metrics
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

IDS = {"traceId", "spanId", "parentSpanId"}


def with_hex(value):
    """OTLP has identifiers in hexadecimal digits, where protobuf's JSON has base64."""
    if isinstance(value, dict):
        return {
            key: base64.b64decode(inner).hex() if key in IDS else with_hex(inner) for key, inner in value.items()
        }
    return [with_hex(inner) for inner in value] if isinstance(value, list) else value


def pair(key, **value):
    return KeyValue(key=key, value=AnyValue(**value))


TRACE, PARENT, CHILD = bytes(range(16)), bytes(range(8)), bytes(range(1, 9))
RESOURCE = Resource(attributes=[pair("service.name", string_value="shop"), pair("process.pid", int_value=7)])
SCOPE = InstrumentationScope(name="lib", version="3", attributes=[pair("beta", bool_value=True)])
NESTED = AnyValue(
    kvlist_value=KeyValueList(
        values=[
            pair("bytes", bytes_value=b"\x00\xff"),
            pair("list", array_value=ArrayValue(values=[AnyValue(double_value=0.25), AnyValue(double_value=-1e9)])),
        ]
    )
)

spans = [
    Span(
        trace_id=TRACE,
        span_id=PARENT,
        trace_state="a=b",
        name="GET /",
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=2_000_000_000,
        end_time_unix_nano=2_000_000_900,
        attributes=[pair("big", int_value=-(2**63)), KeyValue(key="nested", value=NESTED)],
        dropped_attributes_count=1,
        events=[Span.Event(time_unix_nano=2_000_000_500, name="half", attributes=[pair("n", int_value=1)])],
        links=[Span.Link(trace_id=TRACE, span_id=CHILD)],
        status=Status(code=Status.STATUS_CODE_OK),
        flags=257,
    ),
    Span(
        trace_id=TRACE,
        span_id=CHILD,
        parent_span_id=PARENT,
        name="query",
        start_time_unix_nano=2_000_000_100,
        end_time_unix_nano=2_000_000_200,
        status=Status(code=Status.STATUS_CODE_ERROR, message="no"),
    ),
]
logs = [
    LogRecord(
        time_unix_nano=2_000_000_150,
        observed_time_unix_nano=2_000_000_160,
        severity_number=13,
        severity_text="WARN",
        body=AnyValue(string_value="slow"),
        trace_id=TRACE,
        span_id=CHILD,
    )
]
points = [
    metrics.Metric(
        name="hits",
        unit="1",
        sum=metrics.Sum(
            aggregation_temporality=2,
            is_monotonic=True,
            data_points=[
                metrics.NumberDataPoint(
                    start_time_unix_nano=1, time_unix_nano=2_000_000_300, as_int=12, attributes=[pair("k", string_value="v")]
                )
            ],
        ),
    ),
    metrics.Metric(
        name="times",
        histogram=metrics.Histogram(
            aggregation_temporality=1,
            data_points=[
                metrics.HistogramDataPoint(
                    time_unix_nano=2_000_000_400, count=3, sum=0.5, bucket_counts=[1, 2], explicit_bounds=[0.125]
                )
            ],
        ),
    ),
    metrics.Metric(
        name="sizes",
        exponential_histogram=metrics.ExponentialHistogram(
            data_points=[
                metrics.ExponentialHistogramDataPoint(
                    time_unix_nano=2_000_000_410,
                    count=4,
                    sum=8,
                    scale=1,
                    zero_threshold=0.25,
                    positive=metrics.ExponentialHistogramDataPoint.Buckets(offset=-2, bucket_counts=[3, 300]),
                    exemplars=[
                        metrics.Exemplar(
                            time_unix_nano=7, as_double=0.5, span_id=CHILD, filtered_attributes=[pair("n", int_value=1)]
                        )
                    ],
                )
            ]
        ),
    ),
    metrics.Metric(
        name="old",
        summary=metrics.Summary(data_points=[
                metrics.SummaryDataPoint(
                    time_unix_nano=2_000_000_420,
                    count=5,
                    sum=9,
                    quantile_values=[metrics.SummaryDataPoint.ValueAtQuantile(quantile=0.5, value=1)],
                )
            ]),
    ),
]

requests = {
    "traces": ExportTraceServiceRequest(
        resource_spans=[ResourceSpans(resource=RESOURCE, scope_spans=[ScopeSpans(scope=SCOPE, spans=spans)])]
    ),
    "logs": ExportLogsServiceRequest(
        resource_logs=[ResourceLogs(resource=RESOURCE, scope_logs=[ScopeLogs(scope=SCOPE, log_records=logs)])]
    ),
    "metrics": ExportMetricsServiceRequest(
        resource_metrics=[
            metrics.ResourceMetrics(resource=RESOURCE, scope_metrics=[metrics.ScopeMetrics(scope=SCOPE, metrics=points)])
        ]
    ),
}
for name, request in requests.items():
    open(f"{sys.argv[1]}/{name}.pb", "wb").write(request.SerializeToString())
    text = json.dumps(with_hex(json_format.MessageToDict(request)))
    open(f"{sys.argv[1]}/{name}.json", "w").write(text)
