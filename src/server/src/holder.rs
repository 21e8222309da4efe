//! The process that holds a port. Linux shows it in `/proc`; on other systems it is unknown.

/// Longest command line that is shown, in characters.
#[cfg(target_os = "linux")]
const MAX_COMMAND_CHARS: usize = 100;

/// A phrase for users that names the process which holds a port of this machine; `None` if it is unknown.
#[cfg(target_os = "linux")]
pub(super) fn describe_holder(port: u16) -> Option<String> {
    let sockets = ["/proc/net/tcp", "/proc/net/tcp6"].map(|file| std::fs::read_to_string(file).unwrap_or_default());
    let socket = sockets.iter().flat_map(|text| text.lines().skip(1)).filter_map(Socket::parse_line);
    // Prefer a socket that listens; a connection from that port may block it, too.
    let socket = socket.filter(|socket| socket.port == port).max_by_key(|socket| socket.listens)?;
    let target = format!("socket:[{}]", socket.inode);
    let holds = |process: &u32| {
        let files = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|link| link.as_os_str() == target.as_str())
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Some(match processes.find(holds) {
        Some(process) => format!("process {process} has it ({})", command_line(process)),
        // The descriptors of another user's processes cannot be read.
        None => format!("a process of user {} has it", socket.user),
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn describe_holder(_port: u16) -> Option<String> {
    None
}

#[cfg(target_os = "linux")]
fn command_line(process: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
    let text = text.trim();
    let shown: String = text.chars().take(MAX_COMMAND_CHARS).collect();
    if shown.len() < text.len() { format!("{shown} ...") } else { shown }
}

/// An entry of `/proc/net/tcp`.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq)]
struct Socket {
    port: u16,
    listens: bool,
    user: u32,
    inode: u64,
}

#[cfg(target_os = "linux")]
impl Socket {
    /// Parses a line; `None` for the heading and for sockets that no process holds.
    fn parse_line(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (_, port) = words.get(1)?.rsplit_once(':')?;
        Some(Self {
            port: u16::from_str_radix(port, 16).ok()?,
            listens: *words.get(3)? == "0A",
            user: words.get(7)?.parse().ok()?,
            // A socket that no process holds any more has no inode.
            inode: words.get(9)?.parse().ok().filter(|inode| *inode != 0)?,
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_proc_is_read() {
        let line = "   0: 0100007F:1964 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0 100 0 0 10 0";
        assert_eq!(Socket::parse_line(line), Some(Socket { port: 6500, listens: true, user: 1000, inode: 12345 }));
        assert_eq!(Socket::parse_line("sl local_address"), None);
    }
}
