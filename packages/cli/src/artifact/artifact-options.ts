/** Options of the commands about artifacts, and the names that users write. */
import { artifactKind } from "@headroom/protocol";
import type { ArtifactKind, ArtifactVersion } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import { printable } from "../terminal.ts";

export interface ArtifactShowOptions {
  readonly json?: boolean;
}
export interface ArtifactListOptions extends ArtifactShowOptions {
  readonly kind?: string;
  readonly team?: string;
  readonly search?: string;
  readonly deleted?: boolean;
  readonly csv?: boolean;
  readonly limit?: string;
}
export interface ArtifactChangeOptions extends ArtifactShowOptions {
  readonly reason?: string;
}
export interface AliasOptions extends ArtifactChangeOptions {
  readonly remove?: boolean;
  readonly propose?: boolean;
}
export interface GateOptions extends ArtifactChangeOptions {
  readonly metric?: string;
  readonly approval?: boolean;
  readonly remove?: boolean;
}
export interface HoldOptions extends ArtifactChangeOptions {
  readonly release?: boolean;
}
export interface RegisterOptions extends ArtifactChangeOptions {
  readonly team?: string;
  readonly uri?: string;
  readonly store?: string;
  readonly rule?: string;
  readonly input?: readonly string[];
  readonly metric?: readonly string[];
  readonly param?: readonly string[];
  readonly alias?: readonly string[];
}

export interface Named {
  /** The kind that the command is limited to; `null`: any. */
  readonly kind: ArtifactKind | null;
  readonly name: string;
}

const kinds = artifactKind.options;

export function kindOf(text: string | undefined): ArtifactKind | undefined {
  if (text === undefined) return undefined;
  const kind = kinds.find((each) => each === text);
  if (kind === undefined)
    throw new CliError(`--kind must be one of ${kinds.join(", ")}, got ${printable(text)}`, exitCode.usage);
  return kind;
}

/** The notation with its kind. `headroom model show chat@3` leaves the kind out. */
export function notationOf({ kind, name }: Named): string {
  const stated = kinds.find((each) => name.startsWith(`${each}:`));
  if (stated === undefined && kind === null)
    throw new CliError(
      `${printable(name)} names no kind. Write model:${printable(name)}, dataset:NAME, checkpoint:NAME, image:NAME or report:NAME.`,
      exitCode.usage,
    );
  if (stated !== undefined && kind !== null && stated !== kind)
    throw new CliError(`${printable(name)} is no ${kind}. Use headroom artifact.`, exitCode.usage);
  return stated === undefined ? `${kind}:${name}` : name;
}

/** The key of the name, so that a further call is about the artifact that was looked up. */
export const keyOf = ({ id }: Pick<ArtifactVersion, "id">): string => id.slice(0, id.lastIndexOf("@"));

/** `name=value` pairs of a repeated option. */
export function pairsOf(option: string, texts: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw new CliError(`${option} must be like name=value, got ${printable(text)}`, exitCode.usage);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}
