/**
 * Rights of teams to the bytes of a store. A store lists teams, each with all teams below it; everything else is denied.
 * Executors check the rights when bytes move, whatever way the work was submitted.
 */
import type { PlaceDeclaration } from "./store-declaration.ts";

type Rights = Pick<PlaceDeclaration, "readers" | "writers">;

/** Entry for every team. */
const ANY_TEAM = "*";

/** Folder of uploaded artifacts within a store, by kind, team and name. */
const UPLOADED = "artifacts";

const isListed = (teams: readonly string[], team: string): boolean =>
  teams.some((each) => each === ANY_TEAM || each === team || team.startsWith(`${each}/`));

/** Teams that write can read what they wrote. */
export const mayRead = ({ readers, writers }: Rights, team: string): boolean =>
  isListed(readers, team) || isListed(writers, team);

export const mayWrite = ({ writers }: Rights, team: string): boolean => isListed(writers, team);

/** An artifact, as far as the place of its bytes depends on it. */
export interface UploadOwner {
  readonly kind: string;
  readonly team: string;
  readonly name: string;
}

/** Key of an uploaded artifact within its store. `content`: 64 hexadecimal digits, then more after a dot if need be. */
export const uploadedKey = ({ kind, team, name }: UploadOwner, content: string): string =>
  `${UPLOADED}/${kind}/${team}/${name}/${content}`;

const CONTENT = /^[0-9a-f]{64}(?:\.[^/]*)?(?:\/|$)/;

/**
 * Whether the key is that of an upload of the artifact. The content is checked: `research/nlp` is a team, and `nlp` an
 * artifact of `research`, but no name has 64 characters.
 */
export function isUploadOf(key: string, owner: UploadOwner): boolean {
  const within = uploadedKey(owner, "");
  return key.startsWith(within) && CONTENT.test(key.slice(within.length));
}

/**
 * Whether the key, without the prefix of the store, is among the uploads of teams. These bytes are read by the name of a
 * version, never by their URI, because teams that share a store do not share their artifacts. An empty first segment counts:
 * a folder ignores it, and the whole store contains the uploads.
 */
export const isUploaded = (key: string): boolean => {
  const [first = ""] = key.split("/");
  return first === UPLOADED || first === "";
};
