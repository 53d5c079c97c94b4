// Starts what every page has; theme.js is loaded before it, in <head>.

import { startActions } from "./actions.js";
import { startCharts } from "./chart.js";
import { startCopy } from "./copy.js";
import { startCsrf } from "./csrf.js";
import { startDeletions } from "./deletions.js";
import { startEdits } from "./edits.js";
import { startFiles } from "./files.js";
import { startForms } from "./forms.js";
import { startLive } from "./live.js";
import { startScreens } from "./screens.js";
import { startSizes } from "./sizes.js";
import { startTimes } from "./time.js";
import { startToasts } from "./toast.js";
import { startTooltips } from "./tooltip.js";
import { startUploads } from "./upload.js";

startCsrf();
startTimes();
startCopy();
startToasts();
startTooltips();
startForms();
startActions();
startScreens();
startFiles();
startLive();
startEdits();
startDeletions();
startUploads();
startSizes();
startCharts();
