#!/usr/bin/env python3
"""Two services that OpenTelemetry's SDK for Python records. Writes its requests as lines of JSON, as the Collector's file
exporter does. Usage: record.py OUT.jsonl. Needs opentelemetry-sdk and opentelemetry-exporter-otlp-proto-common 1.45."""

import base64
import json
import logging
import sys
import time

from google.protobuf import json_format
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.propagate import extract, inject
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

IDS = {"traceId", "spanId", "parentSpanId"}
OUT = open(sys.argv[1], "w", encoding="utf-8")


def with_hex(value):
    """OTLP has identifiers in hexadecimal digits, where protobuf's JSON has base64."""
    if isinstance(value, dict):
        return {
            key: base64.b64decode(inner).hex() if key in IDS else with_hex(inner) for key, inner in value.items()
        }
    return [with_hex(inner) for inner in value] if isinstance(value, list) else value


def write(request):
    values = with_hex(json_format.MessageToDict(request, use_integers_for_enums=True))
    OUT.write(json.dumps(values, separators=(",", ":")) + "\n")
    OUT.flush()


class Spans(SpanExporter):
    def export(self, spans):
        write(encode_spans(spans))
        return SpanExportResult.SUCCESS


class Logs(LogRecordExporter):
    def export(self, batch):
        write(encode_logs(batch))

    def shutdown(self):
        pass

    def force_flush(self, timeout_millis=0):
        return True


class Metrics(MetricExporter):
    def export(self, metrics_data, timeout_millis=0, **_):
        write(encode_metrics(metrics_data))
        return MetricExportResult.SUCCESS

    def shutdown(self, timeout_millis=0, **_):
        pass

    def force_flush(self, timeout_millis=0):
        return True


class Service:
    def __init__(self, name, process, host):
        resource = Resource.create({"service.name": name, "process.pid": process, "host.name": host})
        spans, logs = TracerProvider(resource=resource), LoggerProvider(resource=resource)
        spans.add_span_processor(BatchSpanProcessor(Spans()))
        logs.add_log_record_processor(BatchLogRecordProcessor(Logs()))
        reader = PeriodicExportingMetricReader(Metrics(), export_interval_millis=3_600_000)
        metrics = MeterProvider(resource=resource, metric_readers=[reader])
        self.log = logging.getLogger(name)
        self.log.setLevel(logging.INFO)
        self.log.addHandler(LoggingHandler(logger_provider=logs))
        self.tracer, self.meter = spans.get_tracer("shop.tracer", "1.0"), metrics.get_meter("shop.meter")
        self.providers = [spans, logs, metrics]


def check_stock(stock, headers, user, durations):
    with stock.tracer.start_as_current_span(
        "check stock", context=extract(headers), kind=trace.SpanKind.CLIENT, attributes={"items": [1, 2, user]}
    ) as check:
        begin = time.time()
        with stock.tracer.start_as_current_span("SELECT", attributes={"db.system": "postgresql"}):
            time.sleep(0.0005 * (user + 1))
        durations.record(time.time() - begin, {"table": "items"})
        if user == 2:
            check.add_event("sold out", {"item": 2})
            check.set_status(trace.StatusCode.ERROR, "item 2 is sold out")
            stock.log.warning("item %d is sold out", 2)


def main():
    cart, stock = Service("cart", 4711, "web-1"), Service("stock", 815, "db-1")
    requests = cart.meter.create_counter("http.server.requests", unit="{request}")
    durations = stock.meter.create_histogram("db.query.duration", unit="s")
    for user in range(3):
        with cart.tracer.start_as_current_span(
            "GET /cart", kind=trace.SpanKind.SERVER, attributes={"http.route": "/cart", "user.id": user}
        ):
            cart.log.info("cart of user %d", user)
            headers = {}
            inject(headers)
            time.sleep(0.001)
            check_stock(stock, headers, user, durations)
            requests.add(1, {"http.route": "/cart"})
    for service in (cart, stock):
        for provider in service.providers:
            provider.shutdown()


main()
