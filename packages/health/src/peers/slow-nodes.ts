/**
 * Finds slow nodes while they run: the step time of each node, and each stated part of it, is compared with the median of its peers
 * in the same step (`cusum-test.ts`).
 */
import { medianOf } from "../statistics.ts";
import { CusumTest, type SlowNode } from "./cusum-test.ts";

/** Nodes of a step from which on its median says something. */
const PEERS_MIN = 4;
/** Parts of a step that are compared. Further names are left out. */
const PARTS_MAX = 8;
/** The part of a step, from 0 to 1, that a part takes at least on the median node: small parts vary much, and slow nobody down. */
const PART_SHARE_MIN = 0.02;

export interface StepTime {
  readonly node: string;
  /** Seconds that the node worked on the step, without waiting for its peers. */
  readonly seconds: number;
  /** Seconds of parts of the step, such as `compute` and `input`, by name. */
  readonly parts?: Readonly<Record<string, number>> | undefined;
}

/** The nodes of one workload, or of one comparable set that does the same work. */
export class SlowNodes {
  readonly #whole = new CusumTest(null);
  readonly #parts = new Map<string, CusumTest>();
  /** Nodes that are slow now: each is named once, by the test that names it first. */
  readonly #named = new Set<string>();

  /**
   * The nodes that this step shows to be slow. Each is named once, and again if it recovers and becomes slow again.
   * `step`: its number, for the answer; numbers may be left out.
   */
  observe(step: number, times: readonly StepTime[]): readonly SlowNode[] {
    const valid = times.filter(({ seconds }) => isTime(seconds));
    if (valid.length < PEERS_MIN) return [];
    const median = medianOf(valid.map(({ seconds }) => seconds));
    const whole = new Map(valid.map(({ node, seconds }) => [node, Math.log(seconds / median)]));
    const compared = this.#partsOf(valid, median);
    const testCount = 1 + this.#parts.size;
    const found = [
      ...this.#whole.follow({ step, excess: whole, whole, testCount }),
      ...compared.flatMap(({ test, excess }) => test.follow({ step, excess, whole, testCount })),
    ];
    const excessOf = new Map(compared.map(({ test, excess }) => [test, excess]));
    for (const test of this.#parts.values())
      test.passOver([...whole.keys()].filter((node) => excessOf.get(test)?.has(node) !== true));
    const slow = new Set(this.slow.map(({ node }) => node));
    for (const node of this.#named) if (!slow.has(node)) this.#named.delete(node);
    return found.filter(({ node }) => {
      const isNew = !this.#named.has(node);
      this.#named.add(node);
      return isNew;
    });
  }

  /** The nodes that are slow now, with their mean slowdown since they became slow; of a node with several slow parts the slowest. */
  get slow(): readonly SlowNode[] {
    const slow = new Map<string, SlowNode>();
    for (const test of [this.#whole, ...this.#parts.values()])
      for (const each of test.slow) {
        const known = slow.get(each.node)?.part_slower_pct ?? Number.NEGATIVE_INFINITY;
        if ((each.part_slower_pct ?? Number.NEGATIVE_INFINITY) > known || !slow.has(each.node))
          slow.set(each.node, each);
      }
    return [...slow.values()];
  }

  /** The parts that enough nodes state, with the logarithm of each node's time over the median. */
  #partsOf(valid: readonly StepTime[], stepMedian: number) {
    const byPart = new Map<string, [node: string, seconds: number][]>();
    for (const { node, parts = {} } of valid)
      for (const [part, seconds] of Object.entries(parts)) {
        if (!isTime(seconds) || (!byPart.has(part) && byPart.size >= PARTS_MAX)) continue;
        const rows = byPart.get(part);
        if (rows === undefined) byPart.set(part, [[node, seconds]]);
        else rows.push([node, seconds]);
      }
    return [...byPart].flatMap(([part, rows]) => {
      const median = medianOf(rows.map(([, seconds]) => seconds));
      if (rows.length < PEERS_MIN || median < PART_SHARE_MIN * stepMedian) return [];
      let test = this.#parts.get(part);
      if (test === undefined && this.#parts.size < PARTS_MAX) this.#parts.set(part, (test = new CusumTest(part)));
      if (test === undefined) return [];
      return [{ test, excess: new Map(rows.map(([node, seconds]) => [node, Math.log(seconds / median)])) }];
    });
  }
}

const isTime = (seconds: number): boolean => Number.isFinite(seconds) && seconds > 0;
