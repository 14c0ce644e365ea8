/** Directories of each test of a file: one that jobs of the same user can change, and a private one to which nothing may lead them. */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach } from "vitest";

export class HostileFolder {
  root = "";

  /** Call it before the hooks of the file, so that the directories exist in them. */
  static forEachTest(): HostileFolder {
    const folder = new HostileFolder();
    beforeEach(() => {
      folder.root = mkdtempSync(path.join(tmpdir(), "headroom-hostile-"));
      for (const name of ["shared", "private"]) mkdirSync(folder.at(name));
    });
    afterEach(() => rmSync(folder.root, { recursive: true }));
    return folder;
  }

  at(...names: readonly string[]): string {
    return path.join(this.root, ...names);
  }

  shared(...names: readonly string[]): string {
    return this.at("shared", ...names);
  }

  private(...names: readonly string[]): string {
    return this.at("private", ...names);
  }

  /** Names in the private directory, at every depth. */
  leaked(): readonly string[] {
    return readdirSync(this.private(), { recursive: true }) as string[];
  }

  /** Moves what is there away, and puts a link to the private directory in its place, as a job can. */
  exchange(target: string): void {
    renameSync(target, this.at("aside"));
    symlinkSync(this.private(), target);
  }
}
