//! The ring of calls.

use super::*;

#[test]
fn a_sample_names_its_call() {
    let words: Vec<u64> = match REGISTERS.len() {
        1 => vec![7 | 8 << 32, 42, 2, 1, 8, 0x1234, 8],
        _ => vec![7 | 8 << 32, 42, 2, 1, 0x1234, 8, 0, 8],
    };
    let body: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut observed = Vec::new();
    each_sample(&body, &BTreeMap::from([(42, 3)]), &mut |call| observed.push(call));
    assert_eq!(observed, [Call { place: 3, pid: 7, argument: 1, caller: 0x1234 }]);
    // Cut short, or of an event that nobody knows.
    observed.clear();
    each_sample(&body[..body.len().min(24)], &BTreeMap::from([(42, 3)]), &mut |call| observed.push(call));
    each_sample(&body, &BTreeMap::new(), &mut |call| observed.push(call));
    assert_eq!(observed, []);
}
