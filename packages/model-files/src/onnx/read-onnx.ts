/**
 * The structure of an ONNX model: initializers, inputs and nodes (onnx/onnx.proto). Data is skipped. Nodes must be sorted, as ONNX requires:
 * a node that uses a value which is made later is part of a cycle, or the graph is damaged.
 */
import { ByteReader, type ByteSource } from "../base/byte-reader.ts";
import {
  checkLocation,
  DIMENSIONS_MAX,
  elementCount,
  quoted,
  refuse,
  TENSORS_MAX,
  VALUE_KEPT_MAX,
} from "../base/bounds.ts";
import type { ModelDescription, TensorDescription } from "../base/description.ts";
import { fieldsOf, varint } from "./protobuf.ts";

const NODES_MAX = 2_000_000;
/** Graphs within attributes of nodes: branches and loops. */
const GRAPH_DEPTH_MAX = 16;
const NAME_MAX = 4_096;

/** `TensorProto.DataType`, with bits of an element. */
const types: readonly (readonly [name: string, bits: number | null])[] = [
  ["UNDEFINED", null],
  ["FLOAT", 32],
  ["UINT8", 8],
  ["INT8", 8],
  ["UINT16", 16],
  ["INT16", 16],
  ["INT32", 32],
  ["INT64", 64],
  ["STRING", null],
  ["BOOL", 8],
  ["FLOAT16", 16],
  ["DOUBLE", 64],
  ["UINT32", 32],
  ["UINT64", 64],
  ["COMPLEX64", 64],
  ["COMPLEX128", 128],
  ["BFLOAT16", 16],
  ["FLOAT8E4M3FN", 8],
  ["FLOAT8E4M3FNUZ", 8],
  ["FLOAT8E5M2", 8],
  ["FLOAT8E5M2FNUZ", 8],
  ["UINT4", 4],
  ["INT4", 4],
  ["FLOAT4E2M1", 4],
  ["FLOAT8E8M0", 8],
  ["UINT2", 2],
  ["INT2", 2],
];

interface Found {
  readonly tensors: TensorDescription[];
  readonly externalFiles: Set<string>;
  readonly metadata: Record<string, string | number>;
  graphName: string | null;
  graphCount: number;
  nodeCount: number;
}

export function readOnnx(source: ByteSource): ModelDescription {
  const found: Found = {
    tensors: [],
    externalFiles: new Set(),
    metadata: {},
    graphName: null,
    graphCount: 0,
    nodeCount: 0,
  };
  for (const field of fieldsOf(ByteReader.of(source), "model")) {
    if (field.kind === "number" && field.number === 1) found.metadata["ir_version"] = Number(field.value);
    if (field.kind !== "bytes") continue;
    const { number, content } = field;
    if (number === 2) found.metadata["producer_name"] = textOf(content, "producer_name");
    else if (number === 3) found.metadata["producer_version"] = textOf(content, "producer_version");
    else if (number === 7) readGraph(content, found, null);
    else if (number === 8) readOpset(content, found);
    else if (number === 14) {
      const [key, value] = readEntry(content, "metadata_props");
      found.metadata[key] = value;
    }
  }
  if (found.graphCount === 0) refuse("the file has no graph: it is no ONNX model");
  const { tensors, metadata, graphName, externalFiles, nodeCount } = found;
  return {
    format: "onnx",
    bytes: source.size,
    architecture: typeof metadata["model_type"] === "string" ? metadata["model_type"] : null,
    name: graphName,
    contextLength: null,
    parameters: elementCount([1, tensors.reduce((sum, { parameters }) => sum + parameters, 0)], "all tensors"),
    tensors,
    metadata: { ...metadata, node_count: nodeCount },
    externalFiles: [...externalFiles].toSorted(),
  };
}

function textOf(content: ByteReader, what: string): string {
  const text = content.text(Math.min(content.left, VALUE_KEPT_MAX), what);
  return content.left === 0 ? text : `${text}…`;
}

function nameOf(content: ByteReader, what: string): string {
  if (content.left > NAME_MAX) refuse(`${what}: a name has ${content.left} bytes; at most ${NAME_MAX} are read`);
  return content.text(content.left, what);
}

function readEntry(reader: ByteReader, what: string): readonly [key: string, value: string] {
  let [key, value] = ["", ""];
  for (const field of fieldsOf(reader, what)) {
    if (field.kind !== "bytes") continue;
    if (field.number === 1) key = nameOf(field.content, what);
    else if (field.number === 2) value = textOf(field.content, what);
  }
  return [key, value];
}

function readOpset(reader: ByteReader, { metadata }: Found): void {
  let [domain, version] = ["", 0];
  for (const field of fieldsOf(reader, "opset_import")) {
    if (field.kind === "bytes" && field.number === 1) domain = nameOf(field.content, "opset_import");
    if (field.kind === "number" && field.number === 2) version = Number(field.value);
  }
  metadata[domain === "" ? "opset" : `opset.${domain}`] = version;
}

/** The values that nodes of a graph may use: its own so far, and those of the graphs around it. */
interface Scope {
  readonly names: Set<string>;
  readonly outer: Scope | null;
  readonly depth: number;
}

function isKnown(name: string, scope: Scope): boolean {
  for (let at: Scope | null = scope; at !== null; at = at.outer) if (at.names.has(name)) return true;
  return false;
}

function readGraph(reader: ByteReader, found: Found, outer: Scope | null): void {
  const names = new Set<string>();
  const scope = { names, outer, depth: outer === null ? 0 : outer.depth + 1 };
  if (scope.depth > GRAPH_DEPTH_MAX) refuse(`graphs are nested more than ${GRAPH_DEPTH_MAX} deep`);
  found.graphCount += 1;
  const nodes: ByteReader[] = [];
  for (const field of fieldsOf(reader, "graph")) {
    if (field.kind !== "bytes") continue;
    const { number, content } = field;
    if (number === 1) nodes.push(content);
    else if (number === 2 && outer === null) found.graphName = nameOf(content, "name of the graph");
    else if (number === 5) names.add(readTensor(content, found));
    else if (number === 11) names.add(readValueName(content));
    else if (number === 15) names.add(readSparseTensor(content, found));
    found.nodeCount += number === 1 ? 1 : 0;
    if (found.nodeCount > NODES_MAX) refuse(`more than ${NODES_MAX} nodes`);
  }
  for (const node of nodes) readNode(node, found, scope);
}

function readNode(reader: ByteReader, found: Found, scope: Scope): void {
  const outputs: string[] = [];
  const inputs: string[] = [];
  const attributes: ByteReader[] = [];
  for (const field of fieldsOf(reader, "node")) {
    if (field.kind !== "bytes") continue;
    if (field.number === 1) inputs.push(nameOf(field.content, "input of a node"));
    else if (field.number === 2) outputs.push(nameOf(field.content, "output of a node"));
    else if (field.number === 5) attributes.push(field.content);
  }
  for (const input of inputs)
    if (input !== "" && !isKnown(input, scope))
      refuse(`the value ${quoted(input)} is used before it is made: the nodes form a cycle or are not sorted`);
  for (const attribute of attributes) readAttribute(attribute, found, scope);
  for (const output of outputs) scope.names.add(output);
}

/** Constants and graphs within a node. */
function readAttribute(reader: ByteReader, found: Found, scope: Scope): void {
  for (const field of fieldsOf(reader, "attribute")) {
    if (field.kind !== "bytes") continue;
    if (field.number === 5 || field.number === 10) readTensor(field.content, found);
    else if (field.number === 6 || field.number === 11) readGraph(field.content, found, scope);
  }
}

function readValueName(reader: ByteReader): string {
  let name = "";
  for (const field of fieldsOf(reader, "value"))
    if (field.kind === "bytes" && field.number === 1) name = nameOf(field.content, "value");
  return name;
}

/** The values of a sparse tensor are a tensor, which has its name. */
function readSparseTensor(reader: ByteReader, found: Found): string {
  let name = "";
  for (const field of fieldsOf(reader, "sparse tensor"))
    if (field.kind === "bytes" && field.number === 1) name = readTensor(field.content, found);
  return name;
}

interface RawTensor {
  name: string;
  type: number;
  isExternal: boolean;
  readonly shape: number[];
  /** Bytes of `raw_data`; `null`: the data is elsewhere. */
  rawBytes: number | null;
  location: string | null;
}

function readTensor(reader: ByteReader, found: Found): string {
  const raw: RawTensor = { name: "", type: 0, isExternal: false, shape: [], rawBytes: null, location: null };
  for (const field of fieldsOf(reader, "tensor")) {
    if (field.kind === "number") {
      if (field.number === 1) addDimension(raw, field.value);
      else if (field.number === 2) raw.type = Number(field.value);
      else if (field.number === 14) raw.isExternal = field.value === 1n;
    } else if (field.kind === "bytes") readTensorBytes(raw, field.number, field.content);
  }
  const { name, shape, type, isExternal, location, rawBytes } = raw;
  const where = `tensor ${quoted(name)}`;
  const [typeName, bits] = types[type] ?? [`type ${type}`, null];
  const parameters = elementCount(shape, name);
  const bytes = bits === null ? null : Math.ceil((parameters * bits) / 8);
  if (isExternal) {
    if (location === null) refuse(`${where}: its data is external, but has no location`);
    checkLocation(location, `${where}: location`);
    found.externalFiles.add(location);
  } else if (rawBytes !== null && bytes !== null && rawBytes !== bytes)
    refuse(`${where}: has ${rawBytes} bytes of data, but its shape and type need ${bytes}`);
  if (found.tensors.length >= TENSORS_MAX) refuse(`more than ${TENSORS_MAX} tensors`);
  found.tensors.push({ name, type: typeName, shape, parameters, bytes });
  return name;
}

function readTensorBytes(raw: RawTensor, number: number, content: ByteReader): void {
  if (number === 8) raw.name = nameOf(content, "name of a tensor");
  else if (number === 9) raw.rawBytes = content.left;
  // Packed dimensions.
  else if (number === 1) while (content.left > 0) addDimension(raw, varint(content, "dimension"));
  else if (number === 13) {
    const [key, value] = readEntry(content, "external_data");
    if (key === "location") raw.location = value;
  }
}

function addDimension({ shape, name }: RawTensor, value: bigint): void {
  const size = BigInt.asIntN(64, value);
  if (size < 0n || size > BigInt(Number.MAX_SAFE_INTEGER)) refuse(`tensor ${quoted(name)}: ${size} is no dimension`);
  if (shape.length >= DIMENSIONS_MAX) refuse(`tensor ${quoted(name)}: more than ${DIMENSIONS_MAX} dimensions`);
  shape.push(Number(size));
}
