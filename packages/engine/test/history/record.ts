/** `node packages/engine/test/history/record.ts NAME`: records a journal in the current version of the format. */
import { writeHistory } from "./history-files.ts";
import { recordLife } from "./recorded-life.ts";

const [name] = process.argv.slice(2);
if (name === undefined) throw new Error("usage: record.ts NAME, e.g. 0002-serve-endpoints");
const { groups, snapshot, digest } = recordLife();
writeHistory(name, { groups, snapshot: snapshot.text, digest });
process.stdout.write(`${name}: ${groups.length} groups, digest ${digest}\n`);
