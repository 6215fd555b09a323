//! Compares the text sinks with babeltrace2's output for real traces outside the repository, in the directory
//! `ICHNOS_TRACES`, or `../shared/traces` from the project's root. Skipped without it.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use ichnos::export::{Details, DetailsOptions, Pretty, PrettyOptions};
use ichnos::prelude::*;
use serde_json::Value;

/// Outputs that differ, with the reason.
const DIFFERENT: &[(&str, &str, &str)] =
    &[("pretty", "tracecompass/bug446190", STALE), ("pretty", "tracecompass/many-threads", STALE)];

const STALE: &str = "there, an empty string is printed as the string of that field in the event before (version \
                     2.0.4, which these two were made with)";

pub(crate) fn traces() -> Option<PathBuf> {
    ichnos_testing::recorded("ctf/real.json")?.parent().map(Path::to_owned)
}

fn print(path: &Path, kind: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut options = OpenOptions::default();
    // babeltrace2 rounds the times of clocks with frequencies other than 1 GHz in binary64.
    options.read.clock_arithmetic = ichnos::model::clock::ClockArithmetic::Double;
    let session = ichnos::open([path], &options).unwrap();
    let mut cursor = session.cursor(Window::default()).unwrap();
    if kind == "pretty" {
        let mut options = PrettyOptions::default();
        options.clock_gmt = true;
        let mut sink = Pretty::new(&mut out, options).warnings_to(std::io::sink());
        pump(&mut cursor, &mut sink).unwrap();
    } else {
        let mut options = DetailsOptions::default();
        (options.trace_name, options.stream_name) = (false, false);
        let mut sink = Details::new(&mut out, options).warnings_to(std::io::sink());
        pump(&mut cursor, &mut sink).unwrap();
    }
    out
}

/// Returns the first different line in two outputs, if the expected output is available.
fn first_difference(directory: &Path, expected: &Value, actual: &[u8]) -> String {
    let Some(file) = expected["file"].as_str() else {
        return format!("{} lines, {} expected", lines(actual), expected["lines"]);
    };
    let file = std::fs::File::open(directory.join(file)).unwrap();
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut text).unwrap();
    let (expected, actual) = (String::from_utf8_lossy(&text), String::from_utf8_lossy(actual));
    let mut numbered = expected.lines().zip(actual.lines()).enumerate();
    match numbered.find(|(_, (expected, actual))| expected != actual) {
        Some((i, (expected, actual))) => {
            format!("line {}:\n  expected {expected:?}\n  found    {actual:?}", i + 1)
        }
        None => format!("{} lines, {} expected", actual.lines().count(), expected.lines().count()),
    }
}

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

fn compare(kind: &str) {
    let Some(directory) = traces() else { return };
    let index = std::fs::read(directory.join("real.json")).unwrap();
    let index: Value = serde_json::from_slice(&index).unwrap();
    let mut wrong = Vec::new();
    let mut compared = 0;
    for entry in index.as_array().unwrap() {
        let trace = entry["trace"].as_str().unwrap();
        let expected = &entry[kind];
        if expected["rc"].as_i64() != Some(0) {
            continue;
        }
        compared += 1;
        let actual = print(&directory.join("real").join(trace), kind);
        let same = sha256(&actual) == expected["sha256"].as_str().unwrap();
        let known = DIFFERENT.iter().find(|known| (known.0, known.1) == (kind, trace));
        match (same, known) {
            (true, None) => {}
            (false, Some((.., reason))) => eprintln!("{trace} differs as expected: {reason}"),
            (true, Some(_)) => wrong.push(format!("{trace} does not differ any more")),
            (false, None) => {
                wrong.push(format!("{trace} differs: {}", first_difference(&directory, expected, &actual)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
    eprintln!("{kind}: compared {compared} outputs");
}

#[test]
fn pretty_is_the_same() {
    compare("pretty");
}

#[test]
fn details_are_the_same() {
    compare("details");
}

/// SHA-256 (FIPS 180-4) in hexadecimal.
fn sha256(data: &[u8]) -> String {
    fn fraction(root: f64) -> u32 {
        (root.fract() * 4_294_967_296.0) as u32
    }
    let is_prime = |n: &u32| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    let primes: Vec<f64> = (2..).filter(is_prime).take(64).map(f64::from).collect();
    let constants: Vec<u32> = primes.iter().map(|prime| fraction(prime.cbrt())).collect();
    let mut state: Vec<u32> = primes[..8].iter().map(|prime| fraction(prime.sqrt())).collect();
    let mut padded = data.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend_from_slice(&(data.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut w = [0u32; 64];
        for (word, bytes) in w.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes(bytes.try_into().unwrap());
        }
        for i in 16..64 {
            let (a, b) = (w[i - 15], w[i - 2]);
            let a = a.rotate_right(7) ^ a.rotate_right(18) ^ a >> 3;
            let b = b.rotate_right(17) ^ b.rotate_right(19) ^ b >> 10;
            w[i] = w[i - 16].wrapping_add(a).wrapping_add(w[i - 7]).wrapping_add(b);
        }
        let mut s: [u32; 8] = state.as_slice().try_into().unwrap();
        for i in 0..64 {
            let [a, b, c, d, e, f, g, h] = s;
            let first = h
                .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
                .wrapping_add(e & f ^ !e & g)
                .wrapping_add(constants[i])
                .wrapping_add(w[i]);
            let second = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22))
                .wrapping_add(a & b ^ a & c ^ b & c);
            s = [first.wrapping_add(second), a, b, c, d.wrapping_add(first), e, f, g];
        }
        state.iter_mut().zip(s).for_each(|(word, new)| *word = word.wrapping_add(new));
    }
    let mut text = Vec::new();
    state.iter().for_each(|word| write!(text, "{word:08x}").unwrap());
    String::from_utf8(text).unwrap()
}

#[test]
fn hashes() {
    assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
