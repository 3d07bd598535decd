// The keys of Vim, loaded only by readers who choose them.

import { vim } from "@replit/codemirror-vim";

export const keys = vim({ status: true });
