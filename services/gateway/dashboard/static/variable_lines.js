// Variables as lines: NAME=value, NAME={secret: name-of-a-secret}, or NAME={"value": "...", "secret": true} as in the API.

const SECRET = /^\{\s*"?secret"?\s*:\s*"?([\w.-]+)"?\s*\}$/;

/** The variables by name, null if there are none. Error with `fields`: a line that is none. */
export function parseVariables(text) {
  const env = {};
  for (const line of text.split(/\r?\n/)) {
    if (!line.trim()) continue;
    const place = line.indexOf("=");
    const name = line.slice(0, place).trim();
    if (place < 1 || !name) throw refusal(`"${line.trim().slice(0, 40)}" is no variable: write NAME=value, one a line.`);
    if (name in env) throw refusal(`${name} is there twice.`);
    env[name] = valueOf(line.slice(place + 1).trim());
  }
  return Object.keys(env).length ? env : null;
}

function valueOf(text) {
  const secret = SECRET.exec(text);
  if (secret) return { secret: secret[1] };
  if (!text.startsWith("{")) return text;
  if (/^\{\s*secret\s*:/.test(text)) throw refusal("Write the name of a secret as {secret: name}, with letters, digits and . _ -");
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function refusal(message) {
  return Object.assign(new Error(message), { fields: { env: message } });
}
