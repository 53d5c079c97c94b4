// Says that the session has ended, and offers to sign in in another tab: what was typed on this page stays.
import { removeToast, showToast } from "./toast.js";

export const SESSION_ENDED = "Your session has ended. Sign in again in another tab, then come back and send this again.";
const LINK = { href: "/sign-in", text: "Sign in" };

let isEnded = false;

/** Whether that was said, and no page has been received since. */
export function isSessionEnded() {
  return isEnded;
}

export function announceSessionEnd() {
  isEnded = true;
  showToast(SESSION_ENDED, "failed", LINK);
}

/** The server has answered with a page again. */
export function withdrawSessionEnd() {
  isEnded = false;
  removeToast(SESSION_ENDED);
}
