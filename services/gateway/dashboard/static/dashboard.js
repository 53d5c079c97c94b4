// Starts what every page has. theme.js is loaded before it, in <head>; templates name what only they need in `parts`.

import { startActions } from "./actions.js";
import { startForms } from "./forms.js";
import { startTimes } from "./time.js";
import { startToasts } from "./toast.js";
import { startTooltips } from "./tooltip.js";

startTimes();
startToasts();
startTooltips();
startForms();
startActions();
