// The API documentation: Swagger UI with the OpenAPI document. Requests carry the key that was given, or else the session.
import { csrfToken } from "./session.js";

const ui = window.SwaggerUIBundle({
  dom_id: "#reference",
  url: "/api/v1/openapi.json",
  deepLinking: true,
  displayOperationId: true,
  defaultModelsExpandDepth: -1,
  filter: new URL(location.href).searchParams.get("q") || true,
  onComplete: showTarget,
  plugins: [adaptComponents, keepSearchInAddress, { fn: { resolveSubtree } }],
  requestInterceptor: addSession,
  showMutatedRequest: false,
  syntaxHighlight: { activated: false },
  validatorUrl: null,
});
addEventListener("hashchange", showTarget);

/** A key that was given wins over the session, as in the gateway. */
function addSession(request) {
  if (!request.headers.Authorization) request.headers["X-CSRF-Token"] = csrfToken();
  return request;
}

/** There is one server, descriptions are plain text, and what screen readers need has a name and is in no other button. */
function adaptComponents({ React: { createElement } }) {
  const text = (tag, name) => () => (props) => createElement(tag, null, props[name]);
  const labelled = (label) => (Component) => (props) => createElement(Component, { ...props, "aria-label": label(props) });
  return {
    wrapComponents: {
      Button: labelled(() => undefined),
      CloseIcon: () => () => "Close",
      DeepLink: text("span", "text"),
      Input: labelled((props) => (props.type === "file" ? "File" : props["aria-label"])),
      Markdown: text("p", "source"),
      ServersContainer: () => () => null,
    },
  };
}

/** A part of the document without references: Swagger UI itself reads the whole document for each part, which takes seconds. */
async function resolveSubtree(whole, path) {
  const lookUp = (keys) => keys.reduce((part, key) => part[key], whole);
  const resolve = (part, within) => {
    if (typeof part !== "object" || part === null || within.includes(part.$ref)) return part;
    if (part.$ref) {
      const keys = part.$ref.split("/").slice(1);
      return { title: keys.at(-1), ...resolve(lookUp(keys), [...within, part.$ref]) };
    }
    if (Array.isArray(part)) return part.map((item) => resolve(item, within));
    return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, resolve(value, within)]));
  };
  return { errors: [], spec: resolve(lookUp(path), []) };
}

function keepSearchInAddress() {
  const updateFilter = (update) => (query) => {
    const url = new URL(location.href);
    if (query) url.searchParams.set("q", query);
    else url.searchParams.delete("q");
    history.replaceState(null, "", url);
    return update(query);
  };
  return { fn: { opsFilter: search }, statePlugins: { layout: { wrapActions: { updateFilter } } } };
}

/** The operations that have all the words, in their request or what is said of them. */
function search(tags, query) {
  const words = query.toLowerCase().split(/\s+/);
  const textOf = (entry, tag) => `${tag} ${entry.get("path")} ${JSON.stringify(entry.get("operation").delete("responses"))}`;
  const matches = (text) => words.every((word) => text.includes(word));
  return tags
    .map((tag, name) => tag.update("operations", (all) => all.filter((entry) => matches(textOf(entry, name).toLowerCase()))))
    .filter((tag) => tag.get("operations").size > 0);
}

/** Show what the address names: #/Apps/CreateApp, or #createApp and #apps, as links to earlier versions of the page. */
function showTarget() {
  const name = location.hash.slice(1).replace("/", "").split("-")[0].toLowerCase();
  for (const entry of ui.specSelectors.operations()) {
    const [id, tag] = [entry.getIn(["operation", "operationId"]), entry.getIn(["operation", "tags", 0])];
    const target = { [id.toLowerCase()]: `#/${tag}/${id}`, [tag.toLowerCase()]: `#/${tag}` }[name];
    if (target) history.replaceState(null, "", target);
  }
  ui.layoutActions.parseDeepLinkHash(location.hash);
  const element = document.querySelector(`[id^=operations-][id$="-${CSS.escape(location.hash.slice(2).replace("/", "-"))}"]`);
  if (!element) return;
  element.scrollIntoView();
  ui.layoutActions.clearScrollTo();
}
