//! Which user of this machine is at the other end of a connection, where the system tells (Linux, loopback).
//!
//! Nobody is let in for this: a program of the owner that may not read the owner's files has the same user id. It takes
//! away only. Browsers send the cookies of a host to all of its ports, so a server of another user that the owner calls
//! gets to see ours; shown by that user, it must be worth nothing. What must stay true: a connection that is not
//! found, or has no owner any more, counts as another user's.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::OnceLock;

/// The tables of connections, for both families. A socket of the newer one may reach an address of the older.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// The user who can read everything anyway, and under whom forwarders run.
const ROOT: u32 = 0;

/// Both ends of one connection.
#[derive(Debug)]
pub(super) struct Peer {
    near: SocketAddr,
    far: SocketAddr,
    may_show_cookies: OnceLock<bool>,
}

impl Peer {
    pub(super) fn new(near: SocketAddr, far: SocketAddr) -> Peer {
        Peer { near, far, may_show_cookies: OnceLock::new() }
    }

    /// The address of this machine that the other end reached.
    pub(super) fn near_ip(&self) -> IpAddr {
        self.near.ip().to_canonical()
    }

    /// Does a cookie count that comes over this connection? Looked up once: a connection stays with its user.
    pub(super) fn may_show_cookies(&self) -> bool {
        *self.may_show_cookies.get_or_init(|| {
            if !cfg!(target_os = "linux") || !is_loopback(self.far.ip()) {
                return true;
            }
            let tables = TABLES.iter().filter_map(|path| std::fs::read_to_string(path).ok());
            let users: Vec<u32> =
                tables.filter_map(|text| owner_in(&text, self.far, self.near)).collect();
            let own = rustix::process::geteuid().as_raw();
            !users.is_empty() && users.iter().all(|user| *user == own || *user == ROOT)
        })
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// The user of the socket that is `from` one address `to` another; `None` if there is none that a process holds.
fn owner_in(table: &str, from: SocketAddr, to: SocketAddr) -> Option<u32> {
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (local, remote) = (address(words.get(1)?)?, address(words.get(2)?)?);
        let same = |found: (IpAddr, u16), wanted: SocketAddr| {
            found == (wanted.ip().to_canonical(), wanted.port())
        };
        if !same(local, from) || !same(remote, to) {
            return None;
        }
        // A socket that was closed has no inode, and is said to be root's.
        let inode: u64 = words.get(9)?.parse().ok()?;
        if inode == 0 { None } else { words.get(7)?.parse().ok() }
    })
}

/// An address as the table writes it: 32-bit words in the byte order of the machine, in hexadecimal, and the port.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::new();
    for start in (0..ip.len()).step_by(8) {
        let word = u32::from_str_radix(ip.get(start..start + 8)?, 16).ok()?;
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
        _ => return None,
    };
    Some((ip.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n";

    #[cfg(target_endian = "little")]
    #[test]
    fn the_other_end_is_found_in_both_families_and_only_while_a_process_holds_it() {
        let far = "127.0.0.1:43690".parse().unwrap();
        let near = "127.0.0.1:7438".parse().unwrap();
        let line = |local: &str, remote: &str, user: u32, inode: u32| {
            format!(
                "{HEAD}   1: {local} {remote} 01 00000000:00000000 00:00000000 00000000  {user}        0 {inode} 1\n"
            )
        };
        let v4 = ("0100007F:AAAA", "0100007F:1D0E");
        assert_eq!(owner_in(&line(v4.0, v4.1, 1000, 77), far, near), Some(1000));
        assert_eq!(owner_in(&line(v4.1, v4.0, 1000, 77), far, near), None, "that is our own end");
        assert_eq!(owner_in(&line(v4.0, v4.1, 0, 0), far, near), None, "it was closed");
        let mapped = |port: &str| format!("0000000000000000FFFF00000100007F:{port}");
        let text = line(&mapped("AAAA"), &mapped("1D0E"), 1001, 78);
        assert_eq!(owner_in(&text, far, near), Some(1001));
        let (far, near) = ("[::1]:43690".parse().unwrap(), "[::1]:7438".parse().unwrap());
        let six = |port: &str| format!("00000000000000000000000001000000:{port}");
        assert_eq!(owner_in(&line(&six("AAAA"), &six("1D0E"), 5, 9), far, near), Some(5));
        for wrong in ["", "x\ny", "a b c d e f g h i j\n1: 0100007F:AAAA 0100007F 01"] {
            assert_eq!(owner_in(wrong, far, near), None, "{wrong}");
        }
    }

    #[test]
    fn our_own_connection_may_show_cookies() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, far) = listener.accept().unwrap();
        let peer = Peer::new(accepted.local_addr().unwrap(), far);
        assert!(peer.may_show_cookies());
        drop(stream);
        if cfg!(target_os = "linux") {
            let nobody = Peer::new(accepted.local_addr().unwrap(), "127.0.0.1:1".parse().unwrap());
            assert!(!nobody.may_show_cookies(), "a connection that is not there");
        }
    }
}
