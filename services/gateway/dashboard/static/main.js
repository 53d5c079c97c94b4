// What every page does in the browser.
import { handleActions } from "./actions.js";
import { handleForms } from "./forms.js";
import { followLive } from "./live.js";

handleForms(document);
handleActions(document);
followLive(document);
