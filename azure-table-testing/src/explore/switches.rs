//! Every order with few switches between tasks, to shorten a failed run.
//!
//! Defines [`FewSwitches`]. It prunes nothing. So if it runs with a growing bound, the first failure has the fewest
//! switches.

use crate::explore::event::{Choice, Event, Waiting};
use crate::explore::gate::{Chooser, End};
use crate::explore::tree::Allowance;

/// Chooses depth first among the orders within the bounds.
#[derive(Debug)]
pub struct FewSwitches {
    nodes: Vec<Node>,
    first: Left,
}

#[derive(Debug)]
struct Node {
    /// The untried choices, the chosen one last; `true` if a choice leaves a task that could continue.
    choices: Vec<(Choice, bool)>,
    left: Left,
}

/// The remaining allowance before a choice.
#[derive(Clone, Copy, Debug)]
struct Left {
    allowance: Allowance,
    switches: usize,
}

impl FewSwitches {
    pub fn new(allowance: Allowance, switches: usize) -> Self {
        Self {
            nodes: Vec::new(),
            first: Left { allowance, switches },
        }
    }

    /// Moves to the next run. Returns `false` after the last.
    pub fn advance(&mut self) -> bool {
        while let Some(node) = self.nodes.last_mut() {
            node.choices.pop();
            if !node.choices.is_empty() {
                return true;
            }
            self.nodes.pop();
        }
        false
    }
}

impl Chooser for FewSwitches {
    fn choose(&mut self, waiting: &[Waiting], events: &[Event]) -> Result<Choice, End> {
        if events.len() == self.nodes.len() {
            let left = self.nodes.last().map_or(self.first, Node::left_after);
            self.nodes.push(Node {
                choices: choices(waiting, events, left),
                left,
            });
        }
        let choice = self.nodes.get(events.len()).and_then(|node| node.choices.last());
        choice.map(|(choice, _)| choice.clone()).ok_or(End::Pruned)
    }
}

impl Node {
    fn left_after(&self) -> Left {
        let mut left = self.left;
        if let Some((choice, is_switch)) = self.choices.last() {
            left.allowance = left.allowance.after(choice);
            left.switches -= usize::from(*is_switch);
        }
        left
    }
}

/// Returns all possible choices in reverse: the last one is tried first.
fn choices(waiting: &[Waiting], events: &[Event], left: Left) -> Vec<(Choice, bool)> {
    let last = events.last().and_then(Event::client);
    let could_go_on = waiting
        .iter()
        .any(|waiting| waiting.is_request() && last == Some(&waiting.id.client));
    let mut choices = Vec::new();
    if left.allowance.clock > 0 {
        choices.push((Choice::clock(), false));
    }
    for waiting in waiting.iter().rev() {
        let is_switch = waiting.is_request() && could_go_on && last != Some(&waiting.id.client);
        if is_switch && left.switches == 0 {
            continue;
        }
        let outcomes = left.allowance.outcomes(waiting);
        choices.extend(
            outcomes
                .into_iter()
                .map(|outcome| (Choice::of(waiting, outcome), is_switch)),
        );
    }
    choices
}
