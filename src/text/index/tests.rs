use super::*;

fn names(list: impl IntoIterator<Item = String>) -> Names {
    let mut names = Names::default();
    list.into_iter().for_each(|n| names.push(&n));
    names
}

#[test]
fn every_name_is_found_and_no_other() {
    let names = names((0..100_000).map(|i| format!("o{}", i * 7)));
    let index = NameIndex::new(&names);
    assert!(!index.has_repeats());
    for i in 0..100_000 {
        assert_eq!(index.find(names.get(i).as_bytes()), Some(i as u32));
    }
    for other in ["", "o", "o1", "o700000", "O0", "o0 "] {
        assert_eq!(index.find(other.as_bytes()), None, "{other}");
    }
    let mut all: Vec<Key> = (0..100_000).rev().map(|i| Key::new(names.get(i).as_bytes())).collect();
    let mut found = Vec::new();
    assert_eq!(index.find_all(&all, &mut found), Ok(()));
    assert!(found.into_iter().rev().eq(0..100_000));
    for (other, at) in [("o1", 777), ("", 130), ("o70000o", 1)] {
        all[at] = Key::new(other.as_bytes());
        assert_eq!(index.find_all(&all, &mut Vec::new()), Err(at));
    }
}

#[test]
fn of_equal_names_the_first_is_found() {
    let names = names((0..60_000).map(|i| format!("n{}", i % 20_000)));
    let index = NameIndex::new(&names);
    assert!(index.has_repeats());
    assert!((0..20_000).all(|i| index.find(format!("n{i}").as_bytes()) == Some(i)));
}

#[test]
fn empty_names_are_left_out() {
    let names = names([String::new(), "a".into(), String::new()]);
    let index = NameIndex::new(&names);
    assert_eq!((index.find(b""), index.find(b"a")), (None, Some(1)));
    assert!(!index.has_repeats());
    assert_eq!(NameIndex::new(&Names::default()).find(b"a"), None);
}

#[test]
fn names_of_any_length_differ_by_any_byte() {
    for length in 1..40_usize {
        let name: String = (b'a'..).take(length).map(char::from).collect();
        let held = names([name.clone()]);
        let index = NameIndex::new(&held);
        let key = Key::new(name.as_bytes());
        if length <= WIDE {
            let text = [name.as_bytes(), b" and what follows it"].concat();
            let wide = Key::at(&text, length, text.first_chunk().unwrap());
            let of = |key: &Key| (key.head, key.tail, key.hash);
            assert_eq!((wide.name, of(&wide)), (name.as_bytes(), of(&key)));
        }
        for at in 0..length {
            let mut other = name.clone().into_bytes();
            other[at] ^= 1;
            assert_eq!(index.find(&other), None, "{length} {at}");
            assert_ne!(Key::new(&other).hash, key.hash, "{length} {at}");
        }
        for other in [&name[1..], &format!("{name}a"), &format!("{name}\0")] {
            assert_eq!(index.find(other.as_bytes()), None, "{other}");
        }
    }
}

#[test]
fn names_are_found_in_their_scope_alone() {
    let pins = ["A", "Y", "A", "a pin of a long name", "a pin of a long name", "A"];
    let pins = names(pins.map(str::to_owned));
    let index = NameIndex::scoped(&pins, vec![0, 0, 1, 1, 2, 1]);
    let find = |scope, name: &[u8]| index.find_in(scope, &Key::new(name));
    assert_eq!([0, 1, 2].map(|scope| find(scope, b"A")), [Some(0), Some(2), None]);
    let long = [0, 1, 2].map(|scope| find(scope, b"a pin of a long name"));
    assert_eq!(long, [None, Some(3), Some(4)]);
    assert!(index.has_repeats());
}

#[test]
fn hashes_of_like_names_spread() {
    let mut high: Vec<u64> =
        (0..65_536).map(|i| Key::new(format!("o{i}").as_bytes()).hash).collect();
    high.iter_mut().for_each(|h| *h >>= 48);
    high.sort_unstable();
    high.dedup();
    // A random function of 65536 keys into as many slots hits 1 - 1/e of them.
    assert!((40_000..43_000).contains(&high.len()), "{}", high.len());
}
