//! PROP-1.0 tags, which give fields their roles.

use crate::reading::{damage, events, observed, packets, trace};
use ichnos_testing::encoder::{Encoder, Order};

/// Returns a trace with all tags: two data stream classes, duplicate ids, three clocks.
fn tagged() -> String {
    let int = |name: &str, size: u32| {
        format!(r#"{{"name":"{name}","field-type":{{"field-type":"int","size":{size},"alignment":8}}}}"#)
    };
    let tag = |name: &str, scope: &str, path: &str, more: &str| {
        format!(r#"{{"tag":"{name}","path":{{"scope":"{scope}","path":[{path}]}}{more}}}"#)
    };
    let clock = |name: &str| format!(r#","data-stream-clock-class-name":"{name}""#);
    let header = "trace-packet-header";
    let context = "data-stream-packet-context";
    let event = "data-stream-event-record-header";
    let (now, after) = ("update-data-stream-clock-now", "update-data-stream-clock-after-packet");
    let stream = |id: u32| {
        format!(
            r#"{{"fragment":"data-stream-class","id":{id},
            "packet-context-field-type":{{"field-type":"struct","fields":[{}]}},
            "event-record-header-field-type":{{"field-type":"struct","fields":[
                {{"name":"id","field-type":{{"field-type":"enum","size":5,"alignment":8,
                    "members":{{"compact":[{{"lower":0,"upper":30}}],"extended":[31]}}}}}},
                {{"name":"v","field-type":{{"field-type":"variant","tag":["id"],"choices":[
                    {{"name":"compact","field-type":{{"field-type":"struct","fields":[
                        {{"name":"ts","field-type":{{"field-type":"int","size":11}}}}]}}}},
                    {{"name":"extended","field-type":{{"field-type":"struct","alignment":8,"fields":[
                        {},{{"name":"ts","field-type":{{"field-type":"varint"}}}}]}}}}]}}}}]}},
            "event-record-context-field-type":{{"field-type":"struct","fields":[{}]}},
            "tags":[{}]}}"#,
            [
                int("total", 32),
                int("content", 32),
                int("lost", 8),
                int("number", 8),
                int("begin", 16),
                int("end", 16),
                int("other", 8)
            ]
            .join(","),
            int("id", 16),
            int("third", 8),
            [
                tag("packet-total-size", context, r#""total""#, ""),
                tag("packet-content-size", context, r#""content""#, ""),
                tag("discarded-event-record-count", context, r#""lost""#, r#","reason":"legacy""#),
                tag("packet-sequence-number", context, r#""number""#, ""),
                tag(now, context, r#""begin""#, &clock("first")),
                tag(after, context, r#""end""#, &clock("first")),
                tag(now, context, r#""other""#, &clock("second")),
                tag("event-record-class-id", event, r#""id""#, ""),
                tag("event-record-class-id", event, r#""v","id""#, ""),
                tag(now, event, r#""v","ts""#, &clock("first")),
                tag(now, "data-stream-event-record-context", r#""third""#, &clock("third")),
            ]
            .join(",")
        )
    };
    let class = |stream: u32, id: u32| {
        format!(
            r#"{{"fragment":"event-record-class","id":{id},"parent-data-stream-class-id":{stream},
            "payload-field-type":{{"field-type":"struct","fields":[{}]}}}}"#,
            int("value", 8)
        )
    };
    format!(
        r#"["CTF 2",
        {{"fragment":"data-stream-clock-class","name":"first","freq":1000,"offset-seconds":-2,
            "offset-cycles":500,"is-absolute":true}},
        {{"fragment":"data-stream-clock-class","name":"second","freq":10}},
        {{"fragment":"data-stream-clock-class","name":"third","freq":1}},
        {{"fragment":"trace-class","default-byte-order":"le","uuid":"00112233-4455-6677-8899-aabbccddeeff",
            "packet-header-field-type":{{"field-type":"struct","fields":[{},
                {{"name":"uuid","field-type":{{"field-type":"array","length":16,"element-field-type":
                    {{"field-type":"int","size":8,"alignment":8}}}}}},{}]}},
            "tags":[{}]}},{}]"#,
        int("magic", 32),
        [int("class", 8), int("class again", 8), int("stream", 8), int("stream again", 8)].join(","),
        [
            tag("magic", header, r#""magic""#, ""),
            tag("uuid", header, r#""uuid""#, ""),
            tag("data-stream-class-id", header, r#""class""#, ""),
            tag("data-stream-class-id", header, r#""class again""#, ""),
            tag("data-stream-id", header, r#""stream""#, ""),
            tag("data-stream-id", header, r#""stream again""#, ""),
        ]
        .join(","),
        [stream(3), stream(7), class(3, 4), class(3, 1000), class(7, 4), class(7, 1000)].join(",")
    )
}

/// Written values of a [`tagged`] packet.
struct TaggedPacket {
    class: i128,
    stream: i128,
    lost: i128,
    number: i128,
    begin: i128,
    end: i128,
    other: i128,
    /// Id, partial timestamp, value of the third clock, value.
    events: Vec<(i128, i128, i128, i128)>,
}

impl TaggedPacket {
    fn bytes(&self) -> Vec<u8> {
        let mut e = Encoder::default();
        e.int(0xc1fc_1fc1, 32, Order::Le);
        e.raw(&[0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff]);
        // The first ids do not match a data stream: the last ids count.
        e.int(99, 8, Order::Le).int(self.class, 8, Order::Le);
        e.int(98, 8, Order::Le).int(self.stream, 8, Order::Le);
        let sizes = e.at;
        e.int(0, 32, Order::Le).int(0, 32, Order::Le);
        e.int(self.lost, 8, Order::Le).int(self.number, 8, Order::Le);
        e.int(self.begin, 16, Order::Le).int(self.end, 16, Order::Le).int(self.other, 8, Order::Le);
        for (id, time, third, value) in &self.events {
            e.align(8);
            if *id < 31 {
                e.int(*id, 5, Order::Le).int(*time, 11, Order::Le);
            } else {
                e.int(31, 5, Order::Le).align(8).int(*id, 16, Order::Le).uleb(*time as u128);
            }
            e.int(*third, 8, Order::Le).int(*value, 8, Order::Le);
        }
        let content = e.at;
        e.raw(&[0xee; 5]);
        let total = e.at;
        e.patch(sizes, total, 32, Order::Le);
        e.patch(sizes + 32, content, 32, Order::Le);
        e.bytes
    }
}

#[test]
fn all_tags() {
    let packets_written = [
        TaggedPacket {
            class: 3,
            stream: 1,
            lost: 250,
            number: 255,
            begin: 65_000,
            end: 65_100,
            other: 9,
            events: vec![(4, 65_050 % 2048, 77, 1), (1000, 65_060 % 128, 78, 2)],
        },
        // Wraps of the clock, the counter and the sequence number, with a missing sequence number.
        TaggedPacket {
            class: 3,
            stream: 1,
            lost: 4,
            number: 1,
            begin: 100,
            end: 5_000,
            other: 3,
            events: vec![(4, (65_536 + 150) % 2048, 79, 3), (4, 149, 80, 4), (1000, 7, 81, 5)],
        },
        TaggedPacket {
            class: 7,
            stream: 1,
            lost: 0,
            number: 0,
            begin: 10,
            end: 30,
            other: 0,
            events: vec![(4, 20, 0, 6)],
        },
    ];
    let bytes: Vec<u8> = packets_written.iter().flat_map(TaggedPacket::bytes).collect();
    let trace = trace(tagged().as_bytes(), &[("stream", &bytes)]);
    let observed = observed(&trace);
    assert_eq!(damage(&observed).len(), 0, "{:#?}", damage(&observed));
    assert_eq!(trace.streams.len(), 2);
    // 1 kHz and -1.5 s.
    let ns = |cycles: i128| (cycles - 1500) * 1_000_000;
    let facts = packets(&observed);
    let found: Vec<_> = facts.iter().map(|p| (p.begin, p.end, p.sequence, p.discarded)).collect();
    assert_eq!(
        found,
        [
            (Some(ns(65_000)), Some(ns(65_100)), Some(255), Some(250)),
            (Some(ns(65_636)), Some(ns(65_536 + 5_000)), Some(1), Some(4)),
            (Some(ns(10)), Some(ns(30)), Some(0), Some(0)),
        ]
    );
    for (facts, written) in facts.iter().zip(&packets_written) {
        assert_eq!(facts.total, written.bytes().len() as u64 * 8);
        assert_eq!(facts.content, facts.total - 40);
        let find = |name: &str| facts.fields.iter().find(|(path, _)| path == name).map(|(_, v)| v.clone());
        assert_eq!(find("header.magic").as_deref(), Some("u:3254525889"));
        assert_eq!(find("header.uuid[15]").as_deref(), Some("u:255"));
        assert_eq!(find("context.other"), Some(format!("u:{}", written.other)));
    }
    let cycles: Vec<_> = events(&observed).iter().map(|e| (e.id, e.cycles, e.nanoseconds)).collect();
    let second = 65_536 + 2048 + 149;
    // A 7-bit timestamp: the next value whose lower bits are 7.
    let third = (second / 128 + 1) * 128 + 7;
    assert!(second % 128 > 7);
    let expected = [(4, 65_050), (1000, 65_060), (4, 65_686), (4, second), (1000, third), (4, 20)];
    assert_eq!(cycles, expected.map(|(id, c)| (id, Some(c), Some(ns(c.into())))));
    let values: Vec<&str> = events(&observed)
        .iter()
        .map(|event| event.fields.iter().find(|(path, _)| path == "payload.value").unwrap().1.as_str())
        .collect();
    assert_eq!(values, ["u:1", "u:2", "u:3", "u:4", "u:5", "u:6"]);
    // Packets update the second clock. Events update the third clock, after their headers.
    let others: Vec<_> = events(&observed).iter().map(|event| event.others.clone()).collect();
    assert_eq!(others[0], [(1, 9), (2, 0)]);
    assert_eq!(others[1], [(1, 9), (2, 77)]);
    assert_eq!(others[2], [(1, 256 + 3), (2, 78)]);
    // The number of events lost before the first packet is unknown.
    use crate::reading::MessageReport;
    let lost: Vec<_> = observed
        .iter()
        .filter(|observed| {
            matches!(observed, MessageReport::DiscardedEvents(_) | MessageReport::DiscardedPackets(_))
        })
        .collect();
    assert_eq!(
        lost,
        [
            &MessageReport::DiscardedEvents(None),
            &MessageReport::DiscardedEvents(Some(10)),
            &MessageReport::DiscardedPackets(Some(1))
        ]
    );
}

#[test]
fn ids_are_zero_where_no_field_tells_them() {
    let metadata = r#"["CTF 2",{"fragment":"trace-class","default-byte-order":"be"},
        {"fragment":"data-stream-class","id":0},{"fragment":"data-stream-class","id":5},
        {"fragment":"event-record-class","payload-field-type":{"field-type":"int","size":12}},
        {"fragment":"event-record-class","id":1,"payload-field-type":{"field-type":"int","size":7}}]"#;
    // Without sizes: a single packet with two 12-bit events. The root is not a structure.
    let observed = observed(&trace(metadata.as_bytes(), &[("stream", &[0xab, 0xcd, 0xef])]));
    let values: Vec<_> = events(&observed).iter().map(|event| event.fields.clone()).collect();
    assert_eq!(
        values,
        [[("payload".to_owned(), "u:2748".to_owned())], [("payload".to_owned(), "u:3567".to_owned())]]
    );
    assert_eq!(damage(&observed).len(), 0);
}

/// A clock continues from packet to packet, and event record contexts may set it.
#[test]
fn a_clock_goes_on() {
    let metadata = r#"["CTF 2",{"fragment":"trace-class","default-byte-order":"le"},
        {"fragment":"data-stream-clock-class","name":"c","freq":1000000000},
        {"fragment":"data-stream-class","packet-context-field-type":{"field-type":"struct","fields":[
            {"name":"total","field-type":{"field-type":"int","size":8}}]},
          "event-record-context-field-type":{"field-type":"int","size":8},
          "tags":[
            {"tag":"packet-total-size","path":{"scope":"data-stream-packet-context","path":["total"]}},
            {"tag":"update-data-stream-clock-now","data-stream-clock-class-name":"c",
             "path":{"scope":"data-stream-event-record-context","path":[]}}]},
        {"fragment":"event-record-class"}]"#;
    let stream = [24, 200, 250, 24, 3, 1, 16, 0];
    let observed = observed(&trace(metadata.as_bytes(), &[("stream", &stream)]));
    let times: Vec<_> = events(&observed).iter().map(|event| event.nanoseconds.unwrap()).collect();
    assert_eq!(times, [200, 250, 256 + 3, 512 + 1, 768]);
    assert_eq!(damage(&observed).len(), 0);
}
