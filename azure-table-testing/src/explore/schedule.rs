//! The choices of a run as text, and a run with the choices of such a text.
//!
//! Defines [`Schedule`]. `a*2 b:lost a` chooses two requests of the client `a`, then one of `b` that never arrives,
//! then one of `a`. `b:unanswered` loses the response, and `b:late` is a write of `b` that arrives after its
//! connection broke or its future was dropped. At `b:crash` the process `b` crashes with its request in flight, at
//! `b:crash-after` once the service has executed it, and at `b:crash-waiting` while it waits for a timer. `clock`
//! advances the clock, and `b.2` is the second of the waiting requests of `b`.

use std::fmt;
use std::str::FromStr;

use crate::explore::event::{Choice, Event, RequestOutcome, Step, Waiting, WaitingKind};
use crate::explore::gate::{Chooser, End};

/// The choices of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule(Vec<ScheduledChoice>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum ScheduledChoice {
    Clock,
    Request {
        client: String,
        /// The position among the waiting requests of the client, oldest first.
        place: usize,
        fate: Fate,
    },
}

/// The fate of a scheduled request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InTime(RequestOutcome),
    Late,
    Death,
}

impl Fate {
    const ALL: [Self; 7] = [
        Self::InTime(RequestOutcome::Delivered),
        Self::InTime(RequestOutcome::RequestLost),
        Self::InTime(RequestOutcome::ResponseLost),
        Self::InTime(RequestOutcome::Crash),
        Self::InTime(RequestOutcome::CrashAfter),
        Self::Late,
        Self::Death,
    ];

    /// Returns the word after the client's name.
    fn word(self) -> &'static str {
        match self {
            Self::InTime(RequestOutcome::Delivered) => "",
            Self::InTime(RequestOutcome::RequestLost) => "lost",
            Self::InTime(RequestOutcome::ResponseLost) => "unanswered",
            Self::InTime(RequestOutcome::Crash) => "crash",
            Self::InTime(RequestOutcome::CrashAfter) => "crash-after",
            Self::Late => "late",
            Self::Death => "crash-waiting",
        }
    }

    /// Returns the kind and the outcome of what is chosen.
    fn parts(self) -> (WaitingKind, RequestOutcome) {
        match self {
            Self::InTime(outcome) => (WaitingKind::Request, outcome),
            Self::Late => (WaitingKind::Late, RequestOutcome::Delivered),
            Self::Death => (WaitingKind::Death, RequestOutcome::Crash),
        }
    }
}

impl Schedule {
    /// Returns the choices of a run.
    pub fn of(events: &[Event]) -> Self {
        let turn = |event: &Event| match &event.choice.step {
            Step::Clock => ScheduledChoice::Clock,
            step @ (Step::Request(id) | Step::Late(id) | Step::Death(id)) => ScheduledChoice::Request {
                client: id.client.to_string(),
                place: event.place,
                fate: match step {
                    Step::Late(_) => Fate::Late,
                    Step::Death(_) => Fate::Death,
                    _ => Fate::InTime(event.choice.outcome),
                },
            },
        };
        Self(events.iter().map(turn).collect())
    }
}

/// Chooses by a schedule; after its end, the oldest request that is not late.
#[derive(Debug)]
pub struct Replayed(pub(crate) Schedule);

impl Chooser for Replayed {
    fn choose(&mut self, waiting: &[Waiting], events: &[Event]) -> Result<Choice, End> {
        let choice = match self.0.0.get(events.len()) {
            None => waiting
                .iter()
                .find(|waiting| waiting.is_request())
                .map(|waiting| Choice::of(waiting, RequestOutcome::Delivered)),
            Some(ScheduledChoice::Clock) => Some(Choice::clock()),
            Some(ScheduledChoice::Request { client, place, fate }) => {
                let (kind, outcome) = fate.parts();
                let is_meant = |waiting: &&Waiting| *waiting.id.client == **client && waiting.kind == kind;
                let waiting = waiting.iter().filter(is_meant).nth(*place);
                waiting.map(|waiting| Choice::of(waiting, outcome))
            }
        };
        choice.ok_or_else(|| {
            let waiting: Vec<String> = waiting.iter().map(|waiting| format!("`{waiting}`")).collect();
            let wanted = self.0.0.get(events.len()).map(ToString::to_string);
            End::NoSuchRequest(format!(
                "step {} is `{}`, and these wait: {}",
                events.len() + 1,
                wanted.unwrap_or_default(),
                waiting.join(", ")
            ))
        })
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, equal) in self.0.chunk_by(PartialEq::eq).enumerate() {
            let space = if number == 0 { "" } else { " " };
            let count = match equal.len() {
                1 => String::new(),
                count => format!("*{count}"),
            };
            write!(f, "{space}{}{count}", equal[0])?;
        }
        Ok(())
    }
}

impl fmt::Display for ScheduledChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Request { client, place, fate } = self else {
            return f.write_str("clock");
        };
        f.write_str(client)?;
        if *place > 0 {
            write!(f, ".{}", place + 1)?;
        }
        match fate.word() {
            "" => Ok(()),
            word => write!(f, ":{word}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut schedule = Self::default();
        for word in text.split_whitespace() {
            let (turn, count) = word.split_once('*').unwrap_or((word, "1"));
            let count: usize = count
                .parse()
                .map_err(|_| format!("`{word}`: `{count}` is not a number"))?;
            let turn = turn.parse().map_err(|why| format!("`{word}`: {why}"))?;
            schedule.0.extend(std::iter::repeat_n(turn, count));
        }
        Ok(schedule)
    }
}

impl FromStr for ScheduledChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "clock" {
            return Ok(Self::Clock);
        }
        let (text, word) = text.split_once(':').unwrap_or((text, ""));
        let fate = Fate::ALL.into_iter().find(|fate| fate.word() == word).ok_or_else(|| {
            let words = Fate::ALL[1..].iter().map(|fate| format!("`{}`", fate.word()));
            let words = words.collect::<Vec<_>>().join(", ");
            format!("a request is one of {words}, not `{word}`")
        })?;
        let (client, place) = match text.split_once('.') {
            None => (text, 1),
            Some((client, place)) => (client, place.parse().map_err(|_| format!("`{place}` is not a number"))?),
        };
        Ok(Self::Request {
            client: client.to_owned(),
            place: usize::checked_sub(place, 1).ok_or("the first request is 1")?,
            fate,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedule_is_parsed_from_its_text() {
        for text in [
            "",
            "main*3 a b a",
            "a:lost a b.2:unanswered clock*2 b:late main",
            "a a:crash b:crash-after a:crash-waiting a",
        ] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
        assert_eq!("a  a\nb".parse::<Schedule>().unwrap().to_string(), "a*2 b");
        let fault = |text: &str| text.parse::<Schedule>().unwrap_err();
        assert_eq!(
            fault("a b:gone"),
            "`b:gone`: a request is one of `lost`, `unanswered`, `crash`, `crash-after`, `late`, `crash-waiting`, \
             not `gone`"
        );
        assert_eq!(fault("a*x"), "`a*x`: `x` is not a number");
        assert_eq!(fault("a.0"), "`a.0`: the first request is 1");
    }
}
