//! Event record counts.

/// Number and time range of event records in a data stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Counts by class index; see [`Head::class_index`](crate::cursor::Head::class_index).
    pub by_class: Vec<u64>,
    /// Number of event records without a known class index.
    pub others: u64,
    /// First and last time, in nanoseconds from the origin of the stream's clock; `None` without times.
    pub times: Option<(i128, i128)>,
}

impl EventCounts {
    /// Counts an event record.
    #[inline]
    pub fn add(&mut self, class_index: Option<usize>, nanoseconds: Option<i128>) {
        self.add_class(class_index);
        if let Some(time) = nanoseconds {
            self.add_time(time);
        }
    }

    /// Counts an event record of a class without its time.
    #[inline]
    pub fn add_class(&mut self, class_index: Option<usize>) {
        match class_index.map(|index| (index, self.by_class.get_mut(index))) {
            Some((_, Some(count))) => *count += 1,
            Some((index, None)) => self.add_new_class(index),
            None => self.others += 1,
        }
    }

    /// Extends the time range.
    #[inline]
    pub fn add_time(&mut self, time: i128) {
        match &mut self.times {
            // Nearly all events are later than all previous events.
            Some((_, end)) if time > *end => *end = time,
            Some((begin, _)) => *begin = time.min(*begin),
            times @ None => *times = Some((time, time)),
        }
    }

    #[cold]
    fn add_new_class(&mut self, index: usize) {
        self.by_class.resize(index + 1, 0);
        self.by_class[index] += 1;
    }

    /// Returns the sum over all classes.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.by_class.iter().fold(self.others, |sum, count| sum.saturating_add(*count))
    }
}

#[cfg(test)]
mod tests {
    use super::EventCounts;

    #[test]
    fn counts_have_the_first_and_the_last_time_whatever_the_order() {
        let mut counts = EventCounts::default();
        for (class, time) in
            [(Some(2), Some(5)), (None, None), (Some(0), Some(3)), (Some(2), Some(9)), (None, Some(4))]
        {
            counts.add(class, time);
        }
        assert_eq!(counts, EventCounts { by_class: vec![1, 0, 2], others: 2, times: Some((3, 9)) });
        assert_eq!(counts.sum(), 5);
    }
}
