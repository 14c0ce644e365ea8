/** Prometheus remote write 1.0: a `WriteRequest` in protobuf, compressed with Snappy. https://prometheus.io/docs/specs/prw/remote_write_spec/ */
import { PbfReader, PbfWriter } from "pbf";
import type { Labels } from "./exposition.ts";
import { compressed, uncompressed } from "./snappy.ts";

export interface WrittenSample {
  readonly value: number;
  readonly atMs: number;
}

export interface WrittenSeries {
  /** Labels with `__name__`. */
  readonly labels: Labels;
  readonly samples: readonly WrittenSample[];
}

/** Prometheus sends at most 2,000 samples in a request by default, with about 300 bytes of labels for each. */
const CONTENT_BYTES_MAX = 32 * 1024 * 1024;
const SERIES_MAX = 100_000;
const LABELS_MAX = 64;
/** Labels and samples of a request: compressed, ten million empty ones have a megabyte. */
const PARTS_MAX = 1_000_000;

/** The series of a request; `null`: it is damaged or larger than the bounds. Exemplars, histograms and metadata are left out. */
export function readWriteRequest(body: Uint8Array): readonly WrittenSeries[] | null {
  const content = uncompressed(body, CONTENT_BYTES_MAX);
  if (content === null) return null;
  const series: WrittenSeries[] = [];
  const left = { parts: PARTS_MAX };
  try {
    new PbfReader(content).readFields((tag, into, reader) => {
      if (tag !== 1) return;
      if (into.length >= SERIES_MAX) throw new RangeError("too many series");
      into.push(readSeries(reader, left));
    }, series);
  } catch {
    return null;
  }
  return series;
}

function readSeries(reader: PbfReader, left: { parts: number }): WrittenSeries {
  const labels: Record<string, string> = {};
  const samples: WrittenSample[] = [];
  let count = 0;
  reader.readMessage((tag, _, inner) => {
    if (--left.parts < 0) throw new RangeError("too many labels and samples");
    if (tag === 1) {
      if (++count > LABELS_MAX) throw new RangeError("too many labels");
      const pair = inner.readMessage(readPair, { name: "", value: "" });
      labels[pair.name] = pair.value;
    } else if (tag === 2) samples.push(inner.readMessage(readSample, { value: Number.NaN, atMs: 0 }));
  }, null);
  return { labels, samples };
}

function readPair(tag: number, pair: { name: string; value: string }, reader: PbfReader): void {
  if (tag === 1) pair.name = reader.readString();
  else if (tag === 2) pair.value = reader.readString();
}

function readSample(tag: number, sample: { value: number; atMs: number }, reader: PbfReader): void {
  if (tag === 1) sample.value = reader.readDouble();
  else if (tag === 2) sample.atMs = reader.readVarint(true);
}

/** Receivers require labels in the order of their names. */
export function writeRequest(series: readonly WrittenSeries[]): Uint8Array {
  const writer = new PbfWriter();
  for (const each of series) writer.writeMessage(1, writeSeries, each);
  return compressed(writer.finish());
}

function writeSeries({ labels, samples }: WrittenSeries, writer: PbfWriter): void {
  for (const name of Object.keys(labels).toSorted())
    writer.writeMessage(1, writePair, { name, value: labels[name] ?? "" });
  for (const sample of samples) writer.writeMessage(2, writeSample, sample);
}

function writePair({ name, value }: { readonly name: string; readonly value: string }, writer: PbfWriter): void {
  writer.writeStringField(1, name);
  writer.writeStringField(2, value);
}

function writeSample({ value, atMs }: WrittenSample, writer: PbfWriter): void {
  writer.writeDoubleField(1, value);
  writer.writeVarintField(2, atMs);
}
