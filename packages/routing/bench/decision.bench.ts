/**
 * CPU time of a decision at 200 replicas, of its feedback, and of the prefix hash: `npm run bench decision [REPLICAS]`. Every
 * replica is busy; prompts of 32 kB share prefixes of different lengths.
 */
import { createRouter, defaultCoefficients, PrefixHasher, routingPolicies, seededDraw } from "../src/index.ts";
import type { Chosen, RoutingPolicy, RoutingRequest, Ticket } from "../src/index.ts";

const replicaCount = Number(process.argv[2] ?? 200);
const ROUNDS = 5;
const DECISIONS = 20_000;

function prompts(count: number, isNarrowed = true): { request: RoutingRequest; bytes: Buffer }[] {
  const draw = seededDraw(7);
  return Array.from({ length: count }, (_, index) => {
    const bytes = Buffer.alloc(32_000, `conversation ${index % 40} `);
    bytes.write(`round ${index}`, 8000 + (draw() % 20_000));
    const hasher = new PrefixHasher();
    hasher.begin(1);
    hasher.update(bytes);
    const request = {
      promptTokens: 8000,
      prefix: hasher,
      sessionHash: index % 40,
      adapter: isNarrowed && index % 3 === 0 ? "a" : undefined,
      zone: isNarrowed ? `z${index % 4}` : undefined,
      region: isNarrowed ? `r${index % 2}` : undefined,
      slo: { ttftMs: 1000, tpotMs: 50 },
    };
    return { request, bytes };
  });
}

/** `isNarrowed`: requests name a zone, a region and, every third, an adapter, which leaves fewer candidates. */
function measure(policy: RoutingPolicy, isNarrowed: boolean): object {
  const router = createRouter({ policy, draw: seededDraw(1) });
  for (let index = 0; index < replicaCount; index += 1) {
    const id = `replica-${index}`;
    router.addReplica({ id, zone: `z${index % 4}`, region: `r${index % 2}`, latency: { ...defaultCoefficients } });
  }
  const requests = prompts(400, isNarrowed);
  const tickets: Ticket[] = [];
  let nowMs = 0;
  const at = (index: number): RoutingRequest => (requests[index % requests.length] as (typeof requests)[0]).request;
  // Ten requests on each replica.
  for (let index = 0; index < replicaCount * 10; index += 1) {
    nowMs += 1;
    tickets.push(router.start(router.choose(at(index), nowMs) as Chosen, at(index), nowMs));
    router.tokens(tickets[index] as Ticket, 1, nowMs);
  }
  const decisionUs: number[] = [];
  const feedbackUs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    let last: Chosen | undefined;
    decisionUs.push(
      cpuUs(DECISIONS, (index) => {
        nowMs += 0.02;
        last = router.choose(at(index), nowMs) as Chosen;
      }),
    );
    const decision = last as Chosen;
    feedbackUs.push(
      cpuUs(DECISIONS, (index) => {
        const ticket = router.start(decision, at(index), nowMs);
        router.firstToken(ticket, nowMs + 1);
        router.tokens(ticket, 20, nowMs + 2);
        router.end(ticket, "completed", nowMs + 3);
      }),
    );
  }
  return {
    policy,
    isNarrowed,
    replicaCount,
    decisionUs: least(decisionUs),
    feedbackUs: least(feedbackUs),
    perSecond: Math.round(1e6 / least(decisionUs)),
  };
}

function cpuUs(count: number, run: (index: number) => void): number {
  const before = process.cpuUsage();
  for (let index = 0; index < count; index += 1) run(index);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

/**
 * The minimum over the rounds. In the fastest round the code is compiled, and other work on the machine disturbs it
 * least.
 */
function least(values: readonly number[]): number {
  return Math.round(Math.min(...values) * 100) / 100;
}

for (const isNarrowed of [false, true]) {
  for (const policy of routingPolicies) process.stdout.write(`${JSON.stringify(measure(policy, isNarrowed))}\n`);
}
const [{ bytes } = { bytes: Buffer.alloc(0) }] = prompts(1);
for (const size of [1000, 32_000, 220_000]) {
  const prompt = Buffer.alloc(size, bytes);
  const hasher = new PrefixHasher();
  const rounds = Array.from({ length: ROUNDS }, () =>
    cpuUs(2000, (index) => {
      hasher.begin(index);
      hasher.update(prompt);
    }),
  );
  process.stdout.write(`${JSON.stringify({ hashBytes: size, hashUs: least(rounds), blocks: hasher.count })}\n`);
}
