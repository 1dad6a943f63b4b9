//! The account of a stream.

/// Returns the shard of a stream among `shards`, such as accounts: from 0.
///
/// One more shard takes its share of the streams from all others, and no stream moves between those.
///
/// Source: J. Lamping, E. Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm" (2014).
///
/// # Panics
/// `shards` is 0.
pub fn shard(stream: &str, shards: u32) -> u32 {
    assert!(shards > 0, "a stream needs a shard");
    let mut state = hash(stream);
    let (mut shard, mut next) = (0, 0);
    while next < u64::from(shards) {
        shard = next;
        state = state.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        // (shard + 1) / r for a random r in (0, 1], in steps of 2^-31
        next = ((shard + 1) << 31) / ((state >> 33) + 1);
    }
    shard as u32
}

/// Returns the same number in every version of this program: FNV-1a, and a mixer since its low bits are weak.
fn hash(text: &str) -> u64 {
    let fnv = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}
