//! The hash FNV-1a: the same in every process and every build, so it may be stored. An attacker can choose inputs that
//! collide.
//!
//! Source: Fowler, Noll, Vo, "FNV hash", the 64-bit parameters.

/// The hash of no bytes.
pub const START: u64 = 0xcbf2_9ce4_8422_2325;

/// Adds a byte to a hash.
pub const fn add(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3)
}
