//! What secrets look like that are in no variable. Each rule reads a bounded number of bytes and keeps no state.

use super::swallow::Class::{self, Alphanumeric, Base64, Capital, Dashed, Dotted, Password, Query, Word};
use super::swallow::Swallow;

pub(super) struct Pattern {
    /// What is shown instead.
    pub(super) kind: &'static str,
    pub(super) begins: &'static [&'static str],
    pub(super) rule: Rule,
}

/// What has to follow the beginning of a pattern.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// At least so many characters of a class. The beginning is distinctive enough to count anywhere.
    Token(Class, usize),
    /// The same, not inside a word, and the characters have to look random: `sk-` is also the end of many words.
    RandomToken(Class, usize),
    /// Exactly so many characters of a class, not inside a word.
    Exactly(Class, usize),
    /// The rest of a signed JSON web token.
    WebToken,
    /// The rest of a header line of a private key.
    PrivateKey,
    /// The rest of an `Authorization` header.
    Authorization,
    /// A user and a password, or a token, before the host of an address.
    Credentials,
    /// After a colon or an equals sign, a value of at least so many characters of a class with a digit among them: what has none
    /// is a type, a name or a word more often than a secret.
    Named(Class, usize),
}

/// What a rule says about the bytes at hand.
pub(super) enum Judged {
    /// No secret begins here.
    Not,
    /// It depends on bytes that have not come yet.
    Undecided,
    /// These bytes are secret, counted from the beginning of the pattern, and so is what `then` swallows after them.
    Secret { from: usize, to: usize, then: Swallow },
}

use Rule::{Authorization, Credentials, Exactly, Named, PrivateKey, RandomToken, Token, WebToken};

/// In order of appearance in the specification of redaction; the automaton prefers the longest beginning.
pub(super) const PATTERNS: &[Pattern] = &[
    pattern("anthropic-key", &["sk-ant-"], Token(Dashed, 20)),
    pattern("api-key", &["sk-"], RandomToken(Dashed, 32)),
    pattern("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Token(Word, 30)),
    pattern("github-token", &["github_pat_"], Token(Word, 22)),
    pattern("aws-key-id", &["AKIA", "ASIA"], Exactly(Capital, 16)),
    pattern("google-key", &["AIza"], Token(Dashed, 35)),
    pattern("slack-token", &["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xapp-"], Token(Dashed, 16)),
    pattern("gitlab-token", &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-"], Token(Dotted, 20)),
    pattern("google-token", &["ya29."], Token(Dashed, 40)),
    pattern("google-secret", &["GOCSPX-"], Token(Dashed, 20)),
    pattern(
        "api-token",
        &[
            "dop_v1_",
            "dckr_pat_",
            "lin_api_",
            "figd_",
            "glsa_",
            "shpat_",
            "shpss_",
            "sbp_",
            "sntrys_",
            "rubygems_",
            "nvapi-",
            "gsk_",
            "hvs.",
            "PMAK-",
            "ATATT3",
        ],
        RandomToken(Dashed, 24),
    ),
    pattern("age-key", &["AGE-SECRET-KEY-1"], Token(Alphanumeric, 40)),
    pattern("web-token", &["eyJ"], WebToken),
    pattern("private-key", &["-----BEGIN "], PrivateKey),
    pattern("authorization", &["Authorization", "authorization", "AUTHORIZATION"], Authorization),
    pattern("url-credentials", &["://"], Credentials),
    pattern("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], Token(Alphanumeric, 16)),
    pattern("stripe-key", &["whsec_"], Token(Base64, 24)),
    pattern("npm-token", &["npm_"], Exactly(Alphanumeric, 36)),
    pattern("pypi-token", &["pypi-AgE"], Token(Dashed, 32)),
    pattern("hugging-face-token", &["hf_"], RandomToken(Alphanumeric, 30)),
    pattern("sendgrid-key", &["SG."], RandomToken(Dotted, 60)),
    pattern("azure-key", &["AccountKey", "SharedAccessKey", "SharedAccessSignature", "?sig", "&sig"], Named(Query, 20)),
    pattern("api-key", &["api-key", "Api-Key", "API-Key", "API-KEY"], Named(Query, 8)),
    pattern(
        "token",
        &[
            "access_token",
            "refresh_token",
            "id_token",
            "client_secret",
            "private_token",
            "secret_access_key",
            "SecretAccessKey",
            "X-Amz-Signature",
            "X-Amz-Security-Token",
        ],
        Named(Query, 8),
    ),
    pattern("password", &["password", "Password", "PASSWORD", "passwd"], Named(Password, 6)),
];

const fn pattern(kind: &'static str, begins: &'static [&'static str], rule: Rule) -> Pattern {
    Pattern { kind, begins, rule }
}

/// The longest header of a web token that is recognised.
const MAX_HEADER: usize = 1024;
/// The longest user and the longest password that are recognised in an address.
const MAX_CREDENTIAL: usize = 256;
/// Bytes of a named value that are looked at for a digit.
const MAX_NAMED: usize = 64;
/// A user of an address that is as long and has a digit in it is a token.
const SHORTEST_TOKEN: usize = 16;

impl Rule {
    /// Judges `data`, which begins with a beginning of `begin` bytes; `before` are the two bytes in front of it.
    pub(super) fn judge(self, data: &[u8], begin: usize, before: [u8; 2], more: More) -> Judged {
        let mut rest = Reader { data, at: begin, more };
        let judged = match self {
            Self::Token(class, least) => rest.token(class, least).map(|()| (0, Swallow::Class(class))),
            Self::RandomToken(class, least) => {
                let random = |reader: &Reader<'_>| {
                    if looks_random(&reader.data[begin..reader.at]) { Ok(()) } else { Err(No::Not) }
                };
                let outside = outside_word(before);
                outside
                    .and_then(|()| rest.token(class, least))
                    .and_then(|()| random(&rest))
                    .map(|()| (0, Swallow::Class(class)))
            }
            Self::Exactly(class, length) => outside_word(before)
                .and_then(|()| rest.token(class, length))
                .and_then(|()| rest.end_of_word())
                .map(|()| (0, Swallow::Nothing)),
            Self::WebToken => {
                outside_word(before).and_then(|()| rest.web_token()).map(|()| (0, Swallow::Class(Class::Dotted)))
            }
            Self::PrivateKey => rest.private_key().map(|()| (0, Swallow::key())),
            Self::Authorization => rest.authorization().map(|from| (from, Swallow::Class(Class::Credential))),
            Self::Credentials => rest.credentials().map(|()| (begin, Swallow::Nothing)),
            Self::Named(class, least) => rest.named(class, least).map(|from| (from, Swallow::Class(class))),
        };
        match judged {
            Ok((from, then)) => Judged::Secret { from, to: rest.at, then },
            Err(No::Not) => Judged::Not,
            Err(No::Undecided) => Judged::Undecided,
        }
    }
}

/// Whether something follows the bytes at hand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum More {
    MayCome,
    Never,
}

impl Judged {
    /// A secret of so many bytes.
    pub(super) const fn whole(length: usize) -> Self {
        Self::Secret { from: 0, to: length, then: Swallow::Nothing }
    }
}

/// Why a rule did not find a secret.
enum No {
    Not,
    Undecided,
}

/// Whether the bytes before a place end a word. A letter does too when it belongs to an escape: `\n` in a JSON string,
/// or the end of a terminal colour.
fn outside_word([first, second]: [u8; 2]) -> Result<(), No> {
    let escape = first == b'\\' && b"bfnrt".contains(&second);
    let colour = second == b'm' && (first.is_ascii_digit() || first == b'[' || first == b';');
    if !second.is_ascii_alphanumeric() || escape || colour { Ok(()) } else { Err(No::Not) }
}

/// Words joined by hyphens have few digits and no capitals; keys have many of one of them.
fn looks_random(token: &[u8]) -> bool {
    token.iter().any(u8::is_ascii_uppercase) || token.iter().filter(|byte| byte.is_ascii_digit()).count() >= 6
}

struct Reader<'a> {
    data: &'a [u8],
    at: usize,
    more: More,
}

impl Reader<'_> {
    fn peek(&self) -> Result<Option<u8>, No> {
        match (self.data.get(self.at), self.more) {
            (Some(&byte), _) => Ok(Some(byte)),
            (None, More::Never) => Ok(None),
            (None, More::MayCome) => Err(No::Undecided),
        }
    }

    /// Reads while a condition holds, at most so many bytes; gives how many.
    fn while_is(&mut self, most: usize, is: impl Fn(u8) -> bool) -> Result<usize, No> {
        let from = self.at;
        while self.at - from < most && self.peek()?.is_some_and(&is) {
            self.at += 1;
        }
        Ok(self.at - from)
    }

    fn literal(&mut self, literal: &[u8]) -> Result<(), No> {
        for &expected in literal {
            if self.peek()? != Some(expected) {
                return Err(No::Not);
            }
            self.at += 1;
        }
        Ok(())
    }

    fn token(&mut self, class: Class, least: usize) -> Result<(), No> {
        if self.while_is(least, |byte| class.has(byte))? == least { Ok(()) } else { Err(No::Not) }
    }

    fn end_of_word(&self) -> Result<(), No> {
        if self.peek()?.is_some_and(|byte| byte.is_ascii_alphanumeric()) { Err(No::Not) } else { Ok(()) }
    }

    fn web_token(&mut self) -> Result<(), No> {
        if self.while_is(MAX_HEADER, |byte| Class::Dashed.has(byte))? < 10 {
            return Err(No::Not);
        }
        self.literal(b".eyJ")
    }

    fn private_key(&mut self) -> Result<(), No> {
        let from = self.at;
        self.while_is(48, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ')?;
        let label = self.data[from..self.at].trim_ascii_end();
        if !label.ends_with(b"PRIVATE KEY") && !label.ends_with(b"PRIVATE KEY BLOCK") {
            return Err(No::Not);
        }
        self.literal(b"-----")
    }

    /// Gives where the secret begins: the name of the header and the scheme stay readable.
    fn authorization(&mut self) -> Result<usize, No> {
        self.separator()?;
        let from = self.at;
        self.while_is(8, |byte| byte.is_ascii_alphabetic())?;
        let scheme = &self.data[from..self.at];
        if !["bearer", "basic", "token"].iter().any(|known| scheme.eq_ignore_ascii_case(known.as_bytes())) {
            return Err(No::Not);
        }
        if self.while_is(4, |byte| byte == b' ')? == 0 {
            return Err(No::Not);
        }
        let secret = self.at;
        self.token(Class::Credential, 8)?;
        Ok(secret)
    }

    /// What stands between a name and its value, also where both are in a JSON string.
    fn separator(&mut self) -> Result<(), No> {
        let from = self.at;
        self.while_is(12, |byte| b"\\\"' \t:=".contains(&byte))?;
        if self.data[from..self.at].iter().any(|byte| b":=".contains(byte)) { Ok(()) } else { Err(No::Not) }
    }

    fn named(&mut self, class: Class, least: usize) -> Result<usize, No> {
        self.separator()?;
        let from = self.at;
        let length = self.while_is(MAX_NAMED, |byte| class.has(byte))?;
        if length >= least && self.data[from..self.at].iter().any(u8::is_ascii_digit) { Ok(from) } else { Err(No::Not) }
    }

    /// User and password together: a token is often given as the user.
    fn credentials(&mut self) -> Result<(), No> {
        let part = |byte: u8| !byte.is_ascii_control() && !b" /@:?#\"'`<>\\".contains(&byte);
        let from = self.at;
        let length = self.while_is(MAX_CREDENTIAL, part)?;
        if self.peek()? == Some(b'@') {
            let is_token = length >= SHORTEST_TOKEN && self.data[from..self.at].iter().any(u8::is_ascii_digit);
            return if is_token { Ok(()) } else { Err(No::Not) };
        }
        self.literal(b":")?;
        let length = self.while_is(MAX_CREDENTIAL, |byte| part(byte) || b":?#".contains(&byte))?;
        match self.peek()? {
            Some(b'@') if length > 0 => Ok(()),
            _ => Err(No::Not),
        }
    }
}
