//! Random traces of the proposals, converted by the command: `check --strict` and other readers accept the outputs.

use std::fs;
use std::path::Path;

use ichnos_testing::proposals::{Proposal, random_trace};
use ichnos_testing::{Random, cases};

use crate::oracles;
use crate::support::{Directory, ichnos};

/// Number of traces of each document.
const TRACES: u64 = 12;

/// Limits of other readers: parts of their messages.
const LIMITS: [&str; 0] = [];

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
    let traces = std::env::var("ICHNOS_PROPOSAL_TRACES").map_or(TRACES, |number| number.parse().unwrap());
    let mut wrong = Vec::new();
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
                    ichnos(["convert", "-q", "--assume-correlated", "--dialect", dialect, from, "-o", to]);
                let mut problem = (converted.code != 0).then_some(converted.err);
                if problem.is_none() {
                    let checked = ichnos(["check", "--strict", "--assume-correlated", to]);
                    problem = (checked.code != 0).then_some(checked.out + &checked.err);
                }
                if problem.is_none() {
                    problem = oracles::difference(&target, dialect);
                }
                let is_limit = |problem: &String| LIMITS.iter().any(|limit| problem.contains(limit));
                if let Some(problem) = problem.filter(|problem| !is_limit(problem)) {
                    wrong.push(format!("{}, seed {seed} -> {dialect}: {problem}", proposal.name()));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
