use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

#[tokio::test]
async fn a_client_that_takes_nothing_is_let_go() {
    let (near, mut far) = tokio::io::duplex(64);
    let mut stream = Hurried { stream: near, limit: Duration::from_secs(3), waiting: None };
    stream.write_all(&[0; 64]).await.unwrap();
    // One that reads slowly, but reads, is waited for: together longer than the limit.
    for _ in 0..4 {
        let reader = async {
            sleep(Duration::from_millis(800)).await;
            far.read_exact(&mut [0; 8]).await.unwrap()
        };
        let (written, _) = tokio::join!(stream.write_all(&[0; 8]), reader);
        written.unwrap();
    }
    let error = stream.write_all(&[0; 8]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}
