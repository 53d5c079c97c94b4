// Starts what every page has; theme.js is loaded before it, in <head>.

import { startCopy } from "./copy.js";
import { startCsrf } from "./csrf.js";
import { startTimes } from "./time.js";
import { startToasts } from "./toast.js";
import { startTooltips } from "./tooltip.js";

startCsrf();
startTimes();
startCopy();
startToasts();
startTooltips();
