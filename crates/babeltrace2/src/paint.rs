//! Terminal colors.

/// Color codes, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint {
    is_on: bool,
}

/// Environment variable that decides about colors.
const VARIABLE: &str = "BABELTRACE_TERM_COLOR";

/// Terminals that are known to support colors: `TERM` prefixes.
const TERMINALS: [&str; 7] = ["xterm", "rxvt", "konsole", "gnome", "screen", "tmux", "putty"];

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident: $code:literal;)*) => {
        impl Paint {
            $($(#[$doc])*
            pub(crate) fn $name(self) -> &'static str {
                if self.is_on { $code } else { "" }
            })*
        }
    };
}

codes! {
    /// Ends all colors.
    reset: "\x1b[0m";
    /// Starts bold text.
    bold: "\x1b[1m";
    /// Starts the default color.
    default: "\x1b[39m";
    /// Starts green text.
    green: "\x1b[32m";
    /// Starts yellow text.
    yellow: "\x1b[33m";
    /// Starts blue text.
    blue: "\x1b[34m";
    /// Starts bold red text.
    bright_red: "\x1b[1m\x1b[31m";
    /// Starts bold green text.
    bright_green: "\x1b[1m\x1b[32m";
    /// Starts bold blue text.
    bright_blue: "\x1b[1m\x1b[34m";
    /// Starts bold magenta text.
    bright_magenta: "\x1b[1m\x1b[35m";
    /// Starts bold cyan text.
    bright_cyan: "\x1b[1m\x1b[36m";
}

impl Paint {
    /// Returns no colors.
    #[cfg(test)]
    pub(crate) const fn off() -> Self {
        Self { is_on: false }
    }

    /// Returns `true` if there are colors.
    pub(crate) const fn is_on(self) -> bool {
        self.is_on
    }

    /// Returns `true` if `BABELTRACE_TERM_COLOR` forbids colors.
    fn is_forbidden(variable: &dyn Fn(&str) -> Option<String>) -> bool {
        variable(VARIABLE).is_some_and(|choice| choice.eq_ignore_ascii_case("never"))
    }

    /// Returns colors if both standard streams are terminals that support them. `BABELTRACE_TERM_COLOR` decides
    /// otherwise.
    pub(crate) fn detect(variable: &dyn Fn(&str) -> Option<String>, are_terminals: bool) -> Self {
        let is_on = match variable(VARIABLE) {
            Some(choice) if choice.eq_ignore_ascii_case("always") => true,
            _ if Self::is_forbidden(variable) => false,
            _ => {
                let name = variable("TERM").unwrap_or_default();
                are_terminals && TERMINALS.iter().any(|known| name.starts_with(known))
            }
        };
        Self { is_on }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_depend_on_the_terminal() {
        let cases = [
            ("xterm-256color", None, true, true),
            ("xterm", None, false, false),
            ("dumb", None, true, false),
            ("dumb", Some("ALWAYS"), false, true),
            ("xterm", Some("never"), true, false),
            ("xterm", Some("auto"), true, true),
        ];
        for (terminal, choice, are_terminals, expected) in cases {
            let variable = |name: &str| match name {
                "TERM" => Some(terminal.to_owned()),
                _ => choice.map(str::to_owned),
            };
            let paint = Paint::detect(&variable, are_terminals);
            assert_eq!(paint.is_on(), expected, "{terminal} {choice:?} {are_terminals}");
            assert_eq!(paint.reset().is_empty(), !expected);
        }
    }
}
