/** Sandboxed workers with a network for each team: attempts to reach ports of another team and of the machine, as root. */
import { once } from "node:events";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import type { AddressInfo, Server } from "node:net";
import { createServer } from "node:net";
import path from "node:path";
import { userInfo } from "node:os";
import { attemptId, teamName } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";
import { ConformanceWorld, outputHas, readText } from "../conformance/conformance-world.ts";
import type { Observer } from "../conformance/observer.ts";
import type { Executor } from "../executor.ts";
import { hasBubblewrap, isolatedRoot } from "../processes/isolation/testing/isolated-root.ts";
import { createLocalExecutor } from "./local-executor.ts";

const missing = !hasBubblewrap() ? "bubblewrap is not installed" : userInfo().uid === 0 ? null : "it needs root";
if (missing !== null) process.stderr.write(`*** Networks of teams were not tested: ${missing}\n`);

/** Listens on TCP, UDP and an abstract socket, and answers "reached" to each caller. */
const SERVE =
  "use IO::Socket::INET; use IO::Socket::UNIX; use IO::Select; $| = 1;" +
  'my $t = IO::Socket::INET->new(Listen => 9, LocalAddr => "0.0.0.0", LocalPort => 0) or die; my $p = $t->sockport;' +
  'my $u = IO::Socket::INET->new(Proto => "udp", LocalPort => $p) or die;' +
  'my $a = IO::Socket::UNIX->new(Local => "\\0headroom-test-$p", Listen => 9) or die; print "port $p\\n";' +
  'my $s = IO::Select->new($t, $u, $a); while (1) { for my $r ($s->can_read) { if ($r == $u) { $u->recv(my $d, 9); $u->send("reached\\n") }' +
  ' else { my $c = $r->accept; print $c "reached\\n"; close $c } } }';
/** Calls an address of each kind, and prints what answers. */
const CALL = (port: string): Readonly<Record<string, string>> => ({
  "the loopback interface": `perl -MIO::Socket::INET -e 'my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1:${port}", Timeout => 2) or die "$@\n"; print <$c>'`,
  "another loopback address": `perl -MIO::Socket::INET -e 'my $c = IO::Socket::INET->new(PeerAddr => "127.9.9.9:${port}", Timeout => 2) or die "$@\n"; print <$c>'`,
  "the wildcard address": `perl -MIO::Socket::INET -e 'my $c = IO::Socket::INET->new(PeerAddr => "0.0.0.0:${port}", Timeout => 2) or die "$@\n"; print <$c>'`,
  UDP: `perl -MIO::Socket::INET -e 'my $c = IO::Socket::INET->new(Proto => "udp", PeerAddr => "127.0.0.1:${port}") or die; $c->send("x"); alarm 2; $c->recv(my $d, 99); print $d'`,
  "an abstract socket": `perl -MIO::Socket::UNIX -e 'my $c = IO::Socket::UNIX->new(Peer => "\\0headroom-test-${port}") or die "$!\n"; print <$c>'`,
});

const RUN_DIR = "/run/headroom";
const namespaces = (): readonly string[] =>
  existsSync(RUN_DIR)
    ? readdirSync(RUN_DIR, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("/"))
    : [];

describe.skipIf(missing !== null || !isTurnOf("networks of teams"))("workers with the network of their team", () => {
  let world: ConformanceWorld;
  let executor: Executor;
  let observer: Observer;
  let server: Server;
  let victim: LaunchGang;
  let port: string;
  let daemon: Server;
  /** As that of udevd, which obeys root. */
  const daemonSocket = `/run/udev/headroom-test-${process.pid}`;
  const before = namespaces();

  beforeAll(async () => {
    const open = (homeDir: string): Executor => {
      mkdirSync(path.dirname(homeDir), { recursive: true });
      const shared = { nodeName: "conformance", accelerators: "declared", isolation: "bubblewrap" } as const;
      return createLocalExecutor({ homeDir, ...shared, network: "team" });
    };
    world = await ConformanceWorld.create({ id: "local", rootDir: isolatedRoot(), open });
    ({ executor, observer } = world.watched());
    server = createServer((socket) => socket.end("reached\n")).listen(0, "0.0.0.0");
    await once(server, "listening");
    victim = of("victims", `exec perl -e '${SERVE}'`);
    executor.perform(victim);
    await outputHas(executor, victim.attemptId, "port");
    mkdirSync(path.dirname(daemonSocket), { recursive: true });
    daemon = createServer((socket) => socket.end("reached\n")).listen(daemonSocket);
    await once(daemon, "listening");
    port = /port (\d+)/.exec(await readText(executor, victim.attemptId, { follow: false }))?.[1] ?? "";
  }, 60_000);
  afterAll(async () => {
    server?.close();
    daemon?.close();
    await world?.dispose();
    for (const name of namespaces()) {
      if (before.includes(name)) continue;
      execFileSync("umount", [path.join(RUN_DIR, name)], { stdio: "ignore" });
      rmSync(path.join(RUN_DIR, name), { force: true });
    }
  }, 60_000);

  function of(team: string, run: string, workers = 1): LaunchGang {
    const launch = world.launch(run, { workers });
    return { ...launch, spec: { ...launch.spec, team: teamName(team) } };
  }

  const outputOf = async (launch: LaunchGang): Promise<string> => {
    executor.perform(launch);
    await observer.end(launch.attemptId);
    return readText(executor, launch.attemptId);
  };

  it("reach those of their own team in every way", async () => {
    const said = await outputOf(of("victims", Object.values(CALL(port)).join("; ")));
    expect(said.match(/reached/g)?.length).toBe(5);
  });

  it.each(Object.keys(CALL("0")))("do not reach another team over %s", async (way) => {
    expect(await outputOf(of("attackers", CALL(port)[way] ?? ""))).not.toContain("reached");
  });

  it.each([
    [
      "a port of the machine",
      () => CALL(String((server.address() as AddressInfo).port))["the loopback interface"] ?? "",
    ],
    ["the namespace of the machine", () => `nsenter --net=/proc/1/ns/net true && echo reached`],
    [
      "the namespace of another team by its file",
      () => `for f in /run/headroom/*/*; do nsenter --net=$f true && echo reached; done`,
    ],
    ["an interface to others that they make", () => "ip link add headroom0 type dummy && echo reached"],
    ["sockets of others in /proc", () => `grep -qi ":$(printf %04X ${port}) " /proc/net/tcp && echo reached`],
    [
      "sockets of system daemons in /run",
      () =>
        `perl -MIO::Socket::UNIX -e 'my $c = IO::Socket::UNIX->new(Peer => "${daemonSocket}") or die "$!\n"; print <$c>'`,
    ],
    [
      "other hosts",
      () =>
        `perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => "192.0.2.1:80", Timeout => 2) and print "reached"'`,
    ],
  ])("do not reach %s", async (_, run) => {
    expect(await outputOf(of("attackers", run()))).not.toContain("reached");
  });

  it("meet as a gang, and a command inside a worker has their network", async () => {
    const serve = `perl -MIO::Socket::INET -e 'my $t = IO::Socket::INET->new(Listen => 1, LocalPort => $ENV{MASTER_PORT}) or die; my $c = $t->accept; print $c "met\n"'`;
    const call = `perl -MIO::Socket::INET -e 'my $c; until ($c) { $c = IO::Socket::INET->new(PeerAddr => "$ENV{MASTER_ADDR}:$ENV{MASTER_PORT}"); select(undef, undef, undef, 0.05) } print <$c>'`;
    const said = await outputOf(of("victims", `if [ $RANK = 0 ]; then ${serve}; else ${call}; fi`, 2));
    expect(said).toContain("met");
    const command = ["/bin/sh", "-c", CALL(port)["the loopback interface"] ?? ""];
    const session = await executor.exec?.(victim.attemptId, { worker: 0, command, terminal: null });
    let heard = "";
    for await (const { data } of session?.output() ?? []) heard += Buffer.from(data).toString();
    expect(heard).toContain("reached");
  });

  it("are refused as replicas, which no gateway could reach", async () => {
    const launch = of("victims", "true");
    const spec = { ...launch.spec, kind: "serve", ready: { path: "/" } } as unknown as LaunchGang["spec"];
    executor.perform({ ...launch, attemptId: attemptId("w990.1"), spec });
    expect(JSON.stringify(await observer.end(attemptId("w990.1")))).toContain("no gateway could reach");
  });
});
