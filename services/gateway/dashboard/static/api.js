// Calls of the REST interface by a page of somebody who has signed in.

/** A refusal: its status, its message, and the problems of fields by their names. */
export class Refusal extends Error {
  constructor(status, message, fields) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

/** The JSON of the answer, null if there is none. Refusal: the server refused, or cannot be reached. */
export async function call(method, path, body, conditions = {}) {
  const type = body === undefined ? {} : { "Content-Type": "application/json" };
  return (await send(path, { method, headers: { ...type, ...conditions }, body: body && JSON.stringify(body) })).value;
}

/** A resource as it is now: its value, and its ETag for If-Match. Refusal. */
export async function read(path) {
  return send(path, {});
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Refusal(0, "The server cannot be reached. Check the connection, and try again.", {});
  }
  const text = await response.text();
  const value = isJson(response) && text ? JSON.parse(text) : null;
  if (!response.ok) throw parseRefusal(response.status, value);
  return { value, etag: response.headers.get("ETag") };
}

function isJson(response) {
  return (response.headers.get("Content-Type") ?? "").startsWith("application/json");
}

/** The refusal in an answer of the server. */
export function parseRefusal(status, answer) {
  const detail = answer?.detail ?? `HTTP ${status}`;
  if (typeof detail === "string") return new Refusal(status, detail, {});
  const fields = Object.fromEntries(detail.map((issue) => [String(issue.loc.at(-1)), issue.msg]));
  return new Refusal(status, detail.map((issue) => issue.msg).join("; "), fields);
}
