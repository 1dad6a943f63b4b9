//! A simulated disk that crashes: writes since the last sync are kept, torn or dropped, sector by sector.
//!
//! A changed length is metadata, which file systems journal: the surviving length is one that the file had, and writes
//! beyond it are lost.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// The number of bytes that a disk writes atomically.
const SECTOR: usize = 512;

/// The disk, shared by its clones.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The bytes that survive a crash.
    synced: Vec<u8>,
    /// The current bytes.
    current: Vec<u8>,
    since: Vec<Operation>,
    /// The number of writes, changes of length and syncs that still succeed.
    left: Option<usize>,
    /// The error of all later operations.
    error: Option<io::ErrorKind>,
}

#[derive(Debug)]
enum Operation {
    Write(usize, Vec<u8>),
    SetLength(usize),
}

impl Disk {
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        let state = State {
            synced: bytes.clone(),
            current: bytes,
            ..State::default()
        };
        Self(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets this many operations succeed, and fails all that follow.
    pub(super) fn fail_after(&self, operations: usize, error: io::ErrorKind) {
        let mut state = self.state();
        state.left = Some(operations);
        state.error = Some(error);
    }

    /// Returns the bytes as they are without a crash.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.state().current.clone()
    }

    /// Returns the bytes that remain after a crash.
    pub(super) fn crash(&self, random: &mut fastrand::Rng) -> Vec<u8> {
        let state = self.state();
        let mut bytes = state.synced.clone();
        let mut lengths = vec![bytes.len()];
        // Some disks lose everything, some nothing, most lose something.
        let kept = random.choice([0.0, 0.5, 0.9, 1.0]).unwrap_or_default();
        for operation in &state.since {
            match operation {
                Operation::SetLength(length) => {
                    lengths.push(*length);
                    bytes.resize(bytes.len().max(*length), 0);
                }
                Operation::Write(offset, data) => {
                    bytes.resize(bytes.len().max(offset + data.len()), 0);
                    for (n, sector) in data.chunks(SECTOR).enumerate() {
                        if random.f64() < kept {
                            let at = offset + n * SECTOR;
                            bytes[at..at + sector.len()].copy_from_slice(sector);
                        }
                    }
                }
            }
        }
        let length = random.choice(lengths).unwrap_or_default();
        bytes.resize(length, 0);
        bytes
    }
}

impl State {
    fn pass(&mut self) -> io::Result<()> {
        match &mut self.left {
            Some(0) => Err(self.error.unwrap_or(io::ErrorKind::Other).into()),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        let bytes = state.current.get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.state();
        state.pass()?;
        state.current.resize(length as usize, 0);
        state.since.push(Operation::SetLength(length as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        state.pass()?;
        let State {
            synced, current, since, ..
        } = &mut *state;
        if since
            .iter()
            .any(|operation| matches!(operation, Operation::SetLength(_)))
        {
            synced.clone_from(current);
        }
        for operation in since.drain(..) {
            if let Operation::Write(offset, data) = operation {
                let end = (offset + data.len()).min(current.len());
                synced.resize(current.len(), 0);
                synced[offset..end].copy_from_slice(&current[offset..end]);
            }
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        state.pass()?;
        let offset = offset as usize;
        let end = offset + data.len();
        if end > state.current.len() {
            state.current.resize(end, 0);
        }
        state.current[offset..end].copy_from_slice(data);
        state.since.push(Operation::Write(offset, data.to_vec()));
        Ok(())
    }
}
