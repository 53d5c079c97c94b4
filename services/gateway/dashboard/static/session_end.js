// Says that the session has ended, and offers to sign in in another tab: what was typed on this page stays.
import { removeToast, showToast } from "./toast.js";

const SIGNED_OUT = "You are no longer signed in.";
const LINK = { href: "/sign-in", text: "Sign in" };

let isEnded = false;

/** Whether that was said, and no page has been received since. */
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
