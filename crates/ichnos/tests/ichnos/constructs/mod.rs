//! One construct, one trace: each is converted to every target and back, and compared with what was encoded.
//!
//! Only this comparison verifies these conversions: it knows what was encoded. It expects each difference in the loss
//! table, and each loss in the converted trace.

mod equivalence;
mod judgement;
mod known;
mod observation;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ichnos::convert::{ConvertError, ConvertOptions, target};
use ichnos::model::lower::LossTable;
use ichnos_testing::constructs::{Construct, EncodedEvent, Lost, Origin, constructs};

use self::judgement::{Target, judge};
use self::observation::{Observation, observe};

/// Formats and dialects to which all constructs are converted.
const TARGETS: [(&str, &str); 10] = [
    ("ctf", "spec2"),
    ("ctf", "prop2"),
    ("ctf", "prop1"),
    ("ctf", "ctf1.8"),
    ("jsonl", ""),
    ("nettrace", "4"),
    ("nettrace", "6"),
    ("fxt", ""),
    ("fuchsia-log", ""),
    ("xtrace", ""),
];

/// Converts a trace.
fn convert(
    from: &Path,
    from_format: Option<&str>,
    to: &Path,
    (format, dialect): (&str, &str),
) -> Result<LossTable, String> {
    let mut options = ichnos::OpenOptions::default();
    options.read.check = true;
    options.assume_correlated = true;
    options.format = from_format.map(str::to_owned);
    let session = ichnos::open([from], &options).map_err(|error| format!("cannot be read: {error}"))?;
    let dialect = Some(dialect).filter(|dialect| !dialect.is_empty());
    let writer = target(Some(format), to, dialect).unwrap().writer;
    let mut options = ConvertOptions::default();
    options.write.dialect = dialect.map(str::to_owned);
    options.write.sorts = true;
    if format == "xtrace" {
        options.write.formats.set("xtrace", writer.options(), "orphans", "chain".as_ref()).unwrap();
    }
    let reader = session.stream_reader();
    let report = reader.convert(writer, Some(to.to_owned()), &options).map_err(|error| match error {
        ConvertError::Create(error) => error.to_string(),
        error => format!("{error:?}"),
    });
    report.map(|report| report.losses)
}

/// Writes a construct's files. Returns the trace path.
fn write(construct: &Construct, directory: &Path) -> PathBuf {
    if let [(name, bytes)] = &construct.files[..] {
        let path = directory.join(name);
        fs::write(&path, bytes).unwrap();
        return path;
    }
    let source = directory.join("source");
    fs::create_dir(&source).unwrap();
    construct.files.iter().for_each(|(name, bytes)| fs::write(source.join(name), bytes).unwrap());
    source
}

/// Combines read events with the encoded packet headers, packet contexts and event headers. Other fields in these scopes
/// are specific to the format.
fn with_context(encoded: &[EncodedEvent], read: &[EncodedEvent]) -> Vec<EncodedEvent> {
    let is_layout = |scope: &str| scope.starts_with("packet.") || scope == "header";
    let events = encoded.iter().zip(read).map(|(encoded, read)| {
        let own = read.scopes.iter().filter(|(scope, _)| !is_layout(scope));
        let layout = encoded.scopes.iter().filter(|(scope, _)| is_layout(scope));
        EncodedEvent { scopes: layout.chain(own).cloned().collect(), ..read.clone() }
    });
    events.collect()
}

/// Checks one construct. Returns the problems by target.
fn check(construct: &Construct, directory: &Path) -> BTreeMap<String, Vec<String>> {
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (origin, origin_dialect) = construct.origin.target();
    let source = write(construct, directory);
    let read = match observe(&source, Some(origin)) {
        Ok(read) => read,
        Err(error) => return BTreeMap::from([("read".to_owned(), vec![error])]),
    };
    let encoded = (&construct.events[..], &construct.lost[..]);
    let mut problems = judge(encoded, &read, &read, &[], Target::Same);
    problems.extend(read.damage.iter().map(|damage| format!("damage: {damage}")));
    if !problems.is_empty() {
        return BTreeMap::from([("read".to_owned(), problems)]);
    }
    // Conversions must also keep values that the reader adds, such as the process of a file.
    let complete = with_context(&construct.events, &read.events);
    let encoded = (&complete[..], &construct.lost[..]);
    for target in TARGETS {
        let (format, dialect) = target;
        let name = if dialect.is_empty() { format.to_owned() } else { format!("{format} {dialect}") };
        let (out, back) =
            (directory.join(format!("{format}{dialect}")), directory.join(format!("{format}{dialect}-back")));
        let losses = match convert(&source, Some(origin), &out, target) {
            Ok(losses) => losses,
            Err(error) => {
                wrong.insert(name, vec![format!("refused: {error}")]);
                continue;
            }
        };
        let kind = match format {
            "ctf" => Target::Ctf,
            "jsonl" => Target::Lines,
            format => Target::Other(format),
        };
        let mut problems = match observe(&out, Some(format)) {
            Ok(found) => {
                if std::env::var_os("ICHNOS_CONSTRUCT").is_some() {
                    println!("{} -> {name}: {losses:#?}\n{:#?}", construct.name, found.events);
                }
                let mut problems = judge(encoded, &read, &found, &[&losses], kind);
                problems.extend(found.damage.iter().map(|damage| format!("damage: {damage}")));
                problems
            }
            Err(error) => vec![error],
        };
        if problems.is_empty() {
            problems = match convert(&out, Some(format), &back, (origin, origin_dialect.unwrap_or_default()))
            {
                Ok(back_losses) => {
                    if std::env::var_os("ICHNOS_CONSTRUCT").is_some() {
                        println!("back: {back_losses:#?}");
                    }
                    let target = Target::Back(matches!(kind, Target::Other(_)));
                    came_back(encoded, &read, &back, (origin, target), &[&losses, &back_losses])
                }
                Err(error) => vec![format!("refused back: {error}")],
            };
        }
        if !problems.is_empty() {
            wrong.insert(name, problems);
        }
    }
    wrong
}

/// Compares a trace converted back with the encoded construct.
fn came_back(
    encoded: (&[EncodedEvent], &[Lost]),
    read: &Observation,
    back: &Path,
    (origin, target): (&str, Target),
    losses: &[&LossTable],
) -> Vec<String> {
    let problems = match observe(back, Some(origin)) {
        Ok(found) => judge(encoded, read, &found, losses, target),
        Err(error) => vec![error],
    };
    problems.into_iter().map(|problem| format!("back: {problem}")).collect()
}

/// Checks the constructs of some origins.
fn check_all(test: &str, is_wanted: impl Fn(Origin) -> bool) {
    let only = std::env::var("ICHNOS_CONSTRUCT").ok();
    let mut wrong = BTreeMap::new();
    let constructs = constructs();
    let is_it = |construct: &&Construct| {
        is_wanted(construct.origin) && only.as_ref().is_none_or(|only| construct.name.contains(only.as_str()))
    };
    for construct in constructs.iter().filter(is_it) {
        let directory = tempfile::tempdir().unwrap();
        for (target, problems) in check(construct, directory.path()) {
            println!("{} -> {target}: {}", construct.name, problems.join("; "));
            wrong.insert((construct.name.clone(), target), problems.join("; "));
        }
        if only.is_some() {
            println!("kept: {}", directory.keep().display());
        }
    }
    if only.is_none() {
        known::compare(test, &wrong);
    }
}

#[test]
fn constructs_of_prop1() {
    check_all("prop1", |origin| origin == Origin::Prop1);
}

#[test]
fn constructs_of_prop2() {
    check_all("prop2", |origin| origin == Origin::Prop2);
}

#[test]
fn constructs_of_spec2() {
    check_all("spec2", |origin| origin == Origin::Spec2);
}

#[test]
fn constructs_of_ctf18() {
    check_all("ctf18", |origin| origin == Origin::Ctf18);
}

#[test]
fn constructs_of_nettrace() {
    check_all("nettrace", |origin| {
        matches!(origin, Origin::Nettrace3 | Origin::Nettrace4 | Origin::Nettrace6)
    });
}

#[test]
fn constructs_of_logs() {
    check_all("logs", |origin| origin == Origin::FuchsiaLog);
}

#[test]
fn constructs_of_fxt() {
    check_all("fxt", |origin| origin == Origin::Fxt);
}

#[test]
fn constructs_of_xtrace() {
    check_all("xtrace", |origin| origin == Origin::XTrace);
}

#[test]
fn constructs_of_json_lines() {
    check_all("json_lines", |origin| origin == Origin::JsonLines);
}
