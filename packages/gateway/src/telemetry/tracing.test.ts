/** Spans as an OpenTelemetry collector gets them, and the trace context that clients and replicas see. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";
import { traceParentIn, validTraceparent } from "./trace-context.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/**
 * The messages of OTLP/HTTP in JSON that a collector accepts, without unknown fields:
 * https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding and opentelemetry/proto/trace/v1/trace.proto. Ids are
 * hex, 64-bit integers are decimal strings, enums are integers.
 */
const nanos = z.string().regex(/^\d{19}$/);
const spanId = z.string().regex(/^[0-9a-f]{16}$/);
const attribute = z.strictObject({
  key: z.string().min(1),
  value: z.union([
    z.strictObject({ stringValue: z.string() }),
    z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
    z.strictObject({ boolValue: z.boolean() }),
    z.strictObject({ doubleValue: z.number() }),
  ]),
});
const span = z.strictObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId,
  parentSpanId: z.union([spanId, z.literal("")]).optional(),
  traceState: z.string().optional(),
  flags: z.int().optional(),
  name: z.string().min(1),
  kind: z.int().min(0).max(5),
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes: z.array(attribute),
  events: z.array(z.strictObject({ name: z.string(), timeUnixNano: nanos, attributes: z.array(attribute).optional() })),
  status: z.strictObject({ code: z.int().min(0).max(2), message: z.string().optional() }),
});
const exportRequest = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes: z.array(attribute) }),
      scopeSpans: z.array(z.strictObject({ scope: z.strictObject({ name: z.string() }), spans: z.array(span) })),
    }),
  ),
});
type Span = z.output<typeof span>;

/** A collector that refuses with 400 what the schema does not allow, as the real one does. */
class Collector {
  readonly spans: Span[] = [];
  readonly refused: string[] = [];
  headers: IncomingHttpHeaders = {};
  url = "";

  async start(): Promise<void> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        this.headers = request.headers;
        const isTraces = request.url === "/v1/traces" && request.headers["content-type"] === "application/json";
        const parsed = exportRequest.safeParse(JSON.parse(Buffer.concat(chunks).toString("utf8")));
        if (isTraces && parsed.success) {
          for (const { scopeSpans } of parsed.data.resourceSpans) {
            for (const { spans } of scopeSpans) this.spans.push(...spans);
          }
        } else this.refused.push(`${request.url} ${parsed.error?.message ?? ""}`);
        response.writeHead(isTraces && parsed.success ? 200 : 400, { "content-type": "application/json" }).end("{}");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    cleanups.push(async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    });
  }
}

async function start(collector: Collector | undefined): Promise<{ gateway: TestGateway; mock: MockUpstream }> {
  const mock = new MockUpstream();
  await mock.start();
  cleanups.push(() => mock.kill());
  vi.stubEnv("COLLECTOR_TENANT", "t");
  const tracing =
    collector === undefined
      ? ""
      : `tracing: { endpoint: "${collector.url}", headers: { x-tenant: { env: COLLECTOR_TENANT } } }\n`;
  const gateway = await testGateway(
    `access: open\n${tracing}pools: [{ name: p, engine: vllm, replicas: [${mock.url}] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return { gateway, mock };
}

const post = (gateway: TestGateway, body: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }], ...body }),
  });

const trace = "0af7651916cd43dd8448eb211c80319c";
const parent = `00-${trace}-b7ad6b7169203331-01`;

const attributeOf = (each: Span | undefined, key: string): unknown => {
  const value = each?.attributes.find((one) => one.key === key)?.value;
  return value === undefined ? undefined : Object.values(value)[0];
};

describe("spans", () => {
  it("are accepted by a collector; the client is the parent of the gateway, and the gateway that of the replica", async () => {
    const collector = new Collector();
    await collector.start();
    const { gateway, mock } = await start(collector);
    await (await post(gateway, { stream: true }, { traceparent: parent })).text();
    const sent = traceParentIn(String(mock.lastHeaders["traceparent"]));
    await expect.poll(() => collector.spans.length).toBe(1);
    const [found] = collector.spans;
    expect(found).toMatchObject({
      traceId: trace,
      parentSpanId: "b7ad6b7169203331",
      spanId: sent?.parentId,
      name: "chat m",
    });
    expect(sent?.traceId).toBe(trace);
    expect(BigInt(found!.endTimeUnixNano) >= BigInt(found!.startTimeUnixNano)).toBe(true);
    expect(Math.abs(Number(BigInt(found!.startTimeUnixNano) / 1_000_000n) - Date.now())).toBeLessThan(60_000);
    expect(attributeOf(found, "gen_ai.usage.output_tokens")).toBe("5");
    expect(found?.events).toHaveLength(1);
    expect(collector.headers["x-tenant"]).toBe("t");
    expect(collector.refused).toEqual([]);
  });

  it("are made for refused requests too, in the client's trace", async () => {
    const collector = new Collector();
    await collector.start();
    const { gateway } = await start(collector);
    expect((await post(gateway, { model: "none" }, { traceparent: parent })).status).toBe(404);
    expect((await fetch(`${gateway.url}/v1/nowhere`)).status).toBe(404);
    await expect.poll(() => collector.spans.length).toBe(2);
    expect(collector.spans[0]).toMatchObject({ traceId: trace, name: "chat none", status: { code: 2 } });
    expect(attributeOf(collector.spans[0], "http.response.status_code")).toBe("404");
    expect(collector.spans[1]).toMatchObject({ parentSpanId: "", name: "refused" });
    expect(collector.refused).toEqual([]);
  });
});

describe("a traceparent", () => {
  it.each([
    [parent, parent],
    [`01-${trace}-b7ad6b7169203331-01-more`, parent],
    ["", ""],
    [`00-${trace}-b7ad6b7169203331-01-more`, ""],
    [`ff-${trace}-b7ad6b7169203331-01`, ""],
    [`00-${"0".repeat(32)}-b7ad6b7169203331-01`, ""],
    [`00-${trace}-${"0".repeat(16)}-01`, ""],
    [parent.toUpperCase(), ""],
    [`00-${trace}-b7ad6b7169203331`, ""],
    ['"},{"evil":"x', ""],
  ])("%j is read as %j", (header, valid) => {
    expect(validTraceparent(header)).toBe(valid);
  });

  it("that is not valid reaches no replica", async () => {
    const { gateway, mock } = await start(undefined);
    await (await post(gateway, {}, { traceparent: "00-evil" })).text();
    expect(mock.lastHeaders["traceparent"]).toBeUndefined();
    await (await post(gateway, {}, { traceparent: parent })).text();
    expect(mock.lastHeaders["traceparent"]).toBe(parent);
  });

  it("takes its tracestate along if it is valid, and only then", async () => {
    const collector = new Collector();
    await collector.start();
    for (const each of [await start(undefined), await start(collector)]) {
      const sent = async (headers: [string, string][]): Promise<[unknown, unknown]> => {
        // A bare socket: `fetch` joins repeated headers.
        const body = '{"model":"m","messages":[]}';
        const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
        const socket = connect(Number(new URL(each.gateway.url).port), "127.0.0.1");
        cleanups.push(async () => void socket.destroy());
        socket.write(
          `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n${lines}\r\n${body}`,
        );
        await new Promise((resolve) => socket.once("data", resolve));
        const { traceparent, tracestate } = each.mock.lastHeaders;
        return [traceParentIn(String(traceparent))?.traceId, tracestate];
      };
      const state: [string, string] = ["tracestate", "a=1,b=2"];
      expect(await sent([["traceparent", parent], state])).toEqual([trace, "a=1,b=2"]);
      expect(await sent([state, ["Traceparent", parent], ["TraceState", "c=3"]])).toEqual([trace, "a=1,b=2, c=3"]);
      for (const without of [
        [state],
        [["traceparent", "00-evil"], state],
        [["traceparent", parent], ["traceparent", parent], state],
      ]) {
        const [traceId, tracestate] = await sent(without as [string, string][]);
        expect(tracestate).toBeUndefined();
        expect(traceId).not.toBe(trace);
      }
      expect(await sent([["traceparent", parent], state, ["connection", "tracestate"]])).toEqual([trace, undefined]);
    }
  });
});
