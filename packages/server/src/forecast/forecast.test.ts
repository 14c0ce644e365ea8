import { WHAT_IF_ADDED_NODES_MAX, problemKinds, whatIfQuestion } from "@headroom/protocol";
import { estimateStarts, forecastPresentOf, usualEstimateOptions } from "@headroom/sim";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControlPlane } from "../api/control-plane.ts";
import { handlers } from "../api/handlers.ts";
import { removeHome, startLive, temporaryHome, type LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { wholeControlPlane } from "../auth/authorize.ts";
import { ForecastService } from "./forecast-service.ts";

const principal = { actor: "test", grants: [wholeControlPlane], tokenId: null };
let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

const train = (name: string, gang: object) => ({ kind: "train", name, run: "true", gang }) as const;

describe("looking ahead", () => {
  it("says what would start work that waits, and leaves the journal as it was", async () => {
    const { workloadId } = await live.client.submitWorkload(train("too-big", { workers: 1000, coresMilli: 1000 }));
    const before = (await live.client.status()).sequence;
    const { items } = await live.client.startingChanges(workloadId);
    expect(items[0]).toMatchObject({
      change: {
        kind: "fewerWorkers",
        from: 1000,
        sentence: expect.stringMatching(/^Request \d+ workers? instead of 1,000\.$/),
      },
      start: { displaced: [], sentence: expect.stringContaining("at once") },
    });
    expect((await live.client.status()).sequence).toBe(before);
  });

  it("says what would become of work before it is submitted", async () => {
    const before = (await live.client.status()).sequence;
    expect(await live.client.forecastWorkload(train("small", { coresMilli: 1 }))).toMatchObject({ kind: "starts" });
    expect(await live.client.forecastWorkload(train("large", { workers: 500, coresMilli: 1000 }))).toMatchObject({
      kind: "waits",
      verdict: { kind: "blocked", reasons: [{ kind: "exceedsFleet" }] },
      changes: expect.arrayContaining([
        {
          change: expect.objectContaining({ kind: "fewerWorkers" }),
          start: expect.objectContaining({ displaced: [] }),
        },
      ]),
    });
    await expect(live.client.forecastWorkload({ ...train("a", {}), team: "nobody" })).rejects.toMatchObject({
      code: "unknownTeam",
    });
    expect((await live.client.status()).sequence).toBe(before);
  });

  it("asks as whoever asks: what one user may have holds before it is submitted too", async () => {
    const team = { name: "shared", parent: null, limit: {}, userLimit: { cores: 0 } };
    await live.client.apply({ teams: [team] });
    const spec = { ...train("mine", { coresMilli: 1 }), team: "shared" };
    const { workloadId } = await live.client.submitWorkload(spec);
    const { actor } = await live.client.getWorkload(workloadId);
    const bound = { kind: "blocked", reasons: [{ kind: "teamLimit", bound: "user", user: actor }] };
    expect(await live.client.explainWorkload(workloadId)).toMatchObject(bound);
    const asked = { ...spec, name: "asked" };
    expect(await live.client.forecastWorkload(asked)).toMatchObject({ kind: "waits", verdict: bound });
    const { changes } = await live.client.apply({ workloads: [asked] }, { dryRun: true, forecast: true });
    expect(changes.at(-1)).toMatchObject({ forecast: { kind: "waits", verdict: bound } });
    await live.client.stopWorkload(workloadId);
    await live.client.removeTeam("shared");
  });

  it("starts nothing before its time, and says that time where it lies beyond the horizon", async () => {
    const notBeforeMs = Date.UTC(2090, 0, 1);
    const soonMs = Date.now() + 3_600_000;
    const work = (name: string, atMs: number) => ({ ...train(name, { coresMilli: 1 }), notBeforeMs: atMs });
    const late = await live.client.submitWorkload(work("late", notBeforeMs));
    const soon = await live.client.submitWorkload(work("soon", soonMs));
    const bound = /starts at 2090-01-01T00:00:00Z at the earliest/;
    expect(await live.client.estimateStart(late.workloadId)).toMatchObject({
      p50AtMs: null,
      sentence: expect.stringMatching(bound),
    });
    expect((await live.client.explainWorkload(late.workloadId)).sentence).toMatch(bound);
    expect(await live.client.forecastWorkload(work("other", notBeforeMs))).toMatchObject({
      sentence: expect.stringMatching(bound),
      estimate: { p50AtMs: null, sentence: expect.stringMatching(/no start can be estimated/) },
    });
    expect((await live.client.estimateStart(soon.workloadId)).p10AtMs).toBeGreaterThanOrEqual(soonMs);
    await live.client.stopWorkload(late.workloadId);
    await live.client.stopWorkload(soon.workloadId);
  });

  it("says when work would start that is not submitted yet, and what would become of what is declared", async () => {
    const { items } = await live.client.listNodes();
    const whole = { coresMilli: Math.max(...items.map(({ coresMilli }) => coresMilli)) };
    await live.client.submitWorkload({ ...train("holder", whole), run: "sleep 60" });
    const range = { p10AtMs: expect.any(Number), p50AtMs: expect.any(Number), p90AtMs: expect.any(Number) };
    const waits = { kind: "waits", verdict: { kind: "blocked" }, estimate: expect.objectContaining(range) };
    expect(await live.client.forecastWorkload(train("next", whole))).toMatchObject(waits);
    const hopeless = await live.client.forecastWorkload(train("never", { workers: 500, coresMilli: 1000 }));
    expect(hopeless).toMatchObject({ kind: "waits", estimate: null });
    const team = { name: "new", parent: null, limit: {} };
    const workloads = [
      { ...train("one", whole), team: "new" },
      { ...train("none", { coresMilli: 0 }), team: "new" },
    ];
    const plan = await live.client.apply({ teams: [team], workloads }, { dryRun: true, forecast: true });
    expect(plan).toMatchObject({
      dryRun: true,
      changes: [
        { kind: "team", action: "created" },
        { name: "one", action: "created", workloadId: null, forecast: waits },
        { name: "none", action: "created", forecast: { kind: "starts", start: { displaced: [] } } },
      ],
    });
    expect(plan.changes[0]).not.toHaveProperty("forecast");
    const names = (await live.client.listWorkloads()).items.map(({ name }) => name);
    expect(names).toContain("holder");
    expect(names).not.toContain("one");
    expect((await live.client.teams()).items.map(({ name }) => name)).not.toContain("new");
  });

  it("estimates a start, or says that none can be given", async () => {
    const { workloadId } = await live.client.submitWorkload(train("for-ever", { workers: 900, coresMilli: 1000 }));
    expect(await live.client.estimateStart(workloadId)).toMatchObject({ workloadId, p50AtMs: null });
    const { workloadId: held } = await live.client.submitWorkload({ ...train("kept", {}), hold: true });
    expect((await live.client.estimateStart(held)).sentence).toBe(
      "Held: it starts after a release. No start can be estimated.",
    );
    await expect(live.client.estimateStart("w999")).rejects.toMatchObject({ code: "unknownWorkload" });
    await expect(live.client.startingChanges("w999")).rejects.toMatchObject({ code: "unknownWorkload" });
  });
});

describe("what is expected to start", () => {
  it("is the next task of an array of which some run", async () => {
    const [node] = (await live.client.listNodes()).items;
    const half = { coresMilli: Math.floor(node!.coresMilli / 2) };
    const array = { kind: "batch", name: "array", run: "sleep 60", taskCount: 9, gang: half } as const;
    const { sentence } = await live.client.forecastWorkload(array);
    expect(sentence).toMatch(/tasks; the others wait\.$|^It would wait\. /);
    const { workloadId } = await live.client.submitWorkload(array);
    const first = await live.client.estimateStart(workloadId);
    expect(first.sentence).toMatch(/^The (first|next) of its \d (waiting )?tasks starts/);
    expect((await live.client.expectedStarts()).items.map(({ workload }) => workload.id)).toContain(workloadId);
    await live.client.stopWorkload(workloadId);
  });

  it("is everything that waits, in pages", async () => {
    const all = await live.client.expectedStarts();
    const { items: waiting } = await live.client.listWorkloads({ phase: "pending" });
    expect(all.items.map(({ workload }) => workload.id).toSorted()).toEqual(waiting.map(({ id }) => id).toSorted());
    expect(all.items.length).toBeGreaterThan(1);
    for (const { workload, estimate } of all.items) expect(estimate.workloadId).toBe(workload.id);
    const first = await live.client.expectedStarts({ limit: 1 });
    const rest = await live.client.expectedStarts({ cursor: first.nextCursor });
    expect([...first.items, ...rest.items].map(({ workload }) => workload.id)).toEqual(
      all.items.map(({ workload }) => workload.id),
    );
    await expect(live.client.expectedStarts({ cursor: "1.1" })).rejects.toMatchObject({ code: "invalidCursor" });
    expect(await live.client.expectedStarts({ team: "nobody" })).toEqual({ items: [], nextCursor: null });
  });
});

describe("one forecast", () => {
  it("is told to the second by every face at one sequence, with its history", async () => {
    // A control plane of its own, in which nothing else holds the requested accelerators.
    const alone = await startLive(temporaryHome());
    const { items } = await alone.client.listNodes();
    const [node] = items;
    const whole = { coresMilli: Math.max(...items.map(({ coresMilli }) => coresMilli)) };
    const holder = await alone.client.submitWorkload({
      ...train("holds-all", whole),
      run: "sleep 60",
      walltimeMs: 90_000,
    });
    const { workloadId } = await alone.client.submitWorkload({ ...train("waits", whole), walltimeMs: 60_000 });
    for await (const { event } of alone.client.events())
      if (event.kind === "attemptStarted" && event.attemptId.startsWith(holder.workloadId)) break;
    const { sequence } = await alone.client.status();
    const own = await alone.client.estimateStart(workloadId);
    const listed = (await alone.client.expectedStarts()).items.find(({ workload }) => workload.id === workloadId);
    const answer = await alone.client.whatIf({ addNodes: [{ like: node!.id, count: 1 }] });
    const moved = answer.moved.find((each) => each.workloadId === workloadId);
    const { bytes } = await alone.client.snapshot();
    const { engine, nowMs } = forecastPresentOf(bytes, Date.now());
    const [elsewhere] = estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: null }).filter(
      (each) => each.workloadId === workloadId,
    );
    // The sequence has not changed, so all questions were about the same state.
    expect((await alone.client.status()).sequence).toBe(sequence);
    expect(own.p50AtMs).toEqual(expect.any(Number));
    const { p10AtMs, p50AtMs, p90AtMs } = own;
    expect(listed?.estimate).toMatchObject({ p10AtMs, p50AtMs, p90AtMs });
    expect(answer.sequence).toBe(sequence);
    expect(moved).toMatchObject({ presentAtMs: p50AtMs });
    expect(elsewhere?.p50AtMs).toBe(p50AtMs);
    expect(own.because.history).toMatchObject({ runningCount: expect.any(Number) });
    await alone.client.stopWorkload(holder.workloadId);
    await alone.close();
    removeHome(alone.home);
  });
});

describe("a question about the time to come", () => {
  const stays = new AbortController().signal;
  const nowMs = (): number => Date.now();
  const estimate = { kind: "estimate", id: "w999" } as const;
  const changes = { kind: "changes", id: "w999" } as const;

  it("that takes too long is given up, which may be tried again", async () => {
    const service = new ForecastService({ driver: live.driver, nowMs, answerMsMax: 1 });
    const asked = service.ask(estimate, "test", stays);
    await expect(asked).rejects.toMatchObject({ code: "tookTooLong", problem: { status: 503 } });
    expect(problemKinds.tookTooLong.retryable).toBe(true);
    await service.close();
  });

  it("is given up when whoever asks leaves, and the next is answered all the same", async () => {
    const service = new ForecastService({ driver: live.driver, nowMs });
    const leaves = new AbortController();
    const [first, second, third] = [leaves.signal, leaves.signal, stays].map((gone) =>
      service.ask(estimate, "test", gone),
    );
    leaves.abort();
    await expect(first).rejects.toMatchObject({ code: "tookTooLong" });
    await expect(second).rejects.toMatchObject({ code: "tookTooLong" });
    expect(await third).toBeNull();
    await service.close();
  });

  it("takes turns between principals, and bounds how many of one wait", async () => {
    const order: string[] = [];
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let reads = 0;
    const read: LiveControlPlane["driver"]["read"] = async (query) => {
      if (reads++ === 0) await held;
      return live.driver.read(query);
    };
    const service = new ForecastService({ driver: { read }, nowMs, sharedAnswerMsMax: 30_000 });
    const ask = async (actor: string, name: string): Promise<void> => {
      await service.ask(estimate, actor, stays);
      order.push(name);
    };
    const asked = [ask("ann", "ann 1"), ask("ann", "ann 2"), ask("ann", "ann 3"), ask("bob", "bob 1")];
    release();
    await Promise.all(asked);
    expect(order.indexOf("bob 1")).toBeLessThan(order.indexOf("ann 3"));
    const many = Array.from({ length: 6 }, () => service.ask(estimate, "ann", stays));
    const refused = (await Promise.allSettled(many)).filter(({ status }) => status === "rejected");
    expect(refused).toMatchObject([{ reason: { code: "overloaded" } }]);
    await service.close();
  });

  it("of the present does not wait for one of the future", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let reads = 0;
    const read: LiveControlPlane["driver"]["read"] = async (query) => {
      if (reads++ === 0) await held;
      return live.driver.read(query);
    };
    const service = new ForecastService({ driver: { read }, nowMs });
    const future = service.ask(estimate, "test", stays);
    expect(await service.ask(changes, "test", stays)).toBeNull();
    release();
    expect(await future).toBeNull();
    await service.close();
  });

  it("with a change resolves the change on the state that it plays: both come from one read", async () => {
    const body = whatIfQuestion.parse({ teams: [{ name: "tried" }] });
    let reads = 0;
    const read: LiveControlPlane["driver"]["read"] = (query) => {
      reads++;
      return live.driver.read(query);
    };
    const forecast = new ForecastService({ driver: { read }, nowMs });
    const plane = { forecast, driver: { ...live.driver, read } } as unknown as ControlPlane;
    const call = { params: {}, query: {}, body, actor: "test", principal, idempotencyKey: null };
    expect((await handlers.whatIf(plane, call, () => stays)).sequence).toBeGreaterThan(0);
    expect(reads).toBe(1);
    const missing = { ...call, body: whatIfQuestion.parse({ loseNodes: ["nowhere"] }) };
    await expect(handlers.whatIf(plane, missing, () => stays)).rejects.toMatchObject({ code: "unknownNode" });
    await forecast.close();
  });

  it("that needs more memory than allowed is refused, and the next question is answered", async () => {
    const heapMibMax = 40;
    const forecast = new ForecastService({ driver: live.driver, nowMs: () => Date.now(), heapMibMax });
    const plane = { forecast, driver: live.driver } as unknown as ControlPlane;
    const ask = (count: number, nodes: number) => {
      const addPools = Array.from({ length: count }, (_, at) => ({ name: `p${at}`, nodes }));
      const body = whatIfQuestion.parse({ addPools });
      const call = { params: {}, query: {}, body, actor: "test", principal, idempotencyKey: null };
      return handlers.whatIf(plane, call, () => stays);
    };
    await expect(ask(2, 10_000)).rejects.toMatchObject({
      code: "tookTooLong",
      message: expect.stringContaining(`more than ${heapMibMax} MiB`),
    });
    await expect(ask(1, 1)).resolves.toMatchObject({ sequence: expect.any(Number) });
    await forecast.close();
  });

  it("that adds more nodes than are accepted is refused, however they are spread over pools and copies", () => {
    const pool = (index: number, nodes: number) => ({ name: `p${index}`, nodes });
    const variants = [1, 2, 5, 10, 50, 100].flatMap((count) =>
      [-1, 0, 1, 1_000, 5_000].map((more) => ({ count, total: WHAT_IF_ADDED_NODES_MAX + more })),
    );
    for (const { count, total } of variants) {
      const sizes = Array.from({ length: count }, (_, at) => Math.floor((total + at) / count));
      if (sizes.some((size) => size > 10_000)) continue;
      const isAccepted = total <= WHAT_IF_ADDED_NODES_MAX;
      const addPools = sizes.map((nodes, index) => pool(index, nodes));
      const addNodes = sizes.map((size) => ({ like: "n", count: size }));
      expect(whatIfQuestion.safeParse({ addPools }).success).toBe(isAccepted);
      expect(whatIfQuestion.safeParse({ addNodes }).success).toBe(isAccepted);
      expect(whatIfQuestion.safeParse({ addPools: addPools.slice(1), addNodes: addNodes.slice(0, 1) }).success).toBe(
        isAccepted,
      );
    }
  });
});
