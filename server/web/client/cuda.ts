// CUDA C++ for the editor: the grammar of C++, and CUDA's words in the same colours as in reports.

import { cpp } from "@codemirror/lang-cpp";
import { HighlightStyle, indentUnit, syntaxHighlighting, syntaxTree } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, MatchDecorator, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const WORDS = new RegExp(
  "\\b(?:" +
    "__(?:global|device|host|shared|constant|managed|grid_constant|restrict|forceinline|noinline|launch_bounds|" +
    "maxnreg|cluster_dims)__|" +
    "__(?:sync\\w+|threadfence\\w*|shfl\\w*|ballot\\w*|any_sync|all_sync|activemask|match_\\w+|reduce_\\w+|ldg|ldcg|" +
    "ldcs|fmaf?_\\w+|f?dividef|popc|clz|ffs|brev|prefetch\\w*|pipeline_\\w+|cvta_\\w+)|" +
    "threadIdx|blockIdx|blockDim|gridDim|warpSize|atomic[A-Z]\\w*|" +
    "dim3|cuda[A-Z]\\w*|half2?|__half2?|__nv_bfloat16\\w*|(?:float|int|uint|double|char|uchar|short|long)[1-4]" +
    ")\\b",
  "g",
);

const mark = Decoration.mark({ class: "cm-cuda" });
const words = new MatchDecorator({
  regexp: WORDS,
  decorate: (add, from, to, _match, view) => {
    if (!/Comment|String|Char/.test(syntaxTree(view.state).resolveInner(from, 1).name)) add(from, to, mark);
  },
});

const cudaWords = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    private tree: ReturnType<typeof syntaxTree>;

    constructor(view: EditorView) {
      this.tree = syntaxTree(view.state);
      this.decorations = words.createDeco(view);
    }

    update(update: ViewUpdate): void {
      const tree = syntaxTree(update.state);
      // The grammar must reach a comment before it is known to be one.
      this.decorations =
        tree === this.tree ? words.updateDeco(update, this.decorations) : words.createDeco(update.view);
      this.tree = tree;
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

export const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--comment)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.standard(tags.typeName), tags.modifier, tags.bool, tags.null, tags.self], color: "var(--keyword)" },
  { tag: [tags.string, tags.character, tags.special(tags.string)], color: "var(--good)" },
  { tag: tags.processingInstruction, color: "var(--fair)" },
  { tag: tags.heading, color: "var(--cuda)", fontWeight: "600" },
  { tag: tags.strong, fontWeight: "600" },
  { tag: tags.link, color: "var(--accent)" },
]);

const theme = EditorView.theme({ ".cm-cuda, .cm-cuda *": { color: "var(--cuda)", fontWeight: "600" } });

export function cuda(): Extension {
  return [cpp(), indentUnit.of("    "), syntaxHighlighting(colours), cudaWords, theme];
}
