/**
 * OTLP metrics 1.x: an `ExportMetricsServiceRequest` in protobuf or JSON, read as series of remote write. Gauges and cumulative sums are taken;
 * histograms, summaries and delta sums are counted as rejected.
 * https://opentelemetry.io/docs/specs/otlp/#otlphttp, opentelemetry/proto/metrics/v1/metrics.proto
 */
import { PbfReader, PbfWriter } from "pbf";
import { readOtlpJson } from "./otlp-json.ts";
import { OtlpLabels, OtlpSeries } from "./otlp-series.ts";
import type { OtlpMetrics, Point } from "./otlp-series.ts";

export type { OtlpMetrics } from "./otlp-series.ts";

/**
 * Text is JSON, bytes are protobuf. `null`: the body is damaged or larger than the bounds. `nodeLabel`: the label that names the node, which
 * only a resource can set.
 */
export function readOtlpMetrics(body: Uint8Array | string, nodeLabel: string): OtlpMetrics | null {
  const series = new OtlpSeries(nodeLabel);
  try {
    if (typeof body === "string") readOtlpJson(body, series);
    else {
      const reader = new PbfReader(body);
      reader.readFields((tag, into, inner) => void (tag === 1 && readResource(inner, into)), series);
      refuseCut(reader);
    }
  } catch {
    return null;
  }
  return series.taken;
}

/** The reader goes past the end of a message that is cut. */
function refuseCut({ pos, length }: PbfReader): void {
  if (pos > length) throw new RangeError("the message is cut");
}

function readResource(reader: PbfReader, into: OtlpSeries): void {
  // The attributes may come after the metrics, so the resource is read first.
  into.count();
  const content = reader.readBytes();
  refuseCut(reader);
  const resource = new OtlpLabels();
  new PbfReader(content).readFields((tag, _, inner) => {
    if (tag === 1)
      inner.readMessage((field, labels, each) => void (field === 1 && readAttribute(each, labels, into)), resource);
  }, null);
  into.setResource(resource);
  new PbfReader(content).readFields((tag, _, inner) => {
    if (tag !== 2) return;
    into.count();
    inner.readMessage((field, __, each) => void (field === 2 && readMetric(each, into)), null);
  }, null);
}

const GAUGE = 5;
const SUM = 7;
/** Histogram, exponential histogram and summary, whose points are field 1 as those of gauges and sums. */
const OTHERS: ReadonlySet<number> = new Set([9, 10, 11]);
const CUMULATIVE = 2;

interface PointList {
  readonly points: Point[];
  temporality: number;
  isMonotonic: boolean;
}

function readMetric(reader: PbfReader, into: OtlpSeries): void {
  into.count();
  let name = "";
  const lists: (PointList & { readonly kind: number })[] = [];
  reader.readMessage((tag, _, inner) => {
    if (tag === 1) name = inner.readString();
    else if (tag === GAUGE || tag === SUM || OTHERS.has(tag))
      lists.push({ kind: tag, ...readPoints(inner, into, OTHERS.has(tag)) });
  }, null);
  for (const { kind, points, temporality, isMonotonic } of lists)
    if (OTHERS.has(kind) || (kind === SUM && temporality !== CUMULATIVE)) into.reject(points.length);
    else into.add(name, kind === SUM && isMonotonic, points);
}

function readPoints(reader: PbfReader, into: OtlpSeries, isOther: boolean): PointList {
  into.count();
  const list: PointList = { points: [], temporality: 0, isMonotonic: false };
  reader.readMessage((tag, _, inner) => {
    if (tag === 1) {
      into.count();
      if (isOther) list.points.push(NO_POINT);
      else list.points.push(readPoint(inner, into));
    } else if (tag === 2 && !isOther) list.temporality = inner.readVarint();
    else if (tag === 3 && !isOther) list.isMonotonic = inner.readBoolean();
  }, list);
  return list;
}

const NO_POINT: Point = { labels: new OtlpLabels(), atMs: 0, value: Number.NaN, isRecorded: false };
const NO_RECORDED_VALUE = 1;

function readPoint(reader: PbfReader, into: OtlpSeries): Point {
  const labels = new OtlpLabels();
  let [atMs, value, flags] = [0, Number.NaN, 0];
  reader.readMessage((tag, _, inner) => {
    if (tag === 3) atMs = fixed64(inner, false) / 1_000_000;
    else if (tag === 4) value = inner.readDouble();
    else if (tag === 6) value = fixed64(inner, true);
    else if (tag === 7) readAttribute(inner, labels, into);
    else if (tag === 8) flags = inner.readVarint();
  }, null);
  return { labels, atMs: Math.round(atMs), value, isRecorded: (flags & NO_RECORDED_VALUE) === 0 };
}

/** As a double: nanoseconds of 2026 are then exact to 256 ns. */
function fixed64(reader: PbfReader, isSigned: boolean): number {
  const low = reader.readFixed32();
  const high = isSigned ? reader.readSFixed32() : reader.readFixed32();
  return high * 4_294_967_296 + low;
}

/** Attributes of text, booleans and numbers. Lists and maps are left out. */
function readAttribute(reader: PbfReader, labels: OtlpLabels, into: OtlpSeries): void {
  into.count();
  let key = "";
  let text: string | null = null;
  reader.readMessage((tag, _, inner) => {
    if (tag === 1) key = inner.readString();
    else if (tag === 2)
      inner.readMessage((field, __, value) => {
        if (field === 1) text = value.readString();
        else if (field === 2) text = String(value.readBoolean());
        else if (field === 3) text = String(value.readVarint(true));
        else if (field === 4) text = String(value.readDouble());
      }, null);
  }, null);
  if (text !== null) labels.set(key, text);
}

/** An `ExportMetricsServiceResponse`, with the partial success if points were rejected. */
export function otlpMetricsAnswer(rejectedCount: number, message: string): Uint8Array {
  const writer = new PbfWriter();
  if (rejectedCount > 0) writer.writeMessage(1, writePartialSuccess, { rejectedCount, message });
  return writer.finish();
}

function writePartialSuccess(
  { rejectedCount, message }: { readonly rejectedCount: number; readonly message: string },
  writer: PbfWriter,
): void {
  writer.writeVarintField(1, rejectedCount);
  writer.writeStringField(2, message);
}
