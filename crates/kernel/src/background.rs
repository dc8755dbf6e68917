//! Work that gives way: what is made again beside the live state has time, and those who read and write have not.
//!
//! What must stay true: it runs on threads of its own, since a thread that stepped back may not step forward again.

use crate::error::{Error, Result, StorageFailure};

/// How far the threads step back: next to somebody who wants to work they get some fiftieth of a processor, and all of
/// it next to nobody.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 15;

/// Does some work on a thread that gives way to others, as do those that it starts, and waits for it.
pub(crate) fn in_background<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("background".to_owned());
        let started = thread.spawn_scoped(scope, || {
            give_way();
            work()
        });
        let failed =
            |error: std::io::Error| Error::Storage(StorageFailure::new(error.to_string(), error));
        // What panicked has left nothing that anybody sees.
        started.map_err(failed)?.join().map_err(|_| Error::Poisoned)?
    })
}

/// Elsewhere a priority is that of the whole process.
fn give_way() {
    #[cfg(target_os = "linux")]
    {
        // Without leave it works as everybody does.
        let _ = rustix::process::setpriority_process(None, NICENESS);
    }
}
