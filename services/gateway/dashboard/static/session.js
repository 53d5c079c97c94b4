// The session of this page: its CSRF token, and its end, after which somebody can sign in in another tab; what was typed stays.
import { removeToast, showToast } from "./toast.js";

const SIGNED_OUT = "You are no longer signed in.";
const LINK = { href: "/sign-in", text: "Sign in" };

let isEnded = false;

/** The token that requests send in X-CSRF-Token, read each time because a new sign-in replaces it; "" if there is none. */
export function csrfToken() {
  return document.querySelector('meta[name="csrf-token"]')?.content ?? "";
}

/** Take the token of a session that has begun in another tab; whether there is one. */
export async function renewToken() {
  const response = await fetch("/session");
  if (!response.ok) return false;
  document.querySelector('meta[name="csrf-token"]').content = (await response.json()).csrf_token;
  return true;
}

/** Whether its end was announced, and no page has been received since. */
export function isSessionEnded() {
  return isEnded;
}

export function announceSessionEnd() {
  isEnded = true;
  showToast(SIGNED_OUT, "failed", LINK);
}

/** The server has answered with a page again. */
export function withdrawSessionEnd() {
  isEnded = false;
  removeToast(SIGNED_OUT);
}
