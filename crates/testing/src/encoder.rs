//! Bit encoder that shares no code with the project: it sets single bits at the positions that the documents define.

/// Byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Little-endian.
    Le,
    /// Big-endian.
    Be,
}

/// Packet encoder.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    /// Encoded bytes.
    pub bytes: Vec<u8>,
    /// Position of the next bit, from the packet start.
    pub at: u64,
}

impl Encoder {
    /// Appends a bit. Little-endian bits are counted from the least significant bit of a byte, big-endian bits from the
    /// most significant.
    fn push(&mut self, bit: bool, order: Order) {
        let byte = (self.at / 8) as usize;
        while self.bytes.len() <= byte {
            self.bytes.push(0);
        }
        let index = match order {
            Order::Le => self.at % 8,
            Order::Be => 7 - self.at % 8,
        };
        self.bytes[byte] |= u8::from(bit) << index;
        self.at += 1;
    }

    /// Moves to the next multiple of `alignment`.
    pub fn align(&mut self, alignment: u64) -> &mut Self {
        while self.at % alignment != 0 {
            self.at += 1;
        }
        while self.bytes.len() as u64 * 8 < self.at {
            self.bytes.push(0);
        }
        self
    }

    /// Encodes a fixed-length value. `bits` starts with its least significant bit. Little-endian fields start with this
    /// bit, and big-endian fields end with it.
    pub fn fixed(&mut self, bits: &[bool], order: Order) -> &mut Self {
        self.in_bit_order(bits, order, order == Order::Le)
    }

    /// Encodes a fixed-length value in a bit order: the least significant bit is the first or the last.
    pub fn in_bit_order(&mut self, bits: &[bool], order: Order, first_to_last: bool) -> &mut Self {
        for i in 0..bits.len() {
            let from = if first_to_last { i } else { bits.len() - 1 - i };
            self.push(bits[from], order);
        }
        self
    }

    /// Encodes a fixed-length integer.
    pub fn int(&mut self, value: i128, length: usize, order: Order) -> &mut Self {
        self.fixed(&bits(value, length), order)
    }

    /// Encodes LEB128: groups of 7 bits. The top bit of each byte is set, except in the last.
    pub fn leb(&mut self, bits: &[bool]) -> &mut Self {
        assert!(!bits.is_empty() && bits.len() % 7 == 0);
        self.align(8);
        let groups = bits.len() / 7;
        for (i, group) in bits.chunks(7).enumerate() {
            for bit in group {
                self.push(*bit, Order::Le);
            }
            self.push(i + 1 < groups, Order::Le);
        }
        self
    }

    /// Encodes LEB128 in as few groups as possible.
    pub fn uleb(&mut self, value: u128) -> &mut Self {
        let used = (128 - value.leading_zeros() as usize).max(1).next_multiple_of(7);
        let bits: Vec<bool> = (0..used).map(|i| i < 128 && value >> i & 1 == 1).collect();
        self.leb(&bits)
    }

    /// Encodes signed LEB128 in as few groups as possible.
    pub fn sleb(&mut self, value: i128) -> &mut Self {
        let mut length = 7;
        while length < 133 && value >> (length - 1).min(127) != value >> 127 {
            length += 7;
        }
        self.leb(&bits(value, length))
    }

    /// Appends whole bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        assert_eq!(self.at % 8, 0, "bytes lie at bytes");
        for byte in bytes {
            self.int(i128::from(*byte), 8, Order::Le);
        }
        self
    }

    /// Overwrites an aligned integer.
    pub fn patch(&mut self, at: u64, value: u64, length: u64, order: Order) {
        let mut patch = Self { bytes: Vec::new(), at: 0 };
        patch.int(i128::from(value), length as usize, order);
        let begin = (at / 8) as usize;
        self.bytes[begin..begin + patch.bytes.len()].copy_from_slice(&patch.bytes);
    }
}

/// Returns the bits of a value in two's complement, least significant first.
pub fn bits(value: i128, length: usize) -> Vec<bool> {
    (0..length).map(|i| value >> i.min(127) & 1 == 1).collect()
}

/// Returns the bits of an unsigned value, least significant first.
pub fn unsigned_bits(value: u128, length: usize) -> Vec<bool> {
    (0..length).map(|i| i < 128 && value >> i & 1 == 1).collect()
}

/// Formats bits as decimal digits, digit by digit.
pub fn decimal(bits: &[bool], signed: bool) -> String {
    let negative = signed && bits.last() == Some(&true);
    let mut magnitude = bits.to_vec();
    if negative {
        let mut carry = true;
        for bit in &mut magnitude {
            let flipped = !*bit;
            *bit = flipped != carry;
            carry = flipped && carry;
        }
    }
    let mut digits = vec![0u8];
    for bit in magnitude.iter().rev() {
        let mut carry = u8::from(*bit);
        for digit in &mut digits {
            let doubled = *digit * 2 + carry;
            *digit = doubled % 10;
            carry = doubled / 10;
        }
        if carry > 0 {
            digits.push(carry);
        }
    }
    let digits: String = digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect();
    if negative { format!("-{digits}") } else { digits }
}

/// Formats bits as hexadecimal digits.
pub fn hex(bits: &[bool]) -> String {
    let digits: Vec<u32> = bits
        .chunks(4)
        .map(|chunk| chunk.iter().enumerate().fold(0, |digit, (i, bit)| digit | u32::from(*bit) << i))
        .collect();
    let digits: String = digits.iter().rev().map(|digit| char::from_digit(*digit, 16).unwrap()).collect();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() { "0".to_owned() } else { digits.to_owned() }
}
