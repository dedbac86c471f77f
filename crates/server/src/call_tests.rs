use super::*;

#[tokio::test]
async fn a_body_beside_the_api_has_limits_too() {
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let never = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
    let cases = [
        (never, Duration::from_millis(1), Err(408)),
        (Body::from("x".repeat(101)), Duration::from_secs(60), Err(413)),
        (Body::from("{nothing"), Duration::from_secs(60), Err(400)),
        (Body::from("{}"), Duration::from_secs(60), Ok(Bytes::from("{}"))),
    ];
    for (body, time, expected) in cases {
        let read = read_json(&headers, body, 100, time).await.map_err(|answer| {
            assert_eq!(answer.headers()[CONTENT_TYPE], crate::problem::PROBLEM_JSON);
            answer.status().as_u16()
        });
        assert_eq!(read, expected);
    }
}
