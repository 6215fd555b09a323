//! Sample files of each type, as their programs write them.

/// One line from each common logger, with its file description.
pub(super) const LOG_LINES: &[(&str, &str)] = &[
    (
        r#"{"v":0,"name":"shop","msg":"order 7","level":30,"hostname":"box","pid":77,"time":"2026-11-20T20:19:47.250Z","order":7}"#,
        "a bunyan log",
    ),
    // tracing-bunyan-formatter
    (
        r#"{"v":0,"name":"shop","msg":"[ORDER - START]","level":30,"hostname":"box","pid":77,"time":"2026-11-20T20:19:47.25Z","target":"shop::orders","line":12,"file":"src/orders.rs","id":7}"#,
        "a bunyan log",
    ),
    (
        r#"{"level":30,"time":1795205987250,"pid":77,"hostname":"box","name":"shop","msg":"hello"}"#,
        "a pino log",
    ),
    (r#"{"level":30,"time":1795205987250,"pid":77,"hostname":"box","id":7,"msg":"hello"}"#, "a pino log"),
    (
        r#"{"timestamp":"2026-11-20T20:19:47.250Z","level":"INFO","fields":{"message":"hello","id":7},"target":"shop::orders"}"#,
        "a tracing-subscriber log (Rust)",
    ),
    (
        r#"{"time":"2026-11-20T20:19:47.25-05:00","level":"INFO","msg":"hello","id":7,"name":"x"}"#,
        "a slog or logrus log (Go)",
    ),
    (
        r#"{"animal":"walrus","level":"info","msg":"a walrus","time":"2026-11-20T20:19:47-04:00","name":"x"}"#,
        "a slog or logrus log (Go)",
    ),
    (
        r#"{"level":"info","ts":1795205987.2504,"caller":"a/b.go:7","msg":"hello","id":7}"#,
        "a zap or Caddy log (Go)",
    ),
    (
        r#"{"level":"info","ts":1795205987.2504,"logger":"http.log.access","msg":"handled request","request":{"proto":"HTTP/2.0"},"status":200}"#,
        "a zap or Caddy log (Go)",
    ),
    (r#"{"ts":1795205987250.4,"caller":"a/b.go:7","msg":"hello","v":0}"#, "a klog log (Kubernetes)"),
    (r#"{"level":"debug","id":7,"time":1795205987,"message":"hello"}"#, "a zerolog log (Go)"),
    (
        r#"{"event":"hello","level":"info","timestamp":"2026-11-20T20:19:47.250000Z","name":"x"}"#,
        "a structlog log (Python)",
    ),
    (
        r#"{"asctime":"2026-11-20 20:19:47,250","name":"shop","levelname":"INFO","message":"hello"}"#,
        "a python-json-logger log",
    ),
    (
        r#"{"level":"info","message":"hello","timestamp":"2026-11-20T20:19:47.250Z","id":7}"#,
        "a winston log (Node.js)",
    ),
    (
        r#"{"instant":{"epochSecond":1795205987,"nanoOfSecond":250000007},"thread":"main","level":"INFO","loggerName":"shop","message":"hello"}"#,
        "a Log4j log (JSON layout)",
    ),
    (
        r#"{"timeMillis":1795205987250,"thread":"main","level":"INFO","loggerName":"shop","message":"hello"}"#,
        "a Log4j log (JSON layout)",
    ),
    (
        r#"{"@timestamp":"2026-11-20T20:19:47.250+01:00","@version":"1","message":"hello","logger_name":"shop","level":"INFO"}"#,
        "a Logback or Logstash log",
    ),
    (
        r#"{"@timestamp":"2026-11-20T20:19:47.250Z","log.level":"INFO","message":"hello","ecs.version":"1.2.0","log.logger":"shop"}"#,
        "a log in Elastic Common Schema (ECS)",
    ),
    (
        r#"{"@timestamp":"2026-11-20T20:19:47.250Z","ecs":{"version":"1.6.0"},"log":{"logger":"shop"},"message":"hello"}"#,
        "a log in Elastic Common Schema (ECS)",
    ),
    (
        r#"{"@level":"info","@message":"hello","@module":"vault","@timestamp":"2026-11-20T20:19:47.250000Z"}"#,
        "an hclog log (Go)",
    ),
    (
        r#"{"@t":"2026-11-20T20:19:47.2500007Z","@mt":"Hello, {User}","User":"nina"}"#,
        "a Serilog log (compact JSON)",
    ),
    (
        r#"{"Timestamp":"2026-11-20T20:19:47.2500007+01:00","Level":"Information","MessageTemplate":"hello","Properties":{"User":"nina"}}"#,
        "a Serilog log (JSON)",
    ),
    (
        r#"{ "time": "2026-11-20 20:19:47.2500", "level": "INFO", "message": "hello", "id": 7 }"#,
        "an NLog or loguru log",
    ),
    (
        r#"{"version":"1.1","host":"box","short_message":"hello","timestamp":1795205987.25,"level":6,"_id":7}"#,
        "GELF messages (Graylog)",
    ),
    (
        r#"{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1795205987250000","PRIORITY":"6","_PID":"77","SYSLOG_IDENTIFIER":"shop","MESSAGE":"hello"}"#,
        "a systemd journal as JSON",
    ),
    (
        r#"{"log":"hello\n","stream":"stdout","time":"2026-11-20T20:19:47.250000007Z"}"#,
        "a Docker log (json-file)",
    ),
    (
        r#"{"message":"hello","context":{},"level":200,"level_name":"INFO","channel":"shop","datetime":"2026-11-20T20:19:47.250000+00:00","extra":{}}"#,
        "a Monolog log (PHP)",
    ),
    (
        r#"{"t":{"$date":"2026-11-20T20:19:47.250+00:00"},"s":"I","c":"NETWORK","id":22943,"ctx":"listener","msg":"Connection accepted"}"#,
        "a MongoDB log",
    ),
    (
        r#"{"timestamp":"2026-11-20T20:19:47.250000+0100","flow_id":7,"event_type":"alert","src_ip":"10.0.0.1"}"#,
        "Suricata events (EVE)",
    ),
    (
        r#"{"specversion":"1.0","type":"order","source":"/shop","id":"7","time":"2026-11-20T20:19:47Z","data":{}}"#,
        "CloudEvents",
    ),
    (
        r#"{"host":"box","application":"shop","timestamp":"2026-11-20T20:19:47.250000Z","level":"info","pid":7,"name":"Order","message":"hello"}"#,
        "a Semantic Logger log (Ruby)",
    ),
    (r#"{"severity":"INFO","message":"hello","timestamp":"2026-11-20T20:19:47.250Z"}"#, "a Google Cloud log"),
];

/// Texts of one or a few lines.
const TEXTS: &[(&str, &str)] = &[
    ("hello", "a text file"),
    ("grüezi\n\tmitenand\r\n", "a text file"),
    ("{\"traceEvents\": [", "a trace in Chrome's JSON format"),
    ("[{\"name\":\"x\",\"ph\":\"B\",\"ts\":1}", "a trace in Chrome's JSON format"),
    ("{\"displayTimeUnit\":\"ns\",\"otherData\":{}", "a trace in Chrome's JSON format"),
    (" [1, 2]", "a JSON file"),
    ("{\"a\":1}", "a JSON file"),
    ("{\"a\":1}\n{\"a\":2}\n", "JSON Lines from another program"),
    (
        "{\"ts\":1,\"name\":\"a\",\"x\":1}\n{\"ts\":2,\"name\":\"a\",\"x\":1}\n",
        "JSON Lines from another program",
    ),
    ("{\"level\":\"info\",\"message\":\"hello\"}\n", "a log without times, of winston or another logger"),
    ("{\"resourceSpans\":[{\"resource\":{\"attributes\":[]}}]}", "OpenTelemetry data (OTLP in JSON)"),
    ("{\"resourceLogs\":[]}", "OpenTelemetry data (OTLP in JSON)"),
    ("{\"data\":[{\"traceID\":\"1\",\"spans\":[]}]}", "Jaeger spans (JSON)"),
    ("[{\"traceId\":\"1\",\"id\":\"2\",\"name\":\"get\",\"timestamp\":1}]", "Zipkin spans (JSON)"),
    (
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{}}",
        "a speedscope profile",
    ),
    ("{\"meta\":{\"categories\":[],\"interval\":1},\"threads\":[]}", "a Firefox profile"),
    (
        "{\"log\":{\"version\":\"1.2\",\"creator\":{\"name\":\"x\"},\"entries\":[]}}",
        "a HAR file (requests of a browser)",
    ),
    (
        "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\"}}],\"startTime\":1}",
        "a V8 CPU profile (.cpuprofile)",
    ),
    ("{\"head\":{\"callFrame\":{}}}", "a V8 heap profile (.heapprofile)"),
    ("{\"snapshot\":{\"meta\":{}}}", "a V8 heap snapshot"),
    ("{\"constants\":{\"logEventTypes\":{}},\"events\":[]}", "a Chrome NetLog"),
    ("execve(\"/bin/ls\", [\"ls\"], 0x7ff /* 9 vars */) = 0\n", "strace output"),
    ("[pid 7] 12:00:01.5 openat(AT_FDCWD, \"x\") = -1 ENOENT", "strace output"),
    ("# tracer: function\n#", "ftrace output"),
    ("cpus=4\n            bash-1234  [000]   123.456789: sched_switch: a", "ftrace output"),
    ("            bash-1234    [000] d..2.   123.456789: sched_switch: a\n", "ftrace output"),
    ("<?xml version=\"1.0\"?>", "an XML file"),
    ("<!DOCTYPE html><html>", "an HTML page"),
    ("Nov 28 11:11:35 box sshd[7]: hello\n", "a syslog"),
    ("Nov  8 11:11:35 box kernel: hello\n", "a syslog"),
    ("2026-11-28T11:11:35.123456+00:00 box sshd[7]: hello\n", "a syslog"),
    ("<34>1 2026-11-28T11:11:35.003Z box su - ID47 - hello\n", "a syslog"),
    ("<13>Nov 28 11:11:35 box su: hello\n", "a syslog"),
    ("2026-11-28T11:11:35.669794202Z stdout F hello\n", "a syslog"),
    ("__CURSOR=s=1\n__REALTIME_TIMESTAMP=1795205987000000\n", "a systemd journal in its export format"),
    ("time=2026-11-28T11:11:35Z level=info msg=\"hello \\\"you\\\"\" id=7\n", "a log in logfmt"),
    ("level=info ts=2026-11-28T11:11:35Z caller=main.go:7 msg=hello\n", "a log in logfmt"),
    (
        "swapper     0 [000] 12345.678901:          1 cycles:  ffffffff81 a ([kernel])\n",
        "the output of `perf script`",
    ),
    ("perf  7/8 [001] 1.5: sched:sched_switch: a\n", "the output of `perf script`"),
    ("main;a;b 12\nmain;c 1\n", "folded call stacks"),
    ("--------- beginning of main\n", "an Android log (logcat)"),
    ("11-28 11:11:35.123  1234  1234 I Tag: hello\n", "an Android log (logcat)"),
    ("I1128 11:11:35.123456    7 a.go:12] hello\n", "a glog or klog log"),
    ("[    0.000000] Linux version 6.1\n", "a kernel log (dmesg)"),
    ("[123456.789012] usb 1-1: hello\n", "a kernel log (dmesg)"),
    ("[11:11:35.123456789] (+?.?????????) box a: { }\n", "text of babeltrace2 or `ichnos cat`"),
    (
        "127.0.0.1 - - [10/Oct/2026:13:55:36 -0700] \"GET / HTTP/1.0\" 200 7\n",
        "an access log of a web server",
    ),
    ("type=SYSCALL msg=audit(1795205987.243:24287): arch=c0\n", "an auditd log"),
    ("$date today $end\n$timescale 1 ns $end\n", "a VCD file (signals of a simulation)"),
    ("(1795205987.249713) can0 123#DEADBEEF\n", "a candump log (CAN)"),
    ("# callgrind format\nversion: 1\n", "a Callgrind profile"),
    ("v8-version,12,4,254,21,-node.33,0\n", "a V8 log"),
    ("CEF:0|a|b|1|2|c|5|\n", "events in CEF"),
    ("Attaching 1 probe...\n", "the output of bpftrace"),
];

/// Returns Perfetto packets: a time and a 200-byte string, with a two-byte length.
fn perfetto() -> Vec<u8> {
    let mut packet =
        b"\x0a\xdb\x01\x40\x80\xbc\xa8\x8e\xd7\xca\xf6\xf4\x18\x18\x8f\x4e\x50\x02\xa2\x38\xc8\x01".to_vec();
    packet.resize(packet.len() + 200, b'x');
    let length = u8::try_from(packet.len() - 3 - 128).unwrap_or_default();
    packet[1] = 0x80 | length;
    packet
}

fn fast_serialization(name: &str) -> Vec<u8> {
    let mut bytes = b"\x14\0\0\0!FastSerialization.1\x05\x05\x01\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend((name.len() as u32).to_le_bytes());
    bytes.extend(name.as_bytes());
    bytes.push(6);
    bytes
}

fn memtrace() -> Vec<u8> {
    let mut bytes = b"\xc1\x1f\xfc\xc1\0\x04\0\0".to_vec();
    let time = 1_795_205_987_000_000_u64.to_le_bytes();
    bytes.extend([time, time].concat());
    bytes.extend(b"\0\0\0\0\x03\0\x07\0\0\0\0\0\0\0");
    bytes
}

/// Returns a file of each type, and its description.
pub(super) fn all() -> Vec<(Vec<u8>, &'static str)> {
    let mut samples: Vec<(Vec<u8>, &'static str)> = [TEXTS, LOG_LINES]
        .concat()
        .into_iter()
        .map(|(text, what)| (text.as_bytes().to_vec(), what))
        .collect();
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let etlx = "Microsoft.Diagnostics.Tracing.Etlx.TraceLog";
    samples.extend([
        (fast_serialization(etlx), "an ETLX file (the cache of TraceEvent and PerfView)"),
        (fast_serialization("GCHeapDump"), "a .NET heap dump (dotnet-gcdump)"),
        (memtrace(), "a memtrace file (OCaml)"),
        (b"go 1.22 trace\0\0\0".to_vec(), "a Go execution trace"),
        (
            b";\n; Version     SEGGER SystemViewer V2.42\n; Author a\n;\n\n\0\0\0".to_vec(),
            "a SEGGER SystemView recording",
        ),
        (b"\x89MCAP0\r\n\x01".to_vec(), "an MCAP file (robotics)"),
        (b"#ROSBAG V2.0\n".to_vec(), "a ROS bag"),
        (b"ElfFile\0\0\0\0\0".to_vec(), "a Windows event log (EVTX)"),
        (b"MDF     4.10    ".to_vec(), "a measurement file (ASAM MDF)"),
        (b"MDMP\x93\xa7\0\0".to_vec(), "a Windows minidump"),
        (b"tZst\x01".to_vec(), "a Tracy capture"),
        (utf_16("\u{feff}{\"ts\":1}"), "UTF-16 text"),
        (utf_16("{\"ts\":1,\"name\":\"a\"}"), "UTF-16 text"),
        (perfetto(), "a Perfetto trace"),
    ]);
    samples
}

/// Returns long files of each type.
pub(super) fn long() -> Vec<(Vec<u8>, &'static str)> {
    const LENGTH: usize = 70_000;
    let mut long: Vec<(Vec<u8>, &'static str)> = all()
        .into_iter()
        .map(|(sample, what)| {
            // Whole lines are repeated. Single objects and binary files are extended.
            let is_line =
                sample.ends_with(b"\n") || LOG_LINES.iter().any(|(line, _)| line.as_bytes() == sample);
            let mut bytes = sample.clone();
            while bytes.len() < LENGTH {
                if is_line {
                    bytes.extend(if bytes.ends_with(b"\n") { &b""[..] } else { b"\n" });
                    bytes.extend(&sample);
                } else if matches!(what, "a Perfetto trace" | "UTF-16 text") {
                    bytes.extend(&sample);
                } else {
                    let text = std::str::from_utf8(&sample).is_ok_and(|text| !text.contains('\0'));
                    bytes.extend(if text { b" ,\n" } else { b"\0\x07\0" });
                }
            }
            (bytes, what)
        })
        .collect();
    // Values that are longer than the examined bytes, and late members.
    let text = |bytes: usize| "x".repeat(bytes);
    for (sample, what) in [
        (
            format!("{{\"meta\":{{\"categories\":[\"{}\"],\"interval\":1}}}}", text(3_000)),
            "a Firefox profile",
        ),
        (
            format!("{{\"$schema\":\"https://www.speedscope.app/x\",\"name\":\"{}\"}}", text(LENGTH)),
            "a speedscope profile",
        ),
        (
            format!(
                "{{\"v\":0,\"name\":\"a\",\"hostname\":\"b\",\"pid\":1,\"level\":30,\"time\":\"x\",\"msg\":\"{}\"}}",
                text(LENGTH)
            ),
            "a bunyan log",
        ),
        (text(LENGTH), "a text file"),
        ("ü".repeat(LENGTH), "a text file"),
        (format!("{{\"a\":[{}", "1,".repeat(LENGTH)), "a JSON file"),
    ] {
        long.push((sample.into_bytes(), what));
    }
    long
}
