//! The tables of `docs/xtrace.md` that come from the program.

use ichnos_xtrace::metadata::Rule;

use crate::support::compare;

#[test]
fn rules_are_those_of_the_document() {
    let mut table = String::from("| rule | statement | section |\n|---|---|---|\n");
    for rule in Rule::ALL {
        table += &format!("| `{}` | {} | {} |\n", rule.name(), rule.statement(), rule.section());
    }
    compare("metadata rules", &table);
}
