//! Builds traces from describing lines.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Weak};

use ichnos_json::read::Reader;
use ichnos_model::class::{DataStreamClass, EventRecordClass, FieldClass, Member, Value};
use ichnos_model::clock::{ClockArithmetic, ClockClass, ClockOffsets};
use ichnos_model::message::Damage;
use ichnos_model::plan::{PlanError, scope_class};
use ichnos_model::stack::{StackTable, Symbols};
use ichnos_model::{DataStream, Scope, Trace, TraceClass};

use crate::class_ids::ClassIdAllocator;
use crate::description::{self, MESSAGE, MemberIndexes};
use crate::event::members;
use crate::fault::value;
use crate::field_class::{FieldClassCodec, StreamScopes};
use crate::index::{IndexScan, LineIndex, Runs, StreamLines};
use crate::members::{DescriptionResult, text};
use crate::rule::LineRule;
use crate::source::damage_of;
use crate::stacks::{self, StackRenumbering};
use crate::stream::{DescribedClass, LineFile, LineStream};
use crate::trace::JsonTrace;

/// Trace under construction.
struct TraceDraft<'i> {
    class: TraceClass,
    label: String,
    path: String,
    clocks: HashMap<String, Option<u16>>,
    /// Cycles to add to clock values in lines, by clock index. Non-zero if the clock must start earlier than described.
    added_cycles: HashMap<u16, u64>,
    /// Data stream class index by key in lines.
    stream_classes: HashMap<String, usize>,
    /// `true` for each data stream class whose lines have an id.
    have_ids: Vec<bool>,
    /// Described event record classes of each data stream class.
    entries: Vec<DescribedClasses<'i>>,
    /// Data streams: index in the file, and data stream class index.
    streams: Vec<(usize, usize)>,
}

/// Described event record classes in a data stream class.
#[derive(Default)]
struct DescribedClasses<'i> {
    /// Classes and their lines by id.
    by_id: HashMap<u128, (DescribedClass, &'i Value)>,
    /// Assigned ids by name, for classes whose lines lack an id.
    without_id: HashMap<Option<String>, u128>,
}

impl DescribedClasses<'_> {
    /// Returns an unused id for a class whose line lacks an id.
    fn id_of_name(&mut self, name: &Option<String>) -> u128 {
        if let Some(known) = self.without_id.get(name) {
            return *known;
        }
        // Classes without a name share an id.
        let mut id = EventRecordClass::id_from_key(name.as_deref().unwrap_or_default().as_bytes());
        while self.by_id.contains_key(&id) {
            id = id.wrapping_add(1);
        }
        self.without_id.insert(name.clone(), id);
        id
    }
}

/// Errors in descriptions.
struct Faults<'a> {
    file: &'a Arc<LineFile>,
    damage: Vec<Damage>,
}

impl Faults<'_> {
    /// Adds a line with an unusable description. The line is given by offset and length.
    fn add(&mut self, (at, length): (usize, usize), what: &str, stream: Option<&str>) {
        if self.damage.len() >= self.file.limits.diagnostics {
            return;
        }
        let rule = LineRule::Description.broken(format!("invalid description in the line: {what}"));
        let mut damage =
            Damage::new(&*self.file.name, at as u64 * 8, rule.into()).skipping(length as u64 * 8);
        damage.stream = stream.map(str::to_owned);
        self.damage.push(damage);
    }
}

/// Opens the traces in a file.
///
/// # Errors
/// Returns an error if the described classes exceed the limits.
pub(crate) fn open(file: &Arc<LineFile>) -> Result<Vec<JsonTrace>, PlanError> {
    let former = file.kept.take::<KeptLines>(&file.name, &file.bytes);
    let mut lines = former.unwrap_or_else(|| KeptLines::new(file));
    lines.scan.read(&file.bytes);
    let opened = open_indexed(file, &lines.scan.index, &mut lines.ids);
    file.kept.put(&file.name, &file.bytes, lines);
    opened
}

/// What is kept of a growing file.
struct KeptLines {
    scan: IndexScan,
    /// Ids of each data stream class, with the trace that has them.
    ids: KeptIds,
}

/// Ids by trace and data stream class.
type KeptIds = HashMap<(String, usize), (Weak<Trace>, Arc<ClassIdAllocator>)>;

impl KeptLines {
    fn new(file: &LineFile) -> Self {
        Self { scan: IndexScan::new(&file.limits), ids: HashMap::new() }
    }
}

/// Opens the traces in an indexed file.
fn open_indexed(
    file: &Arc<LineFile>,
    index: &LineIndex,
    ids: &mut KeptIds,
) -> Result<Vec<JsonTrace>, PlanError> {
    let mut faults = Faults { file, damage: Vec::new() };
    for (begin, end) in &index.before {
        // Lines are ranges of the file.
        let line = file.bytes.get(*begin..*end).unwrap_or_default();
        let value = std::str::from_utf8(line).ok().and_then(|text| value(&mut Reader::new(text)).ok());
        faults.damage.extend(value.as_ref().map(damage_of));
    }
    for (at, length, what) in &index.faults {
        faults.add((*at, *length), what, None);
    }
    // Selectors are known only if they are among the fields.
    match make(file, index, true, ids, &mut faults.damage.clone()) {
        Err(PlanError::Locations(_) | PlanError::Slots) => make(file, index, false, ids, &mut faults.damage),
        Err(error) => Err(error),
        Ok(traces) => Ok(traces),
    }
}

fn make(
    file: &Arc<LineFile>,
    index: &LineIndex,
    with_selectors: bool,
    ids: &mut KeptIds,
    damage: &mut Vec<Damage>,
) -> Result<Vec<JsonTrace>, PlanError> {
    let mut faults = Faults { file, damage: std::mem::take(damage) };
    let mut drafts: Vec<TraceDraft<'_>> = Vec::new();
    let mut by_text = HashMap::new();
    let least_times = least_times(index);
    for (number, lines) in index.streams.iter().enumerate() {
        let (begin, at) = lines.begin();
        let value = begin.get("trace").unwrap_or(&Value::Null);
        let draft = *by_text.entry(format!("{value:?}")).or_insert_with(|| {
            drafts.push(TraceDraft::new(value, at, &mut faults));
            drafts.len() - 1
        });
        if let Some(draft) = drafts.get_mut(draft) {
            draft.add_stream(
                number,
                lines,
                with_selectors,
                &file.clock_offsets,
                &least_times,
                &mut faults,
            )?;
        }
    }
    if drafts.is_empty() {
        drafts.push(TraceDraft::new(&Value::Null, (0, 0), &mut faults));
    }
    let mut traces = Vec::new();
    for draft in drafts {
        traces.push(draft.finish(file, index, ids)?);
    }
    if let Some(first) = traces.first_mut() {
        first.add_damage(faults.damage);
    }
    Ok(traces)
}

/// Returns the earliest time without cycles for each described clock.
fn least_times(index: &LineIndex) -> HashMap<String, i128> {
    let mut times = HashMap::new();
    for lines in &index.streams {
        if let (Some(clock), Some(least)) = (lines.begin().0.get("clock"), lines.least) {
            let known = times.entry(format!("{clock:?}")).or_insert(least);
            *known = least.min(*known);
        }
    }
    times
}

/// Moves the clock's origin back by whole seconds if a time is earlier. Returns the number of added cycles.
fn begin_before(clock: &mut ClockClass, time: i128) -> Option<u64> {
    const BILLION: i128 = 1_000_000_000;
    let begin = clock.nanoseconds_in(ClockArithmetic::Exact, 0);
    let seconds = begin.checked_sub(time).filter(|early| *early > 0)?;
    let seconds = i64::try_from(seconds.checked_add(BILLION - 1)? / BILLION).ok()?;
    let cycles = u64::try_from(seconds).ok()?.checked_mul(clock.frequency)?;
    clock.offset_seconds = clock.offset_seconds.checked_sub(seconds)?;
    Some(cycles)
}

impl<'i> TraceDraft<'i> {
    fn new(value: &Value, at: (usize, usize), faults: &mut Faults<'_>) -> Self {
        let (class, label) = match description::trace_class(value) {
            Ok(found) => found,
            Err(what) => {
                faults.add(at, &what, None);
                (TraceClass { dialect: "JSON Lines".to_owned(), ..TraceClass::default() }, String::new())
            }
        };
        Self {
            class,
            label,
            path: text(value, "path").unwrap_or(&faults.file.name).to_owned(),
            clocks: HashMap::new(),
            added_cycles: HashMap::new(),
            stream_classes: HashMap::new(),
            have_ids: Vec::new(),
            entries: Vec::new(),
            streams: Vec::new(),
        }
    }

    /// Returns a clock's index, or `None` if it is invalid or exceeds the limit.
    fn clock(
        &mut self,
        value: &Value,
        at: (usize, usize),
        offsets: &ClockOffsets,
        least_times: &HashMap<String, i128>,
        faults: &mut Faults<'_>,
    ) -> Result<Option<u16>, PlanError> {
        let key = format!("{value:?}");
        if let Some(known) = self.clocks.get(&key) {
            return Ok(*known);
        }
        let mut added = None;
        let clock = match description::clock_class(value) {
            Ok(mut clock) => {
                // Clock values cannot be negative, but lines may have times before the clock's start.
                added = least_times.get(&key).and_then(|least| begin_before(&mut clock, *least));
                Some(clock)
            }
            Err(what) => {
                faults.add(at, &what, None);
                None
            }
        };
        let index = clock.map(|clock| self.add_clock(clock, offsets)).transpose()?.flatten();
        self.added_cycles.extend(index.zip(added));
        self.clocks.insert(key, index);
        Ok(index)
    }

    fn add_clock(&mut self, mut clock: ClockClass, offsets: &ClockOffsets) -> Result<Option<u16>, PlanError> {
        if !offsets.add_to(&mut clock) {
            return Err(PlanError::ClockOffset(clock.id));
        }
        let Ok(index) = u16::try_from(self.class.clocks.len()) else { return Ok(None) };
        self.class.clocks.push(clock);
        Ok(Some(index))
    }

    fn add_stream(
        &mut self,
        number: usize,
        lines: &'i StreamLines,
        with_selectors: bool,
        offsets: &ClockOffsets,
        least_times: &HashMap<String, i128>,
        faults: &mut Faults<'_>,
    ) -> Result<(), PlanError> {
        let (begin, at) = lines.begin();
        let mut default_clock = match begin.get("clock") {
            Some(clock) => self.clock(clock, at, offsets, least_times, faults)?,
            None => None,
        };
        if default_clock.is_none() && lines.has_times {
            // Use a clock that starts before all times.
            let least = lines.least.unwrap_or_default().div_euclid(1_000_000_000);
            // Clock times have 64 bits.
            let least = least.clamp(-(i128::from(i64::MAX) / 1_000_000_000), 0);
            let key = format!("of its own {least}");
            default_clock = match self.clocks.get(&key) {
                Some(known) => *known,
                None => {
                    let mut clock = ClockClass::since_unix_epoch("default");
                    clock.offset_seconds = i64::try_from(least).unwrap_or(i64::MIN);
                    let index = self.add_clock(clock, offsets)?;
                    self.clocks.insert(key, index);
                    index
                }
            };
        }
        let mut other_clocks = Vec::new();
        if let Some(Value::Array(clocks)) = begin.get("other_clocks") {
            for clock in clocks {
                other_clocks.extend(self.clock(clock, at, offsets, least_times, faults)?);
            }
        }
        let value = begin.get("class").unwrap_or(&Value::Null);
        let key = format!("{value:?} {default_clock:?} {other_clocks:?}");
        let scopes = StreamScopes::from_fields(value.get("fields"));
        let index = match self.stream_classes.get(&key) {
            Some(index) => *index,
            None => {
                let classes = FieldClassCodec { clocks: &self.class.clocks, with_selectors, scopes };
                let made = stream_class(value, classes, &mut self.class.packet_header);
                let mut class = made.unwrap_or_else(|what| {
                    faults.add(at, &what, text(begin, "name"));
                    DataStreamClass::default()
                });
                (class.default_clock, class.other_clocks) = (default_clock, other_clocks);
                let index = self.class.data_streams.len();
                self.class.data_streams.push(class);
                self.have_ids.push(value.get("id").is_some());
                self.entries.push(DescribedClasses::default());
                self.stream_classes.insert(key, index);
                index
            }
        };
        self.streams.push((number, index));
        let classes = FieldClassCodec { clocks: &self.class.clocks, with_selectors, scopes };
        let (Some(stream), Some(entries)) =
            (self.class.data_streams.get_mut(index), self.entries.get_mut(index))
        else {
            return Ok(());
        };
        for line in &lines.classes {
            if let Err(what) = add_class(&line.value, classes, stream, entries) {
                faults.add((line.at, line.length), &what, text(begin, "name"));
            }
        }
        Ok(())
    }

    /// Assigns the smallest free id to each data stream class without a unique id.
    fn number_stream_classes(&mut self) {
        let mut used = HashSet::new();
        let classes = self.class.data_streams.iter_mut().zip(&self.have_ids);
        let lacking: Vec<_> = classes.filter(|(class, has_id)| !**has_id || !used.insert(class.id)).collect();
        let mut next = 0;
        for (class, _) in lacking {
            while !used.insert(next) {
                next += 1;
            }
            class.id = next;
        }
    }

    fn finish(
        mut self,
        file: &Arc<LineFile>,
        index: &LineIndex,
        kept_ids: &mut KeptIds,
    ) -> Result<JsonTrace, PlanError> {
        self.number_stream_classes();
        let mut trace = Trace::with_class_map(self.class, self.label, &file.limits, file.class_map.as_ref())?;
        trace.path = self.path;
        let renumbered = add_stacks(&mut trace, &self.streams, index);
        // Stacks are added when the trace is made.
        let key = format!("{}\0{}", file.name, trace.path);
        let kept = file.kept.trace(&key, index.stacks.len() as u64, trace);
        let trace = Arc::clone(kept.trace());
        let entries = self.entries.into_iter().map(|entries| {
            let by_id = entries.by_id.into_iter();
            by_id.map(|(id, (entry, _))| (id, entry)).collect::<HashMap<_, _>>()
        });
        let entries: Vec<_> = entries.map(Arc::new).collect();
        let runs: Vec<_> = index.streams.iter().map(|lines| Arc::new(lines.runs.clone())).collect();
        let ids = (0..entries.len()).map(|class| {
            let streams = self.streams.iter().filter(|(_, of)| *of == class);
            let lines: Vec<_> = streams.filter_map(|(number, _)| runs.get(*number).cloned()).collect();
            class_ids(kept_ids, (key.clone(), class), &trace, lines)
        });
        let ids: Vec<_> = ids.collect();
        let added_cycles = Arc::new(self.added_cycles);
        let mut streams = Vec::new();
        for (number, class) in self.streams {
            let (Some(lines), Some(runs)) = (index.streams.get(number), runs.get(number)) else { continue };
            let (Some(classes), Some(ids)) = (entries.get(class), ids.get(class)) else { continue };
            let (begin, _) = lines.begin();
            let id = description::id(begin).ok().flatten();
            let name = text(begin, "name").unwrap_or(&file.name);
            let Some(stream) = kept.stream(number, class, id, name) else { continue };
            let offsets = &file.clock_offsets;
            streams.push(Arc::new(LineStream {
                file: Arc::clone(file),
                added_cycles: Arc::clone(&added_cycles),
                clock_offset: stream.clock().map_or(offsets.all, |clock| offsets.for_clock(clock)),
                names: ids_by_name(&stream, classes),
                stream,
                runs: Arc::clone(runs),
                marks: lines.marks.clone(),
                classes: Arc::clone(classes),
                ids: Arc::clone(ids),
                // Without an entry, all stacks keep their numbers.
                stacks: renumbered.get(&class).cloned().unwrap_or_default(),
            }));
        }
        Ok(JsonTrace::new(trace, &file.name, streams))
    }
}

/// Returns the ids of a data stream class: those of the same trace, in a shorter file, if they are known.
fn class_ids(
    kept: &mut KeptIds,
    key: (String, usize),
    trace: &Arc<Trace>,
    lines: Vec<Arc<Runs>>,
) -> Arc<ClassIdAllocator> {
    let former = kept.get(&key).filter(|(of, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(trace)));
    if let Some((_, ids)) = former {
        ids.extend(lines);
        return Arc::clone(ids);
    }
    let ids = Arc::new(ClassIdAllocator::new(lines));
    kept.insert(key, (Arc::downgrade(trace), Arc::clone(&ids)));
    ids
}

/// Adds the call stacks in lines to the trace of these data streams. `classes` maps each data stream to its class.
/// Returns the stack numbers that differ from the file, by data stream class.
fn add_stacks(
    trace: &mut Trace,
    streams: &[(usize, usize)],
    index: &LineIndex,
) -> HashMap<usize, Arc<StackRenumbering>> {
    let own = |stream: usize| streams.iter().any(|(number, _)| *number == stream);
    let owned: Vec<bool> = match streams.len() == index.streams.len() {
        true => vec![true; index.streams.len()],
        false => (0..index.streams.len()).map(own).collect(),
    };
    let classes: HashMap<usize, usize> = streams.iter().copied().collect();
    let lines = index.stacks.iter().filter(|(stream, _)| owned.get(*stream) == Some(&true));
    let lines: Vec<(usize, &Value)> =
        lines.filter_map(|(stream, line)| Some((*classes.get(stream)?, &line.value))).collect();
    let mut renumbered: HashMap<usize, Arc<StackRenumbering>> = HashMap::new();
    if stacks::differ(lines.iter().copied()) {
        let mut by_class: BTreeMap<usize, Vec<&Value>> = BTreeMap::new();
        lines.into_iter().for_each(|(class, line)| by_class.entry(class).or_default().push(line));
        for (class, lines) in by_class {
            let table = StackTable::default();
            renumbered.insert(class, Arc::new(stacks::fill(&table, lines.into_iter())));
            trace.add_stacks([class], table, Symbols::default);
        }
    } else {
        let all = Arc::new(stacks::fill(&trace.stacks, lines.into_iter().map(|(_, line)| line)));
        renumbered.extend(classes.values().map(|class| (*class, Arc::clone(&all))));
    }
    renumbered
}

/// Returns the class ids of a data stream by class name. `None` if several classes share a name.
fn ids_by_name(
    stream: &DataStream,
    classes: &HashMap<u128, DescribedClass>,
) -> HashMap<String, Option<u128>> {
    let mut names = HashMap::new();
    for (id, entry) in classes {
        let class = match entry {
            DescribedClass::Declared { index, .. } => {
                stream.class().event_records.get(*index).map(|class| &**class)
            }
            DescribedClass::Template(template) => Some(&template.0),
        };
        if let Some(name) = class.and_then(|class| class.name.clone()) {
            names.entry(name).and_modify(|known| *known = None).or_insert(Some(*id));
        }
    }
    names
}

/// Reads a data stream class without its event record classes.
fn stream_class(
    value: &Value,
    classes: FieldClassCodec<'_>,
    packet_header: &mut Option<Arc<FieldClass>>,
) -> DescriptionResult<DataStreamClass> {
    let owned = |name: &str| text(value, name).map(str::to_owned);
    let mut class = DataStreamClass {
        // If the lines lack an id, `number_stream_classes` assigns one.
        id: description::id(value)?.unwrap_or_default(),
        namespace: owned("namespace"),
        name: owned("name"),
        uid: owned("uid"),
        attributes: crate::members::attributes(value.get("attributes")),
        ..DataStreamClass::default()
    };
    let Some(fields) = value.get("fields") else { return Ok(class) };
    let read = |scope| description::scope_class(fields, scope, classes).map(|class| class.map(Arc::new));
    if let Some(header) = read(Scope::PacketHeader)? {
        packet_header.get_or_insert(header);
    }
    class.packet_context = read(Scope::PacketContext)?;
    class.event_record_header = read(Scope::EventRecordHeader)?;
    class.common_context = read(Scope::CommonContext)?;
    class.resource = read(Scope::Resource)?;
    Ok(class)
}

/// Adds an event record class to a data stream class.
fn add_class<'i>(
    value: &'i Value,
    classes: FieldClassCodec<'_>,
    stream: &mut DataStreamClass,
    entries: &mut DescribedClasses<'i>,
) -> DescriptionResult<()> {
    let mut class: EventRecordClass = description::event_class(value)?;
    if value.get("id").is_none() {
        class.id = entries.id_of_name(&class.name);
    }
    let meanings = value.get("meanings").unwrap_or(&Value::Null);
    if let Some((_, known)) = entries.by_id.get(&class.id) {
        // Each data stream repeats this line.
        return if is_same(value, known) {
            Ok(())
        } else {
            Err(format!("a class with the id {}, described differently in an earlier line", class.id))
        };
    }
    let Some(fields) = value.get("fields") else {
        let id = class.id;
        let entry = DescribedClass::Template(Arc::new((class, meanings.clone())));
        entries.by_id.insert(id, (entry, value));
        return Ok(());
    };
    class.specific_context =
        description::scope_class(fields, Scope::SpecificContext, classes)?.map(Into::into);
    class.payload = description::scope_class(fields, Scope::Payload, classes)?.map(Into::into);
    let has_message = meanings.get("resource").and_then(|members| members.get(MESSAGE)).is_some();
    if has_message && !members(stream.resource.as_deref()).iter().any(|member| member.name == MESSAGE) {
        // Message that was formatted from other fields.
        let known = members(stream.resource.as_deref()).iter().cloned();
        let message = Member::new(MESSAGE, FieldClass::optional(FieldClass::string()));
        stream.resource = Some(Arc::new(FieldClass::structure(known.chain([message]))));
    }
    class.meanings = description::meanings(meanings, |scope| {
        let class = scope_class(scope, None, stream, Some(&class));
        MemberIndexes::from_members(members(class.map(|class| &**class)))
    });
    let entry = DescribedClass::declared(stream.event_records.len(), &class);
    entries.by_id.insert(class.id, (entry, value));
    stream.event_records.push(Arc::new(class));
    Ok(())
}

/// Returns `true` if two lines describe a class equally, even for different data streams.
fn is_same(a: &Value, b: &Value) -> bool {
    let (Value::Map(a), Value::Map(b)) = (a, b) else { return a == b };
    let is_compared = |(name, _): &&(String, Value)| name != "stream";
    a.iter().filter(is_compared).eq(b.iter().filter(is_compared))
}
