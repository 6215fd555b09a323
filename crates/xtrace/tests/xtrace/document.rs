//! Tables in `docs/xtrace.md` that the program generates.

use ichnos_testing::compare_table;
use ichnos_xtrace::metadata::Rule;
use ichnos_xtrace::report::ReportRule;

#[test]
fn rules_are_those_of_the_document() {
    let mut table = String::from("| rule | statement | section |\n|---|---|---|\n");
    for rule in Rule::ALL {
        table += &format!("| `{}` | {} | {} |\n", rule.name(), rule.statement(), rule.section());
    }
    compare_table("xtrace.md", "metadata rules", &table);
}

#[test]
fn rules_of_reports_are_those_of_the_document() {
    let mut table = String::from("| rule | statement | reported |\n|---|---|---|\n");
    for rule in ReportRule::ALL {
        let when = if rule.is_fatal() { "always" } else { "by `check`" };
        table += &format!("| `{}` | {} | {when} |\n", rule.name(), rule.statement());
    }
    compare_table("xtrace.md", "report rules", &table);
}
