//! Failures: how they grow on the way up, and how they are printed.

use ichnos::export::printable;

use crate::command::Failure;
use crate::paint::Paint;

/// Place in each cause. Babeltrace prints a line in its own sources, which would mean nothing here.
const PLACE: (&str, u32) = ("ichnos", 1);

impl Failure {
    /// Creates a failure with one cause.
    pub(crate) fn from_cause(cause: impl Into<String>) -> Self {
        Self { causes: vec![cause.into()], exit_code: 1 }
    }

    /// Adds an outer cause.
    pub(crate) fn in_context(mut self, cause: impl Into<String>) -> Self {
        self.causes.insert(0, cause.into());
        self
    }
}

/// Returns the error stack: all causes, the outermost first. Lines are never folded, so that programs can search them.
pub(crate) fn error_stack(failure: &Failure, paint: Paint) -> String {
    if failure.causes.is_empty() {
        return format!("{}Unknown command-line error.{}\n", paint.bright_red(), paint.reset());
    }
    let mut text = String::from("\n");
    for (index, cause) in failure.causes.iter().enumerate() {
        let label = if index == 0 { "ERROR:" } else { "CAUSED BY" };
        let space = if index == 0 { "    " } else { " " };
        text += &format!("{}{label}{}{space}", paint.bright_red(), paint.reset());
        text += &format!("[{}Babeltrace CLI{}] ", paint.bold(), paint.reset());
        let (file, line) = PLACE;
        text += &format!("({}{file}{}:", paint.bright_magenta(), paint.reset());
        text += &format!("{}{line}{})\n", paint.green(), paint.reset());
        text += &indented(cause, paint);
        text.push('\n');
    }
    text
}

/// Returns a text whose lines are indented by two spaces. In colors, its own control characters are escaped.
fn indented(text: &str, paint: Paint) -> String {
    let indent = |line: &str| match line {
        "" => String::new(),
        line if paint.is_on() => format!("  {}", printable(line)),
        line => format!("  {line}"),
    };
    let lines: Vec<String> = text.trim_end_matches('\n').split('\n').map(indent).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_printed_from_the_outermost() {
        let failure =
            Failure::from_cause("Invalid format:\n\n    a b\n").in_context("Command-line error: retcode=1");
        let expected = "\nERROR:    [Babeltrace CLI] (ichnos:1)\n  Command-line error: retcode=1\nCAUSED BY \
                        [Babeltrace CLI] (ichnos:1)\n  Invalid format:\n\n      a b\n";
        assert_eq!(error_stack(&failure, Paint::off()), expected);
    }
}
