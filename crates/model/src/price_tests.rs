use super::*;

fn tokens(input: u64, cache_read: u64, cache_write: u64, output: u64) -> Tokens {
    Tokens { input, cache_read, cache_write, output, ..Tokens::default() }
}

#[test]
fn the_table_is_dated_and_each_price_is_one() {
    let list = PriceList::default();
    assert_eq!(PriceList::as_of(), "2026-11-15");
    assert!(list.names().count() > 60);
    for name in list.names() {
        let price = list.of(name).unwrap();
        assert!(price.rates.input > Money::ZERO && price.rates.output > price.rates.input, "{name}: {price:?}");
        assert!(price.rates.cache_read > Money::ZERO && price.rates.cache_read <= price.rates.input, "{name}");
        if let Some(long) = price.long {
            assert!(long.over >= 100_000 && long.rates.input >= price.rates.input, "{name}");
        }
    }
}

#[test]
fn each_kind_of_token_has_its_price() {
    let price = *PriceList::default().of("claude-sonnet-4-5").unwrap();
    assert_eq!(price.request(tokens(1_000_000, 0, 0, 0)), Money::dollars(3));
    assert_eq!(price.request(tokens(0, 1_000_000, 0, 0)), "0.30".parse().unwrap());
    assert_eq!(price.request(tokens(0, 0, 1_000_000, 0)), "3.75".parse().unwrap());
    assert_eq!(price.request(tokens(0, 0, 0, 1_000_000)), Money::dollars(15));
    assert_eq!(price.request(tokens(1, 0, 0, 0)), Money::from_micros(3));
}

#[test]
fn a_part_of_a_micro_dollar_counts_as_one() {
    let price = *PriceList::default().of("gpt-5-nano").unwrap();
    assert_eq!(price.request(tokens(1, 0, 0, 0)), Money::from_micros(1));
    assert_eq!(price.request(Tokens::default()), Money::ZERO);
}

#[test]
fn a_long_request_has_its_own_prices() {
    let price = *PriceList::default().of("gpt-5.4").unwrap();
    assert_eq!(price.request(tokens(272_000, 0, 0, 0)), Money::from_micros(680_000));
    assert_eq!(price.request(tokens(272_001, 0, 0, 0)), Money::from_micros(1_360_005));
}

#[test]
fn no_number_of_tokens_overflows() {
    let price = *PriceList::default().of("gpt-6-astra").unwrap();
    let all = tokens(u64::MAX, u64::MAX, u64::MAX, u64::MAX);
    assert_eq!(price.request(all), Money::from_micros(i64::MAX));
    assert_eq!(all.plus(all), all);
    assert_eq!(all.read(), u64::MAX);
    assert_eq!(Tokens::default().less(all), Tokens::default());
}

#[test]
fn names_are_known_however_a_gateway_writes_them() {
    let list = PriceList::default();
    let wanted = list.of("claude-sonnet-4-5").unwrap();
    for name in [
        "claude-sonnet-4-5-20250929",
        "anthropic/claude-sonnet-4-5",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-sonnet-4-5[1m]",
        "Claude-Sonnet-4-5",
        "claude-sonnet-4-5@20250929",
    ] {
        assert_eq!(list.of(name), Some(wanted), "{name}");
    }
    assert_eq!(list.of("gpt-4o-2024-08-06"), list.of("gpt-4o"));
    assert_eq!(list.of("models/gemini-2.5-flash"), list.of("gemini-2.5-flash"));
    for unknown in ["", "scripted-1", "claude-sonnet-4-5-turbo", "-", "é-2025-08-07", "2025-08-07"] {
        assert_eq!(list.of(unknown), None, "{unknown}");
    }
}

#[test]
fn a_users_own_price_comes_first() {
    let dear = Rates {
        input: Money::dollars(100),
        cache_read: Money::dollars(100),
        cache_write: Money::dollars(100),
        output: Money::dollars(100),
    };
    let own = Price { rates: dear, long: None };
    let list = PriceList::default().with([("claude-sonnet-4-5".to_owned(), own), ("scripted-1".to_owned(), own)]);
    assert_eq!(list.of("anthropic/claude-sonnet-4-5"), Some(&own));
    assert_eq!(list.of("claude-sonnet-4-5-20250929"), Some(&own));
    assert_eq!(list.of("scripted-1"), Some(&own));
    assert_eq!(list.names().filter(|name| *name == "claude-sonnet-4-5").count(), 1);
}

#[test]
fn what_is_cached_for_an_hour_costs_twice_as_much_as_reading() {
    let rates = PriceList::default().of("claude-opus-4-5").unwrap().rates;
    let hour = Tokens { cache_write_hour: 1_000_000, ..Tokens::default() };
    assert_eq!(rates.cost(hour), rates.input + rates.input);
    assert_eq!((hour.read(), hour.cache_written()), (1_000_000, 1_000_000));
    // A sum that does not tell them apart holds them.
    let sum = Tokens { cache_write: 1_500_000, ..Tokens::default() };
    assert_eq!(sum.less(hour), Tokens { cache_write: 500_000, ..Tokens::default() });
    assert_eq!(hour.plus(sum).less(hour), sum);
}

#[test]
fn names_that_programs_resolve_themselves_have_the_price_of_their_model() {
    let list = PriceList::default();
    for (alias, model) in PriceList::aliases() {
        assert!(list.of(model).is_some() && list.of(alias) == list.of(model), "{alias}: {model}");
        assert!(list.names().all(|name| name != alias), "{alias} is a model, too");
    }
    for alias in ["haiku", "sonnet", "sonnet[1m]", "opus", "fable", "opusplan", "pro", "flash"] {
        assert!(list.of(alias).is_some(), "{alias}");
    }
    assert_eq!((list.of("default"), list.of("other/flash")), (None, None));
}

#[test]
fn a_usual_request_costs_what_its_model_does_or_something_in_the_middle() {
    let list = PriceList::default();
    let of = |model: &str| list.of(model).unwrap().request(Tokens::USUAL);
    assert_eq!(list.usual_request(Some("claude-opus-5-5")), of("claude-opus-5-5"));
    let middle = list.usual_request(None);
    assert!(middle > of("gpt-5-nano") && middle < of("gpt-5.5-pro"), "{middle}");
    assert_eq!(list.usual_request(Some("no-such-model")), middle);
}
