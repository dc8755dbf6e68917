//! A proxy between nodes and the database that cuts a connection after so many bytes of the server's answers, or all of
//! them at once, and can be pointed at another server.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct State {
    to: AtomicU16,
    /// Bytes from the server that still go through before one connection is cut; negative: no cut is wanted.
    until_cut: AtomicI64,
    cuts: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    state: Arc<State>,
    pub(crate) port: u16,
}

impl Proxy {
    pub(crate) fn start(to: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            to: AtomicU16::new(to),
            until_cut: AtomicI64::new(-1),
            ..State::default()
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || attend(&state, client));
            }
        });
        Proxy { state, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://cortex@127.0.0.1:{}/cortex?sslmode=disable", self.port)
    }

    /// Cuts the connection on which the server's answer reaches this many more bytes.
    pub(crate) fn cut_after(&self, bytes: i64) {
        self.state.until_cut.store(bytes, Ordering::SeqCst);
    }

    pub(crate) fn cuts(&self) -> u64 {
        self.state.cuts.load(Ordering::SeqCst)
    }

    /// Cuts every connection now.
    pub(crate) fn cut_all(&self) {
        for stream in self.state.open.lock().unwrap().drain(..) {
            // One that is gone already is fine.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Where it leads.
    pub(crate) fn target(&self) -> u16 {
        self.state.to.load(Ordering::SeqCst)
    }

    /// From now on leads to another server.
    pub(crate) fn point_at(&self, port: u16) {
        self.state.to.store(port, Ordering::SeqCst);
        self.cut_all();
    }
}

fn attend(state: &Arc<State>, client: TcpStream) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", state.to.load(Ordering::SeqCst))) else {
        return;
    };
    let (Ok(from_client), Ok(to_client)) = (client.try_clone(), client.try_clone()) else { return };
    let (Ok(from_server), Ok(to_server)) = (server.try_clone(), server.try_clone()) else { return };
    {
        let mut open = state.open.lock().unwrap();
        open.push(client);
        open.push(server);
    }
    std::thread::spawn(move || copy(from_client, to_server, |_| true));
    let state = Arc::clone(state);
    copy(from_server, to_client, |bytes| {
        let left = state.until_cut.load(Ordering::SeqCst);
        if left < 0 {
            return true;
        }
        let left = left - i64::try_from(bytes).unwrap();
        state.until_cut.store(left.max(-1), Ordering::SeqCst);
        if left < 0 {
            state.cuts.fetch_add(1, Ordering::SeqCst);
        }
        left >= 0
    });
}

/// Copies until the end, or until `goes_on` says no, which comes before the bytes are passed on.
fn copy(mut from: TcpStream, mut to: TcpStream, goes_on: impl Fn(usize) -> bool) {
    let mut bytes = [0; 4_096];
    while let Ok(count) = from.read(&mut bytes) {
        if count == 0 || !goes_on(count) || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // Either may be gone already.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
