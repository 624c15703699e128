//! The one way in which a key or a proof fails.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The bytes of the key are not those of one.
    Key,
    /// The bytes of the proof are not those of one.
    Proof,
    /// The proof does not hold for the key.
    Invalid,
    /// The proof holds, but not with the security, or for the model, that was asked for.
    Policy,
}

/// Why a key or a proof is refused. It is one pointer, so that results without an error are passed on quickly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Cause>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Cause {
    kind: Kind,
    text: String,
}

/// What everything here returns.
pub type Result<T> = core::result::Result<T, Error>;

impl Error {
    /// The kind of failure.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The cause in words, without the kind.
    pub fn cause(&self) -> &str {
        &self.0.text
    }

    #[cold]
    pub(crate) fn new(text: impl Into<String>) -> Error {
        Error(Box::new(Cause { kind: Kind::Invalid, text: text.into() }))
    }

    #[cold]
    pub(crate) fn of(mut self, kind: Kind) -> Error {
        self.0.kind = kind;
        self
    }

    /// Puts where it happened in front.
    #[cold]
    pub(crate) fn within(mut self, place: impl fmt::Display) -> Error {
        self.0.text = format!("{place}: {}", self.0.text);
        self
    }

    /// Puts a part of the path to a field in front; `text` begins with such a path or with a colon.
    #[cold]
    pub(crate) fn at(mut self, part: impl fmt::Display) -> Error {
        let text = &self.0.text;
        let between = if text.starts_with(['.', '[', ':']) { "" } else { ": " };
        self.0.text = format!("{part}{between}{text}");
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0.kind {
            Kind::Key => "malformed key",
            Kind::Proof => "proof: malformed",
            Kind::Invalid | Kind::Policy => "proof is not valid",
        };
        write!(f, "{kind}: {}", self.0.text)
    }
}

impl core::error::Error for Error {}

/// An error with a text as `format!` makes it.
macro_rules! fail {
    ($($text:tt)*) => { Err($crate::error::Error::new(alloc::format!($($text)*))) };
}

/// Returns such an error unless a condition holds.
macro_rules! require {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return $crate::error::fail!($($text)*);
        }
    };
}

pub(crate) use {fail, require};
