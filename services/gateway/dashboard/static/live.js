// Parts of a page that follow an event stream: <div id="execution" data-live="/api/v1/executions/7/events">. With data-run,
// new steps of this run count too.
import { morph, showStale } from "./refresh.js";

const PAUSE_MILLISECONDS = 400;
const STEPS_PAUSE_MILLISECONDS = 50; // they are written at most twice a second
const RETRY_MILLISECONDS = 5000;
const LOOK_MILLISECONDS = 30000; // without an event: the stream may never bring the end

const followed = new Set(); // the ids of parts

/** Keep the live parts of the page current, without moving the focus or what has been scrolled, opened or chosen. */
function startLive() {
  for (const part of document.querySelectorAll("[data-live]")) {
    if (!followed.has(part.id)) new LivePart(part).start();
  }
}

/** Hidden tabs have no stream: browsers open six connections to a server, and each stream takes one. */
class LivePart {
  constructor({ id, dataset }) {
    this.id = id;
    this.url = dataset.live;
    this.run = dataset.run;
    this.ending = new AbortController();
  }

  start() {
    followed.add(this.id);
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
    this.events.addEventListener("steps", ({ data }) => {
      if (JSON.parse(data).run_ids.includes(this.run)) this.schedule(STEPS_PAUSE_MILLISECONDS);
    });
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

  /** One update at a time: of what happens during one, the next one shows all. */
  schedule(pause) {
    if (this.isUpdating) this.isOutdated = true;
    else this.waiting ??= setTimeout(() => this.update(), pause);
  }

  async update() {
    this.waiting = null;
    this.isUpdating = true;
    this.isOutdated = false;
    const isCurrent = await morph([this.id]);
    this.isUpdating = false;
    if (!this.events) return; // the tab is hidden by now
    showStale(!isCurrent);
    if (!isCurrent) return this.schedule(RETRY_MILLISECONDS);
    if (!document.getElementById(this.id)?.dataset.live) return this.end();
    this.look();
    if (this.events.readyState === EventSource.CLOSED) this.connect(); // its last request was refused
    if (this.isOutdated) this.schedule(PAUSE_MILLISECONDS);
  }

  end() {
    this.stop();
    this.ending.abort();
    followed.delete(this.id);
  }
}

document.addEventListener("parts:change", startLive); // a part becomes live by an action
startLive();
