// The keys of Emacs, loaded only by readers who choose them.

import { emacs } from "@replit/codemirror-emacs";

export const keys = emacs();
