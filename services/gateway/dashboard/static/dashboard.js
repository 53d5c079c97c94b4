// Starts what every page has; theme.js is loaded before it, in <head>.

import { startActions } from "./actions.js";
import { startCopy } from "./copy.js";
import { startCsrf } from "./csrf.js";
import { startEditors } from "./editor.js";
import { startForms } from "./forms.js";
import { startLive } from "./live.js";
import { startLocalMoments } from "./local_moments.js";
import { startPreviews } from "./step_preview.js";
import { startTimes } from "./time.js";
import { startToasts } from "./toast.js";
import { startTooltips } from "./tooltip.js";
import { startVersions } from "./versions.js";

startCsrf();
startTimes();
startCopy();
startToasts();
startTooltips();
startForms();
startActions();
startLive();
startEditors();
startLocalMoments();
startPreviews();
startVersions();
