/** The node of a result file whose content does not name it. */

/** Words of file names that are no part of a node's name. */
const words =
  "(?:dcgmi?|diag(?:nostics?)?|nccl(?:[-_]?tests?)?|superbench|sb|results?|summary|output|out|log|json|txt|r[1-4]|level[1-4]|all[-_]?reduce|all[-_]?gather|reduce[-_]?scatter|all[-_]?to[-_]?all|alltoall|broadcast|sendrecv|reduce|gather|scatter|perf|busbw|bw)";
const before = new RegExp(`^${words}[-_.]+`, "i");
const after = new RegExp(`[-_.]+${words}$`, "i");

/**
 * `nodes/HOST/…` anywhere in the path, as SuperBench writes it; else the file's name without its extension and the names of tests before
 * and after (`dcgm-diag-gpu07.json` is `gpu07`); else, if nothing is left, the folder.
 */
export function nodeOfPath(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const at = parts.indexOf("nodes");
  const host = at < 0 || at >= parts.length - 2 ? undefined : parts[at + 1];
  if (host !== undefined) return host;
  let name = (parts.at(-1) ?? path).replace(/\.[A-Za-z]{2,6}$/, "");
  for (let previous = ""; previous !== name;) {
    previous = name;
    name = name.replace(before, "").replace(after, "");
  }
  const isWord = new RegExp(`^${words}$`, "i").test(name);
  return isWord && parts.length > 1 ? (parts.at(-2) ?? name) : name;
}
