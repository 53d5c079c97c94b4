// Calls of the REST interface by a page of somebody who has signed in.
import { announceSessionEnd, csrfToken, renewToken } from "./session.js";

const ENDED = "Your session has ended. Sign in again in another tab, then come back and send this again.";
const UNREACHABLE = "The server cannot be reached. Check the connection, and try again.";

/**
 * A refusal: its status, its message, the problems of fields by their names, its code for programs, the kinds of the problems, and
 * all problems with the paths of their fields ("run_config.env.USER", "tags.0").
 */
export class Refusal extends Error {
  constructor(status, message, fields = {}, code = "", kinds = {}, issues = []) {
    super(message);
    this.status = status;
    this.fields = fields;
    this.code = code;
    this.kinds = kinds;
    this.issues = issues;
  }
}

/** The JSON of the answer, null if there is none. Refusal: the server refused, or cannot be reached. */
export async function call(method, path, body, headers = {}) {
  return (await exchange(method, path, body, { headers })).answer;
}

/**
 * The JSON of the answer, or its text, and its ETag; the body is a form, or sent as JSON; `options` are those of fetch.
 * Refusal, and AbortError after an abort.
 */
export async function exchange(method, path, body, options = {}) {
  const isForm = body instanceof FormData;
  const type = body === undefined || isForm ? {} : { "Content-Type": "application/json" };
  const content = body === undefined || isForm ? body : JSON.stringify(body);
  const request = { ...options, method, headers: { ...type, ...options.headers }, body: content };
  return withToken(() => send(path, request));
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

async function send(path, request) {
  let response, text;
  try {
    const headers = { ...request.headers, Prefer: "handling=strict", "X-CSRF-Token": csrfToken() };
    response = await fetch(path, { ...request, headers });
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, UNREACHABLE);
  }
  const answer = isJson(response) && text ? JSON.parse(text) : null;
  if (!response.ok) throw parseRefusal(response.status, answer, path);
  return { answer: answer ?? (text || null), etag: response.headers.get("ETag") };
}

function isJson(response) {
  return (response.headers.get("Content-Type") ?? "").startsWith("application/json");
}

/** The refusal in the answer to a request of this path; the end of the session is also shown on the page. */
export function parseRefusal(status, answer, path) {
  if (status === 401 && path !== "/session") {
    announceSessionEnd();
    return new Refusal(status, ENDED);
  }
  const detail = answer?.detail ?? `The server does not answer as it should (HTTP ${status}). Try again in a moment.`;
  if (typeof detail === "string") return new Refusal(status, detail, {}, answer?.code);
  const byField = (part) => Object.fromEntries(detail.map((issue) => [String(issue.loc.at(-1)), issue[part]]));
  const issues = detail.map(({ loc, msg, type }) => ({ path: loc.slice(1).join(".").replace(/\[(\d+)\]/g, ".$1"), message: msg, kind: type }));
  return new Refusal(status, detail.map((issue) => issue.msg).join("; "), byField("msg"), answer?.code, byField("type"), issues);
}
