//! Expressions of xacro, `${...}`: numbers, texts and truth values in Python's notation, without lists, dictionaries
//! and methods.

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

    fn as_number(&self) -> Result<f64, String> {
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
pub(super) fn evaluate_expression(text: &str, lookup: Lookup<'_>) -> Result<Value, String> {
    let mut parser = Parser { tokens: split_into_tokens(text)?, at: 0, depth: 0, lookup, is_skipping: false };
    let value = parser.read_choice()?;
    match parser.next_token() {
        "" => Ok(value),
        other => Err(format!("'{other}' is not expected here")),
    }
}

fn split_into_tokens(text: &str) -> Result<Vec<String>, String> {
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
    fn next_token(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn take_next(&mut self) -> String {
        let token = self.next_token().to_owned();
        self.at += 1;
        token
    }

    fn take_token(&mut self, token: &str) -> bool {
        let is_it = self.next_token() == token;
        self.at += usize::from(is_it);
        is_it
    }

    fn expect_token(&mut self, token: &str) -> Result<(), String> {
        match self.take_token(token) {
            true => Ok(()),
            false => Err(format!("expected '{token}'")),
        }
    }

    /// Reads a part whose value counts only if it is wanted.
    fn read_part(&mut self, is_wanted: bool, read: fn(&mut Self) -> Result<Value, String>) -> Result<Value, String> {
        let outer = self.is_skipping;
        self.is_skipping |= !is_wanted;
        let value = read(self);
        self.is_skipping = outer;
        value
    }

    /// `A if CONDITION else B`.
    fn read_choice(&mut self) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        let start = self.at;
        // The condition decides, before its branches are evaluated.
        let skipped = self.read_part(false, Self::read_either)?;
        let value = if self.is_skipping {
            if self.take_token("if") {
                self.read_either()?;
                self.expect_token("else")?;
                self.read_choice()?;
            }
            Ok(skipped)
        } else if self.take_token("if") {
            let condition = self.read_either()?.is_true();
            self.expect_token("else")?;
            let after = self.at;
            if condition {
                self.read_part(false, Self::read_choice)?;
                let end = self.at;
                self.at = start;
                let value = self.read_either();
                self.at = end;
                value
            } else {
                self.at = after;
                self.read_choice()
            }
        } else {
            self.at = start;
            self.read_either()
        };
        self.depth -= 1;
        value
    }

    fn read_either(&mut self) -> Result<Value, String> {
        let mut value = self.read_both()?;
        while self.take_token("or") {
            let is_decided = value.is_true();
            let other = self.read_part(!is_decided, Self::read_both)?;
            value = if is_decided { value } else { other };
        }
        Ok(value)
    }

    fn read_both(&mut self) -> Result<Value, String> {
        let mut value = self.read_negation()?;
        while self.take_token("and") {
            let is_open = value.is_true();
            let other = self.read_part(is_open, Self::read_negation)?;
            value = if is_open { other } else { value };
        }
        Ok(value)
    }

    fn read_negation(&mut self) -> Result<Value, String> {
        let mut is_negated = None;
        while self.take_token("not") {
            is_negated = Some(!is_negated.unwrap_or(false));
        }
        let value = self.read_comparison()?;
        Ok(is_negated.map_or(value.clone(), |is_negated| Value::Truth(value.is_true() != is_negated)))
    }

    fn read_comparison(&mut self) -> Result<Value, String> {
        let one = self.read_sum()?;
        let operator = self.next_token().to_owned();
        if !["==", "!=", "<", ">", "<=", ">=", "in"].contains(&operator.as_str()) {
            return Ok(one);
        }
        self.at += 1;
        let other = self.read_sum()?;
        let is_equal = match (one.as_number(), other.as_number()) {
            (Ok(one), Ok(other)) => one == other,
            _ => one == other,
        };
        Ok(Value::Truth(match operator.as_str() {
            "==" => is_equal,
            "!=" => !is_equal,
            "in" => other.to_string().contains(&one.to_string()),
            _ if self.is_skipping => false,
            "<" => one.as_number()? < other.as_number()?,
            ">" => one.as_number()? > other.as_number()?,
            "<=" => one.as_number()? <= other.as_number()?,
            _ => one.as_number()? >= other.as_number()?,
        }))
    }

    fn read_sum(&mut self) -> Result<Value, String> {
        let mut value = self.read_product()?;
        while ["+", "-"].contains(&self.next_token()) {
            let operator = self.take_next();
            let other = self.read_product()?;
            value = match (value, other) {
                (Value::Text(one), Value::Text(other)) if operator == "+" => Value::Text(one + &other),
                (one, other) => self.calculate_pair(&operator, &one, &other)?,
            };
        }
        Ok(value)
    }

    fn read_product(&mut self) -> Result<Value, String> {
        let mut value = self.read_sign()?;
        while ["*", "/", "//", "%"].contains(&self.next_token()) {
            let operator = self.take_next();
            let other = self.read_sign()?;
            value = self.calculate_pair(&operator, &value, &other)?;
        }
        Ok(value)
    }

    fn calculate_pair(&self, operator: &str, one: &Value, other: &Value) -> Result<Value, String> {
        if self.is_skipping {
            return Ok(Value::Number(0.0));
        }
        let (a, b) = (one.as_number()?, other.as_number()?);
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

    fn read_sign(&mut self) -> Result<Value, String> {
        let (mut is_signed, mut is_negative) = (false, false);
        while ["+", "-"].contains(&self.next_token()) {
            is_negative ^= self.take_next() == "-";
            is_signed = true;
        }
        let value = self.read_power()?;
        match is_signed && !self.is_skipping {
            true => value.as_number().map(|number| Value::Number(if is_negative { -number } else { number })),
            false => Ok(value),
        }
    }

    fn read_power(&mut self) -> Result<Value, String> {
        let base = self.read_atom()?;
        if !self.take_token("**") {
            return Ok(base);
        }
        self.depth += 1;
        let exponent = if self.depth > MAX_DEPTH { Err("too many powers".into()) } else { self.read_sign() };
        self.depth -= 1;
        self.calculate_pair("**", &base, &exponent?)
    }

    fn read_atom(&mut self) -> Result<Value, String> {
        let token = self.take_next();
        let first = token.chars().next().ok_or("it ends too soon")?;
        if token == "(" {
            let value = self.read_choice()?;
            self.expect_token(")")?;
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
        if self.take_token("(") {
            let mut arguments = Vec::new();
            while !self.take_token(")") {
                arguments.push(self.read_choice()?);
                if !self.take_token(",") && self.next_token() != ")" {
                    return Err("expected ',' or ')'".into());
                }
            }
            return if self.is_skipping { Ok(Value::Number(0.0)) } else { call_function(name, &arguments) };
        }
        match name {
            _ if self.next_token() == "[" => Err(format!("'{token}[...]' is a list or dictionary")),
            "True" | "true" => Ok(Value::Truth(true)),
            "False" | "false" => Ok(Value::Truth(false)),
            "None" => Ok(Value::Text(String::new())),
            _ if self.is_skipping => Ok(Value::Number(0.0)),
            _ => (self.lookup)(name).or_else(|problem| if name == "pi" { Ok(Value::Number(PI)) } else { Err(problem) }),
        }
    }
}

fn call_function(name: &str, arguments: &[Value]) -> Result<Value, String> {
    let number = |index: usize| arguments.get(index).ok_or(format!("{name}() lacks an argument"))?.as_number();
    let all = || arguments.iter().map(Value::as_number).collect::<Result<Vec<f64>, String>>();
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
            let given = Value::of_text(&given.to_string()).as_number()?;
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
        evaluate_expression(text, &mut lookup).map(|value| value.to_string())
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
