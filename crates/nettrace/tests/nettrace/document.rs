//! Compares our format document with the reader.

use ichnos_model::message::DamageKind;
use ichnos_nettrace::{Fault, Rule};

/// The document lists all rules.
#[test]
fn rules_are_documented() {
    let document = include_str!("../../../../docs/nettrace.md");
    for rule in Rule::ALL {
        let fault = Fault { rule, offset: 0, statement: String::new(), skipped: 0 };
        let DamageKind::Rule(broken) = fault.damage("file").kind else { panic!("{rule:?} is no rule") };
        let effect = if broken.fatal { "error" } else { "warning" };
        let row = document.lines().find(|line| line.starts_with(&format!("| `{}` | ", rule.name())));
        let row = row.unwrap_or_else(|| panic!("docs/nettrace.md lacks the rule {}", rule.name()));
        assert!(row.ends_with(&format!(" | {effect} |")), "{row}");
    }
}
