//! A null call of Open Network Computing Remote Procedure Call, version 2 (RFC 5531): the messages of a client
//! and of a server without authentication, and the record marking of streams (section 11).

/// A program number for users (RFC 5531, section 13: 0x20000000 to 0x3fffffff).
pub const PROGRAM: u32 = 0x2000_7469;
/// Its version.
pub const VERSION: u32 = 1;
const CALL: u32 = 0;
const REPLY: u32 = 1;
const RPC_VERSION: u32 = 2;
const NULL: u32 = 0;
const ACCEPTED: u32 = 0;
const DENIED: u32 = 1;
const SUCCESS: u32 = 0;
const PROGRAM_UNAVAILABLE: u32 = 1;
const PROGRAM_MISMATCH: u32 = 2;
const PROCEDURE_UNAVAILABLE: u32 = 3;
const RPC_MISMATCH: u32 = 0;

/// Bytes of a null call: ten words of four bytes.
pub const CALL_BYTES: usize = 40;
/// Bytes of the reply to a null call that succeeded: six words.
pub const REPLY_BYTES: usize = 24;
/// Set in the length of the last fragment of a record.
const LAST: u32 = 0x8000_0000;

/// The null call with transaction id `xid`: credential and verifier are AUTH_NONE, empty.
#[must_use]
pub fn call(xid: u32) -> [u8; CALL_BYTES] {
    words([xid, CALL, RPC_VERSION, PROGRAM, VERSION, NULL, 0, 0, 0, 0])
}

/// True if a message is the reply of success to the call `xid`.
#[must_use]
pub fn succeeded(reply: &[u8], xid: u32) -> bool {
    reply == words::<6, REPLY_BYTES>([xid, REPLY, ACCEPTED, 0, 0, SUCCESS])
}

/// The server's answer to a message; none where it is no call.
#[must_use]
pub fn answer(message: &[u8]) -> Option<Vec<u8>> {
    let word = |index: usize| {
        let bytes = message.get(4 * index..4 * index + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let xid = word(0)?;
    if word(1)? != CALL {
        return None;
    }
    if word(2)? != RPC_VERSION {
        let said: [u8; 24] = words([xid, REPLY, DENIED, RPC_MISMATCH, RPC_VERSION, RPC_VERSION]);
        return Some(said.to_vec());
    }
    let accepted = |status| words::<6, REPLY_BYTES>([xid, REPLY, ACCEPTED, 0, 0, status]).to_vec();
    Some(match (word(3)?, word(4)?, word(5)?) {
        (PROGRAM, VERSION, NULL) => accepted(SUCCESS),
        (PROGRAM, VERSION, _) => accepted(PROCEDURE_UNAVAILABLE),
        (PROGRAM, _, _) => {
            let versions: [u8; 8] = words([VERSION, VERSION]);
            [accepted(PROGRAM_MISMATCH), versions.to_vec()].concat()
        }
        _ => accepted(PROGRAM_UNAVAILABLE),
    })
}

/// The mark before a record of one fragment.
#[must_use]
pub fn mark(length: usize) -> [u8; 4] {
    (LAST | length as u32).to_be_bytes()
}

/// The length of a record of one fragment; none where more follow, or where it is longer than any of ours.
#[must_use]
pub fn marked(mark: [u8; 4]) -> Option<usize> {
    let mark = u32::from_be_bytes(mark);
    (mark & LAST != 0).then_some((mark & !LAST) as usize).filter(|length| *length <= 400)
}

fn words<const N: usize, const BYTES: usize>(values: [u32; N]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (slot, value) in bytes.chunks_exact_mut(4).zip(values) {
        slot.copy_from_slice(&value.to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(reply: &[u8]) -> u32 {
        u32::from_be_bytes(reply[20..24].try_into().unwrap())
    }

    #[test]
    fn a_call_is_laid_out_as_the_standard_says() {
        let call = call(0x0102_0304);
        assert_eq!(&call[..12], [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!(&call[12..24], [0x20, 0, 0x74, 0x69, 0, 0, 0, 1, 0, 0, 0, 0]);
        assert_eq!(&call[24..], [0; 16]);
        assert_eq!((mark(40), marked([0x80, 0, 0, 40])), ([0x80, 0, 0, 40], Some(40)));
        assert_eq!((marked([0, 0, 0, 40]), marked([0xff; 4])), (None, None));
    }

    #[test]
    fn the_server_accepts_what_it_has_and_says_why_not() {
        let reply = answer(&call(7)).unwrap();
        assert!(succeeded(&reply, 7) && !succeeded(&reply, 8));
        let with = |index: usize, value: u8| {
            let mut call = call(7);
            call[4 * index + 3] = value;
            answer(&call)
        };
        assert_eq!(with(1, 1), None, "a reply is no call");
        assert_eq!(
            with(2, 3).map(|reply| reply[8..12].to_vec()),
            Some(vec![0, 0, 0, 1]),
            "another RPC version"
        );
        assert_eq!(with(3, 0).map(|reply| status(&reply)), Some(PROGRAM_UNAVAILABLE));
        assert_eq!(with(4, 9).map(|reply| (status(&reply), reply.len())), Some((PROGRAM_MISMATCH, 32)));
        assert_eq!(with(5, 1).map(|reply| status(&reply)), Some(PROCEDURE_UNAVAILABLE));
        assert_eq!(answer(&call(7)[..20]), None, "half a call");
    }
}
