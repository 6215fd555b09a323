//! Reads tasks and operations from the fields of an event.

use ichnos_model::class::{FieldKind, Uuid};
use ichnos_model::field::{Field, FieldValue, StringEncoding, Text};
use ichnos_model::meaning::{CauseKind, Chain, FindMentions, Identifier, Meaning, Mention};
use ichnos_model::plan::Plan;
use ichnos_model::telemetry::element_field;
use ichnos_model::{Event, Scope, Visitor};

use ichnos_export::number;

/// Field use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Nothing,
    Task,
    Operation,
    Cause(CauseKind),
    Chain,
    CauseChain,
    /// Message text. `searched` if it may name an operation.
    Message {
        searched: bool,
    },
    Place(OriginPart),
    Title,
    /// Metadata that name an operation.
    Context,
    /// A text that may name an operation.
    Search,
    /// Name of a field, in an array with all fields of an event.
    FieldName,
    /// Text of the field with the name before it. It may name an operation.
    FieldText,
}

impl Use {
    /// Returns `true` for a field that can name or mention a task or an operation.
    fn is_of_operation(self) -> bool {
        !matches!(self, Self::Nothing | Self::Place(_) | Self::Title | Self::Message { searched: false })
    }
}

/// Parts of an event's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OriginPart {
    Machine,
    Component,
    Process,
    Thread,
    Tag,
}

/// Scopes to read.
const SCOPES: [Scope; 5] =
    [Scope::CommonContext, Scope::SpecificContext, Scope::Payload, Scope::Resource, Scope::EventRecordHeader];

/// Field uses in an event record class.
#[derive(Debug)]
pub struct TaskFields {
    /// `true` if the class's operations can be in chains.
    has_chains: bool,
    /// Uses by node index, for scopes with any use.
    scopes: Box<[(Scope, Box<[Use]>)]>,
}

impl TaskFields {
    /// Finds the field uses for the event's class. With `searches`, texts are also searched for operations.
    pub fn from_event(event: &Event<'_>, searches: bool) -> Self {
        let meanings = &event.class.meanings;
        let scopes = SCOPES.into_iter().filter_map(|scope| {
            let plan = event.plan(scope)?;
            let mut uses = vec![Use::Nothing; plan.nodes().count()];
            if searches {
                for (node, place) in plan.nodes().zip(&mut uses) {
                    if matches!(
                        node.class.kind,
                        FieldKind::String { .. } | FieldKind::Blob { .. } | FieldKind::Guid { .. }
                    ) {
                        *place = Use::Search;
                    }
                }
                hide_exemplars(event, scope, plan, &mut uses);
            }
            let members = meanings.iter().filter(|(member, _)| member.scope == scope);
            for (member, meaning) in members {
                mark(plan, member.index as usize, meaning, &mut uses);
            }
            uses.iter().any(|found| *found != Use::Nothing).then(|| (scope, uses.into()))
        });
        let has_chains = meanings.members(Meaning::ChainId).next().is_some();
        Self { scopes: scopes.collect(), has_chains }
    }

    /// Finds the fields in the event's class that can name or mention operations. Other fields are not read.
    pub fn for_mentions(event: &Event<'_>) -> Self {
        let mut fields = Self::from_event(event, true);
        fields.scopes = std::mem::take(&mut fields.scopes)
            .into_iter()
            .filter(|(_, uses)| uses.iter().any(|found| found.is_of_operation()))
            .collect();
        fields
    }

    /// Returns `true` if no field is used.
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }

    /// Reads an event into `content`.
    pub fn read(&self, event: &Event<'_>, finders: &[FindMentions], content: &mut EventContent) {
        content.clear();
        content.chain = if self.has_chains { Chain::NONE } else { Chain::UNKNOWN };
        for (scope, uses) in &self.scopes {
            // Delivered events can always be decoded.
            let _ = event.visit(*scope, &mut ScopeReader { uses, finders, content, is_in_exemplars: false });
        }
        content.search_labeled(finders);
        // An event that names only its task belongs to the task.
        if let Some(task) = content.task
            && content.operation.is_none()
            && content.mentions.is_empty()
        {
            content.mentions.push(Mention { task, operation: None, chain: Chain::UNKNOWN, is_certain: true });
        }
    }
}

/// Leaves out exemplars. They name the measured operations, to which the data point does not belong.
fn hide_exemplars(event: &Event<'_>, scope: Scope, plan: &Plan, uses: &mut [Use]) {
    let Some(role) = event.class.element.as_deref().filter(|_| scope == Scope::Payload) else { return };
    // Beyond the limits of classes, an array has the names and texts of all fields.
    let found = match role.is_shared {
        true => element_field::FIELDS,
        false => element_field::EXEMPLARS,
    };
    if !role.part.is_point() || !role.own.iter().any(|own| own == found) {
        return;
    }
    let name = |node: usize| plan.get(node).and_then(|node| node.name.as_deref());
    for member in (0..).map_while(|index| plan.member(index)).filter(|member| name(*member) == Some(found)) {
        for node in plan.within(member) {
            let Some(place) = uses.get_mut(node) else { continue };
            *place = match (*place, name(node)) {
                (Use::Search, Some(element_field::NAME)) if role.is_shared => Use::FieldName,
                (Use::Search, _) if role.is_shared => Use::FieldText,
                _ => Use::Nothing,
            };
        }
    }
}

/// Sets the use of a member and everything in it.
fn mark(plan: &Plan, member: usize, meaning: Meaning, uses: &mut [Use]) {
    let wanted = match meaning {
        Meaning::TaskId => Use::Task,
        Meaning::OperationId => Use::Operation,
        Meaning::Cause(kind) => Use::Cause(kind),
        Meaning::ChainId => Use::Chain,
        Meaning::CauseChain => Use::CauseChain,
        Meaning::Message => Use::Message { searched: false },
        Meaning::TaskTitle => Use::Title,
        Meaning::TaskContext => Use::Context,
        Meaning::Machine => Use::Place(OriginPart::Machine),
        Meaning::Component | Meaning::ProcessName => Use::Place(OriginPart::Component),
        Meaning::Tag => Use::Place(OriginPart::Tag),
        Meaning::Process => Use::Place(OriginPart::Process),
        Meaning::Thread => Use::Place(OriginPart::Thread),
        _ => return,
    };
    let Some(begin) = plan.member(member) else { return };
    for place in uses.get_mut(plan.within(begin)).unwrap_or_default() {
        *place = match (wanted, *place) {
            (Use::Message { .. }, Use::Search) => Use::Message { searched: true },
            _ => wanted,
        };
    }
}

/// Event content.
#[derive(Debug)]
pub struct EventContent {
    /// Task that the event belongs to.
    pub task: Option<Identifier>,
    /// Operation in the task.
    pub operation: Option<Identifier>,
    /// Chain of causes within the operation.
    pub chain: Chain,
    /// Causes with an identifier, each with its position among all causes.
    causes: Vec<(Identifier, CauseKind, u32)>,
    cause_count: u32,
    /// Chain of each cause, by position.
    cause_chains: Vec<Option<Chain>>,
    /// `true` if a cause is nothing. Some formats mark the first operation of a task so.
    pub(super) is_marked_root: bool,
    /// Number of identifiers that are too long.
    pub(super) too_long: u32,
    /// Operation names that formats recognized in the event.
    pub mentions: Vec<Mention>,
    /// Identifier fields as text with their names.
    labeled: Vec<u8>,
    pub(super) message: Vec<u8>,
    /// Task title.
    pub(super) title: Vec<u8>,
    /// Origin texts by [`OriginPart`].
    places: [Vec<u8>; 5],
    text: Vec<u8>,
}

impl Default for EventContent {
    fn default() -> Self {
        Self {
            task: None,
            operation: None,
            chain: Chain::UNKNOWN,
            causes: Vec::new(),
            cause_count: 0,
            cause_chains: Vec::new(),
            is_marked_root: false,
            too_long: 0,
            mentions: Vec::new(),
            labeled: Vec::new(),
            message: Vec::new(),
            title: Vec::new(),
            places: Default::default(),
            text: Vec::new(),
        }
    }
}

impl EventContent {
    /// Returns the causes: identifier, chain and kind.
    pub fn causes(&self) -> impl Iterator<Item = (Identifier, Chain, CauseKind)> + '_ {
        self.causes.iter().map(|(cause, kind, position)| {
            // A cause without a chain is in the chain of the event.
            let chain = self.cause_chains.get(*position as usize).copied().flatten();
            (*cause, chain.unwrap_or(self.chain), *kind)
        })
    }

    fn clear(&mut self) {
        (self.task, self.operation) = (None, None);
        self.causes.clear();
        self.cause_count = 0;
        self.cause_chains.clear();
        (self.is_marked_root, self.too_long) = (false, 0);
        self.mentions.clear();
        self.labeled.clear();
        self.message.clear();
        self.title.clear();
        self.places.iter_mut().for_each(Vec::clear);
    }

    /// Finds the operations mentioned in a text.
    fn search(&mut self, bytes: &[u8], finders: &[FindMentions]) {
        // Events with their own task and operation are not searched for others.
        if self.task.is_some() && self.operation.is_some() {
            return;
        }
        let mentions = &mut self.mentions;
        for find in finders {
            find(bytes, &mut |mention| {
                if mentions.len() < MOST_MENTIONS && !mentions.contains(&mention) {
                    mentions.push(mention);
                }
            });
        }
    }

    /// Finds the operations in metadata. They are certain.
    fn context(&mut self, bytes: &[u8], finders: &[FindMentions]) {
        let before = self.mentions.len();
        self.search(bytes, finders);
        self.mentions.iter_mut().skip(before).for_each(|mention| mention.is_certain = true);
    }

    /// Records a field that contains only an identifier, if its name ends in `id`.
    fn label(&mut self, field: Field<'_>, digits: impl Iterator<Item = u8>) {
        let Some(name) = field.name().filter(|name| is_id(name)) else { return };
        if self.labeled.len() < MOST_LABELED {
            self.labeled.extend_from_slice(name.as_bytes());
            self.labeled.push(b'=');
            self.labeled.extend(digits);
            self.labeled.push(b' ');
        }
    }

    /// Finds the operation in identifier fields. It comes before operations in texts.
    fn search_labeled(&mut self, finders: &[FindMentions]) {
        if !self.labeled.is_empty() {
            let labeled = std::mem::take(&mut self.labeled);
            let mut others = std::mem::take(&mut self.mentions);
            self.search(&labeled, finders);
            others.retain(|mention| !self.mentions.contains(mention));
            self.mentions.append(&mut others);
            self.mentions.truncate(MOST_MENTIONS);
            self.labeled = labeled;
        }
    }

    /// Returns the event's machine.
    pub(super) fn machine(&self) -> &[u8] {
        &self.places[OriginPart::Machine as usize]
    }

    /// Appends the event's origin: machine, component, process and thread, as far as known. Without a component,
    /// the tag is used. A thread with the number of its process is not repeated.
    pub(super) fn push_place(&self, out: &mut Vec<u8>) {
        let [machine, component, process, thread, tag] = &self.places;
        for part in [machine, if component.is_empty() { tag } else { component }] {
            if !part.is_empty() {
                separate(out, b' ');
                out.extend_from_slice(part);
            }
        }
        if !process.is_empty() {
            separate(out, b' ');
            out.extend_from_slice(process);
        }
        if !thread.is_empty() && thread != process {
            separate(out, if process.is_empty() { b' ' } else { b'/' });
            out.extend_from_slice(thread);
        }
    }
}

fn separate(out: &mut Vec<u8>, separator: u8) {
    if !out.is_empty() {
        out.push(separator);
    }
}

/// Reads a scope's fields.
struct ScopeReader<'r> {
    uses: &'r [Use],
    finders: &'r [FindMentions],
    content: &'r mut EventContent,
    /// `true` after the name of exemplars: see [`Use::FieldName`].
    is_in_exemplars: bool,
}

impl ScopeReader<'_> {
    fn use_of(&self, field: Field<'_>) -> Use {
        self.uses.get(field.index()).copied().unwrap_or(Use::Nothing)
    }

    /// Takes a used field's value.
    fn take(&mut self, field: Field<'_>, value: &FieldValue<'_>) {
        let content = &mut *self.content;
        let wanted = self.uses.get(field.index());
        if let Some(Use::Task | Use::Operation | Use::Cause(_)) = wanted
            && is_too_long(value)
        {
            content.too_long = content.too_long.saturating_add(1);
            content.cause_count += u32::from(matches!(wanted, Some(Use::Cause(_))));
            return;
        }
        match wanted {
            // The last of several fields is used.
            Some(Use::Task) => content.task = Identifier::from_value(value).or(content.task),
            Some(Use::Operation) => content.operation = Identifier::from_value(value).or(content.operation),
            Some(Use::Cause(kind)) => {
                match Identifier::from_value(value) {
                    Some(cause) => content.causes.push((cause, *kind, content.cause_count)),
                    None => content.is_marked_root = true,
                }
                content.cause_count += 1;
            }
            Some(Use::Chain) => content.chain = value.as_u64().map_or(content.chain, Chain::new),
            Some(Use::CauseChain) => {
                // A negative number means the chain of the event.
                let chain = value.as_i128().and_then(|number| u64::try_from(number).ok());
                content.cause_chains.push(chain.map(Chain::new));
            }
            Some(Use::Place(part)) => {
                let place = &mut content.places[*part as usize];
                if place.is_empty()
                    && let Some(number) = value.as_i128()
                {
                    number::push_integer(place, number);
                }
            }
            _ => {}
        }
    }

    fn search_bytes(&mut self, field: Field<'_>, bytes: &[u8]) {
        if !self.finders.is_empty() && [8, 16].contains(&bytes.len()) {
            self.content.label(field, hexadecimal(bytes));
        }
        self.content.search(bytes, self.finders);
    }

    fn search_text(&mut self, field: Field<'_>, text: &[u8]) {
        if [16, 32].contains(&text.len()) && text.iter().all(u8::is_ascii_hexdigit) {
            self.content.label(field, text.iter().copied());
        }
        self.content.search(text, self.finders);
    }
}

/// Returns bytes as hexadecimal digits.
fn hexadecimal(bytes: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).map_or(b'0', |digit| digit as u8);
    bytes.iter().flat_map(move |byte| [digit(byte >> 4), digit(byte & 15)])
}

/// Returns `true` for identifier names.
fn is_id(name: &str) -> bool {
    let end = name.as_bytes().last_chunk::<2>();
    end.is_some_and(|end| end.eq_ignore_ascii_case(b"id"))
}

/// Returns `true` if an identifier is longer than supported.
fn is_too_long(value: &FieldValue<'_>) -> bool {
    let (FieldValue::Text(bytes) | FieldValue::Blob(bytes)) = value else { return false };
    bytes.len() > Identifier::MOST
        && Identifier::from_value(value).is_none()
        && !bytes.iter().all(|byte| matches!(byte, 0 | b'0' | b'-' | b'{' | b'}'))
}

/// Maximum number of operations that one event can name.
const MOST_MENTIONS: usize = 64;

/// Maximum length of identifier fields with their names, in bytes.
const MOST_LABELED: usize = 1 << 10;

impl Visitor for ScopeReader<'_> {
    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        if let FieldValue::Unsigned(_) | FieldValue::Signed(_) | FieldValue::Wide(_) = value
            && self.use_of(field) != Use::Nothing
        {
            self.take(field, &value);
        }
    }

    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        match self.use_of(field) {
            Use::Search => self.search_bytes(field, value.as_bytes()),
            _ => self.take(field, &FieldValue::Guid(value)),
        }
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        match self.use_of(field) {
            Use::Nothing => {}
            Use::Search => self.search_bytes(field, bytes),
            // Finders read texts.
            Use::Context if bytes.len() <= MOST_LABELED => {
                self.content.context(&hexadecimal(bytes).collect::<Vec<u8>>(), self.finders);
            }
            _ => self.take(field, &FieldValue::Blob(bytes)),
        }
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        let wanted = self.use_of(field);
        if wanted == Use::Nothing {
            return;
        }
        let mut converted = std::mem::take(&mut self.content.text);
        converted.clear();
        let bytes = match value.encoding {
            StringEncoding::Utf8 => value.bytes,
            _ => {
                value.write_utf8(&mut converted);
                &converted
            }
        };
        match wanted {
            Use::Search => self.search_text(field, bytes),
            Use::FieldName => self.is_in_exemplars = bytes == element_field::EXEMPLARS.as_bytes(),
            Use::FieldText if self.is_in_exemplars => {}
            Use::FieldText => self.search_text(field, bytes),
            Use::Context => self.content.context(bytes, self.finders),
            Use::Message { searched } => {
                if searched {
                    self.content.search(bytes, self.finders);
                }
                if self.content.message.is_empty() {
                    self.content.message.extend_from_slice(bytes);
                }
            }
            Use::Title if self.content.title.is_empty() => self.content.title.extend_from_slice(bytes),
            Use::Place(part) => {
                let place = &mut self.content.places[part as usize];
                if place.is_empty() {
                    place.extend_from_slice(bytes);
                }
            }
            _ => self.take(field, &FieldValue::Text(bytes)),
        }
        self.content.text = converted;
    }
}
