/**
 * The libraries that the package contains: those of the repository's lock, so that an installation has the libraries that
 * the tests ran with. They are part of the file because npm ignores `npm-shrinkwrap.json` of a package that is installed from
 * a file, and would take the newest versions that fit.
 */

interface LockEntry {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

/** Where the libraries and all that they need lie below the root, such as `node_modules/a/node_modules/b`. */
export function placesOf(lock: Lock, libraries: Iterable<string>): readonly string[] {
  const places = new Set<string>();
  const add = (name: string, from: string, isOptional: boolean): void => {
    const place = placeOf(lock, name, from);
    const entry = place === null ? undefined : lock.packages[place];
    if (place === null || entry === undefined) {
      if (isOptional) return;
      throw new Error(`package-lock.json has no ${name}, which ${from || "the package"} needs`);
    }
    if (places.has(place)) return;
    places.add(place);
    for (const each of Object.keys(entry.dependencies ?? {})) add(each, place, isOptional);
    for (const each of Object.keys(entry.optionalDependencies ?? {})) add(each, place, true);
  };
  for (const name of libraries) add(name, "", false);
  return [...places].toSorted();
}

/** The version of a library in the lock, as seen from the root. */
export function versionOf(lock: Lock, name: string): string {
  const entry = lock.packages[`node_modules/${name}`];
  if (entry === undefined)
    throw new Error(`package-lock.json has no ${name}: declare it in the package that imports it`);
  return entry.version;
}

/** Where Node finds the package `name` from the package at `from`: there, or in a folder above. */
function placeOf(lock: Lock, name: string, from: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const place = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (lock.packages[place] !== undefined) return place;
    if (folder === "") return null;
    if (!folder.includes("/node_modules/")) folder = "";
  }
}
