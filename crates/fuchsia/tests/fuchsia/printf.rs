//! Printf messages, compared with C's printf, and cases that C leaves undefined.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ichnos_fuchsia::log::{CheckOptions, Encoder, LogError, Record, RecordEncoder, Rule};
use ichnos_testing::{Random, cases};

fn encoded(format: &str, write: impl FnOnce(&mut RecordEncoder<'_>)) -> Vec<u8> {
    let mut buffer = vec![0; 1_024 + format.len() * 2];
    let mut encoder = Encoder::new(&mut buffer);
    let mut record = encoder.begin(1, 0x30).unwrap();
    record.argument("printf", 0u64).unwrap();
    record.argument("message", format).unwrap();
    write(&mut record);
    record.finish();
    encoder.written().to_vec()
}

fn text(format: &str, write: impl FnOnce(&mut RecordEncoder<'_>)) -> String {
    Record::read(&encoded(format, write), 0).unwrap().0.text().to_string()
}

fn errors(bytes: &[u8]) -> Vec<LogError> {
    let mut errors = Vec::new();
    Record::read(bytes, 0).unwrap().0.check(CheckOptions::default(), &mut |error| errors.push(error));
    errors
}

#[test]
fn cases_undefined_in_c_are_shown() {
    let show = |format: &str| {
        let write = |record: &mut RecordEncoder<'_>| {
            record.argument("", "abc").unwrap();
            record.argument("", 5u64).unwrap();
            record.argument("k", true).unwrap();
        };
        text(format, write)
    };
    assert_eq!(show("%s %d"), "abc 5 k=true");
    assert_eq!(show("%d %s"), "%!d(str=abc) %!s(u64=5) k=true");
    assert_eq!(show("%s"), "abc%!(EXTRA u64=5) k=true");
    assert_eq!(show("none"), "none%!(EXTRA str=abc, u64=5) k=true");
    assert_eq!(show("%s %d %f"), "abc 5 %!f(MISSING) k=true");
    assert_eq!(show("%s %y %d"), "abc %!y(UNKNOWN) 5 k=true");
    assert_eq!(show("%s %d %n"), "abc 5 %!n(UNKNOWN) k=true");
    assert_eq!(show("%s %1$d"), "abc %!$(UNKNOWN)d%!(EXTRA u64=5) k=true");
    assert_eq!(show("%s %d %"), "abc 5 %!(NOVERB) k=true");
    assert_eq!(show("%s %d %-5.3l"), "abc 5 %!(NOVERB) k=true");
    assert_eq!(show("%s %d %ä"), "abc 5 %!(NOVERB)ä k=true");
    assert_eq!(show("%*d"), "%!(BADWIDTH str=abc)5 k=true");
    assert_eq!(show("%.*d"), "%!(BADPREC str=abc)5 k=true");
    assert_eq!(show("%s %*d"), "abc %!d(MISSING) k=true");
    assert_eq!(show("%s %d %*.*d"), "abc 5 %!(BADWIDTH MISSING)%!(BADPREC MISSING)%!d(MISSING) k=true");
    assert_eq!(text("%d", |record| record.argument("", true).unwrap()), "%!d(bool=true)");
    assert_eq!(text("%x", |record| record.argument("", 2.5).unwrap()), "%!x(f64=2.5)");
    assert_eq!(text("%g", |record| record.argument("", 2i64).unwrap()), "%!g(i64=2)");
    assert_eq!(text("", |record| record.argument("k", 1u64).unwrap()), "k=1");
}

#[test]
fn texts_beyond_ascii() {
    let character = |value: u64, format: &str| text(format, |record| record.argument("", value).unwrap());
    assert_eq!(character(0x41, "%c"), "A");
    assert_eq!(character(0xe4, "%c"), "\u{fffd}");
    assert_eq!(character(0xe4, "%lc"), "ä");
    assert_eq!(character(0xd800, "%lc"), "\u{fffd}");
    assert_eq!(character(0xe4, "[%4lc]"), "[  ä]");
    let string = |format: &str| text(format, |record| record.argument("", "aäb").unwrap());
    // C counts bytes and cuts inside characters, except in wide strings.
    assert_eq!(string("%5s|"), " aäb|");
    assert_eq!(string("%.2s|"), "a\u{fffd}|");
    assert_eq!(string("%.2ls|"), "a|");
    assert_eq!(string("ä%.3sö|"), "äaäö|");
}

#[test]
fn rules_of_printf() {
    let reported = |format: &str, write: &dyn Fn(&mut RecordEncoder<'_>)| -> Vec<(Rule, u64, u64, u64)> {
        let errors = errors(&encoded(format, |record| write(record)));
        errors.iter().map(|error| (error.rule, error.at, error.expected, error.found)).collect()
    };
    let one = |record: &mut RecordEncoder<'_>| record.argument("", 5u64).unwrap();
    let two = |record: &mut RecordEncoder<'_>| {
        one(record);
        record.argument("", "abc").unwrap();
    };
    // Header, timestamp and the argument `printf` take 40 bytes, the message header and name 16.
    assert_eq!(reported("%d", &one), []);
    assert_eq!(reported("a %s", &one), [(Rule::PrintfArgumentType, 64, 6, 4)]);
    assert_eq!(reported("a %d %d", &one), [(Rule::PrintfArgumentMissing, 40 + 16 + 5, 1, 0)]);
    assert_eq!(reported("a %d", &two), [(Rule::PrintfArgumentExtra, 80, 0, 1)]);
    assert_eq!(reported("ab", &two), [(Rule::PrintfArgumentExtra, 64, 0, 2)]);
    assert_eq!(reported("%d %y", &one), [(Rule::PrintfConversion, 40 + 16 + 3, 0, u64::from(b'y'))]);
    assert_eq!(reported("%d %", &one), [(Rule::PrintfConversion, 40 + 16 + 3, 0, 0)]);
    let late = |record: &mut RecordEncoder<'_>| {
        record.argument("pid", 1u64).unwrap();
        one(record);
        record.argument("file", "a.c").unwrap();
        one(record);
        record.argument("k", 1u64).unwrap();
        one(record);
    };
    // Arguments with a meaning can be between printf arguments, but pairs cannot.
    assert_eq!(reported("%d %d", &late), [(Rule::PrintfArgumentOrder, 168, 1, 0)]);
    assert_eq!(text("%d %d", late), "5 5 k=1 =5");
}

#[test]
fn output_is_bounded() {
    let huge = ["%2147483647d", "%-2147483648d", "%.2147483647d", "%99999999999999999999d", "%#.2147483647x"];
    for format in huge {
        let shown = text(format, |record| record.argument("", 5u64).unwrap());
        assert!(shown.len() < 132_000 && shown.ends_with("%!(TRUNCATED)"), "{format}: {}", shown.len());
    }
    for format in ["%.2147483647f", "%2147483647a", "%#.2147483647g", "%.2147483647e", "%0*.*f"] {
        let shown = text(format, |record| {
            if format.contains('*') {
                record.argument("", i64::from(i32::MAX)).unwrap();
                record.argument("", i64::from(i32::MAX)).unwrap();
            }
            record.argument("", 1e300).unwrap();
        });
        assert!(shown.len() < 132_000 && shown.ends_with("%!(TRUNCATED)"), "{format}: {}", shown.len());
    }
    // A huge precision that only adds zeros.
    assert_eq!(text("%.2147483647g", |record| record.argument("", 0.5).unwrap()), "0.5");
    // The whole record consists of such conversions.
    let many = "%2147483647d".repeat(2_000);
    let bytes = encoded(&many, |record| {
        for _ in 0..400 {
            record.argument("", 5u64).unwrap();
        }
    });
    let record = Record::read(&bytes, 0).unwrap().0;
    assert_eq!(record.text().with_limit(10).to_string(), "          %!(TRUNCATED)");
    assert_eq!(record.text().without_pairs().with_limit(0).to_string(), "%!(TRUNCATED)");
    assert_eq!(errors(&bytes).len(), 1_600);
}

fn integer(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.below(20),
        1 => random.below(20).wrapping_neg(),
        2 => random.pick(&[0, 1, 0x7f, 0x80, 0xff, 0x8000, 0x7fff_ffff, 1 << 31, 1 << 63, u64::MAX]),
        _ => random.number() >> random.below(64),
    }
}

fn float(random: &mut Random) -> f64 {
    let float = match random.below(6) {
        // Halves, which are rounded to even.
        0 => random.below(1 << 12) as f64 / random.pick(&[2.0, 4.0, 8.0, 16.0, 64.0]),
        1 => random.below(100_000) as f64 / random.pick(&[10.0, 100.0, 1_000.0]),
        2 => random.pick(&[0.0, 1.0, 9.5, 99.5, 999_999.5, 1e15, 1e16, 1e-5, 1e-4, 5e-324, 1e308, f64::NAN]),
        3 => random.pick(&[f64::INFINITY, f64::MIN_POSITIVE, f64::MAX, 0.1, 123_456_789.0, 0.000_123_45]),
        _ => f64::from_bits(random.number()),
    };
    if random.below(3) == 0 { -float } else { float }
}

/// A conversion with its argument, for the format string, the C program and the record.
struct Case {
    format: String,
    line: String,
    arguments: Vec<Argument>,
}

enum Argument {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    // A first letter, so that the text is never empty.
    let mut text = String::from("x");
    bytes.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
    text
}

/// C library properties.
#[derive(Clone, Copy)]
struct Library {
    is_glibc: bool,
    has_binary: bool,
}

fn case(random: &mut Random, library: Library) -> Case {
    let letters = b"ddiiouxXfFeEgGgaAcsspduxbB";
    let letter = random.pick(&letters[..letters.len() - if library.has_binary { 0 } else { 2 }]);
    let flags: &[u8];
    let mut modifiers: &[&str] = &[""];
    let mut has_precision = true;
    match letter {
        b'd' | b'i' => (flags, modifiers) = (b"-+ 0'", &["", "hh", "h", "l", "ll", "j", "z", "t"]),
        b'u' => (flags, modifiers) = (b"-0'", &["", "hh", "h", "l", "ll", "j", "z", "t"]),
        b'o' | b'x' | b'X' | b'b' | b'B' => {
            (flags, modifiers) = (b"-0#", &["", "hh", "h", "l", "ll", "j", "z", "t"])
        }
        // On x86, the C library writes a long double differently.
        b'a' | b'A' => (flags, modifiers) = (b"-+ 0#", &["", "l"]),
        b's' => flags = b"-",
        b'c' | b'p' => (flags, has_precision) = (b"-", false),
        _ => (flags, modifiers) = (b"-+ 0#", &["", "l", "L"]),
    }
    let mut format = String::from("%");
    for _ in 0..random.below(4) {
        format.push(char::from(random.pick(flags)));
    }
    let mut arguments = Vec::new();
    let mut stars = Vec::new();
    let mut count = |random: &mut Random, format: &mut String, largest: u64| {
        if random.below(4) == 0 {
            let star = random.below(largest * 2) as i64 - largest as i64;
            format.push('*');
            stars.push(star.to_string());
            arguments.push(Argument::Signed(star));
        } else {
            *format += &random.below(largest).to_string();
        }
    };
    if random.below(2) == 0 {
        // Not 0, which would be a flag.
        let before = format.len();
        count(random, &mut format, 40);
        if format[before..].starts_with('0') {
            format.truncate(before);
        }
    }
    if has_precision && random.below(2) == 0 {
        format.push('.');
        if random.below(8) != 0 {
            let largest = if random.below(20) == 0 { 400 } else { 25 };
            count(random, &mut format, largest);
        }
    }
    let modifier = random.pick(modifiers);
    format += modifier;
    format.push(char::from(letter));
    let value = match letter {
        b's' => {
            let length = random.below(20);
            let text: String = (0..length).map(|_| char::from(b' ' + random.below(95) as u8)).collect();
            let value = hex(text.as_bytes());
            arguments.push(Argument::Text(text));
            value
        }
        b'c' => {
            let value = 1 + random.below(127);
            arguments.push(Argument::Unsigned(value));
            format!("{value:x}")
        }
        b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' | b'B' | b'p' => {
            let mut value = integer(random);
            if letter == b'p' && !library.is_glibc {
                // Only this value has a portable format.
                value = 0;
                format = "%d".to_owned();
                (arguments, stars) = (Vec::new(), Vec::new());
            }
            arguments.push(match random.below(2) {
                0 => Argument::Signed(value as i64),
                _ => Argument::Unsigned(value),
            });
            format!("{value:x}")
        }
        _ => {
            let mut value = float(random);
            if letter.eq_ignore_ascii_case(&b'g') && format.contains('#') {
                // If rounding adds a digit before the point, glibc loses the zeros of `#` (999999.5 becomes 1.e+06).
                // Such numbers are skipped.
                let leading = format!("{:e}", value.abs());
                if leading.starts_with('9') {
                    value = 1.5;
                }
            }
            arguments.push(Argument::Float(value));
            format!("{:x}", value.to_bits())
        }
    };
    let kind = format!("{modifier}{}", char::from(letter));
    let stars = std::iter::once(stars.len().to_string()).chain(stars).collect::<Vec<_>>().join(" ");
    let line = format!("{} {stars} {kind} {value} ", hex(format.as_bytes()));
    Case { format, line, arguments }
}

/// A format string with several conversions and text between them.
fn several(random: &mut Random, library: Library) -> Case {
    let mut all = Case { format: String::new(), line: String::new(), arguments: Vec::new() };
    for _ in 0..1 + random.below(4) {
        let between = random.pick(&["", "a", " = ", "%%", "%% of ", "ä"]);
        all.format += between;
        if !between.is_empty() {
            all.line += &format!("{} 0 - 0 ", hex(between.as_bytes()));
        }
        let next = case(random, library);
        all.format += &next.format;
        all.line += &next.line;
        all.arguments.extend(next.arguments);
    }
    all
}

/// Returns the compiled C program, or `None` without a compiler.
fn program() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ichnos-printf");
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fuchsia/printf.c");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler).args(["-std=c11", "-O1", "-w", "-o"]).arg(&path).arg(source).status();
    status.ok()?.success().then_some(path)
}

fn run(program: &Path, input: String) -> Vec<String> {
    let mut child =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it was compiled");
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn rendering_matches_the_c_library() {
    let Some(program) = program() else {
        eprintln!("skipped: there is no C compiler");
        return;
    };
    let about = run(&program, String::new()).join("");
    let library = Library { is_glibc: about.contains("glibc"), has_binary: about.contains("binary") };
    eprintln!("    C library: {about}");
    cases(1, |random| render_all(&program, library, random));
}

/// Compares 100,000 format strings.
fn render_all(program: &Path, library: Library, random: &mut Random) {
    let all: Vec<Case> = (0..100_000).map(|_| several(random, library)).collect();
    let input = all.iter().map(|case| case.line.clone() + "\n").collect::<String>();
    let expected = run(program, input);
    assert_eq!(expected.len(), all.len() + 1);
    let mut wrong = 0;
    for (case, expected) in all.iter().zip(&expected[1..]) {
        let bytes = encoded(&case.format, |record| {
            for argument in &case.arguments {
                match argument {
                    Argument::Signed(value) => record.argument("", *value),
                    Argument::Unsigned(value) => record.argument("", *value),
                    Argument::Float(value) => record.argument("", *value),
                    Argument::Text(value) => record.argument("", value.as_str()),
                }
                .unwrap();
            }
        });
        assert_eq!(errors(&bytes), [], "{}", case.format);
        let found = Record::read(&bytes, 0).unwrap().0.text().to_string();
        if hex(found.as_bytes())[1..] != *expected {
            wrong += 1;
            let expected: Vec<u8> = (0..expected.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&expected[at..at + 2], 16).unwrap())
                .collect();
            let expected = String::from_utf8_lossy(&expected);
            eprintln!("{:?} of {}: C {expected:?}, here {found:?}", case.format, case.line);
        }
        assert!(wrong < 20, "and maybe more");
    }
    assert_eq!(wrong, 0);
}
