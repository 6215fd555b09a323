//! Random traces in the proposals, converted by the command: `check --strict` and other readers accept the outputs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ichnos_testing::proposals::{Proposal, random_trace};
use ichnos_testing::{Random, cases, sample_size};

use crate::oracles::{self, Judges};
use crate::support::{Directory, ichnos};

/// Limitations in other readers, by dialect: trace features, and parts of the messages.
const LIMITS: [(&str, &str, &str); 8] = [
    ("ctf1.8", "an assertion of Babeltrace 2.0 fails", "Assertion `tgt_fc` failed"),
    ("spec2", "Babeltrace 2.1 aborts", "unordered_map::at"),
    ("spec2", "Babeltrace 2.1 is ended by a signal", "babeltrace-2.1/babeltrace2 refuses it: \n"),
    ("spec2", "empty names in JSON", "Expecting a JSON object key"),
    ("spec2", "integers of more than 64 bits", "is too large: expecting at most 64"),
    ("spec2", "variable-length integers of more than 64 bits", "unsupported oversized"),
    ("spec2", "numbers in metadata of more than 64 bits", "a supported number (for an integer"),
    ("ctf1.8", "floating point numbers of 16 and 128 bits", "`mant_dig` attribute: expecting 24 or 53"),
];

/// Faults in other readers that show as a difference: document, seed, dialect, fault.
const KNOWN: [(Proposal, u64, &str, &str); 3] = [
    (Proposal::Second, 9, "spec2", LEB128_CLOCK),
    (Proposal::First, 27, "ctf1.8", HEXADECIMAL),
    (Proposal::Second, 19, "ctf1.8", HEXADECIMAL),
];

/// The clock is 45, and 98 must be read. Babeltrace 2.1 reads 111.
const LEB128_CLOCK: &str = "a variable-length timestamp is combined with the bits of the time before it";

/// For these lengths, Babeltrace's mask for hexadecimal digits is empty.
const HEXADECIMAL: &str = "Babeltrace 2.0 prints hexadecimal numbers of 61 to 63 bits as 0";

fn write_source(path: &Path, proposal: Proposal, random: &mut Random) {
    let random = random_trace(proposal, random);
    fs::create_dir(path).unwrap();
    fs::write(path.join("metadata"), &random.metadata).unwrap();
    for stream in &random.streams {
        fs::write(path.join(&stream.file), &stream.bytes).unwrap();
    }
}

#[test]
fn other_readers_read_conversions_of_the_proposals() {
    let traces = std::env::var("ICHNOS_PROPOSAL_TRACES");
    let traces = traces.map_or_else(|_| sample_size(6, 12), |number| number.parse().unwrap());
    let (mut wrong, mut limits, mut equal) = (Vec::new(), BTreeMap::new(), 0);
    for proposal in Proposal::ALL {
        cases(traces, |random| {
            let seed = random.seed();
            let directory = Directory::new("proposals");
            let source = directory.join("source");
            write_source(&source, proposal, random);
            for dialect in ["spec2", "prop2", "prop1", "ctf1.8"] {
                let target = directory.join(dialect);
                let (from, to) = (source.to_str().unwrap(), target.to_str().unwrap());
                let converted =
                    ichnos(["convert", "-q", "--assume-correlated", "--to-dialect", dialect, from, "-o", to]);
                let mut problem = (converted.code != 0).then_some(converted.err);
                if problem.is_none() {
                    let checked = ichnos(["check", "--strict", "--assume-correlated", to]);
                    problem = (checked.code != 0).then_some(checked.out + &checked.err);
                }
                let mut limit = None;
                if problem.is_none() {
                    problem = oracles::difference(&target, dialect, Judges::Best);
                    let is_known = |(of, _, message): &&(&str, &str, &str)| {
                        *of == dialect && problem.as_ref().is_some_and(|problem| problem.contains(message))
                    };
                    limit = LIMITS.iter().find(is_known);
                }
                let Some(problem) = problem else {
                    equal += 1;
                    continue;
                };
                match limit {
                    Some((_, limit, _)) => *limits.entry((dialect, limit)).or_insert(0) += 1,
                    None if KNOWN
                        .iter()
                        .any(|known| (known.0, known.1, known.2) == (proposal, seed, dialect)) => {}
                    None => wrong.push(format!("{}, seed {seed} -> {dialect}: {problem}", proposal.name())),
                }
            }
        });
    }
    println!(
        "{equal} outputs as other readers print them, if there are any; refused by other readers: {limits:#?}"
    );
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
