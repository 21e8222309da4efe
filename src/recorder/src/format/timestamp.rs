//! Calendar time in the format of a run's row. This is the only code that reads the calendar clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The present time, UTC, ISO 8601 with milliseconds.
pub(crate) fn now() -> String {
    before_now(Duration::ZERO)
}

/// The time `ago` before now, in the format of [`now`].
#[allow(clippy::disallowed_methods, reason = "this is where calendar time is stamped")]
pub(crate) fn before_now(ago: Duration) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format_iso_8601(since.saturating_sub(ago).as_millis() as u64)
}

/// Formats a time in milliseconds since 1970 by the Gregorian calendar. Days are counted from 1 March of the year 0,
/// which puts the leap day at the end of the year. 400 years have 146 097 days, and five months have 153 days.
fn format_iso_8601(milliseconds: u64) -> String {
    let (days, rest) = (milliseconds / 86_400_000 + 719_468, milliseconds % 86_400_000);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year_of_era + carry;
    let (seconds, milliseconds) = (rest / 1000, rest % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_leap_years_are_where_they_belong() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (1_709_251_200, "2024-03-01T00:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (1_767_225_599, "2025-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(format_iso_8601(seconds * 1000), text);
        }
    }
}
