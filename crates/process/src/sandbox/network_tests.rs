use super::*;

#[test]
fn the_request_is_as_long_as_it_says() {
    let request = raise_request();
    assert_eq!(request.len(), 32);
    assert_eq!(request[..4], 32_u32.to_ne_bytes());
}

#[test]
fn an_answer_is_an_acknowledgement_an_error_or_nonsense() {
    let answer = |kind: u16, error: i32| {
        let mut bytes = vec![0; 36];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[16..20].copy_from_slice(&error.to_ne_bytes());
        bytes
    };
    assert!(acknowledged(&answer(NLMSG_ERROR, 0)).is_ok());
    assert_eq!(acknowledged(&answer(NLMSG_ERROR, -1)).unwrap_err().raw_os_error(), Some(1));
    assert!(acknowledged(&answer(RTM_NEWLINK, 0)).is_err());
    assert!(acknowledged(&[]).is_err());
}
