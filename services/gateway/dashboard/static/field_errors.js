// What the REST interface says of a field, in the words of the form that shows it.

// How the decoder begins what it says of a missing field; other texts about one say more than that.
const MISSING = "Field required";
const impossible = (label) => `"${label}" has characters that are not possible here.`;
const SENTENCES = {
  missing: (label) => `Fill in "${label}".`,
  string_too_short: (label, number) => (number === "1" ? `Fill in "${label}".` : `"${label}" needs at least ${number} characters.`),
  string_too_long: (label, number) => `"${label}" has at most ${number} characters: make it shorter.`,
  string_pattern_mismatch: impossible,
  string_single_line: impossible,
  string_multi_line: impossible,
  enum: (label) => `Choose another value for "${label}".`,
  string_type: (label) => `"${label}" must be a text.`,
  int_type: (label) => `"${label}" must be a whole number.`,
  int_parsing: (label) => `"${label}" must be a whole number.`,
  greater_than_equal: (label, number) => `"${label}" must be at least ${number}.`,
  less_than_equal: (label, number) => `"${label}" must be at most ${number}.`,
  timezone_aware: (label) => `Choose a date and a time for "${label}".`,
};

/** A sentence about a field of a form. `message` and `kind` are what the interface says of it; without a kind the message stays. */
export function sentenceOf(field, message, kind) {
  const label = labelOf(field);
  if (!label || !kind || (kind === "missing" && !message.startsWith(MISSING))) return message;
  if (kind.startsWith("datetime_")) return SENTENCES.timezone_aware(label);
  const sentence = SENTENCES[kind]?.(label, message.match(/\d+/)?.[0]);
  return sentence ?? (/^(must|needs|has) /.test(message) ? `"${label}" ${message}.` : message);
}

/** What an error says of the field of a form, or of a part of it: its message and its kind; undefined if nothing. */
export function problemOf(name, { fields = {}, kinds = {}, issues = [] }) {
  if (!name) return undefined;
  const within = issues.find(({ path }) => `${path.replace(/^run_config\./, "")}.`.startsWith(`${name}.`));
  return within ?? (name in fields ? { message: fields[name], kind: kinds[name] } : undefined);
}

/** What people see as the name of a field; "" if it has none. */
function labelOf(field) {
  const label = field.labels?.[0]?.textContent ?? field.querySelector?.("legend")?.textContent ?? field.getAttribute("aria-label");
  return (label ?? "").trim();
}
