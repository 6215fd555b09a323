//! Client of OpenTelemetry receivers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Connection to a receiver.
pub struct HttpClient(TcpStream);

impl HttpClient {
    /// Connects to an address like `http://127.0.0.1:4318`.
    pub fn connect(url: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(url.strip_prefix("http://").unwrap_or(url))?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self(stream))
    }

    /// Sends a request. Returns the status and the body of the answer.
    pub fn post(&mut self, path: &str, headers: &str, body: &[u8]) -> std::io::Result<(u16, Vec<u8>)> {
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        self.0.write_all(&[head.as_bytes(), body].concat())?;
        let (mut bytes, mut step) = (Vec::new(), [0; 4096]);
        loop {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Some(end) = text.find("\r\n\r\n") {
                let length = text.lines().find_map(|line| line.strip_prefix("Content-Length: "));
                let whole = end + 4 + length.map_or(0, |length| length.parse().unwrap());
                if bytes.len() >= whole {
                    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
                    return Ok((status, bytes[end + 4..].to_vec()));
                }
            }
            match self.0.read(&mut step)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                length => bytes.extend_from_slice(&step[..length]),
            }
        }
    }

    /// Sends log records. Returns `true` if they were acknowledged.
    pub fn log(&mut self, encoding: LogEncoding, records: &[(u64, &str)]) -> std::io::Result<bool> {
        let (headers, body) = match encoding {
            LogEncoding::Json => ("Content-Type: application/json\r\n", json(records).into_bytes()),
            LogEncoding::Protobuf => ("Content-Type: application/x-protobuf\r\n", protobuf(records)),
        };
        Ok(self.post("/v1/logs", headers, &body)?.0 == 200)
    }
}

/// Encoding of log records.
#[derive(Clone, Copy)]
pub enum LogEncoding {
    Json,
    Protobuf,
}

/// Returns a request with log records: their times and messages.
pub fn json(records: &[(u64, &str)]) -> String {
    let records = records.iter().map(|(time, message)| {
        format!("{{\"timeUnixNano\": \"{time}\",\n \"body\": {{\"stringValue\": \"{message}\"}}}}")
    });
    let records = records.collect::<Vec<_>>().join(",\n");
    format!(
        "{{\"resourceLogs\": [{{\"resource\": {{\"attributes\": [{{\"key\": \"service.name\", \"value\": \
         {{\"stringValue\": \"shop\"}}}}]}}, \"scopeLogs\": [{{\"logRecords\": [{records}]}}]}}]}}"
    )
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    [&out, bytes].concat()
}

/// Returns the same request in protobuf.
pub fn protobuf(records: &[(u64, &str)]) -> Vec<u8> {
    let name = [field(1, b"service.name"), field(2, &field(1, b"shop"))].concat();
    let resource = field(1, &field(1, &name));
    let records = records.iter().map(|(time, message)| {
        let time = [&[1 << 3 | 1][..], &time.to_le_bytes()].concat();
        field(2, &[time, field(5, &field(1, message.as_bytes()))].concat())
    });
    field(1, &[resource, field(2, &records.collect::<Vec<_>>().concat())].concat())
}
