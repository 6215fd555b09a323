//! The document on structured records, sentence by sentence.
//!
//! For each requirement (must, may, reserved and similar), hand-written bytes that follow it, bytes that break it, and
//! the expected result. Lines are quoted from the document. Results are `SEVERITY timestamp name:type=value...` or the
//! fatal rule, and then each broken rule with its byte offset, the expected value and the found value.

use std::fmt::Write;

use ichnos_fuchsia::log::{CheckOptions, LogError, Message, Rule, Value};

use crate::support::{broken, bytes};

struct Fixture {
    lines: &'static str,
    says: &'static str,
    bytes: &'static str,
    reads: &'static str,
}

const fn fixture(
    lines: &'static str,
    says: &'static str,
    bytes: &'static str,
    reads: &'static str,
) -> Fixture {
    Fixture { lines, says, bytes, reads }
}

const FIXTURES: &[Fixture] = &[
    fixture(
        "7",
        "a record is at most 32 KiB: its size has 12 bits for words, which is less",
        "word:3000000000000029 word:0000000000000001",
        "INFO 1",
    ),
    fixture(
        "11",
        "integers are little-endian; signed ones are two's complement",
        "59 00 00 00 00 00 00 30 02 01 00 00 00 00 00 00 33 00 01 80 00 00 00 00 'n' _ fe ff ff ff ff ff ff ff",
        "INFO 258 n:i64=-2",
    ),
    fixture("13", "timestamps are signed", "word:3000000000000029 word:ffffffffffffffff", "INFO -1"),
    fixture(
        "17",
        "a reference without its highest bit is the empty string",
        "word:3000000000000049 word:0000000000000001 word:0000000080010026 'n' _",
        "INFO 1 n:str=\"\"",
    ),
    fixture(
        "17",
        "a reference with its highest bit set tells the length of what follows",
        "word:3000000000000059 word:0000000000000001 word:0000800380010036 'n' _ 'abc' _",
        "INFO 1 n:str=\"abc\"",
    ),
    fixture(
        "17",
        "other references without their highest bit are reserved (of a name)",
        "word:3000000000000049 word:0000000000000001 word:0000000000050024 word:0000000000000007",
        "unreadable; name-ref-reserved@18 0x0 0x5",
    ),
    fixture(
        "17",
        "other references without their highest bit are reserved (of a value)",
        "word:3000000000000059 word:0000000000000001 word:0000000180010036 'n' _ 'a' _",
        "unreadable; value-ref-reserved@20 0x0 0x1",
    ),
    fixture(
        "17",
        "strings are UTF-8",
        "word:3000000000000059 word:0000000000000001 word:0000800280010036 'n' _ 61 ff _",
        "unreadable; value-utf8@33 0x0 0xff",
    ),
    fixture(
        "17",
        "strings are padded with zeros",
        "word:3000000000000059 word:0000000000000001 word:0000800280010036 'n' _ 61 62 00 00 00 00 00 01",
        "INFO 1 n:str=\"ab\"; value-padding@34 0x0 0x100000000000000",
    ),
    fixture(
        "17",
        "a length of 0 with the highest bit set is the empty string, too",
        "word:3000000000000049 word:0000000000000001 word:0000800080010026 'n' _",
        "INFO 1 n:str=\"\"",
    ),
    fixture(
        "19",
        "records are whole words: what is behind the last one is not of the record",
        "word:3000000000000029 word:0000000000000001 00 00 00",
        "INFO 1; trailing-bytes@16 0x0 0x3",
    ),
    fixture(
        "25",
        "header and timestamp are needed: no header",
        "29 00 00 00",
        "unreadable; record-header-truncated@0 0x8 0x4",
    ),
    fixture(
        "25",
        "header and timestamp are needed: no timestamp",
        "word:3000000000000029 01 02",
        "unreadable; timestamp-truncated@8 0x8 0x2",
    ),
    fixture(
        "40",
        "the type of a record must be 9",
        "word:3000000000000024 word:0000000000000001",
        "unreadable; record-type@0 0x9 0x4",
    ),
    fixture(
        "41",
        "the size includes the header",
        "word:3000000000000019 word:0000000000000001",
        "unreadable; record-size-minimum@0 0x2 0x1",
    ),
    fixture(
        "41",
        "the size is that of the record",
        "word:3000000000000039 word:0000000000000001",
        "unreadable; record-truncated@0 0x18 0x10",
    ),
    fixture(
        "42",
        "bits 16 to 55 must be 0: bits 48 to 55 still are",
        "word:3001000000000029 word:0000000000000001",
        "INFO 1; record-reserved@6 0x0 0x1",
    ),
    fixture(
        "42",
        "bits 16 to 55 must be 0: bits 16 to 47 have become the tag",
        "word:3000000000050029 word:0000000000000001",
        "INFO 1",
    ),
    fixture(
        "43",
        "the severity is the highest byte; any may be",
        "word:2e00000000000029 word:0000000000000001",
        "DEBUG 1",
    ),
    fixture(
        "46",
        "there may be other types of records some day; they are not read",
        "word:300000000000002a word:0000000000000001",
        "unreadable; record-type@0 0x9 0xa",
    ),
    fixture(
        "50",
        "names are not empty, except those of printf",
        "word:3000000000000049 word:0000000000000001 word:0000000000000024 word:0000000000000007",
        "INFO 1 :u64=7; name-empty@16 0x1 0x0",
    ),
    fixture(
        "54",
        "a name is padded with zeros before its value",
        "word:3000000000000059 word:0000000000000001 word:0000000080010034 'n' 00 00 00 00 00 00 01 word:0000000000000007",
        "INFO 1 n:u64=7; name-padding@25 0x0 0x100000000000000",
    ),
    fixture(
        "54",
        "the name follows the header, and is UTF-8",
        "word:3000000000000059 word:0000000000000001 word:0000000080020034 'n' ff _ word:0000000000000007",
        "unreadable; name-utf8@25 0x0 0xff",
    ),
    fixture(
        "66",
        "the size of an argument includes its header",
        "word:3000000000000049 word:0000000000000001 word:0000000080010004 'n' _",
        "unreadable; argument-size-minimum@16 0x1 0x0",
    ),
    fixture(
        "66",
        "the size of an argument is that of header, name and value: too small",
        "word:3000000000000059 word:0000000000000001 word:0000000080010024 'n' _ word:0000000000000007",
        "unreadable; argument-size@16 0x3 0x2",
    ),
    fixture(
        "66",
        "the size of an argument is that of header, name and value: too large",
        "word:3000000000000069 word:0000000000000001 word:0000000080010044 'n' _ word:0000000000000007 word:0000000000000000",
        "unreadable; argument-size@16 0x3 0x4",
    ),
    fixture(
        "66",
        "an argument ends within its record",
        "word:3000000000000049 word:0000000000000001 word:0000000080010034 'n' _ word:0000000000000007",
        "unreadable; argument-beyond-record@16 0x2 0x3",
    ),
    fixture(
        "74",
        "the table of types: those of traces that are not in it are reserved (no value)",
        "word:3000000000000049 word:0000000000000001 word:0000000080010020 'n' _",
        "INFO 1 n:null; argument-type-null@16 0x0 0x0",
    ),
    fixture(
        "74",
        "the table of types: reserved (signed, 32 bits)",
        "word:3000000000000049 word:0000000000000001 word:0000000780010021 'n' _",
        "unreadable; argument-type-reserved@16 0x0 0x1",
    ),
    fixture(
        "74",
        "the table of types: reserved (unsigned, 32 bits)",
        "word:3000000000000049 word:0000000000000001 word:0000000780010022 'n' _",
        "unreadable; argument-type-reserved@16 0x0 0x2",
    ),
    fixture(
        "74",
        "the table of types: reserved (pointer)",
        "word:3000000000000059 word:0000000000000001 word:0000000080010037 'n' _ word:0000000000000007",
        "unreadable; argument-type-reserved@16 0x0 0x7",
    ),
    fixture(
        "74",
        "the table of types: reserved (koid)",
        "word:3000000000000059 word:0000000000000001 word:0000000080010038 'n' _ word:0000000000000007",
        "unreadable; argument-type-reserved@16 0x0 0x8",
    ),
    fixture(
        "74",
        "the table of types ends at 9",
        "word:3000000000000059 word:0000000000000001 word:000000008001003f 'n' _ word:0000000000000007",
        "unreadable; argument-type-unknown@16 0x0 0xf",
    ),
    fixture(
        "96",
        "signed integers are of type 3",
        "word:3000000000000059 word:0000000000000001 word:0000000080010033 'n' _ word:8000000000000000",
        "INFO 1 n:i64=-9223372036854775808",
    ),
    fixture(
        "99",
        "bits 32 to 63 of a signed integer must be 0",
        "word:3000000000000059 word:0000000000000001 word:8000000080010033 'n' _ word:0000000000000007",
        "INFO 1 n:i64=7; argument-reserved@20 0x0 0x80000000",
    ),
    fixture(
        "119",
        "unsigned integers are of type 4",
        "word:3000000000000059 word:0000000000000001 word:0000000080010034 'n' _ word:8000000000000000",
        "INFO 1 n:u64=9223372036854775808",
    ),
    fixture(
        "122",
        "bits 32 to 63 of an unsigned integer must be 0",
        "word:3000000000000059 word:0000000000000001 word:0000000180010034 'n' _ word:0000000000000007",
        "INFO 1 n:u64=7; argument-reserved@20 0x0 0x1",
    ),
    fixture(
        "142",
        "floats are of type 5",
        "word:3000000000000059 word:0000000000000001 word:0000000080010035 'n' _ word:bff8000000000000",
        "INFO 1 n:f64=-1.5",
    ),
    fixture(
        "145",
        "bits 32 to 63 of a float must be 0",
        "word:3000000000000059 word:0000000000000001 word:0001000080010035 'n' _ word:0000000000000000",
        "INFO 1 n:f64=0; argument-reserved@20 0x0 0x10000",
    ),
    fixture(
        "152",
        "strings come behind the name, padded",
        "word:3000000000000069 word:0000000000000001 word:0000800480090046 'name-of-9' _ 'four' _",
        "INFO 1 name-of-9:str=\"four\"",
    ),
    fixture(
        "165",
        "strings are of type 6",
        "word:3000000000000059 word:0000000000000001 word:0000800880010036 'n' _ '12345678'",
        "INFO 1 n:str=\"12345678\"",
    ),
    fixture(
        "169",
        "bits 48 to 63 of a string must be 0",
        "word:3000000000000059 word:0000000000000001 word:0001800880010036 'n' _ '12345678'",
        "INFO 1 n:str=\"12345678\"; argument-reserved@20 0x0 0x1",
    ),
    fixture(
        "187",
        "booleans are of type 9",
        "word:3000000000000049 word:0000000000000001 word:0000000180010029 'n' _",
        "INFO 1 n:bool=true",
    ),
    fixture(
        "190",
        "the value of a boolean is bit 32",
        "word:3000000000000049 word:0000000000000001 word:0000000080010029 'n' _",
        "INFO 1 n:bool=false",
    ),
    fixture(
        "191",
        "bits 33 to 63 of a boolean must be 0",
        "word:3000000000000049 word:0000000000000001 word:0000000280010029 'n' _",
        "INFO 1 n:bool=false; argument-reserved@20 0x0 0x1",
    ),
    fixture(
        "197",
        "the format string is one of printf",
        "word:3000000000000089 word:0000000000000001 word:0000000080060034 'printf' _ word:0000000000000000 word:0000800380070036 'message' _ '%5%' _",
        "INFO 1 printf:u64=0 message:str=\"%5%\" \"%\"",
    ),
    fixture(
        "201",
        "printf must be the first pair, with an unsigned 0",
        "word:30000000000000a9 word:0000000000000001 word:0000000080060034 'printf' _ word:0000000000000000 word:0000800280070036 'message' _ '%d' _ word:0000000000000023 word:ffffffffffffffff",
        "INFO 1 printf:u64=0 message:str=\"%d\" :i64=-1 \"-1\"",
    ),
    fixture(
        "201",
        "a printf that is not 0 is an ordinary pair",
        "word:30000000000000a9 word:0000000000000001 word:0000000080060034 'printf' _ word:0000000000000001 word:0000800280070036 'message' _ '%d' _ word:0000000000000024 word:0000000000000005",
        "INFO 1 printf:u64=1 message:str=\"%d\" :u64=5; name-empty@64 0x1 0x0",
    ),
    fixture(
        "201",
        "a printf that is not unsigned is an ordinary pair",
        "word:30000000000000a9 word:0000000000000001 word:0000000080060033 'printf' _ word:0000000000000000 word:0000800280070036 'message' _ '%d' _ word:0000000000000024 word:0000000000000005",
        "INFO 1 printf:i64=0 message:str=\"%d\" :u64=5; name-empty@64 0x1 0x0",
    ),
    fixture(
        "201",
        "a printf that is not the first pair is an ordinary pair",
        "word:30000000000000a9 word:0000000000000001 word:0000800280070036 'message' _ '%d' _ word:0000000080060034 'printf' _ word:0000000000000000 word:0000000000000024 word:0000000000000005",
        "INFO 1 message:str=\"%d\" printf:u64=0 :u64=5; name-empty@64 0x1 0x0",
    ),
    fixture(
        "201",
        "a second printf is an ordinary pair",
        "word:30000000000000d9 word:0000000000000001 word:0000000080060034 'printf' _ word:0000000000000000 word:0000800280070036 'message' _ '%d' _ word:0000000000000024 word:0000000000000005 word:0000000080060034 'printf' _ word:0000000000000000",
        "INFO 1 printf:u64=0 message:str=\"%d\" :u64=5 printf:u64=0 \"5 printf=0\"",
    ),
    fixture(
        "205",
        "the type of an argument must be that of its conversion",
        "word:30000000000000a9 word:0000000000000001 word:0000000080060034 'printf' _ word:0000000000000000 word:0000800280070036 'message' _ '%d' _ word:0000000000000025 word:3ff8000000000000",
        "INFO 1 printf:u64=0 message:str=\"%d\" :f64=1.5 \"%!d(f64=1.5)\"; printf-argument-type@64 0x3 0x5",
    ),
    fixture(
        "205",
        "each conversion has its argument",
        "word:3000000000000089 word:0000000000000001 word:0000000080060034 'printf' _ word:0000000000000000 word:0000800280070036 'message' _ '%d' _",
        "INFO 1 printf:u64=0 message:str=\"%d\" \"%!d(MISSING)\"; printf-argument-missing@56 0x1 0x0",
    ),
    fixture(
        "205",
        "each argument has its conversion",
        "word:30000000000000a9 word:0000000000000001 word:0000000080060034 'printf' _ word:0000000000000000 word:0000800280070036 'message' _ 'ab' _ word:0000000000000024 word:0000000000000005",
        "INFO 1 printf:u64=0 message:str=\"ab\" :u64=5 \"ab%!(EXTRA u64=5)\"; printf-argument-extra@64 0x0 0x1",
    ),
    fixture(
        "205",
        "arguments of printf must come before pairs; empty names behind a pair are ordinary",
        "word:30000000000000d9 word:0000000000000001 word:0000000080060034 'printf' _ word:0000000000000000 word:0000800280070036 'message' _ 'ab' _ word:0000000080010034 'k' _ word:0000000000000001 word:0000000000000024 word:0000000000000005",
        "INFO 1 printf:u64=0 message:str=\"ab\" k:u64=1 :u64=5 \"ab k=1 =5\"; printf-argument-order@88 0x1 0x0",
    ),
    fixture(
        "205",
        "pairs are shown behind the message",
        "word:30000000000000d9 word:0000000000000001 word:0000000080060034 'printf' _ word:0000000000000000 word:0000800280070036 'message' _ '%u' _ word:0000000000000024 word:0000000000000005 word:0000000080010034 'k' _ word:0000000000000001",
        "INFO 1 printf:u64=0 message:str=\"%u\" :u64=5 k:u64=1 \"5 k=1\"",
    ),
];

fn error(error: &LogError) -> String {
    format!("{}@{} {:#x} {:#x}", error.rule, error.at, error.expected, error.found)
}

fn typed(value: Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Signed(value) => format!("i64={value}"),
        Value::Unsigned(value) => format!("u64={value}"),
        Value::Float(value) => format!("f64={value}"),
        Value::Text(value) => format!("str={value:?}"),
        Value::Bool(value) => format!("bool={value}"),
        other => panic!("{other:?}"),
    }
}

fn read(bytes: &[u8]) -> String {
    let mut text = match Message::read(bytes, 0) {
        Ok(Message::Record { record, .. }) => {
            let mut text = format!("{} {}", record.severity(), record.timestamp());
            for argument in record.arguments() {
                let argument = argument.unwrap();
                write!(text, " {}:{}", argument.name, typed(argument.value)).unwrap();
            }
            if record.is_printf() {
                write!(text, " \"{}\"", record.text()).unwrap();
            }
            text
        }
        Ok(message) => format!("{message:?}"),
        Err(_) => "unreadable".to_owned(),
    };
    let options = CheckOptions::default();
    for broken in broken(bytes, options) {
        write!(text, "; {}", error(&broken)).unwrap();
    }
    text
}

#[test]
fn sentences_of_the_document() {
    let mut wrong = Vec::new();
    for fixture in FIXTURES {
        let found = read(&bytes(fixture.bytes));
        if found != fixture.reads {
            wrong.push(format!(
                "line {}, {}: expected\n  {}\nfound\n  {found}",
                fixture.lines, fixture.says, fixture.reads
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Our own document lists all rules literally.
#[test]
fn rules_are_documented() {
    let document = include_str!("../../../../docs/fuchsia-logs.md");
    for rule in Rule::ALL {
        let effect = if rule.is_fatal() { "cannot be read" } else { "can be read" };
        let row = format!("\n| `{}` | {} | {effect} |\n", rule.name(), rule.statement());
        assert!(document.contains(&row), "docs/fuchsia-logs.md lacks {row}");
    }
}
