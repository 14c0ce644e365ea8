/**
 * A random fleet with data rules, stores and work, played with real bytes: the engine decides, and `MovingNode` moves the
 * bytes between folders as the local executor does, `MovingCluster` as Slurm and Kubernetes do, and `PlaneDisk` takes logs and artifacts.
 * Every file carries the rules of the data from which it was made, so after each step a scan of all folders finds the bytes that are at a
 * place which does not admit them.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createEngine } from "@headroom/engine";
import { MovingCluster, MovingNode } from "@headroom/executors/testing";
import type { StartedJob } from "@headroom/executors/testing";
import { admitsRule, commandId, nodeId, poolName, siteName, teamName } from "@headroom/model";
import type {
  ArtifactName,
  Effect,
  Input,
  LaunchGang,
  NodeId,
  Pool,
  ReportedArtifact,
  Site,
  WorkloadSpec,
} from "@headroom/model";
import { readStore, rootOf, StoreSet } from "@headroom/stores";
import type { PlaceDeclaration, StoreDeclaration } from "@headroom/stores";
import { checkPlace } from "../../api/artifacts.ts";
import { bytesOutside, exposedBy, ruleOfVersion, storeRefusal } from "../../api/stores.ts";
import { Draws } from "./draws.ts";
import { noCounts } from "./rule-world-counts.ts";
import type { RuleWorldCounts } from "./rule-world-counts.ts";
import { PlaneDisk } from "./plane-disk.ts";
import { filesBelow, hasFiles, rulesAt, rulesIn } from "./ruled-bytes.ts";

const RULES = ["medical", "export", "internal"];
const STEPS = 24;
const SITES = 3;
const NAMES = ["model:chat", "dataset:corpus", "model:small"];
/** The pool whose nodes share a directory. */
const CLUSTER = "p2";

export interface RuleWorldResult extends RuleWorldCounts {
  /** One sentence for each byte that is outside its places. */
  readonly leaks: readonly string[];
}

/** `dir`: an empty folder, which the caller removes. */
export async function playRuleWorld(seed: number, dir: string): Promise<RuleWorldResult> {
  const world = new RuleWorld(seed, dir);
  try {
    return await world.play();
  } finally {
    await world.close();
  }
}

class RuleWorld {
  readonly #draws: Draws;
  readonly #dir: string;
  readonly #engine = createEngine();
  readonly #nodes = new Map<NodeId, MovingNode | MovingCluster>();
  readonly #cluster: MovingCluster;
  readonly #plane: PlaneDisk;
  readonly #down = new Set<NodeId>();
  readonly #running = new Map<string, { readonly job: StartedJob; readonly rules: ReadonlySet<string> }>();
  readonly #stores: StoreSet;
  #declarations: readonly StoreDeclaration[] = [];
  #nowMs = 1_000;
  #commands = 0;
  #contents = 0;
  readonly #news: Input[] = [];
  /** Files that were scanned, with their times: rules of places that change later say nothing about earlier bytes. */
  readonly #seen = new Map<string, string>();
  readonly #leaks: string[] = [];
  readonly #counts = noCounts();

  constructor(seed: number, dir: string) {
    this.#draws = new Draws(seed);
    this.#dir = dir;
    this.#stores = new StoreSet({
      declarations: () => this.#declarations,
      readSecret: () => "",
      stateDir: "/nonexistent",
    });
    const emit = (input: Input): void => void this.#news.push(input);
    this.#cluster = new MovingCluster(path.join(dir, "clusters", CLUSTER), this.#stores, emit);
    this.#plane = new PlaneDisk(path.join(dir, "plane"), this.#draws.some(RULES), () => this.#engine.state);
  }

  async play(): Promise<RuleWorldResult> {
    this.#declareFleet();
    for (let count = 2 + this.#draws.below(3); count > 0; count--) this.#declareStore();
    await this.#settle();
    for (let step = 0; step < STEPS; step++) {
      await this.#step();
      await this.#settle();
      this.#scan(this.#dir);
    }
    return { ...this.#counts, leaks: this.#leaks };
  }

  async close(): Promise<void> {
    for (const node of new Set(this.#nodes.values())) await node.close();
    this.#plane.close();
    await this.#stores.close();
  }

  #step(): Promise<void> | void {
    const choice = this.#draws.below(18);
    if (choice < 5) return this.#submit();
    if (choice >= 16) return this.#declareStore();
    if (choice < 8) return this.#register();
    if (choice < 9) return this.#addPlace();
    if (choice < 10) return this.#declareStore();
    if (choice < 11) return this.#removeStore();
    if (choice < 12) return this.#declareFleet();
    if (choice < 13) return this.#loseOrReturn();
    return this.#endOne();
  }

  /** Sites and pools with new rules. Each pool has two nodes. */
  #declareFleet(): void {
    // Work that runs goes on when its pool no longer admits its rule, as the warning of `apply` says.
    if (this.#running.size > 0) return;
    const sites: Site[] = [];
    const pools: Pool[] = [];
    for (let at = 0; at < SITES; at++) {
      const site = siteName(`s${at}`);
      sites.push({ name: site, fabricLevels: [], data: { rules: this.#draws.some(RULES) } });
      const own = this.#draws.isOneOf(3) ? { data: { rules: this.#draws.some(RULES) } } : {};
      const name = poolName(`p${at}`);
      const pool = { name, site, executor: name === CLUSTER ? "hpc" : "far", acceleratorType: "H100", ...own };
      pools.push({ ...pool, priceMicroUsdPerHour: 0 });
    }
    this.#command({ kind: "apply", sites, pools, teams: [], workloads: [] });
    if (this.#nodes.size > 0) return;
    const capabilities = { checkpointOnRequest: true, resize: false, replaceWorkers: false, logs: true };
    const hpc = { id: "hpc", kind: "slurm", capabilities: { ...capabilities, uploadsFrom: [this.#cluster.home] } };
    this.#news.push({ kind: "executorSeen", executor: hpc });
    for (const { name } of pools)
      for (const suffix of ["a", "b"]) {
        const id = nodeId(`${name}${suffix}`);
        const node = { id, pool: name, fabric: [], acceleratorCount: 2, coresMilli: 8_000, memoryMib: 8_192 };
        this.#news.push({ kind: "nodeSeen", node });
        const emit = (input: Input): void => void this.#news.push(input);
        const own = name === CLUSTER ? null : new MovingNode(path.join(this.#dir, "nodes", id), this.#stores, emit);
        this.#nodes.set(id, own ?? this.#cluster);
      }
  }

  /** A new store, or new settings of one; some lie in others, and some at the place of uploads of others. */
  #declareStore(): void {
    const places = ["a", "b", "a/inner", "a/artifacts", "b/artifacts/model"];
    const at = this.#draws.of(places);
    const name = at.replaceAll("/", "-");
    const rules = this.#draws.some(RULES);
    const teams = { readers: ["*"], writers: ["*"] };
    const cached = !this.#draws.isOneOf(3);
    const known = this.#places().find((each) => each.name === name);
    const isMoved = known !== undefined && this.#draws.isOneOf(3);
    const stays = known?.type === "shared" ? known.path : path.join(this.#dir, "stores", at);
    const folder = isMoved ? path.join(this.#dir, "stores", `${at}-${++this.#contents}`) : stays;
    const reading = readStore({ kind: "store", name, type: "shared", path: folder, cached, rules, ...teams });
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    // Bytes without a version get the rules that the operator declares, so only empty places become a store.
    if (known === undefined && hasFiles(folder)) return;
    if (known !== undefined && !isMoved && !this.#isWider(name, rules)) return void this.#counts.refusals++;
    if (this.#refuses(bytesOutside(this.#engine.state, this.#declarations, reading.declaration))) return;
    const others = this.#declarations.filter((each) => each.name !== name);
    if (isMoved && !this.#leave(known, others)) return;
    this.#declarations = [...others, reading.declaration];
    mkdirSync(folder, { recursive: true });
    this.#news.push({
      kind: "storesSeen",
      stores: this.#places().map((each) => ({ name: each.name, root: rootOf(each), site: siteName("s0") })),
    });
    for (let file = 0; file < 2; file++) this.#plant(reading.declaration as PlaceDeclaration, rules);
  }

  /** An operator does not take a rule from a store that has raw bytes of it. */
  #isWider(name: string, rules: readonly string[]): boolean {
    const known = this.#places().find((each) => each.name === name);
    return known !== undefined && known.rules.every((rule) => rules.includes(rule)) && known.rules.length > 0;
  }

  /** Bytes that an operator put there: with a rule of the store, if it has rules. */
  #plant(store: PlaceDeclaration, rules: readonly string[]): void {
    if (store.type !== "shared") return;
    const rule = rules.length === 0 ? "" : `rule=${this.#draws.of(rules)}\n`;
    const name = rule === "" ? "plain" : rule.trim().replace("=", "-");
    writeFileSync(path.join(store.path, `${name}-${++this.#contents}`), `${rule}content ${this.#contents}\n`);
  }

  #removeStore(): void {
    if (this.#declarations.length < 2) return;
    const removed = this.#draws.of(this.#declarations);
    const { name } = removed;
    if (this.#refuses(exposedBy(this.#declarations, name))) return;
    const left = this.#declarations.filter((each) => each.name !== name);
    if (removed.type === "shared" && this.#leave(removed, left)) this.#declarations = left;
  }

  /** A folder that is no store any more is like every other path of the machine, so its operator takes the bytes away. */
  #leave(store: PlaceDeclaration, left: readonly StoreDeclaration[]): boolean {
    const isAround = left.some((each) => rootOf(each).startsWith(rootOf(store)));
    if (store.type !== "shared" || isAround) return false;
    const isWithin = left.some((each) => rootOf(store).startsWith(rootOf(each)));
    if (!isWithin) rmSync(store.path, { recursive: true });
    return true;
  }

  #register(): void {
    const uri = this.#someUri();
    if (uri === null) return;
    const name = this.#draws.of(NAMES);
    const rule = this.#draws.isOneOf(3) ? undefined : this.#draws.of(RULES);
    const of = artifactName(name);
    const places = [{ store: "any", uri, state: "declared" as const }];
    const artifact = { ...of, digest: null, bytes: null, places, inputs: [], ...(rule === undefined ? {} : { rule }) };
    // A user who states another rule than that of the bytes lies, which nothing can find out within one store.
    if (rule !== undefined && !this.#isTrue(uri, rule)) return;
    try {
      const found = ruleOfVersion(this.#storesPlane(), artifact);
      if (!this.#isTrue(uri, found)) return;
      const ruled = { ...artifact, ...(found === undefined ? {} : { rule: found }) };
      this.#command({ kind: "registerArtifact", artifact: ruled, aliases: [], reason: "" });
      this.#counts.registered++;
    } catch {
      this.#counts.refusals++;
    }
  }

  #isTrue(uri: string, rule: string | undefined): boolean {
    const rules = rulesAt(uri.slice("file://".length));
    return rules === null || rules.every((each) => each === rule);
  }

  #addPlace(): void {
    const versions = [...this.#engine.state.artifactVersions.values()];
    const uri = this.#someUri();
    if (versions.length === 0 || uri === null) return;
    const { kind, team, name, number, rule } = this.#draws.of(versions);
    if (!this.#isTrue(uri, rule)) return;
    const change = { kind: "place", number, place: { store: "any", uri, state: "declared" } } as const;
    try {
      checkPlace(this.#storesPlane(), this.#engine.state, { kind, team, name }, change);
      this.#command({ kind: "changeArtifact", artifact: { kind, team, name }, change, reason: "" });
    } catch {
      this.#counts.refusals++;
    }
  }

  #submit(): void {
    const inputs = [this.#someVersion(), this.#someUri() ?? "", this.#someUri() ?? ""].filter(
      (each) => each !== "" && this.#draws.isOneOf(2),
    );
    const drawn = this.#draws.isOneOf(3) ? undefined : this.#draws.of(RULES);
    const rule = this.#draws.isOneOf(2) ? this.#ruleOf(inputs[0] ?? "") : drawn;
    const store = this.#draws.isOneOf(3) ? undefined : this.#draws.of(this.#declarations).name;
    const drain = this.#draws.isOneOf(2) ? undefined : this.#draws.of(this.#declarations).name;
    const spec = {
      kind: "train",
      name: `w${this.#commands}`,
      team: teamName("default"),
      run: "true",
      dir: this.#draws.isOneOf(3) ? path.join(this.#cluster.home, `d${this.#commands}`) : null,
      env: {},
      gang: { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 },
      acceleratorTypes: [],
      priority: this.#draws.below(3),
      walltimeMs: null,
      retries: { max: 2, backoffMs: 1, backoffMaxMs: 1 },
      graceTimeoutMs: 1,
      checkpointDir: null,
      produces: this.#draws.some(NAMES),
      ...(drain === undefined ? {} : { checkpointStore: drain }),
      data: { inputs, ...(rule === undefined ? {} : { rule }), ...(store === undefined ? {} : { store }) },
    } as unknown as WorkloadSpec;
    // Half of the work comes by ways that do not ask the stores, such as pipelines: the executor must refuse it then.
    const problem = this.#draws.isOneOf(2)
      ? null
      : storeRefusal(this.#declarations, [{ pointer: "", spec: spec as never }]);
    if (problem !== null) return void this.#counts.refusals++;
    this.#command({ kind: "submitWorkload", spec });
  }

  #someVersion(): string {
    const versions = [...this.#engine.state.artifactVersions.values()];
    if (versions.length === 0) return "";
    const { kind, name, number } = this.#draws.of(versions);
    return `${kind}:${name}@${number}`;
  }

  /** The rule that work needs to read the input, so that half of the work can start. */
  #ruleOf(input: string): string | undefined {
    if (input.startsWith("file:")) return rulesAt(input.slice("file://".length))?.[0];
    return [...this.#engine.state.artifactVersions.values()].find((each) => each.id.endsWith(input))?.rule;
  }

  #loseOrReturn(): void {
    const id = this.#draws.of([...this.#nodes.keys()]);
    if (this.#down.delete(id)) {
      const pool = poolName(id.slice(0, -1));
      const node = { id, pool, fabric: [], acceleratorCount: 2, coresMilli: 8_000, memoryMib: 8_192 };
      this.#news.push({ kind: "nodeSeen", node });
      return;
    }
    this.#down.add(id);
    this.#news.push({ kind: "nodeUnreachable", nodeId: id, detail: "lost" });
    for (const [attempt, { job }] of this.#running)
      if (nodeOf(job.launch) === id) {
        this.#running.delete(attempt);
        this.#counts.movedNodes++;
      }
  }

  async #endOne(): Promise<void> {
    const all = [...this.#running];
    if (all.length === 0) return;
    const [attempt, { job, rules }] = this.#draws.of(all);
    this.#running.delete(attempt);
    const node = this.#nodeOf(job.launch);
    const isFailed = this.#draws.isOneOf(3);
    const lines: ReportedArtifact[] = [];
    for (const name of isFailed ? [] : (job.launch.spec.produces ?? [])) {
      const at = path.join(job.workingDir, name.replace(":", "-"));
      writeFileSync(at, this.#contentOf(rules));
      lines.push({ name, path: at });
    }
    const artifacts = await node.finish(job, lines);
    await this.#plane.log(job.launch, this.#contentOf(rules));
    if (await this.#plane.upload(job.launch, this.#contentOf(rules))) this.#counts.mlflowUploads++;
    else this.#counts.mlflowRefusals++;
    if (this.#draws.isOneOf(3)) {
      await this.#plane.uploadBeforeLink(job.launch, this.#contentOf(rules));
      this.#counts.mlflowLinks++;
    }
    this.#counts.uploads += artifacts.filter(({ stored }) => stored !== undefined).length;
    node.release(job.launch);
    const { attemptId } = job.launch;
    const exits = [{ rank: 0, exitCode: isFailed ? 1 : 0, signal: null, atMs: this.#nowMs }] as never;
    this.#news.push({ kind: "attemptExited", attemptId, exits, artifacts });
  }

  /** The output of a job has the rules of all that it read, and that of its own data. */
  #contentOf(rules: ReadonlySet<string>): string {
    return `${[...rules].map((rule) => `rule=${rule}\n`).join("")}content ${++this.#contents}\n`;
  }

  async #perform(effect: Effect): Promise<void> {
    if (effect.kind === "launchGang") return this.#launch(effect);
    if (effect.kind !== "stopGang") return;
    const running = this.#running.get(effect.attemptId);
    this.#running.delete(effect.attemptId);
    if (running !== undefined) this.#nodeOf(running.job.launch).release(running.job.launch);
    const exits = [{ rank: 0, exitCode: null, signal: "SIGTERM", atMs: this.#nowMs }] as never;
    this.#news.push({ kind: "attemptExited", attemptId: effect.attemptId, exits });
  }

  async #launch(launch: LaunchGang): Promise<void> {
    const { attemptId } = launch;
    const node = this.#nodeOf(launch);
    let job: StartedJob;
    try {
      job = await node.start(launch);
    } catch (error) {
      this.#counts.refusedStarts++;
      node.release(launch);
      const detail = error instanceof Error ? error.message : "refused";
      const own = launch.resume?.stored?.version;
      if (own !== undefined && detail.startsWith(`${own} could not be staged. The store`))
        this.#leaks.push(`${attemptId} is refused its own checkpoint: ${detail}`);
      this.#news.push({ kind: "attemptLost", attemptId, detail, cause: "inputs" });
      return;
    }
    this.#counts.started++;
    if (node === this.#cluster) this.#counts.clusterStarts++;
    if (node === this.#cluster && launch.spec.dir !== null) this.#counts.namedStarts++;
    if (job.resume !== null) this.#counts.resumes++;
    const rules = new Set(launch.spec.data?.rule === undefined ? [] : [launch.spec.data.rule]);
    for (const input of [...job.inputs, ...(job.resume === null ? [] : [job.resume])])
      for (const rule of this.#readBy(nodeOf(launch), input)) rules.add(rule);
    const given = await this.#plane.read();
    if (given === null) this.#counts.mlflowWithheld++;
    for (const rule of rulesIn(given ?? "")) rules.add(rule);
    for (const rule of rules)
      if (!this.#nodeAdmits(nodeOf(launch), rule))
        this.#leaks.push(`${attemptId} reads data with the rule ${rule} on ${nodeOf(launch)}`);
    this.#running.set(attemptId, { job, rules });
    this.#news.push({ kind: "attemptRunning", attemptId });
    for (let step = 1; step <= this.#draws.below(3); step++) {
      const at = path.join(job.checkpointDir, `${attemptId}-${step}`);
      writeFileSync(at, this.#contentOf(rules));
      this.#news.push({ kind: "checkpointReported", attemptId, step, path: at });
      await node.checkpoint(job, step, at);
    }
  }

  /** The rules of the bytes at a path. Folders of other machines are not there. */
  #readBy(node: NodeId, input: string): readonly string[] {
    const at = input.replace(/^file:\/\//, "");
    const own = this.#nodes.get(node) === this.#cluster ? ["clusters", CLUSTER] : ["nodes", node];
    if (!at.startsWith(path.join(this.#dir, ...own)) && !at.startsWith(path.join(this.#dir, "stores"))) return [];
    return rulesAt(at) ?? [];
  }

  /** Compares the rules of each new file with those of its place. */
  #scan(dir: string): void {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      const at = path.join(dir, entry.name);
      if (entry.isDirectory()) this.#scan(at);
      else if (entry.isFile()) this.#check(at);
    }
  }

  #check(at: string): void {
    const { ino, mtimeMs, size } = statSync(at);
    const version = `${ino} ${mtimeMs} ${size}`;
    if (this.#seen.get(at) === version) return;
    this.#seen.set(at, version);
    const rules = rulesIn(readFileSync(at, "utf8"));
    this.#counts.files++;
    if (rules.length > 0) this.#counts.ruled++;
    for (const rule of rules)
      if (!this.#placeAdmits(at, rule))
        this.#leaks.push(`${path.relative(this.#dir, at)} has data with the rule ${rule}`);
  }

  #placeAdmits(at: string, rule: string): boolean {
    const [kind, node = "", ...rest] = path.relative(this.#dir, at).split(path.sep);
    if (kind === "nodes") return this.#nodeAdmits(nodeId(node), rule);
    if (kind === "clusters") return this.#nodeAdmits(nodeId(`${CLUSTER}a`), rule);
    if (kind === "plane") return this.#plane.admits([node, ...rest].join(path.sep), rule);
    const [store] = this.#places()
      .filter((each) => `file://${at}`.startsWith(rootOf(each)))
      .toSorted((left, right) => rootOf(right).length - rootOf(left).length);
    return store === undefined || store.rules.includes(rule);
  }

  #nodeAdmits(node: NodeId, rule: string): boolean {
    const { pools, sites } = this.#engine.state;
    const pool = pools.get(poolName(node.slice(0, -1)));
    return pool !== undefined && admitsRule(rule, sites.get(pool.site), pool);
  }

  #someUri(): string | null {
    const stored = this.#places().flatMap((each) => (each.type === "shared" ? filesBelow(each.path) : []));
    const versions = [...this.#engine.state.artifactVersions.values()].flatMap(({ places }) =>
      places.map(({ uri }) => uri),
    );
    const all = [...stored.map((at) => `file://${at}`), ...versions];
    return all.length === 0 ? null : this.#draws.of(all);
  }

  #places(): readonly PlaceDeclaration[] {
    return this.#declarations.filter((each) => each.type !== "local");
  }

  #storesPlane() {
    return { storeService: { list: () => this.#declarations } } as unknown as Parameters<typeof ruleOfVersion>[0];
  }

  #refuses(reason: string | null): boolean {
    if (reason !== null) this.#counts.refusals++;
    return reason !== null;
  }

  #nodeOf(launch: LaunchGang): MovingNode | MovingCluster {
    const node = this.#nodes.get(nodeOf(launch));
    if (node === undefined) throw new Error(`${nodeOf(launch)} is no node`);
    return node;
  }

  #command(body: object): void {
    const id = commandId(`c${this.#commands++}`);
    this.#news.push({ commandId: id, actor: "ann", idempotencyKey: null, ...body } as Input);
  }

  /** Gives the engine all news, and performs its effects, until there are none. */
  async #settle(): Promise<void> {
    for (let rounds = 0; this.#news.length > 0; rounds++) {
      if (rounds > 200) throw new Error("the world does not settle");
      this.#nowMs += 1_000;
      const news = this.#news.splice(0);
      this.#counts.drains += news.filter(
        (each) => each.kind === "checkpointStored" && each.checkpoint.stored !== undefined,
      ).length;
      const { effects } = this.#engine.receive([...news, { kind: "tick" }], this.#nowMs);
      this.#engine.advance();
      for (const effect of effects) await this.#perform(effect);
    }
  }
}

const nodeOf = ({ workers }: LaunchGang): NodeId => workers[0]?.node ?? nodeId("none");

function artifactName(text: string): ArtifactName {
  const [kind = "", name = ""] = text.split(":");
  return { kind, team: teamName("default"), name } as ArtifactName;
}
