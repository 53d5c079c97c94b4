// Sends the token of <meta name="csrf-token"> with every request that may change something.

const HEADER = "X-CSRF-Token";
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/** The token of this page, read each time because a new sign-in replaces it; "" if there is none. */
export function csrfToken() {
  return document.querySelector('meta[name="csrf-token"]')?.content ?? "";
}

function needsToken(request) {
  return !SAFE_METHODS.has(request.method) && new URL(request.url).origin === location.origin;
}

/** Add the header to each fetch to this origin; XMLHttpRequest has to add it itself. */
export function startCsrf() {
  const send = window.fetch.bind(window);
  window.fetch = (resource, options) => {
    const request = new Request(resource, options);
    if (needsToken(request)) request.headers.set(HEADER, csrfToken());
    return send(request);
  };
}
