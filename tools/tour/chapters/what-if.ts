import type { Chapter } from "../chapter.ts";

interface Answer {
  readonly sequence: number;
  readonly earlierCount: number;
  readonly interruptedCount: number;
  readonly moved: readonly { readonly name: string }[];
  readonly interrupted: readonly { readonly name: string }[];
}
interface Status {
  readonly nodes: { readonly total: number };
  readonly workloads: { readonly submitted: number };
}

export const whatIf: Chapter = {
  name: "what-if",
  shows:
    "Forecasts of a changed fleet: one node more starts what waits, a lost node interrupts what runs, and neither happens.",
  needs: ["start"],
  async run(stage) {
    await stage.json("run", "--name", "holder", "--gpus", "2", "--cores", "0", "--walltime", "1h", "--", "sleep 3600");
    await stage.headroom("run", "--name", "wide", "--gpus", "4", "--cores", "0", "--walltime", "1h", "--", "sleep 1");
    const why = await stage.headroom("why", "wide");
    stage.matches(
      "why names the shortfall, and a node as a tested change",
      why.stdout,
      /Not enough free accelerators[^]*Add 1 node/,
    );
    const before = await status();
    const { items } = await stage.json<{ items: { id: string }[] }>("nodes");
    const node = items[0]?.id ?? "";

    await stage.headroom("what-if", "--add", `${node}:1`);
    const more = await stage.json<Answer>("what-if", "--add", `${node}:1`);
    stage.equal(
      "with one node more, the waiting job starts earlier",
      [more.earlierCount >= 1, more.moved.map(({ name }) => name).includes("wide")],
      [true, true],
    );
    const less = await stage.json<Answer>("what-if", "--lose", node);
    stage.holds("without its only node, running work is interrupted", less.interruptedCount >= 1, less);
    stage.equal("the interrupted work is named", less.interrupted.map(({ name }) => name).includes("holder"), true);
    stage.equal("fleet and work are as before", await status(), before);
    const unknown = await stage.headroom("what-if", "--lose", "no-such-node");
    stage.equal("a node that does not exist is refused", unknown.code, 1);
    await stage.headroom("stop", "wide", "holder");

    async function status(): Promise<readonly number[]> {
      const { nodes, workloads } = await stage.json<Status>("status");
      return [nodes.total, workloads.submitted];
    }
  },
};
