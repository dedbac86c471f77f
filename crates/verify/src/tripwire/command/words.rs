//! Splits a line of shell into simple commands and those into words. No variable, pattern or substitution is expanded.

/// The simple commands of a text, each as its words.
pub(super) fn commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![vec![]];
    let (mut word, mut in_word, mut quote) = (String::new(), false, None::<char>);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some('"') | None, '\\') => {
                // A backslash before the end of a line joins it with the next one.
                if let Some(next) = letters.next().filter(|next| *next != '\n') {
                    word.push(next);
                    in_word = true;
                }
            }
            (Some(_), _) => word.push(letter),
            (None, '\'' | '"') => (quote, in_word) = (Some(letter), true),
            (None, '&' | '|' | ';' | '\n' | '(' | ')') => {
                finish(&mut commands, &mut word, &mut in_word);
                commands.push(vec![]);
            }
            (None, _) if letter.is_whitespace() => finish(&mut commands, &mut word, &mut in_word),
            (None, _) => {
                word.push(letter);
                in_word = true;
            }
        }
    }
    finish(&mut commands, &mut word, &mut in_word);
    commands.retain(|command| !command.is_empty());
    commands
}

/// The words of one command.
pub(super) fn split(text: &str) -> Vec<String> {
    commands(text).into_iter().flatten().collect()
}

fn finish(commands: &mut [Vec<String>], word: &mut String, in_word: &mut bool) {
    if std::mem::take(in_word)
        && let Some(last) = commands.last_mut()
    {
        last.push(std::mem::take(word));
    }
}
