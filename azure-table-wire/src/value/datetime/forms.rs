//! The forms of a time that the service accepts beyond RFC 3339: without seconds, without a zone, a date alone.
//!
//! It adds the missing parts: midnight, second 0, UTC. `datetime.rs` reads the completed text.
//!
//! Source: REST "Formatting DateTime values"; recordings of azure-data-tables, `entity_with_edmtypes` of both services
//! (2024 and 2026), where `2008-07-10T00:00:00` reads back as UTC.

/// The length of a date.
const DATE: usize = "2026-01-02".len();
/// The length of a time of day without seconds, with the letter before it.
const MINUTES: usize = "T03:04".len();

/// Completes the text to RFC 3339. Returns `None` if no date or no time of day begins where it should.
pub(super) fn completed(text: &str) -> Option<String> {
    let (date, rest) = text.split_at_checked(DATE)?;
    if rest.is_empty() {
        return Some(format!("{date}T00:00:00Z"));
    }
    if !rest.starts_with(['T', 't']) {
        return None;
    }
    let zone = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone);
    let seconds = if time.len() == MINUTES { ":00" } else { "" };
    let zone = if zone.is_empty() { "Z" } else { zone };
    Some(format!("{date}{time}{seconds}{zone}"))
}
