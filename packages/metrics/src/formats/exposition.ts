/**
 * Reader of the Prometheus text format 0.0.4 and of the parts of OpenMetrics 1.0 that exporters use. It reads the labels
 * only of metrics that the sink wants, because an exporter has hundreds of others, and skips lines that it cannot read.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */

export type Labels = Readonly<Record<string, string>>;

export interface ExpositionSink<Wanted> {
  /** The sink's entry for the metric; undefined: its lines are skipped. */
  wanted(metric: string): Wanted | undefined;
  /** `value` can be NaN or infinite. */
  sample(wanted: Wanted, labels: Labels, value: number): void;
}

export interface ExpositionOutcome {
  /** Lines with a sample, wanted or not. */
  readonly sampleCount: number;
  /** Lines that are no comment and no sample. */
  readonly rejectedCount: number;
  /** Text of the first of them, at most 120 characters; `null`: there was none. */
  readonly firstRejected: string | null;
}

const LABELS_MAX = 64;
const SHOWN_CHARS_MAX = 120;
const noLabels: Labels = Object.freeze({});

const CARRIAGE_RETURN = 13;
const SPACE = 32;
const TAB = 9;
const QUOTE = 34;
const HASH = 35;
const COMMA = 44;
const EQUALS = 61;
const BACKSLASH = 92;
const OPEN = 123;
const CLOSE = 125;

export function readExposition<Wanted>(text: string, sink: ExpositionSink<Wanted>): ExpositionOutcome {
  let [sampleCount, rejectedCount] = [0, 0];
  let firstRejected: string | null = null;
  let metric = "";
  let wanted: Wanted | undefined;
  for (let at = 0; at < text.length;) {
    const found = text.indexOf("\n", at);
    const end = found === -1 ? text.length : found;
    const begin = afterBlanks(text, at, end);
    at = end + 1;
    if (begin === end || text.charCodeAt(begin) === HASH || text.charCodeAt(begin) === CARRIAGE_RETURN) continue;
    // Lines of one metric follow each other, so most lines need no new text for the name.
    const isSame = text.startsWith(metric, begin) && isNameEnd(text.charCodeAt(begin + metric.length)) && metric !== "";
    if (!isSame) {
      metric = text.slice(begin, nameEnd(text, begin, end));
      if (!NAME.test(metric)) metric = "";
      wanted = metric === "" ? undefined : sink.wanted(metric);
    }
    const isRead = metric !== "" && (wanted === undefined || readLine(text, begin + metric.length, end, wanted, sink));
    if (isRead) sampleCount++;
    else {
      rejectedCount++;
      firstRejected ??= text.slice(begin, Math.min(end, begin + SHOWN_CHARS_MAX));
    }
  }
  return { sampleCount, rejectedCount, firstRejected };
}

/** OpenMetrics 2 and OTLP exporters also have dots in names. */
const NAME = /^[A-Za-z_:][\w:.]*$/;

const isNameEnd = (code: number): boolean => code === OPEN || code === SPACE || code === TAB;

function nameEnd(text: string, from: number, end: number): number {
  let at = from;
  while (at < end && !isNameEnd(text.charCodeAt(at))) at++;
  return at === end ? from : at;
}

function afterBlanks(text: string, from: number, end: number): number {
  let at = from;
  while (at < end && (text.charCodeAt(at) === SPACE || text.charCodeAt(at) === TAB)) at++;
  return at;
}

/** Reads labels and value behind the name. False: the line is damaged. */
function readLine<Wanted>(
  text: string,
  from: number,
  end: number,
  wanted: Wanted,
  sink: ExpositionSink<Wanted>,
): boolean {
  let labels = noLabels;
  let at = afterBlanks(text, from, end);
  if (text.charCodeAt(at) === OPEN) {
    const read: Record<string, string> = {};
    at = readLabels(text, at + 1, end, read);
    if (at === -1) return false;
    labels = read;
    at = afterBlanks(text, at, end);
  }
  let stop = at;
  while (stop < end && text.charCodeAt(stop) > SPACE) stop++;
  const value = valueOf(text.slice(at, stop));
  if (value === undefined) return false;
  sink.sample(wanted, labels, value);
  return true;
}

/** Returns the position behind the closing brace; -1: the labels are damaged, or there are too many. */
function readLabels(text: string, from: number, end: number, into: Record<string, string>): number {
  let at = from;
  for (let count = 0; count <= LABELS_MAX; count++) {
    at = afterBlanks(text, at, end);
    if (text.charCodeAt(at) === CLOSE) return at + 1;
    let equals = at;
    while (equals < end && text.charCodeAt(equals) !== EQUALS) equals++;
    if (equals === end) return -1;
    let last = equals;
    while (last > at && text.charCodeAt(last - 1) <= SPACE) last--;
    const name = text.slice(at, last);
    at = afterBlanks(text, equals + 1, end);
    if (text.charCodeAt(at) !== QUOTE) return -1;
    const begin = at + 1;
    let hasEscape = false;
    for (at = begin; at < end && text.charCodeAt(at) !== QUOTE; at++) {
      if (text.charCodeAt(at) !== BACKSLASH) continue;
      hasEscape = true;
      at++;
    }
    if (at >= end) return -1;
    const raw = text.slice(begin, at);
    into[name] = hasEscape ? unescaped(raw) : raw;
    at = afterBlanks(text, at + 1, end);
    if (text.charCodeAt(at) === COMMA) at++;
    else if (text.charCodeAt(at) !== CLOSE) return -1;
  }
  return -1;
}

const unescaped = (text: string): string =>
  text.replace(/\\(.)/g, (whole, character: string) =>
    character === "n" ? "\n" : character === "\\" || character === '"' ? character : whole,
  );

/** Undefined: the text is no value. */
function valueOf(text: string): number | undefined {
  const value = Number(text);
  if (text !== "" && !Number.isNaN(value)) return value;
  switch (text) {
    case "NaN":
    case "Nan":
    case "nan":
      return Number.NaN;
    case "+Inf":
    case "Inf":
      return Number.POSITIVE_INFINITY;
    case "-Inf":
      return Number.NEGATIVE_INFINITY;
    default:
      return undefined;
  }
}
