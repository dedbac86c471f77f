use super::*;

const STREAM: &str = "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"c\",\"usage\":{\"input_tokens\":3}}}\r\n\r\n: ping\n\ndata: {\"type\":\"message_delta\",\ndata: \"usage\":{\"output_tokens\":4}}\n\ndata: {\"type\":\"message_stop\"}";

#[test]
fn a_stream_is_read_in_pieces_of_any_size_encoded_or_not() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(STREAM.as_bytes()).unwrap();
    let encoded = encoder.finish().unwrap();
    for (encoding, bytes) in [("", STREAM.as_bytes()), ("gzip", &encoded)] {
        for size in [1, 7, 4096] {
            let mut scan = Scan::new(Format::Messages, "text/event-stream; charset=utf-8", encoding);
            bytes.chunks(size).for_each(|chunk| scan.bytes(chunk));
            let seen = scan.finish();
            let tokens = seen.tokens.map(|tokens| (tokens.input, tokens.output));
            assert_eq!((tokens, seen.is_over), (Some((3, 4)), true), "{encoding} {size}");
        }
    }
    let mut other = Scan::new(Format::Messages, "text/event-stream", "br");
    other.bytes(b"\x01\x02");
    assert_eq!(other.finish().tokens, None);
    let mut broken = Scan::new(Format::Messages, "text/event-stream", "gzip");
    broken.bytes(b"not gzip at all");
    assert_eq!(broken.finish().tokens, None);
}
