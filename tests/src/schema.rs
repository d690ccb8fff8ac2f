//! Judges JSON by the schemas in `docs/schemas`: as much of JSON Schema as they use.
//!
//! A document says by its field `schema` which file it is judged by: `sapphire.check/1` is
//! `docs/schemas/sapphire.check-1.json`. The judge is stricter than a program that reads documents
//! should be. What a schema does not name is a fault here, so that a field that is printed is one
//! that is documented; and a keyword that the judge does not know ends the test, so that nothing is
//! taken for judged that is not.
//!
//! ```text
//! {"schema": "sapphire.compare/1", "asked": 3, "answered": "3"}
//!   answered: expected integer, found "3"
//!   missing: different
//! ```

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// The folder of the schemas.
pub fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas")
}

/// The file of a schema. Errors: the name has no version.
pub fn file(name: &str) -> Result<PathBuf> {
    let (name, version) = name.split_once('/').context("NAME/VERSION")?;
    Ok(directory().join(format!("{name}-{version}.json")))
}

/// Judges a document by the schema that it names, which is returned. Errors: it names none, there is
/// no such file, or every fault.
pub fn judge(document: &Value) -> Result<String> {
    let name = document["schema"].as_str();
    let name = name.with_context(|| format!("no schema is named: {document}"))?;
    let path = file(name)?;
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let root: Value = serde_json::from_str(&text).with_context(|| name.to_owned())?;
    let mut judge = Judge {
        root: &root,
        faults: Vec::new(),
    };
    judge.value(&root, document, "")?;
    let faults = judge.faults.join("\n  ");
    ensure!(faults.is_empty(), "{name}:\n  {faults}\nin {document}");
    Ok(name.to_owned())
}

struct Judge<'a> {
    root: &'a Value,
    faults: Vec<String>,
}

impl<'a> Judge<'a> {
    /// Errors: the schema is none, or uses what this does not know.
    fn value(&mut self, schema: &'a Value, value: &Value, place: &str) -> Result<()> {
        let keywords = schema.as_object().context("a schema is an object")?;
        for (keyword, said) in keywords {
            match keyword.as_str() {
                "type" if !is_of(said, value)? => self.fault(place, &expected(said), value),
                "const" if said != value => self.fault(place, &said.to_string(), value),
                "enum" if !said.as_array().context("enum")?.contains(value) => {
                    self.fault(place, &format!("one of {said}"), value);
                }
                "minimum" if value.as_f64() < said.as_f64() && value.is_number() => {
                    self.fault(place, &format!("{said} or more"), value);
                }
                "$ref" => {
                    let path = said.as_str().and_then(|path| path.strip_prefix('#'));
                    let target = path.and_then(|path| self.root.pointer(path));
                    let target = target.with_context(|| format!("{said} is not there"))?;
                    self.value(target, value, place)?;
                }
                "anyOf" => self.any(said, value, place)?,
                "items" => {
                    for (nth, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.value(said, item, &format!("{place}[{nth}]"))?;
                    }
                }
                "properties" => {
                    let properties = said.as_object().context("properties")?;
                    for (name, field) in value.as_object().into_iter().flatten() {
                        match properties.get(name) {
                            Some(schema) => {
                                self.value(schema, field, &format!("{place}.{name}"))?
                            }
                            None => self
                                .faults
                                .push(format!("{place}: {name} is not documented")),
                        }
                    }
                }
                "additionalProperties" => {
                    for (name, field) in value.as_object().into_iter().flatten() {
                        self.value(said, field, &format!("{place}.{name}"))?;
                    }
                }
                // It says nothing of what is no object, such as null.
                "required" if value.is_object() => {
                    let names = said.as_array().context("required")?.iter();
                    let is_absent =
                        |name: &&Value| name.as_str().is_some_and(|it| value.get(it).is_none());
                    for name in names.filter(is_absent) {
                        self.faults.push(format!("{place}: {name} is missing"));
                    }
                }
                "type" | "const" | "enum" | "minimum" | "required" => {}
                "$schema" | "$defs" | "title" | "description" => {}
                other => bail!("{place}: the judge does not know `{other}`"),
            }
        }
        Ok(())
    }

    /// Of what does not hold for any, what the last one says is told.
    fn any(&mut self, schemas: &'a Value, value: &Value, place: &str) -> Result<()> {
        let mut least = Vec::new();
        for schema in schemas.as_array().context("anyOf")? {
            let mut judge = Judge {
                root: self.root,
                faults: Vec::new(),
            };
            judge.value(schema, value, place)?;
            if judge.faults.is_empty() {
                return Ok(());
            }
            least = judge.faults;
        }
        self.faults.extend(least);
        Ok(())
    }

    fn fault(&mut self, place: &str, expected: &str, value: &Value) {
        self.faults
            .push(format!("{place}: expected {expected}, found {value}"));
    }
}

/// Whether a value is of a type, or of one of several.
fn is_of(said: &Value, value: &Value) -> Result<bool> {
    match said {
        Value::Array(types) => types
            .iter()
            .try_fold(false, |is, one| Ok(is || is_of(one, value)?)),
        _ => Ok(match said.as_str().context("type")? {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            "number" => value.is_number(),
            "integer" => value.is_u64() || value.is_i64(),
            other => bail!("the judge does not know the type `{other}`"),
        }),
    }
}

fn expected(types: &Value) -> String {
    match types {
        Value::Array(types) => {
            let types = types.iter().filter_map(Value::as_str);
            types.collect::<Vec<_>>().join(" or ")
        }
        one => one.as_str().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_fault_is_found() {
        let whole =
            json!({"schema": "sapphire.compare/1", "asked": 3, "answered": 3, "different": 0});
        assert_eq!(judge(&whole).unwrap(), "sapphire.compare/1");
        for (field, value, fault) in [
            ("asked", json!("3"), "asked: expected integer, found \"3\""),
            ("asked", json!(-3), "asked: expected 0 or more"),
            ("more", json!(3), "more is not documented"),
            (
                "schema",
                json!("sapphire.compare/0"),
                "sapphire.compare-0.json",
            ),
            ("schema", json!(null), "no schema is named"),
        ] {
            let mut other = whole.clone();
            other[field] = value;
            let found = format!("{:?}", judge(&other).unwrap_err());
            assert!(found.contains(fault), "{found}");
        }
        let short = json!({"schema": "sapphire.compare/1", "asked": 3, "answered": 3});
        let found = judge(&short).unwrap_err().to_string();
        assert!(found.contains("\"different\" is missing"), "{found}");
    }
}
