//! A reading takes half of the SM's time at most, and does not begin anew for one lost answer.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sa_wire::Lid;
use sa_wire::umad::MAD_SIZE;

use super::fake::{Fake, Site};
use crate::{Ask, AskError, Wants, read};

/// An SA that needs its time, and leaves some questions unanswered.
struct Slow {
    fake: Fake,
    takes: Duration,
    /// Numbers of the questions that get no answer.
    unanswered: Vec<usize>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    questions: usize,
    busy: Duration,
}

impl Ask for Slow {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        let begun = Instant::now();
        std::thread::sleep(self.takes);
        let reply = self.fake.ask(request);
        let mut seen = self.seen.lock().unwrap();
        seen.questions += 1;
        seen.busy += begun.elapsed();
        match self.unanswered.contains(&seen.questions) {
            true => Err(AskError::Unanswered("it sweeps".to_owned())),
            false => reply,
        }
    }

    fn lid(&self) -> Option<Lid> {
        self.fake.lid()
    }

    fn whom(&self) -> String {
        self.fake.whom()
    }
}

fn slow(takes: Duration, unanswered: &[usize]) -> (Slow, Arc<Mutex<Seen>>) {
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let slow = Slow {
        fake: Fake::of(&Site::tree().compiled()),
        takes,
        unanswered: unanswered.to_vec(),
        seen: Arc::clone(&seen),
    };
    (slow, seen)
}

#[test]
fn the_sm_has_half_of_its_time() {
    let (mut slow, seen) = slow(Duration::from_millis(2), &[]);
    let begun = Instant::now();
    read(&mut slow, &Wants::default()).unwrap();
    let (took, busy) = (begun.elapsed(), seen.lock().unwrap().busy);
    assert!(took >= 2 * busy, "{took:?}, of which {busy:?} of the SM's");
}

#[test]
fn a_lost_answer_costs_one_question() {
    let (mut healthy, all) = slow(Duration::ZERO, &[]);
    let whole = read(&mut healthy, &Wants::default()).unwrap();
    // The third, and one among the tables, twice in a row.
    let (mut lossy, some) = slow(Duration::ZERO, &[3, 8, 9]);
    let told = read(&mut lossy, &Wants::default()).unwrap();
    assert!(told == whole);
    let count = |seen: &Mutex<Seen>| seen.lock().unwrap().questions;
    assert_eq!(count(&some), count(&all) + 3);
}

#[test]
fn one_that_stays_silent_is_given_up() {
    let (mut silent, seen) = slow(Duration::ZERO, &[5, 6, 7, 8]);
    let error = read(&mut silent, &Wants::default()).unwrap_err();
    assert_eq!(error.to_string(), "it sweeps");
    assert_eq!(seen.lock().unwrap().questions, 8);
}
