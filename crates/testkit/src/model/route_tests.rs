use super::*;

#[test]
fn paths_tell_what_is_wanted() {
    let in_body = |format| Route::Generate(format, Address::InBody);
    let in_path = |is_streamed| {
        Route::Generate(Format::Gemini, Address::InPath { model: "gemini-2.5-flash".to_owned(), is_streamed })
    };
    let gemini = "/v1beta/models/gemini-2.5-flash";
    for (method, path, query, route) in [
        ("POST", "/v1/messages", Some("beta=true"), in_body(Format::Anthropic)),
        ("POST", "/v1/messages/count_tokens", Some("beta=true"), Route::CountTokens(Format::Anthropic)),
        ("POST", "/v1/responses", None, in_body(Format::Responses)),
        ("POST", "/responses/", None, in_body(Format::Responses)),
        ("POST", "/v1/chat/completions", None, in_body(Format::Chat)),
        ("POST", &format!("{gemini}:generateContent"), None, in_path(false)),
        ("POST", &format!("{gemini}:streamGenerateContent"), Some("alt=sse&key=k"), in_path(true)),
        ("POST", &format!("{gemini}:streamGenerateContent"), None, Route::Unknown),
        ("POST", &format!("{gemini}:countTokens"), None, Route::CountTokens(Format::Gemini)),
        ("POST", &format!("{gemini}:embedContent"), None, Route::Unknown),
        ("GET", "/v1/models", Some("client_version=1"), Route::Models),
        ("HEAD", "/api/hello", None, Route::Hello),
        ("HEAD", "/", None, Route::Hello),
        ("GET", "/v1/messages", None, Route::Unknown),
        ("POST", "/api/event_logging", None, Route::Unknown),
    ] {
        assert_eq!(Route::of(method, path, query), route, "{method} {path}");
    }
}
