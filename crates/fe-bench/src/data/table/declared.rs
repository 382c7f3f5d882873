//! Sizes that an Arrow file declares, held against its bytes before anything is read into memory: a damaged file
//! declares what no memory has.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{Block, CompressionType, MessageHeader, root_as_footer, root_as_message};

/// Bytes that may be declared whatever they are compressed to.
const ORDINARY: u64 = 64 << 20;
/// The length of the end of a file, and of the size in front of a compressed buffer.
const END: u64 = 10;
const PREFIX: u64 = 8;

/// Refuses a file whose footer, blocks or compressed buffers cannot be as large as it says.
///
/// # Errors
/// Words on what is declared, or on what cannot be read.
pub(super) fn check(mut file: &File) -> Result<(), String> {
    let words = |e: &dyn std::fmt::Display| e.to_string();
    let length = file.seek(SeekFrom::End(0)).map_err(|e| words(&e))?;
    let beyond = || "the file is damaged: it declares more bytes than it has".to_owned();
    let mut bytes = |from: u64, count: u64| -> Result<Vec<u8>, String> {
        if from.checked_add(count).is_none_or(|end| end > length) {
            return Err(beyond());
        }
        let mut found = vec![0; usize::try_from(count).map_err(|_| beyond())?];
        file.seek(SeekFrom::Start(from)).map_err(|e| words(&e))?;
        file.read_exact(&mut found).map_err(|e| words(&e))?;
        Ok(found)
    };
    let start = length.checked_sub(END).ok_or_else(beyond)?;
    let end: [u8; END as usize] = bytes(start, END)?.try_into().map_err(|_| beyond())?;
    let footer = read_footer_length(end).map_err(|e| words(&e))? as u64;
    let footer = bytes(start.checked_sub(footer).ok_or_else(beyond)?, footer)?;
    let footer = root_as_footer(&footer).map_err(|e| words(&e))?;
    let blocks = footer.recordBatches().into_iter().chain(footer.dictionaries());
    for block in blocks.flat_map(|blocks| blocks.iter()) {
        check_block(block, &mut bytes)?;
    }
    file.rewind().map_err(|e| words(&e))
}

/// Checks a block, some bytes of which can be asked for.
fn check_block(
    block: &Block,
    bytes: &mut dyn FnMut(u64, u64) -> Result<Vec<u8>, String>,
) -> Result<(), String> {
    let damaged = || "the file is damaged: a place in it is none".to_owned();
    let place = |number: i64| u64::try_from(number).map_err(|_| damaged());
    let (from, head) = (place(block.offset())?, place(block.metaDataLength().into())?);
    let head = bytes(from, head)?;
    // The message is behind its length, and behind a mark in files since Arrow 0.15.
    let skipped = if head.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = root_as_message(head.get(skipped..).ok_or_else(damaged)?);
    let message = message.map_err(|e| e.to_string())?;
    let batch = match message.header_type() {
        MessageHeader::DictionaryBatch => {
            message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
        }
        _ => message.header_as_record_batch(),
    };
    let Some(batch) = batch else { return Ok(()) };
    let Some(compression) = batch.compression() else { return Ok(()) };
    // What the codec cannot exceed, or what nobody has seen it exceed.
    let most = if compression.codec() == CompressionType::LZ4_FRAME { 256 } else { 100_000 };
    let body = from + head.len() as u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let (offset, length) = (place(buffer.offset())?, place(buffer.length())?);
        if length < PREFIX {
            continue;
        }
        let declared = bytes(body.checked_add(offset).ok_or_else(damaged)?, PREFIX)?;
        let declared = declared.try_into().map_or(0, i64::from_le_bytes);
        // One that is not compressed says −1.
        let declared = u64::try_from(declared).unwrap_or_default();
        if declared > ORDINARY.max(most * length) {
            return Err(format!(
                "the file is damaged: it declares that {length} bytes are {declared} before compression"
            ));
        }
    }
    Ok(())
}
