use proptest::prelude::*;

use super::*;

const SECRET: &str = "hunter2-very-long-secret-value";

/// `say VOICE MESSAGE WORDS`, `end`, and anything else.
fn speech() -> ChunkCodec {
    fn read(line: &str) -> StreamLine<'_> {
        let mut fields = line.splitn(4, ' ');
        match (fields.next(), fields.next(), fields.next(), fields.next()) {
            (Some("{say"), Some(voice), Some(message), Some(words)) => StreamLine::Chunk(MessageChunk {
                voice: if voice == "thought" { "thought" } else { "message" },
                message: message.into(),
                words: words.strip_suffix('}').unwrap_or(words).replace("\\e", "\x1b").into(),
            }),
            (Some("end"), ..) => StreamLine::End,
            _ => StreamLine::Other,
        }
    }
    fn with(line: &str, words: &str) -> String {
        let frame: Vec<&str> = line.splitn(4, ' ').take(3).collect();
        format!("{} {words}}}", frame.join(" "))
    }
    ChunkCodec { read, with }
}

fn redactor() -> Redactor {
    Redactor::new([("MY_API_KEY", SECRET)])
}

fn passed(pieces: &[&[u8]]) -> String {
    let mut spoken = ChunkDecoder::new(speech(), &redactor());
    let mut out = Vec::new();
    for piece in pieces {
        out.extend_from_slice(spoken.pass(piece));
    }
    out.extend_from_slice(spoken.finish());
    String::from_utf8(out).unwrap()
}

/// The words of one voice, joined as a reader does.
fn words(lines: &str, voice: &str) -> String {
    let begin = format!("{{say {voice} ");
    let of_voice = lines.lines().filter_map(|line| line.strip_prefix(&begin)?.split_once(' '));
    of_voice.map(|(_, words)| words.strip_suffix('}').unwrap()).collect()
}

#[test]
fn a_secret_in_two_pieces_is_in_none_of_them() {
    let lines =
        passed(&[b"{say message 1 MY_API_KEY=hunter2-very}\nother\n{say message 1 -long-secret-value, ok}\nend\n"]);
    assert_eq!(lines, "{say message 1 MY_API_KEY=}\nother\n{say message 1 [redacted:MY_API_KEY], ok}\nend\n");
}

#[test]
fn a_secret_with_an_escape_between_its_pieces_is_not_put_together() {
    let lines = passed(&[
        b"{say message 1 a hunter2-very}\n{say message 1 \\e[31}\n{say message 1 m-long-secret-value\\e[0m b}\nend\n",
    ]);
    assert_eq!(words(&lines, "message"), "a [redacted:MY_API_KEY] b");
}

#[test]
fn the_rest_of_a_token_that_was_long_enough_before_goes_too() {
    let lines = passed(&[b"{say message 1 sk-ant-abcdefghijklmnopqrstuvwxyz}\n{say message 1 0123456789 ok}\n"]);
    assert_eq!(words(&lines, "message"), "[redacted:anthropic-key] ok");
}

#[test]
fn what_was_held_back_for_nothing_comes_before_the_end() {
    for end in ["end\n", "", "{say message 2 b}\n"] {
        let lines = passed(&[b"{say message 1 say hunter2}\n", end.as_bytes()]);
        assert_eq!(lines, format!("{{say message 1 say }}\n{{say message 1 hunter2}}\n{end}"));
    }
}

#[test]
fn a_message_that_ends_inside_of_a_secret_does_not_show_its_half() {
    for end in ["end\n", "", "{say message 2 ok}\n", "{say mess"] {
        let lines = passed(&[b"{say message 1 it is hunter2-very-long}\n", end.as_bytes()]);
        assert_eq!(
            words(&lines, "message").strip_suffix("ok").unwrap_or(&words(&lines, "message")),
            "it is [redacted]"
        );
    }
    // What begins like one of the patterns is a word like any other.
    assert_eq!(words(&passed(&[b"{say message 1 sk-ant}\n"]), "message"), "sk-ant");
}

#[test]
fn voices_do_not_end_each_other() {
    let lines = passed(&[
        b"{say message 1 a hunter2-very}\n{say thought 1 b hunter2-}\n{say message 1 -long-secret-value}\n",
        b"{say thought 1 very-long-secret-value}\n",
    ]);
    assert_eq!(words(&lines, "message"), "a [redacted:MY_API_KEY]");
    assert_eq!(words(&lines, "thought"), "b [redacted:MY_API_KEY]");
}

#[test]
fn lines_without_a_doubt_in_them_stay_as_they_are() {
    for text in
        ["{say message 1 all is well!}\r\nodd \u{202e}\n\n{say message 1  and so on.}\nend\n{no end", "no end\r"]
    {
        assert_eq!(passed(&[text.as_bytes()]), text);
    }
    // Bytes that are no text are the business of others.
    let mut spoken = ChunkDecoder::new(speech(), &redactor());
    assert_eq!(spoken.pass(b"a\xff\n{say message 1 \xff}\n"), b"a\xff\n{say message 1 \xff}\n");
}

#[test]
fn a_piece_that_broke_off_is_left_out() {
    let lines = passed(&[b"{say message 1 hunter2-very}\n{say message"]);
    assert_eq!(lines, "{say message 1 }\n{say message 1 [redacted]}\n");
    let whole = passed(&[b"{say message 1 hunter2-very}\n{say message 1 -long-secret-value}"]);
    assert_eq!(whole, "{say message 1 }\n{say message 1 [redacted:MY_API_KEY]}\n");
    assert_eq!(passed(&[b"{say message 1 ok}\nend\n{\"cut"]), "{say message 1 ok}\nend\n{\"cut");
}

#[test]
fn a_line_that_is_too_long_is_not_waited_for() {
    let mut spoken = ChunkDecoder::new(speech(), &redactor());
    let long = vec![b'x'; MAX_LINE + 1];
    assert_eq!(spoken.pass(&long).len(), long.len());
    assert_eq!(spoken.pass(b"y\n{say message 1 hunter2"), b"y\n");
    assert_eq!(spoken.pass(b"}\n"), b"{say message 1 }\n");
}

proptest! {
    #[test]
    fn no_way_to_cut_it_shows_anything(cuts in proptest::collection::vec(1_usize..12, 1..40), reads in 1_usize..20) {
        let text = format!("The key is {SECRET}, and sk-ant-abcdefghijklmnopqrstuvwxyz0123456789 too; hunter2 is none.");
        let (mut lines, mut rest) = (String::new(), text.as_str());
        for cut in cuts.iter().cycle() {
            let (piece, after) = rest.split_at(rest.len().min(*cut));
            lines += &format!("{{say message 1 {piece}}}\n");
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        lines += "end\n";
        let out = passed(&lines.as_bytes().chunks(reads).collect::<Vec<_>>());
        prop_assert_eq!(words(&out, "message"), redactor().text(&text).into_owned());
    }
}
