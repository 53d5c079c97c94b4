// Starts what every page has; theme.js is loaded before it, in <head>.

import { startActions } from "./actions.js";
import { startApiKeys } from "./api_keys.js";
import { startCopy } from "./copy.js";
import { startCsrf } from "./csrf.js";
import { startFiles } from "./files.js";
import { startForms } from "./forms.js";
import { startLive } from "./live.js";
import { startMatrices } from "./matrix.js";
import { startNamedDeletions } from "./named_deletions.js";
import { startPolling } from "./polling.js";
import { startScreens } from "./screens.js";
import { startSecrets } from "./secrets.js";
import { startTimes } from "./time.js";
import { startToasts } from "./toast.js";
import { startTooltips } from "./tooltip.js";

startCsrf();
startTimes();
startCopy();
startToasts();
startTooltips();
startForms();
startActions();
startScreens();
startFiles();
startMatrices();
startLive();
startPolling();
startApiKeys();
startSecrets();
startNamedDeletions();
