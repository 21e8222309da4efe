//! A pad made up of lines of text: for tests, and for those who have none at hand.
//!
//! ```text
//! # seconds   what
//! 0.0   find
//! 0.5   axis LeftStickY 0.8
//! 2.0   press DPadUp
//! 2.5   release DPadUp
//! 3.0   lose
//! 4.0   end
//! ```

use std::{collections::VecDeque, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use serde::{
    Deserialize,
    de::value::{Error, StrDeserializer},
};

use crate::pad::{Backend, Event};

/// The most lines that are read.
const MAX_LINES: usize = 1_000_000;

/// Events and when they happen.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    events: VecDeque<(Duration, Event)>,
}

impl Script {
    /// Reads a script. `name` is its name in messages. A gamepad is connected from the start, unless a line connects
    /// one, and after the last line the drive ends.
    ///
    /// # Errors
    /// A line is invalid, or earlier than the one before; the text names the line.
    pub fn read(name: &str, text: &str) -> Result<Self> {
        let mut events = VecDeque::new();
        let mut last = Duration::ZERO;
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            ensure!(events.len() < MAX_LINES, "{name}: a script has at most {MAX_LINES} lines");
            let (time, event) = read_line(line).with_context(|| format!("{name}:{}: '{line}'", index + 1))?;
            ensure!(time >= last, "{name}:{}: '{line}': the line before is later", index + 1);
            last = time;
            events.push_back((time, event));
        }
        ensure!(!events.is_empty(), "{name}: there is nothing to do");
        if !events.iter().any(|(_, event)| matches!(event, Event::Found(_))) {
            events.push_front((Duration::ZERO, Event::Found("script".into())));
        }
        if events.back().is_none_or(|(_, event)| *event != Event::End) {
            events.push_back((last, Event::End));
        }
        Ok(Self { events })
    }
}

impl Backend for Script {
    fn poll(&mut self, now: Duration, events: &mut Vec<Event>) -> Result<()> {
        while let Some((_, event)) = self.events.pop_front_if(|(time, _)| *time <= now) {
            events.push(event);
        }
        Ok(())
    }
}

fn read_line(line: &str) -> Result<(Duration, Event)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let seconds: f64 = words[0].parse().context("expected seconds first")?;
    ensure!((0.0..=1e6).contains(&seconds), "expected 0 to 1e6 seconds");
    let event = match words[1..] {
        ["find"] => Event::Found("script".into()),
        ["lose"] => Event::Lost,
        ["end"] => Event::End,
        ["press", button] => Event::Button(named(button)?, true),
        ["release", button] => Event::Button(named(button)?, false),
        ["axis", axis, value] => {
            let value: f64 = value.parse().context("expected a number behind the axis")?;
            ensure!((-1.0..=1.0).contains(&value), "an axis goes from -1 to 1");
            Event::Axis(named(axis)?, value)
        }
        _ => bail!("expected find, lose, end, press BUTTON, release BUTTON or axis AXIS VALUE behind the seconds"),
    };
    Ok((Duration::from_secs_f64(seconds), event))
}

/// An axis or a button by its name; the error of an unknown name lists them all.
fn named<'de, T: Deserialize<'de>>(name: &'de str) -> Result<T> {
    Ok(T::deserialize(StrDeserializer::<Error>::new(name))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pad::{Axis, Button};

    #[test]
    fn events_come_when_their_time_has_come_and_an_end_after_the_last() {
        let mut script = Script::read("s", "# a turn\n0.5 axis LeftStickX -1 # left\n\n1 press South\n").unwrap();
        let mut poll = |milliseconds| {
            let mut events = Vec::new();
            script.poll(Duration::from_millis(milliseconds), &mut events).unwrap();
            events
        };
        assert_eq!(poll(0), [Event::Found("script".into())]);
        assert_eq!(poll(499), []);
        assert_eq!(poll(600), [Event::Axis(Axis::LeftStickX, -1.0)]);
        assert_eq!(poll(5000), [Event::Button(Button::South, true), Event::End]);
    }

    #[test]
    fn a_wrong_line_is_told_with_its_number() {
        let wrong = |text| format!("{:#}", Script::read("s", text).unwrap_err());
        assert_eq!(wrong("0 find\n1 axis LeftStickY 2"), "s:2: '1 axis LeftStickY 2': an axis goes from -1 to 1");
        assert!(wrong("1 press Sout").contains("unknown variant `Sout`, expected one of `South`"));
        assert!(wrong("1 press South\n0.5 release South").ends_with("the line before is later"));
        assert!(wrong("soon lose").contains("expected seconds first"));
        assert!(wrong("1 jump").contains("expected find, lose, end"));
        assert!(wrong("").contains("nothing to do"));
    }
}
