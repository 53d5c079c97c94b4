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
export async function call(method, path, body) {
  return (await exchange(method, path, body)).answer;
}

/**
 * The JSON of the answer, or its text, and its ETag; the body is a form, or sent as JSON; `options` are those of fetch.
 * Refusal, and AbortError after an abort.
 */
export async function exchange(method, path, body, options = {}) {
  const isForm = body instanceof FormData;
  const headers = body === undefined || isForm ? {} : { "Content-Type": "application/json" };
  const content = body === undefined || isForm ? body : JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, { ...options, method, headers: { ...headers, ...options.headers }, body: content });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The server cannot be reached. Check the connection, and try again.", {});
  }
  const text = await response.text();
  const answer = isJson(response) && text ? JSON.parse(text) : null;
  if (!response.ok) throw refusal(response.status, answer);
  return { answer: answer ?? (text || null), etag: response.headers.get("ETag") };
}

function isJson(response) {
  return (response.headers.get("Content-Type") ?? "").startsWith("application/json");
}

function refusal(status, answer) {
  const detail = answer?.detail ?? `HTTP ${status}`;
  if (typeof detail === "string") return new Refusal(status, detail, {});
  const fields = Object.fromEntries(detail.map((issue) => [String(issue.loc.at(-1)), issue.msg]));
  return new Refusal(status, detail.map((issue) => issue.msg).join("; "), fields);
}
