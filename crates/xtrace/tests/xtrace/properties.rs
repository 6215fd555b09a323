//! Properties of all metadata, and of all bytes.

use ichnos_testing::{Random, cases};
use ichnos_xtrace::dialect::{TraceParent, TraceState, Version2, WithState};
use ichnos_xtrace::find_identifiers;
use ichnos_xtrace::metadata::{MAX_LENGTH, MAX_TEXT_LENGTH, Mode, Rule};
use ichnos_xtrace::option::{Definition, Propagation, Registry, Severity};
use ichnos_xtrace::{EdgeKind, Metadata, MetadataRef, OpId, TaskId};

use crate::support::{bytes, hex, metadata, metadata_bytes, op, task};

#[test]
fn what_is_written_is_what_was_read() {
    cases(10_000, |random| {
        let bytes = metadata_bytes(random);
        let metadata = Metadata::parse_bytes(&bytes).unwrap();
        assert_eq!(metadata.as_bytes(), bytes);
        let text = hex(&bytes);
        assert_eq!(metadata.to_string(), text);
        assert_eq!(metadata.write_text(&mut [0; MAX_TEXT_LENGTH]), text);
        assert_eq!(Metadata::parse(&text), Ok(metadata.clone()));
        assert_eq!(Metadata::parse(text.to_lowercase()), Ok(metadata.clone()));
        assert_eq!(metadata.as_ref().to_owned(), metadata);

        // The parts follow each other in this order.
        let mut parts = vec![bytes[0]];
        parts.extend(metadata.task_id().as_bytes());
        parts.extend(metadata.op_id().as_bytes());
        if bytes[0] & 4 != 0 {
            parts.push(metadata.as_ref().options_bytes().len() as u8);
        }
        for option in metadata.options() {
            parts.extend([option.number, option.payload.len() as u8]);
            parts.extend(option.payload);
        }
        parts.extend(metadata.as_ref().padding());
        assert_eq!(parts, bytes);

        // In a binary protocol, other bytes follow.
        let followed = [&bytes[..], &[1, 2, 3]].concat();
        let (first, rest) = MetadataRef::split_from(&followed).unwrap();
        assert_eq!((first.as_bytes(), rest), (&bytes[..], &[1, 2, 3][..]));
        let error = Metadata::parse_bytes(&followed).unwrap_err();
        assert_eq!(
            (error.rule, usize::from(error.offset), error.found),
            (Rule::TrailingBytes, bytes.len(), 3)
        );
        assert_eq!(Metadata::parse(hex(&followed)).unwrap_err(), error);
    });
}

#[test]
fn what_is_built_can_be_read() {
    cases(5_000, |random| {
        let (task, op) = (task(random), op(random));
        let mut built = Metadata::new(task, op);
        if random.below(2) == 0
            && let Some(version_0) = built.clone().with_version_0()
        {
            built = version_0;
        }
        let version = built.version();
        let mut options: Vec<(u8, Vec<u8>)> = Vec::new();
        for _ in 0..random.index(8) {
            let number = 1 + random.below(6) as u8;
            let most = if random.below(8) == 0 { 300 } else { 12 };
            let length = random.index(most);
            let payload = bytes(random, length);
            let all: usize = options.iter().map(|option| 2 + option.1.len()).sum();
            match random.index(3) {
                0 => {
                    let fits = all + 2 + length <= 255;
                    assert_eq!(built.push_option(number, &payload).is_ok(), fits);
                    if fits {
                        options.push((number, payload));
                    }
                }
                1 => {
                    let old = options.iter_mut().find(|option| option.0 == number);
                    let room = old.as_ref().map_or(0, |option| 2 + option.1.len());
                    let fits = all - room + 2 + length <= 255;
                    assert_eq!(built.set_option(number, &payload).is_ok(), fits);
                    match old {
                        _ if !fits => {}
                        Some(option) => option.1 = payload,
                        None => options.push((number, payload)),
                    }
                }
                _ => {
                    let before = options.len();
                    options.retain(|option| option.0 != number);
                    assert_eq!(built.remove_option(number), options.len() < before);
                }
            }
            assert_eq!((built.task_id(), built.op_id(), built.version()), (task, op, version));
            let found: Vec<_> =
                built.options().map(|option| (option.number, option.payload.to_vec())).collect();
            assert_eq!(found, options);
            assert_eq!(Metadata::parse_bytes(built.as_bytes()).as_ref(), Ok(&built));
        }
        let had = built.as_ref().options_bytes().len();
        if had < 255 {
            built.push_option(0, b"ignored").unwrap();
            assert_eq!(built.as_ref().padding(), [0]);
            assert_eq!(built.push_option(9, &[7]).is_ok(), had + 4 <= 255);
            assert_eq!(built.as_ref().padding(), [0]);
            assert_eq!(Metadata::parse_bytes(built.as_bytes()), Ok(built));
        }
    });
}

/// Returns bytes that are almost metadata, or quite different.
fn almost(random: &mut Random) -> Vec<u8> {
    let mut almost = metadata_bytes(random);
    for _ in 0..random.index(4) {
        match random.index(4) {
            0 => {
                let at = random.index(almost.len().max(1));
                if let Some(byte) = almost.get_mut(at) {
                    *byte = random.number() as u8;
                }
            }
            1 => almost.truncate(random.index(almost.len() + 1)),
            2 => {
                let length = random.index(400);
                almost.extend(bytes(random, length));
            }
            _ => {
                let length = random.index(40);
                almost = bytes(random, length);
            }
        }
    }
    almost
}

#[test]
fn any_bytes_do_no_harm() {
    cases(10_000, |random| {
        let bytes = almost(random);
        let strict = Metadata::parse_bytes(&bytes);
        match &strict {
            Ok(metadata) => assert_eq!(metadata.as_bytes(), bytes),
            Err(error) => assert!(usize::from(error.offset) <= bytes.len().min(MAX_LENGTH), "{error}"),
        }
        let text = hex(&bytes);
        assert_eq!(Metadata::parse(&text), strict);
        let mut buffer = [0xAA; MAX_LENGTH];
        let borrowed = MetadataRef::parse_text(text.as_bytes(), &mut buffer);
        assert_eq!(borrowed.map(MetadataRef::to_owned), strict);
        let lenient = Metadata::parse_with(text.as_bytes(), Mode::Lenient);
        assert_eq!(lenient, Metadata::parse_bytes_with(&bytes, Mode::Lenient));
        if let Ok(lenient) = lenient {
            assert_eq!(Metadata::parse_lenient(text.as_bytes()), lenient);
            // The original library reads its own results again, unchanged.
            assert_eq!(Metadata::parse_bytes_with(lenient.as_bytes(), Mode::Lenient), Ok(lenient));
        } else {
            assert!(strict.is_err());
            assert!(!Metadata::parse_lenient(text.as_bytes()).is_valid());
        }
        let _ = Metadata::parse_lenient(&bytes);
        let _ = Metadata::parse(&bytes);
        for (range, _) in find_identifiers(&bytes) {
            assert!(range.end <= bytes.len());
        }
    });
}

#[test]
fn other_texts_are_refused() {
    for (text, rule, offset) in [
        ("", Rule::FlagsMissing, 0),
        ("1", Rule::TextPairs, 0),
        (" 10CAFEBABE01020304", Rule::TextDigits, 0),
        ("10CAFEBABE01020304\n", Rule::TextDigits, 18),
        ("10CAFEBABE010203O4", Rule::TextDigits, 16),
        ("F0CAFEBABE01020304", Rule::VersionReserved, 0),
        ("20CAFEBABE01020304", Rule::VersionUnknown, 0),
        ("08CAFEBABE0102030401020304", Rule::VersionOpId, 0),
        ("13CAFEBABE", Rule::TaskIdTruncated, 1),
        ("10CAFEBABE010203", Rule::OpIdTruncated, 5),
        ("14CAFEBABE01020304", Rule::OptionsLengthMissing, 9),
        ("14CAFEBABE0102030400", Rule::OptionsLengthZero, 9),
        ("14CAFEBABE010203040301", Rule::OptionsTruncated, 10),
        ("14CAFEBABE0102030401CE", Rule::OptionLengthMissing, 11),
        ("14CAFEBABE0102030403CE0201", Rule::OptionTruncated, 12),
        ("10CAFEBABE0102030400", Rule::TrailingBytes, 9),
    ] {
        let error = Metadata::parse(text).unwrap_err();
        assert_eq!((error.rule, error.offset), (rule, offset), "{text}: {error}");
        assert!(error.to_string().contains(rule.section()));
    }
}

#[test]
fn identifiers() {
    cases(2_000, |random| {
        let (task, op) = (task(random), op(random));
        assert_eq!(task.to_string().parse(), Ok(task));
        assert_eq!(op.to_string().to_lowercase().parse(), Ok(op));
        assert_eq!(TaskId::from_bytes(task.as_bytes()), Ok(task));
        assert_eq!(task.is_valid(), task.as_bytes().iter().any(|byte| *byte != 0));
    });
    for length in 0..50 {
        let zeros = vec![0; length];
        assert_eq!(TaskId::from_bytes(&zeros).is_ok(), TaskId::LENGTHS.contains(&length));
        assert!(OpId::from_hex(&zeros).is_err());
    }
    for bad in ["", "0102030", "010203040", "0102030g", "01 02030", "+1020304"] {
        assert!(OpId::from_hex(bad.as_bytes()).is_err(), "{bad}");
        assert!(TaskId::from_hex(bad.as_bytes()).is_err(), "{bad}");
    }
    assert!(!TaskId::from([0; 20]).is_valid());
    assert!(Metadata::new(TaskId::from([0; 8]), OpId::from([1; 8])).validate().is_err());
}

#[test]
fn steps_replace_the_operation_alone() {
    let registry = Registry::standard();
    cases(5_000, |random| {
        let before = metadata(random);
        let Ok(mut valid) = before.clone().validate() else { return };
        let new = op(random);
        let edge = valid.advance(new, EdgeKind::Down, &registry).unwrap();
        assert_eq!(edge.map(|edge| edge.op), Some(before.op_id()).filter(OpId::is_valid));
        assert_eq!((valid.task_id(), valid.op_id()), (before.task_id(), new));
        assert_eq!(valid.as_ref().options_bytes(), before.as_ref().options_bytes());
        assert_eq!(Metadata::parse_bytes(valid.as_bytes()), Ok(valid.clone().into_inner()));
        assert!(valid.advance(OpId::from([0; 8]), EdgeKind::Next, &registry).is_err());
    });
}

#[test]
fn options_follow_their_rules() {
    let hops = |_, payload: &mut ichnos_xtrace::option::Payload| {
        let [hops] = *payload.as_bytes() else { return false };
        payload.set(&[hops - 1]) && hops > 1
    };
    let definitions = [
        Definition { number: 1, name: "here", propagation: Propagation::Drop },
        Definition { number: 2, name: "hops", propagation: Propagation::Replace(hops) },
        Definition { number: 3, name: "everywhere", propagation: Propagation::Copy },
    ];
    let registry = definitions.into_iter().fold(Registry::standard(), |all, one| all.with(one).unwrap());
    let mut metadata = Metadata::parse("10CAFEBABE01020304").unwrap();
    for (number, payload) in [(1, "x"), (2, "\u{2}"), (3, "y"), (9, "unknown"), (1, ""), (2, "wrong")] {
        metadata.push_option(number, payload.as_bytes()).unwrap();
    }
    metadata.push_option(0, &[]).unwrap();
    let mut valid = metadata.validate().unwrap();
    let mut step = || {
        valid.advance(OpId::from([7; 4]), EdgeKind::Next, &registry).unwrap();
        assert_eq!(valid.as_ref().padding(), [0]);
        valid.options().map(|option| (option.number, option.payload.to_vec())).collect::<Vec<_>>()
    };
    assert_eq!(step(), [(2, vec![1]), (3, b"y".to_vec()), (9, b"unknown".to_vec())]);
    assert_eq!(step(), [(3, b"y".to_vec()), (9, b"unknown".to_vec())]);
}

#[test]
fn w3c_keeps_everything_with_its_state() {
    cases(10_000, |random| {
        let Ok(metadata) = metadata(random).validate() else { return };
        let Ok(there) = WithState::from_metadata(&metadata) else {
            let task = metadata.task_id();
            assert!(!metadata.op_id().is_valid() || task.as_bytes().iter().take(16).all(|byte| *byte == 0));
            return;
        };
        assert_eq!(there.parent.to_string().parse(), Ok(there.parent));
        assert_eq!(there.member().is_none(), there.loss_without_state.is_none());
        let mut state = String::new();
        there.write_state(&TraceState::parse("a=1,xtrace=0,b=2").unwrap(), &mut state).unwrap();
        let state = TraceState::parse(&state).unwrap();
        assert_eq!((state.get("a"), state.get("b")), (Some("1"), Some("2")));
        let back = there.parent.to_metadata(&state);
        if there.loss.is_none() {
            assert_eq!(back, metadata);
        } else {
            // Not all options fit.
            assert!(metadata.as_bytes().len() > 128 && there.loss.options, "{}", there.loss);
            assert_eq!((back.task_id(), back.op_id()), (metadata.task_id(), metadata.op_id()));
        }
        let alone = there.parent.to_metadata(&TraceState::default());
        assert_eq!(alone == metadata, there.loss_without_state.is_none());
        // A program in between only knows the traceparent.
        let op: [u8; 8] = random.number().to_be_bytes();
        let parent = TraceParent::new(there.parent.trace_id(), op, there.parent.is_sampled()).unwrap();
        let back = parent.to_metadata(&state);
        assert_eq!(back.task_id(), metadata.task_id());
        assert_eq!(back.op_id().as_bytes(), if op[..4] == [0; 4] { &op[4..] } else { &op });
        // A tracestate from another task has no effect.
        let other = TraceParent::new([9; 16], op, true).unwrap();
        assert_eq!(other.to_metadata(&state), other.to_metadata(&TraceState::default()));
    });
}

#[test]
fn version_2_is_metadata() {
    cases(5_000, |random| {
        let metadata = Version2 {
            task: bytes(random, 20).try_into().unwrap(),
            op: bytes(random, 8).try_into().unwrap(),
            sampled: random.below(2) == 0,
        };
        assert_eq!(metadata.to_string().parse(), Ok(metadata));
        assert_eq!(Version2::parse_bytes(&metadata.to_bytes()), Ok(metadata));
        let version_1 = metadata.to_metadata().unwrap();
        let (back, loss) = Version2::from_metadata(&version_1);
        assert!(loss.is_none(), "{loss}");
        assert_eq!(back, metadata);

        let there = WithState::from_version_2(&metadata).unwrap();
        assert_eq!(there.loss_without_state.task_bytes, 4);
        let mut state = String::new();
        there.write_state(&TraceState::default(), &mut state).unwrap();
        assert!(state.starts_with("sw="), "{state}");
        assert_eq!(there.parent.to_version_2(&TraceState::parse(&state).unwrap()), metadata);
        assert_eq!(there.parent.to_version_2(&TraceState::default()).task[..16], metadata.task[..16]);

        let (version_2, loss) =
            Version2::from_metadata(&crate::support::metadata(random).validate().unwrap());
        assert_eq!(version_2.to_string().len(), 60);
        assert_eq!(loss.to_string() == "nothing", loss.is_none());
    });
}

/// Examples from the vendor's documents and programs.
#[test]
fn recorded_dialects() {
    let text = "2B0123456789ABCDEF0123456789ABCDEF000000007A71B110E5E3588D01";
    let metadata: Version2 = text.parse().unwrap();
    let there = WithState::from_version_2(&metadata).unwrap();
    assert_eq!(there.parent.to_string(), "00-0123456789abcdef0123456789abcdef-7a71b110e5e3588d-01");
    assert!(there.loss_without_state.is_none());
    let mut state = String::new();
    there.write_state(&TraceState::parse("other=1,sw=0000000000000001-00").unwrap(), &mut state).unwrap();
    assert_eq!(state, "sw=7a71b110e5e3588d-01,other=1");
    let state = TraceState::parse(&state).unwrap();
    assert_eq!(ichnos_xtrace::dialect::SwMember::from_state(&state).unwrap().op, metadata.op);
    assert_eq!(there.parent.to_version_2(&state).to_string(), text);
    // In the first version of the vendor's bridge, the task ended differently.
    let older: Version2 = text.replace("00000000", "99998888").parse().unwrap();
    let there = WithState::from_version_2(&older).unwrap();
    assert_eq!((there.loss_without_state.task_bytes, there.loss.task_bytes), (4, 0));

    let unsampled = text.replace("8D01", "8D00").parse::<Version2>().unwrap().to_metadata().unwrap();
    assert_eq!(Severity::from_metadata(unsampled.as_ref()), Ok(Some(Severity::NONE)));
    for bad in ["1B", "", &text[..58], &text.replace("8D01", "8D02"), &text.replace("2B", "2A")] {
        assert!(bad.parse::<Version2>().is_err(), "{bad}");
    }
}
