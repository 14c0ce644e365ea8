/**
 * `npm-shrinkwrap.json` of the package: the libraries with exactly the versions and hashes of the repository's lock, so
 * that an installation has the libraries that the tests ran with.
 */

interface LockEntry {
  readonly version: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly optional?: boolean;
}

export interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

export function shrinkwrapOf(lock: Lock, manifest: Manifest): object {
  const packages = new Map<string, object>();
  const add = (name: string, from: string, isOptional: boolean): void => {
    const place = placeOf(lock, name, from);
    const entry = place === null ? undefined : lock.packages[place];
    if (place === null || entry === undefined) {
      if (isOptional) return;
      throw new Error(`package-lock.json has no ${name}, which ${from || "the package"} needs`);
    }
    if (packages.has(place)) return;
    packages.set(place, entry);
    for (const each of Object.keys(entry.dependencies ?? {})) add(each, place, isOptional);
    for (const each of Object.keys(entry.optionalDependencies ?? {})) add(each, place, true);
  };
  for (const name of Object.keys(manifest.dependencies)) add(name, "", false);
  for (const name of Object.keys(manifest.optionalDependencies)) add(name, "", true);
  const { name, version } = manifest;
  const entries = [...packages].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages: { "": manifest, ...Object.fromEntries(entries) },
  };
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
