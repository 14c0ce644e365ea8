import { repositoryFiles } from "../testing/repository-copy.ts";

/** Files that are left out: recorded data, figures that programs write, and the phrase list itself. */
const excluded =
  /\/(?:history|fixtures|testdata|scenarios)\/.*\.(?!ts$)|^tools\/lint\/(?:phrases|retired-words)\.ts$|\/dist\//;

/** Every source and document with prose for people, relative to the root. */
export const proseFiles = (): readonly string[] =>
  repositoryFiles().filter((file) => /\.(?:ts|tsx|mjs|md)$/.test(file) && !excluded.test(file));
