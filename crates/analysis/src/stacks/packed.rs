//! Packed samples, a few bytes each.

/// Sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    /// Nanoseconds from the clock origin.
    pub(super) time: i128,
    /// Stack number or call number.
    pub(super) stack: u32,
    pub(super) weight: u64,
    pub(super) state: RunState,
}

/// State of a sample's thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RunState {
    /// Unknown, or not needed.
    #[default]
    Unknown,
    /// Running on a processor.
    OnProcessor,
    /// Any other state.
    Other,
}

impl RunState {
    const ALL: [Self; 3] = [Self::Unknown, Self::OnProcessor, Self::Other];
}

/// Samples as variable-length integers (7 bits per byte), with time differences.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    bytes: Vec<u8>,
    first: Option<i128>,
    last: i128,
}

impl Samples {
    pub(super) fn push(&mut self, sample: Sample) {
        let Sample { time, stack, weight, state } = sample;
        let last = if self.first.is_some() { self.last } else { *self.first.insert(time) };
        // Longer steps than centuries do not occur in practice.
        let step = i64::try_from(time - last).unwrap_or(if time < last { i64::MIN } else { i64::MAX });
        self.last = last.saturating_add(step.into());
        self.number((step << 1 ^ step >> 63) as u64);
        self.number(u64::from(stack) << 2 | state as u64);
        self.number(weight);
    }

    /// Returns the size of all samples, in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Sample> + '_ {
        let (mut rest, mut time) = (&self.bytes[..], self.first.unwrap_or_default());
        std::iter::from_fn(move || {
            let step = number(&mut rest)?;
            time += i128::from((step >> 1) as i64 ^ -((step & 1) as i64));
            let stack = number(&mut rest)?;
            let state = RunState::ALL.get((stack & 3) as usize).copied().unwrap_or_default();
            Some(Sample { time, stack: (stack >> 2) as u32, weight: number(&mut rest)?, state })
        })
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use ichnos_testing::{Random, cases};

    use super::*;

    #[test]
    fn samples_survive_packing() {
        cases(200, |random: &mut Random| {
            let samples: Vec<Sample> = (0..random.below(20))
                .map(|_| {
                    let mut number = || random.number() >> random.below(64);
                    let (time, stack, weight) = (i128::from(number() as i64 / 2), number() as u32, number());
                    let state = RunState::ALL[number() as usize % 3];
                    Sample { time, stack, weight, state }
                })
                .collect();
            let mut packed = Samples::default();
            samples.iter().for_each(|sample| packed.push(*sample));
            assert_eq!(packed.iter().collect::<Vec<_>>(), samples);
        });
    }
}
