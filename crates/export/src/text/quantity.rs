//! Numbers with units.

/// Formats a count: "1 packet", "2 packets", "1,234,567 packets".
#[must_use]
pub fn count(number: u64, noun: &str) -> String {
    let plural = match noun {
        noun if number == 1 => noun.to_owned(),
        noun if noun.ends_with("class") => format!("{noun}es"),
        noun => format!("{noun}s"),
    };
    format!("{} {plural}", grouped(number))
}

/// Formats a share in percent. Empty if there is nothing to share.
#[must_use]
pub fn share(part: u64, all: u64) -> String {
    if all == 0 { String::new() } else { format!("{:.1} %", 100.0 * part as f64 / all as f64) }
}

/// Formats a number with commas between groups of three digits.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a size: "512 bytes", "1.5 MiB".
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return count(bytes, "byte");
    }
    let index = ((63 - bytes.leading_zeros()) / 10) as usize;
    let tenths = (u128::from(bytes) * 10) >> (index * 10);
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[index - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        assert_eq!(count(1, "packet"), "1 packet");
        assert_eq!(count(1_234_567, "event record class"), "1,234,567 event record classes");
        assert_eq!(size(1023), "1,023 bytes");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(3 << 19), "1.5 MiB");
        assert_eq!(size(u64::MAX), "15.9 EiB");
    }
}
