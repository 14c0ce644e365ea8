/** A process that holds a home directory until the process is killed. It prints "open" once the directory is open. */
import { openHome } from "../../driver/testing/bench-home.ts";

await openHome(process.argv[2] ?? "");
process.stdout.write("open\n");
setInterval(() => undefined, 60_000);
