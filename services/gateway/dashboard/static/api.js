// Calls of the REST interface by a page of somebody who has signed in.

const ENDED = "Your session has ended. Sign in again in another tab, then come back and send this again.";

/** A refusal: its status, its message, and the problems of fields by their names. */
export class Refusal extends Error {
  constructor(status, message, fields = {}, code = "") {
    super(message);
    this.status = status;
    this.fields = fields;
    this.code = code;
  }
}

/** The JSON of the answer, null if there is none. Refusal: the server refused, or cannot be reached. */
export async function call(method, path, body, conditions = {}) {
  const type = body === undefined ? {} : { "Content-Type": "application/json" };
  const options = { method, headers: { ...type, ...conditions }, body: body && JSON.stringify(body) };
  return (await withToken(() => send(path, options))).value;
}

/** A resource as it is now: its value, and its ETag for If-Match. Refusal. */
export async function read(path) {
  return send(path, {});
}

/** Send what needs the token of the session; again if another session has begun in another tab. */
export async function withToken(work) {
  try {
    return await work();
  } catch (error) {
    if (error.code !== "CSRF_TOKEN_INVALID" || !(await renewToken())) throw error;
    return work();
  }
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Refusal(0, "The server cannot be reached. Check the connection, and try again.");
  }
  const text = await response.text();
  const value = isJson(response) && text ? JSON.parse(text) : null;
  if (!response.ok) throw parseRefusal(response.status, value, path);
  return { value, etag: response.headers.get("ETag") };
}

/** Take the token of a session that has begun in another tab; whether there is one. */
async function renewToken() {
  const response = await fetch("/session");
  if (!response.ok) return false;
  document.querySelector('meta[name="csrf-token"]').content = (await response.json()).csrf_token;
  return true;
}

function isJson(response) {
  return (response.headers.get("Content-Type") ?? "").startsWith("application/json");
}

/** The refusal in the answer to a request of this path. */
export function parseRefusal(status, answer, path) {
  if (status === 401 && path !== "/session") return new Refusal(status, ENDED);
  const detail = answer?.detail ?? `HTTP ${status}`;
  if (typeof detail === "string") return new Refusal(status, detail, {}, answer?.code);
  const fields = Object.fromEntries(detail.map((issue) => [String(issue.loc.at(-1)), issue.msg]));
  return new Refusal(status, detail.map((issue) => issue.msg).join("; "), fields, answer?.code);
}
