// Parts of a page that follow an event stream: <div id="execution" data-live="/api/v1/executions/7/events">.
import { morph, showStale } from "./refresh.js";

const PAUSE_MILLISECONDS = 400;
const RETRY_MILLISECONDS = 5000;
const LOOK_MILLISECONDS = 30000; // without an event: the stream may never bring the end

/** Keep the live parts of the page current, without moving the focus or what has been scrolled, opened or chosen. */
function startLive() {
  for (const part of document.querySelectorAll("[data-live]")) new LivePart(part).start();
}

/** Hidden tabs have no stream: browsers open six connections to a server, and each stream takes one. */
class LivePart {
  constructor({ id, dataset }) {
    this.id = id;
    this.url = dataset.live;
    this.ending = new AbortController();
  }

  start() {
    document.addEventListener("visibilitychange", () => this.onVisibility(), { signal: this.ending.signal });
    if (document.visibilityState === "visible") this.connect();
  }

  onVisibility() {
    this.stop();
    if (document.visibilityState !== "visible") return;
    this.connect();
    this.schedule(0);
  }

  connect() {
    this.look();
    this.events = new EventSource(this.url);
    for (const kind of ["run", "execution", "error"]) {
      this.events.addEventListener(kind, () => this.schedule(PAUSE_MILLISECONDS));
    }
  }

  stop() {
    this.events?.close();
    clearTimeout(this.waiting);
    clearTimeout(this.looking);
    this.events = this.waiting = null;
  }

  look() {
    clearTimeout(this.looking);
    this.looking = setTimeout(() => this.schedule(0), LOOK_MILLISECONDS);
  }

  schedule(pause) {
    this.waiting ??= setTimeout(() => this.update(), pause);
  }

  async update() {
    this.waiting = null;
    const isCurrent = await morph([this.id]);
    if (!this.events) return; // the tab is hidden by now
    showStale(!isCurrent);
    if (!isCurrent) return this.schedule(RETRY_MILLISECONDS);
    if (!document.getElementById(this.id)?.dataset.live) return this.end();
    this.look();
    if (this.events.readyState === EventSource.CLOSED) this.connect(); // its last request was refused
  }

  end() {
    this.stop();
    this.ending.abort();
  }
}

startLive();
