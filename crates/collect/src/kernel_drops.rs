//! Counts datagrams that the kernel has dropped.

use std::os::fd::AsFd;

use mio::net::UdpSocket;

/// Files with the kernel's sockets for datagrams (proc_net_udp(5)).
const FILES: [&str; 2] = ["/proc/net/udp", "/proc/net/udp6"];

/// Columns of these files: the inode, and the number of drops.
const INODE: usize = 9;
const DROPS: usize = 12;

/// Counts the datagrams that the kernel dropped because a receive buffer was full.
///
/// The kernel can add its count to each datagram (`SO_RXQ_OVFL`). Drops after the last datagram would be missed.
#[derive(Debug)]
pub(crate) struct KernelDrops {
    /// Inode and last count for each socket.
    sockets: Vec<(u64, u32)>,
}

impl KernelDrops {
    pub(crate) fn new(sockets: &[UdpSocket]) -> Self {
        let inode = |socket: &UdpSocket| rustix::fs::fstat(socket.as_fd()).ok().map(|status| status.st_ino);
        Self { sockets: sockets.iter().filter_map(inode).map(|inode| (inode, 0)).collect() }
    }

    /// Returns the number of datagrams dropped since the last call.
    pub(crate) fn count_new(&mut self) -> u64 {
        let mut more = 0;
        for text in FILES.iter().filter_map(|path| std::fs::read_to_string(path).ok()) {
            more += self.count(&text);
        }
        more
    }

    fn count(&mut self, text: &str) -> u64 {
        let mut more = 0;
        for line in text.lines() {
            let number = |column| line.split_ascii_whitespace().nth(column)?.parse().ok();
            let Some(inode) = number(INODE) else { continue };
            let Some((_, known)) = self.sockets.iter_mut().find(|(socket, _)| *socket == inode) else {
                continue;
            };
            // A 32-bit counter that wraps around.
            let Some(drops) = number(DROPS).map(|drops: u64| drops as u32) else { continue };
            more += u64::from(drops.wrapping_sub(*known));
            *known = drops;
        }
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_shows() {
        let text = |drops: u64| {
            format!(
                "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n \
                 2512: 0100007F:1E97 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4711 2 0000000000000000 {drops}        \n"
            )
        };
        let mut drops = KernelDrops { sockets: vec![(4711, 0), (1, 0)] };
        assert_eq!(
            (drops.count(&text(5)), drops.count(&text(5)), drops.count(&text(u64::from(u32::MAX)))),
            (5, 0, u64::from(u32::MAX) - 5)
        );
        assert_eq!(drops.count(&text(2)), 3);
        assert_eq!(drops.count("garbage\n\n1 2 3"), 0);
    }
}
