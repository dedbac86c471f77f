//! How times, money and spans are written where programs read them: RFC 3339, dollars, seconds.

/// A time as RFC 3339.
pub mod moment {
    use std::fmt;

    use crate::Timestamp;
    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&at.rfc3339())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        struct Moment;
        impl Visitor<'_> for Moment {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time like 2026-11-15T10:00:00Z")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
                let parsed: jiff::Timestamp = text.parse().map_err(E::custom)?;
                Ok(Timestamp(parsed.as_millisecond()))
            }
        }
        deserializer.deserialize_str(Moment)
    }
}

/// A time as RFC 3339, or null.
pub mod optional_moment {
    use crate::Timestamp;
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Moment(#[serde(with = "super::moment")] Timestamp);

    pub fn serialize<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        at.map(Moment).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<Moment>::deserialize(deserializer)?.map(|Moment(at)| at))
    }
}

/// Money as a number of dollars.
pub mod dollars {
    use crate::Money;
    use serde::de::{Deserialize as _, Deserializer, Error as _};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(amount: &Money, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(amount.to_json_number())
    }

    /// Reads the nearest micro-dollar: other writers may have summed floats.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Money, D::Error> {
        let micros = (f64::deserialize(deserializer)? * 1e6).round();
        // Up to 2^53 a float holds every whole number.
        if !(0.0..=9e15).contains(&micros) {
            return Err(D::Error::custom("expected an amount in dollars"));
        }
        #[expect(clippy::cast_possible_truncation, reason = "whole and in range by the lines above")]
        Ok(Money::from_micros(micros as i64))
    }
}

/// Money as a number of dollars, or null.
pub mod optional_dollars {
    use crate::Money;
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Dollars(#[serde(with = "super::dollars")] Money);

    pub fn serialize<S: Serializer>(amount: &Option<Money>, serializer: S) -> Result<S::Ok, S::Error> {
        amount.map(Dollars).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Money>, D::Error> {
        Ok(Option::<Dollars>::deserialize(deserializer)?.map(|Dollars(amount)| amount))
    }
}

/// A span as a number of seconds.
pub mod seconds {
    use crate::Millis;
    use serde::de::{Deserialize as _, Deserializer, Error as _};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(span: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(span.as_seconds())
    }

    /// Reads a span to the millisecond.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Millis, D::Error> {
        let millis = (f64::deserialize(deserializer)? * 1e3).round();
        if !(0.0..=9e15).contains(&millis) {
            return Err(D::Error::custom("expected a duration in seconds"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and in range by the lines above"
        )]
        Ok(Millis(millis as u64))
    }
}
