/**
 * ModelPack manifests (CNCF model specification v1): each file of a model is one raw layer with its path, and the config says
 * which model it is. Manifests come from registries, so sizes, digests and paths are checked.
 */
import path from "node:path";
import { OperationalError } from "@headroom/platform";
import { SHA256 } from "./oci-reference.ts";
import { MANIFEST_TYPE, sha256 } from "./registry-client.ts";
import type { RegistryManifest } from "./registry-client.ts";

const ARTIFACT_TYPE = "application/vnd.cncf.model.manifest.v1+json";
const CONFIG_TYPE = "application/vnd.cncf.model.config.v1+json";
const FILEPATH = "org.cncf.model.filepath";
const TITLE = "org.opencontainers.image.title";
/** Annotations of Headroom: the id and digest of the version, and whether its content is one file. */
const VERSION = "headroom.artifact.version";
const DIGEST = "headroom.artifact.digest";
const SHAPE = "headroom.artifact.shape";

const LAYERS_MAX = 10_000;

export interface PackedFile {
  /** Path in the model. */
  readonly name: string;
  readonly digest: string;
  readonly bytes: number;
}

export interface PackedModel {
  readonly files: readonly PackedFile[];
  /** The content is one file, not a directory with one. */
  readonly isOneFile: boolean;
  /** Digest of the content as versions have it; `null`: another tool packed it. */
  readonly contentDigest: string | null;
  /** Id of the version from which it was made; `null`: another tool packed it. */
  readonly version: string | null;
}

interface Description {
  readonly name: string;
  readonly version: string;
  /** Parameters of the version: architecture, format, precision, parameters. */
  readonly parameters: Readonly<Record<string, string>>;
}

const KINDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["doc", /(?:^|\/)(?:readme|license|notice|copying)[^/]*$|\.(?:md|rst|pdf)$/i],
  ["code", /\.(?:py|sh|ts|js|c|cc|cpp|h|rs|go|ipynb)$/i],
  ["weight.config", /\.(?:json|jsonl|ya?ml|toml|txt|jinja2?|model|vocab|merges|cfg|ini)$/i],
];
/** The media type of a file: `raw` layers need no unpacking, so single ranges of them can be read. */
const layerType = (name: string): string =>
  `application/vnd.cncf.model.${KINDS.find(([, pattern]) => pattern.test(name))?.[0] ?? "weight"}.v1.raw`;

/** Equal files and descriptions give equal bytes, so a repeated push changes nothing. */
export function packModel(
  { files, isOneFile, contentDigest, version }: PackedModel,
  description: Description,
): { readonly config: Buffer; readonly manifest: RegistryManifest } {
  const { architecture, format, precision, parameters } = description.parameters;
  const stated = Object.entries({ architecture, format, precision, paramSize: parameters });
  const config = Buffer.from(
    JSON.stringify({
      descriptor: { name: description.name, version: description.version },
      modelfs: { type: "layers", diffIds: files.map(({ digest }) => digest) },
      config: Object.fromEntries(stated.filter(([, value]) => value !== undefined)),
    }),
  );
  const bytes = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      artifactType: ARTIFACT_TYPE,
      config: { mediaType: CONFIG_TYPE, digest: sha256(config), size: config.length },
      layers: files.map(({ name, digest, bytes: size }) => ({
        mediaType: layerType(name),
        digest,
        size,
        annotations: { [FILEPATH]: name, [TITLE]: name },
      })),
      annotations: {
        [TITLE]: description.name,
        ...(version === null ? {} : { [VERSION]: version }),
        ...(contentDigest === null ? {} : { [DIGEST]: contentDigest }),
        [SHAPE]: isOneFile ? "file" : "directory",
      },
    }),
  );
  return { config, manifest: { digest: sha256(bytes), mediaType: MANIFEST_TYPE, bytes } };
}

/** Reads a manifest of any tool that writes raw layers with paths. `what` names it in messages. */
export function readModelPack({ bytes }: RegistryManifest, what: string): PackedModel {
  const manifest = parse(bytes, what);
  const layers = manifest["layers"];
  if (!Array.isArray(layers) || layers.length === 0 || layers.length > LAYERS_MAX)
    throw refusal(what, `must have 1 to ${LAYERS_MAX} layers`);
  const files = layers.map((layer) => fileOf(layer, what));
  const notes = record(manifest["annotations"]);
  const isOneFile = notes[SHAPE] === "file" && files.length === 1;
  const { [DIGEST]: digest, [VERSION]: version } = notes;
  return {
    files: files.toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    isOneFile,
    contentDigest: typeof digest === "string" && SHA256.test(digest) ? digest : null,
    version: typeof version === "string" && version.length <= 512 ? version : null,
  };
}

function parse(bytes: Buffer, what: string): Readonly<Record<string, unknown>> {
  try {
    return record(JSON.parse(bytes.toString("utf8")));
  } catch {
    throw refusal(what, "is no JSON");
  }
}

function fileOf(layer: unknown, what: string): PackedFile {
  const { mediaType, digest, size, annotations } = record(layer);
  if (typeof digest !== "string" || !SHA256.test(digest)) throw refusal(what, "has a layer without a SHA-256 digest");
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0)
    throw refusal(what, "has a layer of an impossible size");
  if (typeof mediaType === "string" && /[.+](?:tar|gzip|zstd)\b/.test(mediaType))
    throw refusal(what, "has an archive as a layer. Pack it with raw layers (modctl: --raw), one for each file");
  const notes = record(annotations);
  const name = notes[FILEPATH] ?? notes[TITLE];
  if (typeof name !== "string" || path.posix.normalize(name) !== name || name.startsWith("/") || name.startsWith(".."))
    throw refusal(what, `has a layer whose ${FILEPATH} is no path in it`);
  return { name, digest, bytes: size };
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

const refusal = (what: string, problem: string): OperationalError =>
  new OperationalError("badObject", `${what} ${problem}.`);
