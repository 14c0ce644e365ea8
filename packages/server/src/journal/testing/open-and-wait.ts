/** A process that holds a home directory until it is killed: says "open" on its standard output once it does. */
import { openHome } from "../../driver/testing/bench-home.ts";

await openHome(process.argv[2] ?? "");
process.stdout.write("open\n");
setInterval(() => undefined, 60_000);
