//! The choices of a history: the same program runs one history, all histories in order, or random ones.

use fastrand::Rng;

/// The choices of one history, in the order in which the history made them. 0 is the most ordinary alternative.
#[derive(Debug, Default)]
pub(super) struct Choices {
    /// Each with the number of its alternatives.
    taken: Vec<(u8, u8)>,
    next: usize,
    /// Draws the choices after `taken`; without it they are 0.
    random: Option<Rng>,
}

impl Choices {
    /// Creates random choices.
    pub(super) fn random(seed: u64) -> Self {
        let random = Some(Rng::with_seed(seed));
        Self {
            random,
            ..Self::default()
        }
    }

    /// Creates choices that begin with these.
    pub(super) fn of(taken: &[u8]) -> Self {
        let taken = taken.iter().map(|choice| (*choice, u8::MAX)).collect();
        Self {
            taken,
            ..Self::default()
        }
    }

    /// Returns one of the first `of` numbers.
    pub(super) fn choose(&mut self, of: usize) -> usize {
        self.draw(of, |random, of| random.u8(..of))
    }

    /// Returns one of the first `of` numbers; random choices are 0 in four of five cases.
    pub(super) fn choose_rare(&mut self, of: usize) -> usize {
        let rare = |random: &mut Rng, of| {
            if random.u8(..5) == 0 { random.u8(..of) } else { 0 }
        };
        self.draw(of, rare)
    }

    fn draw(&mut self, of: usize, draw: impl FnOnce(&mut Rng, u8) -> u8) -> usize {
        let of = u8::try_from(of).unwrap();
        if of < 2 {
            return 0;
        }
        let chosen = match self.taken.get(self.next) {
            Some((chosen, _)) => (*chosen).min(of - 1),
            None => self.random.as_mut().map_or(0, |random| draw(random, of)),
        };
        match self.taken.get_mut(self.next) {
            Some(taken) => *taken = (chosen, of),
            None => self.taken.push((chosen, of)),
        }
        self.next += 1;
        usize::from(chosen)
    }

    /// Returns the choices of the next history in order, or `None` after the last.
    pub(super) fn following(mut self) -> Option<Self> {
        self.taken.truncate(self.next);
        while let Some((chosen, of)) = self.taken.pop() {
            if chosen + 1 < of {
                self.taken.push((chosen + 1, of));
                self.next = 0;
                return Some(self);
            }
        }
        None
    }

    /// Returns the choices that the history made.
    pub(super) fn taken(&self) -> Vec<u8> {
        let made = self.taken.get(..self.next).unwrap_or(&self.taken);
        made.iter().map(|(choice, _)| *choice).collect()
    }
}

/// Returns the simplest choices for which `fails` still returns `true`.
pub(super) fn simplest(mut failing: Vec<u8>, mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    'simplified: loop {
        for at in 0..failing.len() {
            for value in 0..failing[at] {
                let mut simpler = failing.clone();
                simpler[at] = value;
                if fails(&simpler) {
                    failing = simpler;
                    continue 'simplified;
                }
            }
        }
        return failing;
    }
}
