// The page of a trial, without an editor.

import { all } from "./page";
import { Trials } from "./trials";

for (const place of all("[data-trial]")) new Trials(place);
