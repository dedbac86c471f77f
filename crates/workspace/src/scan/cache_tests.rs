use super::*;

fn one() -> Vec<u8> {
    let mut bytes = HEADER.to_vec();
    bytes.extend(boot_id());
    bytes.extend([7; 44]);
    bytes.extend([9; 20]);
    bytes.extend(3u32.to_le_bytes());
    bytes.extend(b"a/b");
    let checksum = Sha1::digest(&bytes);
    bytes.extend(checksum);
    bytes
}

#[test]
fn a_record_comes_back_for_its_very_stamp_only() {
    let known = parse(one()).unwrap();
    let seven = u64::from_le_bytes([7; 8]);
    let stamp = Stamp {
        device: seven,
        inode: seven,
        mode: u32::from_le_bytes([7; 4]),
        size: seven,
        modified: seven as i64,
        changed: seven as i64,
    };
    assert_eq!(known.find(b"a/b", &stamp), Some(Id([9; 20])));
    assert_eq!(known.find(b"a/b", &Stamp { changed: 0, ..stamp }), None);
    assert_eq!(known.find(b"a", &stamp), None);
}

#[test]
fn a_broken_cache_counts_as_none() {
    let whole = one();
    for cut in 0..whole.len() {
        assert!(parse(whole[..cut].to_vec()).is_none(), "{cut}");
    }
    for at in 0..whole.len() {
        let mut other = whole.clone();
        other[at] ^= 1;
        assert!(parse(other).is_none(), "{at}");
    }
}
