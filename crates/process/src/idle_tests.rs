use super::*;

const LIMIT: Duration = Duration::from_millis(400);

/// Looks at the times that the watch asks for, until it calls the tree idle or a second is over.
fn idle_after(mut at_look: impl FnMut(Duration, &mut Idle) -> Option<u64>) -> Option<Duration> {
    let start = Instant::now();
    let mut idle = Idle::new(LIMIT, start);
    loop {
        let now = idle.look_at();
        if now - start > Duration::from_secs(1) {
            return None;
        }
        let ticks = at_look(now - start, &mut idle);
        if idle.look(now, ticks) == Found::Idle {
            return Some(now - start);
        }
    }
}

#[test]
fn silence_is_idle_after_the_limit_and_not_much_later() {
    assert_eq!(idle_after(|_, _| Some(7)), Some(Duration::from_millis(500)));
}

#[test]
fn the_last_sign_of_life_counts() {
    let half = Duration::from_millis(300);
    assert_eq!(idle_after(|at, _| Some(u64::from(at >= half))), Some(Duration::from_millis(700)));
    let printed = |at, idle: &mut Idle| {
        if at == half {
            idle.printed();
        }
        Some(7)
    };
    assert_eq!(idle_after(printed), Some(Duration::from_millis(700)));
}

#[test]
fn work_output_and_the_unknown_are_never_idle() {
    let mut ticks = 0;
    assert_eq!(
        idle_after(|_, _| {
            ticks += 1;
            Some(ticks)
        }),
        None
    );
    assert_eq!(
        idle_after(|_, idle| {
            idle.printed();
            Some(7)
        }),
        None
    );
    assert_eq!(idle_after(|_, _| None), None);
}
