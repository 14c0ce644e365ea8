// Atomic checkpoints. A checkpoint is written to a temporary file, synced, renamed, and only then listed in the
// manifest.
import { createHash } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
const KEPT = 3; // Number of checkpoints kept. If the newest one is damaged on disk, an older one is used.
const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");
const sync = (file) => [fsyncSync(file), closeSync(file)];

/**
 * Replaces a file atomically. After a crash at any instant the file has the old content or the new content, never a
 * mixture.
 */
export function writeAtomically(path, bytes) {
  const file = openSync(`${path}.tmp`, "w");
  writeFileSync(file, bytes);
  sync(file);
  renameSync(`${path}.tmp`, path);
  sync(openSync(dirname(path), "r")); // a rename is durable only after a sync of its directory
}

/** The checkpoints that the manifest names, newest last. */
function listed(directory) {
  const path = join(directory, "manifest.json");
  return existsSync(path) ? JSON.parse(readFileSync(path)).checkpoints : [];
}

/**
 * Saves the state after a step with its header, and deletes all except the last few checkpoints. Returns the name of
 * the file.
 */
export function save(directory, header, state) {
  const bytes = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), Buffer.from(state.buffer)]);
  const entry = { step: header.step, file: `step-${header.step}.ckpt`, sha256: digest(bytes) };
  writeAtomically(join(directory, entry.file), bytes);
  const all = [...listed(directory).filter((each) => each.step < header.step), entry];
  writeAtomically(join(directory, "manifest.json"), JSON.stringify({ checkpoints: all.slice(-KEPT) }, null, 2));
  for (const old of all.slice(0, -KEPT)) rmSync(join(directory, old.file), { force: true });
  return entry.file;
}

/** The content of the newest intact checkpoint; empty if there is none. */
export function newest(directory) {
  for (const { file, sha256 } of listed(directory).reverse()) {
    const bytes = existsSync(join(directory, file)) ? readFileSync(join(directory, file)) : Buffer.alloc(0);
    if (digest(bytes) === sha256) return bytes;
    console.error(`${file} is missing or damaged; an older checkpoint has to do`);
  }
  return Buffer.alloc(0);
}
