// Mistakes that a source surely has, found without a compiler: brackets, missing semicolons, misspelled words of CUDA.
//
// A right kernel has none of these marks: what isn't certain is left to the compiler. So a file's own macros turn rules
// off that they could break.

import type { Mark } from "./marks";

const MOST_MARKS = 20;
const MOST_CHARACTERS = 100_000;
/** Tokens of a statement to look at. */
const LONGEST = 200;

const TOKEN = /\/\/(?:\\\r?\n|[^\n])*|\/\*[^]*?(?:\*\/|$)|(?:u8|[uUL])?R"([^ ()\\\n]{0,16})\([^]{0,4096}?\)\1"|"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?|\d(?:[eEpP][+-]|'?[\w.])*|[A-Za-z_]\w*|\.\.\.|->|::|<<=?|>>=?|[-+*/%&|^!=<>]=|\+\+|--|&&|\|\||\n[ \t]*#(?:\\\r?\n|\/\*[^]*?\*\/|[^\n])*|\S/g;

const CLOSES: ReadonlyMap<string, string> = new Map([["(", ")"], ["[", "]"], ["{", "}"]]);
const TYPES = new Set(["int", "float", "double", "unsigned", "bool", "char", "long", "short", "size_t", "half", "auto"]);
const ENDS_NOTHING = new Set(
  ("return sizeof new else do typename throw case goto delete operator const volatile signed static extern inline constexpr " +
    "and or not xor bitand bitor compl and_eq or_eq xor_eq not_eq template struct class enum union using namespace public private " +
    "protected default if while for switch mutable noexcept friend virtual explicit alignof decltype co_await co_yield co_return").split(" "),
);
/** Words that may follow a whole expression or declarator. */
const CONTINUES = new Set(
  ("and or xor bitand bitor and_eq or_eq xor_eq not_eq asm mutable noexcept override final try requires alignas " +
    "__attribute__ __attribute __asm__ __asm __align__ __restrict__ __restrict").split(" "),
);
const STATEMENT_CALLS = new Set(["__syncthreads", "__syncwarp", "__threadfence", "__threadfence_block"]);
const INDICES = ["threadIdx", "blockIdx", "blockDim", "gridDim"];
const SPECIFIERS = ["__global__", "__shared__", "__device__", "__constant__"];

interface Token {
  readonly text: string;
  readonly at: number;
  readonly line: number;
  readonly column: number;
  readonly end: number;
}

/** What a brace opens: the body of a function or of a control statement, or something else. */
interface Open {
  readonly token: Token;
  readonly isBody: boolean;
}

export function typingErrors(source: string): readonly Mark[] {
  if (source.length > MOST_CHARACTERS) return [];
  const { tokens, macros, isBalanced, unclosed } = read(source);
  if (unclosed !== null) return [unclosed];
  const marks = isBalanced ? brackets(tokens) : [];
  // With wrong brackets, it isn't known which code belongs together.
  if (marks.length === 0 && isBalanced) marks.push(...semicolons(tokens, macros));
  marks.push(...spelling(tokens, macros));
  return marks.sort((one, other) => one.line - other.line).slice(0, MOST_MARKS);
}

interface Source {
  /** Code without comments and directives. */
  readonly tokens: readonly Token[];
  /** The names that the file defines as more than a number: they may stand for anything. */
  readonly macros: ReadonlySet<string>;
  /** Whether no directive changes the brackets. */
  readonly isBalanced: boolean;
  readonly unclosed: Mark | null;
}

function read(source: string): Source {
  const tokens: Token[] = [];
  const macros = new Set<string>();
  let [line, start, last, isBalanced, conditional] = [1, 0, 0, true, 0];
  let unclosed: Mark | null = null;
  // A directive begins after a line break.
  for (const { 0: part, index } of `\n${source}`.matchAll(TOKEN)) {
    const at = index - 1;
    for (let next = source.indexOf("\n", last); next !== -1 && next < at; next = source.indexOf("\n", next + 1)) [line, start] = [line + 1, next + 1];
    last = Math.max(last, at);
    if (/^\n[ \t]*#/.test(part)) {
      const [, name, body] = /^\s*#\s*define\s+(\w+)([^]*)/.exec(part) ?? [];
      if (name !== undefined && !/^\s+\(?\s*\d[\w.]*\s*\)?\s*(?:\/\/.*)?$/.test(body ?? "")) macros.add(name);
      if (/^\s*#\s*if/.test(part)) conditional += 1;
      else if (/^\s*#\s*endif/.test(part)) conditional -= 1;
      else if (/^\s*#\s*define/.test(part) && !matches(part)) isBalanced = false;
    } else if (part.startsWith("/*") && !/^\/\*[^]*\*\/$/.test(part)) {
      unclosed ??= { line: line + (part.startsWith("\n") ? 1 : 0), column: 1 + at - start, kind: "", message: "This comment never ends. Close it with `*/`.", severity: "error" };
    } else if (!part.startsWith("//") && !part.startsWith("/*") && part.trim() !== "") {
      if (conditional > 0 && /^[()[\]{}]$/.test(part)) isBalanced &&= false;
      tokens.push({ text: part, at, line, column: 1 + at - start, end: at + part.length });
    }
  }
  return { tokens, macros, isBalanced, unclosed };
}

function matches(text: string): boolean {
  let depth = 0;
  for (const [sign] of text.matchAll(/[()[\]{}]/g)) {
    depth += "([{".includes(sign) ? 1 : -1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

function brackets(tokens: readonly Token[]): Mark[] {
  const open: Token[] = [];
  for (const token of tokens) {
    if (CLOSES.has(token.text)) open.push(token);
    if (!/^[)\]}]$/.test(token.text)) continue;
    const last = open.pop();
    if (last === undefined) return [mark(token, `This \`${token.text}\` closes nothing.`)];
    const wanted = CLOSES.get(last.text) ?? "";
    // A brace ends what is open in it.
    if (wanted !== token.text && token.text === "}") return [mark(last, `This \`${last.text}\` is never closed.`)];
    if (wanted !== token.text) {
      return [mark(token, `This \`${token.text}\` doesn’t match the \`${last.text}\` at line ${last.line}, which needs \`${wanted}\`.`)];
    }
  }
  const last = open.at(-1);
  return last === undefined ? [] : [mark(last, `This \`${last.text}\` is never closed.`)];
}

/** Only where no C++ goes on: the end of a line after an assignment, a declaration, a barrier or a `return`. */
function semicolons(tokens: readonly Token[], macros: ReadonlySet<string>): Mark[] {
  const found: Mark[] = [];
  const open: Open[] = [];
  let begin = 0;
  for (const [number, token] of tokens.entries()) {
    const before = tokens[number - 1];
    if (CLOSES.has(token.text)) {
      open.push({ token, isBody: token.text === "{" && (before?.text === ")" || before?.text === "else" || before?.text === "do") });
      if (token.text === "{") begin = number + 1;
      continue;
    }
    const inside = open.at(-1);
    const ends = token.text === "}" || (before !== undefined && before.line < token.line && isWord(token.text) && !CONTINUES.has(token.text));
    if (inside?.isBody === true && before !== undefined && ends && number - begin <= LONGEST && isWhole(tokens.slice(begin, number), macros) && !macros.has(token.text)) {
      found.push({ line: before.line, column: before.column, kind: "", message: `A \`;\` is missing after \`${before.text}\`.`, severity: "error" });
      begin = number;
    }
    if (/^[)\]}]$/.test(token.text)) {
      open.pop();
      if (token.text === "}") begin = number + 1;
      else if (token.text === ")" && isControl(tokens, inside?.token)) begin = number + 1;
    } else if (inside?.token.text !== "(" && (token.text === ";" || token.text === ":" || token.text === "else" || token.text === "do")) begin = number + 1;
  }
  return found;
}

/** Whether the parentheses that open here are those of `if`, `for`, `while` or `switch`. */
function isControl(tokens: readonly Token[], opened: Token | undefined): boolean {
  const at = opened === undefined ? -1 : tokens.indexOf(opened);
  const words = [tokens[at - 1]?.text, tokens[at - 2]?.text];
  return ["if", "for", "while", "switch"].includes(words[0] ?? "") || (words[0] === "constexpr" && words[1] === "if");
}

/** Whether these tokens are a whole statement but for its `;`. */
function isWhole(tokens: readonly Token[], macros: ReadonlySet<string>): boolean {
  const [first, second] = tokens;
  const last = tokens.at(-1);
  if (first === undefined || last === undefined || !isWord(first.text)) return false;
  if (tokens.some((each) => macros.has(each.text) || each.text === "template" || each.text === "operator" || each.text === "asm" || each.text === "enum")) return false;
  if (ENDS_NOTHING.has(first.text) && !["return", "const", "static", "constexpr"].includes(first.text)) return false;
  if (last.text === ")") return STATEMENT_CALLS.has(first.text) && second?.text === "(" && tokens.findIndex((each) => each.text === ")") === tokens.length - 1;
  if (!isValue(last.text)) return false;
  if (first.text === "return") return tokens.length > 1;
  if (outside(tokens).some((each) => /^[-+*/%&|^]?=$/.test(each.text))) return true;
  const declared = outside(tokens).map((each) => each.text);
  if (first.text === "__shared__") return last.text === "]" && TYPES.has(declared[1] ?? "");
  return declared.length === 2 && TYPES.has(declared[0] ?? "") && isWord(declared[1] ?? "") && !TYPES.has(declared[1] ?? "") && tokens.length === 2;
}

/** The tokens outside of all brackets. */
function outside(tokens: readonly Token[]): readonly Token[] {
  let depth = 0;
  return tokens.filter((each) => {
    if (/^[)\]}]$/.test(each.text)) depth -= 1;
    const isOutside = depth === 0;
    if (CLOSES.has(each.text)) depth += 1;
    return isOutside;
  });
}

function isWord(text: string): boolean {
  return /^[A-Za-z_]/.test(text) && !/["']/.test(text);
}

/** A name, a number or an index, after which an expression may end. */
function isValue(text: string): boolean {
  return text === "]" || /^\d/.test(text) || (isWord(text) && !ENDS_NOTHING.has(text) && !TYPES.has(text));
}

function spelling(tokens: readonly Token[], macros: ReadonlySet<string>): Mark[] {
  const declared = new Set(macros);
  for (const [number, { text }] of tokens.entries()) {
    const before = tokens[number - 1]?.text ?? "";
    if (isWord(text) && (isWord(before) || /^[*&>\].,]$|^(?:->|::|&&)$/.test(before)) && !["return", "else", "do", "case"].includes(before)) declared.add(text);
  }
  return tokens.flatMap((token, number) => {
    const meant = isWord(token.text) && !macros.has(token.text) ? meantBy(tokens, number, declared) : null;
    return meant === null ? [] : [mark(token, `\`${token.text}\` isn’t a word of CUDA. Did you mean \`${meant}\`?`)];
  });
}

function meantBy(tokens: readonly Token[], number: number, declared: ReadonlySet<string>): string | null {
  const [text, before, after, later] = [number, number - 1, number + 1, number + 2].map((each) => tokens[each]?.text ?? "");
  if (text === undefined || before === undefined) return null;
  if (after === "." && /^[xyz]$/.test(later ?? "") && !declared.has(text) && before !== ".") {
    return INDICES.find((each) => each !== text && (each.toLowerCase() === text.toLowerCase() || (text.length >= 7 && isNear(text, each)))) ?? null;
  }
  if (after === "(" && /^[;{}]?$/.test(before) && bare(text) === "syncthreads" && text !== "__syncthreads" && !declared.has(text)) return "__syncthreads";
  const begins = /^[;{}]?$/.test(before) || SPECIFIERS.includes(before) || before === "extern";
  if (begins && isWord(after ?? "") && text.startsWith("_") && text.endsWith("_") && !SPECIFIERS.includes(text)) {
    return SPECIFIERS.find((each) => isNear(bare(each), bare(text))) ?? null;
  }
  return null;
}

function bare(text: string): string {
  return text.replace(/^_+|_+$/g, "").toLowerCase();
}

/** Whether they are the same but for one letter more, less or other, or for two neighbours exchanged. */
function isNear(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  if (long.length - short.length > 1) return false;
  let same = 0;
  while (same < short.length && short[same] === long[same]) same += 1;
  if (short.length < long.length) return short.slice(same) === long.slice(same + 1);
  const isExchanged = short[same] === long[same + 1] && short[same + 1] === long[same];
  return short.slice(same + (isExchanged ? 2 : 1)) === long.slice(same + (isExchanged ? 2 : 1));
}

function mark(token: Token, message: string): Mark {
  return { line: token.line, column: token.column, kind: "", message, severity: "error" };
}
