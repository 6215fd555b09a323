//! Small hostile inputs cost little, and docs/limits.md describes the limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io::Write;
use std::process::{Command, Stdio};

use ichnos::io::IoLimits;
use ichnos::model::trace::Limits;

use crate::support::{Directory, Files, Run, command, gzip, ichnos, overlapping_zip, root, spec2, tar, tsdl};
use crate::transcript::transcript;

/// Returns the rows of a table in docs/limits.md: limit names with flags and defaults.
fn table(name: &str) -> BTreeMap<String, (String, String)> {
    let text = std::fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let (_, table) = text.split_once(&format!("<!-- table: {name} -->\n")).unwrap();
    let (table, _) = table.split_once("<!-- end of table -->").unwrap();
    let rows = table.lines().skip(2).map(|row| {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let [_, limit, flag, default, past, _] = cells[..] else { panic!("{row}") };
        assert!(!past.is_empty(), "{row}");
        (limit.to_owned(), (flag.to_owned(), default.to_owned()))
    });
    rows.collect()
}

/// Formats a number for people.
fn shown(name: &str, number: u64) -> String {
    if name.ends_with("_bytes") {
        let (unit, shift) = if number >= 1 << 30 { ("GiB", 30) } else { ("MiB", 20) };
        assert_eq!(number >> shift << shift, number);
        return format!("{} {unit}", number >> shift);
    }
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|g| str::from_utf8(g).unwrap()).collect();
    groups.join(",")
}

/// Parses the members of a structure from its `Debug` output.
fn members(limits: &impl Debug) -> BTreeMap<String, String> {
    let text = format!("{limits:?}");
    let (_, members) = text.trim_end_matches(" }").split_once(" { ").unwrap();
    let pairs = members.split(", ").map(|member| member.split_once(": ").unwrap());
    pairs.map(|(name, number)| (name.to_owned(), shown(name, number.parse().unwrap()))).collect()
}

#[test]
fn the_page_has_all_limits() {
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut of_table = |name: &str| {
        let table = table(name);
        for (name, default) in table.values() {
            named.entry(name.clone()).or_default().push(default.clone());
        }
        table.into_iter().map(|(limit, (_, default))| (limit, default)).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(of_table("model"), members(&Limits::default()));
    assert_eq!(of_table("io"), members(&IoLimits::default()));
    of_table("output");
    let help = ichnos(["help", "limits"]).expect(0, &[]).out;
    let mut found = BTreeSet::new();
    for line in help.lines().filter_map(|line| line.strip_prefix("  ")) {
        let (name, text) = line.split_once(' ').unwrap();
        let (_, default) = text.split_once("[default: ").unwrap_or_else(|| panic!("{name}: {text}"));
        let expected = named.get(name).unwrap_or_else(|| panic!("{name} is not on the page"));
        for expected in expected {
            // As on the command line.
            let expected = expected.replace(" MiB", "M").replace(" GiB", "G").replace(',', "");
            assert!(default.contains(&expected), "{name}: {expected} is not in {default}");
        }
        found.insert(name.to_owned());
    }
    assert_eq!(found, named.keys().cloned().collect());
    for verb in ["info", "cat", "check", "schema"] {
        let help = ichnos([verb, "--help"]).expect(0, &[]).out;
        assert!(
            help.contains("--resource-limit <NAME=VALUE>") && help.contains("`ichnos help limits`"),
            "{help}"
        );
    }
}

fn run(verb: &str, files: &[(&str, Vec<u8>)], arguments: &[&str]) -> Run {
    let directory = Directory::new("limits");
    for (name, bytes) in files {
        std::fs::write(directory.join(name), bytes).unwrap();
    }
    ichnos([verb, directory.to_str().unwrap()].iter().chain(arguments))
}

fn cat(files: &[(&str, Vec<u8>)], arguments: &[&str]) -> Run {
    run("cat", files, arguments)
}

const PACKETS: &str = "stream{packet.context:=struct{integer{size=8;}packet_size;};};event{};";

#[test]
fn each_flag_sets_its_limit() {
    let empties = "stream{};event{name=\"e\";fields:=struct{integer{size=8;}a;struct{}b[100];};};";
    let files = tsdl(empties, &[7; 100]);
    let damaged = |arguments: &[&str], what: &str| {
        cat(&files, arguments).expect(3, &[what]);
    };
    // More than one event per bit: a small file has few enough that all are kept.
    assert_eq!(cat(&files, &[]).expect(0, &[]).out.lines().count(), 100);
    damaged(&["--resource-limit", "empty-elements=200"], "more than 200 zero-size array elements");
    let fields =
        "stream{};event{name=\"e\";fields:=struct{integer{size=1;align=1;}a;struct{}b,c,d,e,f,g,h;};};";
    let fields = fields.replace(
        "struct{}b,c,d,e,f,g,h;",
        &"bcdefgh".chars().map(|c| format!("struct{{}}{c};")).collect::<String>(),
    );
    let files = tsdl(&fields, &[7; 40_000]);
    let ten = ["--resource-limit", "fields-per-bit=10", "--max-events", "5"];
    assert_eq!(cat(&files, &ten).expect(0, &[]).out.lines().count(), 5);
    let too_many =
        "320000 bits of such event records could have 3200000 fields, more than the limit of 2328576";
    cat(&files, &[]).expect(3, &[too_many, "40,000 bytes skipped", "--resource-limit fields-per-bit=VALUE"]);
    cat(&files, &["--strict"]).expect(2, &[too_many]);
    run("check", &files, &[]).expect(1, &[]).prints(&[too_many, "--resource-limit fields-per-bit=VALUE"]);
    cat(&files, &["--resource-limit", "empty-fields=3"]).expect(2, &["more than 3 fields"]);
    let files = tsdl(PACKETS, &[8; 10]);
    cat(&files, &[]).expect(0, &[]);
    cat(&files, &["--resource-limit", "packets=9"]).expect(3, &["more than 9 packets"]);
    cat(&files, &["--resource-limit", "description=500"]).expect(2, &["takes more than 500 bytes of memory"]);
    let files = tsdl("stream{};?;?;?;", &[]);
    let few = cat(&files, &["--resource-limit", "problems=1"]).expect(2, &[]).err;
    assert!(few.lines().count() < cat(&files, &[]).err.lines().count(), "{few}");
    // Packets with an event record of an unknown class.
    let unknown = "stream{packet.context:=struct{integer{size=8;}packet_size;};\
                   event.header:=struct{integer{size=8;}id;};};event{id=9;};";
    let files = tsdl(unknown, &[16, 1].repeat(5));
    let all = cat(&files, &[]).expect(3, &[]).err;
    assert_eq!(all.matches("unknown event record class 1 ").count(), 5);
    let few = cat(&files, &["--resource-limit", "damage=3"]).expect(3, &["2 more damaged places"]).err;
    assert_eq!(few.matches("unknown event record class 1 ").count(), 3);
    let few = run("check", &files, &["--resource-limit", "damage=3", "--json"]).expect(1, &[]).json();
    assert_eq!((few["errors"].as_u64(), few["left_out"].as_u64()), (Some(5), Some(2)));
    assert_eq!(few["findings"].as_array().unwrap().len(), 3);
    let few =
        run("info", &files, &["--resource-limit", "damage=3", "--json", "--count"]).expect(3, &[]).json();
    assert_eq!((few["damage"].as_u64(), few["traces"][0]["damage_left_out"].as_u64()), (Some(5), Some(2)));
    cat(&files, &["--resource-limit", "damage=0"]).expect(2, &["at least 1"]);
    // Unpacked data, and positions.
    let of = |files: Files, given: &str, code: i32, part: &str| {
        let directory = Directory::new("limits");
        for (name, bytes) in files {
            let path = directory.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let archive = directory.join("t.tar.gz");
        let path = if archive.exists() { &archive } else { &*directory };
        ichnos(["info", path.to_str().unwrap(), "--resource-limit", given]).expect(code, &[part]);
    };
    let archive = |packets| vec![("t.tar.gz", gzip(&tar(&tsdl(PACKETS, &vec![8; packets]))))];
    // With this compression ratio, this number of fields is also too large.
    of(archive(900_000), "ratio=2000", 3, "");
    // Any archive may unpack to 64 MiB.
    of(archive(90_000), "ratio=2", 0, "");
    of(
        vec![("t.tar.gz", gzip(&tar(&[("zeros", vec![0; 70 << 20])])))],
        "ratio=2",
        2,
        "--resource-limit ratio=VALUE",
    );
    of(archive(9000), "unpacked=4K", 2, "--resource-limit unpacked=VALUE");
    of(archive(9), "files=1", 2, "the number of files exceeds the limit of 1");
    of(tsdl(PACKETS, &[8]), "files=2", 0, "");
    of(tsdl(PACKETS, &[8]), "files=1", 2, "the number of files exceeds the limit of 1");
    let deep = || tsdl(PACKETS, &[8]).into_iter().chain([("a/b/c", vec![8])]).collect();
    of(deep(), "directories=2", 0, "");
    of(deep(), "directories=1", 3, "skipped: more than 1 directories deep");
}

/// Whichever limit is reached, the message names the option that raises it.
#[test]
fn a_limit_names_its_option() {
    let _transcript = transcript!();
    let named = |verb: &str, files: &Files, code: i32, given: &str| {
        let run = run(verb, files, &["--resource-limit", given]).expect(code, &[]);
        let (name, _) = given.split_once('=').unwrap();
        let advice = format!("if you trust the input, raise the limit with --resource-limit {name}=VALUE");
        let text = format!("{}{}", run.out, run.err);
        assert!(text.contains(&advice), "{verb} {given:?}: {text}");
        assert!(!text.contains("record the trace again"), "{verb} {given:?}: {text}");
    };
    let event = |fields: &str| tsdl(&format!("stream{{}};event{{fields:=struct{{{fields}}};}};"), &[7; 10]);
    let json = |class: &str| spec2(&structure(&[("a", class)]), &[7; 10]);
    let integer = "integer{size=8;}a;";
    let empties = (0..9).map(|i| format!("struct{{}}e{i};")).collect::<String>();
    let nested = event("struct{struct{struct{integer{size=8;}a;}b;}c;}d;");
    for (given, files) in [
        ("metadata=50", event(integer)),
        ("description=500", event(integer)),
        ("description=2000", event(integer)),
        ("description=500", json(BIT)),
        ("depth=2", nested),
        ("depth=1", json(EMPTY)),
        ("field-classes=1", event(integer)),
        ("field-classes=1", json(BIT)),
        ("event-classes=1", tsdl("stream{};event{id=0;};event{id=1;};", &[])),
        ("integer=7", event(integer)),
        ("integer=7", json(&BIT.replace(":1,", ":8,"))),
        ("empty-fields=3", event(&format!("{integer}{empties}"))),
    ] {
        named("cat", &files, 2, given);
        named("info", &files, 2, given);
        named("check", &files, 1, given);
    }
    let variable = r#"{"type":"variable-length-unsigned-integer"}"#;
    for (given, files) in [
        ("packets=9", tsdl(PACKETS, &[8; 10])),
        ("integer=8", spec2(&structure(&[("a", variable)]), &[0xff, 0xff, 1])),
        ("empty-elements=3", event("integer{size=8;}a;struct{}b[1000];")),
    ] {
        named("cat", &files, 3, given);
        named("check", &files, 1, given);
    }
    let deep: Files = tsdl(PACKETS, &[8]);
    let directory = Directory::new("limits");
    for (name, bytes) in &deep {
        std::fs::write(directory.join(name), bytes).unwrap();
    }
    std::fs::create_dir_all(directory.join("a/b/c")).unwrap();
    let path = directory.to_str().unwrap();
    let advice = |option: &str| format!("raise the limit with {option}");
    ichnos(["info", path, "--resource-limit", "directories=1"])
        .expect(3, &[&advice("--resource-limit directories=VALUE")]);
    ichnos(["check", path, "--resource-limit", "directories=1"])
        .prints(&[&advice("--resource-limit directories=VALUE")]);
    ichnos(["info", path, "--resource-limit", "files=1"])
        .expect(2, &[&advice("--resource-limit files=VALUE")]);
}

/// A few fields without bits are read, however few bits the data contain.
#[test]
fn small_traces_may_have_many_fields_without_bits() {
    let empties = many(100, |i| format!("struct{{}}e{i};"));
    let files =
        tsdl(&format!("stream{{}};event{{fields:=struct{{integer{{size=8;}}a;{empties}}};}};"), &[7; 1000]);
    assert_eq!(cat(&files, &[]).expect(0, &[]).out.lines().count(), 1000);
}

#[test]
fn large_harmless_inputs_are_read() {
    // Arrays that contain only empty arrays, and a few elements without bits.
    let matrix = "stream{};event{fields:=struct{integer{size=8;}a;integer{size=8;}b;\
                  struct{}c[a];integer{size=8;}d[a][b];struct{string e;}f[b][a];};};";
    let data = [3, 2, 1, 2, 3, 4, 5, 6, 0, 0, b'x', 0, 0, 0, 0].repeat(10_000);
    assert_eq!(cat(&tsdl(matrix, &data), &[]).expect(0, &[]).out.lines().count(), 10_000);
    // A small archive with many events.
    let files =
        tsdl("stream{};event{fields:=struct{integer{size=32;}a;string b;};};", &b"abcdefg\0".repeat(10_000));
    let directory = Directory::new("limits");
    let archive = directory.join("t.tar.xz");
    std::fs::write(&archive, xz(&tar(&files))).unwrap();
    let count = ichnos(["cat", archive.to_str().unwrap()]).expect(0, &[]).out.lines().count();
    assert_eq!(count, 10_000);
}

/// A name that costs no more than a short name.
const LONG: &str = "a_name_of_thirty_one_characters";

/// Returns a structure with these member classes.
fn structure(members: &[(&str, &str)]) -> String {
    let member = |(name, class): &(&str, &str)| format!(r#"{{"name":"{name}","field-class":{class}}}"#);
    let members: Vec<String> = members.iter().map(member).collect();
    format!(r#"{{"type":"structure","member-classes":[{}]}}"#, members.join(","))
}

fn array(element: &str, length: u64) -> String {
    format!(r#"{{"type":"static-length-array","element-field-class":{element},"length":{length}}}"#)
}

const BIT: &str = r#"{"type":"fixed-length-unsigned-integer","length":1,"byte-order":"little-endian"}"#;
const EMPTY: &str = r#"{"type":"structure"}"#;

/// Returns type aliases for nested structures: each contains `width` times the previous alias. Also returns the last
/// alias.
fn aliases(leaf: &str, levels: u8, width: usize) -> (String, char) {
    let mut text = format!("typealias {leaf}:=a;");
    let mut last = 'a';
    for level in 0..levels {
        let members: String = ('a'..).take(width).map(|name| format!("{last} {name};")).collect();
        last = char::from(b'b' + level);
        text += &format!("typealias struct{{{members}}}:={last};");
    }
    (text, last)
}

/// Returns bytes packed with xz and padded to a kilobyte: a larger file may unpack to more.
fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(bytes).unwrap();
    let mut packed = encoder.finish().unwrap();
    assert!(packed.len() <= 1024, "{}", packed.len());
    packed.resize(1024, 0);
    packed
}

/// Number of data bytes that fit into a one-kilobyte archive, next to metadata of less than a kilobyte. Debug builds
/// use fewer, because they take twenty times as long.
const DATA: usize = if cfg!(debug_assertions) { 32 << 10 } else { (144 << 10) - (10 << 10) };

/// Returns an archive of one kilobyte.
fn packed(files: &[(&'static str, Vec<u8>)]) -> Files {
    vec![("t.tar.xz", xz(&tar(files)))]
}

/// Returns a trace whose data fill the rest of a kilobyte.
fn filled(files: Files) -> Files {
    let [(metadata, text), (data, pattern)] = <[_; 2]>::try_from(files).unwrap();
    let room = 1024 - text.len();
    vec![(metadata, text), (data, pattern.into_iter().cycle().take(room).collect())]
}

/// Returns several TSDL structure members.
fn many(count: usize, member: impl Fn(usize) -> String) -> String {
    (0..count).map(member).collect()
}

/// Returns inputs up to a kilobyte, each expensive in a different way.
fn hostile() -> Vec<(&'static str, Files)> {
    let event = |fields: &str| format!("stream{{}};event{{fields:=struct{{{fields}}};}};");
    let bit = "integer{size=1;align=1;}";
    let plain = |fields: &str| filled(tsdl(&event(fields), b"U"));
    let full = |fields: &str| packed(&tsdl(&event(fields), &vec![b'U'; DATA]));
    let json = |payload: &str| filled(spec2(payload, b"U"));
    let alias = |leaf, levels, width| {
        let (text, last) = aliases(leaf, levels, width);
        filled(tsdl(&format!("{text}{}", event(&format!("{last} x;{bit}y;"))), b"U"))
    };
    let single = |bytes: Vec<u8>| vec![("file", bytes)];
    let metadata = |text: &[u8]| packed(&[("metadata", text.to_vec())]);
    let pre = "/* CTF 1.8 */\ntrace{major=1;minor=8;byte_order=le;};stream{};";
    let long = |part: &str, count| metadata(format!("{pre}{}", part.repeat(count)).as_bytes());
    let chain: String = ('b'..='m')
        .fold(
            ("typealias enum:integer{size=8;}{a,b}:=e;typealias struct{e t;}:=a;".to_owned(), 'a'),
            |(text, last), next| {
                (format!("{text}typealias struct{{e u;variant<u>{{{last} a;{last} b;}}w;}}:={next};"), next)
            },
        )
        .0;
    let opens =
        |open: &str, count: usize| vec![("metadata", format!("\u{1e}{}", open.repeat(count)).into_bytes())];
    let small = "packet.context:=struct{integer{size=8;}packet_size;";
    let eights = b"\x08".repeat(DATA);
    let zeros = vec![0; 5 << 20];
    let boolean = r#"{"type":"fixed-length-boolean","length":8,"byte-order":"little-endian"}"#;
    let optional =
        format!(r#"{{"type":"optional","field-class":{EMPTY},"selector-field-location":{{"path":["s"]}}}}"#);
    let labels = |count| many(count, |i| format!("{LONG}{i}=0...1,"));
    let deep = |fields: &str| format!("{}{fields}{}", "struct{".repeat(50), "}a;".repeat(50));
    // Log records that describe their own content: booleans, one more in each record.
    let records = (0..120u64).flat_map(|count| {
        let header = [9 | (2 + 2 * count) << 4 | 0x30 << 56, 0];
        let argument = [9 | 2 << 4 | 0x8008 << 16, 0x6161_6161_6161_6161];
        header.into_iter().chain((0..count).flat_map(move |_| argument))
    });
    let records: Vec<u8> = records.flat_map(u64::to_le_bytes).collect();
    // Fuchsia traces: a provider section in each word, and an event with a new class in each record.
    let magic = 0x0016_5478_4604_0010u64;
    let sections = (0..4_000u64).map(|provider| 1 << 4 | 2 << 16 | provider << 20);
    let sections: Vec<u8> = [magic].into_iter().chain(sections).flat_map(u64::to_le_bytes).collect();
    let events = (0..300u64).flat_map(|name| [4 | 5 << 4 | 0x8008 << 48, name, 1, 2, name | 0x4040 << 48]);
    let events: Vec<u8> = [magic].into_iter().chain(events).flat_map(u64::to_le_bytes).collect();
    vec![
        // Classes discovered while reading.
        ("a log of many classes", single(xz(&records))),
        ("a trace of many providers", single(xz(&sections))),
        ("a trace of many classes", single(xz(&events))),
        // Metadata: nested classes.
        ("aliases that double", alias(bit, 18, 2)),
        ("aliases of 10^6", alias(bit, 6, 10)),
        ("aliases of empty structures", alias("struct{}", 4, 15)),
        ("aliases just allowed", alias(bit, 2, 26)),
        (
            "variants of variants",
            filled(tsdl(&format!("{chain}{}", event("m x;variant<x.w.w.t>{struct{}a;struct{}b;}z;")), b"U")),
        ),
        ("depth", filled(tsdl(&event(&deep(&format!("{bit}b;"))), b"U"))),
        (
            "too deep",
            vec![("metadata", format!("{pre}event{{fields:={}", "struct{".repeat(120)).into_bytes())],
        ),
        ("brackets", plain(&format!("integer{{size=8;}}a{};", "[9999]".repeat(60)))),
        ("arrays of JSON", opens("[", 1000)),
        ("objects of JSON", opens("{\"a\":", 200)),
        (
            "a number of many digits",
            vec![(
                "metadata",
                format!("\u{1e}{{\"type\":\"preamble\",\"version\":{}}}", "9".repeat(900)).into_bytes(),
            )],
        ),
        ("an exponent", vec![("metadata", b"\x1e{\"type\":\"preamble\",\"version\":2e999999999}".to_vec())]),
        ("many problems", vec![("metadata", format!("{pre}{}", "?;".repeat(400)).into_bytes())]),
        // Lengths.
        ("2^60 empty structures", plain(&format!("struct{{}}a[1152921504606846976];{bit}b;"))),
        ("2^60 of 2^60", json(&structure(&[("a", &array(&array(EMPTY, 1 << 60), 1 << 60)), ("b", BIT)]))),
        ("2^60 times nothing", json(&structure(&[("a", &array(&array(EMPTY, 0), 1 << 60)), ("b", BIT)]))),
        ("an array of 2^60", json(&structure(&[("a", &array(BIT, 1 << 60))]))),
        (
            "a blob of 2^60",
            json(
                r#"{"type":"structure","member-classes":[{"name":"a","field-class":{"type":"static-length-blob","length":1152921504606846976}}]}"#,
            ),
        ),
        ("an integer of 2^60 bits", json(&structure(&[("a", &BIT.replace(":1,", ":1152921504606846976,"))]))),
        // Fields without bits.
        ("4096 empty structures", plain(&format!("struct{{}}a[4096];{bit}b;"))),
        ("65536 empty structures", plain(&format!("struct{{}}a[65536];{bit}b;"))),
        ("255 empty structures", full(&format!("struct{{}}a[255];{bit}b;"))),
        ("64 of 64 empty structures", plain(&format!("struct{{struct{{}}a[64];}}a[64];{bit}b;"))),
        ("a sequence of empty structures", full("integer{size=8;}n;struct{}a[n];")),
        ("sequences of sequences", full("integer{size=8;}n;struct{}a[n][n][n];")),
        ("many empty structures", full(&format!("{bit}a;{}", many(20, |i| format!("struct{{}}b{i};"))))),
        (
            "optionals",
            packed(&spec2(
                &structure(&[("s", boolean), ("a", &optional), ("b", &optional), ("c", &optional)]),
                &[1].repeat(DATA),
            )),
        ),
        ("empty variants", full("enum:integer{size=1;align=1;}{a,b}t;variant<t>{struct{}a;struct{}b;}v;")),
        // Output for each value.
        ("names of values", full(&format!("enum:integer{{size=1;align=1;}}{{{}}}a;", labels(12)))),
        ("long names", full(&format!("{bit}{};struct{{}}{};", LONG.repeat(4), "b".repeat(127)))),
        (
            "control characters",
            packed(&spec2(
                &structure(&[(&r"\u0001".repeat(31), BIT), (&r"\u0002".repeat(31), EMPTY)]),
                &[1].repeat(DATA),
            )),
        ),
        (
            "a long host name",
            packed(&tsdl(
                &format!("env{{hostname=\"{}\";}};{}", LONG.repeat(10), event(&format!("{bit}a;"))),
                &vec![1; DATA],
            )),
        ),
        (
            "flags",
            packed(&spec2(
                &structure(&[(
                    "a",
                    &format!(
                        r#"{{"type":"fixed-length-bit-map","length":64,"byte-order":"little-endian","flags":{{{}"z":[[0,63]]}}}}"#,
                        many(100, |i| format!(r#""{LONG}{i}":[[0,63]],"#))
                    ),
                )]),
                &[255].repeat(DATA),
            )),
        ),
        // A single event record, as expensive as possible: three fields per bit.
        (
            "one event record",
            packed(&tsdl(
                &event(&deep(&format!("struct{{{bit}{LONG};struct{{}}b{};}}c[100000];", &LONG[1..]))),
                &[85; 12_600],
            )),
        ),
        (
            "one packet",
            packed(&tsdl(
                &format!(
                    "stream{{packet.context:={}}};event{{}};",
                    deep(&format!("struct{{{bit}{LONG};struct{{}}b{};}}c[100000];", &LONG[1..]))
                        .strip_suffix("a;")
                        .unwrap()
                        .to_owned()
                        + ";"
                ),
                &[85; 12_600],
            )),
        ),
        ("one array of bits", packed(&tsdl(&event(&format!("{bit}a[{}];", 130_000)), &[85; 16_250]))),
        // Numbers with many digits.
        ("wide integers", full("integer{size=4096;signed=true;align=1;}a;")),
        ("the widest integers", full("integer{size=65536;align=1;}a;")),
        (
            "integers of variable length",
            packed(&spec2(
                &structure(&[("a", r#"{"type":"variable-length-unsigned-integer"}"#)]),
                &[&[255; 9000][..], &[1]].concat().repeat(10),
            )),
        ),
        ("small floating point numbers", full("floating_point{mant_dig=11;exp_dig=5;align=1;}a;")),
        ("strings that are none", packed(&tsdl(&event("string a;"), &[255; DATA]))),
        ("empty strings", packed(&tsdl(&event("string a;"), &[0; DATA]))),
        // Many packets, data streams, files, events.
        ("packets", packed(&tsdl(&format!("stream{{{small}}};}};event{{}};"), &eights))),
        (
            "packets with names",
            packed(&tsdl(
                &format!("stream{{{small}{}}};}};event{{}};", many(25, |i| format!("struct{{}}{LONG}{i};"))),
                &eights,
            )),
        ),
        (
            "packets with arrays",
            packed(&tsdl(&format!("stream{{{small}struct{{}}a[4000];}};}};event{{}};"), &eights)),
        ),
        ("packets without end", filled(tsdl(PACKETS, &[0]))),
        (
            "packets that lose events",
            packed(&tsdl(
                &format!("stream{{{small}integer{{size=8;}}events_discarded;}};}};event{{}};"),
                &[16, 1, 16, 7].repeat(DATA / 4),
            )),
        ),
        (
            "damaged packets",
            packed(&tsdl(
                &format!(
                    "stream{{{small}}};event.header:=struct{{integer{{size=8;}}id;}};}};event{{id=9;}};"
                ),
                &[16, 1].repeat(DATA / 2),
            )),
        ),
        ("data streams", {
            // In CTF 1.8, a later trace block can add properties.
            let header = "trace{packet.header:=struct{integer{size=16;}stream_instance_id;};};";
            let streams = (0..200u8).flat_map(|i| [i, 0, 24]).collect::<Vec<u8>>();
            tsdl(&format!("{header}stream{{{small}}};}};event{{}};"), &streams)
        }),
        ("event records of a bit", full(&format!("{bit}a;"))),
        ("traces", {
            let text = format!(
                "/* CTF 1.8 */\ntrace{{major=1;minor=8;byte_order=le;}};{}",
                event(&format!("{bit}a;struct{{}}b;"))
            );
            let names: Vec<(String, String)> =
                (0..80).map(|i| (format!("{i}/metadata"), format!("{i}/s"))).collect();
            let data = [85; 300];
            let files =
                names.iter().flat_map(|(m, s)| [(&**m, text.clone().into_bytes()), (&**s, data.to_vec())]);
            vec![("t.tar.xz", xz(&tar(&files.collect::<Vec<_>>())))]
        }),
        // Archives and compressed data.
        ("gzip", single(gzip(&zeros)[..1024].to_vec())),
        ("xz", single(xz(&zeros))),
        ("zstd", single([&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x50][..], &[2, 0, 16, 0].repeat(250)].concat())),
        ("zip", single(overlapping_zip(300_000))),
        ("tar in tar", packed(&[("t.gz", gzip(&tar(&[("a.gz", gzip(&zeros[..100_000]))])))])),
        ("a sparse file", {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::GNUSparse);
            header.set_path("sparse").unwrap();
            header.set_size(0);
            let gnu = header.as_gnu_mut().unwrap();
            gnu.sparse[0].offset = *b"77777777777\0";
            gnu.sparse[0].numbytes = *b"00000000000\0";
            gnu.realsize = *b"77777777777\0";
            header.set_cksum();
            single(header.as_bytes().to_vec())
        }),
        ("many members", single(xz(&[tar(&[("a", Vec::new())])[..512].repeat(280), vec![0; 1024]].concat()))),
        ("metadata of braces", long("{", 100_000)),
        ("metadata of event record classes", long("event{name=a;};", 8000)),
        ("metadata of aliases", long("typealias integer{size=8;}:=u;", 4000)),
        ("metadata of problems", long("?;", 60_000)),
        ("metadata of clocks", long("clock{name=a;};", 8000)),
        ("metadata of values", long("env{a=1;};", 10_000)),
        ("JSON of nothing", metadata("\u{1e}{}\n".repeat(30_000).as_bytes())),
        (
            "JSON of attributes",
            metadata(
                format!(
                    "\u{1e}{{\"type\":\"preamble\",\"version\":2,\"attributes\":{{\"a\":[{}1]}}}}\n",
                    "{},".repeat(40_000)
                )
                .as_bytes(),
            ),
        ),
    ]
}

/// Verbs that read a trace, each in its own way.
const VERBS: &[&[&str]] = &[
    &["info"],
    &["info", "--count", "--json"],
    &["cat"],
    &["cat", "--format=details"],
    &["cat", "--format=jsonl", "--packets"],
    &["check"],
    &["schema"],
    &["schema", "--json"],
];

#[test]
fn a_kilobyte_costs_little() {
    if std::env::var_os("ASAN_OPTIONS").is_some() {
        eprintln!("skipped: the address sanitizer takes memory for itself");
        return;
    }
    let directory = Directory::new("hostile");
    for (name, files) in hostile() {
        let size: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(size <= 1024, "{name}: {size}");
        std::fs::create_dir(directory.join(name)).unwrap();
        for (file, bytes) in &files {
            std::fs::write(directory.join(name).join(file), bytes).unwrap();
        }
    }
    // A separate process, which is small and childless.
    let test = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "limits::measured", "--nocapture"])
        .env(MEASURED, &*directory)
        .status();
    assert!(test.unwrap().success());
}

const MEASURED: &str = "ICHNOS_TEST_MEASURED";

/// Runs each verb on each input in the directory that [`MEASURED`] names.
#[cfg(target_os = "linux")]
#[test]
fn measured() {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeVal;

    let Some(directory) = std::env::var_os(MEASURED) else { return };
    // Peak private memory of any child in kB, and total processor time in seconds.
    let memory = ichnos_testing::PrivateMemory::for_children(std::process::id());
    let spent = || {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
        let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        (memory.peak() / 1000, seconds(usage.user_time()) + seconds(usage.system_time()))
    };
    // Without optimization, the command takes about twenty times as long.
    let most_seconds = if cfg!(debug_assertions) { 20.0 } else { 1.0 };
    let mut worst = (0.0, String::new());
    for case in std::fs::read_dir(directory).unwrap() {
        let case = case.unwrap().path();
        let files: Vec<_> = std::fs::read_dir(&case).unwrap().map(|file| file.unwrap().path()).collect();
        let path = match &files[..] {
            [only] if !only.ends_with("metadata") => only,
            _ => &case,
        };
        for verb in VERBS {
            let what = format!("{}: {}", case.file_name().unwrap().display(), verb.join(" "));
            let (_, before) = spent();
            let mut command = command();
            command.args(*verb).arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let status = command.status().unwrap();
            assert!(matches!(status.code(), Some(0..=3)), "{what}: {status}");
            let (kilobytes, seconds) = spent();
            let seconds = seconds - before;
            assert!(kilobytes < 100_000, "{what}: {kilobytes} kB");
            assert!(seconds < most_seconds, "{what}: {seconds} s");
            if std::env::var_os("ICHNOS_COSTS").is_some() {
                println!("{kilobytes} {seconds:.2} {} {what}", status.code().unwrap_or(-1));
            }
            if seconds > worst.0 {
                worst = (seconds, what);
            }
        }
    }
    println!("at most {} kB, and {:.2} s ({})", spent().0, worst.0, worst.1);
}

/// Returns metadata texts of `size` bytes in which nearly every byte must be kept, in each CTF dialect.
fn greedy(size: usize) -> Vec<(&'static str, String)> {
    // Distinct names with five bytes.
    let name = |number: usize| {
        let digits = [26 * 26 * 26 * 26, 26 * 26 * 26, 26 * 26, 26, 1];
        digits.iter().map(|place| char::from(b'a' + (number / place % 26) as u8)).collect::<String>()
    };
    let filled = |part: &dyn Fn(usize) -> String| {
        let mut text = String::with_capacity(size + 64);
        let mut number = 0;
        while text.len() < size {
            text += &part(number);
            number += 1;
        }
        text
    };
    let head = "/* CTF 1.8 */\ntrace{major=1;minor=8;byte_order=le;};typealias integer{size=64;}:=u;";
    let end = "stream{};event{fields:=struct{u v;};};";
    let of_event = |fields: String| format!("{head}stream{{}};event{{fields:=struct{{u v;{fields}}};}};");
    let rs = '\u{1e}';
    let preamble = format!("{rs}{{\"type\":\"preamble\",\"version\":2}}");
    let stream = format!("{rs}{{\"type\":\"data-stream-class\"}}");
    let u8 = r#"{"type":"fixed-length-unsigned-integer","length":8,"byte-order":"little-endian"}"#;
    let member = |class: &str| {
        let members =
            format!(r#"{{"type":"structure","member-classes":[{{"name":"v","field-class":{class}}}]}}"#);
        format!("{preamble}{stream}{rs}{{\"type\":\"event-record-class\",\"payload-field-class\":{members}}}")
    };
    let attributes = |values: String| {
        format!("{rs}{{\"type\":\"preamble\",\"version\":2,\"attributes\":{{\"a\":[{values}0]}}}}{stream}")
    };
    let labels = filled(&|n| format!("\"{}\":[[1,2]],", name(n)));
    vec![
        ("environment", format!("{head}env{{{}}};{end}", filled(&|n| format!("{}=1;", name(n))))),
        (
            "labels",
            of_event(format!("enum:u{{{}}}e;", filled(&|n| format!("{},", name(n))).trim_end_matches(','))),
        ),
        ("members", of_event(filled(&|n| format!("u {};", name(n))))),
        ("sequences", of_event(filled(&|n| format!("u {}[v];", name(n))))),
        ("lengths", of_event(format!("u a{};", "[1]".repeat(size / 3)))),
        ("paths", of_event(format!("u a[{}v];", "a.".repeat(size / 2)))),
        ("aliases", format!("{head}{}{end}", filled(&|n| format!("typealias u:={};", name(n))))),
        ("typedefs", format!("{head}{}{end}", filled(&|n| format!("typedef u {};", name(n))))),
        ("event record classes", format!("{head}stream{{}};{}", filled(&|n| format!("event{{id={n};}};")))),
        ("data stream classes", format!("{head}{}", filled(&|n| format!("stream{{id={n};}};")))),
        ("call sites", format!("{head}{}{end}", filled(&|_| "callsite{a=1;};".to_owned()))),
        ("comments", format!("{head}{}{end}", filled(&|_| "/* a */ ;\n".to_owned()))),
        ("problems", format!("{head}{}", filled(&|_| "?;".to_owned()))),
        (
            "JSON labels",
            member(&format!("{},\"mappings\":{{{}\"b\":[[1,2]]}}}}", u8.trim_end_matches('}'), labels)),
        ),
        ("JSON ones", attributes(filled(&|_| "1,".to_owned()))),
        ("JSON maps", attributes(filled(&|_| "{\"a\":1},".to_owned()))),
        ("JSON escapes", attributes(format!("\"{}\",", filled(&|_| "\\u00e9\\n".to_owned())))),
        ("JSON fragments", format!("{preamble}{}", filled(&|_| format!("{rs}{{}}")))),
        (
            "JSON event record classes",
            format!(
                "{preamble}{stream}{}",
                filled(&|n| format!("{rs}{{\"type\":\"event-record-class\",\"id\":{n}}}"))
            ),
        ),
        ("PROP-2.0", format!("[{{\"type\":\"preamble\",\"version\":2}},{}0]", filled(&|_| "1,".to_owned()))),
        (
            "PROP-1.0",
            format!(
                "[\"CTF 2\",{{\"fragment\":\"trace-class\",\"user-attrs\":{{\"a\":[{}0]}}}}]",
                filled(&|_| "1,".to_owned())
            ),
        ),
    ]
}

/// Size of the measured texts.
const GREEDY: usize = 4 << 20;

#[test]
fn metadata_take_no_more_than_twelve_times_their_size() {
    if std::env::var_os("ASAN_OPTIONS").is_some() {
        eprintln!("skipped: the address sanitizer takes memory for itself");
        return;
    }
    let directory = Directory::new("greedy");
    for (name, text) in greedy(GREEDY) {
        std::fs::create_dir(directory.join(name)).unwrap();
        std::fs::write(directory.join(name).join("metadata"), text).unwrap();
        std::fs::write(directory.join(name).join("s"), [1; 8]).unwrap();
    }
    // A separate process, which is small and childless.
    let test = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "limits::greedy_measured", "--nocapture"])
        .env(MEASURED, &*directory)
        .status();
    assert!(test.unwrap().success());
}

/// Runs a verb on each text in the directory that [`MEASURED`] names. All texts have the same size.
#[cfg(target_os = "linux")]
#[test]
fn greedy_measured() {
    let Some(directory) = std::env::var_os(MEASURED) else { return };
    let measure = |case: &std::path::Path| {
        let begin = std::time::Instant::now();
        let mut command = command();
        command.arg("info").arg(case).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let memory = ichnos_testing::PrivateMemory::for_process(child.id());
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 2 | 3)), "{}: {code:?}", case.display());
        let kilobytes = memory.peak() as usize / 1000;
        if std::env::var_os("ICHNOS_COSTS").is_some() {
            println!("{kilobytes} kB {:.1} s {code:?} {}", begin.elapsed().as_secs_f64(), case.display());
        }
        kilobytes
    };
    let little = Directory::new("little");
    std::fs::write(little.join("metadata"), greedy(1)[0].1.as_bytes()).unwrap();
    let program = measure(&little);
    for case in std::fs::read_dir(directory).unwrap() {
        let case = case.unwrap().path();
        let kilobytes = measure(&case).saturating_sub(program);
        assert!(kilobytes * 1000 <= 23 * GREEDY / 2, "{}: {kilobytes} kB", case.display());
    }
}
