//! Counts for a fixed loss set.

use std::fmt::Debug;

use super::loss_table::{LossKind, LossTable};

/// A fixed set of losses. [`loss_set!`](crate::loss_set) declares it.
///
/// # For implementations
/// Use the macro: it keeps indexes and rows together.
pub trait LossSet: Copy + Debug + Eq + 'static {
    /// A count for each loss.
    type Counts: AsRef<[u64]> + AsMut<[u64]> + Copy + Debug + Default;

    /// All losses, by index.
    const ROWS: &'static [LossRow<Self>];

    /// Returns the loss's index.
    fn index(self) -> usize;

    /// Returns the loss's row.
    fn row(self) -> Option<&'static LossRow<Self>> {
        Self::ROWS.get(self.index())
    }
}

/// Loss declaration.
#[derive(Clone, Copy, Debug)]
pub struct LossRow<L> {
    /// The loss.
    pub loss: L,
    /// Loss kind.
    pub kind: LossKind,
    /// Field name, or an empty text.
    pub field: &'static str,
    /// Change, for example `null -> empty text`.
    pub what: &'static str,
}

/// Loss counts for a class.
#[derive(Clone, Copy, Debug)]
pub struct LossCounts<L: LossSet>(L::Counts);

impl<L: LossSet> Default for LossCounts<L> {
    fn default() -> Self {
        Self(L::Counts::default())
    }
}

impl<L: LossSet> LossCounts<L> {
    /// Adds to a loss's count.
    #[inline]
    pub fn add(&mut self, loss: L, count: u64) {
        if let Some(sum) = self.0.as_mut().get_mut(loss.index()) {
            *sum += count;
        }
    }

    /// Returns a loss's count.
    #[must_use]
    pub fn count(&self, loss: L) -> u64 {
        self.0.as_ref().get(loss.index()).copied().unwrap_or_default()
    }

    /// Moves all counts to a table, under a class name.
    pub fn move_to(&mut self, class: &str, table: &mut LossTable) {
        self.move_with_fields(class, table, |row| row.field);
    }

    /// Moves all counts to a table, under a class name. `field` returns the field name for each row.
    pub fn move_with_fields<'f>(
        &mut self,
        class: &str,
        table: &mut LossTable,
        field: impl Fn(&LossRow<L>) -> &'f str,
    ) {
        for (row, count) in L::ROWS.iter().zip(self.0.as_mut()) {
            if *count > 0 {
                table.note_times(row.kind, class, field(row), row.what, std::mem::take(count));
            }
        }
    }
}

/// Declares a [loss set](crate::lower::LossSet): an enum whose variants have a kind, a text, and optionally a field.
///
/// ```
/// use ichnos_model::lower::{LossCounts, LossKind, LossTable};
///
/// ichnos_model::loss_set! {
///     /// A loss of an event.
///     pub enum EventLoss {
///         Time => Rounded("no timestamp: used the previous one"),
///         Thread => Lowered("none -> 0", in "tid"),
///     }
/// }
///
/// let (mut counts, mut table) = (LossCounts::default(), LossTable::default());
/// counts.add(EventLoss::Thread, 2);
/// counts.move_to("open", &mut table);
/// assert_eq!(table.count(LossKind::Lowered), 2);
/// ```
#[macro_export]
macro_rules! loss_set {
    (@field) => { "" };
    (@field $field:literal) => { $field };
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($loss:ident => $kind:ident($what:literal $(, in $field:literal)?)),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $visibility enum $name {
            $(
                #[doc = $what]
                $loss,
            )+
        }

        impl $crate::lower::LossSet for $name {
            type Counts = [u64; [$($name::$loss),+].len()];

            const ROWS: &'static [$crate::lower::LossRow<Self>] = &[
                $($crate::lower::LossRow {
                    loss: Self::$loss,
                    kind: $crate::lower::LossKind::$kind,
                    field: $crate::loss_set!(@field $($field)?),
                    what: $what,
                }),+
            ];

            #[inline]
            fn index(self) -> usize {
                self as usize
            }
        }
    };
}
