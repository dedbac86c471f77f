use super::*;

fn read(html: &str) -> String {
    markdown(html, &Url::parse("https://example.com/docs/").unwrap())
}

#[test]
fn the_readable_part_of_a_page_is_left() {
    let html = r#"<!DOCTYPE html><html><head><title>Guide &amp; more</title><style>p { color: red } </p></style></head>
        <body><nav><ul><li><a href="/">Home</a></ul></nav><!-- <p>no</p> --><h1>Install</h1>
        <p>Run   <code>cargo build</code>,
        then <b>wait</b>. See <a class="x" href='../faq?a=1&amp;b=2'>the FAQ</a>.</p>
        <script>if (a < b) { document.write("</p><h1>no</h1>") }</script>
        <pre><code>fn main() {
    1 &lt; 2;
}</code></pre><ul><li>one<li>two</ul><table><tr><th>k</th><td>v</td></tr></table>
        <img src=x alt="A > B"><a href="javascript:alert(1)">click</a> 3 < 4 &#x2713; &unknown;<footer>© us</footer></body></html>"#;
    let expected = "# Guide & more\n\n# Install\n\nRun `cargo build`, then **wait**. See [the FAQ](https://example.com/faq?a=1&b=2).\n\n```\nfn main() {\n    1 < 2;\n}\n```\n\n- one\n- two\n\nk | v |\n\n[A > B]click 3 < 4 ✓ &unknown;";
    assert_eq!(read(html), expected);
}

#[test]
fn no_page_takes_long_or_breaks() {
    let many = 200_000;
    for html in [
        "<div>".repeat(many),
        "<b><p>".repeat(many),
        "<".repeat(many),
        "<a href=\"".repeat(many / 10),
        "&#".repeat(many),
        format!("<script>{}", "</scrip".repeat(many)),
        "<nav></nav".to_owned(),
        "</a></a></nav>x".to_owned(),
        "<ä><!x><?y>ok<".to_owned(),
        "<p>café <a href=ü>x</a".to_owned(),
    ] {
        let _ = read(&html);
    }
    assert_eq!(read("<nav><nav>no</nav>no</nav>yes"), "yes");
    assert_eq!(read("<svg/>yes"), "yes");
    assert_eq!(read("plain"), "plain");
}
