//! Field names.

use crate::Random;

/// Name generator. Names are unique, except for names that should repeat.
#[derive(Debug, Default)]
pub(super) struct Names {
    count: u64,
    /// Name that becomes equal to an earlier name when both are converted to identifiers.
    similar: Option<String>,
}

/// Keywords in other languages.
const KEYWORDS: [&str; 6] = ["int", "struct", "variant", "typealias", "event", "const"];

impl Names {
    /// Returns an unused name.
    pub(super) fn unique(&mut self, random: &mut Random) -> String {
        self.count += 1;
        let count = self.count;
        match random.below(20) {
            0 => format!("my field {count}"),
            1 | 2 => match self.similar.take() {
                Some(similar) => similar,
                None => {
                    self.similar = Some(format!("a-b{count}"));
                    format!("a b{count}")
                }
            },
            3 => format!("\u{e9}{count}"),
            4 => format!("_{count}"),
            5 => format!("__f{count}"),
            6 => format!("{count}th"),
            7 => format!("a.b\"{count}\\"),
            8 => format!("{}{count}", random.pick(&KEYWORDS)),
            _ => format!("f{count}"),
        }
    }

    /// Returns a word with a meaning in other dialects, or an empty name.
    pub(super) fn peculiar(random: &mut Random) -> &'static str {
        if random.percent(50) { "" } else { random.pick(&KEYWORDS) }
    }
}
