//! Resources and scopes: the origin of events.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use ichnos_json::write::ValueWriter;
use ichnos_model::Scope;
use ichnos_model::class::{FieldClass, Member};
use ichnos_model::event::EventValues;
use ichnos_model::meaning::{Meaning, Meanings};

use crate::any_value::{AnyValue, NamedValue, ValueDecoder};
use crate::fault::Decoded;
use crate::input::EncodedMessage;
use crate::schema::{resource, scope};
use crate::shape::{AnyShape, MemberShape, push_key_text, rename_repeated};
use crate::shared_limits::{cut_text, limit_attributes};
use ichnos_model::telemetry::element_field;

/// Maximum number of shapes in the attributes of a resource or a scope. Beyond it, they are a list of names and texts.
const MOST_SHAPES: usize = 256;

/// Maximum length of the key of these shapes, in bytes, which has their names. Beyond it, the attributes are a list, too.
const MOST_SHAPE_KEY: usize = 16 << 10;

/// Name of the member with a list of names and texts.
const LIST: &str = element_field::ATTRIBUTES;

/// A list of attributes with its shape.
#[derive(Debug, Default)]
pub(crate) struct OriginAttributes {
    values: Vec<NamedValue<'static>>,
    shapes: Vec<AnyShape>,
    /// Key of the shapes.
    shape_key: Vec<u8>,
    /// Members with the names of their attributes, where these differ or look like fields that OpenTelemetry defines.
    pub(crate) renamed: Vec<(String, String)>,
    /// `true` if some are texts, because there are too many.
    pub(crate) is_changed: bool,
    /// `true` if they are a list of names and texts.
    is_list: bool,
    /// Indexes of the fields that OpenTelemetry defines, and all names that it defines.
    own: Range<usize>,
    known: &'static [&'static str],
}

impl OriginAttributes {
    /// `own` are the indexes of fields that OpenTelemetry defines, which have some of the names in `known`.
    fn new(mut values: Vec<NamedValue<'_>>, own: Range<usize>, known: &'static [&'static str]) -> Self {
        let shapes: Vec<AnyShape> = values.iter().map(|member| AnyShape::new(&member.value)).collect();
        let is_attribute = |index: usize| !own.contains(&index);
        if shapes.iter().map(AnyShape::size).sum::<usize>() > MOST_SHAPES || names_are_long(&values, &shapes)
        {
            // Texts stay the same, also with repeated names.
            let is_same = |(index, (shape, member)): (usize, (&AnyShape, &NamedValue<'_>))| {
                let is_text = *shape == AnyShape::Text && !known.contains(&&*member.name);
                is_text || !is_attribute(index)
            };
            let is_changed = !shapes.iter().zip(&values).enumerate().all(is_same);
            let names = values.iter().map(|member| &*member.name).collect();
            let list = Self::list(name_text_pairs(&values, names, &own, known), is_changed);
            return Self { own, known, ..list };
        }
        let mut renamed = rename_repeated(&mut values);
        let is_list = values.len() == 1;
        for (index, member) in values.iter().enumerate().filter(|(index, _)| is_attribute(*index)) {
            let is_ambiguous = known.contains(&&*member.name) || is_list && member.name == LIST;
            if is_ambiguous && !renamed.iter().any(|(known, _)| *known == index) {
                renamed.push((index, member.name.to_string()));
            }
        }
        let name = |index: usize| values.get(index).map(|member| member.name.to_string());
        let renamed = renamed.into_iter().filter_map(|(index, original)| Some((name(index)?, original)));
        let renamed = renamed.collect();
        let values = values.into_iter().map(NamedValue::into_owned).collect();
        Self { own, known, ..Self::with_shapes(values, shapes, renamed, false) }
    }

    fn with_shapes(
        values: Vec<NamedValue<'static>>,
        shapes: Vec<AnyShape>,
        renamed: Vec<(String, String)>,
        is_changed: bool,
    ) -> Self {
        let mut shape_key = Vec::new();
        if is_changed {
            // Classes tell it, so they differ. Keys of members begin with a length.
            shape_key.extend_from_slice(&u64::MAX.to_le_bytes());
        }
        push_shape_key(&values, &shapes, &mut shape_key);
        if !renamed.is_empty() {
            shape_key.extend_from_slice(&(u64::MAX - 1).to_le_bytes());
        }
        for name in renamed.iter().flat_map(|(member, name)| [member, name]) {
            push_key_text(&mut shape_key, name.as_bytes());
        }
        Self { values, shapes, shape_key, renamed, is_changed, ..Self::default() }
    }

    /// Returns attributes as a list of names and texts. All such lists have the same shape.
    fn list(pairs: Vec<AnyValue<'_>>, is_changed: bool) -> Self {
        let pair = ["name", "value"].map(|name| MemberShape::new(name, AnyShape::Text));
        let shape = AnyShape::Array(Box::new(AnyShape::List(pair.into())));
        let list = NamedValue::new(LIST, AnyValue::Array(pairs).into_owned());
        Self { is_list: true, ..Self::with_shapes(vec![list], vec![shape], Vec::new(), is_changed) }
    }

    /// Returns the key of the shape.
    pub(crate) fn shape_key(&self) -> &[u8] {
        &self.shape_key
    }

    /// Returns `true` if some values become texts.
    pub(crate) fn is_lowered(&self) -> bool {
        self.shapes.iter().any(AnyShape::is_lowered)
    }

    /// Returns the class, a structure. `None` without attributes.
    pub(crate) fn class(&self) -> Option<FieldClass> {
        let members = self.values.iter().zip(&self.shapes);
        let members = members.map(|(member, shape)| Member::new(&*member.name, shape.class()));
        (!self.values.is_empty()).then(|| FieldClass::structure(members))
    }

    /// Begins a scope with the values, unless there are none.
    pub(crate) fn push(&self, scope: Scope, values: &mut EventValues) {
        if self.values.is_empty() {
            return;
        }
        values.begin(scope);
        for (member, shape) in self.values.iter().zip(&self.shapes) {
            shape.push(&member.value, values);
        }
    }

    /// Returns the attributes as structures of a name and a text, with their original names.
    pub(crate) fn name_text_pairs(&self) -> Vec<AnyValue<'_>> {
        if let (true, Some(NamedValue { value: AnyValue::Array(pairs), .. })) =
            (self.is_list, self.values.first())
        {
            return pairs.clone();
        }
        let original: HashMap<&str, &str> =
            self.renamed.iter().map(|(member, name)| (member.as_str(), name.as_str())).collect();
        let name = |member: &NamedValue<'_>| original.get(&*member.name).copied();
        let names = self.values.iter().map(|member| name(member).unwrap_or(&member.name));
        name_text_pairs(&self.values, names.collect(), &self.own, self.known)
    }

    /// Returns the index of an attribute with a shape.
    pub(crate) fn find(&self, name: &str, shape: &AnyShape) -> Option<usize> {
        self.values.iter().zip(&self.shapes).position(|(member, found)| member.name == name && found == shape)
    }

    /// Returns the text of an attribute.
    fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let member = self.values.get(self.find(name, &AnyShape::Text)?)?;
        match &member.value {
            AnyValue::Text(text) => Some(String::from_utf8_lossy(text)),
            _ => None,
        }
    }

    /// Returns a key that is unique to the attributes.
    fn key(&self) -> Vec<u8> {
        let mut key = self.shape_key.clone();
        let mut array = ValueWriter::new(&mut key).array();
        self.values.iter().for_each(|member| member.value.write_json(array.element()));
        array.end();
        key
    }
}

/// Returns `true` if member names are too long for class keys.
fn names_are_long(values: &[NamedValue<'_>], shapes: &[AnyShape]) -> bool {
    let mut key = Vec::new();
    push_shape_key(values, shapes, &mut key);
    key.len() > MOST_SHAPE_KEY
}

/// Appends the key of member shapes.
fn push_shape_key(values: &[NamedValue<'_>], shapes: &[AnyShape], key: &mut Vec<u8>) {
    for (member, shape) in values.iter().zip(shapes) {
        push_key_text(key, member.name.as_bytes());
        shape.push_key(key);
    }
}

/// Returns a structure of a name and a text.
pub(crate) fn name_text_pair<'v>(name: &'v str, text: Cow<'v, [u8]>) -> AnyValue<'v> {
    AnyValue::List(vec![
        NamedValue::new("name", AnyValue::text(name)),
        NamedValue::new("value", AnyValue::Text(text)),
    ])
}

/// Returns fields and attributes as structures of a name and a text. Readers take the first structure with a name in
/// `known` as the field. If only an attribute has this name, the field comes first, with an empty text.
fn name_text_pairs<'v>(
    values: &'v [NamedValue<'_>],
    names: Vec<&'v str>,
    own: &Range<usize>,
    known: &'static [&'static str],
) -> Vec<AnyValue<'v>> {
    let is_only_attribute = |field: &str| {
        let mut found = names.iter().enumerate().filter(|(_, name)| **name == field).peekable();
        found.peek().is_some() && found.all(|(index, _)| !own.contains(&index))
    };
    let missing = known.iter().filter(|field| is_only_attribute(field));
    let mut pairs: Vec<AnyValue<'v>> =
        missing.map(|field| name_text_pair(field, Cow::Borrowed(b""))).collect();
    let members = names.iter().zip(values);
    pairs.extend(members.map(|(name, member)| name_text_pair(name, member.value.to_text())));
    pairs
}

/// Message with a resource or a scope.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OriginMessage<'m, 'a> {
    pub(crate) message: Option<&'m EncodedMessage<'a>>,
    /// Offset of the message in its request, or of the message around it.
    pub(crate) at: usize,
    /// URL of its schema, or empty.
    pub(crate) schema_url: &'m [u8],
}

/// Appends the URL of a schema, and the number of dropped attributes, unless they have their default values.
fn push_facts<'a>(
    [schema_name, dropped_name]: [&'static str; 2],
    schema_url: &'a [u8],
    dropped: u64,
    values: &mut Vec<NamedValue<'a>>,
) {
    if !schema_url.is_empty() {
        values.push(NamedValue::new(schema_name, AnyValue::Text(Cow::Borrowed(schema_url))));
    }
    if dropped != 0 {
        values.push(NamedValue::new(dropped_name, AnyValue::Unsigned(dropped)));
    }
}

/// A resource, which mostly is a process.
#[derive(Debug, Default)]
pub(crate) struct Resource {
    pub(crate) attributes: OriginAttributes,
    /// `true` if it has entities, which are not read.
    has_entities: bool,
    /// Statements about texts that are cut and attributes that are left out.
    pub(crate) cuts: Vec<String>,
    /// `true` if it shares a data stream with others.
    pub(crate) is_shared: bool,
}

/// Name of the data stream that many resources share.
pub(crate) const SHARED: &str = "other resources";

/// Names of machines, the best first.
const MACHINES: [&str; 4] = ["host.name", "k8s.pod.name", "container.id", "service.instance.id"];

impl Resource {
    /// Decodes a resource.
    pub(crate) fn decode(OriginMessage { message, schema_url, .. }: OriginMessage<'_, '_>) -> Decoded<Self> {
        let mut cuts = Vec::new();
        let schema_url =
            cut_text(Cow::Borrowed(schema_url), format_args!("the schema URL of a resource"), &mut cuts);
        let mut found = Vec::new();
        let mut values = ValueDecoder::default();
        let (mut dropped, mut has_entities) = (0, false);
        if let Some(message) = message {
            message.fields(resource::FIELDS, |field, input| {
                match field {
                    resource::ATTRIBUTES => values.pairs(input, &mut found)?,
                    resource::ENTITIES => {
                        has_entities = true;
                        input.skip()?;
                    }
                    _ => dropped = input.unsigned()?,
                }
                Ok(())
            })?;
        }
        dropped = u64::saturating_add(dropped, limit_attributes(&mut found, "a resource", &mut cuts));
        let known = &element_field::OF_RESOURCE;
        let mut facts = Vec::new();
        push_facts(*known, &schema_url, dropped, &mut facts);
        let count = facts.len();
        // Later members with equal names are renamed.
        let is_repeated = facts.iter().any(|fact| found.iter().any(|attribute| attribute.name == fact.name));
        let at = if is_repeated { 0 } else { found.len() };
        found.splice(at..at, facts);
        let attributes = OriginAttributes::new(found, at..at + count, known);
        Ok(Self { attributes, has_entities, cuts, is_shared: false })
    }

    /// Returns the resource with its attributes as a list of names and texts, for a data stream of many resources.
    pub(crate) fn to_shared(&self) -> Self {
        // Classes of the data stream serve all its resources, so they cannot tell which of them had only texts.
        let attributes = OriginAttributes::list(self.attributes.name_text_pairs(), true);
        Self { attributes, has_entities: self.has_entities, cuts: self.cuts.clone(), is_shared: true }
    }

    /// Returns `true` if it has entities, or texts or attributes beyond the limits, which are not read.
    pub(crate) fn has_unread_fields(&self) -> bool {
        self.has_entities || !self.cuts.is_empty()
    }

    /// Returns a key that is unique to the resource.
    pub(crate) fn key(&self) -> Vec<u8> {
        let mut key = self.attributes.key();
        key.push(self.has_unread_fields().into());
        key
    }

    /// Returns a name for its data stream. `names` are the numbers of data streams with each name so far.
    pub(crate) fn unique_name(&self, names: &mut HashMap<String, u32>) -> String {
        let parts = ["service.namespace", "service.name"];
        let parts: Vec<_> = parts.iter().filter_map(|name| self.attributes.text(name)).collect();
        let name = match (self.is_shared, &parts[..]) {
            (true, _) => SHARED.to_owned(),
            (false, []) => "resource".to_owned(),
            (false, parts) => parts.join("/"),
        };
        let count = names.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name}#{count}") }
    }

    /// Inserts the meanings of its attributes.
    pub(crate) fn insert_meanings(&self, meanings: &mut Meanings) {
        let mut insert = |name: &str, shape: &AnyShape, meaning: Meaning| {
            let found = self.attributes.find(name, shape);
            if let Some(index) = found {
                meanings.insert(Scope::Resource, index, meaning);
            }
            found.is_some()
        };
        let has_process = insert("process.pid", &AnyShape::Integer, Meaning::Process);
        // Without a number, names stand for the process.
        let service = if has_process { Meaning::ProcessName } else { Meaning::Component };
        if !insert("service.name", &AnyShape::Text, service) {
            insert("process.executable.name", &AnyShape::Text, service);
        }
        let _ = MACHINES.into_iter().any(|name| insert(name, &AnyShape::Text, Meaning::Machine));
    }
}

/// An instrumentation scope: the library that recorded events.
#[derive(Debug, Default)]
pub(crate) struct InstrumentationScope {
    /// Name, for categories. Empty if it is missing.
    pub(crate) name: String,
    /// Name, version and attributes.
    pub(crate) attributes: OriginAttributes,
    /// Statements about texts that are cut and attributes that are left out.
    pub(crate) cuts: Vec<String>,
}

impl InstrumentationScope {
    /// Decodes a scope.
    pub(crate) fn decode(OriginMessage { message, schema_url, .. }: OriginMessage<'_, '_>) -> Decoded<Self> {
        let mut cuts = Vec::new();
        let schema_url =
            cut_text(Cow::Borrowed(schema_url), format_args!("the schema URL of a scope"), &mut cuts);
        let (mut name, mut version) = (Cow::default(), Cow::default());
        let mut dropped = 0;
        let mut attributes = Vec::new();
        let mut values = ValueDecoder::default();
        if let Some(message) = message {
            message.fields(scope::FIELDS, |field, input| {
                match field {
                    scope::NAME => name = input.text()?,
                    scope::VERSION => version = input.text()?,
                    scope::ATTRIBUTES => values.pairs(input, &mut attributes)?,
                    _ => dropped = input.unsigned()?,
                }
                Ok(())
            })?;
        }
        let name = cut_text(name, format_args!("the name of a scope"), &mut cuts);
        let version = cut_text(version, format_args!("the version of a scope"), &mut cuts);
        dropped = u64::saturating_add(dropped, limit_attributes(&mut attributes, "a scope", &mut cuts));
        let mut all = Vec::new();
        let text = String::from_utf8_lossy(&name).into_owned();
        for (member, value) in [(element_field::SCOPE_NAME, name), (element_field::SCOPE_VERSION, version)] {
            if !value.is_empty() {
                all.push(NamedValue::new(member, AnyValue::Text(value)));
            }
        }
        push_facts(
            [element_field::SCOPE_SCHEMA, element_field::SCOPE_DROPPED],
            &schema_url,
            dropped,
            &mut all,
        );
        let own = 0..all.len();
        all.extend(attributes);
        let attributes = OriginAttributes::new(all, own, &element_field::OF_SCOPE);
        Ok(Self { name: text, attributes, cuts })
    }

    /// Returns `true` if texts or attributes beyond the limits are not read.
    pub(crate) fn is_cut(&self) -> bool {
        !self.cuts.is_empty()
    }

    /// Returns a key that is unique to the scope.
    pub(crate) fn key(&self) -> Vec<u8> {
        let mut key = self.attributes.key();
        key.push(self.is_cut().into());
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::RequestEncoding;

    fn pairs(resource: &Resource) -> Vec<(String, String)> {
        let text = |member: &NamedValue<'_>| String::from_utf8(member.value.to_text().into_owned()).unwrap();
        let pair = |pair: AnyValue<'_>| match pair {
            AnyValue::List(members) => (text(&members[0]), text(&members[1])),
            _ => panic!(),
        };
        resource.attributes.name_text_pairs().into_iter().map(pair).collect()
    }

    /// Readers take the first pair with the name of a field as the field.
    #[test]
    fn lists_of_texts_keep_names() {
        let attribute = |name: &str| format!(r#"{{"key":"{name}","value":{{"stringValue":"user"}}}}"#);
        let attributes =
            |names: &[&str]| names.iter().map(|name| attribute(name)).collect::<Vec<_>>().join(",");
        let long = "a".repeat(MOST_SHAPE_KEY);
        let schema = element_field::RESOURCE_SCHEMA;
        for (names, schema_url, first) in [
            (&["a", "a", schema][..], "", Some("")),
            (&["a", "a", schema], "url", Some("url")),
            (&["a", "a"], "url", None),
            (&["a", long.as_str(), schema], "", Some("")),
        ] {
            let json = format!(r#"{{"attributes":[{}]}}"#, attributes(names));
            let message = EncodedMessage::whole(json.as_bytes(), RequestEncoding::Json);
            let origin = OriginMessage { message: Some(&message), at: 0, schema_url: schema_url.as_bytes() };
            let Ok(resource) = Resource::decode(origin) else { panic!() };
            let shared = resource.to_shared();
            // A list does not become a list in a list.
            assert_eq!(pairs(&shared.to_shared()), pairs(&shared));
            let found = pairs(&shared);
            let field = found.iter().find(|(name, _)| name == schema).map(|(_, text)| text.as_str());
            assert_eq!(field, first.or(Some(schema_url)), "{found:?}");
            let users = found.iter().filter(|(_, text)| text == "user").map(|(name, _)| name.as_str());
            assert_eq!(users.collect::<Vec<_>>(), names);
        }
    }
}
