use super::*;

fn entry(root: &Path, name: &str, key: &str) -> CacheEntry {
    CacheEntry { root: Some(root.into()), ..CacheEntry::new(name, key.into()) }
}

#[test]
fn the_cache_folder_follows_the_environment() {
    let find = |set: &[(&str, &str)]| {
        let set: Vec<(String, String)> =
            set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        cache_folder_in(|name| set.iter().find(|(k, _)| k == name).map(|(_, v)| v.into()))
    };
    let all = [("PLACEFIELD_CACHE", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")];
    assert_eq!(find(&all), Some("/a".into()));
    assert_eq!(find(&all[1..]), Some("/b/placefield".into()));
    assert_eq!(find(&all[2..]), Some("/c/.cache/placefield".into()));
    assert_eq!(find(&[("PLACEFIELD_CACHE", "")]), None);
}

#[test]
fn entries_read_back_and_damaged_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let entry = entry(&folder.path().join("new"), "kernels", "key");
    let path = entry.path().unwrap();
    assert_eq!(entry.read(), None);
    entry.write(b"machine code");
    assert_eq!(entry.read().as_deref(), Some(&b"machine code"[..]));
    let whole = fs::read(&path).unwrap();
    let cut = whole.len() - 1;
    let flipped: Vec<u8> = (0..whole.len()).map(|k| whole[k] ^ u8::from(k == cut)).collect();
    for damaged in [&whole[..cut], &whole[..20], b"", &flipped, b"not ours"] {
        fs::write(&path, damaged).unwrap();
        assert_eq!(entry.read(), None, "{} bytes", damaged.len());
    }
    entry.write(b"again");
    assert_eq!(entry.read().as_deref(), Some(&b"again"[..]));
    // A file at this path with another key, as if two hashes collided.
    let other = self::entry(&folder.path().join("new"), "kernels", "another key");
    fs::copy(&path, other.path().unwrap()).unwrap();
    assert_eq!(other.read(), None);
}

#[test]
fn a_cache_that_cannot_be_written_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let blocked = entry(&file.join("under"), "kernels", "key");
    blocked.write(b"machine code");
    assert_eq!(blocked.read(), None);
    CacheEntry { root: None, ..blocked }.write(b"machine code");
}

#[test]
fn the_most_recently_used_entries_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let name = |k: u64| folder.path().join(k.to_string());
    let fill = || {
        for k in 0..10 {
            fs::write(name(k), [0; 100]).unwrap();
            // Files with higher numbers were used longer ago.
            let used = SystemTime::now() - Duration::from_secs(3600 * 24 * k);
            fs::File::options().append(true).open(name(k)).unwrap().set_modified(used).unwrap();
        }
    };
    let left = || (0..10).filter(|&k| name(k).exists()).collect::<Vec<_>>();
    fill();
    shrink(folder.path(), 1000, 10).unwrap();
    assert_eq!(left().len(), 10);
    shrink(folder.path(), 350, 10).unwrap();
    assert_eq!(left(), [0, 1, 2]);
    fill();
    renew(&name(9)).unwrap();
    shrink(folder.path(), 1000, 2).unwrap();
    assert_eq!(left(), [0, 9]);
}

#[test]
fn several_writers_and_readers_get_along() {
    let folder = tempfile::tempdir().unwrap();
    let code = vec![7; 100_000];
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let entry = entry(folder.path(), "kernels", "key");
                    entry.write(&code);
                    assert_eq!(entry.read().as_ref(), Some(&code));
                }
            });
        }
    });
    let files = fs::read_dir(folder.path().join(FOLDER)).unwrap().count();
    assert_eq!(files, 1, "and nothing temporary");
}
