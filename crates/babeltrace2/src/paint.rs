//! Colors of texts for a terminal.

/// Color codes, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint {
    is_on: bool,
}

/// Terminals that are known to support colors: prefixes of `TERM`.
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
    /// Returns the code that ends all colors.
    reset: "\x1b[0m";
    /// Returns the code of bold text.
    bold: "\x1b[1m";
    /// Returns the code of the default color.
    default: "\x1b[39m";
    /// Returns the code of green text.
    green: "\x1b[32m";
    /// Returns the code of yellow text.
    yellow: "\x1b[33m";
    /// Returns the code of blue text.
    blue: "\x1b[34m";
    /// Returns the code of bold red text.
    bright_red: "\x1b[1m\x1b[31m";
    /// Returns the code of bold green text.
    bright_green: "\x1b[1m\x1b[32m";
    /// Returns the code of bold blue text.
    bright_blue: "\x1b[1m\x1b[34m";
    /// Returns the code of bold magenta text.
    bright_magenta: "\x1b[1m\x1b[35m";
    /// Returns the code of bold cyan text.
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

    /// Returns colors if both standard streams are terminals that support them. `BABELTRACE_TERM_COLOR` decides
    /// otherwise.
    pub(crate) fn detect(variable: &dyn Fn(&str) -> Option<String>, are_terminals: bool) -> Self {
        let is_on = match variable("BABELTRACE_TERM_COLOR") {
            Some(choice) if choice.eq_ignore_ascii_case("always") => true,
            Some(choice) if choice.eq_ignore_ascii_case("never") => false,
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
