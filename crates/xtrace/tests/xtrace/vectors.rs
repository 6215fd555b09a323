//! Results of the original C++ library for 58 texts, compared with this crate.

use std::fs;

use ichnos_testing::compare_table;
use ichnos_xtrace::Metadata;
use ichnos_xtrace::metadata::Mode;

/// A text with the printed result from the original library. `None` if the library aborted.
struct Vector {
    text: String,
    printed: Option<String>,
}

fn vectors() -> Option<Vec<Vector>> {
    let directory = ichnos_testing::recorded("xtrace")?;
    let texts = fs::read_to_string(directory.join("metadata-vectors.txt")).unwrap();
    let outputs = fs::read_to_string(directory.join("metadata-vectors.reference-output.tsv")).unwrap();
    assert_eq!(texts.lines().count(), outputs.lines().count());
    let vectors = texts.lines().zip(outputs.lines()).map(|(text, output)| {
        let (same, printed) = output.split_once('\t').unwrap();
        assert_eq!(same, text);
        let printed = (!printed.starts_with("ABORT")).then(|| printed.to_owned());
        Vector { text: text.to_owned(), printed }
    });
    Some(vectors.collect())
}

/// Formats metadata like the original library.
fn print(metadata: &Metadata) -> String {
    let borrowed = metadata.as_ref();
    // It counts each padding byte as an option.
    let options = metadata.options().count() + borrowed.padding().len();
    format!(
        "valid={}\tlen={}\ttask={}\top={}\tnopts={options}\toptlen={}\trepack={metadata}",
        u8::from(metadata.is_valid()),
        metadata.as_bytes().len(),
        metadata.task_id().as_bytes().len(),
        metadata.op_id().as_bytes().len(),
        borrowed.options_bytes().len(),
    )
}

#[test]
fn lenient_is_what_the_original_library_does() {
    let Some(vectors) = vectors() else { return };
    assert!(vectors.len() >= 58);
    for Vector { text, printed } in &vectors {
        let lenient = Metadata::parse_lenient(text.as_bytes());
        match printed {
            Some(printed) => assert_eq!(print(&lenient), *printed, "{text}"),
            None => eprintln!("the original library was aborted by {text}; here it is {}", print(&lenient)),
        }
        // Parsing from text and from bytes agrees.
        if let Ok(metadata) = Metadata::parse_with(text.as_bytes(), Mode::Lenient) {
            assert_eq!(metadata, lenient);
            let bytes: Vec<u8> = (0..text.len() / 2)
                .map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            assert_eq!(Metadata::parse_bytes_with(&bytes, Mode::Lenient), Ok(metadata));
        }
    }
}

/// Severities over three bits, as the original library writes them.
#[test]
fn severities_keep_three_bits() {
    for (text, written) in [
        ("14CAFEBABE0102030403CE0106", "14CAFEBABE0102030403CE0106"),
        ("14CAFEBABE0102030403CE010F", "14CAFEBABE0102030403CE0107"),
        ("14CAFEBABE0102030403CE01FF", "14CAFEBABE0102030403CE0107"),
        ("14CAFEBABE0102030406CE0108CE01FE", "14CAFEBABE0102030406CE0100CE0106"),
        ("14CAFEBABE0102030408C102F8E6CE01A500FF", "14CAFEBABE0102030408C102F8E6CE010500"),
        ("14CAFEBABE0102030405CE010A00CE", "14CAFEBABE0102030405CE01020000"),
        ("0CCAFEBABE010203040506070803CE010E", "1CCAFEBABE010203040506070803CE0106"),
        ("04CAFEBABE0102030403CE01F0", "04CAFEBABE0102030403CE0100"),
        // Options that only look similar are kept.
        ("14CAFEBABE01020304060704CE01FFFF", "14CAFEBABE01020304060704CE01FFFF"),
    ] {
        assert_eq!(Metadata::parse_lenient(text.as_bytes()).to_string(), written, "{text}");
    }
    // According to the document, options are opaque.
    let strict = Metadata::parse("14CAFEBABE0102030403CE010F").unwrap();
    assert_eq!(strict.to_string(), "14CAFEBABE0102030403CE010F");
}

/// Describes the original library's result for a text in one or two words.
fn by_library(printed: Option<&str>) -> String {
    let Some(printed) = printed else { return "aborted".to_owned() };
    let repacked = printed.split_once("repack=").unwrap().1;
    if printed.starts_with("valid=1") { format!("`{repacked}`") } else { "invalid".to_owned() }
}

#[test]
fn differences_from_the_document_are_known() {
    let Some(vectors) = vectors() else { return };
    let mut table = String::from(
        "| text | original library, and lenient | strict | section that decides |\n|---|---|---|---|\n",
    );
    let mut same = 0;
    for Vector { text, printed } in &vectors {
        let (strict, section) = match Metadata::parse(text) {
            Ok(metadata) if metadata.is_valid() => (format!("`{metadata}`"), "2.3.1 Option Format"),
            Ok(_) => ("invalid".to_owned(), "2.2 TaskId"),
            Err(error) => (format!("`{}` at byte {}", error.rule.name(), error.offset), error.rule.section()),
        };
        let library = by_library(printed.as_deref());
        if strict == library
            || library == "invalid" && !strict.starts_with("`1") && Metadata::parse(text).is_err()
        {
            same += 1;
            continue;
        }
        let library = match printed {
            Some(_) => library,
            None => {
                let lenient = Metadata::parse_lenient(text.as_bytes());
                let lenient = if lenient.is_valid() { format!("`{lenient}`") } else { "invalid".to_owned() };
                format!("{library}; lenient: {lenient}")
            }
        };
        table += &format!("| `{text}` | {library} | {strict} | {section} |\n");
    }
    table += &format!("\nThe other {same} texts are the same in both.\n");
    compare_table("xtrace.md", "metadata vectors", &table);
}
