//! Merges live inputs, and waits for them.

use std::time::Instant;

use ichnos_model::cursor::{BoxedCursor, Cursor, Head, MessageKind};
use ichnos_model::live::{LiveOptions, PAUSE, SILENT};
use ichnos_model::message::Message;

/// Merge of live inputs and of other cursors. Nothing waits for a silent input, but its messages are looked for all the
/// time.
///
/// A message is delivered when no live input promises less than its time. Without such a message, the merge delivers an
/// inactivity message, and then waits for arrivals. When the inputs are asked to end, the other cursors end at once.
pub struct LiveMerge {
    lanes: Vec<LiveLane>,
    options: LiveOptions,
    position: MergePosition,
    has_begun: bool,
    /// `true` if messages were delivered after the last inactivity message.
    has_news: bool,
    /// Time before which no message follows, unless it is late.
    promised: Option<i128>,
    /// Number of messages until the next look at the clock.
    left: u32,
    /// Time of the last look at inputs without messages.
    looked: Instant,
}

#[derive(Clone, Copy, Debug)]
enum MergePosition {
    /// At the current message of a lane.
    Lane(usize),
    Inactivity,
    /// Before the first and after the last message.
    Nowhere,
}

/// Number of messages between two looks at the clock.
const STRIDE: u32 = 64;

struct LiveLane {
    cursor: BoxedCursor,
    is_live: bool,
    /// Head of the current message. `None` at the end.
    head: Option<Head>,
}

impl LiveLane {
    fn advance(&mut self) {
        self.head = if self.cursor.advance() { self.cursor.head() } else { None };
    }

    /// Returns `true` if no message is ready.
    fn is_inactive(&self) -> bool {
        self.is_live && self.head.is_some_and(|head| head.kind == MessageKind::Inactivity)
    }
}

impl LiveMerge {
    /// Creates a merge of the cursors of live inputs, which have these options, and of other cursors.
    #[must_use]
    pub fn new(live: Vec<BoxedCursor>, others: Vec<BoxedCursor>, options: LiveOptions) -> Self {
        options.wait_together();
        let lane = |is_live| move |cursor| LiveLane { cursor, is_live, head: None };
        let lanes = live.into_iter().map(lane(true)).chain(others.into_iter().map(lane(false))).collect();
        Self {
            lanes,
            options,
            position: MergePosition::Nowhere,
            has_begun: false,
            has_news: false,
            promised: None,
            left: 0,
            looked: Instant::now(),
        }
    }

    /// Returns the lane with the earliest message or promise. Of equal times, messages come first.
    fn earliest(&self) -> Option<(usize, Head)> {
        let heads = self.lanes.iter().enumerate().filter_map(|(index, lane)| Some((index, lane.head?)));
        heads.min_by_key(|(index, head)| (head.nanoseconds(), head.kind == MessageKind::Inactivity, *index))
    }

    /// Moves to the earliest message, if it is ready.
    fn deliver(&mut self) -> bool {
        let Some((index, head)) = self.earliest() else { return false };
        if head.kind == MessageKind::Inactivity {
            let until = head.nanoseconds().filter(|until| *until != SILENT);
            self.promised = self.promised.max(until);
            return false;
        }
        self.has_news = true;
        self.position = MergePosition::Lane(index);
        true
    }

    /// Looks for messages of inputs that had none, and ends other cursors if the inputs should end.
    fn look(&mut self) {
        self.looked = Instant::now();
        let is_stopped = self.options.is_stopped();
        for lane in &mut self.lanes {
            if lane.is_inactive() {
                lane.advance();
            } else if is_stopped && !lane.is_live {
                lane.head = None;
            }
        }
    }

    /// Looks from time to time although messages are ready: silent inputs can have late messages.
    fn look_sometimes(&mut self) {
        self.left = match self.left.checked_sub(1) {
            Some(left) => left,
            None => {
                if self.looked.elapsed() >= PAUSE || self.options.is_stopped() {
                    self.look();
                }
                STRIDE
            }
        };
    }

    /// Moves to an inactivity message.
    fn pause(&mut self) -> bool {
        self.has_news = false;
        self.position = MergePosition::Inactivity;
        true
    }
}

impl Cursor for LiveMerge {
    fn advance(&mut self) -> bool {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.lanes.iter_mut().for_each(LiveLane::advance);
        } else if let MergePosition::Lane(index) = self.position
            && let Some(lane) = self.lanes.get_mut(index)
        {
            lane.advance();
        }
        self.position = MergePosition::Nowhere;
        self.look_sometimes();
        loop {
            if self.deliver() {
                return true;
            }
            // Counted first, so that nothing that arrives during the look is waited for.
            let arrived = self.options.arrivals.count();
            self.look();
            if self.deliver() {
                return true;
            }
            if self.lanes.iter().all(|lane| lane.head.is_none()) {
                return false;
            }
            if self.has_news {
                return self.pause();
            }
            let _ = self.options.arrivals.wait(arrived, PAUSE);
            self.has_news = true;
        }
    }

    fn head(&self) -> Option<Head> {
        match self.position {
            MergePosition::Lane(index) => self.lanes.get(index)?.head,
            MergePosition::Inactivity => Some(Head::new(MessageKind::Inactivity, self.promised)),
            MergePosition::Nowhere => None,
        }
    }

    fn current(&self) -> Option<Message<'_>> {
        match self.position {
            MergePosition::Lane(index) => self.lanes.get(index)?.cursor.current(),
            MergePosition::Inactivity => Some(Message::Inactivity(self.promised)),
            MergePosition::Nowhere => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use ichnos_model::class::{DataStreamClass, TraceClass};
    use ichnos_model::live::{LiveFeed, LiveObserver, LivePoll, LiveTrace};
    use ichnos_model::message::{Damage, DamageKind};
    use ichnos_model::trace::Limits;
    use ichnos_model::{DataStream, OpenedTrace, Trace, Window};

    use super::*;
    use crate::DamageCursor;

    /// What a feed does next.
    #[derive(Clone, Debug)]
    enum Step {
        Message(i128),
        Pending(Option<i128>),
        /// Nothing new until the other side says so.
        Block,
    }

    /// Feed with a script. It stays at `Block` and at its last step.
    #[derive(Clone)]
    struct Script(Arc<Mutex<(Vec<Step>, bool)>>, Damage);

    impl Script {
        fn new(name: &str, steps: &[Step]) -> Self {
            let mut steps = steps.to_vec();
            steps.reverse();
            let damage = Damage::new(name, 0, DamageKind::EmptyEventRecord);
            Self(Arc::new(Mutex::new((steps, false))), damage)
        }

        fn add(&self, step: Step) {
            let mut state = self.0.lock().unwrap();
            state.0.retain(|step| !matches!(step, Step::Block));
            state.0.insert(0, step);
        }

        fn cursor(&self, options: &LiveOptions) -> BoxedCursor {
            let trace =
                Trace::new(TraceClass::new("", [], [DataStreamClass::new(None, [])]), "", &Limits::default());
            let stream = DataStream::new(Arc::new(trace.unwrap()), 0, None, "").unwrap();
            let name = self.1.file.clone();
            let trace =
                LiveTrace::new("test", name, Arc::new(stream), Box::new(self.clone()), options.clone());
            trace.cursor(0, Window::default()).unwrap()
        }
    }

    impl LiveFeed for Script {
        fn poll(&mut self) -> LivePoll {
            let mut state = self.0.lock().unwrap();
            match state.0.last().cloned() {
                Some(Step::Message(time)) => {
                    state.0.pop();
                    LivePoll::Message(Head::new(MessageKind::Damage, Some(time)))
                }
                Some(Step::Pending(until)) => {
                    if state.0.len() > 1 {
                        state.0.pop();
                    }
                    LivePoll::Pending(until)
                }
                _ if state.1 => LivePoll::End,
                _ => LivePoll::Pending(None),
            }
        }

        fn current(&self) -> Option<Message<'_>> {
            Some(Message::Damage(&self.1))
        }

        fn stop(&mut self) {
            self.0.lock().unwrap().1 = true;
        }
    }

    #[derive(Default)]
    struct States(Mutex<Vec<String>>);

    impl LiveObserver for States {
        fn silent(&self, name: &str, _: Duration) {
            self.0.lock().unwrap().push(format!("{name} silent"));
        }

        fn resumed(&self, name: &str) {
            self.0.lock().unwrap().push(format!("{name} resumed"));
        }
    }

    fn options(patience: Duration) -> (LiveOptions, Arc<States>) {
        let states = Arc::new(States::default());
        let mut options = LiveOptions::default();
        options.patience = patience;
        options.observer = Arc::clone(&states) as Arc<dyn LiveObserver>;
        (options, states)
    }

    /// Returns the next message that is not an inactivity.
    fn next(merge: &mut LiveMerge) -> Option<(String, i128)> {
        let begin = Instant::now();
        while merge.advance() {
            if let Some(Message::Damage(damage)) = merge.current() {
                return Some((damage.file.clone(), merge.head().unwrap().nanoseconds().unwrap_or(0)));
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "nothing comes");
        }
        None
    }

    fn is_waiting(merge: &mut LiveMerge) -> bool {
        (0..3).all(|_| merge.advance() && matches!(merge.current(), Some(Message::Inactivity(_))))
    }

    #[test]
    fn messages_wait_for_promises() {
        let (options, _) = options(Duration::from_secs(60));
        let a = Script::new("a", &[Step::Message(10), Step::Message(20), Step::Block]);
        let b = Script::new("b", &[Step::Pending(Some(15))]);
        let mut merge = LiveMerge::new(vec![a.cursor(&options), b.cursor(&options)], Vec::new(), options);
        assert_eq!(next(&mut merge), Some(("a".to_owned(), 10)));
        assert!(is_waiting(&mut merge));
        assert_eq!(merge.head().unwrap().nanoseconds(), Some(15));
        b.add(Step::Message(18));
        b.add(Step::Pending(Some(21)));
        assert_eq!(next(&mut merge), Some(("b".to_owned(), 18)));
        assert_eq!(next(&mut merge), Some(("a".to_owned(), 20)));
    }

    /// Whatever the clocks say: the times are far from the wall clock.
    #[test]
    fn a_silent_input_is_not_waited_for_and_comes_back() {
        for base in [0, 1 << 90] {
            let (options, states) = options(Duration::from_millis(20));
            let a =
                Script::new("a", &[Step::Message(base + 10), Step::Message(base + 1_000_000), Step::Block]);
            let b = Script::new("b", &[Step::Pending(None)]);
            let cursors = vec![a.cursor(&options), b.cursor(&options)];
            let mut merge = LiveMerge::new(cursors, Vec::new(), options);
            assert_eq!(next(&mut merge).unwrap().1, base + 10);
            assert_eq!(next(&mut merge).unwrap().1, base + 1_000_000);
            assert_eq!(states.0.lock().unwrap()[0], "b silent");
            // Its messages are late.
            b.add(Step::Message(base + 20));
            b.add(Step::Pending(Some(base + 30)));
            assert_eq!(next(&mut merge), Some(("b".to_owned(), base + 20)));
            assert!(states.0.lock().unwrap().contains(&"b resumed".to_owned()));
        }
    }

    #[test]
    fn a_later_promise_ends_the_silence() {
        let (options, states) = options(Duration::from_millis(20));
        let b = Script::new("b", &[Step::Pending(Some(5))]);
        let mut merge = LiveMerge::new(vec![b.cursor(&options)], Vec::new(), options);
        while !states.0.lock().unwrap().contains(&"b silent".to_owned()) {
            assert!(is_waiting(&mut merge));
        }
        b.add(Step::Pending(Some(6)));
        while !states.0.lock().unwrap().contains(&"b resumed".to_owned()) {
            assert!(is_waiting(&mut merge));
        }
        assert_eq!(merge.promised, Some(6));
    }

    /// All inputs are silent, and each of them is heard.
    #[test]
    fn all_inputs_are_silent() {
        let (options, states) = options(Duration::from_millis(1));
        let scripts = ["a", "b", "c"].map(|name| Script::new(name, &[Step::Block]));
        let cursors = scripts.iter().map(|script| script.cursor(&options)).collect();
        let mut merge = LiveMerge::new(cursors, Vec::new(), options);
        while states.0.lock().unwrap().len() < 3 {
            assert!(is_waiting(&mut merge));
        }
        for script in &scripts {
            script.add(Step::Message(1));
            assert_eq!(next(&mut merge).unwrap().0, script.1.file);
        }
    }

    /// Endless messages with equal times.
    struct Endless(Damage);

    impl Cursor for Endless {
        fn advance(&mut self) -> bool {
            true
        }

        fn head(&self) -> Option<Head> {
            Some(Head::new(MessageKind::Damage, Some(7)))
        }

        fn current(&self) -> Option<Message<'_>> {
            Some(Message::Damage(&self.0))
        }
    }

    #[test]
    fn other_cursors_end_with_the_inputs_and_do_not_hide_them() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let (mut options, _) = options(Duration::ZERO);
        options.stop = Some(&STOP);
        let a = Script::new("a", &[Step::Block]);
        let endless = Endless(Damage::new("file", 0, DamageKind::EmptyEventRecord)).boxed();
        let others = vec![DamageCursor::new(Vec::new()).boxed(), endless];
        let mut merge = LiveMerge::new(vec![a.cursor(&options)], others, options);
        assert_eq!(next(&mut merge).unwrap().0, "file");
        a.add(Step::Message(1));
        let begin = Instant::now();
        while next(&mut merge).unwrap().0 == "file" {
            assert!(begin.elapsed() < Duration::from_secs(30), "the live input is not heard");
        }
        STOP.store(true, Ordering::Relaxed);
        while next(&mut merge).is_some() {
            assert!(begin.elapsed() < Duration::from_secs(30), "it does not end");
        }
    }
}
