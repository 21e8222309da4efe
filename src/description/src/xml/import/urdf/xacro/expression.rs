//! Expressions of xacro, `${...}`: numbers, texts and truth values in Python's notation, without lists, dictionaries and
//! methods.

use std::f64::consts::PI;

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Text(String),
    Truth(bool),
}

impl Value {
    /// A text of a file as xacro takes it: a number or a truth value if it looks like one.
    pub(super) fn of_text(text: &str) -> Self {
        let bare = text.trim();
        match bare {
            "true" | "True" => Self::Truth(true),
            "false" | "False" => Self::Truth(false),
            _ => match bare.parse::<f64>() {
                Ok(number) if number.is_finite() && !bare.is_empty() => Self::Number(number),
                _ => Self::Text(text.to_owned()),
            },
        }
    }

    /// True for what `<xacro:if>` takes as true; `None` for a text that is neither.
    pub(super) fn as_condition(&self) -> Option<bool> {
        match self {
            Self::Truth(truth) => Some(*truth),
            Self::Number(number) => Some(*number != 0.0),
            Self::Text(text) => match Self::of_text(text) {
                Self::Text(_) => None,
                value => value.as_condition(),
            },
        }
    }

    fn is_true(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_empty(),
            value => value.as_condition().unwrap_or_default(),
        }
    }

    fn number(&self) -> Result<f64, String> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Truth(truth) => Ok(f64::from(u8::from(*truth))),
            Self::Text(text) => Err(format!("'{text}' is no number")),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
            Self::Truth(truth) => formatter.write_str(if *truth { "True" } else { "False" }),
        }
    }
}

/// Deepest nesting of parentheses and signs.
const MAX_DEPTH: usize = 64;
/// Two-character operators, which are looked for before those of one character.
const LONG_OPERATORS: [&str; 6] = ["**", "//", "==", "!=", "<=", ">="];

/// Looks up the value of a name.
type Lookup<'l> = &'l mut dyn FnMut(&str) -> Result<Value, String>;

/// Evaluates an expression; the error is a clause.
pub(super) fn evaluate(text: &str, lookup: Lookup<'_>) -> Result<Value, String> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0, lookup, is_skipping: false };
    let value = parser.choice()?;
    match parser.peek() {
        "" => Ok(value),
        other => Err(format!("'{other}' is not expected here")),
    }
}

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let word = |is_part: &dyn Fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let length = if first == '\'' || first == '"' {
            let end = rest[1..].find(first).ok_or("a text has no closing quote")?;
            end + 2
        } else if first.is_ascii_digit() || first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
            let mantissa = word(&|c| c.is_ascii_digit() || c == '.');
            let exponent = rest[mantissa..].strip_prefix(['e', 'E']).map(|rest| rest.trim_start_matches(['+', '-']));
            let digits =
                exponent.map(|exponent| exponent.find(|c: char| !c.is_ascii_digit()).unwrap_or(exponent.len()));
            match (exponent, digits) {
                (Some(exponent), Some(digits)) if digits > 0 => rest.len() - exponent.len() + digits,
                _ => mantissa,
            }
        } else if first.is_alphabetic() || first == '_' {
            word(&|c| c.is_alphanumeric() || c == '_' || c == '.')
        } else if LONG_OPERATORS.iter().any(|operator| rest.starts_with(operator)) {
            2
        } else {
            first.len_utf8()
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct Parser<'l> {
    tokens: Vec<String>,
    at: usize,
    depth: usize,
    lookup: Lookup<'l>,
    /// True while a branch is read that is not taken: its names need no value.
    is_skipping: bool,
}

impl Parser<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        let token = self.peek().to_owned();
        self.at += 1;
        token
    }

    fn take(&mut self, token: &str) -> bool {
        let is_it = self.peek() == token;
        self.at += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        match self.take(token) {
            true => Ok(()),
            false => Err(format!("expected '{token}'")),
        }
    }

    /// Reads a part whose value counts only if it is wanted.
    fn part(&mut self, is_wanted: bool, read: fn(&mut Self) -> Result<Value, String>) -> Result<Value, String> {
        let outer = self.is_skipping;
        self.is_skipping |= !is_wanted;
        let value = read(self);
        self.is_skipping = outer;
        value
    }

    /// `A if CONDITION else B`.
    fn choice(&mut self) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        let start = self.at;
        // The condition decides, before its branches are evaluated.
        let skipped = self.part(false, Self::either)?;
        let value = if self.is_skipping {
            if self.take("if") {
                self.either()?;
                self.expect("else")?;
                self.choice()?;
            }
            Ok(skipped)
        } else if self.take("if") {
            let condition = self.either()?.is_true();
            self.expect("else")?;
            let after = self.at;
            if condition {
                self.part(false, Self::choice)?;
                let end = self.at;
                self.at = start;
                let value = self.either();
                self.at = end;
                value
            } else {
                self.at = after;
                self.choice()
            }
        } else {
            self.at = start;
            self.either()
        };
        self.depth -= 1;
        value
    }

    fn either(&mut self) -> Result<Value, String> {
        let mut value = self.both()?;
        while self.take("or") {
            let is_decided = value.is_true();
            let other = self.part(!is_decided, Self::both)?;
            value = if is_decided { value } else { other };
        }
        Ok(value)
    }

    fn both(&mut self) -> Result<Value, String> {
        let mut value = self.negation()?;
        while self.take("and") {
            let is_open = value.is_true();
            let other = self.part(is_open, Self::negation)?;
            value = if is_open { other } else { value };
        }
        Ok(value)
    }

    fn negation(&mut self) -> Result<Value, String> {
        let mut is_negated = None;
        while self.take("not") {
            is_negated = Some(!is_negated.unwrap_or(false));
        }
        let value = self.comparison()?;
        Ok(is_negated.map_or(value.clone(), |is_negated| Value::Truth(value.is_true() != is_negated)))
    }

    fn comparison(&mut self) -> Result<Value, String> {
        let one = self.sum()?;
        let operator = self.peek().to_owned();
        if !["==", "!=", "<", ">", "<=", ">=", "in"].contains(&operator.as_str()) {
            return Ok(one);
        }
        self.at += 1;
        let other = self.sum()?;
        let is_equal = match (one.number(), other.number()) {
            (Ok(one), Ok(other)) => one == other,
            _ => one == other,
        };
        Ok(Value::Truth(match operator.as_str() {
            "==" => is_equal,
            "!=" => !is_equal,
            "in" => other.to_string().contains(&one.to_string()),
            _ if self.is_skipping => false,
            "<" => one.number()? < other.number()?,
            ">" => one.number()? > other.number()?,
            "<=" => one.number()? <= other.number()?,
            _ => one.number()? >= other.number()?,
        }))
    }

    fn sum(&mut self) -> Result<Value, String> {
        let mut value = self.product()?;
        while ["+", "-"].contains(&self.peek()) {
            let operator = self.next();
            let other = self.product()?;
            value = match (value, other) {
                (Value::Text(one), Value::Text(other)) if operator == "+" => Value::Text(one + &other),
                (one, other) => self.calculate(&operator, &one, &other)?,
            };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Value, String> {
        let mut value = self.sign()?;
        while ["*", "/", "//", "%"].contains(&self.peek()) {
            let operator = self.next();
            let other = self.sign()?;
            value = self.calculate(&operator, &value, &other)?;
        }
        Ok(value)
    }

    fn calculate(&self, operator: &str, one: &Value, other: &Value) -> Result<Value, String> {
        if self.is_skipping {
            return Ok(Value::Number(0.0));
        }
        let (a, b) = (one.number()?, other.number()?);
        if b == 0.0 && ["/", "//", "%"].contains(&operator) {
            return Err("it divides by zero".into());
        }
        Ok(Value::Number(match operator {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            "/" => a / b,
            "//" => (a / b).floor(),
            "%" => a - b * (a / b).floor(),
            _ => libm::pow(a, b),
        }))
    }

    fn sign(&mut self) -> Result<Value, String> {
        let (mut is_signed, mut is_negative) = (false, false);
        while ["+", "-"].contains(&self.peek()) {
            is_negative ^= self.next() == "-";
            is_signed = true;
        }
        let value = self.power()?;
        match is_signed && !self.is_skipping {
            true => value.number().map(|number| Value::Number(if is_negative { -number } else { number })),
            false => Ok(value),
        }
    }

    fn power(&mut self) -> Result<Value, String> {
        let base = self.atom()?;
        if !self.take("**") {
            return Ok(base);
        }
        self.depth += 1;
        let exponent = if self.depth > MAX_DEPTH { Err("too many powers".into()) } else { self.sign() };
        self.depth -= 1;
        self.calculate("**", &base, &exponent?)
    }

    fn atom(&mut self) -> Result<Value, String> {
        let token = self.next();
        let first = token.chars().next().ok_or("it ends too soon")?;
        if token == "(" {
            let value = self.choice()?;
            self.expect(")")?;
            return Ok(value);
        }
        if first == '\'' || first == '"' {
            return Ok(Value::Text(token[1..token.len() - 1].to_owned()));
        }
        if first.is_ascii_digit() || first == '.' {
            return token.parse().map(Value::Number).map_err(|_| format!("'{token}' is no number"));
        }
        if !(first.is_alphabetic() || first == '_') {
            return Err(format!("'{token}' is not known here"));
        }
        let name = token.strip_prefix("math.").unwrap_or(&token);
        if self.take("(") {
            let mut arguments = Vec::new();
            while !self.take(")") {
                arguments.push(self.choice()?);
                if !self.take(",") && self.peek() != ")" {
                    return Err("expected ',' or ')'".into());
                }
            }
            return if self.is_skipping { Ok(Value::Number(0.0)) } else { call(name, &arguments) };
        }
        match name {
            _ if self.peek() == "[" => Err(format!("'{token}[...]' is a list or dictionary")),
            "True" | "true" => Ok(Value::Truth(true)),
            "False" | "false" => Ok(Value::Truth(false)),
            "None" => Ok(Value::Text(String::new())),
            _ if self.is_skipping => Ok(Value::Number(0.0)),
            _ => (self.lookup)(name).or_else(|problem| if name == "pi" { Ok(Value::Number(PI)) } else { Err(problem) }),
        }
    }
}

fn call(name: &str, arguments: &[Value]) -> Result<Value, String> {
    let number = |index: usize| arguments.get(index).ok_or(format!("{name}() lacks an argument"))?.number();
    let all = || arguments.iter().map(Value::number).collect::<Result<Vec<f64>, String>>();
    Ok(Value::Number(match name {
        "radians" => number(0)?.to_radians(),
        "degrees" => number(0)?.to_degrees(),
        "sin" => libm::sin(number(0)?),
        "cos" => libm::cos(number(0)?),
        "tan" => libm::tan(number(0)?),
        "asin" => libm::asin(number(0)?),
        "acos" => libm::acos(number(0)?),
        "atan" => libm::atan(number(0)?),
        "atan2" => libm::atan2(number(0)?, number(1)?),
        "sqrt" => number(0)?.sqrt(),
        "pow" => libm::pow(number(0)?, number(1)?),
        "abs" | "fabs" => number(0)?.abs(),
        "floor" => number(0)?.floor(),
        "ceil" => number(0)?.ceil(),
        "round" => number(0)?.round(),
        "min" => all()?.into_iter().fold(f64::INFINITY, f64::min),
        "max" => all()?.into_iter().fold(f64::NEG_INFINITY, f64::max),
        "float" | "int" => {
            let Some(given) = arguments.first() else { return Err(format!("{name}() lacks an argument")) };
            let given = Value::of_text(&given.to_string()).number()?;
            if name == "int" { given.trunc() } else { given }
        }
        "len" => arguments.first().map_or(0, |text| text.to_string().chars().count()) as f64,
        "str" => return Ok(Value::Text(arguments.first().map(Value::to_string).unwrap_or_default())),
        "bool" => return Ok(Value::Truth(arguments.first().is_some_and(Value::is_true))),
        _ => return Err(format!("the function {name}() is not known here")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<String, String> {
        let mut lookup = |name: &str| match name {
            "x" => Ok(Value::Number(2.5)),
            "side" => Ok(Value::Text("left".into())),
            _ => Err(format!("there is no '{name}'")),
        };
        evaluate(text, &mut lookup).map(|value| value.to_string())
    }

    #[test]
    fn expressions_have_the_values_of_python() {
        for (text, value) in [
            ("1 + 2*3", "7"),
            ("-2**2", "-4"),
            ("2**-1", "0.5"),
            ("(1+x) * -2", "-7"),
            ("7 // 2 + 7 % 4", "6"),
            ("1e-3*1000", "1"),
            ("radians(180) == pi", "True"),
            ("math.pi > 3 and not x < 1", "True"),
            ("1 if side == 'left' else missing", "1"),
            ("missing if side == 'right' else 'a' + \"b\"", "ab"),
            ("side + '_wheel'", "left_wheel"),
            ("max(1, x, 2) - min(3, 2)", "0.5"),
            ("True or missing", "True"),
            ("'ef' in side", "True"),
            ("int('3') + len(side)", "7"),
        ] {
            assert_eq!(of(text).as_deref(), Ok(value), "{text}");
        }
    }

    #[test]
    fn wrong_expressions_are_told() {
        let deep = "(".repeat(1000);
        for (text, what) in [
            ("missing", "there is no 'missing'"),
            ("1 +", "ends too soon"),
            ("1 2", "'2' is not expected"),
            ("1/0", "divides by zero"),
            ("'a", "closing quote"),
            ("side * 2", "'left' is no number"),
            ("x['a']", "list or dictionary"),
            ("load(1)", "load() is not known"),
            ("[1, 2]", "'[' is not known"),
            (&deep, "nested"),
        ] {
            let problem = of(text).unwrap_err();
            assert!(problem.contains(what), "{text}: {problem}");
        }
    }
}
