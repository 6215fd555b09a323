//! Text for people: colors, trees, line widths, numbers with units, times.
//!
//! Trace texts must pass [`printable`](crate::printable) before they become part of such a text.

mod branch;
mod charset;
mod clock;
mod line_width;
mod paint;
mod quantity;
mod table;

pub use branch::Branch;
pub use charset::{CharsetWriter, locale_is_ascii, to_ascii};
pub use clock::{CalendarDate, calendar_date, calendar_nanoseconds, date_time, seconds, system_zone, zone};
pub use line_width::LineWidth;
pub use paint::Paint;
pub use quantity::{count, grouped, share, size};
pub use table::TextTable;
